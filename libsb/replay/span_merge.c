/* span_merge.c - see span_merge.h. Stream after stream, one file is read at a time; in the order of time, one
 * of each stream. */
#include "replay/span_merge.h"

#include <stdlib.h>

#include "replay/span_order.h"

/* ---- Stream after stream ----------------------------------------------------------------------- */

static int deliver_stream(struct span_merge *merge, size_t first, size_t *next, struct sb_error *err)
{
	struct strand strand;
	int status;

	strand_init(&strand, merge, first);
	*next = strand.last;
	while ((status = strand_next(&strand, err)) > 0) {
		status = strand_deliver(&strand, err);
		if (status < 0)
			break;
	}
	strand_fini(&strand);
	return status;
}

/* Spans up to that of stream @end. */
static int deliver_in_line(struct span_merge *merge, size_t *span, size_t end, struct sb_error *err)
{
	const struct sb_line *line = &merge->source->line;
	int status = 0;

	while (status == 0 && *span < line->nspans && line->span[*span].stream < end)
		status = deliver_stream(merge, *span, span, err);
	return status;
}

/* ---- In the order of time ---------------------------------------------------------------------- */

enum { turns_most = 1 << 10 }; /* that are handed out together */

/* Strands that have something, the one that comes next first. */
struct queue {
	struct strand *strand; /* owned; by CPU */
	uint64_t *tsc;         /* owned; of what comes next of each, which never goes back */
	size_t *heap;          /* owned; indices of both */
	size_t count, nheap;
	struct sb_flow_turn *turn; /* owned; of all CPUs, to be handed out together */
	size_t nturns;
	struct span_order order; /* when ways are counted */
	int looks_at_order;
};

static int comes_before(const struct queue *queue, size_t a, size_t b)
{
	return queue->tsc[a] != queue->tsc[b] ? queue->tsc[a] < queue->tsc[b] : a < b;
}

static void sink_down(struct queue *queue, size_t at)
{
	const size_t strand = queue->heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < queue->nheap &&
		    comes_before(queue, queue->heap[child + 1], queue->heap[child]))
			child += 1;
		if (child >= queue->nheap || !comes_before(queue, queue->heap[child], strand))
			break;
		queue->heap[at] = queue->heap[child];
		at = child;
	}
	queue->heap[at] = strand;
}

/* Flow and events of other times than were asked for have no place among the others: they are only counted.
 */
static int is_of_another_time(const struct strand *strand)
{
	const struct sb_replay_options *options = strand->merge->world->options;
	const uint64_t tsc = strand_tsc(strand);

	return strand->merge->uncounted && strand->item.kind != span_gap &&
	       (tsc < options->tsc_from || tsc > options->tsc_to);
}

static void see_time(struct queue *queue, size_t index)
{
	const uint64_t tsc = strand_tsc(&queue->strand[index]);

	if (tsc > queue->tsc[index])
		queue->tsc[index] = tsc;
}

static int has_turns(const struct strand *strand)
{
	return strand->item.kind == span_turns && strand->turn < strand->item.flow.nturns;
}

static int advance(struct queue *queue, size_t index, struct sb_error *err)
{
	struct strand *strand = &queue->strand[index];
	int status;

	if (has_turns(strand))
		return 1;
	strand->turn = 0;
	while ((status = strand_next(strand, err)) > 0 && is_of_another_time(strand)) {
		status = strand_deliver(strand, err);
		if (status < 0)
			break;
	}
	if (status > 0)
		see_time(queue, index);
	return status;
}

static int fill(struct queue *queue, struct sb_error *err)
{
	for (size_t i = 0; i < queue->count; ++i) {
		const int status = advance(queue, i, err);

		if (status < 0)
			return status;
		if (status > 0)
			queue->heap[queue->nheap++] = i;
	}
	for (size_t i = queue->nheap / 2; i-- > 0;)
		sink_down(queue, i);
	return 0;
}

static int deliver_turns(struct queue *queue)
{
	struct sb_flow flow = {.turn = queue->turn, .nturns = queue->nturns};
	const struct sb_sink *sink;
	int status;

	if (!queue->nturns)
		return 0;
	flow.cpu = queue->turn[0].cpu;
	flow.tsc = queue->turn[0].tsc;
	queue->nturns = 0;
	sink = queue->strand->merge->ledger->sink;
	status = sink->flow ? sink->flow(sink->context, &flow) : 0;
	return status < 0 ? status : 0;
}

/* Up to where the first strand comes before all others: before this time, and before it is over when *with is
 * set. */
static uint64_t first_until(const struct queue *queue, int *with)
{
	const size_t *heap = queue->heap;
	size_t second = 1;

	*with = 1;
	if (queue->nheap < 2)
		return UINT64_MAX;
	if (queue->nheap > 2 && comes_before(queue, heap[2], heap[1]))
		second = 2;
	*with = heap[0] < heap[second];
	return queue->tsc[heap[second]];
}

static int take_turn(struct queue *queue, const struct strand *strand, const struct sb_flow_turn *turn)
{
	struct sb_flow_turn *taken = &queue->turn[queue->nturns++];

	*taken = *turn;
	strand_place_turn(strand, taken);
	return queue->nturns == turns_most ? deliver_turns(queue) : 0;
}

/* The first one was taken. The others come as one when the sink takes them so: whatever other CPUs have in
 * between makes no difference then. Else they are to be taken one by one. */
