/* flow_filter.c - see flow_filter.h.
 *
 * Who ran is judged for the flow as a whole, and what was found out about the last one is remembered. Where
 * it ran is judged by address: a verdict holds up to some address, so that most blocks take one question. */
#include "sink/flow_filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "sink/symbol_text.h"
#include "vector.h"

struct flow_filter {
	const struct sink_filter *wanted;
	const struct sink_context *context;
	struct symbol_texts *texts; /* owned; NULL: functions do not matter */

	/* The last judgements: on a thread's name until its next one, on a membership. */
	struct {
		int32_t pid, tid;
		uint64_t from, until;
		bool wanted;
	} comm;
	struct {
		const struct sb_membership *of;
		bool known, wanted;
	} place;

	bool wants_owner; /* of the flow that is counted */

	/* What is handed out. */
	struct pt_run_block *block;
	size_t nblocks, capacity;
	struct pt_run_path path;
	const struct pt_run_path *paths[1];
	struct sb_flow flow;
};

/* About an address, and all up to @end. */
struct verdict {
	bool wanted;
	uint64_t end;
};

struct flow_filter *flow_filter_new(const struct sink_filter *wanted, const struct sink_context *context)
{
	struct flow_filter *filter = calloc(1, sizeof(*filter));

	if (!filter)
		return NULL;
	filter->wanted = wanted;
	filter->context = context;
	if (wanted->nfunctions && context->symbols) {
		filter->texts = symbol_texts_new(context->symbols, context->clock);
		if (!filter->texts) {
			free(filter);
			return NULL;
		}
	}
	return filter;
}

void flow_filter_free(struct flow_filter *filter)
{
	if (!filter)
		return;
	symbol_texts_free(filter->texts);
	free(filter->block);
	free(filter);
}

/* ---- Who -------------------------------------------------------------------------------------- */

static bool is_among(const int32_t *list, size_t count, int32_t number)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == number)
			return true;
	return !count;
}

static bool matches(const char *const *pattern, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++)
		if (!fnmatch(pattern[i], text, 0))
			return true;
	return !count;
}

static bool wants_comm(struct flow_filter *filter, const struct sb_flow *flow)
{
	const struct sb_clock *clock = filter->context->clock;
	uint64_t time = UINT64_MAX - 1;
	const char *comm;

	if (!filter->wanted->ncomms || !filter->context->system)
		return true;
	if (clock && clock->time_mult)
		time = sb_clock_tsc_to_ns(clock, flow->tsc);
	if (filter->comm.until && filter->comm.pid == flow->pid && filter->comm.tid == flow->tid &&
	    time >= filter->comm.from && time < filter->comm.until)
		return filter->comm.wanted;
	comm = sb_system_comm_until(filter->context->system, flow->pid, flow->tid, time, &filter->comm.until);
	filter->comm.pid = flow->pid;
	filter->comm.tid = flow->tid;
	filter->comm.from = time;
	filter->comm.wanted = matches(filter->wanted->comm, filter->wanted->ncomms, comm);
	return filter->comm.wanted;
}

static bool wants_membership(const struct sink_filter *wanted, const struct sb_membership *membership)
{
	bool contained = !wanted->ncontainers;

	if (!membership)
		return false;
	for (size_t i = 0; i < wanted->ncontainers && membership->container && !contained; i++)
		contained = sb_container_matches(membership->container, wanted->container[i]);
	return contained &&
	       (!wanted->ncgroups ||
	        (membership->cgroup && matches(wanted->cgroup, wanted->ncgroups, membership->cgroup)));
}

static bool wants_place(struct flow_filter *filter, const struct sb_membership *membership)
{
	if (!filter->wanted->ncontainers && !filter->wanted->ncgroups)
		return true;
	if (!filter->place.known || filter->place.of != membership) {
		filter->place.known = true;
		filter->place.of = membership;
		filter->place.wanted = wants_membership(filter->wanted, membership);
	}
	return filter->place.wanted;
}

static bool wants_span(const struct sink_filter *wanted, uint64_t from, uint64_t to)
{
	return !wanted->tsc_to || (from <= wanted->tsc_to && to >= wanted->tsc_from);
}

bool flow_filter_wants_gap(const struct flow_filter *filter, const struct sb_gap *gap)
{
	const struct sink_filter *wanted = filter->wanted;

	return (gap->cpu < 0 || is_among(wanted->cpu, wanted->ncpus, gap->cpu)) &&
	       (gap->pid < 0 || is_among(wanted->pid, wanted->npids, gap->pid)) &&
	       (!gap->tsc_from || wants_span(wanted, gap->tsc_from, gap->tsc_to ? gap->tsc_to : UINT64_MAX));
}

/* ---- Where ------------------------------------------------------------------------------------ */

static struct verdict judge_address(const struct sink_filter *wanted, uint64_t ip)
{
	struct verdict verdict = {!wanted->naddresses, UINT64_MAX};

	for (size_t i = 0; i < wanted->naddresses; i++) {
		const struct sink_range *range = &wanted->address[i];

		if (ip >= range->begin && ip < range->end)
			return (struct verdict){true, range->end};
		if (ip < range->begin && range->begin < verdict.end)
			verdict.end = range->begin;
	}
	return verdict;
}

static int judge_function(struct flow_filter *filter, const struct sb_flow *flow, uint64_t ip,
                          struct verdict *verdict)
{
	static char yes, no;
	struct symbol_text *text;

	*verdict = (struct verdict){true, UINT64_MAX};
	if (!filter->texts)
		return 0;
	text = symbol_text_at(filter->texts, flow, ip);
	if (!text)
		return -sbe_nomem;
	if (!text->note)
		text->note = text->name && matches(filter->wanted->function, filter->wanted->nfunctions,
		                                   text->name)
		                     ? &yes
		                     : &no;
	*verdict = (struct verdict){text->note == &yes, text->high};
	return 0;
}

