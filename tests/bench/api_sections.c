/* api_sections.c - round robin through the sections of 1, 64 and 1024 files. See api.h, input_sections.c.
 *
 * All numbers of sections take turns in one measurement, so that the ratio to one section is as good as that
 * to the peer.
 */
#include "api.h"

#include <stdio.h>
#include <string.h>

enum { nsizes = 3, visits = 16384, quick_visits = 2048 };

static const unsigned sizes[nsizes] = {1, 64, 1024};

struct round_robin {
	const char *measure, *flat; /* names of the rows: to the peer, to one section */
	const struct face *ours;
};

static const struct round_robin kinds[] = {
        {"pt_blk_next, round robin", "pt_blk_next, to one section", &face_block},
        {"pt_blk_run, round robin", "pt_blk_run, to one section", &face_run},
};

struct decode {
	const struct face *face;
	struct subject subject;
};

static int pass(void *context, struct tally *tally)
{
	struct decode *decode = context;

	return decode->face->pass(&decode->subject, tally);
}

static void add_rows(struct api *api, const struct round_robin *kind, const struct input *input,
                     const struct samples *peer, const struct samples *ours)
{
	for (unsigned i = 0; i < nsizes; ++i) {
		uint64_t divisor = ours[0].tally.items;
		struct result result = {
		        .measure = kind->measure, .input = input[i].name, .unit = "ns per block"};

		result.ours = api_side(api->ours.name, &ours[i], divisor, input[i].size);
		if (api->has_peer)
			result.other = api_side(api->peer.name, &peer[i], divisor, input[i].size);
		results_add(api->results, &result, api->has_peer);
		if (!i)
			continue;
		result.measure = kind->flat;
		result.other = api_side("ours, one section", &ours[0], divisor, input[0].size);
		result.goal = goal_within;
		result.at_least = 2;
		result.aim = 1.1;
		results_add(api->results, &result, 1);
	}
}

static int open_all(struct api *api, const struct input *input, const struct face *face,
                    const struct library *library, struct decode *decode, struct contestant *contestant)
{
	int status = 0;

	for (unsigned i = 0; i < nsizes; ++i) {
		decode[i].face = face;
		subject_init(&decode[i].subject, library, &input[i]);
		contestant[i] = (struct contestant){library->name, pass, &decode[i]};
		if (status >= 0 && (library == &api->ours || api->has_peer))
			status = face->open(&decode[i].subject);
	}
	return status;
}

static int measure_kind(struct api *api, const struct round_robin *kind, const struct input *input)
{
	struct decode decode[2 * nsizes];
	struct contestant contestant[2 * nsizes];
	struct samples seconds[2 * nsizes];
	unsigned n = api->has_peer ? 2 * nsizes : nsizes;
	int status = open_all(api, input, kind->ours, &api->ours, decode, contestant);

	if (api->has_peer && status >= 0)
		status = open_all(api, input, &face_block, &api->peer, decode + nsizes, contestant + nsizes);
	if (status >= 0)
		status = measure(&api->options, contestant, n, seconds);
	if (status >= 0)
		add_rows(api, kind, input, seconds + nsizes, seconds);
	for (unsigned i = 0; i < n; ++i)
		decode[i].face->close(&decode[i].subject);
	return status < 0 ? -1 : 0;
}

int api_section_rows(struct api *api)
{
	struct input input[nsizes] = {0};
	int status = 0;

	for (unsigned i = 0; i < nsizes && !status; ++i)
		status = input_sections(&input[i], api->dir, sizes[i], api->quick ? quick_visits : visits);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !status; ++i)
		if (result_chosen(api->only, kinds[i].measure, "") ||
		    result_chosen(api->only, kinds[i].flat, ""))
			status = measure_kind(api, &kinds[i], input);
	for (unsigned i = 0; i < nsizes; ++i)
		input_free(&input[i]);
	return status;
}
