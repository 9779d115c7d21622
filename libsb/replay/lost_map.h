/* lost_map.h - what was mapped where no record says so, as far as other processes tell.
 *
 * Loaders map the files of a program next to each other, and for the same program they do it alike: only
 * where the first one stands is random. So when a record of a mapping was lost, the same file of another
 * process is looked for: where would it be if both had been laid out alike, seen from a file that both have?
 *
 * A guess that other guesses contradict is none. What is found depends on the model alone, not on what was
 * asked before. Threads may share it.
 */
#ifndef SB_LOST_MAP_H
#define SB_LOST_MAP_H

#include <pthread.h>

#include <sb/system.h>

#include "replay/code_survey.h"
#include "replay/part_index.h"

enum { LOST_MAP_SLOTS = 4096 };

struct lost_map_slot {
	const struct sb_epoch *epoch; /* NULL: free */
	uint64_t page;
	int found;
	struct sb_map map;
};

struct lost_maps {
	struct part_index parts;
	struct code_survey survey;  /* where other processes do not tell */
	pthread_mutex_t lock;       /* of the slots */
	struct lost_map_slot *slot; /* owned; the last answers; NULL: there are none */
};

void lost_maps_init(struct lost_maps *lost, const struct sb_system *system);
/* The trace is asked, too. Both are borrowed. */
void lost_maps_survey(struct lost_maps *lost, const struct sb_perfdata *perfdata,
                      struct sb_resolver *resolver);
void lost_maps_fini(struct lost_maps *lost);

/* The mapping that @epoch, which has none at @ip, should have there. Returns whether there is one, or
 * -sbe_nomem. */
int lost_map_find(struct lost_maps *lost, const struct sb_epoch *epoch, uint64_t ip, struct sb_map *map);

#endif
