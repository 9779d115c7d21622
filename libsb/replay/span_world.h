/* span_world.h - the numbers by which a span names what the system model has. The model is the same wherever
 * it is made of the same recording, and so are its numbers.
 */
#ifndef SB_SPAN_WORLD_H
#define SB_SPAN_WORLD_H

#include <sb/system.h>

struct epoch_number {
	uint64_t address; /* first: sorted by it */
	uint32_t number;
};

struct span_world {
	const struct sb_membership *membership; /* the system's */
	size_t nmemberships;
	const struct sb_container *const *container; /* the system's */
	size_t ncontainers;
	const struct sb_epoch **epoch; /* owned; those of all spaces, one space after the other */
	struct epoch_number *number;   /* owned; of each of them */
	size_t nepochs;
};

/* Zero or -sbe_nomem. */
int span_world_init(struct span_world *world, const struct sb_system *system);
void span_world_fini(struct span_world *world);

/* The number of @epoch + 1; 0: it is NULL, or none of the system's. */
uint32_t span_world_epoch(const struct span_world *world, const struct sb_epoch *epoch);

#endif
