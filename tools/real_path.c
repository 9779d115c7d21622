/* real_path.c - see real_path.h. */
#include "real_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *directory_of(const char *file)
{
	const char *slash = strrchr(file, '/');

	return slash ? strndup(file, (size_t)(slash - file) + 1) : strdup("./");
}

char *real_path(const char *file)
{
	char *real = realpath(file, NULL), *directory, *above;
	const char *slash = strrchr(file, '/');

	if (real)
		return real;
	directory = directory_of(file);
	above = directory ? realpath(directory, NULL) : NULL;
	if (!above || asprintf(&real, "%s/%s", strcmp(above, "/") ? above : "", slash ? slash + 1 : file) < 0)
		real = NULL;
	free(above);
	free(directory);
	return real;
}
