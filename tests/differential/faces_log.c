/* faces_log.c - see faces_log.h. */
#include "faces_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void log_clear(struct log *log, const char *name)
{
	log->name = name;
	log->count = 0;
	log->ntold = 0;
}

void log_fini(struct log *log)
{
	free(log->entry);
	free(log->told);
}

static void *grow(void *array, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return array;
	*room = 2 * *room + 256;
	array = realloc(array, *room * size);
	if (!array)
		abort();
	return array;
}

struct log_entry *log_add(struct log *log, enum log_kind kind)
{
	struct log_entry *entry;

	log->entry = grow(log->entry, log->count, &log->room, sizeof(*entry));
	entry = &log->entry[log->count++];
	memset(entry, 0, sizeof(*entry));
	entry->kind = (int16_t)kind;
	entry->has_tsc = -1;
	return entry;
}

struct told *log_tell(struct log *log)
{
	log->told = grow(log->told, log->ntold, &log->told_room, sizeof(*log->told));
	memset(&log->told[log->ntold], 0, sizeof(*log->told));
	return &log->told[log->ntold++];
}

/* Where the instructions before @end begin. */
static size_t stretch_before(const struct log *log, size_t end)
{
	size_t begin = end;

	while (begin && log->entry[begin - 1].kind == log_insn)
		--begin;
	return begin;
}

static int was_there(const struct log *log, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; ++i)
		if (log->entry[i].ip == log->entry[end].ip)
			return 1;
	return 0;
}

/* A circle of direct branches, which needs no trace, is an error in the end, after some rounds: how many
 * depends on the face. What may be one is left out. */
void log_add_error(struct log *log, int status)
{
	const size_t begin = stretch_before(log, log->count);
	size_t end = begin;

	if (status == -pte_bad_query) {
		while (end < log->count && !was_there(log, begin, end))
			++end;
		log->count = end;
	}
	log_add(log, log_error)->status = status;
}

static int goes_on(const struct log *sums, const struct log_entry *entry, int timed)
{
	const struct log_entry *last = sums->count ? &sums->entry[sums->count - 1] : NULL;

	return last && last->kind == log_sum &&
	       (!timed || (last->has_tsc == entry->has_tsc && last->tsc == entry->tsc));
}

static void add_sum(struct log *sums, const struct log_entry *entry, int timed)
{
	struct log_entry *sum;

	if (entry->unproven)
		return;
	if (!goes_on(sums, entry, timed)) {
		sum = log_add(sums, log_sum);
		sum->has_tsc = timed ? entry->has_tsc : 0;
		sum->tsc = timed ? entry->tsc : 0;
	}
	sum = &sums->entry[sums->count - 1];
	sum->ip = entry->ip;
	sum->ninsn += entry->kind == log_sum ? entry->ninsn : 1;
	sum->nblocks += entry->kind == log_sum ? entry->nblocks : (uint64_t)entry->ends;
}

/* The end of the trace is told if anything came before it: what counts may know of nothing. */
static int is_mere_end(const struct log *sums, const struct log_entry *entry)
{
	return entry->kind == log_error && entry->status == -pte_eos && sums->count &&
	       sums->entry[sums->count - 1].kind == log_sync;
}

/* How much comes before a circle depends on the face. */
void log_sums(const struct log *from, struct log *sums, int timed)
{
	log_clear(sums, from->name);
	for (size_t i = 0; i < from->count; ++i) {
		const struct log_entry *entry = &from->entry[i];

		if (entry->kind == log_insn || entry->kind == log_sum) {
			add_sum(sums, entry, timed);
			continue;
		}
		if (entry->kind == log_error && entry->status == -pte_bad_query)
			while (sums->count && sums->entry[sums->count - 1].kind == log_sum)
				sums->count -= 1;
		if (!is_mere_end(sums, entry))
			*log_add(sums, (enum log_kind)entry->kind) = *entry;
	}
}

static int fits(int a, int b)
{
	return a == b || a < 0 || b < 0;
}

static int same_insn(const struct log_entry *a, const struct log_entry *b)
{
	return a->ip == b->ip && a->size == b->size && a->mode == b->mode &&
	       a->speculative == b->speculative && fits(a->iclass, b->iclass) &&
	       fits(a->entry_flags, b->entry_flags) && fits(a->exit_flags, b->exit_flags) &&
	       fits(a->has_tsc, b->has_tsc) && (a->has_tsc < 0 || b->has_tsc < 0 || a->tsc == b->tsc);
}

