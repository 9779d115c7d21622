/* code_window.c - see code_window.h. */
#include "replay/code_window.h"

#include "system/address_space.h"
#include "system/system.h"

/* Along the epochs of the process, whatever it executes meanwhile. */
struct walk {
	const struct code_window *window;
	const struct sb_space *space;
	size_t at; /* the next epoch */
};

static struct walk begin(const struct code_window *window)
{
	const struct sb_space *space = sb_system_space(window->system, window->pid, window->from);
	const struct sb_epoch *epoch = space ? sb_space_epoch(space, window->from) : NULL;

	return (struct walk){window, space, epoch ? (size_t)(epoch - space->epoch) : 0};
}

static const struct sb_epoch *next(struct walk *walk)
{
	const struct code_window *window = walk->window;

	while (walk->space) {
		const struct sb_space *space = walk->space;

		if (walk->at < space->nepochs && space->epoch[walk->at].from <= window->to)
			return &space->epoch[walk->at++];
		if (space->to > window->to)
			return NULL;
		walk->space = sb_system_space(window->system, window->pid, space->to);
		walk->at = 0;
		if (walk->space == space)
			return NULL;
	}
	return NULL;
}

struct code_window_ends code_window_ends(const struct code_window *window)
{
	struct walk walk = begin(window);
	struct code_window_ends ends = {0};

	for (const struct sb_epoch *epoch = next(&walk); epoch; epoch = next(&walk)) {
		if (!ends.first)
			ends.first = epoch;
		ends.last = epoch;
	}
	return ends;
}

int code_window_begins_early(const struct code_window *window)
{
	const struct walk walk = begin(window);

	return !walk.space || !space_is_strange(walk.space) || !walk.space->nepochs ||
	       walk.space->epoch[0].from <= window->from;
}

int code_window_find(const struct code_window *window, uint64_t ip, const struct sb_map **map)
{
	struct walk walk = begin(window);
	const struct sb_epoch *epoch;

	*map = NULL;
	while (!*map && (epoch = next(&walk)))
		*map = sb_epoch_code(epoch, ip);
	if (!*map)
		return 0;
	if (!code_window_begins_early(window))
		return -1;
	walk = begin(window);
	while ((epoch = next(&walk)))
		if (!epoch_has_only(epoch, *map) ||
		    (space_is_strange(walk.space) && !sb_epoch_code(epoch, ip)))
			return -1;
	return 1;
}
