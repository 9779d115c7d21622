/* cpu_entries.h - the entries of one CPU's schedule while they come: one for the two records of a switch, in
 * order as soon as no older one can come, then without those that say nothing new; and what is done with by
 * then leaves memory.
 *
 * Until they are gathered, the first entries may be in the file alone (spill_array_put()): all numbers of
 * entries count those in memory.
 */
#ifndef SB_CPU_ENTRIES_H
#define SB_CPU_ENTRIES_H

#include <sb/system.h>

struct cpu_schedule;

/* Zero or -sbe_nomem, as all of these. */
int cpu_entries_append(struct cpu_schedule *cpu, const struct sb_sched *entry);

/* No record comes any more that is older than @time. */
int cpu_entries_settle(struct cpu_schedule *cpu, uint64_t time);

/* There are no more: all entries are in cpu->sched again. May be asked for more than once. */
int cpu_entries_gather(struct cpu_schedule *cpu);

/* What follows is for gathered ones. Those that are not settled are in order. */
int cpu_entries_sort(struct cpu_schedule *cpu);

/* Records after @time are not all there: another process may have run, or the same one with other code. */
int cpu_entries_forget_after(struct cpu_schedule *cpu, uint64_t time);

/* All entries are in order: drops what says nothing new, and counts. Of those that are settled, only the last
 * one may say something else than before; @anew: any may, as processes have been found out since. */
void cpu_entries_finish(struct cpu_schedule *cpu, int anew);

#endif
