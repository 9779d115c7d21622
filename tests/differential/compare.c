/* compare.c - see compare.h. */
#include "compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ring_size = 64, text_size = 512, held_max = 8 };

/* The last records that were equal. */
struct ring {
	struct record record[ring_size];
	uint64_t count;
};

/* The instructions of one side as far as they are the true ones. */
struct check {
	uint64_t right, got;
	int wrong;
};

struct run {
	struct comparer *comparer;
	const struct diff_case *c;
	enum layer layer;
	struct producer *producer[sides];
	struct record record[sides];
	int more[sides];
	struct check check[sides];
	struct ring ring;
	struct record held[held_max]; /* Debian's events that came early */
	unsigned nheld;
	int stopped;               /* before the end, by a known difference */
	char note[signature_size]; /* instead of a signature */
	int pending[sides]; /* what the last status said of events: 1 one comes, 0 none, -1 nothing was said
	                     */
};

/* The status of a decoder must tell whether an event is next. */
static void check_pending(struct run *run, int side)
{
	struct record *record = &run->record[side];

	if (run->pending[side] >= 0 && record->kind != rec_error &&
	    run->pending[side] != (record->kind == rec_event)) {
		if (side == side_debian) {
			known_bad_status(run->comparer->known);
		} else {
			record->kind = rec_defect;
			record->text = "the status before was wrong about a pending event";
		}
	}
	run->pending[side] = -1;
	if (run->layer >= layer_query && run->layer <= layer_block && record->status >= 0 &&
	    (record->kind == rec_event || record->kind == rec_branch || record->kind == rec_target ||
	     (record->kind == rec_insn && run->layer == layer_insn)))
		run->pending[side] = record->status & 1;
}

static void advance(struct run *run, int side)
{
	run->comparer->progress->side = side;
	run->more[side] = run->comparer->side[side].ops->next(run->producer[side], &run->record[side]);
	run->comparer->progress->side = sides;
	if (!run->more[side])
		memset(&run->record[side], 0, sizeof(run->record[side]));
	check_pending(run, side);
	record_forget(&run->record[side], run->comparer->forget);
}

static void check_truth(struct run *run, int side)
{
	const struct record *record = &run->record[side];
	struct check *check = &run->check[side];

	if (record->kind != rec_insn || check->wrong || check->right == run->c->ntruth)
		return;
	check->wrong = record->field[0] != run->c->truth[check->right];
	if (check->wrong)
		check->got = record->field[0];
	else
		++check->right;
}

static void print_record(const char *mark, const struct record *record)
{
	char text[text_size];

	record_print(text, sizeof(text), record);
	printf("%-8s %s\n", mark, text);
}

static void print_before(const struct run *run)
{
	uint64_t count = run->ring.count, from = count, context = run->comparer->context;

	if (context > ring_size)
		context = ring_size;
	from = count > context ? count - context : 0;
	for (; from < count; ++from)
		print_record("", &run->ring.record[from % ring_size]);
}

/* Some packets before and behind @offset, as our packet layer reads them. */
static void print_packets(struct run *run, uint64_t offset)
{
	const struct producer_ops *ops = run->comparer->side[side_ours].ops;
	struct producer *p = ops->open(run->comparer->side[side_ours].lib, run->c, layer_packet);
	unsigned context = run->comparer->context, behind = 0;
	struct record ring[ring_size], record;
	uint64_t count = 0;

	if (!p)
		return;
	if (context > ring_size - 1)
		context = ring_size - 1;
	while (behind <= context && ops->next(p, &record)) {
		if (record.kind == rec_sync || record.type == 2)
			continue;
		behind += record.offset >= offset;
		ring[count++ % ring_size] = record;
	}
	ops->close(p);
	for (uint64_t i = count > 2 * context ? count - 2 * context : 0; i < count; ++i)
		print_record(ring[i % ring_size].offset < offset ? "  pt" : "  pt >", &ring[i % ring_size]);
}

