/* trial.h - who can have run what the trace shows next, when several may have.
 *
 * Before anything is decoded behind such a place, a decoder of its own goes the way there with the code of
 * each of them, up to where user space is left, or to the next PSB: so nobody ever sees what turns out wrong.
 * Where trace and code contradict each other, it was somebody else. That they do not is no proof; that all
 * others cannot have been there, is.
 *
 * What trials cost is bounded by the trace that was read since the last PSB. A trial belongs to one thread.
 */
#ifndef SB_TRIAL_H
#define SB_TRIAL_H

#include <intel-pt.h>
#include <sb/system.h>

#include "replay/code_window.h"
#include "replay/image_build.h"
#include "replay/lost_spans.h"

enum { TRIAL_SUBJECTS_MAX = 8 };

struct trial {
	const struct image_builder *like; /* borrowed: images are built as its are */
	struct image_builder images;      /* its own: to the decoder's, nothing happens */
	struct pt_block_decoder *scout;   /* owned; NULL: none yet */
	const struct lost_spans *lost;    /* borrowed: when records were, perhaps of what was mapped */
	uint64_t psb;                     /* the last one; UINT64_MAX: not known */
	uint64_t spent;                   /* blocks since then */
};

enum trial_verdict {
	trial_refuted, /* trace and code contradict each other */
	trial_fits,
	trial_open /* not all of the code is known, or that would cost too much */
};

/* Nothing is made before the first trial. */
void trial_init(struct trial *trial, const struct image_builder *like);
void trial_fini(struct trial *trial);

/* The decoders' bytes are others from now on. */
void trial_begin_buffer(struct trial *trial);

/* Where @decoder stands, for the process of @subject, as far as it certainly has its code in that span.
 * @is_whole: the flow is known since the last PSB, and so are all calls since then. enum trial_verdict, or
 * -pte_nomem. */
int trial_run(struct trial *trial, const struct pt_block_decoder *decoder, const struct code_window *subject,
              int is_whole);

/* The only one of @count subjects that is not refuted, and fits; @count: there is none, or more than one; or
 * -pte_nomem. */
int trial_find(struct trial *trial, const struct pt_block_decoder *decoder, const struct code_window *subject,
               int count, int is_whole);

#endif
