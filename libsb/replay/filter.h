/* filter.h - whom the caller wants to hear of: processes by number, by name, by cgroup and by container.
 *
 * A filter is shared by all walkers of a session and does not change. What it says of names is asked anew for
 * each, so each walker remembers it (filter_memory).
 */
#ifndef SB_FILTER_H
#define SB_FILTER_H

#include <sb/replay.h>
#include <sb/system.h>

#include "system/key_table.h"

struct replay_filter {
	const struct sb_replay_options *options; /* borrowed */
	const struct sb_system *system;          /* borrowed */
	const struct sb_membership *memberships; /* the system's */
	uint8_t *membership; /* by index: whether those who are in it are wanted; owned; NULL: all are */
	int by_name;
};

/* Zero or -sbe_nomem. */
int filter_init(struct replay_filter *filter, const struct sb_replay_options *options,
                const struct sb_system *system);
void filter_fini(struct replay_filter *filter);

/* What was found out about names: equal names are one pointer. */
struct filter_memory {
	struct key_table names;
	uint8_t *verdict; /* by number; owned */
	size_t capacity;
};

void filter_memory_init(struct filter_memory *memory);
void filter_memory_fini(struct filter_memory *memory);

/* A thread at a moment. */
struct filter_subject {
	int32_t pid, tid;
	const struct sb_membership *membership; /* NULL: not known */
	const char *comm;                       /* of the system; only looked at by_name */
};

int filter_wants(const struct replay_filter *filter, struct filter_memory *memory,
                 const struct filter_subject *subject);

#endif
