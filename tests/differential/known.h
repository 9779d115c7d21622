/* The differences that are accepted: rows of a table, each with its reason. */
#ifndef DIFF_KNOWN_H
#define DIFF_KNOWN_H

#include "case.h"
#include "producer.h"
#include "record.h"

/* How two flows go on after a difference that cannot be taken out of the records. */
enum known_effect {
	known_none,
	known_skip_ours,
	known_skip_debian,
	known_resync, /* go on where both have synchronised at the same PSB */
	known_stop,   /* compare no more of this case and layer */
	known_hold,   /* Debian's event is early: ours must bring the same one later */
	known_damage  /* as known_damaged() tells */
};

enum { known_count = 64 };

struct known_query {
	const struct diff_case *c;
	enum layer layer;
	const struct record *ours, *debian; /* the first that differ; kind 0 at the end */
	const struct record *before;        /* the last equal one, or NULL */
	unsigned held;   /* Debian's events that came early and are still to come in ours */
	int insn_agreed; /* the instruction layer of this case did not differ */
};

/* Whether the rows together take the difference away; counts those that were needed. */
int known_same(const struct known_query *query, uint64_t *counts);

/* Otherwise how to go on; known_none: the difference is not a known one. */
enum known_effect known_flow(const struct known_query *query, uint64_t *counts);

/* In a damaged trace, how both went on from the difference to their next error: 0 if they had none before
 * they synchronised anew or ended. Counts; returns whether that is accepted. */
int known_damaged(const struct known_query *query, int ours, int debian, uint64_t *counts);

/* Debian's status says that no event is pending, and yet one comes; counts. */
void known_bad_status(uint64_t *counts);

const char *known_reason(int row);

#endif
