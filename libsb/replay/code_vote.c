/* code_vote.c - see code_vote.h. */
#include "replay/code_vote.h"

#include <stdlib.h>
#include <string.h>

enum {
	BALLOTS = 1 << 16, /* places that are counted at most, twice */
	PLACES_MAX = 8,    /* of a file that are looked at: those with the most votes */
	VOTES_MIN = 2,
	/* How much, in bits, a vote, and an address where an instruction begins speak for a place; and how
	 * much it takes. Chance makes one vote of 50 addresses, or so, and hits every third instruction. */
	VOTE_BITS = 5,
	HIT_BITS = 1,
	BITS_MIN = 32,
	MISSES = 20, /* one in so many may be somewhere else: whose addresses are is not known exactly */
};

struct ballot {
	uint64_t base;
	uint32_t votes, round; /* of another round: free */
};

struct count {
	struct ballot ballot[BALLOTS];
	uint32_t taken[BALLOTS / 2]; /* those of this round */
	size_t used;
	uint32_t round;
};

/* ---- Voting ----------------------------------------------------------------------------------- */

static void vote(struct count *count, uint64_t base)
{
	size_t i = (base >> 12) * 0x9e3779b97f4a7c15ull >> 40 & (BALLOTS - 1);

	while (count->ballot[i].round == count->round && count->ballot[i].base != base)
		i = (i + 1) & (BALLOTS - 1);
	if (count->ballot[i].round != count->round) {
		if (count->used >= BALLOTS / 2)
			return;
		count->taken[count->used++] = (uint32_t)i;
		count->ballot[i] = (struct ballot){.base = base, .round = count->round};
	}
	count->ballot[i].votes += 1;
}

static void vote_all(struct count *count, const struct code_file *file, const uint64_t *ip, size_t nips)
{
	count->round += 1;
	count->used = 0;
	for (size_t i = 0; i < nips; ++i) {
		const uint64_t place = ip[i] % CODE_PAGE;

		for (uint32_t k = file->first[place]; k < file->first[place + 1]; ++k)
			vote(count, ip[i] - file->start[k]);
	}
}

static int is_before(const struct ballot *a, const struct ballot *b)
{
	return a->votes != b->votes ? a->votes > b->votes : a->base < b->base;
}

/* The places with the most votes, in order. Returns how many. */
static size_t most_votes(const struct count *count, struct ballot best[PLACES_MAX])
{
	size_t nbest = 0;

	for (size_t i = 0; i < count->used; ++i) {
		const struct ballot *ballot = &count->ballot[count->taken[i]];
		size_t at = nbest;

		if (ballot->votes < VOTES_MIN)
			continue;
		while (at && is_before(ballot, &best[at - 1]))
			at -= 1;
		if (at == PLACES_MAX)
			continue;
		nbest += nbest < PLACES_MAX;
		memmove(&best[at + 1], &best[at], (nbest - 1 - at) * sizeof(*best));
		best[at] = *ballot;
	}
	return nbest;
}

/* ---- Looking at places -------------------------------------------------------------------------- */

static int is_free(const struct sb_epoch *epoch, const struct sb_map *map)
{
	const struct sb_map *there = sb_epoch_map(epoch, map->begin);

	return map->begin < map->end && !(map->end >> 47) && (!there || there->begin >= map->end);
}

/* How much speaks for the place that got @votes; zero: it is not there. */
static uint32_t look_at(const struct sb_epoch *epoch, const struct code_file *file,
                        const struct ballot *place, const uint64_t *ip, size_t nips)
{
	size_t hits = 0, misses = 0, bits;

	for (size_t s = 0; s < file->nsegments; ++s) {
		const struct sb_map map = code_file_map(file, s, place->base);
		const uint64_t begin = place->base + file->segment[s].code.address;

		if (!is_free(epoch, &map))
			return 0;
		for (size_t i = 0; i < nips; ++i) {
			if (ip[i] < map.begin || ip[i] >= map.end)
				continue;
			if (code_segment_has_insn(&file->segment[s], ip[i] - begin))
				hits += 1;
			else
				misses += 1;
		}
	}
	bits = place->votes * (size_t)VOTE_BITS + hits * HIT_BITS;
	return bits < BITS_MIN || misses * MISSES > hits ? 0 : (uint32_t)bits;
}

/* What the votes say of one file; without it when that is not clear. Zero or -sbe_nomem. */
static int ask(struct count *count, const struct sb_epoch *epoch, struct code_file *file, const uint64_t *ip,
               size_t nips, struct code_verdict *verdict)
{
	struct ballot place[PLACES_MAX];
	size_t nplaces;

	if (!file->nsegments)
		return 0;
	vote_all(count, file, ip, nips);
	nplaces = most_votes(count, place);
	if (nplaces && code_file_find_insns(file) < 0)
		return -sbe_nomem;
	for (size_t i = 0; i < nplaces; ++i) {
		const uint32_t score = look_at(epoch, file, &place[i], ip, nips);

		if (score > verdict->score)
			*verdict = (struct code_verdict){file, place[i].base, score};
	}
	return 0;
}

/* ---- The verdict -------------------------------------------------------------------------------- */

static int overlap(const struct code_verdict *a, const struct code_verdict *b)
{
	for (size_t i = 0; i < a->file->nsegments; ++i)
		for (size_t k = 0; k < b->file->nsegments; ++k) {
			const struct sb_map x = code_file_map(a->file, i, a->base),
			                    y = code_file_map(b->file, k, b->base);

			if (x.begin < y.end && y.begin < x.end)
				return 1;
		}
	return 0;
}

/* The one for which most speaks, unless nearly as much speaks for another one there. */
static struct code_verdict elect(const struct code_verdict *verdict, size_t count)
{
	const struct code_verdict *best = NULL;

	for (size_t i = 0; i < count; ++i)
		if (verdict[i].file && (!best || verdict[i].score > best->score))
			best = &verdict[i];
	for (size_t i = 0; best && i < count; ++i)
		if (verdict[i].file && &verdict[i] != best && 2 * verdict[i].score > best->score &&
		    overlap(&verdict[i], best))
			return (struct code_verdict){0};
	return best ? *best : (struct code_verdict){0};
}

int code_vote(const struct sb_epoch *epoch, struct code_file *file, size_t nfiles, const uint64_t *ip,
              size_t nips, struct code_verdict *verdict)
{
	struct count *count = calloc(1, sizeof(*count));
	struct code_verdict *each = calloc(nfiles + 1, sizeof(*each));
	int status = count && each ? 0 : -sbe_nomem;

	*verdict = (struct code_verdict){0};
	for (size_t f = 0; f < nfiles && status == 0; ++f)
		status = ask(count, epoch, &file[f], ip, nips, &each[f]);
	if (status == 0)
		*verdict = elect(each, nfiles);
	free(count);
	free(each);
	return status;
}
