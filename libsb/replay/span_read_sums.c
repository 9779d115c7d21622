/* span_read_sums.c - what was added up, of a span's bytes. See span_read_internal.h. */
#include "replay/span_read_internal.h"

#include <sb/call_stack.h>

#include "system/arena.h"

int span_get_times(struct span_reader *reader, struct sb_flow *flow)
{
	uint64_t nblocks = 0;

	for (uint32_t i = 0; i < flow->npaths; ++i)
		nblocks += flow->path[i]->nblocks;
	if (nblocks > SPAN_TIMES_MAX || !span_has(reader, nblocks))
		return -sbe_format;
	if (array_reserve_more(&reader->times, &reader->times_capacity, 0, nblocks, sizeof(*reader->times)) <
	    0)
		return -sbe_nomem;
	for (uint64_t i = 0; i < nblocks; ++i)
		reader->times[i] = span_get(reader);
	flow->times = reader->times;
	if ((reader->sums & sb_sums_counts) < sb_sums_ways)
		return 0;
	flow->first_code = (uint32_t)reader->ncodes;
	reader->ncodes += nblocks;
	return reader->ncodes <= SPAN_CODES_MAX ? 0 : -sbe_format;
}

/* ---- Calls ------------------------------------------------------------------------------------ */

/* @last: the address that was told of last. */
static uint64_t get_ip(struct span_reader *reader, uint64_t *last)
{
	*last += (uint64_t)span_get_signed(reader);
	return *last;
}

static uint64_t take_ip(const uint8_t **at, uint64_t *last)
{
	*last += (uint64_t)span_unzigzag(span_take(at));
	return *last;
}

/* One that was not guessed, and will be from now on. */
static int take_guess(struct span_reader *reader, struct span_guess *guess, const uint8_t **at,
                      struct sb_flow_call_sum *sum, uint64_t *last)
{
	const uint64_t function = span_take(at);
	uint64_t above;

	if (function == reader->nfunctions && function < UINT32_MAX) {
		sum->ip = take_ip(at, last);
		reader->nfunctions += 1;
		reader->guess[reader->nfunctions] = span_guess_none();
	}
	above = span_take(at);
	guess->function = (uint32_t)function;
	guess->above = above >> 4 < UINT32_MAX ? (uint32_t)(above >> 4) : UINT32_MAX;
	span_guess_set_flags(guess, above);
	return function < reader->nfunctions ? 0 : -sbe_format;
}

/* All but the first one. */
static int get_some_sums(struct span_reader *reader, struct sb_flow_call_sum *sum, uint32_t count,
                         const uint8_t **from, uint64_t *last)
{
	const uint8_t *at = *from, *end = reader->block + reader->size;
	struct span_guess *guess, *guesses;

	if (array_reserve_more(&reader->guess, &reader->guess_capacity, 0, (size_t)reader->nfunctions + count,
	                       sizeof(*guess)) < 0)
		return -sbe_nomem;
	guess = guesses = reader->guess;
	if (!reader->nfunctions)
		*guess = span_guess_none();
	for (uint32_t i = 1; i < count; ++i) {
		const uint64_t ninsn = span_take(&at);

		sum += 1;
		sum->ip = 0;
		if (!(ninsn & 1) && take_guess(reader, guess, &at, sum, last) < 0)
			return -sbe_format;
		if (guess->above >= i || at > end)
			return -sbe_format;
		sum->function = guess->function;
		sum->below = i - 1 - guess->above;
		sum->ninsn = ninsn >> 1;
		span_guess_put_flags(guess, sum);
		guess = guesses + 1 + guess->function;
	}
	*from = at;
	return 0;
}

/* The same of a shape: all else is as it was. */
static int get_ninsn(const struct span_reader *reader, struct sb_flow_call_sum *sum, uint32_t count,
                     const uint8_t **from)
{
	const uint8_t *at = *from, *end = reader->block + reader->size;

	for (uint32_t i = 1; i < count; ++i) {
		sum[i].ninsn = span_take(&at);
		if (at > end)
			return -sbe_format;
	}
	*from = at;
	return 0;
}

