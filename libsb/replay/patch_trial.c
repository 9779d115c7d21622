/* patch_trial.c - see patch_trial.h. */
#include "replay/patch_trial.h"

#include <intel-pt-run.h>
#include <sb/perfdata.h>

#include "replay/last_class.h"

/* In blocks. What is there as a rule needs no more proof than that nothing else leads so far; else they go
 * farther. Between two PSBs, all trials together end after so many, of which each takes some. */
enum { COST_LEAST = 32, FAR = 512, FARTHEST = 1 << 16, SPEND_MOST = 1 << 18 };

/* Open versions on one way; those behind these end it. */
enum { GUESSES_MAX = 12 };

struct guess {
	const struct kernel_piece *piece;
	size_t version;        /* of the piece; it is open */
	uint32_t first, tried; /* the content that was tried first; how many were before the present one */
};

/* All ways from where a decoder stands with one content there. */
struct search {
	struct patch_trial *trial;
	const struct pt_block_decoder *decoder;
	int is_whole;
	uint64_t most; /* blocks of one way */
	uint64_t psb;  /* the last one before */
	struct guess guess[GUESSES_MAX];
	int nguesses;
};

enum verdict { refuted, fits };
enum { goes_on = fits + 1 };

void patch_trial_init(struct patch_trial *trial, const struct kernel_image *like,
                      const struct sb_clock *clock)
{
	*trial = (struct patch_trial){.like = like, .clock = clock};
}

void patch_trial_fini(struct patch_trial *trial)
{
	pt_blk_free_decoder(trial->scout);
	if (trial->scout)
		kernel_image_fini(&trial->kernel);
	trial->scout = NULL;
}

void patch_trial_begin(struct patch_trial *trial)
{
	trial->spent = 0;
}

/* ---- The scout ---------------------------------------------------------------------------------- */

static void set_limit(struct patch_trial *trial)
{
	const uint64_t until = kernel_image_until(&trial->kernel);
	const uint64_t tsc = until == UINT64_MAX ? until : sb_clock_ns_to_tsc(trial->clock, until);

	trial->observer.tick.limit = tsc == UINT64_MAX || tsc < trial->tsc_base ? tsc : tsc - trial->tsc_base;
}

/* Code changes on the way, too. */
static int on_tick(struct pt_observer *self, uint64_t tsc, uint32_t lost_mtc, uint32_t lost_cyc)
{
	struct patch_trial *trial = self->context;
	int status;

	(void)lost_mtc;
	(void)lost_cyc;
	if (pt_blk_time(trial->scout, &tsc, NULL, NULL) < 0)
		return 0;
	status = kernel_image_go_to(&trial->kernel, sb_clock_tsc_to_ns(trial->clock, tsc | trial->tsc_base));
	set_limit(trial);
	return status;
}

static int make_scout(struct patch_trial *trial, const struct pt_block_decoder *decoder)
{
	if (trial->scout)
		return 0;
	if (kernel_image_init(&trial->kernel, trial->like->text, trial->like->sections) < 0)
		return -pte_nomem;
	trial->observer = (struct pt_observer){.size = sizeof(trial->observer), .context = trial};
	trial->observer.tick.callback = on_tick;
	trial->observer.tick.limit = UINT64_MAX;
	trial->scout = pt_blk_alloc_decoder(pt_blk_get_config(decoder));
	if (trial->scout && pt_blk_set_image(trial->scout, trial->kernel.image) == 0 &&
	    pt_blk_attach_obsv(trial->scout, &trial->observer) == 0)
		return 0;
	pt_blk_free_decoder(trial->scout);
	trial->scout = NULL;
	kernel_image_fini(&trial->kernel);
	return -pte_nomem;
}

/* ---- One way --------------------------------------------------------------------------------------- */

/* What is tried there now. */
static uint32_t content_of(const struct guess *guess)
{
	return (guess->first + guess->tried) % guess->piece->ncontents;
}

static void choose(struct search *search, const struct guess *guess)
{
	kernel_image_choose(&search->trial->kernel, guess->version, content_of(guess));
}

/* Where the decoder stands, with what is guessed. Status bits, or a negative code. */
static int begin(struct search *search)
{
	struct patch_trial *trial = search->trial;

	kernel_image_take(&trial->kernel, trial->like);
	for (int i = 0; i < search->nguesses; ++i)
		choose(search, &search->guess[i]);
	set_limit(trial);
	trial->spent += COST_LEAST;
	pt_blk_copy_state(trial->scout, search->decoder);
	return pt_blk_retry(trial->scout);
}

/* There is no code where the scout stands; @iclass: of the instruction before. */
static int judge_missing(struct search *search, uint8_t iclass)
{
	struct patch_trial *trial = search->trial;
	const struct kernel_image *kernel = &trial->kernel;
	struct guess *guess = &search->guess[search->nguesses];
	const struct kernel_piece *piece;
	int64_t version;

	if (!kernel->has_missing_ip)
		return fits;
	if (!(kernel->missing_ip >> 63))
		return last_class_can_leave(iclass) ? fits : refuted;
	version = kernel_image_open_at(kernel, kernel->missing_ip);
	piece = version < 0 ? NULL : kernel_text_find(kernel->text, kernel->missing_ip);
	if (!piece || search->nguesses == GUESSES_MAX || !piece->ncontents)
		return fits;
	*guess = (struct guess){.piece = piece,
	                        .version = (size_t)version,
	                        .first = kernel->text->version[version].usual % KERNEL_CONTENTS_MAX};
	search->nguesses += 1;
	choose(search, guess);
	return goes_on;
}

