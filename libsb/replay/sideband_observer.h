/* sideband_observer.h - moves along the system model with a decoder's time, and gives the decoder the code
 * of whoever runs.
 *
 * Who runs changes only in the kernel. In traces of user space that is while tracing is off: a switch or an
 * exec that comes due while tracing is on - time is an estimate - waits until it is off, or until nobody
 * knows, as after an overflow. In traces of the kernel, its code is decoded from an image of its own, whoever
 * runs; who does is settled when it returns to user space.
 * Another thread may change the mappings at any time: a new epoch counts at once.
 */
#ifndef SB_SIDEBAND_OBSERVER_H
#define SB_SIDEBAND_OBSERVER_H

#include <intel-pt.h>
#include <sb/clock.h>
#include <sb/system.h>

#include "replay/filter.h"
#include "replay/evidence.h"
#include "replay/image_build.h"
#include "replay/kernel_image.h"
#include "replay/late_time.h"
#include "replay/switch_track.h"
#include "replay/trial.h"

/* Whose blocks are. */
struct flow_owner {
	int32_t pid, tid;
	const struct sb_membership *membership; /* NULL: not known */
	int unwanted;                           /* the filter leaves them out */
};

struct sideband_observer {
	struct pt_observer base;
	const struct sb_system *system;
	const struct sb_clock *clock;
	struct image_builder *images;
	const struct replay_filter *filter;
	struct filter_memory *memory;     /* of the filter */
	struct pt_block_decoder *decoder; /* attached to */

	struct kernel_image *kernel; /* borrowed; NULL: the kernel is not traced */
	struct evidence *evidence;   /* borrowed */
	struct trial *trial;         /* borrowed */
	struct switch_track track;   /* who runs */
	int in_steps;  /* the trace lacks CYC or MTC packets: its time stands still in between others */
	int is_coarse; /* it has no MTC packets */
	int is_late;   /* it has no CYC packets, and the kernel is not traced: see late_time.h */
	struct late_time late;
	struct late_tsc next_tsc;
	uint64_t judged;         /* by late_time, at that time, who entered user space last; 0: was not */
	uint64_t still, settled; /* while time stands still at the first one, it is known who runs up to the
	                            second one; 0: not so */
	uint64_t off_time;  /* when tracing was turned off last; 0: before the PSB where decoding began */
	int was_on;         /* tracing was on, since then */
	uint64_t exact;     /* it is off, and a packet tells that time; 0: not so */
	int interrupted;    /* it was turned off by an interrupt, as far as that matters */
	int is_unbroken;    /* it has been on, and the flow known, since user space was entered */
	int has_strayed;    /* user space may have been entered where the flow is not known, up to here, */
	uint64_t stray_psb; /* as far as there was no PSB since this one */
	int is_lost;        /* an overflow came, and no packet may have told the time since */
	uint64_t tsc_base;  /* the bits of the counter that the trace does not have */

	enum pt_decode_state state;
	int sees_switches; /* it is known where the kernel switches */
	int asks_cr3; /* records of switches are missing, or it is not known where: the page tables count */
	uint64_t cr3; /* their page; 0: not known, or not asked for */
	uint64_t mm_insns; /* when not 0: they are another process' since so many instructions, plus one */
	int examined;      /* who runs was looked into, behind the PSB at that offset */
	uint64_t psb;
	int in_kernel;         /* the flow is */
	int in_guest;          /* in a virtual machine, whose code nobody here knows */
	struct flow_owner who; /* who runs, and what counts for them in [who_from, who_to) */
	uint64_t who_from, who_to;
	struct flow_owner run;            /* whose the blocks of the decoder's present run are */
	const struct sb_epoch *run_epoch; /* and which mappings their code comes from */
	const struct sb_space *space;     /* of whoever runs, or NULL */
	const struct sb_epoch *epoch;     /* in force, or NULL */
	struct pt_image *image;           /* in use */
	struct code_window_ends doubt;    /* it is of what these epochs and those in between have in common */
};

/* What an observer is made from; borrowed. */
struct sideband_sources {
	const struct sb_system *system;
	const struct sb_clock *clock;
	struct image_builder *images;
	const struct replay_filter *filter;
	struct filter_memory *memory;
	struct kernel_image *kernel; /* NULL: the kernel is not traced */
	struct evidence *evidence;
	struct trial *trial;
	uint64_t slack;   /* ns, see struct switch_track */
	int in_steps;     /* the trace lacks CYC or MTC packets: its time stands still in between others */
	int is_coarse;    /* the trace has no MTC packets */
	int is_late;      /* nor CYC packets, and the kernel is not traced: see late_time.h */
	uint32_t without; /* see struct switch_track */
};

