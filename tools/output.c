/* output.c - see output.h. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interrupt.h"

static const char *output_name(const struct output *output)
{
	return output->path ? output->path : "standard output";
}

static int output_error(const struct output *output, const char *what, int reason, struct sb_error *err)
{
	return sb_error_set(err, -sbe_io, output_name(output), UINT64_MAX, "%s: %s", what, strerror(reason));
}

/* A rename would replace a device or a link instead of writing to it. */
static bool replaceable(const char *path)
{
	struct stat st;

	return lstat(path, &st) || S_ISREG(st.st_mode);
}

/* Empty, and locked against others who would write it; -1 with errno. */
static int open_locked(const char *path, int flags)
{
	for (int tries = 0; tries < 100; tries++) {
		const int fd = open(path, flags | O_NONBLOCK, 0666);
		struct stat ours, there;

		if (fd < 0)
			return -1;
		/* File systems without locks are good enough. */
		if (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
			close(fd);
			errno = EWOULDBLOCK;
			return -1;
		}
		/* Whoever had it may have renamed it just before: then it is not this file any more. */
		if (!fstat(fd, &ours) && !lstat(path, &there) && ours.st_ino == there.st_ino &&
		    ours.st_dev == there.st_dev && S_ISREG(ours.st_mode) && !ftruncate(fd, 0))
			return fd;
		close(fd);
	}
	errno = EEXIST;
	return -1;
}

void output_clean(const char *path)
{
	char *temporary = NULL;
	int fd;

	if (!replaceable(path) || asprintf(&temporary, "%s.tmp", path) < 0)
		return;
	if (!access(temporary, F_OK)) {
		fd = open_locked(temporary, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW);
		if (fd >= 0) {
			unlink(temporary);
			close(fd);
		}
	}
	free(temporary);
}

/* ---- What has readers who may stand still ------------------------------------------------------ */

/* A signal that comes just before write(2) does not end it: nothing here may wait in the kernel for good. */

enum { tick = 100 /* ms between looks at interrupts */ };

/* Zero: time to try again; negative: an interrupt came. */
static int wait_for_room(struct output *output)
{
	struct pollfd file = {output->fd, POLLOUT, 0};

	while (poll(&file, 1, tick) <= 0)
		if (interrupt_came()) {
			output->broken = EINTR;
			return -1;
		}
	return 0;
}

/* A FIFO that nobody reads yet cannot be opened. */
static int open_pipe(const char *path)
{
	for (;;) {
		const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);

		if (fd >= 0 || errno != ENXIO)
			return fd;
		poll(NULL, 0, tick);
		if (interrupt_came()) {
			errno = EINTR;
			return -1;
		}
	}
}

