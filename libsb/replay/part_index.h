/* part_index.h - who has mapped the same part of the same file, and where.
 *
 * By families of address spaces: a fork has what its parent has, at the same addresses. The index is made
 * when it is asked first; threads may share it.
 */
#ifndef SB_PART_INDEX_H
#define SB_PART_INDEX_H

#include <pthread.h>

#include <sb/system.h>

/* A mapping of a file's part in a family: those of a part are neighbours, by family. */
struct family_part {
	uint64_t key; /* first: sorted by it; of the part, and the family */
	uint64_t begin;
	const struct sb_map *map;
};

/* Those of a family are neighbours. */
struct family_epoch {
	uint64_t family; /* first: sorted by it */
	const struct sb_epoch *epoch;
};

struct part_index {
	const struct sb_system *system; /* borrowed */
	pthread_mutex_t lock;           /* of making it */
	int made, status;
	struct family_part *part; /* owned */
	size_t nparts, part_capacity;
	struct family_epoch *epoch; /* owned */
	size_t nepochs, epoch_capacity;
	uint32_t *family_of; /* owned; by epoch id */
};

void part_index_init(struct part_index *index, const struct sb_system *system);
void part_index_fini(struct part_index *index);

/* Must succeed before the others are called. Zero or -sbe_nomem. */
int part_index_make(struct part_index *index);

/* The family whose epoch it is. */
uint32_t part_index_family(const struct part_index *index, const struct sb_epoch *epoch);

/* The next family after @family that has mapped the part of @map at some time; zero: none. */
uint32_t part_index_next(const struct part_index *index, const struct sb_map *map, uint32_t family);

/* The epochs of a family. */
const struct family_epoch *part_index_epochs(const struct part_index *index, uint32_t family, size_t *count);

/* The only mapping of the part of @map that @epoch of @family has; NULL: it has none, or several. */
const struct sb_map *part_index_only(const struct part_index *index, uint32_t family,
                                     const struct sb_epoch *epoch, const struct sb_map *map);

/* Whether a file stands behind a mapping; and whether both are of the same part of the same one. */
int map_has_file(const struct sb_map *map);
int map_same_part(const struct sb_map *a, const struct sb_map *b);

#endif
