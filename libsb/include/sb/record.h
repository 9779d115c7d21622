/* sb/record.h - one perf record: parse, validate, print.
 *
 * Layouts: perf_event_open(2), <linux/perf_event.h>, and perf's
 * tools/perf/Documentation/perf.data-file-format.txt.
 */
#ifndef SB_RECORD_H
#define SB_RECORD_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <sb/error.h>

/* The types that perf itself writes; those of the kernel, below 64, are in <linux/perf_event.h>. */
enum sb_record_type {
	SB_RECORD_HEADER_ATTR = 64,
	SB_RECORD_EVENT_TYPE,
	SB_RECORD_TRACING_DATA,
	SB_RECORD_BUILD_ID,
	SB_RECORD_FINISHED_ROUND,
	SB_RECORD_ID_INDEX,
	SB_RECORD_AUXTRACE_INFO,
	SB_RECORD_AUXTRACE,
	SB_RECORD_AUXTRACE_ERROR,
	SB_RECORD_THREAD_MAP,
	SB_RECORD_CPU_MAP,
	SB_RECORD_STAT_CONFIG,
	SB_RECORD_STAT,
	SB_RECORD_STAT_ROUND,
	SB_RECORD_EVENT_UPDATE,
	SB_RECORD_TIME_CONV,
	SB_RECORD_HEADER_FEATURE,
	SB_RECORD_COMPRESSED,
	SB_RECORD_FINISHED_INIT,
	SB_RECORD_COMPRESSED2,
	SB_RECORD_BPF_METADATA,
	SB_RECORD_SCHEDSTAT_CPU,
	SB_RECORD_SCHEDSTAT_DOMAIN
};

enum { SB_AUXTRACE_INTEL_PT = 1 }; /* of AUXTRACE_INFO's types, the one that is read */

enum { SB_CPU_MAX = 65535 }; /* a higher CPU number in an AUXTRACE record is damage */

/* How an event's SAMPLEs are laid out, and where to find pid, tid, time, ... in the sample trailer of all
 * other records: as its perf_event_attr says. */
struct sb_sample_format {
	uint64_t sample_type; /* PERF_SAMPLE_* */
	int sample_id_all;    /* whether records have a trailer at all */
	/* What follows is not known: SAMPLEs are read up to the first field that needs it. */
	int type_only;
	uint64_t read_format, branch_sample_type, sample_regs_user, sample_regs_intr;
	/* Not zero: attr.build_id, of any event of the recording: an MMAP2 record whose misc says so has a
	 * build-id. Else misc may say so wrongly: the kernel sets the bit for one event, perhaps another
	 * recorder's, and hands the record to the next as it is. */
	uint64_t build_id;
};

/* Which fields the trailer has, as PERF_SAMPLE_* bits; 0 when there is none. */
sb_export uint64_t sb_sample_format_trailer(const struct sb_sample_format *format);

/* The trailer of a record; .has says which fields are there (PERF_SAMPLE_TID, _TIME, _ID, _STREAM_ID, _CPU).
 * An IDENTIFIER fills .id. */
struct sb_sample_id {
	uint64_t has;
	int32_t pid, tid;
	uint64_t time; /* perf clock, ns; 0 for records that perf made up at the start */
	uint64_t id, stream_id;
	uint32_t cpu;
};

/* What a SAMPLE holds besides sb_sample_id, in the order in which it is written. Numbers of 64 bits, where
 * there are several, are at any alignment and little-endian. */
struct sb_sample {
	uint64_t has; /* PERF_SAMPLE_*: what is below, and in sb_sample_id */
	uint64_t ip, addr, period;
	const uint8_t *read; /* as read_format says; a group of u64 */
	uint64_t read_size;
	uint64_t nips;
	const uint8_t *ips; /* the call chain, with PERF_CONTEXT_* in between */
	const uint8_t *raw;
	uint64_t raw_size;
	uint64_t nbranches, branch_hw_idx;    /* hw_idx: UINT64_MAX when not recorded */
	const uint8_t *branches;              /* nbranches x { u64 from, to, flags } */
	uint64_t user_abi, intr_abi;          /* PERF_SAMPLE_REGS_ABI_*; 0: no registers */
	const uint8_t *user_regs, *intr_regs; /* one u64 for each bit of sample_regs_* */
	uint64_t user_nregs, intr_nregs;
	const uint8_t *stack;
	uint64_t stack_size, stack_dyn_size; /* room, and bytes in use */
	uint64_t weight, data_src, transaction, phys_addr, cgroup, data_page_size, code_page_size;
	const uint8_t *aux;
	uint64_t aux_size;
	/* Of sched:sched_switch, when it comes from a recording that has the format; else is_sched_switch is
	 * 0. */
	int is_sched_switch;
	int32_t prev_tid, next_tid;
};

