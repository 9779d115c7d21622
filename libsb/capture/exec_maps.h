/* exec_maps.h - the executable mappings of a process, as /proc/PID/maps lists them (proc(5)). */
#ifndef SB_CAPTURE_EXEC_MAPS_H
#define SB_CAPTURE_EXEC_MAPS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sb/error.h>

struct exec_map {
	uint64_t begin, end, pgoff;
	uint32_t maj, min;
	uint64_t ino;
	uint32_t prot, flags; /* as mmap(2) has them */
	char *name; /* what perf calls it: a path below the process' root, "[vdso]", "//anon"; owned */
};

/* Sorted by address. Zeroed is empty. */
struct exec_maps {
	struct exec_map *map;
	size_t nmaps;
};

/* Reads those that the thread @tid has, with its process, into the empty @maps. One that has ended has none.
 */
int exec_maps_read(struct exec_maps *maps, pid_t tid, struct sb_error *err);
int exec_maps_copy(struct exec_maps *maps, const struct exec_maps *from, struct sb_error *err);
void exec_maps_fini(struct exec_maps *maps);

/* The mapping that holds @address, or NULL. */
const struct exec_map *exec_maps_find(const struct exec_maps *maps, uint64_t address);

/* Whether @maps has a mapping that is the same in all respects. */
int exec_maps_has(const struct exec_maps *maps, const struct exec_map *map);

/* Whether it is one of @maps, or a piece of one: what is left when something else comes beside it. */
int exec_maps_cover(const struct exec_maps *maps, const struct exec_map *map);

/* Whether a mapping overlaps [begin, end). */
int exec_maps_touch(const struct exec_maps *maps, uint64_t begin, uint64_t end);

/* Whether its code can change without a system call: then it has to be read each time. */
int exec_map_volatile(const struct exec_map *map);

#endif
