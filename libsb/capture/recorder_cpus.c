/* recorder_cpus.c - CPUs that go offline and come back while a recording runs. The kernel ends the events of
 * one that goes, and says nothing; sysfs tells.
 */
#include "capture/recorder_internal.h"

#include <errno.h>
#include <inttypes.h>

static int list(void *context, uint32_t number)
{
	struct recorder *recorder = context;
	struct live_cpu *cpu = live_events_cpu(&recorder->events, number);

	if (!cpu)
		return -ENOMEM;
	cpu->listed = 1;
	return 0;
}

int recorder_list_cpus(struct recorder *recorder)
{
	for (size_t i = 0; i < recorder->events.ncpus; ++i)
		recorder->events.cpu[i].listed = 0;
	return live_cpus(recorder->sysfs, "online", list, recorder);
}

/* What it has told until now has been taken. */
static void lose(struct recorder *recorder, struct live_cpu *cpu)
{
	recorder_note(recorder, "CPU %" PRIu32 " went offline: it is not recorded until it comes back",
	              cpu->cpu);
	live_events_close(&recorder->events, cpu);
}

static int enable_again(struct recorder *recorder)
{
	int status = recorder_enable(recorder, live_role_sideband, 1);

	if (status == 0)
		status = recorder_enable(recorder, live_role_cgroup, 1);
	if (status == 0 && recorder->is_tracing)
		status = recorder_enable(recorder, live_role_wanted, 1);
	return status;
}

/* Threads that have begun since inherited the events of the CPUs that were there. */
static const char *exception(const struct recorder *recorder)
{
	for (size_t i = 0; i < recorder->events.nevents; ++i)
		if (recorder->events.event[i].attr.inherit)
			return ", but for threads that began after the recording";
	return "";
}

static int gain(struct recorder *recorder, struct live_cpu *cpu)
{
	const uint32_t number = cpu->cpu;
	size_t first;
	int status;

	/* Trace that begins anew is another stream. */
	cpu->stream = recorder->machine.ncpus + recorder->events.nreturned++;
	status = live_events_open(&recorder->events, number, &first, recorder->err);
	if (status > 0) { /* not yet */
		cpu->listed = 0;
		return 0;
	}
	if (status == 0)
		status = recorder_add_ids(recorder, first);
	if (status == 0)
		status = enable_again(recorder);
	if (status == 0)
		recorder_note(recorder, "CPU %" PRIu32 " came: it is recorded from now on%s", number,
		              exception(recorder));
	return status;
}

int recorder_watch_cpus(struct recorder *recorder)
{
	struct live_events *events = &recorder->events;
	int status;

	if (recorder_list_cpus(recorder) < 0)
		return 0;
	status = recorder_drain(recorder);
	for (size_t i = 0; i < events->ncpus && status == 0; ++i)
		if (events->cpu[i].online && !events->cpu[i].listed)
			lose(recorder, &events->cpu[i]);
		else if (!events->cpu[i].online && events->cpu[i].listed &&
		         events->cpu[i].cpu < recorder->machine.ncpus)
			status = gain(recorder, &events->cpu[i]);
	return status;
}
