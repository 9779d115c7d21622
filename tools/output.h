/* tools/output.h - where a sink's bytes go: standard output as they come, or a file that appears whole.
 *
 * FILE is written as FILE.tmp and renamed when it is complete, so that nobody takes a half for the
 * whole. A lock on it keeps out who would write the same; what a run that was killed left of it is
 * overwritten. What is there already and is no regular file (a device, a pipe, a symbolic link) is written
 * in place. A reader of a pipe who goes away is not an error, but the end of that output; one who stands
 * still is waited for, until an interrupt (interrupt.h) comes.
 */
#ifndef TOOLS_OUTPUT_H
#define TOOLS_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sb/error.h>

enum {
	output_size = 256 * 1024,
	output_most = 64 * 1024 /* the most that can be asked for at once */
};

/* What all outputs together may still write to files. */
struct output_limit {
	uint64_t left; /* bytes */
};

struct output {
	int fd;
	bool is_blocking; /* it is a pipe or a terminal that cannot be written to without waiting for its
	                     reader */
	int broken;       /* errno of the first failed write; nothing is written any more */
	char why[160];    /* in words, where errno is not all that is known; else "" */
	char *path;       /* NULL: standard output */
	char *temporary;  /* NULL: written in place, or committed */
	size_t used;      /* of buffer */
	char *buffer;     /* output_size bytes */
	struct output_limit *limit; /* NULL: none */
};

/* @path NULL or "-": standard output. */
int output_open(struct output **output, const char *path, struct sb_error *err);

/* The same, unless writing @path would destroy @input, which is read meanwhile. */
int output_open_beside(struct output **output, const char *path, const char *input, struct sb_error *err);

/* Removes what a run that was killed left of @path, unless somebody is writing it. */
void output_clean(const char *path);

/* Makes it broken, unless it is: @reason is an errno, @why says more. Always negative. */
int output_fail(struct output *output, int reason, const char *why);

/* What somebody else, who writes the file by its name (.temporary or .path), made it grow by counts, too:
 * zero, or negative when that is more than may be written. */
int output_count(struct output *output, uint64_t bytes);

/* Why it is broken, in words. */
const char *output_reason(const struct output *output);

/* Writes what is in the buffer: zero, or negative when this or an earlier write failed. */
int output_flush(struct output *output);

/* Flushes and puts the file in its place. A reader who went away is fine. */
int output_commit(struct output *output, struct sb_error *err);

/* Frees @output (may be NULL); what was not committed is thrown away, except on standard output. */
void output_close(struct output *output);

/* At least @size <= output_most bytes to be written at the returned address, NULL when the output is
 * broken; then tell the first byte that was not used. */
static inline char *output_room(struct output *output, size_t size)
{
	if (output_size - output->used < size && output_flush(output))
		return NULL;
	return output->broken ? NULL : output->buffer + output->used;
}

static inline void output_advance(struct output *output, const char *end)
{
	output->used = (size_t)(end - output->buffer);
}

/* Bytes of any number. Zero, or negative when broken. */
int output_write(struct output *output, const char *bytes, size_t size);

/* A text, at most output_most long, as it is. Zero, or negative when broken. */
static inline int output_puts(struct output *output, const char *text)
{
	const size_t size = strlen(text);
	char *at = output_room(output, size);

	if (!at)
		return -1;
	memcpy(at, text, size);
	output_advance(output, at + size);
	return 0;
}

/* A file with the lines of @text, the last of which may have no end. Zero or a negative code. */
int output_text(const char *path, const char *text, struct sb_error *err);

/* The same with a JSON value, indented; NULL is one that there was no memory for. */
struct json_t;
int output_json(const char *path, const struct json_t *value, struct sb_error *err);

/* For text that is not in a hurry; a piece is cut at 4 KiB. Zero, or negative when broken. */
int output_printf(struct output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
