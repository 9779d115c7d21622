/* live_control.h - what a recording is told while it runs: lines from a descriptor and from a FIFO. */
#ifndef SB_LIVE_CONTROL_H
#define SB_LIVE_CONTROL_H

#include <stddef.h>

#include <sb/error.h>

enum live_order { live_order_none, live_order_start, live_order_stop, live_order_snapshot, live_order_quit };

enum { live_control_sources = 2, live_control_line = 64 };

struct live_control {
	struct {
		int fd; /* -1: none */
		char line[live_control_line];
		size_t size;
	} source[live_control_sources];
	int made_fifo; /* it was not there before */
	const char *fifo;
	int writer; /* keeps the FIFO from ending with whoever writes to it first; -1 */
};

/* @fd -1, @fifo NULL: none. The descriptor stays the caller's, the name must last. */
int live_control_open(struct live_control *control, int fd, const char *fifo, struct sb_error *err);
void live_control_close(struct live_control *control);

/* The next order, live_order_none when there is none now. A line that is none becomes *unknown. */
enum live_order live_control_next(struct live_control *control, char unknown[live_control_line]);

#endif
