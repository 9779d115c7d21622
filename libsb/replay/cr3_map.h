/* cr3_map.h - which process has which page tables (CR3), learned from the trace and the records together.
 *
 * Each process has page tables of its own, its threads share them, and PIP packets name them. Whose they are,
 * no record says. But what was executed under one CR3, on whatever CPU, was executed by one process: so what
 * is known of some of these stretches counts for all of them. Known is who has code at the addresses that
 * were executed, who ran where records of switches leave no doubt, and that a process has one CR3 until its
 * next exec. Page tables come to another process when theirs has ended: so all this is about spans of time.
 *
 * What contradicts itself is no evidence: then the map says that it does not know. It is made as a whole from
 * the whole recording when it is asked first, and so says the same wherever decoding began. Threads may share
 * it.
 */
#ifndef SB_CR3_MAP_H
#define SB_CR3_MAP_H

#include <pthread.h>

#include <sb/perfdata.h>
#include <sb/system.h>

#include "replay/address_index.h"
#include "system/key_table.h"

enum {
	CR3_PIDS_MAX = 8,
	CR3_USES_MAX = 1 << 20, /* more are not learned from */
};

struct cr3_vote {
	int32_t pid;
	uint32_t count;
};

/* A span of time in which all that ran under a CR3 can have been one process. */
struct cr3_use {
	uint64_t cr3; /* first: sorted by it; page, as in user space */
	uint64_t from, to;
	int32_t pid[CR3_PIDS_MAX]; /* who has code wherever it was executed ... */
	uint32_t npids;
	int is_anybody;                     /* ... or too many to tell */
	struct cr3_vote vote[CR3_PIDS_MAX]; /* who ran, as records say that leave no doubt */
	uint32_t nvotes;
	uint32_t other_votes; /* for still others */
	int32_t owner;        /* when learned: whose it is, or cr3_unknown, cr3_contradictory */
	int32_t claim;        /* while learning: whose it should be */
};

/* A use by its owner. */
struct cr3_owned {
	uint64_t owner; /* first: sorted by it */
	uint32_t use;   /* its index */
};

/* What cr3_map_find() gives besides processes. */
enum { cr3_unknown = -1, cr3_contradictory = -2 };

struct cr3_map {
	const struct sb_perfdata *perfdata; /* borrowed */
	const struct sb_system *system;     /* borrowed */
	struct address_index *addresses;    /* borrowed */
	uint64_t slack;                     /* ns, of the trace's times */
	pthread_mutex_t lock;               /* of making it */
	int made, status;
	struct cr3_use *use; /* owned; by CR3 and time */
	size_t count, capacity;
	struct cr3_owned *owned; /* owned; those that have an owner, by it */
	size_t nowned, owned_capacity;
	/* Told, while it is learned, of whom records leave no doubt that they had the page tables; may be
	 * NULL. */
	void (*seen)(void *context, int32_t pid, uint64_t cr3, uint64_t time);
	void *seen_context;
	int is_isolated; /* page-table isolation: kernel and user space have pages of their own */
};

/* Those that have one memory for sure are one process here: whoever had it first, as long as that has it. */
int32_t cr3_memory_of(const struct cr3_map *map, int32_t pid, uint64_t time);

void cr3_map_init(struct cr3_map *map, const struct sb_perfdata *perfdata, const struct sb_system *system,
                  struct address_index *addresses, uint64_t slack);
void cr3_map_fini(struct cr3_map *map);

/* The process that has the page tables @cr3 (a page, in the kernel or in user space) at @time, or one of the
 * above. *status: zero or -sbe_nomem. */
int32_t cr3_map_find(struct cr3_map *map, uint64_t cr3, uint64_t time, int *status);

/* Whether @pid has other page tables at @time than @cr3, as far as is known. */
int cr3_map_has_another(const struct cr3_map *map, int32_t pid, uint64_t cr3, uint64_t time);

/* cr3_learn.c: fills the map. Zero or -sbe_nomem. */
int cr3_learn(struct cr3_map *map);

/* Whether @pid owns a use of another CR3 than @use, in the same space. */
int cr3_owns_another(const struct cr3_map *map, int32_t pid, const struct cr3_use *use);

/* Whether both are of the same space of @pid: that has one CR3. */
int cr3_same_space(const struct cr3_map *map, const struct cr3_use *a, const struct cr3_use *b, int32_t pid);

#endif