/* All, and what they are of unless they have a @shape. */
static int get_all_sums(struct span_reader *reader, const struct span_shape *shape, uint32_t count,
                        const uint8_t **at, uint64_t *last)
{
	struct sb_flow_call_sum *sum =
	        shape ? reader->shapes.sum + shape->first : span_shapes_room(&reader->shapes, count);
	int status;

	if (!sum)
		return -sbe_nomem;
	reader->calls.sum = sum;
	reader->calls.nsums = count;
	*sum = (struct sb_flow_call_sum){.ninsn = span_take(at)};
	if (!span_has_more(reader, *at, 0))
		return -sbe_format;
	if (shape)
		return get_ninsn(reader, sum, count, at);
	status = get_some_sums(reader, sum, count, at, last);
	return status < 0 ? status : span_shapes_keep(&reader->shapes, count);
}

static int get_some_frames(struct span_reader *reader, uint32_t count, const uint8_t **from, uint64_t *last)
{
	const uint8_t *at = *from, *end = reader->block + reader->size;

	for (uint32_t i = 0; i < count; ++i) {
		struct sb_flow_call_frame *frame = &reader->frame[i];

		frame->ip = take_ip(&at, last);
		frame->from_ip = take_ip(&at, last);
		frame->return_ip = take_ip(&at, last);
		frame->how = *at++;
		frame->flags = *at++;
		frame->ran = span_take(&at);
		if (frame->how >= sb_enters || at > end)
			return -sbe_format;
	}
	*from = at;
	return 0;
}

/* What there is above the frame, and was. */
static int get_above(struct span_reader *reader, const uint8_t **at, uint64_t *last)
{
	const uint64_t deepest = span_take(at), returns = span_take(at), count = span_take(at);

	if (deepest > UINT32_MAX || count > SPAN_CALL_FRAMES_MAX || !span_has_more(reader, *at, 6 * count))
		return -sbe_format;
	if (array_reserve_more(&reader->frame, &reader->frame_capacity, 0, count, sizeof(*reader->frame)) < 0)
		return -sbe_nomem;
	reader->calls.deepest = (uint32_t)deepest;
	reader->calls.returns = returns;
	reader->calls.frame = reader->frame;
	reader->calls.nframes = (uint32_t)count;
	return get_some_frames(reader, (uint32_t)count, at, last);
}

static int get_edge(struct span_reader *reader, struct sb_flow_call_edge *edge, uint64_t *last)
{
	const uint64_t caller = span_get(reader), callee = span_get(reader);

	edge->caller = caller ? (uint32_t)(caller - 1) : sb_flow_call_base;
	edge->callee = (uint32_t)callee;
	edge->ip = get_ip(reader, last);
	edge->from_ip = get_ip(reader, last);
	edge->calls = span_get(reader);
	edge->ninsn = span_get(reader);
	return caller <= reader->nfunctions && callee < reader->nfunctions ? 0 : -sbe_format;
}

static int get_edges(struct span_reader *reader, uint64_t *last)
{
	const uint64_t count = span_get(reader);
	int status = 0;

	if (count > SPAN_EDGES_MAX || !span_has(reader, 6 * count))
		return -sbe_format;
	if (array_reserve_more(&reader->edge, &reader->edge_capacity, 0, count, sizeof(*reader->edge)) < 0)
		return -sbe_nomem;
	for (uint64_t i = 0; i < count && status == 0; ++i)
		status = get_edge(reader, &reader->edge[i], last);
	reader->calls.edge = reader->edge;
	reader->calls.nedges = count;
	return status;
}

/* Where it ended. */
static int get_end_of_calls(struct span_reader *reader, uint8_t flags, const uint8_t *at, uint64_t last)
{
	struct sb_flow_calls *calls = &reader->calls;

	calls->end_low = calls->low;
	calls->end_high = calls->high;
	if (flags & span_calls_elsewhere) {
		calls->end_low = take_ip(&at, &last);
		calls->end_high = calls->end_low + span_take(&at);
	}
	calls->end_ip = take_ip(&at, &last);
	calls->next_ip = take_ip(&at, &last);
	calls->iclass = *at++;
	return calls->iclass > ptic_indirect ? -sbe_format : span_has_come(reader, at);
}

