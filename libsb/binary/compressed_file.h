/* compressed_file.h - files that may be compressed (gzip, zstd, xz), read as what is in them.
 *
 * Distributions compress kernel modules, debug files and vmlinux. libelf, libdw and the decoder's sections
 * want a descriptor or a path of plain bytes: what is compressed is unpacked into a file without a name,
 * whose path below /proc/self/fd lasts as long as its descriptor.
 */
#ifndef SB_COMPRESSED_FILE_H
#define SB_COMPRESSED_FILE_H

#include <stdint.h>

#include <sb/error.h>

/* Bytes that a file may unpack to when nobody says otherwise; a vmlinux with debug information has 1 GiB. */
#define PLAIN_FILE_LIMIT ((uint64_t)4 << 30)

struct plain_file {
	int fd;        /* for reading, at its beginning; -1: closed */
	char *path;    /* of the plain bytes; owned */
	uint64_t size; /* of the plain bytes */
	int unpacked;  /* they are a copy, and the path is of the form /proc/self/fd/N */
};

/* Whether the file begins like a compressed one. Does not move its offset. */
int compressed_file_is(int fd);

/* Opens @path, which is trusted: see rooted_open.h for paths of recordings. Only regular files; at most
 * @limit bytes are unpacked (0: PLAIN_FILE_LIMIT). Zero; -sbe_not_found, -sbe_io; -sbe_format or
 * -sbe_truncated when it is damaged; -sbe_unsupported when it unpacks to more than the limit. */
int open_maybe_compressed(struct plain_file *plain, const char *path, uint64_t limit, struct sb_error *err);

/* The same for an open file, which stays the caller's. @path is its name. */
int plain_file_of(struct plain_file *plain, int fd, const char *path, uint64_t limit, struct sb_error *err);

void plain_file_close(struct plain_file *plain);

#endif
