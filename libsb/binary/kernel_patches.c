/* kernel_patches.c - see kernel_patches.h. */
#include "binary/kernel_patches.h"

#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

#include "system/arena.h"

/* Elements of all intervals' lists. */
enum { LISTED_MAX = 1 << 24 };

struct cut {
	uint64_t at; /* first: sorted by it */
};

struct cuts {
	struct cut *cut; /* owned */
	size_t count;
};

/* ---- All patches in the order of time ----------------------------------------------------------- */

static void add_patch(struct kernel_patches *patches, const struct kernel_patch *patch)
{
	if (patch->begin >> 63 && patch->end > patch->begin)
		patches->patch[patches->npatches++] = *patch;
}

static void add_poke(struct kernel_patches *patches, const struct sb_text_poke *poke)
{
	const uint16_t longest = poke->old_len > poke->new_len ? poke->old_len : poke->new_len;

	add_patch(patches, &(struct kernel_patch){.time = poke->time,
	                                          .begin = poke->addr,
	                                          .end = poke->addr + longest,
	                                          .old_bytes = poke->old_bytes,
	                                          .new_bytes = poke->new_bytes,
	                                          .old_size = poke->old_len,
	                                          .new_size = poke->new_len,
	                                          .is_poke = 1});
}

static void add_arrival(struct kernel_patches *patches, const struct kernel_body *body)
{
	if (body->to > body->from)
		add_patch(patches, &(struct kernel_patch){.time = body->from,
		                                          .begin = body->begin,
		                                          .end = body->begin + body->size,
		                                          .new_bytes = body->bytes,
		                                          .new_size = body->bytes ? body->size : 0});
}

static void add_departure(struct kernel_patches *patches, const struct kernel_body *body)
{
	if (body->to > body->from && body->to != UINT64_MAX)
		add_patch(patches, &(struct kernel_patch){.time = body->to,
		                                          .begin = body->begin,
		                                          .end = body->begin + body->size,
		                                          .old_bytes = body->bytes,
		                                          .old_size = body->bytes ? body->size : 0});
}

/* Of one time, what goes makes room for what comes, which may then be patched. */
static int list_patches(struct kernel_patches *patches, const struct sb_text_poke *poke, size_t npokes,
                        const struct kernel_body *body, size_t nbodies)
{
	patches->patch = calloc(npokes + 2 * nbodies + 1, sizeof(*patches->patch));
	if (!patches->patch)
		return -sbe_nomem;
	for (size_t i = 0; i < nbodies; ++i)
		add_departure(patches, &body[i]);
	for (size_t i = 0; i < nbodies; ++i)
		add_arrival(patches, &body[i]);
	for (size_t i = 0; i < npokes; ++i)
		add_poke(patches, &poke[i]);
	return array_sort(patches->patch, patches->npatches, sizeof(*patches->patch));
}

/* ---- Cuts ------------------------------------------------------------------------------------- */

/* [begin, end): small patches that overlap. */
struct area {
	uint64_t begin; /* first: sorted by it */
	uint64_t end;
};

static size_t unite_areas(struct area *area, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; ++i) {
		if (!kept || area[i].begin >= area[kept - 1].end)
			area[kept++] = area[i];
		else if (area[i].end > area[kept - 1].end)
			area[kept - 1].end = area[i].end;
	}
	return kept;
}

static int find_areas(struct area **result, size_t *count, const struct sb_text_poke *poke, size_t npokes)
{
	struct area *area = *result = calloc(npokes ? npokes : 1, sizeof(*area));

	*count = 0;
	if (!area)
		return -sbe_nomem;
	for (size_t i = 0; i < npokes; ++i) {
		const uint16_t longest =
		        poke[i].old_len > poke[i].new_len ? poke[i].old_len : poke[i].new_len;

		if (poke[i].addr >> 63 && poke[i].addr + longest > poke[i].addr)
			area[(*count)++] = (struct area){poke[i].addr, poke[i].addr + longest};
	}
	if (array_sort(area, *count, sizeof(*area)) < 0)
		return -sbe_nomem;
	*count = unite_areas(area, *count);
	return 0;
}

/* A body does not cut an area. */
static void cut_at(struct cuts *cuts, uint64_t at, const struct area *area, size_t nareas)
{
	const size_t behind = array_above(area, nareas, sizeof(*area), at);

	if (!behind || at >= area[behind - 1].end)
		cuts->cut[cuts->count++].at = at;
}

