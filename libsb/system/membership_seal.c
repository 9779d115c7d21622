/* membership_seal.c - when all records are there: from cgroups and namespaces to containers.
 *
 * Containers are made when the first thread turns out to be in one, so that all that there are had somebody
 * in them.
 */
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "system/membership.h"

enum { CONTAINERS_IN_EACH_OTHER = 16 }; /* more are no longer looked at */

struct namespace_id {
	uint64_t dev, ino;
};

/* A mount namespace, and the container that all who were sampled in it were in: NULL is one, too. */
struct mount {
	const struct sb_container *container;
	int disputed;
};

struct finder {
	struct membership_table *table;
	const struct sb_namespaces *init; /* of the machine; NULL: not known */
	struct key_table paths;           /* of containers' own cgroups, as pointers to kept strings */
	const struct sb_container **of_path;
	size_t of_path_capacity;
	struct key_table pids; /* struct namespace_id */
	const struct sb_container **of_pid;
	size_t of_pid_capacity;
	struct key_table mounts; /* struct namespace_id */
	struct mount *mount;
	size_t mount_capacity;
	struct {
		int known;
		const struct sb_container *container;
	} * of_cgroup; /* by number */
};

static int finder_init(struct finder *finder, struct membership_table *table)
{
	const uint64_t seed = table->sets.seed;

	*finder = (struct finder){.table = table};
	if (table->init_source != init_unknown)
		finder->init = key_table_key(&table->sets, table->init_set);
	key_table_init(&finder->paths, sizeof(const char *), seed);
	key_table_init(&finder->pids, sizeof(struct namespace_id), seed);
	key_table_init(&finder->mounts, sizeof(struct namespace_id), seed);
	finder->of_cgroup =
	        calloc(table->cgroup_ids.count ? table->cgroup_ids.count : 1, sizeof(*finder->of_cgroup));
	return finder->of_cgroup ? 0 : -sbe_nomem;
}

static void finder_fini(struct finder *finder)
{
	key_table_free(&finder->paths);
	key_table_free(&finder->pids);
	key_table_free(&finder->mounts);
	free(finder->of_path);
	free(finder->of_pid);
	free(finder->mount);
	free(finder->of_cgroup);
}

/* ---- Containers ------------------------------------------------------------------------------- */

/* A new container, which gets the next index; NULL: out of memory. */
static struct sb_container *new_container(struct membership_table *table, enum sb_container_kind kind,
                                          const char *id)
{
	struct sb_container *container = arena_alloc(&table->arena, sizeof(*container));
	const char *kept = string_table_keep(table->names, id);

	if (!container || !kept ||
	    array_reserve(&table->container, &table->container_capacity, table->ncontainers,
	                  sizeof(*table->container)) < 0)
		return NULL;
	*container = (struct sb_container){
	        .index = (uint32_t)table->ncontainers, .kind = kind, .id = kept, .pod = "", .cgroup = ""};
	table->container[table->ncontainers++] = container;
	return container;
}

/* The container that @part of a path tells of. */
static int path_container(struct finder *finder, const struct sb_container_path *part, const char *cgroup,
                          const struct sb_container *outer, const struct sb_container **found)
{
	struct membership_table *table = finder->table;
	struct sb_container *container;
	uint32_t number;
	int status = key_table_keep(&finder->paths, &cgroup, &number);

	if (status == 0)
		*found = finder->of_path[number];
	if (status <= 0)
		return status;
	container = new_container(table, part->kind, part->id);
	if (!container ||
	    array_reserve(&finder->of_path, &finder->of_path_capacity, number, sizeof(*finder->of_path)) < 0)
		return -sbe_nomem;
	container->pod = string_table_keep(table->names, part->pod);
	container->pod_class = part->pod_class;
	container->cgroup = cgroup;
	container->outer = outer;
	finder->of_path[number] = container;
	*found = container;
	return container->pod ? 0 : -sbe_nomem;
}

/* The innermost container of @path. */
static int find_in_path(struct finder *finder, const char *path, const struct sb_container **found)
{
	char *prefix = strdup(path);
	struct sb_container_path part;
	int status = prefix ? 0 : -sbe_nomem;
	size_t at = 0;

	for (int i = 0; i < CONTAINERS_IN_EACH_OTHER && status == 0 && sb_container_path(path, at, &part);
	     ++i) {
		const char *cgroup;

		at = part.end;
		prefix[at] = '\0';
		cgroup = string_table_keep(finder->table->names, prefix);
		prefix[at] = path[at];
		status = cgroup ? path_container(finder, &part, cgroup, *found, found) : -sbe_nomem;
	}
	free(prefix);
	return status;
}