/* @reference: their shape, or how many there are. */
static int get_sums(struct span_reader *reader, uint8_t flags, uint64_t reference, const uint8_t *at,
                    uint64_t last)
{
	struct sb_flow_calls *calls = &reader->calls;
	const struct span_shape *shape = NULL;
	uint64_t count = reference >> 1;
	int status;

	if (reference & 1) {
		if (count >= reader->shapes.nshapes)
			return -sbe_format;
		shape = &reader->shapes.shape[count];
		count = shape->count;
	}
	if (count > SPAN_CALLS_MAX || !span_has_more(reader, at, count - 1))
		return -sbe_format;
	calls->low = take_ip(&at, &last);
	calls->high = calls->low + span_take(&at);
	calls->is_named = (flags & span_calls_is_named) != 0;
	calls->is_plain = (flags & span_calls_is_plain) != 0;
	calls->goes_internal = (flags & span_calls_goes_internal) != 0;
	status = get_all_sums(reader, shape, (uint32_t)count, &at, &last);
	if (status == 0 && flags & span_calls_above)
		status = get_above(reader, &at, &last);
	if (status == 0 && flags & span_calls_edges) {
		status = span_has_come(reader, at);
		if (status == 0)
			status = get_edges(reader, &last);
		at = reader->block + reader->at;
	}
	if (status == 0 && !span_has_more(reader, at, 0))
		status = -sbe_format;
	return status < 0 ? status : get_end_of_calls(reader, flags, at, last);
}

/* Addresses are near to that where the flow's blocks end. */
static uint64_t end_of(const struct sb_flow *flow)
{
	const struct pt_run_path *last = flow->npaths ? flow->path[flow->npaths - 1] : NULL;

	return last ? last->block[last->nblocks - 1].end_ip : 0;
}

int span_get_calls(struct span_reader *reader, struct sb_flow *flow)
{
	const uint8_t *at = reader->block + reader->at;
	struct sb_flow_calls *calls = &reader->calls;
	uint8_t flags;
	uint64_t sums;

	if (span_is_over(reader))
		return -sbe_format;
	*calls = (struct sb_flow_calls){0};
	flags = *at++;
	calls->tsc_to = flow->tsc + span_take(&at);
	if (flags & span_calls_credit)
		calls->credit = span_take(&at);
	if (flags & span_calls_more_credit)
		calls->more_credit = span_take(&at);
	sums = span_take(&at);
	flow->calls = calls;
	if (!sums)
		return flags & ~(span_calls_credit | span_calls_more_credit) ? -sbe_format
		                                                             : span_has_come(reader, at);
	return get_sums(reader, flags, sums, at, end_of(flow));
}

int span_get_edges(struct span_reader *reader, struct sb_flow *flow)
{
	uint64_t last = 0;

	*flow = (struct sb_flow){.cpu = reader->cpu,
	                         .tid = -1,
	                         .tsc = reader->tsc,
	                         .numbering = reader->numbering,
	                         .calls = &reader->calls};
	reader->calls = (struct sb_flow_calls){.tsc_to = reader->tsc};
	if (!(reader->sums & sb_sums_edges) || span_get_int(reader, &flow->pid) < 0 ||
	    span_get_epoch(reader, &flow->epoch) < 0)
		return -sbe_format;
	return get_edges(reader, &last);
}

/* ---- Turns ------------------------------------------------------------------------------------ */

/* The sums of a turn, behind its time. */
static int get_turn(const uint8_t **at, const uint8_t *end, int has_kernel, struct sb_flow_turn *turn)
{
	const uint64_t nblocks = span_take(at);

	turn->nblocks = (uint32_t)nblocks;
	turn->ninsn = span_take(at);
	turn->ninsn_kernel = has_kernel ? span_take(at) : 0;
	return nblocks > UINT32_MAX || turn->ninsn_kernel > turn->ninsn || *at > end ? -sbe_format : 0;
}

/* All but the first one, as one; each by itself is left out. */
static int skip_others(struct span_reader *reader, const uint8_t **at, const uint8_t *end)
{
	struct span_turns *others = &reader->others;
	uint64_t size;

	others->all = reader->turn[0];
	others->all.tsc_to += span_take(at);
	if (get_turn(at, end, others->has_kernel, &others->all) < 0 || others->all.tsc_to < others->all.tsc)
		return -sbe_format;
	reader->tsc = others->all.tsc_to;
	size = span_take(at);
	if (*at > end || size > (uint64_t)(end - *at))
		return -sbe_format;
	others->at = (size_t)(*at - reader->block);
	*at += size;
	return 0;
}

