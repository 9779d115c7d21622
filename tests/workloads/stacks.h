/* stacks.h - programs that know their own stacks. Functions are compiled with -finstrument-functions: each
 * entry notes all functions that are on the stack then, by where their frames are, which longjmp and
 * exceptions do not mislead. A coroutine has a stack of its own, which lies on the one of whoever resumed it.
 * At the end, main() writes it all to standard output: a line for each entry, addresses in hex (12
 * digits), the outermost first. */
#ifndef STACKS_H
#define STACKS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define unnoted __attribute__((no_instrument_function, noinline))

enum { NOTED = 1 << 16, DEEPEST = 512 };

/* A stack, with those that lie below it when it runs. */
struct noted_stack {
	struct noted_stack *below;
	unsigned int depth;
	struct {
		uintptr_t function, frame;
	} at[DEEPEST];
};

extern struct noted_stack *noted_now; /* of the thread */
unnoted void noted_write(void);
void __cyg_profile_func_enter(void *function, void *caller) unnoted;
void __cyg_profile_func_exit(void *function, void *caller) unnoted;

#ifdef __cplusplus
}
#endif

#endif
