/* kin.h - processes that may have one memory, and what one of them maps.
 *
 * A record of a fork does not say whether the child got a copy of its parent's memory or the memory itself
 * (clone(2) with CLONE_VM; vfork(2)). Until one of them calls execve(2) or ends, what one maps may be the
 * other's, too. What each of them has of its own only matters where that is something else: there, nobody
 * knows what is mapped, unless the trace has shown how the child was made.
 *
 * Of processes that were there before the recording, no record of a fork is left. Those that have one memory
 * have all mapped at the same addresses: so parents and children, or children of one parent, of whom that is
 * true are kin.
 *
 * So kin have a common memory, in which all that any of them maps is entered: only where something else was
 * in it before, one of them may have that still.
 */
#ifndef SB_KIN_H
#define SB_KIN_H

#include "system/address_space.h"

/* What the trace says of a fork. */
enum fork_memory { fork_unknown, fork_copies, fork_shares };

struct fork_fact {
	uint64_t time; /* of the record; first: sorted by it */
	int32_t pid;   /* of the child */
	int32_t ppid;  /* whose memory it may have */
	enum fork_memory memory;
};

struct fork_facts {
	const struct fork_fact *of;
	size_t count;
};

/* Of whom a record told, after the recording began. */
struct told_fork {
	uint64_t time;
	int32_t pid, tid, ppid;
	uint32_t kin; /* zero: of a thread, or its memory is known to be a copy */
};

struct kin;
struct old_fork;

struct kinship {
	const struct fork_facts *facts; /* borrowed; NULL: nobody is kin */
	struct kin *kin;
	size_t nkin, kin_capacity;
	struct told_fork *fork; /* in the order of times */
	size_t nforks, fork_capacity;
	struct old_fork *old; /* before the recording; sorted when it began */
	size_t nold, old_capacity;
	int has_begun;
	uint64_t effort;
};

void kinship_free(struct kinship *kinship);

/* A record tells of a thread @tid of @pid; @child: the process' space, if that is new, and @parent its
 * parent's, if that is known; else NULL. Zero or -sbe_nomem. */
int kinship_forked(struct kinship *kinship, const struct told_fork *fork, struct space *child,
                   struct space *parent);
/* It ended, or there is another one in its place; it need not be kin of anybody. */
void kinship_left(struct kinship *kinship, struct space *space);
/* @space is about to get the mapping or code @map. Zero or -sbe_nomem. */
int kinship_mapped(struct kinship *kinship, struct space_pool *pool, struct space *space,
                   const struct sb_map *map);

/* From now on, nobody knows what @space has in the place of @map, where that is something else. Zero or
 * -sbe_nomem. */
int kin_doubt(struct space_pool *pool, struct space *space, const struct sb_map *map);

/* The forks of which it would matter how the child was made, sorted by time; owned by the caller. @mapped:
 * also those behind which somebody only mapped something that the other may run, too. Zero or -sbe_nomem. */
int kinship_doubts(const struct kinship *kinship, int mapped, struct fork_fact **doubt, size_t *count);

/* Whether two spaces have one memory, or may have it: no more is known of the fork between them. */
enum fork_memory kin_memory(const struct sb_space *a, const struct sb_space *b);
/* Whose memory it was first that @space has. */
int32_t kin_founder(const struct sb_space *space);
/* Whether others have the same memory for sure, or had. */
int kin_is_shared(const struct sb_space *space);

#endif
