/* parcel.h - flow and gaps on their way from the thread that decoded them to the one that calls the sink.
 */
#ifndef SB_PARCEL_H
#define SB_PARCEL_H

#include "replay/ledger.h"

struct parcel_item;

struct parcel {
	struct parcel *next;
	struct parcel_item *item; /* owned */
	size_t nitems, item_capacity;
	const struct pt_run_path **path; /* owned; of all items */
	size_t npaths, path_capacity;
	struct path_store store;
	uint64_t bytes; /* of trace that are accounted for */
};

/* Which numbered paths a parcel has already. Kept by whoever fills one parcel after the other. */
struct parcel_index {
	struct parcel_path *path; /* owned; ptr_max_paths */
	uint64_t numbering;
	uint32_t stamp; /* of the present parcel and numbering */
};

int parcel_index_init(struct parcel_index *index);
void parcel_index_fini(struct parcel_index *index);
/* What comes is for another parcel. */
void parcel_index_clear(struct parcel_index *index);

struct parcel *parcel_new(void);
void parcel_free(struct parcel *parcel); /* NULL is fine */
void parcel_clear(struct parcel *parcel);

/* Copies. Zero or -sbe_nomem. */
int parcel_add_flow(struct parcel *parcel, struct parcel_index *index, const struct sb_flow *flow);
/* @timeless: its time is not known, and does not become so. */
int parcel_add_gap(struct parcel *parcel, const struct sb_gap *gap, int timeless);

int parcel_add_event(struct parcel *parcel, const struct sb_flow_event *event);

/* How much memory its content takes. */
size_t parcel_size(const struct parcel *parcel);

/* Where parcels go to. */
struct parcel_target {
	struct ledger *ledger;
	uint64_t last_tsc; /* time does not go back behind it */
	int uncounted; /* the ledger is to filter and count the flow; else it was done, and is the sink's */
};

/* Hands one thing out, at a time that does not go back. What the sink said. @timeless: as above. */
int parcel_target_flow(const struct parcel_target *target, struct sb_flow *flow);
int parcel_target_gap(const struct parcel_target *target, struct sb_gap *gap, int timeless);
int parcel_target_event(const struct parcel_target *target, struct sb_flow_event *event);

/* Hands all out, in order. Zero, or what the sink said. */
int parcel_deliver(const struct parcel *parcel, const struct parcel_target *target);

/* The same for one of its nitems, and the time of it; 0: not known, or a gap, whose time may be what is
 * damaged. */
int parcel_deliver_item(const struct parcel *parcel, size_t index, const struct parcel_target *target);
uint64_t parcel_item_tsc(const struct parcel *parcel, size_t index);

#endif
