/* strangers.h - processes and threads whose beginning no record tells of.
 *
 * Where a FORK is lost, a process comes to sight all the same: by a switch, a name, a mapping, its end. Until
 * it execs, nobody knows what it has mapped: it may be what its parent has. So it may be who runs wherever
 * somebody has code, and that only one other process has code there proves nothing. When it began is not
 * known, either.
 */
#ifndef SB_STRANGERS_H
#define SB_STRANGERS_H

#include <stddef.h>
#include <stdint.h>

#include <sb/system.h>

#include "replay/lost_spans.h"

/* A process is one at these times, ns. */
struct stranger {
	uint64_t pid; /* first: sorted by it */
	uint64_t from, to;
};

struct strangers {
	const struct sb_system *system; /* borrowed */
	struct stranger *of;            /* owned */
	size_t count, capacity;
	struct stranger *latest; /* owned: the same, those first that are it longest */
	uint64_t *joined;        /* owned: threads of which only switches tell: pid << 32 | tid; sorted */
	size_t njoined, joined_capacity;
	struct lost_spans lost;
};

/* @perfdata: NULL: it is not known which CPUs have trace. Zero or -sbe_nomem; then too, strangers_fini() is
 * due. */
int strangers_init(struct strangers *strangers, const struct sb_system *system,
                   const struct sb_perfdata *perfdata);
void strangers_fini(struct strangers *strangers);

/* Whether @pid is one at @time, give or take @slack. */
int strangers_have(const struct strangers *strangers, int32_t pid, uint64_t time, uint64_t slack);

/* Adds those at @time, give or take @slack, to @count numbers of which there may be @max; each comes once.
 * Returns how many there are then: @max, if there may be more. */
size_t strangers_add(const struct strangers *strangers, uint64_t time, uint64_t slack, int32_t *pid,
                     size_t count, size_t max);

/* As system_only_thread() and system_has_other_threads(), and switches tell of threads, too. */
int32_t strangers_only_thread(const struct strangers *strangers, int32_t pid);
int strangers_has_other_threads(const struct strangers *strangers, int32_t pid, int32_t tid);

#endif
