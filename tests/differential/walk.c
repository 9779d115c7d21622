/* walk.c - see walk.h. */
#include "walk.h"

#include <stdlib.h>
#include <string.h>

/* ---- Places ---- */

static uint64_t ip_of(const struct walk *walk, int index)
{
	return walk->program->insn[index].ip;
}

/* A place that a branch may lead to: mostly where a function begins; in @mode, or in any (0). */
static int choose_place(struct walk *walk, unsigned mode)
{
	const struct program *program = walk->program;

	for (;;) {
		int i = random_hit(walk->random, 800)
		                ? program->function[random_below(walk->random, (uint32_t)program->nfunctions)]
		                          .first
		                : (int)random_below(walk->random, (uint32_t)program->ninsns);

		if (!mode || program->insn[i].mode == mode)
			return i;
	}
}

static int is_traced(const struct walk *walk, int index)
{
	uint64_t ip = ip_of(walk, index);

	return !walk->rates.filter || (ip >= walk->c->filter[0].a && ip <= walk->c->filter[0].b);
}

static void push(int *stack, int *count, int value)
{
	if (*count == walk_stack) {
		memmove(stack, stack + 1, (walk_stack - 1) * sizeof(*stack));
		--*count;
	}
	stack[(*count)++] = value;
}

/* ---- Truth ---- */

static void ran(struct walk *walk)
{
	if (!walk->on)
		return;
	if (walk->ran == walk->truth_room) {
		walk->truth_room = 2 * walk->truth_room + 1024;
		walk->c->truth = realloc(walk->c->truth, walk->truth_room * sizeof(*walk->c->truth));
		if (!walk->c->truth)
			abort();
	}
	walk->c->truth[walk->ran++] = walk_insn(walk)->ip;
	if (walk->seen_in[walk->at] == walk->stretch)
		walk->ambiguous = 1;
	walk->seen_in[walk->at] = walk->stretch;
}

/* ---- Tracing goes on and off ---- */

static void enable(struct walk *walk)
{
	walk_context(walk, walk_insn(walk)->mode, walk->rates.far_paging);
	if (walk->traced_transaction != walk->in_transaction) {
		pt_mode_tsx(&walk->pt, walk->in_transaction, 0);
		walk->traced_transaction = walk->in_transaction;
	}
	pt_ip(&walk->pt, ip_pge, walk_insn(walk)->ip);
	walk->on = 1;
	walk_commit(walk);
}

/* A branch has led to @target, and tracing ends there. */
static void disable(struct walk *walk, int target, int show_ip)
{
	if (show_ip)
		pt_ip(&walk->pt, ip_pgd, ip_of(walk, target));
	else
		pt_ip_suppressed(&walk->pt, ip_pgd);
	walk->on = 0;
	walk_commit(walk);
}

/* ---- Branches; each has run already ---- */

/* Erratum SKL014: when an unconditional direct branch leaves what is traced, the IP may be missing. */
static int has_skl014(const struct walk *walk)
{
	return (walk->c->errata & err_skl014) != 0;
}

static int is_direct(const struct program_insn *insn)
{
	return insn->what == what_jmp || insn->what == what_call;
}

/* A direct branch goes to @target. True when it left what is traced. */
static int leaves(struct walk *walk, int target)
{
	if (!walk->on || is_traced(walk, target))
		return 0;
	disable(walk, target,
	        !(is_direct(walk_insn(walk)) && has_skl014(walk) && random_hit(walk->random, 500)));
	walk->ret_known = 0;
	return 1;
}

static void go(struct walk *walk, int target)
{
	walk->at = target;
}

static void go_indirect(struct walk *walk, int target)
{
	if (walk->on && !leaves(walk, target)) {
		pt_tip(&walk->pt, ip_of(walk, target));
		walk_commit(walk);
	}
	go(walk, target);
}

static void go_far(struct walk *walk, int target)
{
	if (!walk->on) {
		go(walk, target);
		return;
	}
	if (!is_traced(walk, target)) {
		disable(walk, target, 1);
	} else if (!walk->saw_mov_cr3 && random_hit(walk->random, walk->rates.sync_disable)) {
		disable(walk, target, 0);
	} else {
		walk_context(walk, walk->program->insn[target].mode, walk->rates.far_paging);
		pt_tip(&walk->pt, ip_of(walk, target));
		walk_commit(walk);
	}
	go(walk, target);
}

