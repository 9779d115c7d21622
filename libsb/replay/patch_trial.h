/* patch_trial.h - which code of the kernel ran where records of patches may be lost.
 *
 * Where a version of the kernel's code is open (kernel_text.h), its place has one of a few contents. When the
 * flow comes there, a decoder of its own goes the way that the trace shows with each of them, as trial.h does
 * for processes: what contradicts the trace was not there. What is the same before and behind the loss goes
 * without saying, once all else is soon refuted; else the one is taken that alone leads to the next PSB, or
 * to user space. Where several do, nobody knows. Other open versions on the way are tried with all that they
 * may be.
 *
 * What was found holds up to the next PSB: so that it does not matter who begins to decode where. What trials
 * cost is bounded between PSBs.
 */
#ifndef SB_PATCH_TRIAL_H
#define SB_PATCH_TRIAL_H

#include <intel-pt.h>
#include <sb/perfdata.h>

#include "replay/kernel_image.h"

struct patch_trial {
	const struct kernel_image *like; /* borrowed: the kernel of the decoder that asks */
	const struct sb_clock *clock;    /* borrowed */
	uint64_t tsc_base;               /* the upper bits of times */
	struct kernel_image kernel;      /* the scout's */
	struct pt_observer observer;     /* of the scout's time */
	struct pt_block_decoder *scout;  /* owned; NULL: none yet */
	uint64_t spent;                  /* blocks since the last PSB */
};

/* Nothing is made before the first trial. */
void patch_trial_init(struct patch_trial *trial, const struct kernel_image *like,
                      const struct sb_clock *clock);
void patch_trial_fini(struct patch_trial *trial);

/* The flow comes to another PSB. */
void patch_trial_begin(struct patch_trial *trial);

/* @decoder has failed to find code where @like misses it, at the place of @version, which is open. @is_whole:
 * the flow is known since the last PSB, and so are all calls since then. Positive: *content is what stands
 * there; zero: nobody knows; or -pte_nomem. */
int patch_trial_find(struct patch_trial *trial, const struct pt_block_decoder *decoder, size_t version,
                     int is_whole, uint32_t *content);

#endif