/* There is room for all. */
static int get_some_turns(struct span_reader *reader)
{
	const uint8_t *at = reader->block + reader->at, *end = reader->block + reader->size;
	struct sb_flow_turn *first = &reader->turn[0];
	int status;

	reader->tsc += (uint64_t)span_unzigzag(span_take(&at));
	*first = (struct sb_flow_turn){.tsc = reader->tsc,
	                               .tsc_to = reader->tsc,
	                               .membership = reader->membership,
	                               .cpu = reader->cpu,
	                               .pid = reader->pid,
	                               .tid = reader->tid};
	status = get_turn(&at, end, reader->others.has_kernel, first);
	if (status == 0 && reader->others.count)
		status = skip_others(reader, &at, end);
	return status < 0 ? status : span_has_come(reader, at);
}

int span_get_turns(struct span_reader *reader, struct sb_flow *flow)
{
	const uint8_t flags = span_get_byte(reader);
	uint64_t count;
	int status = 0;

	if (!(reader->sums & sb_sums_threads) ||
	    flags & ~(span_flow_owner | span_flow_membership | span_flow_kernel))
		return -sbe_format;
	if (flags & span_flow_owner)
		status = span_get_owner(reader, &reader->pid, &reader->tid);
	if (status == 0 && flags & span_flow_membership)
		status = span_get_membership(reader, &reader->membership);
	count = span_get(reader);
	if (status < 0 || !count || count > SPAN_TURNS_MAX || !span_has(reader, 3))
		return -sbe_format;
	if (array_reserve_more(&reader->turn, &reader->turn_capacity, 0, count, sizeof(*reader->turn)) < 0)
		return -sbe_nomem;
	reader->others =
	        (struct span_turns){.count = count - 1, .has_kernel = (flags & span_flow_kernel) != 0};
	status = get_some_turns(reader);
	*flow = (struct sb_flow){
	        .cpu = reader->cpu, .tsc = reader->turn[0].tsc, .turn = reader->turn, .nturns = 1};
	return status;
}

/* What is @left behind @turn, which is one of those that it is of. */
static int take_off(struct sb_flow_turn *left, const struct sb_flow_turn *turn)
{
	if (turn->tsc > left->tsc_to || turn->nblocks > left->nblocks || turn->ninsn > left->ninsn ||
	    turn->ninsn_kernel > left->ninsn_kernel)
		return -sbe_format;
	left->tsc = turn->tsc;
	left->nblocks -= turn->nblocks;
	left->ninsn -= turn->ninsn;
	left->ninsn_kernel -= turn->ninsn_kernel;
	return left->ninsn_kernel <= left->ninsn ? 0 : -sbe_format;
}

int span_get_others(struct span_reader *reader, struct sb_flow *flow)
{
	const uint8_t *at = reader->block + reader->others.at, *end = reader->block + reader->at;
	struct sb_flow_turn left = reader->others.all, turn = left;
	const size_t count = reader->others.count;

	for (size_t i = 1; i < count; ++i) {
		turn.tsc += span_take(&at);
		turn.tsc_to = turn.tsc;
		if (get_turn(&at, end, reader->others.has_kernel, &turn) < 0 || take_off(&left, &turn) < 0)
			return -sbe_format;
		reader->turn[i] = turn;
	}
	left.tsc = left.tsc_to;
	reader->turn[count] = left;
	flow->nturns = count + 1;
	reader->others.count = 0;
	return at == end ? 0 : -sbe_format;
}

/* ---- Ways ------------------------------------------------------------------------------------- */

static int get_code(struct span_reader *reader, uint64_t number, uint32_t *code)
{
	*code = (uint32_t)number;
	return number < reader->ncodes ? 0 : -sbe_format;
}

/* A flow that only has ways. */
static void begin_ways(struct span_reader *reader, struct sb_flow *flow)
{
	*flow = (struct sb_flow){.cpu = reader->cpu,
	                         .pid = -1,
	                         .tid = -1,
	                         .tsc = reader->tsc,
	                         .numbering = reader->numbering,
	                         .ways = &reader->ways};
	reader->ways = (struct sb_flow_ways){0};
}

