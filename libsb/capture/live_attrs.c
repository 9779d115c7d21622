/* live_attrs.c - see live_attrs.h. Each kind of sideband came with a version of Linux; what an older one does
 * not know, it refuses, so that each is tried alone.
 */
#include "capture/live_attrs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind {
	kind_namespaces, /* Linux 4.12 */
	kind_ksymbol,    /* 5.1 */
	kind_bpf,        /* 5.1 */
	kind_cgroup,     /* 5.7, with CONFIG_CGROUP_PERF */
	kind_cgroup_id,
	kind_text_poke, /* 5.8 */
	kind_build_id,  /* 5.12 */
	kind_lost,      /* 6.0 */
	kinds
};

static const char *const names[kinds] = {
        [kind_namespaces] = "namespaces", [kind_ksymbol] = "kernel symbols",
        [kind_bpf] = "BPF programs",      [kind_cgroup] = "cgroups",
        [kind_cgroup_id] = "cgroup ids",  [kind_text_poke] = "text pokes",
        [kind_build_id] = "build-ids",    [kind_lost] = "lost records per event",
};

static void set(struct perf_event_attr *attr, enum kind kind)
{
	switch (kind) {
	case kind_namespaces:
		attr->namespaces = 1;
		break;
	case kind_ksymbol:
		attr->ksymbol = 1;
		break;
	case kind_bpf:
		attr->bpf_event = 1;
		break;
	case kind_cgroup:
		attr->cgroup = 1;
		break;
	case kind_cgroup_id:
		attr->sample_type |= PERF_SAMPLE_CGROUP;
		break;
	case kind_text_poke:
		attr->text_poke = 1;
		break;
	case kind_build_id:
		attr->build_id = 1;
		break;
	case kind_lost:
		attr->read_format |= live_read_lost;
		break;
	default:
		break;
	}
}

int live_event_open(const struct perf_event_attr *attr, int pid, int cpu, unsigned long flags)
{
	const long fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, flags | PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

static int try_open(const struct perf_event_attr *attr, int pid, int cpu)
{
	const int fd = live_event_open(attr, pid, cpu, 0);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static struct perf_event_attr least(void)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_SOFTWARE;
	attr.size = live_attr_size;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
	                   PERF_SAMPLE_IDENTIFIER;
	attr.read_format = PERF_FORMAT_ID;
	attr.disabled = 1;
	attr.sample_id_all = 1;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.exclude_guest = 1;
	attr.mmap = 1;
	attr.mmap2 = 1;
	attr.comm = 1;
	attr.comm_exec = 1;
	attr.task = 1;
	attr.context_switch = 1;
	return attr;
}

int live_cpu_is_offline(uint32_t cpu)
{
	const struct perf_event_attr attr = least();

	return try_open(&attr, -1, (int)cpu) == -ENODEV;
}

/* Says that the kernel does not know it; those that others need besides are no loss of their own. */
static void note_missing(struct live_attrs *attrs, enum kind kind)
{
	const size_t used = strlen(attrs->missing);

	snprintf(attrs->missing + used, sizeof(attrs->missing) - used, "%s%s", used ? ", " : "", names[kind]);
}

static void set_cgroup(struct live_attrs *attrs, int cpu)
{
	struct perf_event_attr *attr = &attrs->cgroup;

	*attr = least();
	attr->config = PERF_COUNT_SW_CGROUP_SWITCHES;
	attr->sample_type = attrs->sample_type;
	attr->read_format = attrs->read_format;
	attr->exclude_kernel = 0; /* switches happen there */
	attr->mmap = attr->mmap2 = attr->comm = attr->comm_exec = attr->task = attr->context_switch = 0;
	attrs->has_cgroup =
	        (attrs->sample_type & PERF_SAMPLE_CGROUP) && cpu >= 0 && try_open(attr, -1, cpu) == 0;
}

int live_attrs_probe(struct live_attrs *attrs, int pid, int cpu)
{
	struct perf_event_attr attr = least();
	int status = try_open(&attr, pid, cpu);

	if (status < 0)
		return status;
	memset(attrs, 0, sizeof(*attrs));
	attrs->sideband = attr;
	for (int kind = 0; kind < kinds; ++kind) {
		struct perf_event_attr with = attr;

		set(&with, (enum kind)kind);
		status = try_open(&with, pid, cpu);
		if (status == -ENODEV)
			return status;
		if (status == 0)
			set(&attrs->sideband, (enum kind)kind);
		else
			note_missing(attrs, (enum kind)kind);
	}
	attrs->sample_type = attrs->sideband.sample_type;
	attrs->read_format = attrs->sideband.read_format;
	set_cgroup(attrs, cpu);
	return 0;
}

void live_attr_common(const struct live_attrs *attrs, struct perf_event_attr *attr)
{
	attr->size = live_attr_size;
	attr->sample_type |= attrs->sample_type;
	attr->read_format = attrs->read_format;
	attr->disabled = 1;
	attr->sample_id_all = 1;
}
