/* Return compression (Intel SDM vol. 3, "Indirect Transfer Compression for Returns"): return addresses
 * of the last 64 calls. A deeper call forgets the oldest. PSB and overflow empty it. */
#ifndef PT_RETURN_STACK_H
#define PT_RETURN_STACK_H

#include <stdint.h>

enum { pt_return_stack_size = 64 };

struct pt_return_stack {
	uint64_t ip[pt_return_stack_size];
	uint32_t top; /* the next place to write */
	uint32_t depth;
};

static inline void pt_return_stack_clear(struct pt_return_stack *stack)
{
	stack->depth = 0;
}

static inline void pt_return_stack_push(struct pt_return_stack *stack, uint64_t ip)
{
	stack->ip[stack->top] = ip;
	stack->top = (stack->top + 1) % pt_return_stack_size;
	stack->depth += stack->depth < pt_return_stack_size;
}

/* Zero when the stack is empty. */
static inline int pt_return_stack_pop(struct pt_return_stack *stack, uint64_t *ip)
{
	if (!stack->depth)
		return 0;
	stack->top = (stack->top - 1) % pt_return_stack_size;
	stack->depth -= 1;
	*ip = stack->ip[stack->top];
	return 1;
}

#endif