/* Who runs where a stream was recorded. */
struct observed_schedule {
	const struct sb_sched *sched; /* borrowed */
	size_t nscheds;
	struct schedule_use use;
	int is_whole; /* lacks nothing, as far as is known */
	enum switch_losses losses;
};

/* For one CPU, from the start of its trace on. */
void sideband_observer_init(struct sideband_observer *observer, const struct sideband_sources *sources,
                            const struct observed_schedule *schedule);

/* For another CPU; the watched decoder stays. Zero or a negative pt_error_code. */
int sideband_observer_move(struct sideband_observer *observer, const struct observed_schedule *schedule);

/* Watches @decoder, which is new; the decoder watched before has been freed. Zero or a negative
 * pt_error_code. */
int sideband_observer_watch(struct sideband_observer *observer, struct pt_block_decoder *decoder);

/* Begins anew, in the middle of the trace, before the watched decoder is synchronised there. Zero or a
 * negative pt_error_code. */
int sideband_observer_jump(struct sideband_observer *observer);

/* Fills in what else is known of @owner, whose pid and tid are there, at @now. */
void sideband_observer_know(const struct sideband_observer *observer, struct flow_owner *owner, uint64_t now);

/* @owner certainly runs, and the first @next entries of the schedule have taken effect. */
void sideband_observer_settle(struct sideband_observer *observer, const struct flow_owner *owner,
                              size_t next);

/* What is decoded from now on is other trace: its PSBs are others. */
void sideband_observer_begin_buffer(struct sideband_observer *observer);

/* Tracing was enabled at @ip of user space, which may be the address where it was disabled last. @is_whole:
 * the flow is known since the last PSB. Zero or a negative pt_error_code. */
int sideband_observer_enabled(struct sideband_observer *observer, uint64_t ip, int resumed, int is_whole);

/* Tracing was disabled: @interrupted: by an interrupt, not by an instruction. */
void sideband_observer_disabled(struct sideband_observer *observer, int interrupted);

/* What comes next does not follow what came before. */
void sideband_observer_lose_way(struct sideband_observer *observer);

/* Nor is known how often user space was entered in between: others may have run. Zero: nobody has, or what
 * comes next is at a PSB, where time is exact. */
void sideband_observer_stray(struct sideband_observer *observer, int strays);

/* It is known again behind an overflow, from @ip on. Zero or a negative pt_error_code. */
int sideband_observer_overflowed(struct sideband_observer *observer, uint64_t ip);

/* The page tables @cr3, a page, are in force; 0: that is not known any more. */
void sideband_observer_paging(struct sideband_observer *observer, uint64_t cr3);

/* The decoder begins another run. A switch takes effect behind its blocks, never between them, but for those
 * that the kernel is seen doing. */
void sideband_observer_begin_run(struct sideband_observer *observer);

/* Instructions between both, at most. */
enum { PAGING_TO_SWITCH = 1000 };

/* The flow goes on by so many instructions. */
static inline void sideband_observer_passed_by(struct sideband_observer *observer, uint64_t ninsn)
{
	if (observer->mm_insns)
		observer->mm_insns =
		        ninsn < PAGING_TO_SWITCH - observer->mm_insns ? observer->mm_insns + ninsn : 0;
}

/* The kernel is seen switching in a run that began at @tsc (zero: not known). Zero or a negative
 * pt_error_code. */
int sideband_observer_pass(struct sideband_observer *observer, uint64_t tsc);

/* What an observer goes on by. */
struct sideband_state {
	enum pt_decode_state state;
	int in_guest;
	int expects_switch;
	int is_fresh, inferred, interrupted, is_unbroken; /* where records of switches are missing */
	int has_strayed;
	int just_off; /* tracing was turned off at the present time, as far as the trace tells it */
	struct flow_owner who;
	const struct sb_space *space;
	const struct sb_epoch *epoch;
	struct code_window_ends doubt; /* where user space runs */
	int is_judged;                 /* time stands still since then */
	size_t next, late;             /* of the schedule: what is yet to come, and what may have come */
	int32_t from_pid, from_tid;    /* see struct switch_track */
	uint32_t nunknown, nlate;
	uint64_t unknown_until, stale_until;
	int is_half;
	int passed, by_time; /* likewise, where records are missing */
	uint64_t limit;
	uint64_t cr3, mm_insns;
};

struct sideband_state sideband_observer_state(const struct sideband_observer *observer);
int sideband_state_equal(const struct sideband_state *a, const struct sideband_state *b);

/* The upper bits of a time stamp counter, which TSC packets do not have, on a CPU with that schedule. */
uint64_t sideband_upper_bits(const struct sb_clock *clock, const struct sb_sched *sched, size_t nscheds);

/* The time of the observed decoder in perf's clock; 0 when it is not known. */
uint64_t sideband_observer_now(const struct sideband_observer *observer);

#endif