static int judge_error(struct search *search, int errcode, uint8_t iclass)
{
	switch (errcode) {
	case -pte_nomem:
		return errcode;
	case -pte_nomap:
		return judge_missing(search, iclass);
	case -pte_bad_query:
	case -pte_bad_insn:
	case -pte_bad_retcomp:
		return refuted;
	case -pte_retstack_empty:
		return search->is_whole ? refuted : fits;
	default:
		return fits;
	}
}

/* Takes the events that are due. Behind some, all is open. */
static int take_events(struct pt_block_decoder *scout, int *bits)
{
	while (*bits >= 0 && *bits & pts_event_pending) {
		struct pt_event event;

		*bits = pt_blk_event(scout, &event, sizeof(event));
		if (*bits >= 0 && !event.status_update &&
		    (event.type == ptev_overflow || event.type == ptev_disabled ||
		     event.type == ptev_async_disabled))
			return fits;
	}
	return goes_on;
}

static int is_behind_psb(const struct search *search)
{
	uint64_t passed, read;

	return pt_blk_get_psb_offset(search->trial->scout, &passed, &read) < 0 || passed != search->psb;
}

/* Goes one way, with what is guessed; enum verdict, or -pte_nomem. */
static int go(struct search *search)
{
	struct patch_trial *trial = search->trial;
	const uint64_t most = trial->spent + search->most;
	uint8_t iclass = ptic_other;
	int bits = begin(search);

	for (;;) {
		struct pt_run run = {0};
		int verdict = take_events(trial->scout, &bits);

		if (verdict == goes_on && bits < 0) {
			verdict = judge_error(search, bits, iclass);
			bits = verdict == goes_on ? pt_blk_retry(trial->scout) : bits;
		}
		if (verdict != goes_on)
			return verdict;
		if (bits & pts_eos || pt_blk_is_non_root(trial->scout) || is_behind_psb(search) ||
		    trial->spent > most)
			return fits;
		bits = pt_blk_run(trial->scout, &run, sizeof(run));
		trial->spent += run.nblocks;
		iclass = last_class_of(&run, iclass);
	}
}

/* ---- All ways ------------------------------------------------------------------------------------- */

/* The next guesses, the last one that is not exhausted being another one. Zero: there are none. */
static int guess_again(struct search *search)
{
	for (; search->nguesses > 1; search->nguesses -= 1) {
		struct guess *last = &search->guess[search->nguesses - 1];

		if (++last->tried < last->piece->ncontents)
			return 1;
	}
	return 0;
}

/* Whether any way with @content at the first place fits: enum verdict, or -pte_nomem. */
static int search_with(struct search *search, uint32_t content)
{
	int verdict;

	search->guess[0].first = content;
	search->nguesses = 1;
	do {
		if (search->trial->spent > SPEND_MOST)
			return fits;
		verdict = go(search);
	} while (verdict == refuted && guess_again(search));
	return verdict;
}

/* The only content but @except of the first place that fits: its number; as many as it has: there is none;
 * more: there are several; or -pte_nomem. */
static int find_only(struct search *search, uint32_t except)
{
	const uint32_t count = search->guess[0].piece->ncontents;
	int found = (int)count;

	for (uint32_t i = 0; i < count; ++i) {
		const int verdict = i == except ? refuted : search_with(search, i);

		if (verdict < 0)
			return verdict;
		if (verdict == fits)
			found = found == (int)count ? (int)i : (int)count + 1;
		if (found > (int)count)
			break;
	}
	return found;
}

int patch_trial_find(struct patch_trial *trial, const struct pt_block_decoder *decoder, size_t version,
                     int is_whole, uint32_t *content)
{
	const struct kernel_text *text = trial->like->text;
	const struct kernel_piece *piece = kernel_text_find(text, trial->like->missing_ip);
	const uint32_t count = piece->ncontents, usual = text->version[version].usual;
	struct search search = {.trial = trial,
	                        .decoder = decoder,
	                        .is_whole = is_whole,
	                        .most = FAR,
	                        .guess = {{.piece = piece, .version = version}}};
	uint64_t read;
	int found = -1;

	if (!count || trial->spent > SPEND_MOST || pt_blk_get_psb_offset(decoder, &search.psb, &read) < 0)
		return 0;
	if (make_scout(trial, decoder) < 0)
		return -pte_nomem;
	if (usual < count)
		found = find_only(&search, usual);
	if (found == (int)count) {
		*content = usual;
		return 1;
	}
	search.most = FARTHEST;
	if (found != -pte_nomem)
		found = find_only(&search, count);
	*content = (uint32_t)found;
	return found < 0 ? found : found < (int)count;
}
