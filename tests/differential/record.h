/* One step of a decoder in a form of its own, the same for every libipt: what pt_diff compares.
 *
 * A record holds numbers only, zero where they do not count, so that two of them compare bytewise. Which
 * number means what is told by the tables of record.c, which also print them. */
#ifndef DIFF_RECORD_H
#define DIFF_RECORD_H

#include <stddef.h>
#include <stdint.h>

enum record_kind {
	rec_none,   /* nothing came */
	rec_sync,   /* synchronised at: field[0] */
	rec_packet, /* kind: type */
	rec_insn,   /* ip, size, mode, iclass, speculative, truncated */
	rec_event,  /* kind: type */
	rec_branch, /* query: a conditional branch, taken or not */
	rec_target, /* query: an indirect branch, to */
	rec_error,  /* status: the negative error code */
	rec_defect  /* the decoder contradicts its own specification: text */
};

enum { record_fields = 6 };

struct record {
	uint32_t kind; /* enum record_kind */
	uint32_t type; /* of a packet or event */
	int32_t status;
	uint32_t flags; /* of an event: 1 ip suppressed, 2 status update, 4 has tsc */
	uint64_t offset;
	uint64_t field[record_fields];
	uint8_t raw[16];
	uint64_t tsc;
	uint32_t lost_mtc, lost_cyc;
	/* What the decoder says of its state afterwards; zero in layers that do not tell. */
	int32_t time_status;
	uint32_t cbr;
	uint64_t time, cr3, vmcs;
	uint32_t time_lost_mtc, time_lost_cyc;
	const char *text;
};

/* Which parts of a record are left out of the comparison. */
enum record_part {
	part_time = 1,    /* the state after the step */
	part_asid = 2,    /* likewise */
	part_status = 4,  /* status bits */
	part_offset = 8,  /* where it stands in the trace */
	part_iclass = 16, /* of instructions */
	part_raw = 32,    /* bytes of instructions */
	part_tsc = 64,    /* time of events */
	part_flags = 128  /* of events */
};

/* Clears the @parts (enum record_part) of @record. */
void record_forget(struct record *record, unsigned parts);

int record_equal(const struct record *a, const struct record *b);

/* One line, without a newline. */
void record_print(char *text, size_t size, const struct record *record);

const char *record_event_name(uint32_t type);
const char *record_packet_name(uint32_t type);
const char *record_error_name(int status);

#endif
