/* pt_gen.h - the processor's part of a software recording: from retired instructions to an Intel PT
 * packet stream, as one logical processor with user-only tracing writes it.
 *
 * Fed with what the program did, in order: enable (a return to user space), retire (one instruction),
 * disable (its last instruction entered the kernel) or interrupt (something else did). Times are
 * TSC counts and never go back. The core clock runs at the TSC's rate, so a cycle is a TSC tick.
 * The first failure sticks in @error; the functions do nothing afterwards.
 */
#ifndef SB_CAPTURE_PT_GEN_H
#define SB_CAPTURE_PT_GEN_H

#include <stddef.h>
#include <stdint.h>

#include "intel-pt.h"
#include "traced_insn.h"

struct pt_gen_config {
	uint32_t psb_period;       /* bytes between PSBs */
	uint32_t overflow_every;   /* bytes between overflows, 0: never */
	uint32_t ctc_num, ctc_den; /* TSC ticks per CTC tick = ctc_num / ctc_den, a whole number */
	uint8_t mtc_freq;          /* an MTC every 2^mtc_freq CTC ticks */
	uint8_t cbr;
	int retcomp, mtc, cyc, tnt64;
	uint64_t seed; /* of the length of overflows */
};

enum { PT_GEN_RETURNS = 64, PT_GEN_TIPS = 32 };

/* Return addresses as a decoder keeps them. */
struct pt_gen_returns {
	uint64_t ip[PT_GEN_RETURNS]; /* a ring */
	uint32_t top, count;
};

struct pt_gen {
	struct pt_gen_config config;

	/* Output: @size bytes of @buffer are written; @offset is the place of buffer[0] in the stream. */
	struct pt_encoder *encoder;
	uint8_t *buffer;
	size_t size, capacity;
	uint64_t offset;
	uint64_t last_ip; /* 0: the next address is written in full */

	/* Pending: TNT bits, the oldest the most significant, and the TIPs that follow them. */
	uint64_t tnt;
	uint32_t ntnt;
	uint64_t tip[PT_GEN_TIPS];
	uint32_t ntips;

	/* Time */
	uint64_t tsc;      /* of the latest call */
	uint64_t next_mtc; /* TSC of the next MTC */
	uint64_t last_cyc; /* TSC up to which CYC packets have counted */

	/* What the two kinds of decoders believe about returns that do not match; see pt_gen.c. */
	struct pt_gen_returns keeping, popping;

	int enabled;
	int mode_known;    /* MODE.Exec was written since the last PSB */
	int started;       /* the first PSB is out */
	uint64_t last_psb; /* stream offset behind it */
	uint64_t last_overflow;
	uint32_t lost;  /* instructions still to be dropped */
	int overflowed; /* an OVF is due; never while disabled */
	uint32_t noverflows;
	uint64_t random;

	int error; /* negative enum pt_error_code */
};

/* Returns zero or a negative enum pt_error_code. */
int pt_gen_init(struct pt_gen *gen, const struct pt_gen_config *config);
void pt_gen_fini(struct pt_gen *gen);

/* User space is entered at @ip. */
void pt_gen_enable(struct pt_gen *gen, uint64_t tsc, uint64_t ip);

/* @insn retired and the next one is at @next. Returns 1 when the trace holds it, 0 when it fell into
 * an overflow. An ik_far instruction writes nothing: pt_gen_disable() has to follow. */
int pt_gen_retire(struct pt_gen *gen, uint64_t tsc, const struct traced_insn *insn, uint64_t next);

/* The retired ik_far instruction left user space. That ends an overflow, as does the next one. */
void pt_gen_disable(struct pt_gen *gen, uint64_t tsc);

/* An interrupt or fault left user space before the instruction at @ip. */
void pt_gen_interrupt(struct pt_gen *gen, uint64_t tsc, uint64_t ip);

/* Forgets the first @size bytes of the buffer. */
void pt_gen_drop(struct pt_gen *gen, size_t size);

/* Appends PADs until the stream's size is a multiple of @alignment. */
void pt_gen_pad(struct pt_gen *gen, size_t alignment);

#endif
