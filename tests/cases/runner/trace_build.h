/* The trace of a case: its packets, written by the library's encoder, and raw bytes. */
#ifndef CASE_TRACE_BUILD_H
#define CASE_TRACE_BUILD_H

#include "packet_text.h"

enum { case_trace_size = 1 << 16 };

struct case_trace {
	uint8_t bytes[case_trace_size];
	size_t size;
	int raw;    /* some bytes were given as such */
	char *dump; /* owned: the packets as they were given, in the form of the packet view */
};

/* Zero; or -1 and a complaint on stderr. */
int case_trace_build(struct case_trace *trace, const struct case_file *file, const struct program *program);
void case_trace_free(struct case_trace *trace);

#endif
