/* jitdump.h - the code that a just-in-time compiler made, as it wrote it down itself.
 *
 * A jitdump is a file that a runtime appends to while it runs: a record for each piece of code, with its
 * bytes (jitdump-specification.txt in the Linux sources, tools/perf/Documentation). What comes out are pieces
 * of code in time: which bytes stood where, from when to when.
 */
#ifndef SB_JITDUMP_H
#define SB_JITDUMP_H

#include <stddef.h>
#include <stdint.h>

#include <sb/error.h>

enum {
	JITDUMP_MAGIC = 0x4a695444,
	JITDUMP_VERSION = 1,
	JITDUMP_ARCH_TIMESTAMP =
	        1 << 0, /* flag: times are counts of the processor (TSC), not CLOCK_MONOTONIC */
};

enum jitdump_record { jitdump_load, jitdump_move, jitdump_debug_info, jitdump_close, jitdump_unwinding_info };

#define JITDUMP_NO_BYTES UINT64_MAX

/* Code at [begin, end) during [from, to): as it was loaded, or moved there. */
struct jitdump_code {
	uint64_t from; /* the dump's clock; first: sorted by it */
	uint64_t to;   /* when other code came over a part of it, or it was moved away; UINT64_MAX: never */
	uint64_t replaced; /* when other code came over a part of its place; UINT64_MAX: never */
	uint64_t begin, end;
	uint64_t offset; /* of its bytes in the dump; JITDUMP_NO_BYTES: the dump does not say what was moved
	                    there */
	uint64_t code_index;
	uint64_t moved_from; /* the address that it had before */
	int32_t pid, tid;    /* as the process knows itself, which is another number in another namespace */
	int is_moved;
	int replaces;     /* it came over a part of a place where code was before */
	const char *name; /* in the dump's bytes */
};

struct jitdump {
	int32_t pid; /* of the header */
	uint64_t timestamp, flags;
	struct jitdump_code *code; /* owned; by time, those of one time as in the file; never empty */
	size_t ncodes, capacity;
	int closed; /* there was a CLOSE record: nothing behind it is read */
	/* The last record is cut off, as of a process that was killed: its offset, or 0 when it is whole; and
	 * the time up to which everything is known. */
	uint64_t truncated_at, known_to;
};

/* Reads the @size bytes of a dump, which must stay as long as the result; @file is for errors. -sbe_format,
 * -sbe_truncated (the header is), -sbe_unsupported (other byte order, version, flags or machine), -sbe_nomem.
 */
int jitdump_read(struct jitdump *dump, const uint8_t *bytes, uint64_t size, const char *file,
                 struct sb_error *err);
void jitdump_free(struct jitdump *dump);

#endif
