/* tools/count/code_table.h - the code that was executed, once per place in a file, with how often.
 *
 * Code is of an object: a file, wherever and by however many processes it was mapped, at the offset in it;
 * the kernel, or what no record tells of, at its address. A block is some instructions of an object that ran
 * one after the other; where trace and interrupts cut code differently, blocks overlap, and the sum over them
 * is right. A link is that one block followed on another in the same thread.
 */
#ifndef TOOLS_COUNT_CODE_TABLE_H
#define TOOLS_COUNT_CODE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include <sb/replay.h>
#include <sb/symbols.h>
#include <sb/system.h>

#include "count/pool.h"

struct code_object {
	struct code_object *next; /* of all */
	struct code_object *next_in_slot;
	uint64_t hash;
	/* A mapping of it: of all the one whose name comes first. NULL: the kernel's code, or not known. */
	const struct sb_map *map;
	/* Whose memory it is, when no record tells of a mapping, or what counts is told of each process by
	 * itself; else -1. */
	int32_t pid;
	bool is_kernel;
	uint32_t index;
};

struct code_block {
	struct code_block *next; /* of the same slot */
	struct code_object *object;
	uint64_t offset;       /* of the first instruction */
	uint32_t size, last;   /* in bytes; the last instruction's offset from the first */
	uint16_t ninsn;        /* > 0 */
	uint8_t iclass;        /* enum pt_insn_class of the last instruction */
	const uint8_t *length; /* in bytes, of each instruction */
	uint64_t count;
	struct sb_symbols_place place; /* one of those where it was executed */
};

struct code_link {
	struct code_link *next; /* of the same slot */
	const struct code_block *from, *to;
	bool async; /* not by the last instruction of the first block: an interrupt, or the like */
	uint64_t count;
};

struct code_table {
	bool by_process; /* what different processes executed are different objects */
	struct pool pool;
	struct code_object *object;       /* all */
	struct code_object **object_slot; /* owned; object_slots of them */
	size_t object_slots;
	struct code_object_slot *seen; /* owned; objects by mapping */
	size_t nseen, seen_slots;
	struct code_block **block; /* owned */
	size_t nblocks, block_slots;
	struct code_link **link; /* owned */
	size_t nlinks, link_slots;
	uint32_t nobjects;
	struct code_link *last_link[4096]; /* found there before */
	struct code_found *found;          /* owned; blocks that were found, by address */
};

int code_table_init(struct code_table *table, bool by_process); /* zero, or negative: out of memory */
void code_table_fini(struct code_table *table);

/* The block that @block was of the flow at @place, whose ip is not looked at. NULL: out of memory. */
struct code_block *code_table_block(struct code_table *table, const struct sb_symbols_place *place,
                                    const struct pt_run_block *block);

struct code_link *code_table_link_look_up(struct code_table *table, const struct code_block *from,
                                          const struct code_block *to, bool async);

/* Counts that @to followed on @from, as struct code_link has it. Zero, or negative: out of memory. */
static inline int code_table_link(struct code_table *table, const struct code_block *from,
                                  const struct code_block *to, bool async, uint64_t count)
{
	const size_t slot = ((uintptr_t)from * 31 ^ (uintptr_t)to) / sizeof(struct code_block) % 4096;
	struct code_link *link = table->last_link[slot];

	if (!link || link->from != from || link->to != to || link->async != async) {
		link = code_table_link_look_up(table, from, to, async);
		if (!link)
			return -1;
		table->last_link[slot] = link;
	}
	link->count += count;
	return 0;
}

#endif
