/* folder.c - see folder.h. */
#include "binary/folder.h"

#include <dirent.h>
#include <sb/error.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "binary/resolver.h"
#include "binary/rooted_open.h"
#include "system/arena.h"

struct names {
	char **name;
	size_t count, capacity;
};

static int add_name(struct names *names, const char *name)
{
	if (array_reserve(&names->name, &names->capacity, names->count, sizeof(*names->name)) < 0)
		return -sbe_nomem;
	names->name[names->count] = strdup(name);
	if (!names->name[names->count])
		return -sbe_nomem;
	names->count += 1;
	return 0;
}

static int add_all(struct names *names, int folder)
{
	DIR *stream = fdopendir(folder);
	const struct dirent *entry;
	int status = 0;

	if (!stream) {
		close(folder);
		return 0;
	}
	while (status == 0 && (entry = readdir(stream)))
		if (entry->d_type == DT_REG || entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN)
			status = add_name(names, entry->d_name);
	closedir(stream);
	return status;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void leave_each_once(struct names *names)
{
	size_t kept = 0;

	if (names->count)
		qsort(names->name, names->count, sizeof(*names->name), compare);
	for (size_t i = 0; i < names->count; ++i) {
		if (kept && strcmp(names->name[kept - 1], names->name[i]) == 0)
			free(names->name[i]);
		else
			names->name[kept++] = names->name[i];
	}
	names->count = kept;
}

int resolver_list_folder(const struct sb_resolver *resolver, const char *path, char ***name, size_t *count)
{
	struct names names = {0};
	int status = 0;

	for (size_t i = 0; i < resolver->nroots && status == 0; ++i) {
		const struct root *root = &resolver->root[i];
		const int folder =
		        root->container || root->nlayers != 1 ? -1 : rooted_open_folder(root->layer[0], path);

		if (folder >= 0)
			status = add_all(&names, folder);
	}
	leave_each_once(&names);
	if (status < 0) {
		for (size_t i = 0; i < names.count; ++i)
			free(names.name[i]);
		free(names.name);
		return status;
	}
	*name = names.name;
	*count = names.count;
	return 0;
}