static void push_return(struct walk *walk)
{
	push(walk->stack, &walk->nstack, walk->at + 1);
	if (!walk->on)
		return;
	if (walk->nret == walk_ret_stack) {
		memmove(walk->ret_stack, walk->ret_stack + 1,
		        sizeof(walk->ret_stack) - sizeof(*walk->ret_stack));
		--walk->nret;
	}
	walk->ret_stack[walk->nret++] = walk_insn(walk)->ip + walk_insn(walk)->size;
}

static void do_call(struct walk *walk)
{
	int target = walk_insn(walk)->target;

	if (target != walk->at + 1)
		push_return(walk);
	else
		push(walk->stack, &walk->nstack, walk->at + 1);
	(void)leaves(walk, target);
	go(walk, target);
}

static void do_call_indirect(struct walk *walk)
{
	push_return(walk);
	go_indirect(walk, choose_place(walk, walk_insn(walk)->mode));
}

static int return_target(struct walk *walk)
{
	int target = -1;

	if (walk->nstack && !random_hit(walk->random, walk->rates.longjmp))
		target = walk->stack[--walk->nstack];
	if (target < 0 || walk->program->insn[target].mode != walk_insn(walk)->mode)
		target = choose_place(walk, walk_insn(walk)->mode);
	return target;
}

static void do_return(struct walk *walk)
{
	int target = return_target(walk);

	if (walk->rates.return_compression && walk->on && walk->nret && walk->ret_known &&
	    is_traced(walk, target) && walk->ret_stack[walk->nret - 1] == ip_of(walk, target)) {
		--walk->nret;
		pt_branch(&walk->pt, 1);
		walk_commit(walk);
		go(walk, target);
		return;
	}
	/* What silicon does with its stack now is not known: no compression until it is empty. A TIP that
	 * waited for more TNT bits could not be told from a compressed return. */
	if (walk->nret)
		walk->ret_known = 0;
	pt_flush(&walk->pt);
	go_indirect(walk, target);
}

static void do_jcc(struct walk *walk)
{
	int taken = random_hit(walk->random, 500), target = taken ? walk_insn(walk)->target : walk->at + 1;

	if (walk->on && !(taken && leaves(walk, target))) {
		pt_branch(&walk->pt, taken);
		walk_commit(walk);
	}
	go(walk, target);
}

static void do_jmp(struct walk *walk)
{
	int target = walk_insn(walk)->target;

	(void)leaves(walk, target);
	go(walk, target);
}

static void do_far_return(struct walk *walk)
{
	go_far(walk, walk->ninterrupted ? walk->interrupted[--walk->ninterrupted] : choose_place(walk, 0));
}

static void do_far(struct walk *walk)
{
	if (random_hit(walk->random, 500))
		push(walk->interrupted, &walk->ninterrupted, walk->at + 1);
	go_far(walk, choose_place(walk, 0));
}

/* ---- Instructions that write packets but go on ---- */

/* The trace tells that this instruction is next, though it ran already. */
static void commit_before(struct walk *walk)
{
	walk_commit(walk);
	--walk->c->ntruth;
	walk->seen_in[walk->at] = walk->stretch;
}

/* The FUP behind MODE.TSX: of the instruction, or where it takes effect. */
static void transaction(struct walk *walk, int begins)
{
	walk->in_transaction = begins;
	if (walk->on) {
		pt_mode_tsx(&walk->pt, begins, 0);
		walk->traced_transaction = begins;
		pt_ip(&walk->pt, ip_fup, ip_of(walk, walk->at + !walk->rates.fup_at_insn));
		if (walk->rates.fup_at_insn)
			commit_before(walk);
		else
			walk_commit(walk);
	}
}

/* Whether the next instruction has not run yet in this stretch. */
static int next_is_new(const struct walk *walk)
{
	return !walk->ambiguous && walk->seen_in[walk->at + 1] != walk->stretch;
}

