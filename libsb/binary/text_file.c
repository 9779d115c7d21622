/* text_file.c - see text_file.h. */
#include "binary/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* As much as there is, up to @most. */
static int read_all(int fd, char *text, size_t most, size_t *size)
{
	*size = 0;
	while (*size < most) {
		const ssize_t n = read(fd, text + *size, most - *size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		*size += (size_t)n;
	}
	return 0;
}

int text_file_read_fd(int fd, const char *path, size_t most, char **text, size_t *size, struct sb_error *err)
{
	struct stat status;
	size_t room;

	*text = NULL;
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
		return sb_error_set(err, -sbe_io, path, UINT64_MAX, "expected a regular file");
	if ((uint64_t)status.st_size > most)
		return sb_error_set(err, -sbe_format, path, UINT64_MAX,
		                    "expected at most %zu bytes, found %llu", most,
		                    (unsigned long long)status.st_size);
	/* Files of /proc say that they are empty. */
	room = status.st_size ? (size_t)status.st_size : most;
	*text = malloc(room + 1);
	if (!*text)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	if (read_all(fd, *text, room, size) < 0) {
		free(*text);
		*text = NULL;
		return sb_error_set(err, -sbe_io, path, UINT64_MAX, "cannot be read: %m");
	}
	(*text)[*size] = '\0';
	return 0;
}

int text_file_read(const char *path, size_t most, char **text, size_t *size, struct sb_error *err)
{
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int status;

	*text = NULL;
	if (fd < 0)
		return sb_error_set(err, errno == ENOENT ? -sbe_not_found : -sbe_io, path, UINT64_MAX,
		                    "cannot be opened: %m");
	status = text_file_read_fd(fd, path, most, text, size, err);
	close(fd);
	return status;
}
