/* sb/system.h - the model of the system over time, made from sideband records.
 *
 * Built once, in one pass over the records sorted by time; immutable afterwards, and asked by time,
 * so that any number of decoders can move along it independently and in any order.
 * All times are perf clock, ns. Records without a time (made up by perf at the start) count as 0.
 *
 * Address spaces are versioned in *epochs*: as there are no unmap records, and as code cannot run
 * where nothing is mapped yet, one set of mappings serves from one conflict (a mapping over an
 * earlier, different one) to the next. Most address spaces have one epoch.
 */
#ifndef SB_SYSTEM_H
#define SB_SYSTEM_H

#include <stddef.h>
#include <stdint.h>

#include <sb/container.h>
#include <sb/error.h>
#include <sb/perfdata.h>

struct sb_system;

/* Where the bytes of a mapping are. */
enum sb_map_origin {
	sb_map_recorded, /* in the file that a record names */
	/* Mapped from that file so that the process could write there, too, or it once was: what stands there
	 * is not known. */
	sb_map_written,
	/* Code that a just-in-time compiler made, and wrote to a jitdump: at .pgoff of the file .filename, a
	 * path of this machine. */
	sb_map_jit,
	sb_map_jit_moved,   /* moved there by the compiler, and the dump does not say what it was */
	sb_map_jit_cut,     /* the dump is cut off: what stands there since is not known */
	sb_map_jit_unsure,  /* one came over the other there, and the trace's time is not exact enough */
	sb_map_jit_untimed, /* several pieces of code stood there, and the dump's times say not which one when
	                     */
	/* Another process, which may have the same memory, mapped that file there; this one had something
	 * else. */
	sb_map_doubtful,
};

/* Who maps what: executable user mappings, and code that the processes made themselves. */
struct sb_map {
	uint64_t begin, end; /* end exclusive */
	uint64_t pgoff;
	const char *filename; /* owned by the system; as recorded: "/usr/bin/ls", "[vdso]", "//anon" */
	uint32_t maj, min;
	uint64_t ino;
	uint8_t build_id_size;
	uint8_t build_id[20];
	uint8_t origin;   /* enum sb_map_origin */
	uint8_t replaced; /* while it was recorded, another file was at the same path: not by its path */
	int32_t pid;      /* who mapped it: a forked child has its parent's mappings */
	uint64_t time;
	/* The mapping that this is a part of, as recorded, before others covered parts of it. Size 0: more
	 * than one record contributed. */
	uint64_t recorded_pgoff, recorded_size;
};

struct sb_map_node;

/* A set of non-overlapping mappings, valid for [from, to). Walk it with sb_epoch_map(). */
struct sb_epoch {
	uint32_t id; /* unique within the system, dense from 0: an index for what callers keep per epoch */
	uint64_t from, to;
	const struct sb_map_node *root; /* a search tree that epochs share parts of; NULL: no mappings */
	const struct sb_map_node *code; /* the same for the code that the process made itself */
};

/* The first mapping that ends after @addr, or NULL: it holds @addr when its begin is <= @addr.
 * All mappings in order: for (map = sb_epoch_map(e, 0); map; map = sb_epoch_map(e, map->end)). */
sb_export const struct sb_map *sb_epoch_map(const struct sb_epoch *epoch, uint64_t addr);

/* What runs at @addr: code that the process made itself, else the recorded mapping there; or NULL. */
sb_export const struct sb_map *sb_epoch_code(const struct sb_epoch *epoch, uint64_t addr);

/* Whether a recorded name says that no file stands behind a mapping: "//anon", "[heap]", "/memfd:..". */
sb_export int sb_map_is_anonymous(const char *filename);

/* An address space: from exec or fork to the next exec or exit. A fork that changed no mapping since
 * has its parent's epoch (the same id). */
struct sb_space {
	int32_t pid;
	uint64_t from, to;
	const struct sb_epoch *epoch;
	size_t nepochs;
};

/* Who ran on a CPU from a moment on, and who had run before as that switch's records say. pid 0 is idle, -1
 * unknown. */
struct sb_sched {
	uint64_t time;
	int32_t pid, tid;
	int32_t prev_pid, prev_tid; /* where that is not who the entry before says, records were lost */
	uint32_t records;           /* enum sb_sched_record: what says so */
	uint32_t in_after; /* ns: with both records, the second one's time after the first one's, up to
	                      UINT32_MAX; 0: not known */
};

enum sb_sched_record { sb_sched_out = 1 << 0, sb_sched_in = 1 << 1, sb_sched_other = 1 << 2 };

/* Reads all records of @perfdata, which must outlive the system. Damage ends the walk, not the
 * building: the system then knows what came before; see sb_system_damage(). */
sb_export int sb_system_build(struct sb_system **system, const struct sb_perfdata *perfdata,
                              struct sb_error *err);
sb_export void sb_system_free(struct sb_system *system);

