/* live_events.c - see live_events.h. */
#include "capture/live_events.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "capture/live_attrs.h"
#include "system/arena.h"

enum { least_ring = 64 << 10, paranoid_most = 128 };

static int out_of_memory(struct sb_error *err)
{
	return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

int live_events_add(struct live_events *events, const char *name, const struct perf_event_attr *attr,
                    enum live_role role, int of_targets, struct sb_error *err)
{
	struct live_event event = {
	        .name = strdup(name), .attr = *attr, .role = role, .of_targets = of_targets, .cpu = -1};

	event.attr.watermark = 1;
	event.attr.wakeup_watermark = (uint32_t)(events->ring_size / 4);
	event.attr.inherit = of_targets && events->targets.count;
	if (!event.name || array_reserve(&events->event, &events->events_capacity, events->nevents,
	                                 sizeof(*events->event)) < 0) {
		free(event.name);
		return out_of_memory(err);
	}
	events->event[events->nevents++] = event;
	return 0;
}

/* ---- What the kernel may say ------------------------------------------------------------------ */

/* What it says, for the user; or why that is not known. */
static void paranoid(char text[paranoid_most])
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level;

	if (!file)
		snprintf(text, paranoid_most, "cannot be read (%s)", strerror(errno));
	else if (fscanf(file, "%d", &level) == 1)
		snprintf(text, paranoid_most, "is %d", level);
	else
		snprintf(text, paranoid_most, "holds no number");
	if (file)
		fclose(file);
}

static int may_not(struct sb_error *err, const struct live_event *event)
{
	char text[paranoid_most];

	paranoid(text);
	return sb_error_set(err, -sbe_io, NULL, UINT64_MAX,
	                    "%s may not be recorded here: /proc/sys/kernel/perf_event_paranoid %s; root may, "
	                    "or who has CAP_PERFMON; %s",
	                    event->name, text,
	                    event->attr.exclude_kernel
	                            ? "and where it is 2 or less, who records own processes"
	                            : "of own processes, user space alone may be: with the modifier u");
}

static int fail_open(struct sb_error *err, const struct live_event *event, uint32_t cpu, int error)
{
	struct rlimit files;

	switch (error) {
	case EPERM:
	case EACCES:
		return may_not(err, event);
	case ENOMEM:
		return out_of_memory(err);
	case EMFILE:
		getrlimit(RLIMIT_NOFILE, &files);
		return sb_error_set(err, -sbe_io, NULL, UINT64_MAX,
		                    "more files are needed than may be open: the limit is %" PRIu64
		                    " (ulimit -n), and each event takes one for each CPU and thread",
		                    (uint64_t)files.rlim_cur);
	case ESRCH:
		return sb_error_set(err, -sbe_not_found, NULL, UINT64_MAX,
		                    "there is no such process or thread");
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
	case EINVAL:
		return sb_error_set(err, -sbe_unsupported, NULL, UINT64_MAX,
		                    "%s: this machine cannot record it on CPU %" PRIu32 " (%s)", event->name,
		                    cpu, strerror(error));
	case EBUSY:
		return sb_error_set(err, -sbe_io, NULL, UINT64_MAX,
		                    "%s: somebody else uses it on CPU %" PRIu32, event->name, cpu);
	default:
		return sb_error_set(err, -sbe_io, NULL, UINT64_MAX, "%s on CPU %" PRIu32 ": %s", event->name,
		                    cpu, strerror(error));
	}
}

static int fail_map(struct sb_error *err, const char *what, uint64_t size, uint32_t cpu, int error)
{
	return sb_error_set(
	        err, error == ENOMEM ? -sbe_nomem : -sbe_io, NULL, UINT64_MAX,
	        "%s of %" PRIu64 " KiB cannot be had for CPU %" PRIu32 " (%s)%s", what, size >> 10, cpu,
	        strerror(error),
	        error == EPERM ? ": /proc/sys/kernel/perf_event_mlock_kb, or ulimit -l, is too small" : "");
}

/* ---- Opening ---------------------------------------------------------------------------------- */

static int open_one(const struct live_events *events, const struct live_event *event, uint32_t cpu, pid_t tid)
{
	const int by_cgroup = event->of_targets && events->targets.cgroup >= 0;
	const int who = by_cgroup ? events->targets.cgroup : tid;
	const unsigned long flags = by_cgroup ? PERF_FLAG_PID_CGROUP : 0;

	return live_event_open(&event->attr, who, (int)cpu, flags);
}

