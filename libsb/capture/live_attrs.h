/* live_attrs.h - what is asked of the kernel in a live recording: the event that carries the sideband, with
 * all of it that this kernel knows, and the one that tells who is in which cgroup.
 */
#ifndef SB_LIVE_ATTRS_H
#define SB_LIVE_ATTRS_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include <sb/error.h>

struct live_attrs {
	struct perf_event_attr sideband;
	struct perf_event_attr cgroup; /* a sample whenever another cgroup runs */
	int has_cgroup;
	uint64_t sample_type, read_format; /* of all events */
	char missing[256];                 /* what this kernel does not know, in words; or "" */
};

enum {
	live_attr_size = 128,   /* of Linux 6.1 */
	live_read_lost = 1 << 4 /* PERF_FORMAT_LOST, since Linux 6.0: older headers have no name for it */
};

/* Opens an event (perf_event_open(2)). The descriptor, or -errno. */
int live_event_open(const struct perf_event_attr *attr, int pid, int cpu, unsigned long flags);

/* Whether not even the least can be opened there: so that an event which cannot be says nothing of itself. */
int live_cpu_is_offline(uint32_t cpu);

/* Finds out, on @cpu, what the kernel knows. Zero or -errno: not even the least is possible there; -ENODEV:
 * the CPU is offline. */
int live_attrs_probe(struct live_attrs *attrs, int pid, int cpu);

/* What all of a recording's events have in common. */
void live_attr_common(const struct live_attrs *attrs, struct perf_event_attr *attr);

#endif
