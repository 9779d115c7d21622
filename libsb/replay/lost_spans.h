/* lost_spans.h - when records were lost, of whatever kind.
 *
 * A LOST record comes with the next record that there is room for: what was lost came between the CPU's
 * record before and that one. There may have been mappings, and forks: of a process that came and went where
 * records were lost, nothing is known at all.
 */
#ifndef SB_LOST_SPANS_H
#define SB_LOST_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include <sb/perfdata.h>
#include <sb/system.h>

#include "system/lost_time.h"

/* perf clock, ns; both included. */
struct lost_span {
	uint64_t from, to;
	int32_t cpu;       /* -1: any */
	uint64_t nrecords; /* so many were lost; 0: not known */
	int hides_switch;  /* enough was lost for somebody to come and go whom no record names */
};

struct lost_spans {
	struct lost_span *of; /* owned; sorted */
	size_t count, capacity;
	struct lost_times any; /* of all CPUs together; owned */
};

/* @perfdata: whose CPUs have trace; NULL: only what records say. Zero or -sbe_nomem; then too,
 * lost_spans_fini() is due. */
int lost_spans_init(struct lost_spans *spans, const struct sb_system *system,
                    const struct sb_perfdata *perfdata);
void lost_spans_fini(struct lost_spans *spans);

/* Whether records were lost at some time from @from to @to, on whatever CPU. */
int lost_spans_meet(const struct lost_spans *spans, uint64_t from, uint64_t to);

/* Whether somebody may have come and gone unseen on @cpu at some time from @from to @to. */
int lost_spans_hide(const struct lost_spans *spans, int32_t cpu, uint64_t from, uint64_t to);

#endif
