/* address_index.h - which processes have code at an address.
 *
 * Where records of switches are missing, addresses tell who runs: as a rule, each process has its code
 * somewhere else. The index is made when it is asked first; threads may share it.
 */
#ifndef SB_ADDRESS_INDEX_H
#define SB_ADDRESS_INDEX_H

#include <pthread.h>

#include <sb/system.h>

#include "replay/box_tree.h"
#include "replay/fork_scan.h"
#include "replay/strangers.h"

struct address_index {
	const struct sb_system *system; /* borrowed */
	pthread_mutex_t lock;           /* of making it */
	int made, status;
	struct box_tree code;   /* where, and while it was there, a family of spaces has code */
	struct box_tree spaces; /* of each family, by its number: those that there are at a time */
	struct strangers strangers;

	/* Of fork_scan(), when it is asked for; borrowed, and may be NULL. */
	const struct sb_perfdata *perfdata;
	struct sb_resolver *resolver;
	uint64_t slack;
	pthread_mutex_t unseen_lock;
	int unseen_made, unseen_status;
	struct fork_sites forks;
};

void address_index_init(struct address_index *index, const struct sb_system *system);
void address_index_fini(struct address_index *index);

/* The processes that live at @time, give or take @slack (perf clock, ns), and have code at all of @nips
 * addresses: up to @max of their numbers, in no order, each once. Returns how many, at most @max, or
 * -sbe_nomem. */
int address_index_find(struct address_index *index, const uint64_t *ip, size_t nips, uint64_t time,
                       uint64_t slack, int32_t *pid, size_t max);

/* A time that is not known exactly: perf clock, ns, both included. */
struct index_span {
	uint64_t from, to;
};

/* The same of those who live at some time from when->from to when->to, both included, and have the code at
 * either of them, or as close to it as they live. */
int address_index_find_within(struct address_index *index, const uint64_t *ip, size_t nips,
                              const struct index_span *when, uint64_t slack, int32_t *pid, size_t max);

/* Those of whom nobody knows where they have code; NULL: no memory. */
const struct strangers *address_index_strangers(struct address_index *index);

/* The number of somebody whom no record names at all: see fork_scan.h. */
enum { STRANGER_UNSEEN = INT32_MAX };

/* As strangers_add(); STRANGER_UNSEEN may be among them, if it may have code at all of @nips addresses. How
 * many there are then, or -sbe_nomem. */
int address_index_add_strangers(struct address_index *index, const uint64_t *ip, size_t nips, uint64_t time,
                                uint64_t slack, int32_t *pid, int count, int max);

/* The space of @pid at @time. NULL: it has none; or it had come to its end @slack ago, so that whoever has
 * its number by then is somebody else, of whose beginning no record tells. */
const struct sb_space *space_living(const struct sb_system *system, int32_t pid, uint64_t time,
                                    uint64_t slack);

/* Whether @space, which may be NULL, has code at all of @nips addresses at @time. */
int space_has_code(const struct sb_space *space, const uint64_t *ip, size_t nips, uint64_t time);

#endif
