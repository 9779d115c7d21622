/* fork_scan.h - where somebody may have begun whom no record names.
 *
 * Where records were lost, those of a process may be among them from its fork to its end. But it comes to
 * user space first where fork() returns: right behind the system call, while records were lost on that CPU,
 * or else there would be one of the switch to it. So the packets of these times are read: where none leads to
 * such a place, there is nobody like that. What cannot be read, or is not known, may be such a place. And
 * whoever begins so has the code of the process that forks.
 */
#ifndef SB_FORK_SCAN_H
#define SB_FORK_SCAN_H

#include <sb/binary.h>
#include <sb/perfdata.h>
#include <sb/system.h>

#include "replay/lost_spans.h"

struct address_index;

/* Where code is found. */
struct fork_source {
	const struct sb_perfdata *perfdata; /* NULL: nothing is known */
	const struct sb_system *system;
	struct sb_resolver *resolver;
	struct address_index *addresses;
	const struct lost_spans *lost;
	uint64_t slack; /* ns by which the trace's time may be wrong */
};

enum { FORK_SITES_MAX = 64 };

/* fork() may have returned to @ip at some time from @from to @to; 0: anywhere. */
struct fork_site {
	uint64_t ip, from, to;
	int is_unknown; /* nobody is known to have code there; others close by count, too */
};

struct fork_sites {
	struct fork_site of[FORK_SITES_MAX];
	size_t count;
};

/* Zero or -sbe_nomem. */
int fork_scan(const struct fork_source *source, struct fork_sites *sites);

/* Whether somebody who began at one of them may run at @now who has code at all of @nips addresses. Positive,
 * zero, or -sbe_nomem. */
int fork_sites_may_run(const struct fork_sites *sites, const struct fork_source *source, const uint64_t *ip,
                       size_t nips, uint64_t now);

#endif
