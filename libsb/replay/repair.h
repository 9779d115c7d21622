/* repair.h - where evidence leaves a choice who runs, or the trace contradicts it: the others are tried.
 *
 * A switch's record has a time, and the trace's time is an estimate, or stands still: so user space may be
 * entered before the switch, or behind it, or behind several ones. Where records of switches are missing, it
 * may be whoever has code there. That place is a safe point: nothing behind it was decoded yet. From there
 * on, the trace is tried with the code of each of them (trial.h). When all but one are refuted, it is that
 * one; when nobody is left, or several are, it stays as it was: records are right, or nobody knows.
 *
 * It counts only who is known to be all that there are: nobody whose fork, mapping or switch may have no
 * record.
 */
#ifndef SB_REPAIR_H
#define SB_REPAIR_H

#include "replay/evidence.h"
#include "replay/late_time.h"
#include "replay/trial.h"

/* User space is entered. Borrowed. */
struct repair_place {
	struct trial *trial;
	const struct pt_block_decoder *decoder; /* stands there */
	struct evidence *evidence;
	uint64_t now, until; /* it is then, at the earliest and at the latest */
	int is_whole;        /* the flow is known since the last PSB */
};

/* All return one when they set right who runs; zero; or -pte_nomem. */

/* Nobody is known to run, but one of @suspects does. @before: the track before that was found. */
int repair_doubt(const struct repair_place *place, struct switch_track *track,
                 const struct switch_track *before, const struct suspects *suspects);

/* Records say who runs at @ip, and that there is a switch until place->until. */
int repair_early(const struct repair_place *place, struct switch_track *track, uint64_t ip);

/* Time stands still, and *verdict leaves open which one of those that it names runs. */
int repair_late(const struct repair_place *place, const struct switch_track *track, struct late_time *late,
                struct late_verdict *verdict);

#endif