/* Of the cgroup with this number plus one. */
static int find_of_cgroup(struct finder *finder, uint32_t cgroup, const struct sb_container **found)
{
	const char *path = cgroup ? finder->table->cgroup_path[cgroup - 1] : NULL;
	int status = 0;

	*found = NULL;
	if (!path)
		return 0;
	if (!finder->of_cgroup[cgroup - 1].known) {
		status = find_in_path(finder, path, &finder->of_cgroup[cgroup - 1].container);
		finder->of_cgroup[cgroup - 1].known = 1;
	}
	*found = finder->of_cgroup[cgroup - 1].container;
	return status;
}

static struct namespace_id namespace_of(const struct sb_namespaces *namespaces, int kind)
{
	return (struct namespace_id){namespaces->of[kind].dev, namespaces->of[kind].ino};
}

/* Whether a namespace is known, and not the machine's. */
static int is_own(const struct finder *finder, const struct sb_namespaces *namespaces, int kind)
{
	const struct namespace_id id = namespace_of(namespaces, kind);
	struct namespace_id init;

	if (!finder->init || !id.ino)
		return 0;
	init = namespace_of(finder->init, kind);
	return init.ino && (id.ino != init.ino || id.dev != init.dev);
}

static int find_of_namespaces(struct finder *finder, const struct sb_namespaces *namespaces,
                              const struct sb_container **found)
{
	const struct namespace_id id = namespace_of(namespaces, PID_NS_INDEX);
	uint32_t number;
	char inode[24];
	int status = key_table_keep(&finder->pids, &id, &number);

	if (status > 0) {
		if (array_reserve(&finder->of_pid, &finder->of_pid_capacity, number,
		                  sizeof(*finder->of_pid)) < 0)
			return -sbe_nomem;
		snprintf(inode, sizeof(inode), "%" PRIu64, id.ino);
		finder->of_pid[number] = new_container(finder->table, sb_container_namespace, inode);
		if (!finder->of_pid[number])
			return -sbe_nomem;
	}
	*found = status < 0 ? NULL : finder->of_pid[number];
	return status < 0 ? status : 0;
}

/* ---- What samples say of mount namespaces ------------------------------------------------------- */

static int judge_mount(struct finder *finder, uint32_t set, uint32_t cgroup)
{
	const struct sb_namespaces *namespaces = key_table_key(&finder->table->sets, set - 1);
	const struct namespace_id id = namespace_of(namespaces, MNT_NS_INDEX);
	const struct sb_container *container;
	uint32_t number;
	int status;

	if (!is_own(finder, namespaces, MNT_NS_INDEX) || !finder->table->cgroup_path[cgroup - 1])
		return 0;
	status = find_of_cgroup(finder, cgroup, &container);
	if (status == 0)
		status = key_table_keep(&finder->mounts, &id, &number);
	if (status < 0)
		return status;
	if (status == 0) {
		finder->mount[number].disputed |= finder->mount[number].container != container;
		return 0;
	}
	if (array_reserve(&finder->mount, &finder->mount_capacity, number, sizeof(*finder->mount)) < 0)
		return -sbe_nomem;
	finder->mount[number] = (struct mount){container, 0};
	return 0;
}

static int judge_mounts(struct finder *finder)
{
	int status = 0;

	for (uint32_t i = 0; i < finder->table->seen.count && status == 0; ++i) {
		uint64_t pair;

		memcpy(&pair, key_table_key(&finder->table->seen, i), sizeof(pair));
		status = judge_mount(finder, (uint32_t)(pair >> 32), (uint32_t)pair);
	}
	return status;
}

/* The container that a mount namespace belongs to, or NULL. */
static const struct sb_container *find_of_mount(const struct finder *finder,
                                                const struct sb_namespaces *namespaces)
{
	const struct namespace_id id = namespace_of(namespaces, MNT_NS_INDEX);
	uint32_t number;

	if (!is_own(finder, namespaces, MNT_NS_INDEX) || !key_table_find(&finder->mounts, &id, &number) ||
	    finder->mount[number].disputed)
		return NULL;
	return finder->mount[number].container;
}