/* The ring is this event's, or it gets to write into it. */
static int join_ring(struct live_events *events, struct live_cpu *cpu, const struct live_event *event, int fd,
                     struct sb_error *err)
{
	int status;

	if (cpu->owner >= 0) {
		if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, cpu->owner) < 0)
			return sb_error_set(err, -sbe_io, NULL, UINT64_MAX,
			                    "%s cannot share the ring of CPU %" PRIu32 ": %s", event->name,
			                    cpu->cpu, strerror(errno));
		return 0;
	}
	status = live_ring_map(&cpu->ring, fd, events->ring_size);
	/* Who is not privileged gets less: see perf_event_mlock_kb in perf_event_open(2). */
	while (status == -EPERM && events->may_shrink && events->ring_size > least_ring) {
		events->ring_size /= 2;
		status = live_ring_map(&cpu->ring, fd, events->ring_size);
	}
	if (status < 0)
		return fail_map(err, "a ring", events->ring_size, cpu->cpu, -status);
	cpu->owner = fd;
	if (event->has_aux)
		status = live_ring_map_aux(&cpu->ring, fd, events->aux_size, events->snapshot);
	return status < 0 ? fail_map(err, "a buffer for trace", events->aux_size, cpu->cpu, -status) : 0;
}

static int add_fd(struct live_events *events, const struct live_fd *fd, struct sb_error *err)
{
	if (array_reserve(&events->fd, &events->fds_capacity, events->nfds, sizeof(*events->fd)) < 0)
		return out_of_memory(err);
	events->fd[events->nfds++] = *fd;
	return 0;
}

/* One event on the CPU, for one thread, or for all. 1: the CPU is not online; 2: the thread is gone. */
static int open_for(struct live_events *events, struct live_cpu *cpu, size_t index, pid_t tid,
                    struct sb_error *err)
{
	const struct live_event *event = &events->event[index];
	struct live_fd fd = {
	        .fd = open_one(events, event, cpu->cpu, tid), .cpu = cpu->cpu, .event = index, .tid = tid};
	int status;

	if (fd.fd == -ENODEV && live_cpu_is_offline(cpu->cpu))
		return 1;
	if (fd.fd == -ESRCH && events->targets.count > 1)
		return 2;
	if (fd.fd < 0)
		return fail_open(err, event, cpu->cpu, -fd.fd);
	status = join_ring(events, cpu, event, fd.fd, err);
	if (status == 0 && ioctl(fd.fd, PERF_EVENT_IOC_ID, &fd.id) < 0)
		status = sb_error_set(err, -sbe_io, NULL, UINT64_MAX, "%s: it has no identifier: %s",
		                      event->name, strerror(errno));
	if (status == 0)
		status = add_fd(events, &fd, err);
	if (status < 0) {
		if (cpu->owner == fd.fd)
			cpu->owner = -1;
		close(fd.fd);
	}
	return status;
}

static int open_event(struct live_events *events, struct live_cpu *cpu, size_t index, struct sb_error *err)
{
	const int only = events->event[index].cpu;
	int status = 0;

	if (only >= 0 && (uint32_t)only != cpu->cpu)
		return 0;
	if (!events->event[index].of_targets || !events->targets.count)
		return open_for(events, cpu, index, -1, err);
	for (size_t i = 0; i < events->targets.count && (status == 0 || status == 2); ++i)
		status = open_for(events, cpu, index, events->targets.thread[i].tid, err);
	return status == 2 ? 0 : status;
}

struct live_cpu *live_events_cpu(struct live_events *events, uint32_t number)
{
	for (size_t i = 0; i < events->ncpus; ++i)
		if (events->cpu[i].cpu == number)
			return &events->cpu[i];
	if (array_reserve(&events->cpu, &events->cpus_capacity, events->ncpus, sizeof(*events->cpu)) < 0)
		return NULL;
	events->cpu[events->ncpus] = (struct live_cpu){.cpu = number, .stream = number, .owner = -1};
	return &events->cpu[events->ncpus++];
}

