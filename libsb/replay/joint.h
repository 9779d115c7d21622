/* joint.h - does a replay that came to a PSB go on like one that began there?
 *
 * What comes before a PSB hardly matters for what comes behind it, but it may: code that ran before the PSB
 * can have left a pending switch, or addresses on the return stack that a PSB does not always clear. So the
 * replay that comes to the PSB compares: only when all that it goes on by is the same, as far as the flow
 * can depend on it, does it leave the rest to the one that began there.
 */
#ifndef SB_JOINT_H
#define SB_JOINT_H

#include "replay/stream_replay.h"

/* What a replay goes on by, when it asks at_border(). */
struct joint {
	uint64_t position;            /* of the PSB */
	struct pt_run_state *decoder; /* owned */
	struct sideband_state observer;
	uint64_t last_tsc, last_ip;
};

/* Zero or -sbe_nomem. */
int joint_init(struct joint *joint, const struct stream_replay *replay);
void joint_fini(struct joint *joint);

/* Whether @replay, asking at_border(), goes on as the one did that @joint is of. */
int joint_fits(const struct joint *joint, const struct stream_replay *replay);

#endif
