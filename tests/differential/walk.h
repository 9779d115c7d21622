/* An abstract CPU that walks a program at random and writes the trace of it; it knows what ran. */
#ifndef DIFF_WALK_H
#define DIFF_WALK_H

#include "case.h"
#include "program.h"
#include "pt_writer.h"
#include "random.h"

/* How often what happens, per mille of instructions; how the CPU is set up. Chosen per case. */
struct walk_rates {
	uint32_t interrupt, async_disable, sync_disable, psb, overflow, abort, cbr, mnt, tsc, mtc, cyc, power;
	uint32_t far_paging, longjmp, lose;
	int return_compression, all_paging, ptwrite, transactions, vmcs, mwait, filter, wild_time,
	        fup_at_insn;
	int start_enabled, steps;
};

enum { walk_ret_stack = 64, walk_stack = 256 };

struct walk {
	struct random *random;
	const struct program *program;
	struct diff_case *c;
	struct walk_rates rates;
	struct pt_writer pt;

	int at; /* the instruction that is next */
	int on; /* PacketEn */
	int in_transaction, abort_at;
	int cpu_mode, traced_mode; /* the last one in the trace; 0: none */
	int traced_transaction;
	uint64_t cr3, vmcs;
	int resume_at; /* where tracing goes on, -1: wherever execution is then */

	int stack[walk_stack]; /* return targets */
	int nstack;
	int interrupted[walk_stack]; /* where IRET goes */
	int ninterrupted;

	uint64_t ret_stack[walk_ret_stack]; /* the CPU's, for return compression */
	unsigned nret;
	int ret_known; /* a decoder has the same */

	uint64_t tsc, cyc_tsc, mtc;

	size_t truth_room;
	size_t ran;        /* instructions, of which c->ntruth need no guess */
	uint32_t *seen_in; /* per instruction: the stretch without packets in which it ran last */
	uint32_t stretch;
	int saw_mov_cr3; /* in this stretch: a TIP.PGD without IP could belong to it */
	int ambiguous;   /* the place of an event could not be told from an earlier one */
};

/* Fills in trace, truth and settings of @c, whose code is @program's. */
void walk_case(struct diff_case *c, const struct program *program, struct random *random);

/* walk_packets.c */
const struct program_insn *walk_insn(const struct walk *walk);
void walk_commit(struct walk *walk); /* what ran so far is told by the trace */
void walk_psb(struct walk *walk);
void walk_time(struct walk *walk); /* lets time pass */
/* PIP, VMCS, and MODE (0: none) before a TIP. */
void walk_context(struct walk *walk, int mode, uint32_t paging_rate);
void walk_power(struct walk *walk);

#endif