static void print_difference(struct run *run)
{
	uint64_t offset = run->comparer->side[side_ours].ops->tell(run->producer[side_ours]);

	printf("DIFFERENT: %s, layer %s, after %" PRIu64 " records, near offset 0x%" PRIx64 "\n",
	       run->c->name, layer_names[run->layer], run->ring.count, offset);
	print_before(run);
	for (int side = 0; side < sides; ++side) {
		for (unsigned i = 0; i <= run->comparer->context && run->more[side]; ++i) {
			print_record(run->comparer->side[side].name, &run->record[side]);
			check_truth(run, side);
			advance(run, side);
		}
		if (!run->more[side])
			print_record(run->comparer->side[side].name, &run->record[side]);
	}
	print_packets(run, offset);
}

static int reached_sync(struct run *run, int side, uint64_t offset)
{
	uint64_t left = run->comparer->max_records;

	while (run->more[side] && left-- &&
	       !(run->record[side].kind == rec_sync && run->record[side].field[0] >= offset))
		advance(run, side);
	return run->more[side] && run->record[side].kind == rec_sync;
}

/* Goes on where both are at the same PSB, if there is such a place. */
static void resync(struct run *run)
{
	uint64_t offset = 0;

	advance(run, side_ours);
	advance(run, side_debian);
	for (;;) {
		int ours = reached_sync(run, side_ours, offset),
		    debian = reached_sync(run, side_debian, offset);
		uint64_t a = run->record[side_ours].field[0], b = run->record[side_debian].field[0];

		if (!ours || !debian) {
			run->more[side_ours] = run->more[side_debian] = 0;
			return;
		}
		if (a == b)
			return;
		offset = a > b ? a : b;
	}
}

/* Both records are the same, or differ in a known way. */
static void step_both(struct run *run)
{
	if (run->record[side_ours].kind == rec_sync)
		run->nheld = 0;
	check_truth(run, side_ours);
	check_truth(run, side_debian);
	run->ring.record[run->ring.count++ % ring_size] = run->record[side_ours];
	advance(run, side_ours);
	advance(run, side_debian);
}

/* Debian had this event earlier. */
static int release_held(struct run *run)
{
	for (unsigned i = 0; i < run->nheld; ++i) {
		const struct record *held = &run->held[i], *ours = &run->record[side_ours];

		if (ours->kind != rec_event || ours->type != held->type || (ours->flags ^ held->flags) & 3 ||
		    memcmp(ours->field, held->field, sizeof(held->field)))
			continue;
		run->held[i] = run->held[--run->nheld];
		advance(run, side_ours);
		return 1;
	}
	return 0;
}

static int hold(struct run *run)
{
	if (run->nheld == held_max)
		return 0;
	run->held[run->nheld++] = run->record[side_debian];
	advance(run, side_debian);
	return 1;
}

/* Goes on to the next error. Its code, or zero. */
static int next_error(struct run *run, int side)
{
	uint64_t left = run->comparer->max_records;

	if (run->record[side].kind == rec_sync)
		advance(run, side);
	while (run->more[side] && run->record[side].kind != rec_sync && left--) {
		if (run->record[side].kind == rec_error)
			return run->record[side].status;
		advance(run, side);
	}
	return 0;
}

static int step_over_damage(struct run *run, const struct known_query *query)
{
	struct known_query copy = *query;
	struct record ours = *query->ours, debian = *query->debian;
	int ours_error, debian_error;

	copy.ours = &ours;
	copy.debian = &debian;
	ours_error = next_error(run, side_ours);
	debian_error = next_error(run, side_debian);
	if (!known_damaged(&copy, ours_error, debian_error, run->comparer->known)) {
		snprintf(run->note, sizeof(run->note), "damage: ours %s, debian %s",
		         record_error_name(ours_error), record_error_name(debian_error));
		return 0;
	}
	run->nheld = 0;
	resync(run);
	return 1;
}

