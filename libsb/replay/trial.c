/* trial.c - see trial.h. */
#include "replay/trial.h"

#include <intel-pt-run.h>

#include "replay/last_class.h"
#include "system/address_space.h"

/* In blocks: a trial costs so many, even when it is refuted at once, and is given up after so many; behind a
 * PSB, and for each byte since, another one may begin while it was no more than that. The trace itself has
 * about two blocks in a byte. */
enum { COST_LEAST = 32, COST_MOST = 4096, SPEND_LEAST = 1024, SPEND_PER_BYTE = 1 };

void trial_init(struct trial *trial, const struct image_builder *like)
{
	*trial = (struct trial){.like = like, .psb = UINT64_MAX};
}

void trial_fini(struct trial *trial)
{
	pt_blk_free_decoder(trial->scout);
	if (trial->scout)
		image_builder_fini(&trial->images);
	trial->scout = NULL;
}

void trial_begin_buffer(struct trial *trial)
{
	trial->psb = UINT64_MAX;
}

static int make_scout(struct trial *trial, const struct pt_block_decoder *decoder)
{
	const struct image_builder *like = trial->like;
	struct sb_error err = {0};

	if (trial->scout)
		return 0;
	if (image_builder_init(&trial->images, like->resolver, like->sections, like->nepochs, like->limit,
	                       &err) < 0)
		return -pte_nomem;
	trial->images.system = like->system;
	trial->scout = pt_blk_alloc_decoder(pt_blk_get_config(decoder));
	if (!trial->scout) {
		image_builder_fini(&trial->images);
		return -pte_nomem;
	}
	return 0;
}

/* Whether something may be spent where @decoder stands. */
static int may_spend(struct trial *trial, const struct pt_block_decoder *decoder)
{
	uint64_t passed, read, offset;

	if (pt_blk_get_psb_offset(decoder, &passed, &read) < 0 || pt_blk_get_offset(decoder, &offset) < 0)
		return 0;
	if (passed != trial->psb)
		trial->spent = 0;
	trial->psb = passed;
	return trial->spent <= SPEND_LEAST + SPEND_PER_BYTE * (offset - passed);
}

static struct pt_image *image_of(struct trial *trial, const struct code_window *subject)
{
	const struct code_window_ends ends = code_window_ends(subject);

	return ends.first == ends.last ? image_builder_get(&trial->images, ends.first)
	                               : image_builder_certain(&trial->images, subject, &ends);
}

/* Whether a mapping may be missing that the subject has, or its parent had. */
static int may_lack_map(const struct trial *trial, const struct code_window *subject)
{
	const struct sb_space *space = sb_system_space(subject->system, subject->pid, subject->from);

	return lost_spans_meet(trial->lost, space ? space_since(space) : 0, subject->to);
}

/* The scout found no code. Where the trace itself says that there is some, and nothing is mapped, it is not
 * that process'. What was mapped, but is not known, may fit; and so may what a record may have been lost of.
 */
static int judge_missing(const struct trial *trial, const struct code_window *subject)
{
	const struct image_builder *images = &trial->images;
	const struct sb_map *map;
	uint64_t named;

	if (may_lack_map(trial, subject) || !images->has_missing_ip || images->is_uncertain ||
	    pt_blk_get_named_ip(trial->scout, &named) < 0 || named != images->missing_ip)
		return trial_open;
	return code_window_find(subject, named, &map) == 0 ? trial_refuted : trial_open;
}

static int judge_error(const struct trial *trial, const struct code_window *subject, int errcode,
                       int is_whole)
{
	switch (errcode) {
	case -pte_nomem:
		return errcode;
	case -pte_eos:
		return trial_fits;
	case -pte_nomap:
		return judge_missing(trial, subject);
	case -pte_bad_query:
	case -pte_bad_insn:
		return trial_refuted;
	case -pte_retstack_empty:
		return is_whole ? trial_refuted : trial_open;
	default:
		return trial_open;
	}
}

