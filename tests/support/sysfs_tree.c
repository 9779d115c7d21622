/* sysfs_tree.c - see sysfs_tree.h. */
#include "support/sysfs_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void make_parents(char *path)
{
	for (char *at = path + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		mkdir(path, 0777);
	}
}

static void write_file(const char *sysfs, const char *file, const char *content)
{
	char *path;
	FILE *to;

	if (asprintf(&path, "%s/bus/event_source/devices/%s", sysfs, file) < 0)
		abort();
	make_parents(path);
	to = fopen(path, "w");
	if (!to)
		abort();
	fprintf(to, "%s\n", content);
	fclose(to);
	free(path);
}

char *sysfs_tree_make(const struct temp_dir *dir, const char *list)
{
	char line[256], file[128], content[128], *sysfs = temp_dir_path(dir, "sys");
	FILE *from = fopen(list, "r");

	if (!from)
		abort();
	while (fgets(line, sizeof(line), from))
		if (*line != '#' && sscanf(line, "%127s %127s", file, content) == 2)
			write_file(sysfs, file, content);
	fclose(from);
	return sysfs;
}