static int take_others(struct queue *queue, struct strand *strand, struct sb_error *err)
{
	const struct sb_sink *sink = strand->merge->ledger->sink;
	struct span_turns *others = &strand_reader(strand)->others;
	struct sb_flow_turn all = others->all;
	uint64_t *now = &queue->tsc[queue->heap[0]];
	int status;

	if (!others->count)
		return 0;
	if (!sink->turns_until)
		return strand_read_others(strand, err);
	status = deliver_turns(queue);
	if (status < 0)
		return status;
	strand_place_turn(strand, &all);
	if (all.tsc_to >= sink->turns_until(sink->context, all.cpu))
		return strand_read_others(strand, err);
	others->count = 0;
	*now = all.tsc_to > *now ? all.tsc_to : *now;
	return take_turn(queue, strand, &all);
}

/* The first strand's turns, as many as come before what others have. */
static int take_turns(struct queue *queue, struct sb_error *err)
{
	const size_t first = queue->heap[0];
	struct strand *strand = &queue->strand[first];
	const struct sb_flow *flow = &strand->item.flow;
	int with, status = 0;
	const uint64_t until = first_until(queue, &with);
	uint64_t now = queue->tsc[first];

	do {
		status = take_turn(queue, strand, &flow->turn[strand->turn++]);
		if (status == 0 && strand->turn == 1)
			status = take_others(queue, strand, err);
		if (status < 0 || strand->turn == flow->nturns)
			break;
		if (flow->turn[strand->turn].tsc > now)
			now = flow->turn[strand->turn].tsc;
	} while (now < until || (with && now == until));
	if (queue->tsc[first] < now)
		queue->tsc[first] = now;
	return status;
}

static int deliver_first(struct queue *queue, struct sb_error *err)
{
	const size_t first = queue->heap[0];
	struct strand *strand = &queue->strand[first];
	const struct order_place place = {queue->tsc[first], first};
	int status;

	if (strand->item.kind == span_turns)
		return take_turns(queue, err);
	status = deliver_turns(queue);
	if (status < 0)
		return status;
	if (queue->looks_at_order && strand->item.kind == span_flow)
		status = span_order_flow(&queue->order, &place, &strand->item.flow, err);
	return status < 0 ? status : strand_deliver(strand, err);
}

static int deliver_queue(struct queue *queue, struct sb_error *err)
{
	int status = fill(queue, err);

	while (status >= 0 && queue->nheap) {
		const size_t first = queue->heap[0];

		status = deliver_first(queue, err);
		if (status < 0)
			break;
		status = advance(queue, first, err);
		if (status == 0)
			queue->heap[0] = queue->heap[--queue->nheap];
		if (status >= 0 && queue->nheap)
			sink_down(queue, 0);
	}
	return status < 0 ? status : deliver_turns(queue);
}

/* A strand for each stream from span @first on. */
static int open_queue(struct queue *queue, struct span_merge *merge, size_t first)
{
	const struct sb_line *line = &merge->source->line;
	const size_t most = line->span[line->nspans - 1].stream - line->span[first].stream + 1;

	queue->strand = calloc(most, sizeof(*queue->strand));
	queue->tsc = calloc(most, sizeof(*queue->tsc));
	queue->heap = calloc(most, sizeof(*queue->heap));
	queue->turn = calloc(turns_most, sizeof(*queue->turn));
	queue->looks_at_order =
	        (merge->sums & sb_sums_counts) >= sb_sums_ways || merge->sums & sb_sums_stacks;
	if (!queue->strand || !queue->tsc || !queue->heap || !queue->turn ||
	    span_order_init(&queue->order) < 0)
		return -sbe_nomem;
	while (first < line->nspans) {
		struct strand *strand = &queue->strand[queue->count++];

		strand_init(strand, merge, first);
		first = strand->last;
	}
	return 0;
}

static void close_queue(struct queue *queue)
{
	for (size_t i = 0; i < queue->count; ++i)
		strand_fini(&queue->strand[i]);
	free(queue->strand);
	free(queue->tsc);
	free(queue->heap);
	free(queue->turn);
	span_order_fini(&queue->order);
}

static int deliver_by_time(struct span_merge *merge, size_t first, struct sb_error *err)
{
	struct queue queue = {0};
	int status = first < merge->source->line.nspans ? open_queue(&queue, merge, first) : 0;

	if (status == 0)
		status = deliver_queue(&queue, err);
	close_queue(&queue);
	return status;
}

/* ------------------------------------------------------------------------------------------------- */

int span_merge(const struct replay_world *world, const struct sb_span_source *source, struct ledger *ledger,
               struct span_merge_order order, unsigned int sums, struct sb_error *err)
{
	const struct sb_replay_options *options = world->options;
	struct span_merge merge = {.world = world,
	                           .source = source,
	                           .ledger = ledger,
	                           .sums = sums,
	                           .uncounted = options->tsc_from || options->tsc_to};
	size_t span = 0;
	int status = span_line_check(&source->line, world->perfdata, err);

	if (status == 0)
		status = span_world_init(&merge.numbers, world->system);
	if (status == 0)
		status = deliver_in_line(&merge, &span, order.by_time ? order.first_cpu : SIZE_MAX, err);
	if (status == 0 && order.by_time)
		status = deliver_by_time(&merge, span, err);
	if (status == 0 && merge.surveyed)
		status = code_survey_make(&world->evidence->maps.survey);
	span_world_fini(&merge.numbers);
	return status;
}
