/* code_history.c - see code_history.h.
 *
 * All addresses at which code begins are known beforehand, so that what stands at a moment is a set of their
 * numbers in order: one bit each, and one bit of the next level for 64 of them that are not all zero. Pieces
 * of code that stand at the same time do not overlap, and are found by looking for the last one that begins
 * before some address.
 */
#include "binary/code_history.h"

#include <stdlib.h>

#include "bisect.h"
#include "system/arena.h"

enum { LEVELS = 6 }; /* 64^6 numbers are more than memory holds */

#define NONE SIZE_MAX

/* Where code may begin. */
struct place {
	uint32_t pid;
	uint64_t begin;
};

struct history {
	struct jitdump_code *code;
	struct place *place; /* owned; sorted */
	size_t nplaces;
	size_t *standing;        /* owned; by place: the code that began there last, and was not replaced */
	uint64_t *level[LEVELS]; /* owned; bits by place: code stands there */
};

/* ---- The set ---------------------------------------------------------------------------------- */

static void set_add(struct history *history, size_t i)
{
	for (int l = 0; l < LEVELS; ++l, i /= 64)
		history->level[l][i / 64] |= UINT64_C(1) << i % 64;
}

static void set_remove(struct history *history, size_t i)
{
	for (int l = 0; l < LEVELS; ++l, i /= 64) {
		history->level[l][i / 64] &= ~(UINT64_C(1) << i % 64);
		if (history->level[l][i / 64])
			return;
	}
}

/* The largest member below @i, or NONE. */
static size_t set_before(const struct history *history, size_t i)
{
	for (int l = 0; l < LEVELS && i; ++l) {
		const size_t word = (i - 1) / 64;
		const uint64_t bits = history->level[l][word] & UINT64_MAX >> (63 - (i - 1) % 64);

		i = word;
		if (!bits)
			continue;
		i = 64 * word + 63 - (size_t)__builtin_clzll(bits);
		while (l-- > 0)
			i = 64 * i + 63 - (size_t)__builtin_clzll(history->level[l][i]);
		return i;
	}
	return NONE;
}

/* ---- Places ----------------------------------------------------------------------------------- */

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return left->begin < right->begin ? -1 : left->begin > right->begin;
}

/* How many places are before @begin of @pid. */
static size_t places_before(const struct history *history, int32_t pid, uint64_t begin)
{
	const struct place wanted = {(uint32_t)pid, begin};
	struct bisect at = {.high = history->nplaces};

	while (bisect_more(&at))
		bisect_go(&at, compare_places(&history->place[at.middle], &wanted) < 0);
	return at.low;
}

static void find_places(struct history *history, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; ++i)
		history->place[i] = (struct place){(uint32_t)history->code[i].pid, history->code[i].begin};
	qsort(history->place, count, sizeof(*history->place), compare_places);
	for (size_t i = 0; i < count; ++i)
		if (!kept || compare_places(&history->place[kept - 1], &history->place[i]))
			history->place[kept++] = history->place[i];
	history->nplaces = kept;
}

static void history_free(struct history *history)
{
	free(history->place);
	free(history->standing);
	for (int l = 0; l < LEVELS; ++l)
		free(history->level[l]);
}

static int history_init(struct history *history, struct jitdump_code *code, size_t count)
{
	size_t words = count;
	int have_levels = 1;

	*history = (struct history){.code = code};
	for (int l = 0; l < LEVELS; ++l) {
		words = words / 64 + 1;
		history->level[l] = calloc(words, sizeof(**history->level));
		have_levels &= history->level[l] != NULL;
	}
	history->place = reallocarray(NULL, count, sizeof(*history->place));
	history->standing = reallocarray(NULL, count, sizeof(*history->standing));
	if (!have_levels || !history->place || !history->standing)
		return -sbe_nomem;
	find_places(history, count);
	return 0;
}

/* ---- Time ------------------------------------------------------------------------------------- */

/* The code that goes to another place. */
static void take_along(struct history *history, struct jitdump_code *code)
{
	const size_t place = places_before(history, code->pid, code->moved_from);
	struct jitdump_code *old;
	size_t found = set_before(history, place + 1);

	if (found != place || place >= history->nplaces)
		return;
	old = &history->code[history->standing[place]];
	if (old->to != UINT64_MAX || old->pid != code->pid || old->begin != code->moved_from ||
	    old->code_index != code->code_index || old->end - old->begin != code->end - code->begin)
		return;
	code->offset = old->offset;
	code->name = old->name;
	old->to = code->from;
}

static void put(struct history *history, struct jitdump_code *code)
{
	const size_t place = places_before(history, code->pid, code->begin);
	size_t end = places_before(history, code->pid, code->end);

	for (;;) {
		struct jitdump_code *old;

		end = set_before(history, end);
		if (end == NONE)
			break;
		old = &history->code[history->standing[end]];
		if (old->pid != code->pid || old->end <= code->begin)
			break;
		if (old->to == UINT64_MAX)
			old->to = code->from;
		old->replaced = code->from;
		code->replaces = 1;
		set_remove(history, end);
	}
	history->standing[place] = (size_t)(code - history->code);
	set_add(history, place);
}

int code_history(struct jitdump_code *code, size_t count)
{
	struct history history;
	int status;

	if (!count)
		return 0;
	if (array_sort(code, count, sizeof(*code)) < 0)
		return -sbe_nomem;
	status = history_init(&history, code, count);
	for (size_t i = 0; i < count && status == 0; ++i) {
		code[i].to = code[i].replaced = UINT64_MAX;
		code[i].replaces = 0;
		if (code[i].is_moved)
			take_along(&history, &code[i]);
		put(&history, &code[i]);
	}
	history_free(&history);
	return status;
}
