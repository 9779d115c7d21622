/* recorder_setup.c - what a live recording is of: its targets, its events, opened on all CPUs, and the file's
 * beginning, which tells of them.
 */
#include "capture/recorder_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sb/event.h>

#include "capture/proc_stat.h"
#include "capture/shortage.h"
#include "capture/sysfs_pmu.h"
#include "system/arena.h"

enum { default_ring = 8 << 20, default_aux = 4 << 20, default_frequency = 4000 };

int sb_recorder_has_pt(const char *sysfs)
{
	struct sysfs_pmu pmu;
	const int status = sysfs_pmu_open(&pmu, sysfs, "intel_pt", NULL);

	return status == -sb_event_nomem ? -sbe_nomem : status == 0;
}

/* ---- Of whom ---------------------------------------------------------------------------------- */

static int add_thread(struct recorder *recorder, pid_t tid)
{
	pid_t pid;
	const int status = proc_leader_of(&pid, tid);

	if (status < 0)
		return fail_short(-status, "/proc", recorder->err);
	if (!status)
		return sb_error_set(recorder->err, -sbe_not_found, NULL, UINT64_MAX, "there is no thread %d",
		                    tid);
	return recorder_is_target(recorder, tid) ? 0 : recorder_add_target(recorder, pid, tid);
}

static int fail_cgroup(struct recorder *recorder, const char *path, int error)
{
	if (is_shortage(error))
		return fail_short(error, path, recorder->err);
	if (error == ENOENT)
		return sb_error_set(recorder->err, -sbe_not_found, path, UINT64_MAX,
		                    "no hierarchy of cgroups with perf_event is mounted here");
	return sb_error_set(recorder->err, -sbe_not_found, path, UINT64_MAX,
	                    "where the control group is cannot be known: %s",
	                    error == EXDEV ? "another part of the hierarchy is mounted here"
	                                   : strerror(error));
}

static int open_cgroup(struct recorder *recorder, const char *path)
{
	struct cgroups *cgroups;
	char full[PATH_MAX];
	int status = cgroups_open(&cgroups);

	if (status == 0)
		status = cgroups_place(cgroups, path, full);
	cgroups_close(cgroups);
	if (status < 0)
		return fail_cgroup(recorder, path, -status);
	recorder->events.targets.cgroup = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (recorder->events.targets.cgroup >= 0)
		return 0;
	if (is_shortage(errno))
		return fail_short(errno, full, recorder->err);
	return sb_error_set(recorder->err, -sbe_not_found, full, UINT64_MAX, "there is no such cgroup: %s",
	                    strerror(errno));
}

/* ---- Which events ----------------------------------------------------------------------------- */

static int is_trace(const char *event)
{
	return !strncmp(event, "intel_pt/", 9);
}

static int fail_no_pt(struct recorder *recorder)
{
	return sb_error_set(recorder->err, -sbe_unsupported, NULL, UINT64_MAX,
	                    "this machine has no Intel PT (no %s/bus/event_source/devices/intel_pt)",
	                    recorder->sysfs);
}

static void set_trace(const struct recorder *recorder, struct perf_event_attr *attr)
{
	attr->sample_period = 1;
	attr->freq = 0;
	if (!recorder->config->snapshot)
		attr->aux_watermark = (uint32_t)(recorder->events.aux_size / 4);
}

static void set_sampling(struct perf_event_attr *attr)
{
	attr->sample_type |= PERF_SAMPLE_PERIOD;
	if (!attr->sample_period) {
		attr->freq = 1;
		attr->sample_freq = default_frequency;
	}
}

/* Of an event that is of one CPU: it must be there. -1: it is of all. */
static int check_cpu(struct recorder *recorder, const char *text, int cpu)
{
	for (size_t i = 0; i < recorder->events.ncpus; ++i)
		if (cpu < 0 || recorder->events.cpu[i].cpu == (uint32_t)cpu)
			return 0;
	return sb_error_set(recorder->err, -sbe_unsupported, NULL, UINT64_MAX, "%s: CPU %d is not online",
	                    text, cpu);
}

static int add_wanted(struct recorder *recorder, const char *text)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	char *whole = NULL;
	struct sb_event_perf event = {.attr = &attr,
	                              .fstr = &whole,
	                              .size = sizeof(event),
	                              .sysfs = recorder->config->sysfs,
	                              .err = recorder->err};
	int status = 0;

	if (is_trace(text) && !recorder->machine.pt_type)
		return fail_no_pt(recorder);
	if (sb_event_encode(text, sb_event_user | sb_event_kernel, sb_event_target_perf_ext, &event) < 0)
		return recorder->err->code ? recorder->err->code : -sbe_invalid;
	if (is_trace(text) && recorder->has_pt)
		status = sb_error_set(recorder->err, -sbe_invalid, NULL, UINT64_MAX,
		                      "one event that traces is possible, not two: %s", text);
	if (status == 0)
		status = check_cpu(recorder, text, event.cpu);
	live_attr_common(&recorder->attrs, &attr);
	if (is_trace(text))
		set_trace(recorder, &attr);
	else
		set_sampling(&attr);
	if (status == 0)
		status = live_events_add(&recorder->events, text, &attr, live_role_wanted, 1, recorder->err);
	if (status == 0) {
		recorder->events.event[recorder->events.nevents - 1].cpu = event.cpu;
		recorder->events.event[recorder->events.nevents - 1].has_aux = is_trace(text);
		recorder->has_pt |= is_trace(text);
	}
	free(whole);
	return status;
}