static void do_xbegin(struct walk *walk)
{
	if (walk->rates.transactions && !walk->in_transaction && next_is_new(walk)) {
		walk->abort_at = walk_insn(walk)->target;
		transaction(walk, 1);
	}
	++walk->at;
}

static void do_xend(struct walk *walk)
{
	if (walk->in_transaction && next_is_new(walk))
		transaction(walk, 0);
	++walk->at;
}

static void do_mov_cr3(struct walk *walk)
{
	if (walk->rates.all_paging) {
		walk->cr3 = (random_next(walk->random) & 0xffffff) << 12;
		pt_pip(&walk->pt, walk->cr3, 0);
		if (walk->on)
			walk_commit(walk);
	}
	walk->saw_mov_cr3 = 1;
	++walk->at;
}

static void do_vmptrld(struct walk *walk)
{
	if (walk->rates.vmcs) {
		walk->vmcs = (random_next(walk->random) & 0xffffff) << 12;
		pt_vmcs(&walk->pt, walk->vmcs);
		if (walk->on)
			walk_commit(walk);
	}
	++walk->at;
}

static void do_ptwrite(struct walk *walk)
{
	if (walk->rates.ptwrite && walk->on) {
		int ip = walk->rates.ptwrite == 1;

		pt_ptw(&walk->pt, random_next(walk->random), walk_insn(walk)->size == 5, ip);
		if (ip)
			pt_ip(&walk->pt, ip_fup, walk_insn(walk)->ip);
		walk_commit(walk);
	}
	++walk->at;
}

/* MWAIT, with EXSTOP at the same address. */
static void do_mwait(struct walk *walk)
{
	if (walk->rates.mwait && walk->on && !walk->ambiguous) {
		pt_mwait(&walk->pt, (uint8_t)random_below(walk->random, 256), 1);
		pt_exstop(&walk->pt, 1);
		pt_ip(&walk->pt, ip_fup, walk_insn(walk)->ip);
		commit_before(walk);
		pt_pwre(&walk->pt, 2, 1, 0);
		pt_pwrx(&walk->pt, 1, 2, 1);
	}
	++walk->at;
}

static void do_other(struct walk *walk)
{
	++walk->at;
}

static void execute(struct walk *walk)
{
	static void (*const does[])(struct walk * walk) = {
	        [what_other] = do_other,
	        [what_jcc] = do_jcc,
	        [what_jmp] = do_jmp,
	        [what_call] = do_call,
	        [what_jmp_indirect] = NULL,
	        [what_call_indirect] = do_call_indirect,
	        [what_ret] = do_return,
	        [what_far] = do_far,
	        [what_far_ret] = do_far_return,
	        [what_mov_cr3] = do_mov_cr3,
	        [what_vmptrld] = do_vmptrld,
	        [what_ptwrite] = do_ptwrite,
	        [what_xbegin] = do_xbegin,
	        [what_xend] = do_xend,
	        [what_mwait] = do_mwait,
	};
	uint8_t what = walk_insn(walk)->what;

	ran(walk);
	if (what == what_jmp_indirect)
		go_indirect(walk, choose_place(walk, walk_insn(walk)->mode));
	else
		does[what](walk);
	if (!walk->on && walk->rates.filter && is_traced(walk, walk->at))
		enable(walk);
}

/* ---- What comes between instructions ---- */

static void interrupt(struct walk *walk, int handler)
{
	pt_ip(&walk->pt, ip_fup, walk_insn(walk)->ip);
	walk_context(walk, walk->program->insn[handler].mode, walk->rates.far_paging);
	if (is_traced(walk, handler))
		pt_tip(&walk->pt, ip_of(walk, handler));
	else
		disable(walk, handler, 1);
	walk_commit(walk);
	push(walk->interrupted, &walk->ninterrupted, walk->at);
	go(walk, handler);
}

static void abort_transaction(struct walk *walk)
{
	walk->in_transaction = walk->traced_transaction = 0;
	pt_mode_tsx(&walk->pt, 0, 1);
	pt_ip(&walk->pt, ip_fup, walk_insn(walk)->ip);
	walk_context(walk, walk->program->insn[walk->abort_at].mode, 0);
	if (is_traced(walk, walk->abort_at))
		pt_tip(&walk->pt, ip_of(walk, walk->abort_at));
	else
		disable(walk, walk->abort_at, 1);
	walk_commit(walk);
	go(walk, walk->abort_at);
}

