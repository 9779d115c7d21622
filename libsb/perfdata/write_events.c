/* write_events.c - which events a recording has: their attributes and identifiers; and those that the
 * software tracer says it has, as `perf record -a -e intel_pt//u` would.
 */
#include "perfdata/perfdata_write_internal.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata/perfdata_internal.h"
#include "system/arena.h"

enum {
	FIRST_ID = 101,
	IDS_PER_EVENT = 100 /* at least: one for each CPU */
};

static int out_of_memory(const struct sb_perfdata_writer *writer, struct sb_error *err)
{
	return sb_error_set(err, -sbe_nomem, writer->path, UINT64_MAX, "out of memory");
}

int sb_writer_add_event(struct sb_perfdata_writer *writer, const char *name, const void *attr,
                        struct sb_error *err)
{
	struct write_event event = {.name = strdup(name)};

	if (!event.name || array_reserve(&writer->event, &writer->events_capacity, writer->nevents,
	                                 sizeof(*writer->event)) < 0) {
		free(event.name);
		return out_of_memory(writer, err);
	}
	memcpy(event.attr, attr, WRITE_ATTR_SIZE);
	writer->event[writer->nevents++] = event;
	return 0;
}

int sb_writer_add_id(struct sb_perfdata_writer *writer, struct write_event *event, const struct write_id *id,
                     struct sb_error *err)
{
	if (array_reserve(&event->id, &event->capacity, event->nids, sizeof(*event->id)) < 0)
		return out_of_memory(writer, err);
	event->id[event->nids++] = *id;
	writer->nids++;
	return 0;
}

int sb_writer_add_pmu(struct sb_perfdata_writer *writer, const char *name, uint32_t type,
                      struct sb_error *err)
{
	char *copy = strdup(name);

	if (!copy ||
	    array_reserve(&writer->pmu, &writer->pmus_capacity, writer->npmus, sizeof(*writer->pmu)) < 0) {
		free(copy);
		return out_of_memory(writer, err);
	}
	writer->pmu[writer->npmus++] = (struct write_pmu){copy, type};
	return 0;
}

void sb_writer_free_events(struct sb_perfdata_writer *writer)
{
	for (size_t i = 0; i < writer->nevents; i++) {
		free(writer->event[i].name);
		free(writer->event[i].id);
	}
	free(writer->event);
	for (size_t i = 0; i < writer->npmus; i++)
		free(writer->pmu[i].name);
	free(writer->pmu);
}

uint64_t sb_writer_id(const struct sb_perfdata_writer *writer, enum write_event_kind kind, uint32_t cpu)
{
	const struct write_event *event;

	if (writer->role[kind] < 0)
		return 0;
	event = &writer->event[writer->role[kind]];
	if (cpu < event->nids && event->id[cpu].cpu == cpu)
		return event->id[cpu].id;
	for (size_t i = event->nids; i > 0; i--) /* the newest: a CPU may have come back */
		if (event->id[i - 1].cpu == cpu)
			return event->id[i - 1].id;
	return 0;
}

static void set_dummy(const struct sb_perfdata_writer *writer, struct perf_event_attr *attr)
{
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->build_id = 1;
	attr->comm = 1;
	attr->comm_exec = 1;
	attr->task = 1;
	attr->context_switch = 1;
	attr->exclude_guest = 1;
	attr->namespaces = writer->config.cgroups != 0;
	attr->cgroup = writer->config.cgroups != 0;
}

static struct perf_event_attr attr_of(const struct sb_perfdata_writer *writer, enum write_event_kind event)
{
	/* Switches happen in the kernel. */
	const unsigned int user_only = writer->config.user_only && event != write_event_cgroup;
	struct perf_event_attr attr;

	_Static_assert(sizeof(attr) >= WRITE_ATTR_SIZE, "perf_event_attr of Linux 6.1 or later");
	memset(&attr, 0, sizeof(attr));
	attr.type = event == write_event_pt ? writer->config.pt_pmu_type : PERF_TYPE_SOFTWARE;
	attr.size = WRITE_ATTR_SIZE;
	attr.config = event == write_event_pt ? writer->config.pt_config : PERF_COUNT_SW_CGROUP_SWITCHES;
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
	                   PERF_SAMPLE_IDENTIFIER | (writer->config.cgroups ? PERF_SAMPLE_CGROUP : 0u);
	attr.read_format = PERF_FORMAT_ID;
	attr.disabled = 1;
	attr.inherit = 1;
	attr.exclude_kernel = user_only & 1;
	attr.exclude_hv = user_only & 1;
	attr.sample_id_all = 1;
	if (event == write_event_dummy)
		set_dummy(writer, &attr);
	return attr;
}

static int add_event(struct sb_perfdata_writer *writer, enum write_event_kind kind, const char *name,
                     struct sb_error *err)
{
	const uint32_t ncpus = writer->config.ncpus;
	const uint64_t first = FIRST_ID + (uint64_t)kind * (ncpus > IDS_PER_EVENT ? ncpus : IDS_PER_EVENT);
	const struct perf_event_attr attr = attr_of(writer, kind);
	int status = sb_writer_add_event(writer, name, &attr, err);

	writer->role[kind] = (int)writer->nevents - 1;
	for (uint32_t cpu = 0; cpu < ncpus && status == 0; cpu++)
		status = sb_writer_add_id(writer, &writer->event[kind],
		                          &(struct write_id){first + cpu, cpu, -1}, err);
	return status;
}

int sb_writer_add_software(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	static const char *const name[write_events][2] = {
	        [write_event_pt] = {"intel_pt//", "intel_pt//u"},
	        [write_event_dummy] = {"dummy", "dummy:u"},
	        [write_event_cgroup] = {"cgroup-switches", "cgroup-switches"},
	};
	const int kinds = writer->config.cgroups ? write_events : write_event_cgroup;
	int status = sb_writer_add_pmu(writer, "software", PERF_TYPE_SOFTWARE, err);

	if (status == 0)
		status = sb_writer_add_pmu(writer, "intel_pt", writer->config.pt_pmu_type, err);
	for (int kind = 0; kind < kinds && status == 0; kind++)
		status = add_event(writer, (enum write_event_kind)kind,
		                   name[kind][writer->config.user_only != 0], err);
	return status;
}
