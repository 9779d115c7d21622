/* schedule_use.h - which entries of a CPU's schedule were looked at.
 *
 * A checkpoint has all that is known of a CPU, and whoever replays a part of its trace looks at a small part
 * of that. Whether just that is what was written is found out when they are done: what they made of it does
 * not count before. Of a search it matters that the entries between which it ended are what was written: they
 * say that they are sorted, and there are no others between which the same can be.
 */
#ifndef SB_SCHEDULE_USE_H
#define SB_SCHEDULE_USE_H

#include <stdatomic.h>
#include <stddef.h>

#include "perfdata/checkpoint_file.h"
#include "system/schedule.h"

/* Borrowed; without blocks, nobody wants to know. */
struct schedule_use {
	atomic_uchar *blocks; /* enum schedule_state of so many entries each; shared by threads */
	size_t nblocks;
};

/* Entries @first to @last are looked at, as far as they are there. */
static inline void schedule_use_note(const struct schedule_use *use, size_t first, size_t last)
{
	for (size_t i = first / CHECKPOINT_SCHEDS_PER_SUM;
	     i < use->nblocks && i <= last / CHECKPOINT_SCHEDS_PER_SUM; ++i)
		if (atomic_load_explicit(&use->blocks[i], memory_order_relaxed) == schedule_is_unknown)
			atomic_store_explicit(&use->blocks[i], schedule_is_used, memory_order_relaxed);
}

/* The one before @index, that one, and the next one. */
static inline void schedule_use_around(const struct schedule_use *use, size_t index)
{
	schedule_use_note(use, index ? index - 1 : 0, index + 1);
}

#endif
