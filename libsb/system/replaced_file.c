/* replaced_file.c - see replaced_file.h. Rare, and so what is noted of each mapping is little: all mappings
 * are looked at again when there is such a path. */
#include "system/replaced_file.h"

#include <stdlib.h>

#include "system/arena.h"
#include "system/process.h"

struct named_file {
	uint64_t ino;
	int several;
};

void replaced_files_init(struct replaced_files *files, uint64_t seed)
{
	*files = (struct replaced_files){0};
	key_table_init(&files->names, sizeof(const char *), seed);
}

void replaced_files_free(struct replaced_files *files)
{
	key_table_free(&files->names);
	free(files->file);
	*files = (struct replaced_files){0};
}

/* Records with a build-id have no inode. */
static int has_path(const struct sb_map *map)
{
	return map->ino && map->filename[0] == '/' && !sb_map_is_anonymous(map->filename);
}

int replaced_files_note(struct replaced_files *files, const struct sb_map *map)
{
	uint32_t number;
	int status;

	if (!has_path(map))
		return 0;
	status = key_table_keep(&files->names, &map->filename, &number);
	if (status < 0)
		return status;
	if (status > 0) {
		if (array_reserve(&files->file, &files->capacity, number, sizeof(*files->file)) < 0)
			return -sbe_nomem;
		files->file[number] = (struct named_file){.ino = map->ino};
	} else if (files->file[number].ino != map->ino && !files->file[number].several) {
		files->file[number].several = 1;
		files->nseveral += 1;
	}
	return 0;
}

/* ---- Marking ------------------------------------------------------------------------------------ */

struct candidate {
	struct sb_map *map;
	const struct sb_container *container;
};

struct candidates {
	const struct replaced_files *files;
	const struct process_table *table;
	struct candidate *of; /* owned */
	size_t count, capacity;
};

static int add(void *context, const struct sb_map *map)
{
	struct candidates *all = context;
	const struct sb_membership *membership;
	uint32_t number;

	if (!has_path(map) || !key_table_find(&all->files->names, &map->filename, &number) ||
	    !all->files->file[number].several)
		return 0;
	if (array_reserve(&all->of, &all->capacity, all->count, sizeof(*all->of)) < 0)
		return -sbe_nomem;
	membership = process_membership(all->table, map->pid, map->pid, map->time);
	/* It is the table's own. */
	all->of[all->count++] = (struct candidate){(struct sb_map *)(uintptr_t)map,
	                                           membership ? membership->container : NULL};
	return 0;
}

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_place(const struct candidate *a, const struct candidate *b)
{
	int order = compare((uintptr_t)a->map->filename, (uintptr_t)b->map->filename);

	if (!order)
		order = compare((uintptr_t)a->container, (uintptr_t)b->container);
	if (!order)
		order = compare(a->map->maj, b->map->maj);
	return order ? order : compare(a->map->min, b->map->min);
}

static int by_place_and_inode(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;
	const int order = by_place(a, b);

	return order ? order : compare(a->map->ino, b->map->ino);
}

/* Those of one path, if they are of several files. A build-id by path is one file's alone, and nobody knows
 * whose. */
static void mark(const struct candidate *first, size_t count)
{
	if (first[0].map->ino == first[count - 1].map->ino)
		return;
	for (size_t i = 0; i < count; ++i) {
		first[i].map->replaced = 1;
		first[i].map->build_id_size = 0;
	}
}

static int find_all(struct candidates *all, const struct process_table *table)
{
	int status = 0;

	for (size_t i = 0; i < table->nspaces; ++i) {
		const struct space *space = table->space[i].space;

		for (size_t k = space->inherits ? 1 : 0; k < space->nepochs && status == 0; ++k)
			status = space_walk_new(&table->pool.epoch_trees[space->epoch[k].id], add, all);
	}
	return status;
}

int replaced_files_mark(struct replaced_files *files, struct process_table *table)
{
	struct candidates all = {.files = files, .table = table};
	int status = files->nseveral ? find_all(&all, table) : 0;

	if (status == 0 && all.count) {
		qsort(all.of, all.count, sizeof(*all.of), by_place_and_inode);
		for (size_t i = 0, first = 0; i < all.count; ++i)
			if (i + 1 == all.count || by_place(&all.of[first], &all.of[i + 1])) {
				mark(&all.of[first], i + 1 - first);
				first = i + 1;
			}
	}
	free(all.of);
	return status;
}
