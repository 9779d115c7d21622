/* tools/interrupt.h - signals that ask to end: what is half written is taken away first. */
#ifndef TOOLS_INTERRUPT_H
#define TOOLS_INTERRUPT_H

#include <signal.h>

enum { interrupt_signals = 3 };

/* What signals did before. */
struct interrupt_watch {
	struct sigaction before[interrupt_signals];
};

/* From here on, SIGINT, SIGTERM and SIGHUP are only noted; a second one ends the program at once. A watch
 * within a watch changes nothing, nor does its end.
 *
 * Who watches in several threads at a time has a watch around them all, which begins before the first of them
 * and ends behind the last: without it, the first one that ends takes the others' watch away. */
void interrupt_watch(struct interrupt_watch *watch);
/* From here on, they do what they did before. */
void interrupt_unwatch(const struct interrupt_watch *watch);

/* The signal that came, or zero. */
int interrupt_came(void);

/* Ends the program as the signal that came would have done; returns when none came. */
void interrupt_end(void);

#endif
