/* walk_packets.c - see walk.h: packets that do not say where execution goes. */
#include "walk.h"

#include <stdlib.h>

const struct program_insn *walk_insn(const struct walk *walk)
{
	return &walk->program->insn[walk->at];
}

void walk_commit(struct walk *walk)
{
	walk->c->ntruth = walk->ran;
	walk->ambiguous = walk->saw_mov_cr3 = 0;
	++walk->stretch;
}

static uint64_t ctc_of(const struct walk *walk)
{
	return walk->tsc * walk->c->eax / walk->c->ebx;
}

static void put_tma(struct walk *walk)
{
	uint64_t ctc = ctc_of(walk), fc = walk->tsc - ctc * walk->c->ebx / walk->c->eax;

	if (walk->rates.wild_time)
		fc = random_next(walk->random);
	pt_tma(&walk->pt, (uint16_t)ctc, (uint16_t)fc);
}

static void put_tsc(struct walk *walk)
{
	pt_tsc(&walk->pt, walk->tsc);
	if (walk->rates.mtc && !random_hit(walk->random, 100))
		put_tma(walk);
}

static void put_cyc(struct walk *walk)
{
	uint64_t cycles = walk->tsc - walk->cyc_tsc;

	walk->cyc_tsc = walk->tsc;
	if (walk->rates.wild_time)
		cycles = random_next(walk->random) >> (4 + random_below(walk->random, 60));
	pt_cyc(&walk->pt, cycles);
}

/* An MTC for each time that its bits of the CTC change; a wild clock loses and repeats some. */
static void put_mtc(struct walk *walk)
{
	uint64_t mtc = ctc_of(walk) >> walk->c->mtc_freq;

	if (mtc == walk->mtc && !(walk->rates.wild_time && random_hit(walk->random, 100)))
		return;
	walk->mtc = mtc;
	if (!random_hit(walk->random, walk->rates.lose))
		pt_mtc(&walk->pt, (uint8_t)mtc);
}

void walk_time(struct walk *walk)
{
	walk->tsc += random_below(walk->random, 40);
	if (random_hit(walk->random, walk->rates.cyc))
		put_cyc(walk);
	if (walk->rates.mtc)
		put_mtc(walk);
	if (random_hit(walk->random, walk->rates.tsc))
		put_tsc(walk);
}

/* The parts of PSB+ come in this order or, when they are mixed, in any that the SDM does not forbid. */
void walk_psb(struct walk *walk)
{
	pt_psb(&walk->pt);
	if (walk->rates.tsc)
		put_tsc(walk);
	if (walk->rates.cbr)
		pt_cbr(&walk->pt, (uint8_t)(8 + random_below(walk->random, 30)));
	if (walk->rates.transactions)
		pt_mode_tsx(&walk->pt, walk->in_transaction, 0);
	walk->traced_transaction = walk->in_transaction;
	if (walk->on) {
		pt_mode_exec(&walk->pt, walk_insn(walk)->mode);
		walk->traced_mode = walk_insn(walk)->mode;
	}
	if (walk->rates.all_paging)
		pt_pip(&walk->pt, walk->cr3, 0);
	if (walk->rates.vmcs)
		pt_vmcs(&walk->pt, walk->vmcs);
	if (walk->on)
		pt_ip(&walk->pt, ip_fup, walk_insn(walk)->ip);
	pt_psbend(&walk->pt);
	walk->nret = 0;
	walk->ret_known = 1;
	if (walk->on)
		walk_commit(walk);
}

void walk_context(struct walk *walk, int mode, uint32_t paging_rate)
{
	if (random_hit(walk->random, paging_rate)) {
		walk->cr3 = (random_next(walk->random) & 0xffffff) << 12;
		pt_pip(&walk->pt, walk->cr3, random_hit(walk->random, 200));
	}
	if (walk->rates.vmcs && random_hit(walk->random, paging_rate)) {
		walk->vmcs = (random_next(walk->random) & 0xffffff) << 12;
		pt_vmcs(&walk->pt, walk->vmcs);
	}
	if (mode && (mode != walk->traced_mode || random_hit(walk->random, 50))) {
		pt_mode_exec(&walk->pt, mode);
		walk->traced_mode = mode;
	}
}

void walk_power(struct walk *walk)
{
	switch (random_below(walk->random, 4)) {
	case 0:
		pt_exstop(&walk->pt, 0);
		break;
	case 1:
		if (!walk->on)
			break;
		pt_exstop(&walk->pt, 1);
		pt_ip(&walk->pt, ip_fup, walk_insn(walk)->ip);
		walk_commit(walk);
		break;
	case 2:
		pt_pwre(&walk->pt, (uint8_t)random_below(walk->random, 8),
		        (uint8_t)random_below(walk->random, 4), random_hit(walk->random, 300));
		break;
	default:
		pt_pwrx(&walk->pt, (uint8_t)random_below(walk->random, 8),
		        (uint8_t)random_below(walk->random, 8),
		        (uint8_t)(1u << (random_below(walk->random, 2) * 2)));
		break;
	}
}
