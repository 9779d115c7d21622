/* checkpoint_file.h - the bytes of a checkpoint (sb/checkpoint.h): tables of rows, one behind the other.
 *
 * Each table begins at a multiple of 64 bytes. Behind the last one is the list of tables, a struct
 * checkpoint_table each, and a struct checkpoint_end. All numbers are little-endian, rows are as this machine
 * keeps them. Tables have a sum each (checkpoint_sum.h), the list of tables has one, which the end holds;
 * the schedule's entries have many, as most readers look at those of a moment on one CPU.
 */
#ifndef SB_CHECKPOINT_FILE_H
#define SB_CHECKPOINT_FILE_H

#include <sb/checkpoint.h>

#include "perfdata/checkpoint_sum.h"

enum { CHECKPOINT_VERSION = 4, CHECKPOINT_ALIGN = 64 };

enum checkpoint_kind {
	checkpoint_recording,    /* struct checkpoint_recording: one */
	checkpoint_records,      /* bytes: records of the recording, as they are there */
	checkpoint_origins,      /* struct unpacked_origin: where they are there */
	checkpoint_zeros,        /* a byte for each AUXTRACE record, see struct sb_aux_chunk */
	checkpoint_cpus,         /* struct checkpoint_cpu */
	checkpoint_scheds,       /* struct sb_sched, CPU after CPU */
	checkpoint_sched_sums,   /* uint64_t: of so many entries each, CPU after CPU */
	checkpoint_seen,         /* struct sb_seen, likewise */
	checkpoint_flags,        /* struct sb_aux_flag, likewise */
	checkpoint_lost,         /* struct sb_lost */
	checkpoint_thread_flags, /* struct sb_aux_flag, by thread */
	checkpoint_kinds
};

/* Of rows that the system's rooms know. */
enum {
	CHECKPOINT_SCHED_SIZE = 32,
	CHECKPOINT_SCHEDS_PER_SUM = 2048,
	CHECKPOINT_SEEN_SIZE = 16,
	CHECKPOINT_FLAG_SIZE = 40,
	CHECKPOINT_LOST_SIZE = 24
};

struct checkpoint_table {
	uint32_t kind, row_size;
	uint64_t offset, count, sum; /* sum: 0 where others tell it */
};

struct checkpoint_end {
	char magic[8];
	uint32_t version, ntables;
	uint64_t size; /* of all, with this */
	uint64_t sum;  /* of the list of tables */
};

/* What it is of. */
struct checkpoint_recording {
	uint64_t file_size, data_begin, data_end;
	uint64_t ends_sum;           /* of the file's bytes before and behind the records */
	uint64_t nrecords, nskipped; /* sb_system_nrecords() */
};

struct checkpoint_cpu {
	uint32_t number, bits; /* enum checkpoint_cpu_bit */
	uint32_t losses, reserved;
	uint64_t first_sched, nscheds, first_sum;
	uint64_t first_seen, nseen;
	uint64_t first_flag, nflags;
	/* The last of its entries, if there are any: who asks only for that reads none of them. */
	uint8_t last_sched[CHECKPOINT_SCHED_SIZE];
};

enum checkpoint_cpu_bit { checkpoint_cpu_whole = 1 << 0, checkpoint_cpu_bits = (1 << 1) - 1 };

/* ---- Writing ------------------------------------------------------------------------------------ */

struct checkpoint_writer {
	sb_checkpoint_put *put;
	void *context;
	uint64_t written;
	struct checkpoint_table table[checkpoint_kinds];
	uint32_t ntables;
	struct checkpoint_sum sum; /* of the table that is being written */
	int status;                /* what put said first */
};

/* Tables come one after the other, rows of each in pieces. */
void checkpoint_table_begin(struct checkpoint_writer *writer, enum checkpoint_kind kind);
void checkpoint_table_put(struct checkpoint_writer *writer, const void *rows, uint64_t count);
/* The list of tables. *sum: its sum. Zero, or what put said. */
int checkpoint_finish(struct checkpoint_writer *writer, uint64_t *sum);

/* ---- Reading ------------------------------------------------------------------------------------ */

/* Its rows, in memory; NULL, 0: there are none. */
const void *checkpoint_rows(const struct sb_checkpoint *checkpoint, enum checkpoint_kind kind,
                            uint64_t *count);
const char *checkpoint_path(const struct sb_checkpoint *checkpoint);

/* From now on it is damaged: a sum did not fit. Any thread may find that. */
void checkpoint_spoil(const struct sb_checkpoint *checkpoint);
/* Zero, or -sbe_format: it is. */
int checkpoint_failure(const struct sb_checkpoint *checkpoint, struct sb_error *err);

/* ---- Records (checkpoint_records.c) -------------------------------------------------------------- */

/* Whether there can be one of this recording. */
int checkpoint_is_possible(const struct sb_perfdata *perfdata);
/* The tables of a recording's records. Zero or a negative code. */
int checkpoint_write_records(struct checkpoint_writer *writer, const struct sb_perfdata *perfdata,
                             uint64_t nrecords, uint64_t nskipped, struct sb_error *err);
/* The recording, whose header was read, has these records. Zero or a negative code. */
int checkpoint_use_records(struct sb_perfdata *perfdata, struct sb_error *err);
/* Before it is closed. */
void checkpoint_leave_records(struct sb_perfdata *perfdata);
/* What the recording was opened with, or NULL. */
const struct sb_checkpoint *checkpoint_of(const struct sb_perfdata *perfdata);

#endif
