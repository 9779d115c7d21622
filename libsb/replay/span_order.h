/* span_order.h - whether each thread's seams come in the order of its flow.
 *
 * A seam stands for flow that began a little before it. If the thread had flow on another CPU since then,
 * both would have to be taken apart, which cannot be done any more. That is not to be expected, as no thread
 * comes to another CPU and back so fast; but time may be wrong.
 */
#ifndef SB_SPAN_ORDER_H
#define SB_SPAN_ORDER_H

#include <sb/error.h>
#include <sb/replay.h>

struct order_thread;

/* A place among what all strands have, in the order of time. */
struct order_place {
	uint64_t tsc;
	size_t strand;
};

struct span_order {
	struct order_thread *thread; /* owned; open addressing */
	size_t nthreads, nslots;
};

/* Zero or -sbe_nomem. */
int span_order_init(struct span_order *order);
void span_order_fini(struct span_order *order);

/* Flow that comes at @place; calls that were added up go on from there. Zero or a negative code: -sbe_order.
 */
int span_order_flow(struct span_order *order, const struct order_place *place, const struct sb_flow *flow,
                    struct sb_error *err);

#endif
