/* membership.h - which cgroup and which namespaces each thread is in, and so which container, while the model
 * is being built.
 *
 * A thread's cgroup is not known before a sample tells it. Until then it is a *mystery*, which a fork shares:
 * whoever is sampled first solves it for all who share it. When all records are there, mysteries become
 * cgroups, and cgroups and namespaces become containers.
 */
#ifndef SB_MEMBERSHIP_H
#define SB_MEMBERSHIP_H

#include <sb/system.h>

#include "system/arena.h"
#include "system/key_table.h"
#include "system/string_table.h"

#define MYSTERY (1u << 30)
#define BORN    (1u << 30)

/* What is known of a thread at present. Zeroes: nothing. */
struct member {
	uint32_t cgroup;     /* a cgroup's number plus one, or that of a mystery and MYSTERY */
	uint32_t namespaces; /* a set's number plus one */
};

/* A cgroup that is not known yet: what the first sample of the thread that had it first says; or else the
 * first sample of another one. */
struct mystery {
	uint64_t owner; /* pid and tid */
	uint32_t own, other;
};

struct member_change {
	uint64_t key; /* first: sorted by it; pid and tid */
	uint64_t time;
	uint32_t cgroup;
	uint32_t namespaces; /* and BORN: what came before was another thread */
};

/* The memberships of a thread, by time: neighbours. */
struct members_of {
	uint32_t first, count;
};

struct membership_table {
	struct string_table *names; /* borrowed */
	struct arena arena;
	struct key_table cgroup_ids;
	const char **cgroup_path; /* by number; NULL: not known */
	size_t cgroup_capacity;
	struct key_table sets; /* of namespaces: struct sb_namespaces */
	struct key_table seen; /* pairs: samples of threads in these namespaces were in that cgroup */
	struct mystery *mystery;
	size_t nmysteries, mystery_capacity;
	struct member_change *change;
	size_t nchanges, change_capacity;
	/* The namespaces of the machine. */
	enum init_source { init_unknown, init_anybody, init_first_pid, init_process_1 } init_source;
	uint32_t init_set;

	/* When sealed. */
	struct sb_membership *membership;
	size_t nmemberships;
	struct key_table keys;
	struct members_of *of; /* by number of the key */
	size_t of_capacity;
	const struct sb_container **container;
	size_t ncontainers, container_capacity;
};

void membership_init(struct membership_table *table, struct string_table *names, uint64_t seed);
void membership_free(struct membership_table *table);

/* Numbers for what records name. Negative: -sbe_nomem. */
int membership_cgroup(struct membership_table *table, uint64_t id, uint32_t *number);
int membership_cgroup_path(struct membership_table *table, uint64_t id, const char *path);
int membership_set(struct membership_table *table, const struct sb_namespaces *namespaces, uint32_t *number);

/* A thread, which @key names, is sampled in a cgroup, or enters namespaces. Zero or -sbe_nomem. */
int membership_sampled(struct membership_table *table, uint64_t time, uint64_t key, struct member *member,
                       uint32_t cgroup);
int membership_entered(struct membership_table *table, uint64_t time, uint64_t key, struct member *member,
                       uint32_t set);

/* A new thread. @parent: NULL when nothing is known of it. */
int membership_forked(struct membership_table *table, uint64_t time, uint64_t key, struct member *member,
                      uint64_t parent_key, struct member *parent);

/* There are no more records: membership_seal.c. */
int membership_seal(struct membership_table *table);

/* After sealing. */
const struct sb_membership *membership_find(const struct membership_table *table, uint64_t key,
                                            uint64_t time);

#endif