static void async_disable(struct walk *walk)
{
	pt_ip(&walk->pt, ip_fup, walk_insn(walk)->ip);
	disable(walk, choose_place(walk, 0), random_hit(walk->random, 300));
	walk->resume_at = random_hit(walk->random, 600) ? walk->at : -1;
}

/* Some instructions are lost; then FUP tells where execution is, or TIP.PGE. */
static void overflow(struct walk *walk)
{
	uint32_t lost = random_below(walk->random, 20);
	size_t size;

	walk->ran = walk->c->ntruth;
	pt_flush(&walk->pt);
	pt_ovf(&walk->pt);
	size = walk->pt.size;
	walk->nret = 0;
	walk->ret_known = 1;
	walk->on = 0;
	if (random_hit(walk->random, 300))
		walk->at = choose_place(walk, 0);
	else if (!walk->rates.filter)
		while (lost--)
			execute(walk);
	walk->pt.size = size;
	if (!is_traced(walk, walk->at))
		return;
	if (random_hit(walk->random, 500) || walk_insn(walk)->mode != walk->traced_mode) {
		enable(walk);
		return;
	}
	pt_ip(&walk->pt, ip_fup, walk_insn(walk)->ip);
	walk->on = 1;
	walk_commit(walk);
}

static int hit(struct walk *walk, uint32_t rate)
{
	return random_hit(walk->random, rate);
}

/* A FUP with TIP.PGD at one is, by erratum SKD022, no asynchronous event. */
static int is_vm_entry(const struct program_insn *insn)
{
	return !memcmp(insn->bytes, "\x0f\x01\xc2", 3) || !memcmp(insn->bytes, "\x0f\x01\xc3", 3);
}

static void between(struct walk *walk)
{
	const struct walk_rates *rates = &walk->rates;

	walk_time(walk);
	if (hit(walk, rates->cbr))
		pt_cbr(&walk->pt, (uint8_t)(8 + random_below(walk->random, 30)));
	if (hit(walk, rates->mnt))
		pt_mnt(&walk->pt, random_next(walk->random));
	if (walk->ambiguous || walk->seen_in[walk->at] == walk->stretch)
		return;
	if (hit(walk, rates->power))
		walk_power(walk);
	if (hit(walk, rates->psb))
		walk_psb(walk);
	if (!walk->on)
		return;
	if (hit(walk, rates->overflow))
		overflow(walk);
	else if (walk->in_transaction && !is_vm_entry(walk_insn(walk)) && hit(walk, rates->abort))
		abort_transaction(walk);
	else if (hit(walk, rates->interrupt))
		interrupt(walk, choose_place(walk, 0));
	else if (!rates->filter && !is_vm_entry(walk_insn(walk)) && hit(walk, rates->async_disable))
		async_disable(walk);
}

/* While tracing is off without a filter, nothing is executed that matters. */
static void rest(struct walk *walk)
{
	walk_time(walk);
	if (hit(walk, 300) && hit(walk, walk->rates.far_paging))
		walk_context(walk, 0, 500);
	if (!hit(walk, 300))
		return;
	walk->at = walk->resume_at >= 0 ? walk->resume_at : choose_place(walk, 0);
	walk->resume_at = -1;
	enable(walk);
}

/* ---- A case ---- */

static uint32_t choose_rate(struct random *random, uint32_t limit)
{
	return random_hit(random, 500) ? 0 : 1 + random_below(random, limit);
}

