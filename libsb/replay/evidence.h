/* evidence.h - who runs where records do not say so, or say what the trace contradicts.
 *
 * The trace names addresses, and as a rule each process has its code at others. What is concluded depends on
 * the model and on the trace around the place, not on what was decoded before: so it is the same wherever
 * decoding began.
 */
#ifndef SB_EVIDENCE_H
#define SB_EVIDENCE_H

#include "replay/address_index.h"
#include "replay/lost_map.h"
#include "replay/switch_track.h"

/* Shared by all threads. */
struct evidence {
	const struct sb_system *system; /* borrowed */
	struct address_index addresses;
	struct lost_maps maps;
};

/* Zero or -sbe_nomem. */
int evidence_init(struct evidence *evidence, const struct sb_system *system);
void evidence_fini(struct evidence *evidence);

/* User space is entered. */
struct evidence_place {
	const uint64_t *ip; /* addresses that are about to be executed */
	size_t nips;
	uint64_t now;
	int resumed; /* execution goes on where it stopped last on this CPU: 1, 0, or -1: not known */
};

/* Whether what @track says does not go without saying. */
int evidence_is_needed(const struct switch_track *track, const struct sb_space *space,
                       const struct evidence_place *place);

/* Sets right who runs. Zero or -sbe_nomem. */
int evidence_settle(struct evidence *evidence, struct switch_track *track,
                    const struct evidence_place *place);

/* The space of @pid that has code at the place, at @place->now or as close to it as the trace's time can be
 * wrong; else the one at that time. *moment: the time it is to be asked for. */
const struct sb_space *evidence_space(const struct evidence *evidence, const struct switch_track *track,
                                      const struct evidence_place *place, uint64_t *moment);

#endif
