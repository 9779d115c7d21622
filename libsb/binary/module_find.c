/* module_find.c - see module_find.h. Lists: depmod(8), modules.dep(5). */
#include "binary/module_find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binary/text_file.h"

enum { LIST_MOST = 16 << 20 };

static const char *const endings[] = {".ko", ".ko.xz", ".ko.zst", ".ko.gz"};

/* The whole file of that path on the recorded machine; NULL: it is not there. */
static const struct sb_binary *find_file(const struct module_finder *finder, const char *path)
{
	const struct sb_map map = {.end = UINT64_MAX, .filename = path};
	const struct sb_binary *binary;

	if (sb_resolver_find(finder->resolver, &map, &binary, NULL) < 0 || binary->missing)
		return NULL;
	return binary;
}

int module_finder_init(struct module_finder *finder, struct sb_resolver *resolver, const char *release)
{
	const struct sb_binary *list;
	size_t size;

	*finder = (struct module_finder){.resolver = resolver};
	if (!release || strchr(release, '/'))
		return 0;
	if (asprintf(&finder->directory, "/lib/modules/%s", release) < 0)
		finder->directory = NULL;
	if (!finder->directory || asprintf(&finder->list_path, "%s/modules.dep", finder->directory) < 0) {
		finder->list_path = NULL;
		module_finder_fini(finder);
		return -sbe_nomem;
	}
	list = find_file(finder, finder->list_path);
	if (list && text_file_read(list->path, LIST_MOST, &finder->list, &size, NULL) == -sbe_nomem) {
		module_finder_fini(finder);
		return -sbe_nomem;
	}
	return 0;
}

void module_finder_fini(struct module_finder *finder)
{
	free(finder->list);
	free(finder->list_path);
	free(finder->directory);
	*finder = (struct module_finder){0};
}

int module_is_named(const char *recorded)
{
	const char *slash = strrchr(recorded, '/');

	if (recorded[0] == '[')
		return !slash && strncmp(recorded, "[kernel.", strlen("[kernel.")) != 0 &&
		       strncmp(recorded, "[guest.", strlen("[guest.")) != 0;
	return recorded[0] == '/' && strstr(slash, ".ko") != NULL;
}

/* The kernel calls a module with underscores, whatever its file is called. */
static void copy_name(char *name, size_t room, const char *from, size_t length)
{
	size_t i;

	for (i = 0; i < length && i + 1 < room; ++i)
		name[i] = from[i] == '-' ? '_' : from[i];
	name[i] = '\0';
}

/* Of "directory/name.ko.xz:" the name; zero: it is no module's. */
static size_t base_length(const char *base)
{
	const char *end = strstr(base, ".ko");

	return end ? (size_t)(end - base) : 0;
}

void module_name(char name[72], const char *recorded)
{
	const char *slash = strrchr(recorded, '/'), *base = slash ? slash + 1 : recorded + 1;
	const size_t length = slash ? base_length(base) : strcspn(base, "]");

	name[0] = '[';
	copy_name(name + 1, 69, base, length);
	strcat(name, "]");
}

/* What the list has of that name, "[name]"; to be freed. */
static char *find_in_list(const struct module_finder *finder, const char *wanted)
{
	const char *line = finder->list;

	while (line && *line) {
		const size_t length = strcspn(line, ":\n");
		char *path = NULL, name[72];

		if (asprintf(&path, "%s%s%.*s", line[0] == '/' ? "" : finder->directory,
		             line[0] == '/' ? "" : "/", length < 4096 ? (int)length : 0, line) < 0)
			return NULL;
		module_name(name, path);
		if (strcmp(name, wanted) == 0)
			return path;
		free(path);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return NULL;
}

/* NAME.ko right below a root, with underscores or without. */
static char *find_below_root(const struct module_finder *finder, const char *wanted,
                             const struct sb_binary **binary)
{
	for (size_t i = 0; i < 2 * sizeof(endings) / sizeof(endings[0]); ++i) {
		char *path;

		if (asprintf(&path, "/%.*s%s", (int)strlen(wanted) - 2, wanted + 1, endings[i / 2]) < 0)
			return NULL;
		for (char *at = path; i % 2 && *at; ++at)
			*at = *at == '_' ? '-' : *at;
		*binary = find_file(finder, path);
		if (*binary)
			return path;
		free(path);
	}
	return NULL;
}

char *module_find(const struct module_finder *finder, const char *recorded, const struct sb_binary **binary)
{
	char name[72], *path;

	*binary = NULL;
	if (recorded[0] == '/') {
		*binary = find_file(finder, recorded);
		if (*binary)
			return strdup(recorded);
	}
	module_name(name, recorded);
	path = find_in_list(finder, name);
	if (path) {
		*binary = find_file(finder, path);
		if (*binary)
			return path;
		free(path);
	}
	return find_below_root(finder, name, binary);
}
