/* switch_track.h - who runs on a CPU, by the evidence of records and trace.
 *
 * Records say which thread ran after which, and about when. Where exactly in the trace, other things say:
 * traces of user space show tracing being turned off while the kernel switches; traces of the kernel show the
 * very function that switches being passed, once for each switch. So the passes and the records of a CPU are
 * matched in order, and times only bound what may belong together.
 *
 * A switch has two records: whoever goes makes one before the pass, whoever comes makes one behind it. So the
 * first pass behind the one is the switch's, however late it comes; and at the time of the other, whoever
 * made it runs, however early the pass was. Where records are missing, there are passes without any: how many
 * there were since it was known who ran bounds whose the next one may be.
 */
#ifndef SB_SWITCH_TRACK_H
#define SB_SWITCH_TRACK_H

#include <sb/replay.h>
#include <sb/system.h>

#include "system/schedule_use.h"
#include "system/system.h"

/* ns: between a switch's record and the switch itself: the rest of the scheduler. */
enum { SWITCH_TRACK_DELAY = 100 * 1000 };

struct switch_track {
	const struct sb_sched *sched; /* of the CPU; borrowed */
	size_t nscheds, next;         /* what is yet to come */
	struct schedule_use use;      /* to be told which entries are looked at */
	int32_t pid, tid;             /* who runs; -1: not known */
	int by_time;  /* the last entry counts because of its time: the kernel may yet be seen switching */
	int inferred; /* pid and tid are not what a record says, but concluded */
	int passed;   /* the kernel was seen switching since user space was left */
	int32_t from_pid,
	        from_tid;       /* who was known to run last, and how often since then the kernel was seen */
	uint32_t nunknown;      /* switching without a record; -1: nobody was */
	int is_fresh;           /* the last entry took effect, and user space was not entered since */
	uint64_t unknown_until; /* the last one of these may have been as late as that, much later than the
	                           slack says; 0: it was not */
	uint32_t nlate;         /* how many of these there were since the same moment */
	uint64_t stale_until;   /* the last one before these, likewise: a record up to then may be of one that
	                           was seen before it was concluded who ran */
	int is_half;      /* the next entry's switch has begun: it may not have been seen because the flow
	                     was not known, or it is yet to be seen */
	int sees_passes;  /* the kernel is seen switching, wherever the flow is known */
	int stands_still; /* the trace's time does, for long: it is the earliest that it may be */
	int is_whole;     /* the schedule lacks nothing, as far as is known */
	enum switch_losses losses;
	int jump;         /* what came before the first moment was not walked along, nor is it counted */
	uint32_t without; /* evidence that nothing may be concluded from: bits, as in sb_replay_options */
	uint64_t slack; /* ns: by how much the trace's estimates of time may be early, when they are known */
	uint64_t nswitches[sb_switch_evidences];
};

void switch_track_init(struct switch_track *track, const struct sb_sched *sched, size_t nscheds);

/* Another schedule is gone along, from its beginning on. */
void switch_track_take(struct switch_track *track, const struct sb_sched *sched, size_t nscheds,
                       const struct schedule_use *use);

/* Nobody knows who runs; the first moment that comes may be anywhere. */
void switch_track_forget(struct switch_track *track, int jump);

/* In the kernel, about at @now: whoever made a record by then runs since before it. */
void switch_track_prove(struct switch_track *track, uint64_t now);

/* All that is due at @now, ns, has taken effect. */
void switch_track_go_to(struct switch_track *track, uint64_t now);

/* In the kernel, the flow is known from some place on, between @now and @until; it may have switched unseen
 * before. */
void switch_track_regain(struct switch_track *track, uint64_t now, uint64_t until);

/* The kernel is seen switching. */
struct switch_seen {
	uint64_t now, until; /* between both; beside the slack */
	int32_t pid;         /* to that process; -1: to whom is not known */
	int32_t tid;         /* to that thread of it, if there is no record; -1: to which one is not known */
};
void switch_track_pass(struct switch_track *track, const struct switch_seen *seen);

/* The kernel returns to user space, about at @now: what must have been switched before has been. */
void switch_track_leave_kernel(struct switch_track *track, uint64_t now);

/* Whether the last entry may yet be seen taking effect. */
int switch_track_expects(const struct switch_track *track, uint64_t now);

/* The next entry; NULL: there is none. */
static inline const struct sb_sched *switch_track_next(const struct switch_track *track)
{
	return track->next < track->nscheds ? &track->sched[track->next] : NULL;
}

/* Whether the next entry's records say that another thread than the present one ran before: its own switch
 * has no record. */
int switch_track_lacks_record(const struct switch_track *track);

/* Whether the next entry's records say that the present thread ran before. */
int switch_track_is_confirmed(const struct switch_track *track);

/* Something else says who runs: @evidence. If that does not count, nobody is known to. */
void switch_track_infer(struct switch_track *track, int32_t pid, int32_t tid,
                        enum sb_switch_evidence evidence);

/* Whoever is named certainly runs, and the first @next entries have taken effect. */
void switch_track_settle(struct switch_track *track, int32_t pid, int32_t tid, size_t next);

/* Nothing says who runs. */
void switch_track_doubt(struct switch_track *track);

/* When something is due next; UINT64_MAX: not any more. */
static inline uint64_t switch_track_until(const struct switch_track *track)
{
	return track->next < track->nscheds ? track->sched[track->next].time : UINT64_MAX;
}

#endif