/* Its value, identifier, and what was lost of it. */
static uint64_t lost_of(const struct live_events *events, const struct live_fd *fd)
{
	uint64_t values[3];

	if (!(events->event[fd->event].attr.read_format & live_read_lost) ||
	    read(fd->fd, values, sizeof(values)) != sizeof(values))
		return 0;
	return values[2];
}

uint64_t live_events_lost(const struct live_events *events)
{
	uint64_t lost = events->lost_before;

	for (size_t i = 0; i < events->nfds; ++i)
		lost += lost_of(events, &events->fd[i]);
	return lost;
}

void live_events_close(struct live_events *events, struct live_cpu *cpu)
{
	size_t kept = 0;

	live_ring_unmap(&cpu->ring);
	for (size_t i = 0; i < events->nfds; ++i)
		if (events->fd[i].cpu == cpu->cpu) {
			events->lost_before += lost_of(events, &events->fd[i]);
			close(events->fd[i].fd);
		} else {
			events->fd[kept++] = events->fd[i];
		}
	events->nfds = kept;
	cpu->online = 0;
	cpu->owner = -1;
}

int live_events_open(struct live_events *events, uint32_t number, size_t *first, struct sb_error *err)
{
	struct live_cpu *cpu = live_events_cpu(events, number);
	int status = 0;

	*first = events->nfds;
	if (!cpu)
		return out_of_memory(err);
	for (int aux = 1; aux >= 0 && status == 0; --aux)
		for (size_t i = 0; i < events->nevents && status == 0; ++i)
			if (events->event[i].has_aux == aux)
				status = open_event(events, cpu, i, err);
	if (status > 0) /* some may have been opened before it went */
		live_events_close(events, cpu);
	cpu->online = status == 0;
	return status;
}

void live_events_fini(struct live_events *events)
{
	for (size_t i = 0; i < events->ncpus; ++i)
		live_ring_unmap(&events->cpu[i].ring);
	for (size_t i = 0; i < events->nfds; ++i)
		close(events->fd[i].fd);
	for (size_t i = 0; i < events->nevents; ++i)
		free(events->event[i].name);
	if (events->targets.cgroup >= 0)
		close(events->targets.cgroup);
	free(events->targets.thread);
	free(events->event);
	free(events->fd);
	free(events->cpu);
	*events = (struct live_events){.targets = {.cgroup = -1}};
}

int live_events_enable(const struct live_events *events, enum live_role role, int enable,
                       struct sb_error *err)
{
	const unsigned long request = enable ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	for (size_t i = 0; i < events->nfds; ++i) {
		const struct live_event *event = &events->event[events->fd[i].event];

		if (event->role == role && ioctl(events->fd[i].fd, request, 0) < 0)
			return sb_error_set(err, -sbe_io, NULL, UINT64_MAX, "%s cannot be %s: %s",
			                    event->name, enable ? "started" : "stopped", strerror(errno));
	}
	return 0;
}

int live_events_are_over(const struct live_events *events)
{
	if (events->targets.cgroup >= 0) /* a directory that is removed is empty */
		return faccessat(events->targets.cgroup, "cgroup.procs", F_OK, 0) < 0;
	if (!events->targets.count)
		return 0;
	for (size_t i = 0; i < events->nfds; ++i) {
		struct pollfd poll_fd = {.fd = events->fd[i].fd, .events = POLLIN};

		if (events->event[events->fd[i].event].of_targets &&
		    (poll(&poll_fd, 1, 0) < 0 || !(poll_fd.revents & POLLHUP)))
			return 0;
	}
	return 1;
}

int live_cpus(const char *sysfs, const char *list, int (*take)(void *context, uint32_t cpu), void *context)
{
	char path[4096];
	unsigned int first, last;
	int status = 0, behind = ',';
	FILE *file;

	snprintf(path, sizeof(path), "%s/devices/system/cpu/%s", sysfs ? sysfs : "/sys", list);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (status == 0 && behind == ',' && fscanf(file, "%u", &first) == 1) {
		last = first;
		behind = fgetc(file);
		if (behind == '-') {
			if (fscanf(file, "%u", &last) != 1)
				break;
			behind = fgetc(file);
		}
		for (unsigned int cpu = first; cpu <= last && status == 0; ++cpu)
			status = take(context, cpu);
	}
	fclose(file);
	return status;
}
