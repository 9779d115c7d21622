/* The command line of pt_diff. */
#ifndef DIFF_OPTIONS_H
#define DIFF_OPTIONS_H

#include "case.h"
#include "compare.h"

struct options {
	struct diff_case c;
	const char *path[sides]; /* of the libraries */
	unsigned layers;         /* a bit for each enum layer */
	unsigned context, forget;
	uint64_t max_records;
	uint64_t seed, count; /* of cases */
	int seeded;
	int mutate;       /* damage them */
	unsigned timeout; /* milliseconds of CPU time per case and layer, 0: no limit */
	const char *save; /* directory to write the case to */
	int show;         /* enum side, or -1: compare */
};

/* Zero, or -1 with a message on stderr. */
int options_parse(struct options *options, int argc, char **argv);

#endif