static int find_cuts(struct cuts *cuts, const struct area *area, size_t nareas,
                     const struct kernel_body *body, size_t nbodies)
{
	size_t kept = 0;

	cuts->cut = calloc(2 * (nareas + nbodies) + 1, sizeof(*cuts->cut));
	if (!cuts->cut)
		return -sbe_nomem;
	for (size_t i = 0; i < nareas; ++i) {
		cuts->cut[cuts->count++].at = area[i].begin;
		cuts->cut[cuts->count++].at = area[i].end;
	}
	for (size_t i = 0; i < nbodies; ++i) {
		cut_at(cuts, body[i].begin, area, nareas);
		cut_at(cuts, body[i].begin + body[i].size, area, nareas);
	}
	if (array_sort(cuts->cut, cuts->count, sizeof(*cuts->cut)) < 0)
		return -sbe_nomem;
	for (size_t i = 0; i < cuts->count; ++i)
		if (!kept || cuts->cut[kept - 1].at != cuts->cut[i].at)
			cuts->cut[kept++] = cuts->cut[i];
	cuts->count = kept;
	return 0;
}

/* ---- Intervals -------------------------------------------------------------------------------- */

/* The first interval between cuts that the patch touches. */
static size_t first_touched(const struct cuts *cuts, const struct kernel_patch *patch)
{
	const size_t behind = array_above(cuts->cut, cuts->count, sizeof(*cuts->cut), patch->begin);

	return behind ? behind - 1 : 0;
}

static int count_patches(struct kernel_patches *patches, const struct cuts *cuts)
{
	uint64_t listed = 0;

	for (size_t p = 0; p < patches->npatches; ++p)
		for (size_t i = first_touched(cuts, &patches->patch[p]);
		     i + 1 < cuts->count && cuts->cut[i].at < patches->patch[p].end; ++i) {
			patches->interval[i].npatches += 1;
			if (++listed > LISTED_MAX)
				return -sbe_unsupported;
		}
	patches->of = calloc(listed ? listed : 1, sizeof(*patches->of));
	return patches->of ? 0 : -sbe_nomem;
}

static void list_by_interval(struct kernel_patches *patches, const struct cuts *cuts)
{
	uint64_t first = 0;

	for (size_t i = 0; i + 1 < cuts->count; ++i) {
		patches->interval[i].first = first;
		first += patches->interval[i].npatches;
		patches->interval[i].npatches = 0;
	}
	for (size_t p = 0; p < patches->npatches; ++p)
		for (size_t i = first_touched(cuts, &patches->patch[p]);
		     i + 1 < cuts->count && cuts->cut[i].at < patches->patch[p].end; ++i) {
			struct kernel_interval *interval = &patches->interval[i];

			patches->of[interval->first + interval->npatches++] = &patches->patch[p];
		}
}

static int make_intervals(struct kernel_patches *patches, const struct cuts *cuts)
{
	int status;

	patches->interval = calloc(cuts->count + 1, sizeof(*patches->interval));
	if (!patches->interval)
		return -sbe_nomem;
	status = count_patches(patches, cuts);
	if (status < 0)
		return status;
	list_by_interval(patches, cuts);
	for (size_t i = 0; i + 1 < cuts->count; ++i) {
		struct kernel_interval interval = patches->interval[i];

		if (!interval.npatches)
			continue;
		interval.begin = cuts->cut[i].at;
		interval.end = cuts->cut[i + 1].at;
		patches->interval[patches->nintervals++] = interval;
	}
	return 0;
}

int kernel_patches_init(struct kernel_patches *patches, const struct sb_text_poke *poke, size_t npokes,
                        const struct kernel_body *body, size_t nbodies)
{
	struct cuts cuts = {0};
	struct area *area;
	size_t nareas;
	int status;

	*patches = (struct kernel_patches){0};
	status = find_areas(&area, &nareas, poke, npokes);
	if (status == 0)
		status = list_patches(patches, poke, npokes, body, nbodies);
	if (status == 0)
		status = find_cuts(&cuts, area, nareas, body, nbodies);
	if (status == 0)
		status = make_intervals(patches, &cuts);
	free(area);
	free(cuts.cut);
	if (status < 0)
		kernel_patches_free(patches);
	return status;
}

void kernel_patches_free(struct kernel_patches *patches)
{
	free(patches->patch);
	free(patches->interval);
	free(patches->of);
	*patches = (struct kernel_patches){0};
}
