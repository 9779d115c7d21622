/* The differences that are accepted: rows of a table, each with its reason. */
#ifndef DIFF_KNOWN_H
#define DIFF_KNOWN_H

#include "case.h"
#include "producer.h"
#include "record.h"

enum known_effect {
	known_same, /* go on as if both records were equal */
	known_skip_ours,
	known_skip_debian,
	known_resync, /* go on where both have synchronised at the same PSB */
	known_stop    /* compare no more of this case and layer */
};

enum { known_count = 1 };

struct known_query {
	const struct diff_case *c;
	enum layer layer;
	const struct record *ours, *debian; /* the first that differ */
	const struct record *before;        /* the last equal one */
};

/* The row that accepts the difference, or -1. */
int known_find(const struct known_query *query, enum known_effect *effect);

const char *known_reason(int row);

#endif
