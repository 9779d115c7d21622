/* A section: a contiguous piece of a file that holds code.
 *
 * Reference-counted, immutable but for what is published once: its bytes, mapped at first use, and its
 * block graph (block_graph.h). Both stay as long as anyone but a section cache refers to the section.
 * Shared by any number of images, decoders and threads.
 */
#ifndef PT_SECTION_H
#define PT_SECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "code/file.h"

struct pt_block_graph;
struct pt_keeper;

struct pt_section {
	struct pt_file *file; /* a reference */
	uint64_t number;      /* no other section of the process has it, before or after */
	uint64_t offset;      /* in the file */
	uint64_t size;        /* in the file; zero only for what a caller of the section cache wants empty */
	_Atomic(const uint8_t *) bytes;         /* [offset, offset + size), NULL until mapped */
	_Atomic(struct pt_block_graph *) graph; /* made and freed through block_graph.h */
	_Atomic uint64_t refs;
	struct pt_keeper *keeper; /* of the section cache that holds a reference; NULL: none does */
	/* Of the keeper, under its lock, when nobody else holds a reference: */
	bool kept;
	uint64_t cost;
	struct pt_section *newer, *older;
};

/* A section for [offset, offset + size) of @filename, with one reference. The size is clipped to the
 * file's end. -pte_invalid (NULL, no readable regular file, size zero, offset at or past the end),
 * -pte_nomem. The file is not kept open. */
int pt_section_make(struct pt_section **section, const char *filename, uint64_t offset, uint64_t size);

/* The same of a file that was looked at; within the file. Takes a reference of its own to @file. */
int pt_section_of_file(struct pt_section **section, struct pt_file *file, uint64_t offset, uint64_t size);

/* A narrower view of @parent: [offset, offset + size) relative to the parent's first byte. Has bytes if the
 * parent has, and does not need it afterwards; -pte_invalid when it would be empty or exceed the parent. */
int pt_section_slice(struct pt_section **slice, struct pt_section *parent, uint64_t offset, uint64_t size);

struct pt_section *pt_section_get(struct pt_section *section); /* for who holds a reference already */
void pt_section_put(struct pt_section *section);               /* NULL is fine */

/* The section's bytes; NULL when the file cannot be mapped (any more) - *errcode then says why, as
 * pt_file_map() does. Lock-free once mapped; callable from any thread that holds a reference. */
const uint8_t *pt_section_bytes(struct pt_section *section, int *errcode);

/* ---- Between section.c and section_keeper.c, when nobody else refers to the section -------------- */

/* How many bytes of mapping and block graph hang on the section. */
uint64_t pt_section_cost(const struct pt_section *section);

/* Lets go of its bytes and its block graph; they come again at the next use. */
void pt_section_drop(struct pt_section *section);

/* Drops and frees it. */
void pt_section_destroy(struct pt_section *section);

#endif
