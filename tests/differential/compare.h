/* Runs two libraries over one layer of a case in step, and holds them against the truth if there is one. */
#ifndef DIFF_COMPARE_H
#define DIFF_COMPARE_H

#include "case.h"
#include "known.h"
#include "producer.h"
#include "signature.h"

struct side {
	const char *name;
	const struct producer_ops *ops;
	struct library *lib;
};

enum { side_ours, side_debian, sides };

struct comparer {
	struct side side[sides];
	unsigned forget;      /* enum record_part */
	uint64_t max_records; /* a flow may be endless, as that of "jmp ." behind the last packet */
	unsigned context;     /* records to print before and after a difference */
	int quiet;            /* do not print differences */
	struct progress {
		int side; /* which library is being called, for those who watch from outside */
	} * progress;
	int insn_agreed; /* in the instruction layer of this case; the caller's */
	uint64_t *known; /* how often each known difference was met */
};

struct verdict {
	int skipped; /* a library lacks the layer */
	int differs;
	char signature[signature_size];
	uint64_t records;
	/* Against the truth: -1 not known, 0 wrong, 1 right. */
	int right[sides];
	uint64_t nright[sides]; /* instructions before the first wrong one */
	uint64_t got[sides];    /* its address, zero if the flow ended */
};

void compare(struct comparer *comparer, const struct diff_case *c, enum layer layer, struct verdict *verdict);

/* Prints what one side gives. */
void compare_show(struct comparer *comparer, int side, const struct diff_case *c, enum layer layer);

#endif
