/* code_window.h - what a process certainly has mapped, when the time is only known to lie in a span.
 *
 * Without MTC packets, the trace's time stands still between two TSC packets. Where a file took the place of
 * another one meanwhile, nobody knows which of them is executed; all else is certain.
 */
#ifndef SB_CODE_WINDOW_H
#define SB_CODE_WINDOW_H

#include <sb/system.h>

struct code_window {
	const struct sb_system *system; /* borrowed */
	int32_t pid;
	uint64_t from, to; /* perf clock, ns; inclusive */
};

/* The first and the last epoch in it; NULL: the process has none. */
struct code_window_ends {
	const struct sb_epoch *first, *last;
};
struct code_window_ends code_window_ends(const struct code_window *window);

/* Whether what is mapped in its first epoch was there at its beginning: who is a stranger until then may have
 * had anything. */
int code_window_begins_early(const struct code_window *window);

/* What is mapped at @ip: 1, and *map is there in each epoch that has anything there; 0: nothing ever is; or
 * negative: it is not always the same, or nobody knows what a stranger had there. */
int code_window_find(const struct code_window *window, uint64_t ip, const struct sb_map **map);

#endif