static int same_state(const struct log_entry *a, const struct log_entry *b)
{
	return a->offset == b->offset && a->time == b->time && a->others == b->others;
}

static int same_entry(const struct log_entry *a, const struct log_entry *b, int state)
{
	if (a->kind != b->kind || (state && !same_state(a, b)))
		return 0;
	switch (a->kind) {
	case log_insn:
		return same_insn(a, b);
	case log_sum:
		return a->ip == b->ip && a->ninsn == b->ninsn && a->nblocks == b->nblocks &&
		       a->has_tsc == b->has_tsc && a->tsc == b->tsc;
	case log_event:
		return !memcmp(&a->event, &b->event, sizeof(a->event));
	default:
		return a->status == b->status && a->ip == b->ip;
	}
}

static void print_event(const struct pt_event *event)
{
	uint64_t word[sizeof(event->variant) / sizeof(uint64_t)];

	memcpy(word, &event->variant, sizeof(word));
	printf("event %d ip_suppressed %d status_update %d has_tsc %d tsc %" PRIx64 " lost %u %u:",
	       (int)event->type, event->ip_suppressed, event->status_update, event->has_tsc, event->tsc,
	       event->lost_mtc, event->lost_cyc);
	for (size_t i = 0; i < sizeof(word) / sizeof(*word); ++i)
		printf(" %" PRIx64, word[i]);
}

static void print_entry(const struct log_entry *entry)
{
	switch (entry->kind) {
	case log_insn:
		printf("%" PRIx64 " size %d mode %d spec %d class %d flags %d %d time %d %" PRIx64, entry->ip,
		       entry->size, entry->mode, entry->speculative, entry->iclass, entry->entry_flags,
		       entry->exit_flags, entry->has_tsc, entry->tsc);
		break;
	case log_event:
		print_event(&entry->event);
		break;
	case log_sum:
		printf("%" PRIu64 " instructions, %" PRIu64 " blocks, to %" PRIx64 " time %d %" PRIx64,
		       entry->ninsn, entry->nblocks, entry->ip, entry->has_tsc, entry->tsc);
		break;
	case log_error:
		printf("error %d %s", entry->status, pt_errstr(pt_errcode(entry->status)));
		break;
	default:
		printf("sync %d at %" PRIx64, entry->status, entry->ip);
		break;
	}
	printf(" at %" PRIx64 " time %" PRIx64 " %" PRIx64 "\n", entry->offset, entry->time, entry->others);
}

static void print_around(const struct log *log, size_t at)
{
	printf("%s, %zu entries:\n", log->name, log->count);
	for (size_t i = at < 8 ? 0 : at - 8; i < log->count && i < at + 3; ++i) {
		printf("%s%5zu ", i == at ? "->" : "  ", i);
		print_entry(&log->entry[i]);
	}
}

static int same_told(const char *what, const struct log *a, const struct log *b)
{
	size_t i = 0;

	while (i < a->ntold && i < b->ntold && !memcmp(&a->told[i], &b->told[i], sizeof(*a->told)))
		++i;
	if (i == a->ntold && i == b->ntold)
		return 1;
	printf("%s: %s and %s tell observers differently at %zu of %zu and %zu\n", what, a->name, b->name, i,
	       a->ntold, b->ntold);
	return 0;
}

/* Whether @error ends at @at what may be a circle, and @other goes on in it. */
static int left_a_circle(const struct log *error, const struct log *other, size_t at)
{
	return at < error->count && at < other->count && error->entry[at].kind == log_error &&
	       error->entry[at].status == -pte_bad_query && other->entry[at].kind == log_insn &&
	       was_there(other, stretch_before(other, at), at);
}

int log_same(const char *what, const struct log *a, const struct log *b, unsigned flags)
{
	size_t i = 0;

	while (i < a->count && i < b->count &&
	       same_entry(&a->entry[i], &b->entry[i], (flags & log_with_state) != 0))
		++i;
	if (i == a->count && i == b->count)
		return same_told(what, a, b);
	if (flags & log_may_leave_circles && (left_a_circle(a, b, i) || left_a_circle(b, a, i)))
		return 1;
	printf("%s: %s and %s differ at %zu\n", what, a->name, b->name, i);
	print_around(a, i);
	print_around(b, i);
	return 0;
}
