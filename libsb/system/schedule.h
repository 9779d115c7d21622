/* schedule.h - who ran on each CPU, and where its records or its trace have holes, while the model is
 * being built.
 *
 * The records of one CPU come from one ring buffer, so in the recording they are in order: what is
 * concluded from one record and its predecessor is concluded here at once.
 */
#ifndef SB_SCHEDULE_H
#define SB_SCHEDULE_H

#include <sb/system.h>
#include <stdatomic.h>

#include "perfdata/switch_records.h"
#include "system/arena.h"
#include "system/spill_array.h"
#include "system/switch_count.h"
#include "system/system.h"

/* The process of an entry's thread is found out later: see schedule_find_pids(). */
enum { SCHEDULE_PID_LATER = -2 };

/* A thread that ran on a CPU at that time, as a record says that it made: of a mapping, a name, a fork. */
struct sb_seen {
	uint64_t time; /* first: sorted by it */
	int32_t pid, tid;
};

struct cpu_schedule {
	struct sb_sched *sched;
	size_t nscheds, sched_capacity;
	struct spill_array spill; /* where sched is; until it is sealed, entries before its first one may be
	                             in the file alone: see cpu_entries.h */
	struct sb_sched
	        last;    /* the entry that came last, wherever it belongs; of a checkpoint, the last one */
	size_t nsettled; /* so many are in order, and say something new each; none comes in between */
	uint64_t settled_time;
	size_t settle_at;     /* when there are so many, it is time to settle more of them */
	int unsorted;         /* those that are not settled may not be in order */
	int takes_records;    /* as they are not: each record is an entry until it is settled */
	struct sb_seen *seen; /* where that is not what entries say; sorted, once sealed */
	size_t nseen, seen_capacity;
	struct sb_seen *ended; /* who ended there, and when; sorted, once sealed */
	size_t nended, ended_capacity;
	struct sb_aux_flag *flag;
	size_t nflags, flag_capacity;
	uint64_t last_time; /* of any record of this CPU */
	int lost;           /* records, before the first switch */
	int has_switches;   /* SWITCH records: samples of sched:sched_switch are not needed */
	int foreign_tids; /* those samples number threads otherwise than all else: perf ran in a container */
	int traced;       /* has records, or is expected to have */
	struct switch_count
	        count; /* of those that do not change any more; when sealed, of all that records say */
	int is_whole;  /* when sealed: no record of a switch is missing, as far as the others tell */
	enum switch_losses losses; /* when sealed */
};

/* Of what a checkpoint has of a CPU: whether it is what was written, for so many entries each. */
struct schedule_right {
	const uint64_t *sum;  /* that these should have; borrowed */
	atomic_uchar *blocks; /* enum schedule_state; owned */
	size_t nblocks;
};
enum schedule_state { schedule_is_unknown, schedule_is_used, schedule_is_fine, schedule_is_wrong };

struct schedule {
	const struct sb_checkpoint *checkpoint; /* whose all rows are; NULL: they are owned */
	struct schedule_right *right;           /* owned; by CPU, with a checkpoint */
	int thrifty;                            /* settles what no later record should precede */
	struct cpu_schedule *cpu;               /* by number */
	size_t ncpus;
	int by_samples; /* context switches come as samples of sched:sched_switch */
	struct sb_lost *lost;
	size_t nlost, lost_capacity;
	uint64_t lost_told, lost_in_all; /* records: by LOST, and as perf counted in the end */
	/* All of which the thread is known, for streams of threads; sorted by it, once sealed. */
	struct sb_aux_flag *thread_flag;
	size_t nthread_flags, thread_flag_capacity;
	uint64_t last_time;  /* of any record */
	uint64_t round_time; /* last_time at the end of the last round of flushing all CPUs' buffers ... */
	uint64_t safe_time;  /* ... and of the round before: up to here all records have been written */
};

void schedule_free(struct schedule *schedule);

/* A record of the types that the functions below are for, and every other record, in file order. @time
 * is its time. Zero or a negative code; positive: a thrifty one met an entry that came too late. */
int schedule_record(struct schedule *schedule, const struct sb_record *record, uint64_t time);

/* The same for the records from @cursor's place on that are switches of @layout: any number of them, the
 * cursor is behind them then. Adds to *@count how many. */
int schedule_switches(struct schedule *schedule, struct sb_perfdata_cursor *cursor,
                      const struct switch_layout *layout, uint64_t *count);

/* Entries whose process is still to be found out get what @pid_of says of their thread; -1: nobody knows.
 * Zero or a negative code. */
int schedule_find_pids(struct schedule *schedule, int32_t (*pid_of)(const void *context, int32_t tid),
                       const void *context);

/* There are no more records; @damaged: although there should have been. */
int schedule_seal(struct schedule *schedule, int damaged);

/* The CPU's last entry, once sealed; NULL: there is none. Nothing else of its entries is read. */
static inline const struct sb_sched *schedule_end(const struct schedule *schedule, size_t cpu)
{
	const struct cpu_schedule *of = &schedule->cpu[cpu];

	if (!of->nscheds)
		return NULL;
	return schedule->checkpoint ? &of->last : &of->sched[of->nscheds - 1];
}

/* Who goes through the entries of @cpu, one after the other, is at @index: those far behind need not be in
 * memory. Only while the model is being built. */
static inline void schedule_pass(struct cpu_schedule *cpu, size_t index)
{
	spill_array_pass(&cpu->spill, cpu->sched, index * sizeof(*cpu->sched));
}

/* Those of the thread. */
const struct sb_aux_flag *schedule_thread_flags(const struct schedule *schedule, int32_t tid, size_t *count);

#endif
