/* branch_outcome.c - does a near branch in the tracer: cheaper than a trap for a single step, and
 * simple enough to be exact. What may fault or is rare is left to the processor. */
#include "tracee.h"

#include <sys/uio.h>

enum { FLAG_CF = 1 << 0, FLAG_PF = 1 << 2, FLAG_ZF = 1 << 6, FLAG_SF = 1 << 7, FLAG_OF = 1 << 11 };

/* The condition codes of Jcc's opcode; the lowest bit negates. */
static int condition_holds(uint8_t condition, uint64_t flags)
{
	int cf = !!(flags & FLAG_CF), zf = !!(flags & FLAG_ZF), sf = !!(flags & FLAG_SF),
	    of = !!(flags & FLAG_OF);
	int holds[8] = {of, cf, zf, cf | zf, sf, !!(flags & FLAG_PF), sf != of, zf | (sf != of)};

	return holds[condition >> 1] ^ (condition & 1);
}

static uint64_t general_register(const struct user_regs_struct *regs, uint8_t number)
{
	const unsigned long long value[16] = {
	        regs->rax, regs->rcx, regs->rdx, regs->rbx, regs->rsp, regs->rbp, regs->rsi, regs->rdi,
	        regs->r8,  regs->r9,  regs->r10, regs->r11, regs->r12, regs->r13, regs->r14, regs->r15};

	return value[number & 15];
}

/* As the program itself would: not what it may not read, as ptrace(2) does. */
static int read_word(const struct tracee *t, uint64_t address, uint64_t *value)
{
	const struct iovec local = {value, sizeof(*value)}, remote = {(void *)(uintptr_t)address, sizeof(*value)};

	return process_vm_readv(t->tid, &local, 1, &remote, 1, 0) == (ssize_t)sizeof(*value) ? 0 : -1;
}

static int user_address(uint64_t address)
{
	return address < UINT64_C(1) << 47;
}

static int indirect_target(const struct tracee *t, const struct traced_insn *insn,
                           const struct branch_info *branch, uint64_t *target)
{
	const struct user_regs_struct *regs = &t->regs;
	uint64_t address = (uint64_t)branch->displacement;

	if (!branch->in_memory) {
		*target = general_register(regs, branch->base);
		return 0;
	}
	if (branch->base == RIP_REGISTER)
		address += insn->ip + insn->length;
	else if (branch->base != NO_REGISTER)
		address += general_register(regs, branch->base);
	if (branch->index != NO_REGISTER)
		address += general_register(regs, branch->index) * branch->scale;
	if (branch->segment)
		address += branch->segment == 'f' ? regs->fs_base : regs->gs_base;
	return read_word(t, address, target);
}

static int push(struct tracee *t, uint64_t value)
{
	const uint64_t address = t->regs.rsp - sizeof(value);
	const struct iovec local = {&value, sizeof(value)}, remote = {(void *)(uintptr_t)address, sizeof(value)};

	if (process_vm_writev(t->tid, &local, 1, &remote, 1, 0) != (ssize_t)sizeof(value))
		return -1;
	t->regs.rsp = address;
	return 0;
}

int branch_outcome(struct tracee *t, const struct traced_insn *insn, const struct branch_info *branch)
{
	uint64_t after = insn->ip + insn->length, next = after;

	switch (branch->rule) {
	case br_flags:
		if (condition_holds(branch->condition, t->regs.eflags))
			next = branch->target;
		break;
	case br_rcx_zero:
		if (!t->regs.rcx)
			next = branch->target;
		break;
	case br_ret:
		if (read_word(t, t->regs.rsp, &next) || !user_address(next))
			return -1;
		t->regs.rsp += 8u + branch->pop;
		break;
	case br_indirect:
		if (indirect_target(t, insn, branch, &next) || !user_address(next))
			return -1;
		if (insn->kind == ik_call_indirect && push(t, after))
			return -1;
		break;
	default:
		return -1;
	}
	t->regs.rip = next;
	t->regs_changed = 1;
	t->unrun++;
	return 0;
}
