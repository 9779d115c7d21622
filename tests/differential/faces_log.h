/* What a decoder said, instruction by instruction, and what observers were told: for holding the faces of our
 * decoder against each other. */
#ifndef DIFF_FACES_LOG_H
#define DIFF_FACES_LOG_H

#include <stddef.h>

#include <intel-pt.h>

enum log_kind { log_insn, log_event, log_error, log_sync, log_sum };

/* What a face does not tell is negative. */
struct log_entry {
	uint64_t ip;  /* of a synchronisation, the offset */
	uint64_t tsc; /* of an instruction from a run: the run's */
	/* What the decoder's other functions say behind it: only faces of the same kind agree there. All
	 * else, as address space and raw bytes, is in one number. */
	uint64_t offset, time, others;
	int status; /* of an error or a synchronisation */
	int16_t kind, mode, speculative, size, iclass;
	int16_t entry_flags, exit_flags;
	int16_t has_tsc; /* negative: nor does tsc count */
	/* Of runs: the instruction ends a block, and may not have been executed. Of a sum: how many there
	 * were, of which ip is the last. */
	int16_t ends, unproven;
	uint64_t ninsn, nblocks;
	struct pt_event event;
};

/* What an observer was told. */
struct told {
	uint64_t tsc;
	uint32_t lost_mtc, lost_cyc;
	int state; /* negative: a tick */
};

struct log {
	const char *name;
	struct log_entry *entry; /* owned */
	size_t count, room;
	struct told *told; /* owned */
	size_t ntold, told_room;
};

void log_clear(struct log *log, const char *name);
void log_fini(struct log *log);

/* The next one, to be filled; all of it is zero. */
struct log_entry *log_add(struct log *log, enum log_kind kind);
struct told *log_tell(struct log *log);

/* What @from says of the instructions, summed up as far as nothing comes between and, if @timed, their time
 * is the same. */
void log_sums(const struct log *from, struct log *sums, int timed);

/* An error, behind which all is forgotten. */
void log_add_error(struct log *log, int status);

enum log_compare {
	log_with_state = 1 << 0, /* what only faces of the same kind agree in counts, too */
	/* What the client does depends on how many instructions came: whoever goes round a circle more often
	 * before the error may leave it by that, and all is different from there on. */
	log_may_leave_circles = 1 << 1
};

/* Whether they are the same; if not, says where. @flags: enum log_compare. */
int log_same(const char *what, const struct log *a, const struct log *b, unsigned flags);

#endif
