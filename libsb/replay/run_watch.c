/* run_watch.c - see run_watch.h. */
#include "replay/run_watch.h"

#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

enum { not_looked_at, has_it, lacks_it };

int run_watch_init(struct run_watch *watch, uint64_t ip)
{
	*watch = (struct run_watch){.ip = ip};
	if (!ip)
		return 0;
	watch->known = calloc(ptr_max_paths, 1);
	return watch->known ? 0 : -sbe_nomem;
}

void run_watch_fini(struct run_watch *watch)
{
	free(watch->known);
	*watch = (struct run_watch){0};
}

void run_watch_forget(struct run_watch *watch)
{
	if (watch->known)
		memset(watch->known, not_looked_at, ptr_max_paths);
}

static uint32_t find_block(const struct pt_run_path *path, uint64_t ip, uint32_t from)
{
	while (from < path->nblocks && path->block[from].ip != ip)
		from += 1;
	return from;
}

static int lacks(struct run_watch *watch, const struct pt_run_path *path)
{
	uint8_t *known;

	if (path->id == ptr_no_id)
		return 0;
	known = &watch->known[path->id];
	if (*known == not_looked_at)
		*known = find_block(path, watch->ip, 0) < path->nblocks ? has_it : lacks_it;
	return *known == lacks_it;
}

int run_watch_find(struct run_watch *watch, const struct pt_run *run, struct run_place *place)
{
	if (!watch->ip)
		return 0;
	for (; place->path < run->npaths; place->path += 1, place->block = 0) {
		const struct pt_run_path *path = run->path[place->path];

		if (lacks(watch, path))
			continue;
		place->block = find_block(path, watch->ip, place->block);
		if (place->block < path->nblocks)
			return 1;
	}
	return 0;
}

struct pt_run_path run_path_part(const struct pt_run_path *path, uint32_t from, uint32_t to)
{
	struct pt_run_path part = {.block = path->block + from, .nblocks = to - from, .id = ptr_no_id};

	for (uint32_t i = from; i < to; ++i)
		part.ninsn += path->block[i].ninsn;
	return part;
}

struct pt_run run_of_paths(const struct pt_run *run, const struct pt_run_path *const *path, uint32_t npaths)
{
	struct pt_run part = {.path = path, .npaths = npaths, .tsc = run->tsc, .has_tsc = run->has_tsc};

	for (uint32_t i = 0; i < npaths; ++i) {
		part.nblocks += path[i]->nblocks;
		part.ninsn += path[i]->ninsn;
	}
	return part;
}
