/* switch_records.h - SWITCH_CPU_WIDE records, nine of ten in a long recording, read straight from their bytes
 * where all of them are laid out alike.
 */
#ifndef LIBSB_PERFDATA_SWITCH_RECORDS_H
#define LIBSB_PERFDATA_SWITCH_RECORDS_H

#include <linux/perf_event.h>

#include "perfdata/perfdata_internal.h"
#include "record/bytes.h"

/* How they begin, and where in them their fields are, in bytes; tid is behind pid. */
struct switch_layout {
	uint64_t header; /* but for the bits that say which kind of switch it is */
	uint32_t size;   /* zero: they are not all alike, or do not say all of this */
	uint32_t pid, time, cpu;
};

/* The same that struct sb_record says of one. */
struct cpu_switch {
	uint64_t time; /* not zero */
	uint32_t cpu;  /* up to SB_CPU_MAX */
	int32_t pid, tid, other_pid, other_tid;
	int out;
};

struct switch_layout switch_layout(const struct sb_perfdata *perfdata);

/* Those that follow each other from a cursor's place on. */
struct switch_run {
	const uint8_t *at, *end;
};

struct switch_run switch_run_begin(const struct sb_perfdata_cursor *cursor);

/* The cursor goes behind those that were read. */
void switch_run_end(const struct switch_run *run, struct sb_perfdata_cursor *cursor);

/* Reads the next one. Zero: the next record is another one, or one with something that is not plain; or there
 * is none. */
static inline int switch_run_next(struct switch_run *run, const struct switch_layout *layout,
                                  struct cpu_switch *made)
{
	enum { AHEAD = 1024, BODY = 8 };
	const uint64_t kinds = (uint64_t)(PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)
	                       << 32;
	const uint8_t *at = run->at;
	uint64_t header;

	if ((size_t)(run->end - at) < layout->size)
		return 0;
	/* Records are read faster than the processor foresees. Past the file's end it does no harm. */
	__builtin_prefetch((const void *)((uintptr_t)at + AHEAD));
	header = load_u64(at);
	made->time = load_u64(at + layout->time);
	made->cpu = load_u32(at + layout->cpu);
	if ((header & ~kinds) != layout->header || made->cpu > SB_CPU_MAX || !made->time)
		return 0;
	made->out = header >> 32 & PERF_RECORD_MISC_SWITCH_OUT ? 1 : 0;
	made->other_pid = load_i32(at + BODY);
	made->other_tid = load_i32(at + BODY + 4);
	made->pid = load_i32(at + layout->pid);
	made->tid = load_i32(at + layout->pid + 4);
	run->at = at + layout->size;
	return 1;
}

#endif
