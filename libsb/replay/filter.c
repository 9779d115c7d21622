/* filter.c - see filter.h. */
#include "replay/filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "system/arena.h"

static int matches_one(const char *const *glob, size_t count, const char *text)
{
	for (size_t i = 0; i < count; ++i)
		if (!fnmatch(glob[i], text, 0))
			return 1;
	return 0;
}

/* ---- By cgroup and container ------------------------------------------------------------------- */

static int container_is_wanted(const struct sb_replay_options *options, const struct sb_container *container)
{
	for (size_t i = 0; i < options->ncontainers; ++i)
		if (sb_container_matches(container, options->container[i]))
			return 1;
	return 0;
}

static int is_wanted_there(const struct sb_replay_options *options, const struct sb_membership *membership)
{
	if (options->ncontainers &&
	    (!membership->container || !container_is_wanted(options, membership->container)))
		return 0;
	return !options->ncgroups ||
	       (membership->cgroup && matches_one(options->cgroup, options->ncgroups, membership->cgroup));
}

/* A verdict on all memberships: of each cgroup and container together one. */
static int judge_memberships(struct replay_filter *filter, size_t count)
{
	struct key_table places;
	uint8_t *verdict = NULL;
	size_t capacity = 0;
	int status = 0;

	key_table_init(&places, 2 * sizeof(void *), (uintptr_t)&places);
	for (size_t i = 0; i < count && status >= 0; ++i) {
		const struct sb_membership *at = &filter->memberships[i];
		const void *const place[2] = {at->cgroup, at->container};
		uint32_t number;

		status = key_table_keep(&places, place, &number);
		if (status > 0)
			status = array_reserve(&verdict, &capacity, number, sizeof(*verdict));
		if (status < 0)
			break;
		if (number + 1 == places.count)
			verdict[number] = (uint8_t)is_wanted_there(filter->options, at);
		filter->membership[i] = verdict[number];
	}
	key_table_free(&places);
	free(verdict);
	return status < 0 ? status : 0;
}

int filter_init(struct replay_filter *filter, const struct sb_replay_options *options,
                const struct sb_system *system)
{
	size_t count;

	*filter = (struct replay_filter){.options = options, .system = system};
	filter->by_name = options->ncomms != 0;
	if (!options->ncontainers && !options->ncgroups)
		return 0;
	filter->memberships = sb_system_memberships(system, &count);
	filter->membership = calloc(count ? count : 1, sizeof(*filter->membership));
	return filter->membership ? judge_memberships(filter, count) : -sbe_nomem;
}

void filter_fini(struct replay_filter *filter)
{
	free(filter->membership);
	filter->membership = NULL;
}

/* ---- By name ---------------------------------------------------------------------------------- */

void filter_memory_init(struct filter_memory *memory)
{
	*memory = (struct filter_memory){0};
	key_table_init(&memory->names, sizeof(const char *), (uintptr_t)memory);
}

void filter_memory_fini(struct filter_memory *memory)
{
	key_table_free(&memory->names);
	free(memory->verdict);
	memory->verdict = NULL;
	memory->capacity = 0;
}

static int name_is_wanted(const struct replay_filter *filter, struct filter_memory *memory, const char *name)
{
	const struct sb_replay_options *options = filter->options;
	uint32_t number;
	int verdict;

	if (key_table_find(&memory->names, &name, &number))
		return memory->verdict[number];
	verdict = matches_one(options->comm, options->ncomms, name);
	/* What cannot be remembered is asked again. */
	if (array_reserve(&memory->verdict, &memory->capacity, memory->names.count, 1) == 0 &&
	    key_table_keep(&memory->names, &name, &number) > 0)
		memory->verdict[number] = (uint8_t)verdict;
	return verdict;
}

/* ---- All together ----------------------------------------------------------------------------- */

static int pid_is_wanted(const struct sb_replay_options *options, int32_t pid)
{
	for (size_t i = 0; i < options->npids; ++i)
		if (options->pid[i] == pid)
			return 1;
	return !options->npids;
}

int filter_wants(const struct replay_filter *filter, struct filter_memory *memory,
                 const struct filter_subject *subject)
{
	if (!pid_is_wanted(filter->options, subject->pid))
		return 0;
	if (filter->membership &&
	    (!subject->membership || !filter->membership[subject->membership - filter->memberships]))
		return 0;
	return filter->by_name ? name_is_wanted(filter, memory, subject->comm) : 1;
}
