/* face_run.c - the batch interface: every block is counted. Who counts asks for events inside of runs, and
 * for the last time in each only. See face.h. */
#include "face.h"

#include "face_internal.h"

/* Until the next error. */
static int segment(const struct subject *subject, int status, struct tally *tally)
{
	const struct library *library = subject->library;
	struct pt_run run = {0};

	for (;;) {
		if (status < 0)
			return status;
		status = library->pt_blk_run(subject->decoder.block, &run, sizeof(run));
		for (uint32_t i = 0; i < run.npaths; ++i) {
			tally->items += run.path[i]->nblocks;
			tally->insns += run.path[i]->ninsn;
		}
	}
}

static int pass(struct subject *subject, struct tally *tally)
{
	const struct library *library = subject->library;
	int status = library->pt_blk_set_run_events(subject->decoder.block, 1);

	if (status >= 0)
		status = library->pt_blk_set_run_last_time(subject->decoder.block, 1);
	if (status < 0)
		return -1;
	status = library->pt_blk_sync_set(subject->decoder.block, subject->input->first_psb);

	if (status < 0)
		return -1;
	while (status >= 0) {
		status = segment(subject, status, tally);
		if (status != -pte_eos)
			status = library->pt_blk_sync_forward(subject->decoder.block);
	}
	return 0;
}

const struct face face_run = {block_open, pass, block_close};
