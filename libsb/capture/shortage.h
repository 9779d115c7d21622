/* shortage.h - files of /proc that cannot be read: as a rule, the process is gone, which is nothing to speak
 * of; but when we are short of memory or of file descriptors, something would be left out that is there.
 */
#ifndef SB_SHORTAGE_H
#define SB_SHORTAGE_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include <sb/error.h>

static inline int is_shortage(int error)
{
	return error == ENOMEM || error == EMFILE || error == ENFILE;
}

static inline int fail_short(int error, const char *path, struct sb_error *err)
{
	if (error == ENOMEM)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	return sb_error_set(err, -sbe_io, path, UINT64_MAX, "%s", strerror(error));
}

#endif
