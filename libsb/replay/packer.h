/* packer.h - what a walker's ledger gives, into parcels.
 */
#ifndef SB_PACKER_H
#define SB_PACKER_H

#include "replay/parcel.h"
#include "replay/walker.h"

struct packer {
	struct walker walker;
	struct ledger ledger;
	struct sb_sink sink;              /* of the ledger */
	struct sb_replay_options options; /* of the ledger */
	struct sb_error error;            /* of the walker */
	struct parcel *parcel;            /* being filled; owned; NULL: none yet */
	struct parcel_index index;
	uint64_t accounted; /* bytes that parcels already told of */

	/* Where empty parcels come from, NULL: no memory; and where full ones go to, which says zero, or
	 * negative when there is no point in going on. */
	void *context;
	struct parcel *(*get)(void *context);
	int (*send)(void *context, struct parcel *parcel);
};

/* Gets what @target, the ledger of the thread that calls the sink, is there for. @uncounted: flow of all
 * times is packed, and counted later. @index: of the packer, among those of its session, not zero. The
 * other members are set already. Zero or -sbe_nomem. */
int packer_init(struct packer *packer, const struct replay_world *world, const struct ledger *target,
                size_t nparts, int uncounted, uint32_t index);
void packer_fini(struct packer *packer);

/* Sends the parcel as it is. Zero, or what send() said. */
int packer_send(struct packer *packer);
/* The same when much trace was read since that was done last: not so often that whoever gets it is woken for
 * little. */
int packer_show_progress(struct packer *packer);
/* All that the walker came to is sent, and its sums are in @part. */
int packer_finish(struct packer *packer, struct ledger_part *part);

#endif