static int open_in_place(const char *path)
{
	struct stat st;
	int fd;

	if (!stat(path, &st) && S_ISFIFO(st.st_mode))
		return open_pipe(path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_TRUNC, 0666);
	if (fd >= 0 && isatty(fd))
		fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

/* Whether others' writes wait is not ours to say: it is opened once more, where the system allows that. */
static void open_standard_output(struct output *output)
{
	char name[32];
	struct stat st;

	output->fd = STDOUT_FILENO;
	if (fstat(STDOUT_FILENO, &st) ||
	    (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode) && !isatty(STDOUT_FILENO)))
		return;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", STDOUT_FILENO);
	output->fd = open(name, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (output->fd >= 0)
		return;
	output->fd = STDOUT_FILENO;
	output->is_blocking = true;
}

/* ---- Opening ---------------------------------------------------------------------------------- */

static int open_file(struct output *output, const char *path, struct sb_error *err)
{
	const char *target = path;

	output->path = strdup(path);
	if (!output->path)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	if (replaceable(path)) {
		if (asprintf(&output->temporary, "%s.tmp", path) < 0) {
			output->temporary = NULL;
			return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
		}
		target = output->temporary;
	}
	output->fd = output->temporary ? open_locked(target, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW)
	                               : open_in_place(target);
	if (output->fd >= 0)
		return 0;
	if (errno == EWOULDBLOCK)
		sb_error_set(err, -sbe_io, path, UINT64_MAX, "is being written by another run");
	else
		output_error(output, "cannot be written", errno, err);
	free(output->temporary); /* not made by us: not ours to remove */
	output->temporary = NULL;
	return -sbe_io;
}

int output_open(struct output **result, const char *path, struct sb_error *err)
{
	struct output *output = calloc(1, sizeof(*output));
	int code = 0;

	if (!output)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	output->fd = -1;
	output->buffer = malloc(output_size);
	if (!output->buffer)
		code = sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	else if (!path || !strcmp(path, "-"))
		open_standard_output(output);
	else
		code = open_file(output, path, err);
	if (code)
		output_close(output);
	else
		*result = output;
	return code;
}

static bool is_same_file(const char *path, const char *other)
{
	struct stat a, b;

	return !stat(path, &a) && !stat(other, &b) && S_ISREG(a.st_mode) && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

int output_open_beside(struct output **output, const char *path, const char *input, struct sb_error *err)
{
	char *temporary = NULL;
	bool same;

	if (!path || !strcmp(path, "-"))
		return output_open(output, path, err);
	if (asprintf(&temporary, "%s.tmp", path) < 0)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	same = is_same_file(path, input) || is_same_file(temporary, input);
	free(temporary);
	return same ? sb_error_set(err, -sbe_invalid, path, UINT64_MAX, "is read: it would be overwritten")
	            : output_open(output, path, err);
}

const char *output_reason(const struct output *output)
{
	if (output->broken == EDQUOT && output->limit)
		return "the job's limit of disk space is reached";
	if (*output->why)
		return output->why;
	return strerror(output->broken);
}

int output_fail(struct output *output, int reason, const char *why)
{
	if (!output->broken) {
		output->broken = reason;
		snprintf(output->why, sizeof(output->why), "%s", why);
	}
	return -1;
}

int output_count(struct output *output, uint64_t bytes)
{
	if (output->limit && output->path && !output->broken) {
		if (bytes > output->limit->left)
			output->broken = EDQUOT;
		else
			output->limit->left -= bytes;
	}
	return output->broken ? -1 : 0;
}

/* Writes some of the @size bytes. */
static ssize_t write_some(struct output *output, const char *bytes, size_t size)
{
	ssize_t n;

	/* What poll(2) found room for does not wait. */
	if (output->is_blocking && wait_for_room(output))
		return 0;
	n = write(output->fd, bytes, output->is_blocking && size > PIPE_BUF ? PIPE_BUF : size);
	if (n >= 0)
		return n;
	if (errno == EAGAIN)
		wait_for_room(output);
	else if (errno != EINTR || interrupt_came())
		output->broken = errno;
	return 0;
}

int output_flush(struct output *output)
{
	size_t done = 0;

	output_count(output, output->used);
	while (!output->broken && done < output->used)
		done += (size_t)write_some(output, output->buffer + done, output->used - done);
	output->used = 0;
	return output->broken ? -1 : 0;
}

int output_commit(struct output *output, struct sb_error *err)
{
	output_flush(output);
	if (output->broken == EPIPE)
		return 0;
	if (output->broken)
		return sb_error_set(err, -sbe_io, output_name(output), UINT64_MAX, "write failed: %s",
		                    output_reason(output));
	if (!output->path)
		return 0;
	/* Some file systems tell of a failed write only now. */
	if (close(output->fd)) {
		output->fd = -1;
		return output_error(output, "write failed", errno, err);
	}
	output->fd = -1;
	if (!output->temporary)
		return 0;
	if (rename(output->temporary, output->path))
		return output_error(output, "cannot be put in place", errno, err);
	free(output->temporary);
	output->temporary = NULL;
	return 0;
}

void output_close(struct output *output)
{
	if (!output)
		return;
	if (!output->path && output->buffer)
		output_flush(output);
	if (output->fd >= 0 && (output->path || output->fd != STDOUT_FILENO))
		close(output->fd);
	if (output->temporary)
		unlink(output->temporary);
	free(output->temporary);
	free(output->path);
	free(output->buffer);
	free(output);
}

int output_write(struct output *output, const char *bytes, size_t size)
{
	while (size) {
		const size_t piece = size < output_most ? size : (size_t)output_most;
		char *at = output_room(output, piece);

		if (!at)
			return -1;
		memcpy(at, bytes, piece);
		output_advance(output, at + piece);
		bytes += piece;
		size -= piece;
	}
	return 0;
}

int output_printf(struct output *output, const char *format, ...)
{
	enum { piece = 4096 };
	char *at = output_room(output, piece);
	va_list args;
	int n;

	if (!at)
		return -1;
	va_start(args, format);
	n = vsnprintf(at, piece, format, args);
	va_end(args);
	if (n > 0)
		output_advance(output, at + (n < piece ? n : piece - 1));
	return 0;
}

int output_text(const char *path, const char *text, struct sb_error *err)
{
	const size_t length = strlen(text);
	struct output *output;
	int code = output_open(&output, path, err);

	if (code)
		return code;
	output_write(output, text, length);
	if (length && text[length - 1] != '\n')
		output_write(output, "\n", 1);
	code = output_commit(output, err);
	output_close(output);
	return code;
}

int output_json(const char *path, const json_t *value, struct sb_error *err)
{
	char *text = value ? json_dumps(value, JSON_INDENT(2)) : NULL;
	const int code = text ? output_text(path, text, err)
	                      : sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");

	free(text);
	return code;
}