static int judge(struct flow_filter *filter, const struct sb_flow *flow, uint64_t ip, struct verdict *verdict)
{
	const struct verdict address = judge_address(filter->wanted, ip);

	if (judge_function(filter, flow, ip, verdict))
		return -sbe_nomem;
	verdict->wanted &= address.wanted;
	if (address.end < verdict->end)
		verdict->end = address.end;
	return 0;
}

static struct pt_run_block *new_block(struct flow_filter *filter)
{
	if (vector_reserve(&filter->block, &filter->capacity, filter->nblocks, sizeof(*filter->block)))
		return NULL;
	return &filter->block[filter->nblocks++];
}

/* The instructions of @block that are wanted: in as many pieces as it takes. */
static int take_block(struct flow_filter *filter, const struct sb_flow *flow,
                      const struct pt_run_block *block)
{
	uint64_t ip = block->ip;
	unsigned int i = 0;

	while (i < block->ninsn) {
		struct pt_run_block piece = *block, *taken;
		struct verdict verdict;
		const unsigned int first = i;

		if (judge(filter, flow, ip, &verdict))
			return -sbe_nomem;
		piece.ip = ip;
		do {
			piece.end_ip = ip;
			ip += block->length[i++];
		} while (i < block->ninsn && ip < verdict.end && ip > piece.end_ip);
		if (!verdict.wanted)
			continue;
		taken = new_block(filter);
		if (!taken)
			return -sbe_nomem;
		piece.length = block->length + first;
		piece.ninsn = (uint16_t)(i - first);
		if (i < block->ninsn)
			piece.iclass = ptic_other;
		*taken = piece;
		filter->path.ninsn += piece.ninsn;
	}
	return 0;
}

static int take_blocks(struct flow_filter *filter, const struct sb_flow *flow, const struct sb_flow **part)
{
	filter->nblocks = 0;
	filter->path = (struct pt_run_path){.id = ptr_no_id};
	for (uint32_t i = 0; i < flow->npaths; i++)
		for (uint32_t j = 0; j < flow->path[i]->nblocks; j++)
			if (take_block(filter, flow, &flow->path[i]->block[j]))
				return -sbe_nomem;
	if (!filter->nblocks)
		return 0;
	filter->path.block = filter->block;
	filter->path.nblocks = (uint32_t)filter->nblocks;
	filter->paths[0] = &filter->path;
	filter->flow = *flow;
	filter->flow.path = filter->paths;
	filter->flow.npaths = 1;
	filter->flow.nblocks = filter->path.nblocks;
	filter->flow.ninsn = filter->path.ninsn;
	*part = &filter->flow;
	return 0;
}

/* Whose it is, and when. */
static bool wants_owner(struct flow_filter *filter, const struct sb_flow *flow)
{
	const struct sink_filter *wanted = filter->wanted;

	return is_among(wanted->cpu, wanted->ncpus, flow->cpu) &&
	       is_among(wanted->pid, wanted->npids, flow->pid) && wants_span(wanted, flow->tsc, flow->tsc) &&
	       wants_place(filter, flow->membership) && wants_comm(filter, flow);
}

bool flow_filter_wants_event(struct flow_filter *filter, const struct sb_flow_event *event)
{
	return wants_owner(filter, &(struct sb_flow){.cpu = event->cpu,
	                                             .pid = event->pid,
	                                             .tid = event->tid,
	                                             .tsc = event->tsc,
	                                             .membership = event->membership});
}

int flow_filter_apply(struct flow_filter *filter, const struct sb_flow *flow, const struct sb_flow **part)
{
	const struct sink_filter *wanted = filter->wanted;

	*part = NULL;
	if (!wants_owner(filter, flow))
		return 0;
	if (wanted->naddresses || filter->texts)
		return take_blocks(filter, flow, part);
	*part = flow;
	return 0;
}

/* ---- Counting a part ----------------------------------------------------------------------------- */

bool flow_part_begin(const struct flow_part *part, const struct sb_flow *flow)
{
	bool wants_process = true;

	for (size_t i = 0; i < 2; i++) {
		struct flow_filter *filter = part->filter[i];

		if (!filter)
			continue;
		filter->wants_owner = wants_owner(filter, flow);
		wants_process &= is_among(filter->wanted->pid, filter->wanted->npids, flow->pid);
	}
	return wants_process;
}

/* What all filters say of @ip. Without memory nothing is wanted. */
static struct verdict judge_part(const struct flow_part *part, const struct sb_flow *flow, uint64_t ip)
{
	struct verdict all = {true, UINT64_MAX}, one;

	for (size_t i = 0; i < 2; i++) {
		if (!part->filter[i])
			continue;
		if (!part->filter[i]->wants_owner || judge(part->filter[i], flow, ip, &one))
			return (struct verdict){false, UINT64_MAX};
		all.wanted &= one.wanted;
		all.end = one.end < all.end ? one.end : all.end;
	}
	return all;
}

uint32_t flow_part_count(const struct flow_part *part, const struct sb_flow *flow,
                         const struct pt_run_block *block)
{
	uint64_t ip = block->ip;
	uint32_t count = 0;
	unsigned int i = 0;

	while (i < block->ninsn) {
		const struct verdict verdict = judge_part(part, flow, ip);
		const unsigned int first = i;
		uint64_t last;

		do {
			last = ip;
			ip += block->length[i++];
		} while (i < block->ninsn && ip < verdict.end && ip > last);
		count += verdict.wanted ? i - first : 0;
	}
	return count;
}