static int is_targeted(const struct recorder *recorder)
{
	return recorder->events.targets.count || recorder->events.targets.cgroup >= 0;
}

/* Whoever may see all CPUs gets all of the sideband, where there is something to tell by it: who else ran,
 * and what the kernel's code was. */
static int add_sideband(struct recorder *recorder, int of_targets)
{
	int status = live_events_add(&recorder->events, "dummy:u", &recorder->attrs.sideband,
	                             live_role_sideband, of_targets, recorder->err);

	if (status == 0 && recorder->attrs.has_cgroup && !of_targets)
		status = live_events_add(&recorder->events, "cgroup-switches", &recorder->attrs.cgroup,
		                         live_role_cgroup, 0, recorder->err);
	return status;
}

/* On the first CPU that is still there. */
static int probe_cpus(struct recorder *recorder)
{
	int status = -ENODEV;

	for (size_t i = 0; i < recorder->events.ncpus && status == -ENODEV; ++i)
		status = live_attrs_probe(&recorder->attrs, -1, (int)recorder->events.cpu[i].cpu);
	return status;
}

static int probe(struct recorder *recorder, int *of_targets)
{
	const pid_t own = 0;
	int status = probe_cpus(recorder);

	*of_targets = is_targeted(recorder) && !recorder->config->nevents;
	if ((status == -EACCES || status == -EPERM) && recorder->events.targets.count) {
		*of_targets = 1;
		status = live_attrs_probe(&recorder->attrs, own, -1);
	}
	if (status == -EACCES || status == -EPERM)
		return sb_error_set(
		        recorder->err, -sbe_io, NULL, UINT64_MAX,
		        "this needs CAP_PERFMON, or root, or /proc/sys/kernel/perf_event_paranoid "
		        "below 1: all processes are recorded");
	if (status < 0)
		return sb_error_set(recorder->err, -sbe_unsupported, NULL, UINT64_MAX,
		                    "this kernel records no sideband: %s", strerror(-status));
	if (recorder->attrs.missing[0])
		recorder_note(recorder, "the kernel does not tell us of: %s", recorder->attrs.missing);
	return 0;
}

static int add_events(struct recorder *recorder)
{
	int of_targets, status = probe(recorder, &of_targets);

	for (size_t i = 0; i < recorder->config->nevents && status == 0; ++i)
		status = add_wanted(recorder, recorder->config->event[i]);
	return status == 0 ? add_sideband(recorder, of_targets) : status;
}

/* ---- On which CPUs ---------------------------------------------------------------------------- */

static int list_cpus(struct recorder *recorder)
{
	const int status = recorder_list_cpus(recorder);

	if (status < 0)
		return sb_error_set(recorder->err, -sbe_io, recorder->sysfs, UINT64_MAX,
		                    "which CPUs are online cannot be read: %s", strerror(-status));
	if (!recorder->events.ncpus)
		return sb_error_set(recorder->err, -sbe_format, recorder->sysfs, UINT64_MAX,
		                    "no CPU is online, by devices/system/cpu/online");
	return 0;
}

int recorder_open_cpus(struct recorder *recorder)
{
	struct live_events *events = &recorder->events;
	size_t first, nonline = 0;

	for (size_t i = 0; i < events->ncpus; ++i) {
		const int status = live_events_open(events, events->cpu[i].cpu, &first, recorder->err);

		if (status < 0)
			return status;
		if (status > 0)
			recorder_note(recorder,
			              "CPU %" PRIu32 " went offline: it is not recorded until it comes back",
			              events->cpu[i].cpu);
		nonline += status == 0;
	}
	return nonline ? 0
	               : sb_error_set(recorder->err, -sbe_unsupported, NULL, UINT64_MAX,
	                              "no CPU is there to record on");
}

static int set_targets(struct recorder *recorder)
{
	const struct sb_recorder_config *config = recorder->config;
	int status = 0;

	recorder->events.targets.cgroup = -1;
	if (config->everybody)
		return 0;
	if (config->cgroup)
		return open_cgroup(recorder, config->cgroup);
	for (size_t i = 0; i < config->ntids && status == 0; ++i)
		status = add_thread(recorder, config->tid[i]);
	if (status == 0 && !config->npids && !config->ntids && recorder->command.pid)
		status = recorder_add_target(recorder, recorder->command.pid, recorder->command.pid);
	/* So that there is something: they take its place when they stand still. */
	for (size_t i = 0; i < config->npids && status == 0; ++i)
		status = recorder_add_target(recorder, config->pid[i], config->pid[i]);
	return status;
}

