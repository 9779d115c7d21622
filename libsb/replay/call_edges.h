/* call_edges.h - who called whom, from where, and what it took: calls of a span added up.
 *
 * Those of a frame that is not known are its item's (call_sums.h); others are the same whatever is below, so
 * that all of a process are added up together, over many items.
 */
#ifndef SB_CALL_EDGES_H
#define SB_CALL_EDGES_H

#include "replay/call_places.h"
#include "replay/span_write.h"
#include "system/index_slots.h"

/* Where addresses of calls are. */
struct call_edge_space {
	int32_t pid;
	const struct sb_epoch *epoch;
};

struct call_edge {
	const struct known_function *caller, *callee; /* caller NULL: the frame that is not known */
	struct call_edge_space space;
	struct sb_flow_call_edge is; /* but for its functions */
};

/* A function's number in what is told. */
struct call_number {
	uint32_t number; /* + 1; 0: it has none */
	uint8_t traits;  /* that were told of it, see call_sums.c */
};

struct call_edges {
	struct call_edge *edge; /* owned */
	size_t count, capacity;
	struct index_slots slots;          /* index + 1 */
	struct sb_flow_call_edge *written; /* owned; as they are written */
	size_t written_capacity;
};

void call_edges_fini(struct call_edges *edges);
void call_edges_clear(struct call_edges *edges);

/* Zero or -sbe_nomem. */
int call_edges_add(struct call_edges *edges, const struct call_edge *edge);

/* Those from @first on that are in the same space: how many; *told has them, until the next call. @number: of
 * each function, by its index. Or -sbe_nomem. */
int64_t call_edges_tell(struct call_edges *edges, size_t first, const struct call_number *number,
                        struct sb_flow_calls *told);

#endif
