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
	/* Since pt_return_stack_mark(): how far the depth is from then, and was at least and at most. */
	int32_t moved, low, high;
};

static inline void pt_return_stack_clear(struct pt_return_stack *stack)
{
	stack->depth = 0;
}

/* The address on top; zero when the stack is empty. */
static inline uint64_t pt_return_stack_peek(const struct pt_return_stack *stack)
{
	return stack->depth ? stack->ip[(stack->top - 1) % pt_return_stack_size] : 0;
}

static inline void pt_return_stack_mark(struct pt_return_stack *stack)
{
	stack->moved = stack->low = stack->high = 0;
}

static inline void pt_return_stack_push(struct pt_return_stack *stack, uint64_t ip)
{
	stack->ip[stack->top] = ip;
	stack->top = (stack->top + 1) % pt_return_stack_size;
	stack->depth += stack->depth < pt_return_stack_size;
	stack->moved += 1;
	if (stack->moved > stack->high)
		stack->high = stack->moved;
}

/* Zero when the stack is empty. */
static inline int pt_return_stack_pop(struct pt_return_stack *stack, uint64_t *ip)
{
	if (!stack->depth)
		return 0;
	stack->top = (stack->top - 1) % pt_return_stack_size;
	stack->depth -= 1;
	*ip = stack->ip[stack->top];
	stack->moved -= 1;
	if (stack->moved < stack->low)
		stack->low = stack->moved;
	return 1;
}

/* The same for those who are not watched: nobody asks what happened since the mark. */
static inline void pt_return_stack_put(struct pt_return_stack *stack, uint64_t ip)
{
	stack->ip[stack->top] = ip;
	stack->top = (stack->top + 1) % pt_return_stack_size;
	stack->depth += stack->depth < pt_return_stack_size;
}

static inline int pt_return_stack_take(struct pt_return_stack *stack, uint64_t *ip)
{
	if (!stack->depth)
		return 0;
	stack->top = (stack->top - 1) % pt_return_stack_size;
	stack->depth -= 1;
	*ip = stack->ip[stack->top];
	return 1;
}

#endif
