/* span_order.c - see span_order.h. */
#include "replay/span_order.h"

#include <inttypes.h>
#include <stdlib.h>

enum { slots_first = 1 << 8 };

/* Where something of a thread came last. */
struct order_thread {
	int32_t pid, tid; /* tid > 0; 0: free */
	struct order_place place;
	int32_t cpu;
};

int span_order_init(struct span_order *order)
{
	*order = (struct span_order){.nslots = slots_first};
	order->thread = calloc(order->nslots, sizeof(*order->thread));
	return order->thread ? 0 : -sbe_nomem;
}

void span_order_fini(struct span_order *order)
{
	free(order->thread);
	*order = (struct span_order){0};
}

static struct order_thread *slot_of(struct order_thread *thread, size_t nslots, int32_t pid, int32_t tid)
{
	size_t i = ((uint32_t)tid * 0x9e3779b1u ^ (uint32_t)pid * 0x85ebca6bu) & (nslots - 1);

	while (thread[i].tid && (thread[i].pid != pid || thread[i].tid != tid))
		i = (i + 1) & (nslots - 1);
	return &thread[i];
}

static int grow(struct span_order *order)
{
	struct order_thread *bigger = calloc(2 * order->nslots, sizeof(*bigger));

	if (!bigger)
		return -sbe_nomem;
	for (size_t i = 0; i < order->nslots; ++i)
		if (order->thread[i].tid)
			*slot_of(bigger, 2 * order->nslots, order->thread[i].pid, order->thread[i].tid) =
			        order->thread[i];
	free(order->thread);
	order->thread = bigger;
	order->nslots *= 2;
	return 0;
}

/* NULL: no memory. One that is new has been nowhere. */
static struct order_thread *thread_of(struct span_order *order, int32_t pid, int32_t tid, size_t strand)
{
	struct order_thread *thread;

	if (2 * order->nthreads >= order->nslots && grow(order) < 0)
		return NULL;
	thread = slot_of(order->thread, order->nslots, pid, tid);
	if (!thread->tid) {
		*thread = (struct order_thread){.pid = pid, .tid = tid, .place.strand = strand};
		order->nthreads += 1;
	}
	return thread;
}

static int is_before(const struct order_place *a, const struct order_place *b)
{
	return a->tsc != b->tsc ? a->tsc < b->tsc : a->strand < b->strand;
}

/* Whether all there was of the thread on other CPUs came before @from. */
static int is_in_order(const struct order_thread *thread, const struct order_place *from)
{
	return thread->place.strand == from->strand || is_before(&thread->place, from);
}

int span_order_flow(struct span_order *order, const struct order_place *place, const struct sb_flow *flow,
                    struct sb_error *err)
{
	const struct sb_flow_seam *seam = flow->ways ? flow->ways->seam : NULL;
	const struct order_place from = {seam ? seam->tsc_from : place->tsc, place->strand};
	struct order_thread *thread;

	/* What is nobody's is its CPU's alone. */
	if (flow->tid <= 0)
		return 0;
	thread = thread_of(order, flow->pid, flow->tid, place->strand);
	if (!thread)
		return -sbe_nomem;
	if (!is_in_order(thread, &from))
		return sb_error_set(err, -sbe_order, NULL, UINT64_MAX,
		                    "process %" PRId32 ", thread %" PRId32
		                    ": its flow of CPU %d up to TSC %" PRIu64
		                    " is in between of that of CPU %d from %" PRIu64 " to %" PRIu64,
		                    flow->pid, flow->tid, thread->cpu, thread->place.tsc, flow->cpu, from.tsc,
		                    place->tsc);
	thread->place = *place;
	if (flow->calls && flow->calls->tsc_to > place->tsc)
		thread->place.tsc = flow->calls->tsc_to;
	thread->cpu = flow->cpu;
	return 0;
}
