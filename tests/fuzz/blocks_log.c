/* blocks_log.c - see blocks_log.h. */
#include "blocks_log.h"

#include <inttypes.h>
#include <string.h>

#include "support/check.h"

void log_clear(struct log *log, const char *face)
{
	log->face = face;
	log->count = 0;
	log->full = false;
}

struct log_entry *log_add(struct log *log, enum log_kind kind)
{
	static struct log_entry rest;
	struct log_entry *entry = &rest;

	if (log->count < log_max)
		entry = &log->entry[log->count++];
	else
		log->full = true;
	memset(entry, 0, sizeof(*entry));
	entry->kind = kind;
	return entry;
}

static bool fits(int a, int b)
{
	return a == b || a < 0 || b < 0;
}

static bool same_insn(const struct log_entry *a, const struct log_entry *b)
{
	return a->ip == b->ip && a->size == b->size && a->mode == b->mode &&
	       a->speculative == b->speculative && fits(a->iclass, b->iclass) && fits(a->isid, b->isid) &&
	       fits(a->entry_flags, b->entry_flags) && fits(a->exit_flags, b->exit_flags);
}

static bool same_entry(const struct log_entry *a, const struct log_entry *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case log_insn:
		return same_insn(a, b);
	case log_event:
		return !memcmp(&a->event, &b->event, sizeof(a->event));
	default:
		return a->status == b->status && a->ip == b->ip;
	}
}

static void print_event(const struct pt_event *event)
{
	const uint64_t *word = (const void *)&event->variant;

	fprintf(stderr, "event %d ip_suppressed %d status_update %d has_tsc %d tsc %" PRIx64 " lost %u %u:",
	        event->type, event->ip_suppressed, event->status_update, event->has_tsc, event->tsc,
	        event->lost_mtc, event->lost_cyc);
	for (size_t i = 0; i < sizeof(event->variant) / sizeof(*word); i++)
		fprintf(stderr, " %" PRIx64, word[i]);
}

static void print_entry(const struct log_entry *entry)
{
	switch (entry->kind) {
	case log_insn:
		fprintf(stderr, "%" PRIx64 " size %d mode %d spec %d class %d isid %d flags %x %x", entry->ip,
		        entry->size, entry->mode, entry->speculative, entry->iclass, entry->isid,
		        (unsigned)entry->entry_flags, (unsigned)entry->exit_flags);
		break;
	case log_event:
		print_event(&entry->event);
		break;
	case log_error:
		fprintf(stderr, "error %d %s", entry->status, pt_errstr(pt_errcode(entry->status)));
		break;
	case log_sync:
		fprintf(stderr, "sync %d at %" PRIx64, entry->status, entry->ip);
		break;
	}
	fputc('\n', stderr);
}

static void print_around(const struct log *log, unsigned at)
{
	fprintf(stderr, "%s, %u entries:\n", log->face, log->count);
	for (unsigned i = at < 8 ? 0 : at - 8; i < log->count && i < at + 3; i++) {
		fprintf(stderr, "%s%5u ", i == at ? "->" : "  ", i);
		print_entry(&log->entry[i]);
	}
}

static bool was_there(const struct log *log, unsigned before, uint64_t ip)
{
	while (before--)
		if (log->entry[before].kind == log_insn && log->entry[before].ip == ip)
			return true;
	return false;
}

/* A circle of direct branches, which needs no trace, is an error in the end, after some rounds: how many
 * depends on the face. From @at on, where another one says @error, @log may go round before. Returns where it
 * says so, too. */
static unsigned end_of_circle(const struct log *log, unsigned at, const struct log_entry *error)
{
	const unsigned first = at;

	if (error->kind != log_error)
		return first;
	while (at < log->count && log->entry[at].kind == log_insn && was_there(log, first, log->entry[at].ip))
		at++;
	return at == log->count || same_entry(&log->entry[at], error) ? at : first;
}

void log_compare(const struct log *a, const struct log *b)
{
	unsigned at_a = 0, at_b = 0;

	while (at_a < a->count && at_b < b->count) {
		at_a = end_of_circle(a, at_a, &b->entry[at_b]);
		at_b = at_a < a->count ? end_of_circle(b, at_b, &a->entry[at_a]) : at_b;
		if (at_a == a->count || at_b == b->count || !same_entry(&a->entry[at_a], &b->entry[at_b]))
			break;
		at_a++;
		at_b++;
	}
	if ((at_a == a->count || at_b == b->count) &&
	    (a->full || b->full || (at_a == a->count && at_b == b->count)))
		return;
	print_around(a, at_a);
	print_around(b, at_b);
	FUZZ_CHECK(0, "%s and %s differ at %u", a->face, b->face, at_a);
}
