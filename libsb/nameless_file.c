/* nameless_file.c - see nameless_file.h. */
#include "nameless_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* On file systems that have no such files, one that loses its name at once. */
static int open_in(const char *directory)
{
	char *path;
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL))
		return fd;
	if (asprintf(&path, "%s/sbtrace-XXXXXX", directory) < 0)
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	free(path);
	return fd;
}

int nameless_file(void)
{
	static const char *const usual[] = {"/var/tmp", "/tmp"};
	const char *wanted = secure_getenv("TMPDIR");
	int fd = -1;

	if (wanted && *wanted)
		return open_in(wanted);
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]) && fd < 0; i++)
		fd = open_in(usual[i]);
	return fd;
}
