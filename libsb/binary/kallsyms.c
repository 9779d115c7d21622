/* kallsyms.c - see kallsyms.h. */
#include "binary/kallsyms.h"

#include <stdlib.h>
#include <string.h>

#include "binary/compressed_file.h"
#include "binary/text_file.h"

int kallsyms_read(const char *path, char **text, size_t *size, struct sb_error *err)
{
	struct plain_file plain;
	int status;

	*text = NULL;
	status = open_maybe_compressed(&plain, path, KALLSYMS_MOST, err);
	if (status < 0)
		return status;
	status = text_file_read_fd(plain.fd, path, KALLSYMS_MOST, text, size, err);
	plain_file_close(&plain);
	return status;
}

int kallsyms_parse(char *text, struct kallsyms_line *line)
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

/* Gives each line to @see. */
static int walk(const char *path, void (*see)(void *context, const struct kallsyms_line *line), void *context,
                struct sb_error *err)
{
	struct kallsyms_line line;
	char *text, *rest, *one;
	size_t size;
	int status = kallsyms_read(path, &text, &size, err);

	if (status < 0)
		return status;
	rest = text;
	while ((one = strsep(&rest, "\n")))
		if (!kallsyms_parse(one, &line))
			see(context, &line);
	free(text);
	return 0;
}

struct names {
	struct kallsyms_name *name;
	size_t count;
};

static void note_line(void *context, const struct kallsyms_line *line)
{
	const struct names *names = context;

	note(names->name, names->count, line);
}

int kallsyms_find_names(const char *path, struct kallsyms_name *name, size_t count, struct sb_error *err)
{
	struct names names = {name, count};

	return walk(path, note_line, &names, err);
}

struct search {
	const char *const *names;
	int best; /* -1: none yet */
	uint64_t address;
};

static void see_name(void *context, const struct kallsyms_line *line)
{
	struct search *search = context;

	for (int i = 0; search->names[i] && (search->best < 0 || i < search->best); ++i)
		if (strcmp(line->name, search->names[i]) == 0) {
			search->best = i;
			search->address = line->address;
		}
}

uint64_t kallsyms_find(const char *path, const char *const *names)
{
	struct search search = {.names = names, .best = -1};

	if (walk(path, see_name, &search, NULL) < 0)
		return 0;
	return search.best < 0 ? 0 : search.address;
}

/* ---- Index ------------------------------------------------------------------------------------ */

static int compare_lines(const void *a, const void *b)
{
	return strcmp(((const struct kallsyms_line *)a)->name, ((const struct kallsyms_line *)b)->name);
}

int kallsyms_index_init(struct kallsyms_index *index, const char *path, struct sb_error *err)
{
	size_t size, nlines = 1;
	char *rest, *one;
	int status = kallsyms_read(path, &index->text, &size, err);

	index->line = NULL;
	index->count = 0;
	if (status < 0)
		return status;
	for (const char *at = index->text; (at = strchr(at, '\n')); ++at)
		nlines += 1;
	index->line = reallocarray(NULL, nlines, sizeof(*index->line));
	if (!index->line) {
		kallsyms_index_fini(index);
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	}
	rest = index->text;
	while ((one = strsep(&rest, "\n")))
		index->count += !kallsyms_parse(one, &index->line[index->count]);
	qsort(index->line, index->count, sizeof(*index->line), compare_lines);
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
	size_t low = 0, high = index->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (strcmp(index->line[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < index->count && strcmp(index->line[low].name, name) == 0 ? &index->line[low] : NULL;
}

uint64_t kallsyms_index_find(const struct kallsyms_index *index, const char *name)
{
	const struct kallsyms_line *line = kallsyms_index_lines(index, name);
	struct kallsyms_name found = {.name = name};

	for (; line && line < index->line + index->count && strcmp(line->name, name) == 0; ++line)
		note(&found, 1, line);
	return found.found == 1 ? found.address : 0;
}
