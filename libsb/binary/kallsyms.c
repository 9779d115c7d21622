/* kallsyms.c - see kallsyms.h. */
#include "binary/kallsyms.h"

#include <stdlib.h>
#include <string.h>

#include "bisect.h"
#include "binary/compressed_file.h"
#include "binary/text_file.h"
#include "system/arena.h"

enum { FILE_MOST = 128 << 20 }; /* bytes of a file that is read */

int kallsyms_read(const char *path, char **text, size_t *size, struct sb_error *err)
{
	struct plain_file plain;
	int status;

	*text = NULL;
	status = open_maybe_compressed(&plain, path, FILE_MOST, err);
	if (status < 0)
		return status;
	status = text_file_read_fd(plain.fd, path, FILE_MOST, text, size, err);
	plain_file_close(&plain);
	return status;
}

/* Takes one line apart, which ends with a zero. Positive: it is none. */
static int parse(char *text, struct kallsyms_line *line)
{
	char *end;

	line->address = strtoull(text, &end, 16);
	if (end == text || end - text > 16 || end[0] != ' ' || !end[1] || end[2] != ' ' || !end[3])
		return 1;
	line->type = end[1];
	line->name = end + 3;
	end = line->name + strcspn(line->name, " \t");
	line->module = strchr(end, '[');
	*end = '\0';
	if (!line->module)
		return 0;
	end = strchr(line->module, ']');
	if (!end)
		return 1;
	end[1] = '\0';
	return 0;
}

int kallsyms_next(char **rest, char *end, struct kallsyms_line *line)
{
	while (*rest < end) {
		char *text = *rest, *newline = memchr(text, '\n', (size_t)(end - text));

		if (newline)
			*newline = '\0';
		*rest = newline ? newline + 1 : end;
		if (!parse(text, line))
			return 1;
	}
	return 0;
}

/* ---- Searching the file ------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct kallsyms_name *)a)->name, ((const struct kallsyms_name *)b)->name);
}

static void note(struct kallsyms_name *name, size_t count, const struct kallsyms_line *line)
{
	const struct kallsyms_name key = {.name = line->name};
	struct kallsyms_name *found = count ? bsearch(&key, name, count, sizeof(key), compare_names) : NULL;
	const int global = line->type >= 'A' && line->type <= 'Z';

	if (!found || !line->address || global < found->global || (!global && !line->module))
		return;
	if (!found->found || global > found->global) {
		found->address = line->address;
		found->found = 1;
		found->global = global;
	} else if (found->address != line->address) {
		found->found = 2;
	}
}

int kallsyms_find_names(const char *path, struct kallsyms_name *name, size_t count)
{
	struct kallsyms_line line;
	char *text, *rest;
	size_t size;
	int status = kallsyms_read(path, &text, &size, NULL);

	if (status < 0)
		return status;
	for (rest = text; kallsyms_next(&rest, text + size, &line);)
		note(name, count, &line);
	free(text);
	return 0;
}

int kallsyms_find(const char *path, const char *const *names, uint64_t *address, struct sb_error *err)
{
	struct kallsyms_line line;
	char *text, *rest;
	int best = -1; /* none yet */
	int has_lines = 0, status;
	size_t size;

	*address = 0;
	status = kallsyms_read(path, &text, &size, err);
	if (status < 0)
		return status;
	for (rest = text; best && kallsyms_next(&rest, text + size, &line); has_lines = 1)
		for (int i = 0; names[i] && (best < 0 || i < best); ++i)
			if (strcmp(line.name, names[i]) == 0) {
				best = i;
				*address = line.address;
			}
	free(text);
	return has_lines ? 0
	                 : sb_error_set(
	                           err, -sbe_format, path, UINT64_MAX,
	                           "expected lines of an address, a type and a name, as in /proc/kallsyms");
}

/* ---- Index ------------------------------------------------------------------------------------ */

static int compare_lines(const void *a, const void *b)
{
	return strcmp(((const struct kallsyms_line *)a)->name, ((const struct kallsyms_line *)b)->name);
}

int kallsyms_index_init(struct kallsyms_index *index, const char *path)
{
	struct kallsyms_line line;
	size_t size, capacity = 0;
	char *rest;
	int status;

	*index = (struct kallsyms_index){0};
	status = kallsyms_read(path, &index->text, &size, NULL);
	if (status < 0)
		return status;
	for (rest = index->text; kallsyms_next(&rest, index->text + size, &line);) {
		if (array_reserve(&index->line, &capacity, index->count, sizeof(line)) < 0) {
			kallsyms_index_fini(index);
			return -sbe_nomem;
		}
		index->line[index->count++] = line;
	}
	if (index->count)
		qsort(index->line, index->count, sizeof(line), compare_lines);
	return 0;
}

void kallsyms_index_fini(struct kallsyms_index *index)
{
	free(index->text);
	free(index->line);
	*index = (struct kallsyms_index){0};
}

const struct kallsyms_line *kallsyms_index_lines(const struct kallsyms_index *index, const char *name)
{
	struct bisect at = {.high = index->count};

	while (bisect_more(&at))
		bisect_go(&at, strcmp(index->line[at.middle].name, name) < 0);
	return at.low < index->count && strcmp(index->line[at.low].name, name) == 0 ? &index->line[at.low]
	                                                                            : NULL;
}

uint64_t kallsyms_index_find(const struct kallsyms_index *index, const char *name)
{
	const struct kallsyms_line *line = kallsyms_index_lines(index, name);
	struct kallsyms_name found = {.name = name};

	for (; line && line < index->line + index->count && strcmp(line->name, name) == 0; ++line)
		note(&found, 1, line);
	return found.found == 1 ? found.address : 0;
}