enum { SB_CPU_MAP_LIST, SB_CPU_MAP_MASK, SB_CPU_MAP_RANGE };

/* A set of CPUs. */
struct sb_cpu_map {
	uint16_t kind;
	uint16_t nr;          /* entries of a list or of a mask */
	uint16_t entry_size;  /* bytes */
	uint16_t first, last; /* of a range */
	uint8_t any_cpu;      /* of a range: and what is bound to no CPU */
	const uint8_t *entries;
};

/* The next CPU of the set, -1 for any: 1, or 0 at the end. *position is 0 at first. */
sb_export int sb_cpu_map_next(const struct sb_cpu_map *map, uint32_t *position, int32_t *cpu);

enum { SB_EVENT_UPDATE_UNIT, SB_EVENT_UPDATE_SCALE, SB_EVENT_UPDATE_NAME, SB_EVENT_UPDATE_CPUS };

/* Strings point into the file's bytes and are NUL-terminated there. */
struct sb_record {
	uint32_t type; /* PERF_RECORD_* (kernel, < 64) or perf's own (>= 64) */
	uint16_t misc;
	uint32_t size;        /* with header, without the payload that follows AUXTRACE and TRACING_DATA */
	uint64_t offset;      /* of the header in the file */
	const uint8_t *bytes; /* the header's address */
	const struct sb_sample_format *format; /* that it was parsed with; its owner's */
	struct sb_sample_id sample;
	union {
		struct {
			int32_t pid, tid;
			const char *name;
			int exec; /* PERF_RECORD_MISC_COMM_EXEC */
		} comm;
		struct { /* MMAP and MMAP2 */
			int32_t pid, tid;
			uint64_t addr, len, pgoff;
			const char *filename;
			uint32_t maj, min;
			uint64_t ino, ino_generation;
			uint32_t prot, flags;
			uint8_t build_id_size; /* 0: maj, min, ino are valid instead */
			uint8_t build_id[20];
			uint8_t is_mmap2, is_data, is_kernel;
			uint8_t is_guest; /* of a virtual machine's kernel or user space */
			uint8_t is_cut;   /* reading /proc/PID/maps took perf too long: more is mapped */
		} mmap;
		struct { /* FORK and EXIT */
			int32_t pid, ppid, tid, ptid;
			uint64_t time;
		} task;
		struct { /* SWITCH (next_prev_* are -1) and SWITCH_CPU_WIDE */
			int out, preempt;
			int32_t next_prev_pid, next_prev_tid;
		} context_switch;
		struct {
			int32_t pid, tid;
		} itrace_start;
		struct {
			uint64_t offset, size, flags; /* PERF_AUX_FLAG_* */
		} aux;
		struct {
			uint64_t id, lost;
		} lost;  /* LOST; LOST_SAMPLES has lost only */
		struct { /* THROTTLE and UNTHROTTLE */
			uint64_t time, id, stream_id;
		} throttle;
		struct {
			int32_t pid, tid;
			const uint8_t *values; /* as read_format says; a group of u64 */
			uint64_t size;
		} read;
		struct sb_sample sample;
		struct {
			int32_t pid, tid;
			uint64_t nr;
			const uint8_t *entries; /* sb_record_namespace() */
		} namespaces;
		struct {
			uint64_t addr;
			uint32_t len;
			uint16_t ksym_type; /* PERF_RECORD_KSYMBOL_TYPE_* */
			uint16_t flags;     /* PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER */
			const char *name;
		} ksymbol;
		struct {
			uint16_t event_type; /* PERF_BPF_EVENT_PROG_LOAD, _UNLOAD */
			uint16_t flags;
			uint32_t id;
			uint8_t tag[8];
		} bpf_event;
		struct {
			uint64_t id;
			const char *path;
		} cgroup;
		struct {
			uint64_t addr;
			uint16_t old_len, new_len; /* 0: nothing was there, nothing is */
			const uint8_t *old_bytes, *new_bytes;
		} text_poke;
		struct {
			uint64_t hw_id;
		} aux_output_hw_id;
		struct {
			uint64_t cookie, nr;
			const uint8_t *ips; /* u64 each */
		} callchain_deferred;
		struct {
			uint64_t size, offset, reference;
			uint32_t idx;
			int32_t tid, cpu;
		} auxtrace;
		struct {
			uint32_t type; /* SB_AUXTRACE_INTEL_PT: then the clock's values are in range */
			const uint8_t *priv;
			uint32_t npriv; /* number of u64 */
		} auxtrace_info;
		struct {
			uint32_t type, code, cpu, format;
			int32_t pid, tid;
			uint64_t ip, time;         /* format 0 has no time */
			int32_t machine_pid, vcpu; /* of a guest: format 2 */
			const char *text;
		} auxtrace_error;
		struct {
			uint64_t time_shift, time_mult, time_zero, time_cycles, time_mask;
			int cap_user_time_zero, cap_user_time_short;
		} time_conv;
		struct {
			uint64_t nr;
			const uint8_t *entries; /* nr x { u64 id, idx, cpu, tid } */
			const uint8_t *guests;  /* nr x { u64 machine_pid, vcpu }, or NULL */
		} id_index;
		struct {
			const uint8_t *attr; /* a perf_event_attr, of any version */
			uint32_t attr_size;
			const uint8_t *ids; /* nids x u64 */
			uint64_t nids;
		} header_attr;
		struct {
			uint64_t id;
			const char *name;
		} event_type;
		struct {
			uint32_t size; /* of the payload behind the record, which is padded to 8 bytes */
		} tracing_data;
		struct {
			int32_t pid;
			uint8_t build_id_size;
			uint8_t build_id[20];
			const char *filename;
		} build_id;
		struct {
			uint64_t nr;
			const uint8_t *entries; /* nr x { u64 tid; char comm[16] } */
		} thread_map;
		struct sb_cpu_map cpu_map;
		struct {
			uint64_t nr;
			const uint8_t *entries; /* nr x { u64 tag, value } */
		} stat_config;
		struct {
			uint64_t id;
			int32_t cpu, thread; /* thread: an index into THREAD_MAP */
			uint64_t value, enabled, running;
		} stat;
		struct {
			uint64_t type, time; /* type 1: the last round */
		} stat_round;
		struct {
			uint64_t kind, id; /* SB_EVENT_UPDATE_*: which of those below is there */
			const char *text;
			double scale;
			struct sb_cpu_map cpus;
		} event_update;
		struct {
			uint64_t feature, size; /* perf's number of it */
			const uint8_t *bytes;
		} header_feature;
		struct { /* COMPRESSED and COMPRESSED2: a piece of a zstd stream */
			const uint8_t *bytes;
			uint64_t size;
		} compressed;
	} u;
};

