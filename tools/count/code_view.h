/* tools/count/code_view.h - what was counted, in order: by file, and by place in it.
 *
 * Files are sorted by name, so that what is written from them does not depend on who ran first; those of
 * different processes, where these are counted by themselves, by process.
 */
#ifndef TOOLS_COUNT_CODE_VIEW_H
#define TOOLS_COUNT_CODE_VIEW_H

#include <sb/binary.h>

#include "count/code_table.h"

/* An instruction that was executed. */
struct code_insn {
	uint64_t offset;
	uint64_t count;
	const struct code_block *block; /* one that it is in */
	uint8_t length, iclass; /* enum pt_insn_class; ptic_other: no branch, or not known to be one */
};

/* How execution came from one instruction to another one. */
enum code_edge_kind {
	code_edge_fall,   /* a conditional branch was not taken */
	code_edge_taken,  /* ... or was */
	code_edge_jump,   /* near, unconditional */
	code_edge_call,   /* near */
	code_edge_return, /* near */
	code_edge_far,    /* into the kernel by system call, and out of it */
	/* No branch leads there: an interrupt, an exception, a signal, or what came back from one elsewhere.
	 */
	code_edge_async,
	code_edge_kinds
};
const char *code_edge_kind_name(enum code_edge_kind kind); /* "fall", "taken", ... */

struct code_part;

/* Ends in @part. */
struct code_edge {
	uint64_t from; /* offset of the instruction that was left, in the part that has the edge */
	uint64_t to;   /* offset in .. */
	const struct code_part *part;
	enum code_edge_kind kind;
	uint64_t count;
	const struct code_block *from_block, *to_block; /* some that begin or end there */
};

/* Whether a near branch was taken. */
static inline bool code_edge_is_taken(const struct code_edge *edge)
{
	return edge->kind >= code_edge_taken && edge->kind <= code_edge_return;
}

/* The code of one object. */
struct code_part {
	const struct code_object *object;
	const char *name; /* of the file as recorded, "[kernel]", or "[unknown]" */
	bool unwanted;    /* the user's; false at first */
	const struct code_block **block;
	struct code_insn *insn; /* owned; by offset */
	struct code_edge *edge; /* owned; by from, then to; those that leave this object */
	size_t nblocks, ninsns, nedges;
	const char *path;            /* where the file is on this machine; NULL: none */
	int64_t shift;               /* from offsets to offsets in that file */
	struct sb_elf_code code[16]; /* of that file */
	int ncodes;
};

struct code_view {
	struct code_part *part; /* owned */
	size_t nparts;
};

/* @resolver (may be NULL) finds the files, and must outlive the view. Zero, or negative: out of memory. */
int code_view_make(struct code_view *view, const struct code_table *table, struct sb_resolver *resolver);
void code_view_fini(struct code_view *view); /* zeroed is fine */

/* Where in the file that was found what stands at @offset is. */
static inline uint64_t code_part_in_file(const struct code_part *part, uint64_t offset)
{
	return offset + (uint64_t)part->shift;
}

/* The address that what stands at @offset is linked for; the offset where that is not known. */
uint64_t code_part_address(const struct code_part *part, uint64_t offset);
/* The way back; false: no code is linked for that address. The kernel's offsets are addresses. */
bool code_part_offset(const struct code_part *part, uint64_t address, uint64_t *offset);

/* The index of the first instruction, or edge, at @offset or behind. */
size_t code_part_insn(const struct code_part *part, uint64_t offset);
size_t code_part_edge(const struct code_part *part, uint64_t offset);

#endif
