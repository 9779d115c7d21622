/* live_events.h - the perf events of a live recording, on all its CPUs, and the rings that they write into.
 *
 * Each CPU has one ring. It is mapped for the first event that is opened there, the others write into it. An
 * event that makes trace is the first one, as a ring's buffer for trace belongs to the event that the ring
 * is of.
 */
#ifndef SB_LIVE_EVENTS_H
#define SB_LIVE_EVENTS_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sb/error.h>

#include "capture/freeze.h"
#include "capture/live_ring.h"

enum live_role {
	live_role_wanted,   /* what the recording is for: a sampled event, or a trace */
	live_role_sideband, /* who runs, and what is mapped */
	live_role_cgroup,
};

struct live_event {
	char *name; /* owned */
	struct perf_event_attr attr;
	enum live_role role;
	int has_aux;
	int of_targets; /* only when they run; else of whole CPUs */
	int cpu;        /* the only one; -1: all */
};

/* An event on a CPU. */
struct live_fd {
	int fd;
	uint32_t cpu;
	size_t event;
	pid_t tid; /* -1: whoever runs */
	uint64_t id;
};

struct live_cpu {
	uint32_t cpu;
	uint32_t stream;   /* of its trace: a number of its own each time that the CPU comes */
	int online, owner; /* the descriptor that the ring was mapped for; -1 */
	int listed;        /* by sysfs, as online, the last time */
	struct live_ring ring;
};

/* Threads; or a cgroup; or neither: all. */
struct live_targets {
	struct freeze_thread *thread; /* owned */
	size_t count, capacity;
	int cgroup; /* a directory's descriptor, owned; -1 */
};

struct live_events {
	struct live_event *event; /* owned */
	size_t nevents, events_capacity;
	struct live_fd *fd; /* owned */
	size_t nfds, fds_capacity;
	struct live_cpu *cpu; /* owned; in order of their numbers */
	size_t ncpus, cpus_capacity;
	struct live_targets targets;
	uint64_t ring_size, aux_size;
	uint32_t nreturned;   /* CPUs that came back */
	uint64_t lost_before; /* by events that are closed */
	int may_shrink;       /* rings may be smaller if the kernel gives no more */
	int snapshot;
};

/* Declares an event; a copy of @name. Those that have a trace come first. */
int live_events_add(struct live_events *events, const char *name, const struct perf_event_attr *attr,
                    enum live_role role, int of_targets, struct sb_error *err);

/* The CPU of that number, which is added if it is not there; NULL: no memory. */
struct live_cpu *live_events_cpu(struct live_events *events, uint32_t number);

/* Opens all of them on @cpu. Zero; 1: the CPU is not online; or an error. Descriptors from *first on are new.
 */
int live_events_open(struct live_events *events, uint32_t cpu, size_t *first, struct sb_error *err);
/* The CPU is gone: its ring must have been drained. */
void live_events_close(struct live_events *events, struct live_cpu *cpu);
void live_events_fini(struct live_events *events);

/* Starts, or stops, those of one role. */
int live_events_enable(const struct live_events *events, enum live_role role, int enable,
                       struct sb_error *err);

/* How many records found no room, by the events' own count; zero where the kernel does not count (before
 * Linux 6.0). */
uint64_t live_events_lost(const struct live_events *events);

/* Whether no thread is left that the recording was to follow, or the cgroup has been removed. */
int live_events_are_over(const struct live_events *events);

/* The CPUs in a list of sysfs like "0-3,8": calls back for each. Zero; or negative: it cannot be read. */
int live_cpus(const char *sysfs, const char *list, int (*take)(void *context, uint32_t cpu), void *context);

#endif
