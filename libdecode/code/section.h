/* A section: a contiguous piece of a file that holds code.
 *
 * Reference-counted, immutable but for what is published once: its mapping, made at first use and
 * kept as long as the section lives, and its block graph (block_graph.h). Shared by any number of
 * images, decoders and threads.
 */
#ifndef PT_SECTION_H
#define PT_SECTION_H

#include <stdatomic.h>
#include <stdint.h>

struct pt_block_graph;

struct pt_section {
	char *filename;                 /* owned; the whole's in a slice */
	struct pt_section *whole;       /* a slice reads through its whole's mapping and holds a */
	                                /* reference to it; NULL for a section that maps itself */
	uint64_t offset;                /* in the file */
	uint64_t size;                  /* clipped to the file's size; never zero */
	_Atomic(const uint8_t *) bytes; /* [offset, offset + size), NULL until mapped */
	int64_t mtime_sec;              /* of the file when the section was made: a file that */
	int64_t mtime_nsec;             /* changed since is refused with -pte_bad_image */
	uint64_t file_size;
	_Atomic(struct pt_block_graph *) graph; /* made and freed through block_graph.h; never shared */
	                                        /* between a slice and its whole */
	atomic_uint refs;
};

/* A section for [offset, offset + size) of @filename, with one reference. The size is clipped to the
 * file's end. -pte_invalid (NULL, size zero, offset at or past the end), -pte_bad_file (cannot be
 * opened, not a regular file), -pte_nomem. The file is not kept open. */
int pt_section_make(struct pt_section **section, const char *filename, uint64_t offset, uint64_t size);

/* A narrower view of @parent: [offset, offset + size) relative to the parent's first byte. Keeps what
 * the parent's bytes hang on alive; -pte_invalid when it would be empty or exceed the parent. */
int pt_section_slice(struct pt_section **slice, struct pt_section *parent, uint64_t offset, uint64_t size);

struct pt_section *pt_section_get(struct pt_section *section);
void pt_section_put(struct pt_section *section); /* NULL is fine */

/* The section's bytes; NULL when the file cannot be mapped (any more) - *errcode then says why:
 * -pte_bad_file (gone), -pte_bad_image (changed), -pte_nomem. Lock-free once mapped; callable from
 * any thread. A file that is truncated *after* it was mapped raises SIGBUS, as any mapping does. */
const uint8_t *pt_section_bytes(struct pt_section *section, int *errcode);

#endif
