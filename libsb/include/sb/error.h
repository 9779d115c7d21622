/* sb/error.h - errors of libsb: a negative code, and an object that says where and why.
 *
 * Functions that can fail return zero (or a positive count) on success and a negative
 * enum sb_errcode otherwise. Where a struct sb_error is passed, it is filled once, at the place
 * that knows the context; NULL is allowed when the caller does not care.
 */
#ifndef SB_ERROR_H
#define SB_ERROR_H

#include <stdint.h>

#include <sb/export.h>

enum sb_errcode {
	sbe_ok,
	sbe_invalid,     /* the caller passed something impossible */
	sbe_nomem,       /* out of memory */
	sbe_io,          /* the operating system said no; the text holds its reason */
	sbe_format,      /* bytes are not what the format allows */
	sbe_truncated,   /* the file ends inside of something */
	sbe_unsupported, /* well-formed, but not handled (foreign byte order, ...) */
	sbe_not_found,   /* no such file, process, section, ... */
	sbe_mismatch,    /* found, but not what was recorded (build-id, size) */
	sbe_decode,      /* libipt said no; the text holds its reason */
	sbe_stop,        /* a callback asked to stop */
	sbe_order        /* flow that was added up: a thread's cannot be put in order */
};

struct sb_error {
	int code;        /* negative enum sb_errcode, or 0 */
	uint64_t offset; /* in the file; UINT64_MAX when there is none */
	char file[256];  /* "" when there is none; shortened in front when too long */
	char text[384];  /* what was found and what was expected */
};

enum { SB_NO_OFFSET = -1 };

/* Fills @err (may be NULL) and returns @code, which is a negative enum sb_errcode. */
sb_export int sb_error_set(struct sb_error *err, int code, const char *file, uint64_t offset,
                           const char *format, ...) __attribute__((format(printf, 5, 6)));

/* One line, "FILE: offset 0x..: TEXT", without newline. Returns @buffer. */
sb_export const char *sb_error_string(const struct sb_error *err, char *buffer, uint64_t size);

#endif
