/* api_decode.c - packets, instructions and blocks: the same trace decoded by both libraries. See api.h. */
#include "api.h"

#include <stdio.h>
#include <string.h>

static const struct measure_row {
	const char *measure, *unit;
	const struct face *peer, *ours;
	int cold; /* a pass makes section cache, image and decoder anew */
	double at_least, aim;
} rows[] = {
        {"pt_pkt_next", "ns per packet", &face_packet, &face_packet, 0, 3, 6},
        {"pt_insn_next", "ns per instruction", &face_insn, &face_insn, 0, 5, 10},
        {"pt_blk_next, warm", "ns per block", &face_block, &face_block, 0, 5, 10},
        {"pt_blk_next, cold", "ns per block", &face_block, &face_block, 1, 1.5, 3},
        {"pt_blk_run, warm", "ns per pt_blk_next block", &face_block, &face_run, 0, 20, 40},
};

struct decode {
	const struct face *face;
	int cold;
	struct subject subject;
};

static int pass(void *context, struct tally *tally)
{
	struct decode *decode = context;
	int status = 0;

	if (decode->cold)
		status = decode->face->open(&decode->subject);
	if (status >= 0)
		status = decode->face->pass(&decode->subject, tally);
	if (decode->cold)
		decode->face->close(&decode->subject);
	if (status < 0)
		fprintf(stderr, "bench: %s cannot decode %s\n", decode->subject.library->name,
		        decode->subject.input->name);
	return status;
}

struct result_side api_side(const char *name, const struct samples *seconds, uint64_t divisor, size_t bytes)
{
	double median = samples_median(seconds);
	struct result_side side = {.name = name};

	side.samples = samples_scaled(seconds, divisor ? 1e9 / (double)divisor : 0);
	if (bytes && median > 0)
		side.mb_per_s = (double)bytes / median / 1e6;
	if (median > 0)
		side.items_per_s = (double)seconds->tally.items / median;
	return side;
}

/* Both sides are divided by the peer's items: faces that cut blocks differently stay comparable, and the
 * ratio is that of the time for the whole trace. */
static void add_row(struct api *api, const struct measure_row *row, const struct input *input,
                    const struct samples *seconds)
{
	const struct samples *ours = &seconds[api->has_peer], *peer = &seconds[0];
	uint64_t divisor = peer->tally.items;
	struct result result = {.measure = row->measure,
	                        .input = input->name,
	                        .unit = row->unit,
	                        .goal = api->has_peer ? goal_times : goal_none,
	                        .at_least = row->at_least,
	                        .aim = row->aim};

	result.ours = api_side(api->ours.name, ours, divisor, input->size);
	if (api->has_peer)
		result.other = api_side(api->peer.name, peer, divisor, input->size);
	results_add(api->results, &result, api->has_peer);
}

static int decode_row(struct api *api, const struct measure_row *row, const struct input *input)
{
	struct decode decode[2] = {{.face = row->peer, .cold = row->cold},
	                           {.face = row->ours, .cold = row->cold}};
	struct contestant contestant[2];
	struct samples seconds[2];
	unsigned first = api->has_peer ? 0 : 1;
	int status = 0;

	subject_init(&decode[0].subject, api->has_peer ? &api->peer : &api->ours, input);
	subject_init(&decode[1].subject, &api->ours, input);
	for (unsigned i = first; i < 2; ++i) {
		contestant[i] = (struct contestant){decode[i].subject.library->name, pass, &decode[i]};
		if (!row->cold && status >= 0)
			status = decode[i].face->open(&decode[i].subject);
	}
	if (status >= 0)
		status = measure(&api->options, contestant + first, 2 - first, seconds);
	if (status >= 0)
		add_row(api, row, input, seconds);
	for (unsigned i = first; i < 2; ++i)
		if (!row->cold)
			decode[i].face->close(&decode[i].subject);
	return status < 0 ? -1 : 0;
}

int api_decode_rows(struct api *api, const struct input *input)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i)
		if (result_chosen(api->only, rows[i].measure, input->name) &&
		    decode_row(api, &rows[i], input) < 0)
			return -1;
	return 0;
}