int span_get_ways(struct span_reader *reader, struct sb_flow *flow)
{
	const uint64_t nways = span_get(reader);
	uint64_t before = 0;

	if ((reader->sums & sb_sums_counts) < sb_sums_ways || nways > SPAN_WAYS_MAX ||
	    !span_has(reader, nways))
		return -sbe_format;
	if (array_reserve_more(&reader->way, &reader->way_capacity, 0, nways, sizeof(*reader->way)) < 0)
		return -sbe_nomem;
	for (uint64_t i = 0; i < nways; ++i) {
		struct sb_flow_way *way = &reader->way[i];
		const uint64_t from = before + (uint64_t)span_get_signed(reader), step = span_get(reader);

		before = from + (uint64_t)span_unzigzag(step >> 1);
		way->async = step & 1;
		way->count = span_get(reader);
		if (get_code(reader, from, &way->from) < 0 || get_code(reader, before, &way->to) < 0)
			return -sbe_format;
	}
	begin_ways(reader, flow);
	reader->ways.way = reader->way;
	reader->ways.nways = nways;
	return 0;
}

/* @last: the address that was told of last. */
static int get_stop(struct span_reader *reader, struct sb_flow_stop *stop, uint64_t *last)
{
	const int status = get_code(reader, span_get(reader), &stop->code);

	*last += (uint64_t)span_get_signed(reader);
	stop->ip = *last;
	return status;
}

static int get_deepest(struct span_reader *reader, uint32_t *deepest)
{
	const uint64_t value = span_get(reader);

	*deepest = (uint32_t)value;
	return value <= sb_way_interrupted_most ? 0 : -sbe_format;
}

static int get_backs(struct span_reader *reader, struct sb_flow_seam *seam, uint64_t *last)
{
	const uint64_t nbacks = span_get(reader);

	if (nbacks > UINT32_MAX || !span_has(reader, nbacks))
		return -sbe_format;
	for (uint32_t i = 0; i < nbacks; ++i) {
		if (array_reserve(&reader->back, &reader->back_capacity, i, sizeof(*reader->back)) < 0)
			return -sbe_nomem;
		if (get_deepest(reader, &reader->back[i].deepest) < 0 ||
		    get_stop(reader, &reader->back[i], last) < 0)
			return -sbe_format;
	}
	seam->nbacks = (uint32_t)nbacks;
	seam->back = reader->back;
	return 0;
}

/* What a stretch leaves behind. */
static int get_end(struct span_reader *reader, struct sb_flow_seam *seam, uint64_t *last)
{
	const uint64_t user = span_get(reader), last_code = span_get(reader), last_user = span_get(reader);

	seam->comes_to_user = user != 0;
	if ((user && get_code(reader, user - 1, &seam->user) < 0) ||
	    get_code(reader, last_code, &seam->last) < 0 || last_user > sb_flow_user_known)
		return -sbe_format;
	seam->has_last_user = (enum sb_flow_user)last_user;
	if (last_user == sb_flow_user_known && get_code(reader, span_get(reader), &seam->last_user) < 0)
		return -sbe_format;
	if (get_deepest(reader, &seam->deepest) < 0 || get_deepest(reader, &seam->ninterrupted) < 0)
		return -sbe_format;
	for (uint32_t i = 0; i < seam->ninterrupted; ++i)
		if (get_stop(reader, &seam->interrupted[i], last) < 0)
			return -sbe_format;
	return 0;
}

int span_get_seam(struct span_reader *reader, struct sb_flow *flow)
{
	struct sb_flow_seam *seam = &reader->seam;
	uint64_t last = 0;
	int status;

	*seam = (struct sb_flow_seam){0};
	reader->tsc += (uint64_t)span_get_signed(reader);
	begin_ways(reader, flow);
	if ((reader->sums & sb_sums_counts) < sb_sums_ways ||
	    span_get_owner(reader, &flow->pid, &flow->tid) < 0)
		return -sbe_format;
	reader->ways.seam = seam;
	seam->tsc_from = flow->tsc - span_get(reader);
	seam->left_ip = span_get(reader);
	seam->has_code = span_get(reader) != 0;
	if (!seam->has_code)
		return 0;
	if (get_stop(reader, &seam->first, &last) < 0)
		return -sbe_format;
	status = get_backs(reader, seam, &last);
	return status < 0 ? status : get_end(reader, seam, &last);
}
