/* map_walk.h - all mappings that a system knows, whoever has them, whenever. */
#ifndef SB_SYSTEM_MAP_WALK_H
#define SB_SYSTEM_MAP_WALK_H

#include <sb/system.h>

/* Calls @callback for each mapping, some more than once. Ends when it returns something else than zero, and
 * returns that. */
int map_walk(const struct sb_system *system, int (*callback)(void *context, const struct sb_map *map),
             void *context);

#endif
