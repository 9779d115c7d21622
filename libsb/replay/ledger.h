/* ledger.h - what has become of every byte of trace and of every instruction.
 *
 * Flow is held back until the next PSB confirms it: a PSB names the address where execution stands, and
 * when the flow arrives there, the way to it was right. When trace and code turn out not to fit, the
 * error is somewhere behind the last PSB, so all that came since is a gap.
 */
#ifndef SB_LEDGER_H
#define SB_LEDGER_H

#include <sb/replay.h>
#include <sb/system.h>

#include "replay/path_store.h"

/* Whether somebody wants it. */
enum ledger_want {
	ledger_wanted,
	ledger_unwanted, /* left out */
	ledger_unnamed   /* left out, unless it gets another name before it is handed out */
};

/* Where the flow of a moment belongs. */
struct ledger_place {
	int32_t pid, tid;
	uint64_t tsc;
	const struct sb_epoch *epoch;           /* or NULL */
	const struct sb_membership *membership; /* NULL: not known */
	enum ledger_want unwanted;
};

enum held_kind { held_flow, held_gap, held_event };

/* What comes in order. */
struct held_item {
	enum held_kind kind;
	struct ledger_place place;
	union {
		struct { /* [first, first + npaths) of the held paths */
			uint64_t ninsn;
			size_t first;
			uint32_t npaths, nblocks;
			uint64_t left_ip; /* see struct sb_flow */
		};
		const struct sb_gap *gap; /* owned */
		struct {
			enum sb_flow_event_kind event;
			uint64_t from, to;
		};
	};
};

/* What a thread executed in a container, or outside of all: NULL. */
struct account_slot {
	struct sb_account_thread thread;
	const struct sb_container *container;
	int used;
};

struct ledger {
	const struct sb_sink *sink;
	const struct sb_replay_options *options;
	struct sb_account account; /* threads are filled in at the end */
	struct account_slot *slot; /* owned; open addressing by pid, tid and container */
	size_t nslots, nused;
	struct sb_account_thread *threads;       /* owned; of the account */
	struct sb_account_container *containers; /* owned; likewise */

	/* Of the present stream. */
	int32_t cpu;
	uint64_t confirmed_tsc; /* of what was confirmed last */
	uint64_t last_tsc;
	uint64_t progress_at, done; /* bytes of all streams */

	const struct pt_run_path **path; /* owned; the paths are the decoder's, or in `memory` */
	size_t npaths, path_capacity;
	size_t nblocks;
	struct held_item *item; /* owned */
	size_t nitems, item_capacity;
	size_t ncut;         /* items that nothing is added to */
	uint64_t handed_out; /* how often what was held back was, or was forgotten */
	struct path_store memory;
	uint64_t numbering; /* of struct sb_flow: one more when the numbers of paths begin anew */
};

void ledger_init(struct ledger *ledger, const struct sb_sink *sink, const struct sb_replay_options *options);
/* Sets the paths' numbering apart from those of other ledgers of the session, which have other indices. */
void ledger_set_index(struct ledger *ledger, uint32_t index);
void ledger_fini(struct ledger *ledger);

void ledger_begin_stream(struct ledger *ledger, int32_t cpu);

/* Bytes of trace that were decoded. */
int ledger_decoded(struct ledger *ledger, uint64_t bytes);

/* A gap, here and now: after the flow that was held back so far, which stays as it is. */
int ledger_gap(struct ledger *ledger, const struct sb_gap *gap);

/* Holds back a run; its time becomes one that never goes back. */
int ledger_hold(struct ledger *ledger, struct ledger_place place, const struct pt_run *run);
/* Time went on inside of the run that was held last. */
void ledger_pass_time(struct ledger *ledger, uint64_t tsc);
/* Whether it matters when something ran. */
int ledger_asks_time(const struct ledger *ledger);
/* Whether that, which is held, may be found to have been interrupted. */
int ledger_may_be_left(const struct ledger *ledger);
/* What was held last was interrupted before the instruction at @ip. */
void ledger_hold_left(struct ledger *ledger, uint64_t ip);
/* A gap that does not end what is held back. */
int ledger_hold_gap(struct ledger *ledger, const struct sb_gap *gap);
/* An event, of which kind, from and to are set. */
int ledger_hold_event(struct ledger *ledger, struct ledger_place place, const struct sb_flow_event *event);

/* What comes is another item than what is held back; its number. */
size_t ledger_cut(struct ledger *ledger);

/* Whether anything is held back. */
static inline int ledger_holds(const struct ledger *ledger)
{
	return ledger->nitems != 0;
}

/* What was held back is right, or is not: hands it out, or forgets it but for its gaps. */
int ledger_confirm(struct ledger *ledger);
int ledger_discard(struct ledger *ledger);

/* The runs that come are another decoder's: their paths have other numbers. Nothing is held back. */
void ledger_renumber(struct ledger *ledger);

/* Flow that need not be held back. */
int ledger_flow(struct ledger *ledger, const struct sb_flow *flow);
int ledger_event(struct ledger *ledger, const struct sb_flow_event *event);

/* ---- Parts: what one ledger collects is another one's in the end -------------------------------- */

/* The sums of a part. */
struct ledger_part {
	struct sb_account account;
	struct account_slot *slot; /* owned */
	size_t nslots, nused;
};

/* Forgets what is held back, and all sums. */
void ledger_restart(struct ledger *ledger);
/* Moves the sums so far to @part. */
void ledger_take_part(struct ledger *ledger, struct ledger_part *part);
/* Adds @part's. Zero or -sbe_nomem. */
int ledger_add_part(struct ledger *ledger, const struct ledger_part *part);
void ledger_part_fini(struct ledger_part *part);

/* Bytes of a part that are accounted for: only progress. */
int ledger_progress(struct ledger *ledger, uint64_t bytes);

/* ------------------------------------------------------------------------------------------------- */

/* All streams are done: the last call of the sink's progress. */
int ledger_complete(struct ledger *ledger);

/* Completes the account: the threads, with their names, and the containers. */
int ledger_finish(struct ledger *ledger, const struct sb_system *system);

#endif
