/* switch_count.h - what the entries of a CPU's schedule say of their own records: how many are missing. They
 * are counted as they settle, so that nobody has to read a long schedule again for it.
 */
#ifndef SB_SWITCH_COUNT_H
#define SB_SWITCH_COUNT_H

#include <sb/system.h>

enum { SCHED_BOTH = sb_sched_out | sb_sched_in };

/* Whether both records of its switch are there. */
static inline int sched_has_both(const struct sb_sched *entry)
{
	return (entry->records & SCHED_BOTH) == SCHED_BOTH;
}

/* Zeroed at first. */
struct switch_count {
	size_t next; /* entries before that were counted */
	/* Switches: all, with both records, with one of them; but for the first entry, and those with one
	 * record for the second entry, too. */
	size_t nswitches, nboth, nsingle;
	size_t nlost;   /* between one entry and the next, a switch has no record */
	size_t nbreaks; /* the same, or it is not known */
};

/* Counts up to, and not including, entry @end of @sched. */
void switch_count_to(struct switch_count *count, const struct sb_sched *sched, size_t end);

/* All @nscheds were counted. What recording begins or ends with may have lost its other record without harm.
 */
size_t switch_count_single(const struct switch_count *count, const struct sb_sched *sched, size_t nscheds);

/* Whether all switches have records, and all have both where one has: but for the first and the last one. */
int switch_count_is_whole(const struct switch_count *count, const struct sb_sched *sched, size_t nscheds);

#endif
