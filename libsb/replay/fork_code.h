/* fork_code.h - whether fork(2) and its kin may return to a place in code, and what they make of memory.
 */
#ifndef SB_FORK_CODE_H
#define SB_FORK_CODE_H

#include <sb/binary.h>
#include <sb/system.h>

enum fork_call {
	fork_call_none,   /* no process is made there */
	fork_call_copies, /* the child gets a copy of its parent's memory */
	fork_call_shares, /* the memory itself */
	fork_call_any     /* nobody knows which, if a process is made there at all */
};

/* All that have been looked up. */
struct fork_code {
	struct sb_resolver *resolver; /* borrowed, and the next */
	const struct sb_system *system;
	struct fork_answer *answer; /* owned */
	size_t count, capacity;
};

void fork_code_fini(struct fork_code *code);

/* At @ip, where @map is. What is mapped at a place of a file is the same wherever the file is. A number of
 * the above, or -sbe_nomem. */
int fork_code_look_up(struct fork_code *code, const struct sb_map *map, uint64_t ip);

/* The same, without a memory. */
enum fork_call fork_code_read(struct sb_resolver *resolver, const struct sb_system *system,
                              const struct sb_map *map, uint64_t ip);

/* What @pid has at @ip at @time, or NULL. */
const struct sb_map *fork_code_map(const struct sb_system *system, int32_t pid, uint64_t ip, uint64_t time);

#endif
