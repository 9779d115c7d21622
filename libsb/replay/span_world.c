/* span_world.c - see span_world.h. */
#include "replay/span_world.h"

#include <stdlib.h>

#include <sb/error.h>

#include "system/arena.h"
#include "system/system.h"

/* An epoch's address is what it is found by: forks share ids, but not what else an epoch has. */
static int number_epochs(struct span_world *world, const struct sb_system *system)
{
	size_t count = 0;

	for (size_t i = 0; i < system_nspaces(system); ++i)
		world->nepochs += system_space_at(system, i)->nepochs;
	world->epoch = calloc(world->nepochs + 1, sizeof(*world->epoch));
	world->number = calloc(world->nepochs + 1, sizeof(*world->number));
	if (!world->epoch || !world->number || world->nepochs > UINT32_MAX - 1)
		return -sbe_nomem;
	for (size_t i = 0; i < system_nspaces(system); ++i) {
		const struct sb_space *space = system_space_at(system, i);

		for (size_t k = 0; k < space->nepochs; ++k, ++count) {
			world->epoch[count] = &space->epoch[k];
			world->number[count] =
			        (struct epoch_number){(uintptr_t)&space->epoch[k], (uint32_t)count + 1};
		}
	}
	return array_sort(world->number, world->nepochs, sizeof(*world->number));
}

int span_world_init(struct span_world *world, const struct sb_system *system)
{
	int status;

	*world = (struct span_world){0};
	world->membership = sb_system_memberships(system, &world->nmemberships);
	world->container = sb_system_containers(system, &world->ncontainers);
	status = number_epochs(world, system);
	if (status < 0)
		span_world_fini(world);
	return status;
}

void span_world_fini(struct span_world *world)
{
	free(world->epoch);
	free(world->number);
	*world = (struct span_world){0};
}

uint32_t span_world_epoch(const struct span_world *world, const struct sb_epoch *epoch)
{
	const uint64_t address = (uintptr_t)epoch;
	size_t at;

	if (!epoch)
		return 0;
	at = array_above(world->number, world->nepochs, sizeof(*world->number), address - 1);
	return at < world->nepochs && world->number[at].address == address ? world->number[at].number : 0;
}
