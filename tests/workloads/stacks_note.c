/* stacks_note.c - see stacks.h. */
#include "stacks.h"

#include <unistd.h>

static struct noted_stack first;
struct noted_stack *noted_now = &first;

static uintptr_t noted[NOTED];
static unsigned int nnoted;

static unnoted void note_stack(const struct noted_stack *stack)
{
	if (!stack)
		return;
	note_stack(stack->below);
	for (unsigned int i = 0; i < stack->depth && nnoted < NOTED - 1; i++)
		noted[nnoted++] = stack->at[i].function;
}

/* What is where the new frame is, or below it in memory, is not there any more. */
void __cyg_profile_func_enter(void *function, void *caller)
{
	const uintptr_t frame = (uintptr_t)__builtin_frame_address(1);
	struct noted_stack *stack = noted_now;

	(void)caller;
	while (stack->depth && stack->at[stack->depth - 1].frame <= frame)
		stack->depth--;
	if (stack->depth == DEEPEST)
		return;
	stack->at[stack->depth].function = (uintptr_t)function;
	stack->at[stack->depth++].frame = frame;
	note_stack(stack);
	noted[nnoted++] = 0;
}

void __cyg_profile_func_exit(void *function, void *caller)
{
	struct noted_stack *stack = noted_now;

	(void)caller;
	while (stack->depth && stack->at[--stack->depth].function != (uintptr_t)function)
		;
}

static char text[16 * NOTED];

/* In hex and not by printf(): this is recorded, too. */
void noted_write(void)
{
	char *at = text;

	for (unsigned int i = 0; i < nnoted; i++) {
		if (!noted[i])
			continue;
		for (int shift = 44; shift >= 0; shift -= 4)
			*at++ = "0123456789abcdef"[noted[i] >> shift & 15];
		*at++ = noted[i + 1] ? ' ' : '\n';
	}
	if (write(1, text, (size_t)(at - text)) != at - text)
		_exit(1);
}
