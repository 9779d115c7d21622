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

int kallsyms_find_names(const char *path, struct kallsyms_name *name, size_t count,
                        void (*see)(void *context, const struct kallsyms_line *line), void *context,
                        struct sb_error *err)
{
	struct kallsyms_line line;
	char *text, *rest, *one;
	size_t size;
	int status = kallsyms_read(path, &text, &size, err);

	if (status < 0)
		return status;
	rest = text;
	while ((one = strsep(&rest, "\n"))) {
		if (kallsyms_parse(one, &line))
			continue;
		note(name, count, &line);
		if (see)
			see(context, &line);
	}
	free(text);
	return 0;
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

	if (kallsyms_find_names(path, NULL, 0, see_name, &search, NULL) < 0)
		return 0;
	return search.best < 0 ? 0 : search.address;
}
