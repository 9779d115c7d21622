/* unknown_kin.c - see unknown_kin.h. */
#include "system/unknown_kin.h"

#include <stdlib.h>

#include "system/arena.h"
#include "system/process.h"

/* Comparing many with many is not worth more than that. */
enum { EFFORT_MAX = 1 << 24 };

void unknown_kin_free(struct unknown_kin *kin)
{
	free(kin->mapper);
	*kin = (struct unknown_kin){0};
}

static int has_unknown_parent(const struct process *process)
{
	return process->is_stranger && !process->is_forked;
}

static int note_mapper(struct unknown_kin *kin, size_t index)
{
	for (size_t i = 0; i < kin->count; ++i)
		if (kin->mapper[i] == index)
			return 0;
	if (array_reserve(&kin->mapper, &kin->capacity, kin->count, sizeof(*kin->mapper)) < 0)
		return -sbe_nomem;
	kin->mapper[kin->count++] = index;
	return 0;
}

/* What @other has there is known no more. */
static int doubt(struct process_table *table, const struct process *other, const struct space *space,
                 const struct sb_map *map)
{
	struct space *has = other->latest;

	table->unknown_kin.effort += 1;
	if (other->pid <= 0 || !has || has == space || has->public.to != UINT64_MAX ||
	    has->kin.memory == space->kin.memory)
		return 0;
	return kin_doubt(&table->pool, has, map);
}

int unknown_kin_mapped(struct process_table *table, const struct process *process, const struct space *space,
                       const struct sb_map *map)
{
	struct unknown_kin *kin = &table->unknown_kin;
	int status = 0;

	if (!map->time || process->pid <= 0 || !kin->knows_somebody || kin->effort > EFFORT_MAX)
		return 0;
	if (!has_unknown_parent(process)) {
		for (size_t i = 0; i < kin->count && status == 0; ++i)
			if (has_unknown_parent(&table->process[kin->mapper[i]]))
				status = doubt(table, &table->process[kin->mapper[i]], space, map);
		return status;
	}
	for (size_t i = 0; i < table->nprocesses && status == 0; ++i)
		status = doubt(table, &table->process[i], space, map);
	return status < 0 ? status : note_mapper(kin, (size_t)(process - table->process));
}
