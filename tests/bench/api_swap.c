/* api_swap.c - what a context switch costs: pt_blk_set_image() every few blocks, less the same without.
 *
 * Two images of the same files, and, in the second row, of 10,000 mappings more. The difference holds all
 * that a swap entails, also what the decoder has to look up anew behind it.
 */
#include "api.h"

#include <stdio.h>

enum { swap_every = 4, nsections = 16, visits = 16384, quick_visits = 2048, nmappings = 10000 };

/* Far from the input's sections. */
static const uint64_t mappings_vaddr = UINT64_C(0x7f0000000000), mappings_distance = 0x2000;

static const struct swap_row {
	const char *input;
	unsigned nmappings;
} rows[] = {{"2 images of 16 sections", 0}, {"2 images of 10,016 mappings", nmappings}};

static int pass(void *context, struct tally *tally)
{
	return face_block.pass(context, tally);
}

static int add_cached(struct subject *subject, const char *path, uint64_t vaddr, int both)
{
	const struct library *library = subject->library;
	int isid = library->pt_iscache_add_file(subject->cache, path, 0, 0x1000, vaddr);

	if (isid < 0 || library->pt_image_add_cached(subject->other_image, subject->cache, isid, NULL) < 0)
		return -1;
	return both ? library->pt_image_add_cached(subject->image, subject->cache, isid, NULL) : 0;
}

/* Another image like the first one, and @nmappings on top of both. */
static int open_images(struct subject *subject, unsigned more)
{
	const struct input *input = subject->input;

	subject->other_image = subject->library->pt_image_alloc(NULL);
	if (!subject->other_image)
		return -1;
	for (size_t i = 0; i < input->nsections; ++i)
		if (add_cached(subject, input->section[i].path, input->section[i].vaddr, 0) < 0)
			return -1;
	for (unsigned i = 0; i < more; ++i)
		if (add_cached(subject, input->section[0].path, mappings_vaddr + i * mappings_distance, 1) <
		    0)
			return -1;
	return 0;
}

/* Per swap, of each round. */
static struct samples swap_cost(const struct samples *never, const struct samples *swapping)
{
	struct samples cost = *swapping;
	double swaps = (double)(swapping->tally.items / swap_every);

	cost.n = never->n < swapping->n ? never->n : swapping->n;
	for (unsigned i = 0; i < cost.n; ++i)
		cost.value[i] = (swapping->value[i] - never->value[i]) / swaps * 1e9;
	cost.unsteady |= never->unsteady || never->tally.insns != swapping->tally.insns;
	return cost;
}

static void add_row(struct api *api, const struct swap_row *row, const struct samples *seconds)
{
	struct result result = {.measure = "pt_blk_set_image, swap",
	                        .input = row->input,
	                        .unit = "ns per swap",
	                        .goal = goal_value,
	                        .at_least = 200,
	                        .aim = 50};

	result.ours =
	        (struct result_side){.name = api->ours.name, .samples = swap_cost(seconds, seconds + 1)};
	if (api->has_peer)
		result.other = (struct result_side){.name = api->peer.name,
		                                    .samples = swap_cost(seconds + 2, seconds + 3)};
	results_add(api->results, &result, api->has_peer);
}

/* Ours without and with swaps, then the peer's. */
static int measure_row(struct api *api, const struct swap_row *row, const struct input *input)
{
	struct subject subject[4];
	struct contestant contestant[4];
	struct samples seconds[4];
	unsigned n = api->has_peer ? 4 : 2;
	int status = 0;

	for (unsigned i = 0; i < n; ++i) {
		subject_init(&subject[i], i < 2 ? &api->ours : &api->peer, input);
		subject[i].swap_every = i % 2 ? swap_every : 0;
		contestant[i] = (struct contestant){subject[i].library->name, pass, &subject[i]};
		if (status >= 0)
			status = face_block.open(&subject[i]);
		if (status >= 0)
			status = open_images(&subject[i], row->nmappings);
	}
	if (status >= 0)
		status = measure(&api->options, contestant, n, seconds);
	if (status >= 0)
		add_row(api, row, seconds);
	for (unsigned i = 0; i < n; ++i) {
		subject[i].library->pt_image_free(subject[i].other_image);
		face_block.close(&subject[i]);
	}
	return status < 0 ? -1 : 0;
}

int api_swap_rows(struct api *api)
{
	struct input input;
	int status = input_sections(&input, api->dir, nsections, api->quick ? quick_visits : visits);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !status; ++i)
		if (result_chosen(api->only, "pt_blk_set_image, swap", rows[i].input))
			status = measure_row(api, &rows[i], &input);
	input_free(&input);
	return status;
}
