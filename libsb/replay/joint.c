/* joint.c - see joint.h. */
#include "replay/joint.h"

static struct joint joint_here(const struct stream_replay *replay)
{
	return (struct joint){.position = replay->segment->position + replay->confirmed,
	                      .observer = sideband_observer_state(replay->observer),
	                      .last_tsc = replay->last_tsc,
	                      .last_ip = replay->last_ip};
}

int joint_init(struct joint *joint, const struct stream_replay *replay)
{
	*joint = joint_here(replay);
	joint->decoder = pt_blk_save_state(replay->decoder);
	return joint->decoder ? 0 : -sbe_nomem;
}

void joint_fini(struct joint *joint)
{
	pt_run_state_free(joint->decoder);
	joint->decoder = NULL;
}

int joint_fits(const struct joint *joint, const struct stream_replay *replay)
{
	const struct joint here = joint_here(replay);

	return here.position == joint->position && here.last_tsc == joint->last_tsc &&
	       here.last_ip == joint->last_ip && sideband_state_equal(&here.observer, &joint->observer) &&
	       pt_blk_is_in_state(replay->decoder, joint->decoder) > 0;
}
