/* Differences of the same kind have the same signature: what differs, not how. */
#ifndef DIFF_SIGNATURE_H
#define DIFF_SIGNATURE_H

#include "record.h"

enum { signature_size = 96, signature_max = 128 };

void signature_of(char *text, const struct record *ours, const struct record *debian);

/* How often each was met, and in which case first. In memory that processes share. */
struct signatures {
	struct {
		char text[signature_size], first[64];
		uint64_t count;
	} row[signature_max];
	uint64_t rows, more;
};

void signature_count(struct signatures *signatures, const char *text, const char *name);
void signature_print(const struct signatures *signatures);

#endif
