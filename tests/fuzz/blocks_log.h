/* What a decoder said, instruction by instruction, and comparing two of them. */
#ifndef FUZZ_BLOCKS_LOG_H
#define FUZZ_BLOCKS_LOG_H

#include <stdbool.h>

#include <intel-pt.h>

#include "blocks_world.h"

enum { log_max = 6000 };

enum log_kind { log_insn, log_event, log_error, log_sync };

/* Of an instruction. What a face does not tell is negative. */
struct log_entry {
	enum log_kind kind;
	uint64_t ip; /* of a synchronisation, the offset */
	int status;  /* of an error or a synchronisation */
	int size, mode, speculative, iclass, isid;
	int entry_flags, exit_flags; /* enabled, resumed, resynced; disabled and the others */
	struct pt_event event;
};

struct log {
	const char *face;
	unsigned count;
	bool full;
	struct log_entry entry[log_max];
};

void log_clear(struct log *log, const char *face);

/* The next entry, to be filled; all of it is zero. */
struct log_entry *log_add(struct log *log, enum log_kind kind);

/* As far as neither is full, they must be the same. */
void log_compare(const struct log *a, const struct log *b);

#endif