/* ---- Memberships ------------------------------------------------------------------------------ */

static uint32_t solved(const struct membership_table *table, uint32_t cgroup)
{
	const struct mystery *mystery;

	if (!(cgroup & MYSTERY))
		return cgroup;
	mystery = &table->mystery[cgroup & ~MYSTERY];
	return mystery->own ? mystery->own : mystery->other;
}

static int conclude(struct finder *finder, const struct member_change *change,
                    struct sb_membership *membership)
{
	const struct membership_table *table = finder->table;
	const uint32_t cgroup = solved(table, change->cgroup), set = change->namespaces & ~BORN;
	const struct sb_namespaces *namespaces = set ? key_table_key(&table->sets, set - 1) : NULL;
	int status;

	membership->cgroup = cgroup ? table->cgroup_path[cgroup - 1] : NULL;
	membership->namespaces = namespaces;
	status = find_of_cgroup(finder, cgroup, &membership->container);
	if (membership->container || !namespaces || status < 0)
		return status;
	membership->container = find_of_mount(finder, namespaces);
	if (membership->container || !is_own(finder, namespaces, PID_NS_INDEX) ||
	    !is_own(finder, namespaces, MNT_NS_INDEX))
		return 0;
	return find_of_namespaces(finder, namespaces, &membership->container);
}

static int is_same(const struct sb_membership *a, const struct sb_membership *b)
{
	return a->cgroup == b->cgroup && a->namespaces == b->namespaces && a->container == b->container;
}

/* Before a thread's first NAMESPACES record, it was where it is then. */
static void extend_back(struct member_change *change, size_t count)
{
	uint32_t later = 0;

	for (size_t i = count; i-- > 0;) {
		const uint32_t born = change[i].namespaces & BORN, set = change[i].namespaces & ~BORN;

		if (!set)
			change[i].namespaces = later | born;
		later = born ? 0 : change[i].namespaces & ~BORN;
	}
}

/* The memberships of one thread, out of its changes. There is room for as many. */
static int list_members(struct finder *finder, struct member_change *change, size_t count)
{
	struct membership_table *table = finder->table;
	struct sb_membership *first = table->membership + table->nmemberships, *end = first;
	uint32_t number;

	if (key_table_keep(&table->keys, &change->key, &number) < 0 ||
	    array_reserve(&table->of, &table->of_capacity, number, sizeof(*table->of)) < 0)
		return -sbe_nomem;
	extend_back(change, count);
	for (size_t i = 0; i < count; ++i) {
		struct sb_membership next = {.from = i ? change[i].time : 0, .to = UINT64_MAX};

		if (conclude(finder, &change[i], &next) < 0)
			return -sbe_nomem;
		if (end > first && next.from == end[-1].from)
			end -= 1;
		if (end > first && is_same(&next, end - 1)) {
			end[-1].to = UINT64_MAX;
			continue;
		}
		if (end > first)
			end[-1].to = next.from;
		*end++ = next;
	}
	table->of[number] = (struct members_of){(uint32_t)table->nmemberships, (uint32_t)(end - first)};
	table->nmemberships += (size_t)(end - first);
	return 0;
}

static int list_all(struct finder *finder)
{
	struct membership_table *table = finder->table;

	for (size_t i = 0, end; i < table->nchanges; i = end) {
		for (end = i + 1; end < table->nchanges && table->change[end].key == table->change[i].key;)
			end += 1;
		if (list_members(finder, table->change + i, end - i) < 0)
			return -sbe_nomem;
	}
	return 0;
}

int membership_seal(struct membership_table *table)
{
	const int is_known = table->cgroup_ids.count || table->sets.count;
	struct finder finder;
	int status;

	if (is_known && table->nchanges) {
		table->membership = calloc(table->nchanges, sizeof(*table->membership));
		status = finder_init(&finder, table);
		if (!table->membership || table->nchanges > UINT32_MAX)
			status = -sbe_nomem;
		if (status == 0)
			status = array_sort(table->change, table->nchanges, sizeof(*table->change));
		if (status == 0)
			status = judge_mounts(&finder);
		if (status == 0)
			status = list_all(&finder);
		finder_fini(&finder);
		if (status < 0)
			return status;
	}
	free(table->change);
	free(table->mystery);
	table->change = NULL;
	table->mystery = NULL;
	return 0;
}
