/* elsewhere.h - whether a thread that is on a CPU again was on another one meanwhile, as far as switches were
 * recorded.
 *
 * Whoever replays one CPU goes through the schedules of the others along with it, and notes of each thread
 * when it was seen there last; threads whose numbers hash alike are one, which is but too careful.
 */
#ifndef SB_ELSEWHERE_H
#define SB_ELSEWHERE_H

#include "replay/walker.h"
#include "system/schedule_use.h"

enum { elsewhere_slots = 1 << 10 };

/* Another CPU. */
struct elsewhere_cpu {
	const struct sb_sched *sched; /* borrowed */
	size_t nscheds, npassed;      /* so many were looked at */
	struct schedule_use use;
};

struct elsewhere {
	struct elsewhere_cpu *cpu; /* owned */
	size_t ncpus;
	int is_open;                    /* what else is here is known */
	int is_unknown;                 /* anybody may have been anywhere */
	uint64_t from, now;             /* perf clock, ns: what schedules were looked at */
	uint64_t work;                  /* how many entries may be looked at; more the more is asked */
	uint64_t seen[elsewhere_slots]; /* perf clock, ns */
};

/* Zeroed, it can be opened, and ended. */
void elsewhere_fini(struct elsewhere *elsewhere);

/* For who goes through @cpu; -1: trace of no CPU's. Zero or -sbe_nomem. */
int elsewhere_open(struct elsewhere *elsewhere, const struct replay_world *world, int32_t cpu);

/* Whether thread @tid, which was on the CPU at @since, and is now, at @now, may have been on another one in
 * between. Both are of the perf clock, ns, and @now never goes back. */
int elsewhere_since(struct elsewhere *elsewhere, int32_t tid, uint64_t since, uint64_t now);

#endif