/* Parses the record at @bytes; @avail bytes are there. @format, NULL when it is not known, must last as long
 * as the record. @file and @offset are for the error text. Returns zero, -sbe_truncated when @avail is too
 * small, -sbe_format when the record contradicts itself. Types that are not in the union are accepted: only
 * the header and, for kernel types, the trailer are filled; a SAMPLE, which has none, fills the same fields.
 */
sb_export int sb_record_parse(struct sb_record *record, const uint8_t *bytes, size_t avail,
                              const struct sb_sample_format *format, const char *file, uint64_t offset,
                              struct sb_error *err);

/* A namespace that a thread is in: the inode of /proc/PID/ns/KIND and its device. */
struct sb_namespace {
	uint64_t dev, ino;
};

/* Of a NAMESPACES record: @kind is NET_NS_INDEX, UTS_.., IPC_.., PID_.., USER_.., MNT_.. or CGROUP_NS_INDEX,
 * of <linux/perf_event.h>. Zeroes when the record does not have it. */
sb_export struct sb_namespace sb_record_namespace(const struct sb_record *record, uint64_t kind);

/* "MMAP2", "SWITCH_CPU_WIDE", ...; "unknown" for what has no name. */
sb_export const char *sb_record_name(uint32_t type);

/* One line, without newline: offset, cpu, pid/tid, time (each "-" where there is none), name and
 * fields (<sb/record_fields.h>), separated by tabs up to the name. Bytes of strings that do not print
 * become \xNN. */
sb_export void sb_record_print(FILE *out, const struct sb_record *record);

#endif
