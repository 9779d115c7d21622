/* switch_window.h - who ran between two PSBs, in a trace of the kernel whose time stands still between them.
 *
 * Where records of switches are missing, no order of passes and records can be relied on while time stands
 * still: a pass may be that of a record, or of none. But at PSBs, time is exact. If the flow between two of
 * them is known as a whole, so are all passes; and if as many switches as that have records that were surely
 * made between both, no switch is without a record there, and the passes are theirs, in order. Where a record
 * names another one who goes than came before, there was at least one switch without: if there were just so
 * many more passes, there was just one at each such place. Before the first pass, and where there is none,
 * whoever ran at the PSB before still does.
 *
 * So what the ledger holds back is given its names when the second PSB is reached: only to what was nobody's,
 * and only if nothing that has a name contradicts that.
 */
#ifndef SB_SWITCH_WINDOW_H
#define SB_SWITCH_WINDOW_H

#include "replay/ledger.h"
#include "replay/sideband_observer.h"

enum { SWITCH_WINDOW_PASSES_MAX = 1024 };

struct switch_window {
	int is_open;                             /* the flow since the PSB is known as a whole */
	uint64_t from;                           /* perf clock, ns: of the PSB */
	int32_t pid, tid;                        /* who ran there; -1: not known */
	uint64_t handed_out;                     /* of the ledger, there */
	uint64_t nswitches[sb_switch_evidences]; /* of the track, likewise */
	size_t npasses;
	size_t pass[SWITCH_WINDOW_PASSES_MAX]; /* the first item of the ledger behind each */
	size_t first;                          /* and behind the PSB */
	struct flow_owner
	        who[SWITCH_WINDOW_PASSES_MAX + 1]; /* behind so many passes: pid and tid; -1: not known */
};

/* The flow stands at a PSB. */
void switch_window_begin(struct switch_window *window, const struct sideband_observer *observer,
                         struct ledger *ledger);

/* The kernel was seen switching behind what the ledger holds. */
void switch_window_pass(struct switch_window *window, struct ledger *ledger);

/* The flow is not known any more. */
static inline void switch_window_spoil(struct switch_window *window)
{
	window->is_open = 0;
}

/* Whether anybody wants what @owner executes now. */
static inline enum ledger_want switch_window_want(const struct switch_window *window,
                                                  const struct flow_owner *owner)
{
	if (!owner->unwanted)
		return ledger_wanted;
	return window->is_open && owner->tid < 0 ? ledger_unnamed : ledger_unwanted;
}

/* The flow stands at the next PSB. */
void switch_window_end(struct switch_window *window, struct sideband_observer *observer,
                       struct ledger *ledger);

#endif
