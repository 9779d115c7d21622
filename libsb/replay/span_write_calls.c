/* span_write_calls.c - what was added up behind the blocks of a flow, as bytes of a span. See span_format.h.
 */
#include <string.h>

#include "replay/span_write_internal.h"
#include "system/arena.h"

static uint8_t *put_frame(uint8_t *at, const struct sb_flow_call_frame *frame, uint64_t *last)
{
	at = put_ip(at, frame->ip, last);
	at = put_ip(at, frame->from_ip, last);
	at = put_ip(at, frame->return_ip, last);
	*at++ = frame->how;
	*at++ = frame->flags;
	return put(at, frame->ran);
}

static uint64_t bit(int is_set, unsigned int number)
{
	return (uint64_t)(is_set != 0) << number;
}

/* @guess: what is guessed there; becomes what it is. */
static uint8_t *put_sum(struct span_writer *writer, uint8_t *at, const struct sb_flow_call_sum *sum,
                        uint32_t index, struct span_guess *guess, uint64_t *last)
{
	const uint64_t flags = bit(sum->is_kernel, 3) | bit(sum->is_learned, 2) | bit(sum->jumps, 1) |
	                       bit(sum->is_called, 0);
	struct span_guess is = {.function = sum->function, .above = index - 1 - sum->below};

	span_guess_set_flags(&is, flags);
	if (span_guess_is(&is, guess))
		return put(at, sum->ninsn << 1 | 1);
	*guess = is;
	at = put(at, sum->ninsn << 1);
	at = put(at, sum->function);
	if (sum->function == writer->nfunctions) {
		at = put_ip(at, sum->ip, last);
		writer->nfunctions += 1;
		writer->guess[writer->nfunctions] = span_guess_none();
	}
	return put(at, (uint64_t)is.above << 4 | flags);
}

/* All but the first one. */
static uint8_t *put_some_sums(struct span_writer *writer, uint8_t *at, const struct sb_flow_calls *calls,
                              uint64_t *last)
{
	struct span_guess *guess = writer->guess;

	if (!writer->nfunctions)
		*guess = span_guess_none();
	for (uint32_t i = 1; i < calls->nsums; ++i) {
		at = put_sum(writer, at, &calls->sum[i], i, guess, last);
		guess = &writer->guess[calls->sum[i].function + 1];
	}
	return at;
}

/* As above, of a shape. */
static uint8_t *put_ninsn(uint8_t *at, const struct sb_flow_calls *calls)
{
	for (uint32_t i = 1; i < calls->nsums; ++i)
		at = put(at, calls->sum[i].ninsn);
	return at;
}

uint8_t *span_put_edges(uint8_t *at, const struct sb_flow_calls *calls, uint64_t *last)
{
	at = put(at, calls->nedges);
	for (size_t i = 0; i < calls->nedges; ++i) {
		const struct sb_flow_call_edge *edge = &calls->edge[i];

		at = put(at, edge->caller == sb_flow_call_base ? 0 : (uint64_t)edge->caller + 1);
		at = put(at, edge->callee);
		at = put_ip(at, edge->ip, last);
		at = put_ip(at, edge->from_ip, last);
		at = put(at, edge->calls);
		at = put(at, edge->ninsn);
	}
	return at;
}

static int has_above(const struct sb_flow_calls *calls)
{
	return calls->deepest || calls->returns || calls->nframes;
}

static int is_elsewhere(const struct sb_flow_calls *calls)
{
	return calls->end_low != calls->low || calls->end_high != calls->high;
}

static uint8_t *put_above(uint8_t *at, const struct sb_flow_calls *calls, uint64_t *last)
{
	at = put(at, calls->deepest);
	at = put(at, calls->returns);
	at = put(at, calls->nframes);
	for (uint32_t i = 0; i < calls->nframes; ++i)
		at = put_frame(at, &calls->frame[i], last);
	return at;
}

/* @last: where the flow's blocks end; @has_shape: the sums have one. */
static uint8_t *put_sums(struct span_writer *writer, uint8_t *at, const struct sb_flow_calls *calls,
                         uint64_t last, int has_shape)
{
	at = put_ip(at, calls->low, &last);
	at = put(at, calls->high - calls->low);
	at = put(at, calls->sum[0].ninsn);
	at = has_shape ? put_ninsn(at, calls) : put_some_sums(writer, at, calls, &last);
	if (has_above(calls))
		at = put_above(at, calls, &last);
	if (calls->nedges)
		at = span_put_edges(at, calls, &last);
	if (is_elsewhere(calls)) {
		at = put_ip(at, calls->end_low, &last);
		at = put(at, calls->end_high - calls->end_low);
	}
	at = put_ip(at, calls->end_ip, &last);
	at = put_ip(at, calls->next_ip, &last);
	*at++ = calls->iclass;
	return at;
}

static unsigned int flags_of(const struct sb_flow_calls *calls)
{
	unsigned int flags = 0;

	if (calls->nsums) {
		flags |= calls->is_plain ? span_calls_is_plain : 0;
		flags |= calls->is_named ? span_calls_is_named : 0;
		flags |= calls->goes_internal ? span_calls_goes_internal : 0;
		flags |= calls->nedges ? span_calls_edges : 0;
		flags |= has_above(calls) ? span_calls_above : 0;
		flags |= is_elsewhere(calls) ? span_calls_elsewhere : 0;
	}
	flags |= calls->credit ? span_calls_credit : 0;
	return flags | (calls->more_credit ? span_calls_more_credit : 0);
}

/* Where the flow's blocks end, as far as they are written; 0: nowhere. */
static uint64_t end_of(const struct sb_flow *flow, int paths)
{
	const struct pt_run_path *last = paths && flow->npaths ? flow->path[flow->npaths - 1] : NULL;

	return last ? last->block[last->nblocks - 1].end_ip : 0;
}

/* The sums, with their shape, or how many there are. */
static uint8_t *put_all_sums(struct span_writer *writer, uint8_t *at, const struct sb_flow_calls *calls,
                             uint64_t last)
{
	uint32_t hash;
	const int64_t shape = span_shapes_find(&writer->shapes, calls->sum, calls->nsums, &hash);

	if (shape >= 0)
		return put_sums(writer, put(at, (uint64_t)shape << 1 | 1), calls, last, 1);
	at = put_sums(writer, put(at, (uint64_t)calls->nsums << 1), calls, last, 0);
	if (span_shapes_add(&writer->shapes, calls->sum, calls->nsums, hash) < 0)
		writer->failed = -sbe_nomem;
	return at;
}

int span_put_calls(struct span_writer *writer, const struct sb_flow *flow, int paths)
{
	const struct sb_flow_calls *calls = flow->calls;
	const unsigned int flags = flags_of(calls);
	uint8_t *at = span_write_room(writer, ITEM_MAX + (calls->nsums + calls->nframes + calls->nedges) * 6 *
	                                                         VARINT_MAX);

	if (at && array_reserve_more(&writer->guess, &writer->guess_capacity, 0,
	                             (size_t)writer->nfunctions + calls->nsums, sizeof(*writer->guess)) < 0)
		writer->failed = -sbe_nomem;
	if (!at || writer->failed)
		return writer->failed;
	*at++ = (uint8_t)flags;
	at = put(at, calls->tsc_to - flow->tsc);
	if (flags & span_calls_credit)
		at = put(at, calls->credit);
	if (flags & span_calls_more_credit)
		at = put(at, calls->more_credit);
	at = calls->nsums ? put_all_sums(writer, at, calls, end_of(flow, paths)) : put(at, 0);
	writer->size = (size_t)(at - writer->buffer);
	return writer->failed;
}