/* What is not over yet. */
enum { goes_on = trial_open + 1 };

/* Behind an instruction of @iclass comes @event. Where tracing is turned off without an address, execution
 * goes where nothing is traced: to the kernel. */
static int judge_event(const struct pt_event *event, uint8_t iclass)
{
	if (event->status_update)
		return goes_on;
	switch (event->type) {
	case ptev_disabled:
		return event->ip_suppressed && !last_class_can_leave(iclass) ? trial_refuted : trial_fits;
	case ptev_async_disabled:
	case ptev_overflow:
		return trial_fits;
	default:
		return goes_on;
	}
}

/* Takes the events that are due. */
static int take_events(struct pt_block_decoder *scout, int *bits, uint8_t iclass)
{
	int verdict = goes_on;

	while (verdict == goes_on && *bits >= 0 && *bits & pts_event_pending) {
		struct pt_event event;

		*bits = pt_blk_event(scout, &event, sizeof(event));
		if (*bits >= 0)
			verdict = judge_event(&event, iclass);
	}
	return verdict;
}

/* A run ends at a PSB. */
static int is_behind_psb(const struct trial *trial)
{
	uint64_t passed, read;

	return pt_blk_get_psb_offset(trial->scout, &passed, &read) < 0 || passed != trial->psb;
}

/* @bits: the scout's status. */
static int go(struct trial *trial, const struct code_window *subject, int is_whole, int bits)
{
	const uint64_t most = trial->spent + COST_MOST;
	uint8_t iclass = ptic_other;

	for (;;) {
		struct pt_run run = {0};
		const int verdict = take_events(trial->scout, &bits, iclass);

		if (verdict != goes_on)
			return verdict;
		if (bits < 0)
			return judge_error(trial, subject, bits, is_whole);
		if (bits & pts_eos || is_behind_psb(trial))
			return trial_fits;
		if (trial->spent > most)
			return trial_open;
		bits = pt_blk_run(trial->scout, &run, sizeof(run));
		trial->spent += run.nblocks;
		iclass = last_class_of(&run, iclass);
	}
}

int trial_run(struct trial *trial, const struct pt_block_decoder *decoder, const struct code_window *subject,
              int is_whole)
{
	struct pt_image *image;
	int status;

	if (!may_spend(trial, decoder))
		return trial_open;
	status = make_scout(trial, decoder);
	if (status < 0)
		return status;
	trial->spent += COST_LEAST;
	image = image_of(trial, subject);
	if (!image)
		return -pte_nomem;
	status = pt_blk_set_image(trial->scout, image);
	if (status == 0)
		status = pt_blk_copy_state(trial->scout, decoder);
	trial->images.has_missing_ip = 0;
	return status < 0 ? trial_open : go(trial, subject, is_whole, status);
}

/* Whether both have the same code at the same addresses: then no trace tells them apart. */
static int are_alike(const struct code_window *a, const struct code_window *b)
{
	const struct code_window_ends of_a = code_window_ends(a), of_b = code_window_ends(b);
	const struct sb_epoch *one = of_a.first, *other = of_b.first;

	return one == of_a.last && other == of_b.last && one->root == other->root && one->code == other->code;
}

static int are_all_alike(const struct code_window *subject, int count)
{
	for (int i = 1; i < count; ++i)
		if (!are_alike(&subject[0], &subject[i]))
			return 0;
	return 1;
}

int trial_find(struct trial *trial, const struct pt_block_decoder *decoder, const struct code_window *subject,
               int count, int is_whole)
{
	int found = count;

	for (int i = 0; i < count; ++i)
		if (!code_window_ends(&subject[i]).first)
			return count;
	if (are_all_alike(subject, count))
		return count;
	for (int i = 0; i < count; ++i) {
		const int verdict = trial_run(trial, decoder, &subject[i], is_whole);

		if (verdict < 0)
			return verdict;
		if (verdict == trial_refuted)
			continue;
		if (verdict == trial_open || found < count)
			return count;
		found = i;
	}
	return found;
}