/* The damage that ended the walk over the records, or NULL. */
sb_export const struct sb_error *sb_system_damage(const struct sb_system *system);

/* The schedule of a CPU, sorted by time; *count may be 0. A long one is mapped from a temporary file without a
 * name, in the directory TMPDIR names, else in /var/tmp; where none can be had, it is in memory. */
sb_export const struct sb_sched *sb_system_schedule(const struct sb_system *system, int32_t cpu,
                                                    size_t *count);

/* The address space of @pid at @time, or NULL. A new space begins at its COMM exec record (or fork).
 * After its exit it is given until the pid is used again, as late records may ask for it. */
sb_export const struct sb_space *sb_system_space(const struct sb_system *system, int32_t pid, uint64_t time);

/* The epoch of @space at @time; NULL when it has no mappings. */
sb_export const struct sb_epoch *sb_space_epoch(const struct sb_space *space, uint64_t time);

/* The command name of @tid (of @pid) at @time; "" when not known; that of idle CPUs is
 * "swapper", when no record names it. Lives as long as the system. */
sb_export const char *sb_system_comm(const struct sb_system *system, int32_t pid, int32_t tid, uint64_t time);

/* The same; *until becomes the time of the thread's next name, UINT64_MAX when there is none. */
sb_export const char *sb_system_comm_until(const struct sb_system *system, int32_t pid, int32_t tid,
                                           uint64_t time, uint64_t *until);

/* The process that thread @tid belonged to last, or -1. */
sb_export int32_t sb_system_thread_pid(const struct sb_system *system, int32_t tid);

/* Namespaces, in the order of a NAMESPACES record: NET_NS_INDEX, ... of <linux/perf_event.h>. Zeroes where
 * the record has none. */
enum { SB_NAMESPACES = 8 };
struct sb_namespaces {
	struct {
		uint64_t dev, ino;
	} of[SB_NAMESPACES];
};

/* Where a thread belongs in [from, to). What records do not tell is NULL. */
struct sb_membership {
	uint64_t from, to;
	const char *cgroup; /* its path, of the hierarchy that perf goes by */
	const struct sb_namespaces *namespaces;
	const struct sb_container *container; /* the innermost; NULL: none, or not known */
};

/* The membership of thread @tid of @pid at @time; NULL when no record tells anything about it.
 *
 * Namespaces are known from the moment on at which they are entered (NAMESPACES records). Which cgroup a
 * thread is in is known only when it is sampled (PERF_SAMPLE_CGROUP) and from its parent when it is forked;
 * it counts from there to the next sample that says something else, and, for who ran before, back to the
 * beginning. As each container has a mount namespace of its own, a thread that has entered it is in the
 * container at once, sampled or not. In none of these cgroups, a thread whose PID and mount namespaces both
 * are not those of process 1 is in a container that is known by the former. */
sb_export const struct sb_membership *sb_system_membership(const struct sb_system *system, int32_t pid,
                                                           int32_t tid, uint64_t time);

/* All memberships of all threads; those of one thread are neighbours, by time. */
sb_export const struct sb_membership *sb_system_memberships(const struct sb_system *system, size_t *count);

/* All containers that somebody was in. */
sb_export const struct sb_container *const *sb_system_containers(const struct sb_system *system,
                                                                 size_t *count);

sb_export size_t sb_system_nepochs(const struct sb_system *system);
sb_export uint64_t sb_system_nrecords(const struct sb_system *system, uint64_t *skipped);

/* Spans of an AUX stream that the kernel flagged (AUX record): truncated, partial, collision. */
struct sb_aux_flag {
	uint64_t time, aux_offset, aux_size, flags;
	int32_t tid; /* whose record it is; -1: not known */
};
/* Those of a CPU's stream; and of any stream, which may be a thread's. */
sb_export const struct sb_aux_flag *sb_system_aux_flags(const struct sb_system *system, int32_t cpu,
                                                        size_t *count);
sb_export const struct sb_aux_flag *sb_system_stream_flags(const struct sb_system *system,
                                                           const struct sb_aux_stream *stream, size_t *count);

/* Where sideband records were lost. LOST: between the CPU's previous record and @time; the schedule is
 * unknown (pid -1) from there to @time, when whom the record's sample_id names runs, or, where it names
 * nobody, to the CPU's next switch. LOST_SAMPLES with a time: samples of some event;
 * without, the sum of an event over the whole recording: what the LOST records do not account for was lost
 * behind each CPU's last record. THROTTLE: an event was switched off for a while. The last two make the
 * schedule unknown only where it comes from samples (sched:sched_switch). */
struct sb_lost {
	uint64_t time, nrecords; /* nrecords: 0 when not known */
	int32_t cpu;             /* -1: not known */
	uint32_t type;           /* PERF_RECORD_LOST, _LOST_SAMPLES, _THROTTLE */
};
sb_export const struct sb_lost *sb_system_lost(const struct sb_system *system, size_t *count);

#endif