static void choose_rates(struct walk_rates *rates, struct random *random)
{
	*rates = (struct walk_rates){.interrupt = choose_rate(random, 40),
	                             .async_disable = choose_rate(random, 30),
	                             .sync_disable = choose_rate(random, 200),
	                             .psb = choose_rate(random, 40),
	                             .overflow = choose_rate(random, 20),
	                             .abort = choose_rate(random, 200),
	                             .cbr = choose_rate(random, 20),
	                             .mnt = choose_rate(random, 20),
	                             .tsc = choose_rate(random, 30),
	                             .power = choose_rate(random, 40),
	                             .far_paging = choose_rate(random, 500),
	                             .longjmp = choose_rate(random, 100),
	                             .lose = choose_rate(random, 100),
	                             .return_compression = random_hit(random, 700),
	                             .all_paging = random_hit(random, 400),
	                             .ptwrite = (int)random_below(random, 3),
	                             .transactions = random_hit(random, 400),
	                             .vmcs = random_hit(random, 300),
	                             .mwait = random_hit(random, 500),
	                             .filter = random_hit(random, 200),
	                             .wild_time = random_hit(random, 200),
	                             .fup_at_insn = random_hit(random, 300),
	                             .start_enabled = random_hit(random, 500),
	                             .steps = 20 + (int)random_below(random, 800)};
	rates->mtc = rates->tsc ? choose_rate(random, 1) : 0;
	rates->cyc = choose_rate(random, 300);
}

/* Traces some functions only. */
static void set_filter(struct walk *walk)
{
	const struct program *program = walk->program;
	int f = (int)random_below(walk->random, (uint32_t)program->nfunctions), last;
	int unit = program->function[f].unit;

	last = f;
	while (last + 1 < program->nfunctions && program->function[last + 1].unit == unit &&
	       random_hit(walk->random, 500))
		++last;
	last = last + 1 < program->nfunctions && program->function[last + 1].unit == unit
	               ? program->function[last + 1].first - 1
	               : program->unit[unit].end - 1;
	walk->c->filter[0] = (struct case_filter){1, ip_of(walk, program->function[f].first),
	                                          ip_of(walk, last) + program->insn[last].size - 1};
}

static void set_up(struct walk *walk)
{
	struct diff_case *c = walk->c;

	choose_rates(&walk->rates, walk->random);
	if (random_hit(walk->random, 500))
		c->errata =
		        err_bdm70 | err_skd022 | err_skz84 | (random_hit(walk->random, 500) ? err_skl014 : 0);
	c->flags = random_hit(walk->random, 400) ? flag_end_on_call * random_below(walk->random, 4) : 0;
	c->eax = 2;
	c->ebx = 168;
	c->mtc_freq = (uint8_t)random_below(walk->random, 6);
	c->nom_freq = random_hit(walk->random, 700) ? 21 : 0;
	if (walk->rates.filter)
		set_filter(walk);
	c->estimates = walk->rates.mtc || walk->rates.cyc;
	walk->pt.random = walk->random;
	walk->pt.long_tnt = random_hit(walk->random, 300);
	walk->pt.defer_tips = random_hit(walk->random, 300);
	walk->pt.pad_rate = choose_rate(walk->random, 200);
	walk->pt.early_tnt_rate = choose_rate(walk->random, 300);
	walk->tsc = random_next(walk->random) >> 12;
	walk->resume_at = -1;
}

static void start(struct walk *walk)
{
	walk->at = choose_place(walk, 0);
	walk->on = walk->rates.start_enabled && is_traced(walk, walk->at);
	walk->stretch = 1;
	walk_psb(walk);
	if (!walk->on && is_traced(walk, walk->at))
		enable(walk);
}

void walk_case(struct diff_case *c, const struct program *program, struct random *random)
{
	struct walk walk = {.random = random, .program = program, .c = c};
	int stuck = 0;

	walk.seen_in = calloc((size_t)program->ninsns, sizeof(*walk.seen_in));
	if (!walk.seen_in)
		abort();
	set_up(&walk);
	start(&walk);
	for (int step = 0; step < walk.rates.steps && stuck < 64; ++step) {
		stuck = walk.ambiguous ? stuck + 1 : 0;
		between(&walk);
		if (walk.on || walk.rates.filter)
			execute(&walk);
		else
			rest(&walk);
	}
	if (walk.on && !walk.ambiguous && walk.seen_in[walk.at] != walk.stretch &&
	    !is_vm_entry(walk_insn(&walk)) && random_hit(random, 700))
		async_disable(&walk);
	pt_flush(&walk.pt);
	free(walk.seen_in);
	c->trace = walk.pt.bytes;
	c->size = walk.pt.size;
}
