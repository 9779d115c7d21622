/* real_path.c - see real_path.h. */
#include "real_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINKS_MOST = 40 }; /* as many as the kernel follows */

char *directory_of(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? strndup(file, (size_t)(slash - file) + 1) : strdup("./");
}

/* What a link leads to, as it stands there; NULL: @file is none. */
static char *link_of(const char *file)
{
	char target[4096], *directory, *path = NULL;
	const ssize_t size = readlink(file, target, sizeof(target) - 1);

	if (size <= 0)
		return NULL;
	target[size] = '\0';
	if (*target == '/')
		return strdup(target);
	directory = directory_of(file);
	if (!directory || asprintf(&path, "%s%s", directory, target) < 0)
		path = NULL;
	free(directory);
	return path;
}

/* In the real path of its directory. */
static char *in_real_directory(const char *file)
{
	const char *slash = strrchr(file, '/');
	char *directory = directory_of(file), *above = directory ? realpath(directory, NULL) : NULL;
	char *real;

	if (!above || asprintf(&real, "%s/%s", strcmp(above, "/") ? above : "", slash ? slash + 1 : file) < 0)
		real = NULL;
	free(above);
	free(directory);
	return real;
}

char *real_path(const char *file)
{
	char *real = realpath(file, NULL), *at = real ? NULL : strdup(file), *next;

	if (real)
		return real;
	/* A link to what is not there yet is where that will be. */
	for (int i = 0; at && i < LINKS_MOST && (next = link_of(at)); i++) {
		free(at);
		at = next;
	}
	real = at ? in_real_directory(at) : NULL;
	free(at);
	return real;
}
