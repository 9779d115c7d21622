/* sb/perfdata_write.h - writing a perf.data as `perf record -a -e intel_pt//u` does.
 *
 * Records and AUX data are appended as they come and go to the file through a buffer; the header,
 * the attributes, the AUXTRACE index and the features are completed by sb_perfdata_writer_finish().
 * A writer belongs to one thread at a time. After an error it can only be finished (which reports the
 * error again) or aborted.
 *
 * What the caller has to do, so that readers can sort the records by time:
 *
 *   1. first the state before tracing: sb_write_comm() and sb_write_mmap2() with a NULL sample, then
 *      sb_write_finished_init();
 *   2. then rounds. In a round, the records of each CPU are in order of time (CPUs may follow each
 *      other, as when rings are drained, or be mixed by time), and sb_write_finished_round() ends it.
 *      No record may be older than the newest one of the round before the previous one: a reader
 *      has let those go. One round for everything is right, but makes readers hold everything;
 *   3. AUX data of a CPU in order, sb_write_aux() in the round in which the data became available,
 *      sb_write_auxtrace() at any place (perf writes it at the end of a round).
 */
#ifndef SB_PERFDATA_WRITE_H
#define SB_PERFDATA_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include <sb/clock.h>
#include <sb/error.h>
#include <sb/record.h>

struct sb_perfdata_writer;

struct sb_perfdata_write_config {
	size_t size;          /* sizeof(struct sb_perfdata_write_config) */
	uint32_t ncpus;       /* 1..1000; CPU numbers are below it */
	uint32_t pt_pmu_type; /* 8 where there is no better */
	uint64_t pt_config;   /* attr.config of the intel_pt event */
	uint16_t family;
	uint8_t model, stepping;
	const char *cpudesc, *hostname, *osrelease, *cmdline; /* copied; NULL: unknown, this host's, none */
	struct sb_clock clock;
	uint32_t tsc_ctc_num, tsc_ctc_den;
	uint8_t max_nonturbo_ratio;
	int user_only;
	/* With --namespaces --all-cgroups and the event cgroup-switches, whose samples tell in which cgroup a
	 * thread is. At most 600 CPUs then. */
	int cgroups;
};

/* Writes the header's place, the attributes and the records that perf writes first (AUXTRACE_INFO,
 * TIME_CONV, ID_INDEX, THREAD_MAP, CPU_MAP). The file appears under @path when it is finished. */
sb_export int sb_perfdata_writer_open(struct sb_perfdata_writer **writer, const char *path,
                                      const struct sb_perfdata_write_config *config, struct sb_error *err);

/* A sample trailer's content (pid, tid, time, cpu; the identifier is added: that of the intel_pt event
 * on that CPU for AUX and ITRACE_START, of the dummy event for all else). A NULL sample in the calls
 * below makes a record of the state before tracing, with a trailer of zeros. */
struct sb_write_sample {
	int32_t pid, tid;
	uint64_t time; /* ns, perf clock */
	uint32_t cpu;
};

struct sb_write_mmap2 {
	int32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino;
	uint32_t prot, flags;
	const char *filename;
	uint8_t build_id_size; /* above 0: it is written in place of maj, min, ino */
	uint8_t build_id[20];
	int is_kernel; /* the kernel's code, or a module's */
};

/* A name is cut to 15 bytes, as the kernel does. */
sb_export int sb_write_comm(struct sb_perfdata_writer *, const struct sb_write_sample *, int32_t pid,
                            int32_t tid, const char *comm, int exec, struct sb_error *);
sb_export int sb_write_mmap2(struct sb_perfdata_writer *, const struct sb_write_sample *,
                             const struct sb_write_mmap2 *, struct sb_error *);
/* A fork without a sample hands no mappings on. */
sb_export int sb_write_fork(struct sb_perfdata_writer *, const struct sb_write_sample *, int32_t pid,
                            int32_t ppid, int32_t tid, int32_t ptid, struct sb_error *);
sb_export int sb_write_exit(struct sb_perfdata_writer *, const struct sb_write_sample *, int32_t pid,
                            int32_t ppid, int32_t tid, int32_t ptid, struct sb_error *);
/* @namespaces in the order of NET_NS_INDEX, ... of <linux/perf_event.h>. */
sb_export int sb_write_namespaces(struct sb_perfdata_writer *, const struct sb_write_sample *, int32_t pid,
                                  int32_t tid, const struct sb_namespace *namespaces, size_t count,
                                  struct sb_error *);
/* A cgroup that there is (NULL sample), or that is made. */
sb_export int sb_write_cgroup(struct sb_perfdata_writer *, const struct sb_write_sample *, uint64_t id,
                              const char *path, struct sb_error *);
/* A SAMPLE: the thread that the sample names is in that cgroup. */
sb_export int sb_write_cgroup_sample(struct sb_perfdata_writer *, const struct sb_write_sample *, uint64_t ip,
                                     uint64_t cgroup, struct sb_error *);
/* SWITCH_CPU_WIDE; the sample names who the record is about, next_prev the other side. */
sb_export int sb_write_switch(struct sb_perfdata_writer *, const struct sb_write_sample *, int out,
                              int preempt, int32_t next_prev_pid, int32_t next_prev_tid, struct sb_error *);
sb_export int sb_write_itrace_start(struct sb_perfdata_writer *, const struct sb_write_sample *, int32_t pid,
                                    int32_t tid, struct sb_error *);
/* AUX: [offset, offset + size) of the CPU's stream became available; PERF_AUX_FLAG_*. */
sb_export int sb_write_aux(struct sb_perfdata_writer *, const struct sb_write_sample *, uint64_t offset,
                           uint64_t size, uint64_t flags, struct sb_error *);
/* A function of a BPF program, and the program, which was loaded. */
sb_export int sb_write_ksymbol(struct sb_perfdata_writer *, const struct sb_write_sample *, uint64_t addr,
                               uint32_t size, const char *name, struct sb_error *);
sb_export int sb_write_bpf_event(struct sb_perfdata_writer *, const struct sb_write_sample *, uint32_t id,
                                 const uint8_t tag[8], struct sb_error *);
/* The kernel patched as many bytes of its code; no more than 64. */
sb_export int sb_write_text_poke(struct sb_perfdata_writer *, const struct sb_write_sample *, uint64_t addr,
                                 const uint8_t *old_bytes, const uint8_t *new_bytes, uint16_t size,
                                 struct sb_error *);
/* So many records found no room before this one. */
sb_export int sb_write_lost(struct sb_perfdata_writer *, const struct sb_write_sample *, uint64_t lost,
                            struct sb_error *);
sb_export int sb_write_finished_init(struct sb_perfdata_writer *, struct sb_error *);
sb_export int sb_write_finished_round(struct sb_perfdata_writer *, struct sb_error *);
/* AUXTRACE with its payload; the offset in the CPU's stream is kept by the writer and counts the bytes
 * that were given, as AUX records do. The payload is padded to 8 bytes with PAD packets, so it must
 * end between two packets unless its size is a multiple of 8. */
sb_export int sb_write_auxtrace(struct sb_perfdata_writer *, uint32_t cpu, uint64_t reference,
                                const void *bytes, uint64_t size, struct sb_error *);

/* Completes the file and renames it to its path; frees the writer, also on error. */
sb_export int sb_perfdata_writer_finish(struct sb_perfdata_writer *writer, struct sb_error *err);
/* Gives up: removes what was written, frees the writer. NULL is fine. */
sb_export void sb_perfdata_writer_abort(struct sb_perfdata_writer *writer);

#endif
