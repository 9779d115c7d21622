/* compression.h - gzip, zstd and xz behind one face: bytes in, bytes out, member by member. */
#ifndef SB_COMPRESSION_H
#define SB_COMPRESSION_H

#include <stddef.h>
#include <stdint.h>

enum { COMPRESSION_MAGIC_MAX = 6 };

/* What is left to read, and where to write. */
struct compression_piece {
	const uint8_t *in;
	size_t in_size;
	uint8_t *out;
	size_t out_size;
};

enum compression_step { compression_more, compression_end, compression_bad };

/* A compression as a row: how its files begin, and how one member is unpacked. A file may have several, one
 * after the other. step() takes from the front of @piece what it can; *why says what is wrong with a bad one.
 */
struct compression {
	const char *name;
	uint8_t magic[COMPRESSION_MAGIC_MAX];
	size_t magic_size;
	void *(*begin)(void);
	enum compression_step (*step)(void *state, struct compression_piece *piece, const char **why);
	void (*end)(void *state);
};

/* That of a file which begins so, or NULL. */
const struct compression *compression_of(const uint8_t *begin, size_t size);

#endif
