/* membership.c - see membership.h: what records tell, one after the other, and what is asked in the end. What
 * is concluded in between is in membership_seal.c. */
#include "system/membership.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "bisect.h"

/* The inode of the first PID namespace on all Linux machines. */
static const uint64_t first_pid_namespace = 0xeffffffc;

void membership_init(struct membership_table *table, struct string_table *names, uint64_t seed)
{
	memset(table, 0, sizeof(*table));
	table->names = names;
	key_table_init(&table->cgroup_ids, sizeof(uint64_t), seed);
	key_table_init(&table->sets, sizeof(struct sb_namespaces), seed);
	key_table_init(&table->seen, sizeof(uint64_t), seed);
	key_table_init(&table->keys, sizeof(uint64_t), seed);
}

void membership_free(struct membership_table *table)
{
	key_table_free(&table->cgroup_ids);
	key_table_free(&table->sets);
	key_table_free(&table->seen);
	key_table_free(&table->keys);
	free(table->cgroup_path);
	free(table->mystery);
	free(table->change);
	free(table->membership);
	free(table->of);
	free(table->container);
	arena_free(&table->arena);
}

/* ---- Numbers ---------------------------------------------------------------------------------- */

int membership_cgroup(struct membership_table *table, uint64_t id, uint32_t *number)
{
	const int status = key_table_keep(&table->cgroup_ids, &id, number);

	if (status <= 0)
		return status;
	if (array_reserve(&table->cgroup_path, &table->cgroup_capacity, *number,
	                  sizeof(*table->cgroup_path)) < 0)
		return -sbe_nomem;
	table->cgroup_path[*number] = NULL;
	return 0;
}

int membership_cgroup_path(struct membership_table *table, uint64_t id, const char *path)
{
	const char *kept = string_table_keep(table->names, path);
	uint32_t number;

	if (!kept || membership_cgroup(table, id, &number) < 0)
		return -sbe_nomem;
	table->cgroup_path[number] = kept;
	return 0;
}

int membership_set(struct membership_table *table, const struct sb_namespaces *namespaces, uint32_t *number)
{
	const int status = key_table_keep(&table->sets, namespaces, number);

	return status < 0 ? status : 0;
}

/* ---- What happens to threads ------------------------------------------------------------------- */

static int add_change(struct membership_table *table, uint64_t time, uint64_t key,
                      const struct member *member, uint32_t born)
{
	if (array_reserve(&table->change, &table->change_capacity, table->nchanges, sizeof(*table->change)) <
	    0)
		return -sbe_nomem;
	table->change[table->nchanges++] = (struct member_change){
	        .key = key, .time = time, .cgroup = member->cgroup, .namespaces = member->namespaces | born};
	return 0;
}

/* The member's cgroup is at least a mystery. */
static int begin(struct membership_table *table, uint64_t key, struct member *member)
{
	if (member->cgroup)
		return 0;
	if (table->nmysteries >= MYSTERY || array_reserve(&table->mystery, &table->mystery_capacity,
	                                                  table->nmysteries, sizeof(*table->mystery)) < 0)
		return -sbe_nomem;
	member->cgroup = MYSTERY | (uint32_t)table->nmysteries;
	table->mystery[table->nmysteries++] = (struct mystery){.owner = key};
	return 0;
}

static void solve(struct mystery *mystery, uint64_t key, uint32_t cgroup)
{
	uint32_t *solution = mystery->owner == key ? &mystery->own : &mystery->other;

	if (!*solution)
		*solution = cgroup;
}

/* That somebody in these namespaces was seen in that cgroup. */
static int note_seen(struct membership_table *table, const struct member *member)
{
	const uint64_t pair = (uint64_t)member->namespaces << 32 | member->cgroup;
	uint32_t number;

	if (!member->namespaces || !member->cgroup || member->cgroup & MYSTERY)
		return 0;
	return key_table_keep(&table->seen, &pair, &number) < 0 ? -sbe_nomem : 0;
}

int membership_sampled(struct membership_table *table, uint64_t time, uint64_t key, struct member *member,
                       uint32_t cgroup)
{
	if (member->cgroup == cgroup + 1)
		return note_seen(table, member);
	if (begin(table, key, member) < 0)
		return -sbe_nomem;
	if (member->cgroup & MYSTERY)
		solve(&table->mystery[member->cgroup & ~MYSTERY], key, cgroup + 1);
	member->cgroup = cgroup + 1;
	return note_seen(table, member) < 0 ? -sbe_nomem : add_change(table, time, key, member, 0);
}

/* Which namespaces are those of the machine is best known from process 1. */
static void note_init(struct membership_table *table, uint64_t key, uint32_t set)
{
	const struct sb_namespaces *namespaces = key_table_key(&table->sets, set);
	const enum init_source source = key == (1ull << 32 | 1) ? init_process_1
	                                : namespaces->of[PID_NS_INDEX].ino == first_pid_namespace
	                                        ? init_first_pid
	                                        : init_anybody;

	if (source <= table->init_source)
		return;
	table->init_source = source;
	table->init_set = set;
}

int membership_entered(struct membership_table *table, uint64_t time, uint64_t key, struct member *member,
                       uint32_t set)
{
	note_init(table, key, set);
	if (member->namespaces == set + 1)
		return 0;
	if (begin(table, key, member) < 0)
		return -sbe_nomem;
	member->namespaces = set + 1;
	return add_change(table, time, key, member, 0);
}

int membership_forked(struct membership_table *table, uint64_t time, uint64_t key, struct member *member,
                      uint64_t parent_key, struct member *parent)
{
	const int is_news = parent && !parent->cgroup;

	if (parent && begin(table, parent_key, parent) < 0)
		return -sbe_nomem;
	if (is_news && add_change(table, time, parent_key, parent, 0) < 0)
		return -sbe_nomem;
	*member = parent ? *parent : (struct member){0};
	return begin(table, key, member) < 0 ? -sbe_nomem : add_change(table, time, key, member, BORN);
}

/* ---- Asking ----------------------------------------------------------------------------------- */

const struct sb_membership *membership_find(const struct membership_table *table, uint64_t key, uint64_t time)
{
	const struct sb_membership *of;
	struct bisect at = {0};
	uint32_t number;

	if (!key_table_find(&table->keys, &key, &number))
		return NULL;
	of = table->membership + table->of[number].first;
	at.high = table->of[number].count;
	while (bisect_more(&at))
		bisect_go(&at, of[at.middle].from <= time);
	/* The first one begins at 0. */
	return &of[at.low - 1];
}