int recorder_set_up(struct recorder *recorder)
{
	const struct sb_recorder_config *config = recorder->config;
	struct live_events *events = &recorder->events;
	int status;

	events->ring_size = config->ring_size ? config->ring_size : default_ring;
	events->aux_size = config->aux_size ? config->aux_size : default_aux;
	events->may_shrink = !config->ring_size;
	events->snapshot = config->snapshot;
	status = live_machine_read(&recorder->machine, recorder->proc, recorder->sysfs);
	status = status < 0 ? fail_short(-status, recorder->proc, recorder->err) : set_targets(recorder);
	if (status == 0)
		status = list_cpus(recorder);
	if (status == 0)
		status = add_events(recorder);
	if (status < 0)
		return status;
	if (config->ntids) /* threads, and nobody that they start */
		for (size_t i = 0; i < events->nevents; ++i)
			events->event[i].attr.inherit = 0;
	if (config->npids)
		events->targets.count = 0;
	return recorder_open_at_rest(recorder);
}

/* ---- The file's beginning --------------------------------------------------------------------- */

int recorder_add_ids(struct recorder *recorder, size_t first)
{
	int status = 0;

	for (size_t i = first; i < recorder->events.nfds && status == 0; ++i) {
		const struct live_fd *fd = &recorder->events.fd[i];

		status = sb_writer_add_id(recorder->writer, &recorder->writer->event[fd->event],
		                          &(struct write_id){fd->id, fd->cpu, fd->tid}, recorder->err);
	}
	return status;
}

static void set_roles(struct recorder *recorder)
{
	for (size_t i = 0; i < recorder->events.nevents; ++i) {
		const struct live_event *event = &recorder->events.event[i];

		if (event->has_aux)
			recorder->writer->role[write_event_pt] = (int)i;
		if (event->role == live_role_sideband)
			recorder->writer->role[write_event_dummy] = (int)i;
		if (event->role == live_role_cgroup)
			recorder->writer->role[write_event_cgroup] = (int)i;
	}
}

static int declare(struct recorder *recorder)
{
	struct sb_perfdata_writer *writer = recorder->writer;
	int status = sb_writer_add_pmu(writer, "software", PERF_TYPE_SOFTWARE, recorder->err);

	if (status == 0 && recorder->machine.pt_type)
		status = sb_writer_add_pmu(writer, "intel_pt", recorder->machine.pt_type, recorder->err);
	for (size_t i = 0; i < recorder->events.nevents && status == 0; ++i)
		status = sb_writer_add_event(writer, recorder->events.event[i].name,
		                             &recorder->events.event[i].attr, recorder->err);
	set_roles(recorder);
	return status == 0 ? recorder_add_ids(recorder, 0) : status;
}

static const struct live_ring *first_ring(const struct recorder *recorder)
{
	for (size_t i = 0; i < recorder->events.ncpus; ++i)
		if (recorder->events.cpu[i].ring.page)
			return &recorder->events.cpu[i].ring;
	return NULL;
}

int recorder_open_file(struct recorder *recorder)
{
	const struct live_machine *machine = &recorder->machine;
	const struct sb_perfdata_write_config config = {
	        .size = sizeof(config),
	        .ncpus = machine->ncpus,
	        .pt_pmu_type = machine->pt_type,
	        .cpudesc = machine->cpudesc,
	        .cmdline = recorder->config->cmdline,
	        .clock = live_machine_clock(first_ring(recorder)),
	        .tsc_ctc_num = machine->tsc_ctc_num,
	        .tsc_ctc_den = machine->tsc_ctc_den,
	        .max_nonturbo_ratio = machine->max_nonturbo_ratio,
	        .cgroups = recorder->attrs.has_cgroup,
	};
	int status = sb_writer_create(&recorder->writer, recorder->output, &config, recorder->err);

	if (status < 0)
		return status;
	snprintf(recorder->writer->cpuid, sizeof(recorder->writer->cpuid), "%s", machine->cpuid);
	recorder->writer->is_in_place = recorder->directory != NULL;
	recorder->writer->is_snapshot = recorder->config->snapshot;
	recorder->writer->cap_event_trace = machine->event_trace;
	if (recorder->has_pt && !config.clock.time_mult)
		recorder_note(recorder,
		              "this kernel does not tell how its clock and the TSC go together: trace and "
		              "sideband cannot be joined by time");
	status = declare(recorder);
	if (status == 0)
		status = sb_writer_begin(recorder->writer, recorder->err);
	return status == 0 ? sb_writer_put_preamble(recorder->writer, recorder->err) : status;
}