/* Whether the difference is a known one, and has been stepped over. */
static int step_over(struct run *run)
{
	struct known_query query = {run->c, run->layer, &run->record[side_ours],   &run->record[side_debian],
	                            NULL,   run->nheld, run->comparer->insn_agreed};

	if (run->ring.count)
		query.before = &run->ring.record[(run->ring.count - 1) % ring_size];
	if (release_held(run))
		return 1;
	if (known_same(&query, run->comparer->known)) {
		step_both(run);
		return 1;
	}
	switch (known_flow(&query, run->comparer->known)) {
	case known_skip_ours:
		advance(run, side_ours);
		return 1;
	case known_skip_debian:
		advance(run, side_debian);
		return 1;
	case known_resync:
		resync(run);
		return 1;
	case known_hold:
		return hold(run);
	case known_damage:
		return step_over_damage(run, &query);
	case known_stop:
		run->nheld = 0;
		run->stopped = 1;
		return 1;
	default:
		return 0;
	}
}

static void step(struct run *run, struct verdict *verdict)
{
	if (record_equal(&run->record[side_ours], &run->record[side_debian]) &&
	    run->more[side_ours] == run->more[side_debian]) {
		step_both(run);
		return;
	}
	if (step_over(run))
		return;
	verdict->differs = 1;
	if (*run->note)
		memcpy(verdict->signature, run->note, sizeof(run->note));
	else
		signature_of(verdict->signature, &run->record[side_ours], &run->record[side_debian]);
	if (!run->comparer->quiet)
		print_difference(run);
}

/* What the truth says, once the comparison has ended, perhaps early: both go on to their ends. */
static void judge(struct run *run, struct verdict *verdict)
{
	for (int side = 0; side < sides; ++side) {
		uint64_t left = run->comparer->max_records;

		while ((verdict->differs || run->stopped) && run->more[side] && !run->check[side].wrong &&
		       run->check[side].right < run->c->ntruth && left--) {
			check_truth(run, side);
			advance(run, side);
		}
		verdict->nright[side] = run->check[side].right;
		verdict->got[side] = run->check[side].got;
		verdict->right[side] = !run->check[side].wrong && run->check[side].right == run->c->ntruth;
	}
}

static int open_both(struct run *run)
{
	for (int side = 0; side < sides; ++side) {
		const struct side *s = &run->comparer->side[side];

		run->producer[side] = s->ops->open(s->lib, run->c, run->layer);
		if (!run->producer[side])
			return 0;
	}
	return 1;
}

static void close_both(struct run *run)
{
	for (int side = 0; side < sides; ++side)
		if (run->producer[side])
			run->comparer->side[side].ops->close(run->producer[side]);
}

void compare(struct comparer *comparer, const struct diff_case *c, enum layer layer, struct verdict *verdict)
{
	struct run run = {.comparer = comparer, .c = c, .layer = layer, .pending = {-1, -1}};

	*verdict = (struct verdict){.right = {-1, -1}};
	if (!open_both(&run)) {
		verdict->skipped = 1;
		close_both(&run);
		return;
	}
	advance(&run, side_ours);
	advance(&run, side_debian);
	while ((run.more[side_ours] || run.more[side_debian]) && !verdict->differs && !run.stopped &&
	       verdict->records < comparer->max_records) {
		++verdict->records;
		step(&run, verdict);
	}
	if (run.nheld && !verdict->differs && !c->damaged) {
		verdict->differs = 1;
		snprintf(verdict->signature, sizeof(verdict->signature), "Debian alone: %s",
		         record_event_name(run.held[0].type));
	}
	if (c->truth && (layer == layer_insn || layer == layer_block))
		judge(&run, verdict);
	close_both(&run);
}

void compare_show(struct comparer *comparer, int side, const struct diff_case *c, enum layer layer)
{
	const struct side *s = &comparer->side[side];
	struct producer *p = s->ops->open(s->lib, c, layer);
	uint64_t left = comparer->max_records;
	struct record record;

	if (!p) {
		printf("%s has no layer %s\n", s->name, layer_names[layer]);
		return;
	}
	while (left-- && s->ops->next(p, &record)) {
		char mark[24];

		record_forget(&record, comparer->forget);
		snprintf(mark, sizeof(mark), "@%" PRIx64, s->ops->tell(p));
		print_record(mark, &record);
	}
	s->ops->close(p);
}
