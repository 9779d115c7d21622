/* unknown_kin.h - processes whose FORK record is lost, and what they map.
 *
 * Until it execs, whoever came to sight without one may have the memory of any other process (clone(2) with
 * CLONE_VM; vfork(2)): what one of them maps where the other has something else may have taken its place
 * there, too. Strangers to each other hardly ever have anything at the same addresses. - Where no record
 * tells of anybody's beginning, they were not taken, and nobody is suspected.
 */
#ifndef SB_UNKNOWN_KIN_H
#define SB_UNKNOWN_KIN_H

#include "system/address_space.h"

struct process;
struct process_table;

struct unknown_kin {
	size_t *mapper; /* the indices of those that have mapped something; owned */
	size_t count, capacity;
	int knows_somebody;
	uint64_t effort;
};

void unknown_kin_free(struct unknown_kin *kin);

/* @process is about to get the mapping or code @map into @space, its latest. Zero or -sbe_nomem. */
int unknown_kin_mapped(struct process_table *table, const struct process *process, const struct space *space,
                       const struct sb_map *map);

#endif
