/* tools/dump/trace_file.h - the trace to be dumped: a file of raw Intel PT, or a recording with AUX data.
 *
 * Which of the two a file is, its first bytes tell. A directory is a recording.
 */
#ifndef TOOLS_DUMP_TRACE_FILE_H
#define TOOLS_DUMP_TRACE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <sb/error.h>
#include <sb/perfdata.h>
#include <sb/system.h>

struct trace_file {
	/* raw: the file, mapped */
	const uint8_t *bytes;
	uint64_t size;
	uint64_t dropped; /* bytes that need not be in memory any more */
	/* a recording; NULL when the file is raw */
	struct sb_perfdata *perfdata;
	struct sb_system *system; /* knows where the kernel dropped trace */
};

/* Zero or a negative code; trace_file_close() in both cases. */
int trace_file_open(struct trace_file *file, const char *path, struct sb_error *err);
/* The first @done bytes of a raw file have been read: they make room for others. */
void trace_file_drop(struct trace_file *file, uint64_t done);

void trace_file_close(struct trace_file *file);

#endif
