/* sink_perfetto.c - a timeline for ui.perfetto.dev and trace_processor: functions as slices on the tracks of
 * their threads, switches of CPUs as the scheduler tells them (sched_switch), gaps on tracks of their own.
 *
 * Format: the protocol buffers of Perfetto, protos/perfetto/trace/ in its sources; those that are used are in
 * tests/data/perfetto_subset.proto. Each packet is a field 1 of the file. Times are ns, of perf's clock. */
#include "sink/sink.h"

#include <stdio.h>
#include <stdlib.h>

#include "sink/printable.h"
#include "sink/proto_wire.h"
#include "sink/timeline.h"
#include "vector.h"

enum trace_field { trace_packet = 1 };

enum packet_field {
	packet_ftrace_events = 1,
	packet_timestamp = 8,
	packet_sequence_id = 10,
	packet_track_event = 11,
	packet_interned_data = 12,
	packet_sequence_flags = 13,
	packet_track_descriptor = 60
};

enum { sequence_cleared = 1, sequence_needed = 2 };

enum track_field { track_uuid = 1, track_name = 2, track_process = 3, track_thread = 4, track_parent = 5 };

enum process_field { process_pid = 1, process_name = 6 };
enum thread_field { thread_pid = 1, thread_tid = 2, thread_name = 5 };

enum event_field {
	event_category = 3,
	event_annotation = 4,
	event_type = 9,
	event_name_iid = 10,
	event_track = 11,
	event_name = 23
};

enum event_type { type_begin = 1, type_end = 2, type_instant = 3 };
enum annotation_field {
	annotation_bool = 2,
	annotation_uint = 3,
	annotation_string = 6,
	annotation_name = 10
};
enum interned_field { interned_categories = 1, interned_names = 2 };
enum interned_entry { entry_iid = 1, entry_name = 2 };
enum bundle_field { bundle_cpu = 1, bundle_event = 2 };
enum ftrace_field { ftrace_timestamp = 1, ftrace_pid = 2, ftrace_sched_switch = 4 };

enum switch_field {
	switch_prev_comm = 1,
	switch_prev_pid = 2,
	switch_prev_prio = 3,
	switch_prev_state = 4,
	switch_next_comm = 5,
	switch_next_pid = 6,
	switch_next_prio = 7
};

/* Numbers of tracks: apart for each kind. */
enum track_kind { kind_process = 1, kind_thread, kind_gaps, kind_all_gaps };

enum { category_function = 1, category_gap = 2, prio_normal = 120, prio_idle = 140 };

struct perfetto_state {
	struct output *output;
	struct timeline *timeline; /* owned */
	struct proto proto;
	uint64_t deepest;
	bool *named; /* owned; by function's index: whether its name was interned */
	size_t nnamed;
	int32_t *gaps; /* owned; the CPUs whose track for gaps was described */
	size_t ngaps;
	struct timeline_run last; /* of the CPU whose runs are told */
	bool has_last;
};

static uint64_t uuid_of(enum track_kind kind, uint32_t number)
{
	return (uint64_t)kind << 32 | number;
}

static int set_depth(void *context, const char *value, struct option_error *error)
{
	struct perfetto_state *state = context;

	return option_number(value, 1, UINT32_MAX, &state->deepest, error);
}

/* ---- Packets --------------------------------------------------------------------------------------- */

static size_t open_packet(struct perfetto_state *state, uint32_t flags)
{
	const size_t packet = proto_open(&state->proto, trace_packet);

	proto_number(&state->proto, packet_sequence_id, 1);
	if (flags)
		proto_number(&state->proto, packet_sequence_flags, flags);
	return packet;
}

static int close_packet(struct perfetto_state *state, size_t packet)
{
	proto_close(&state->proto, packet);
	return proto_flush(&state->proto, state->output);
}

static void put_entry(struct proto *proto, uint32_t field, uint64_t iid, const char *name)
{
	const size_t entry = proto_open(proto, field);

	proto_number(proto, entry_iid, iid);
	proto_text(proto, entry_name, name);
	proto_close(proto, entry);
}

static int put_categories(struct perfetto_state *state)
{
	const size_t packet = open_packet(state, sequence_cleared);
	const size_t data = proto_open(&state->proto, packet_interned_data);

	put_entry(&state->proto, interned_categories, category_function, "function");
	put_entry(&state->proto, interned_categories, category_gap, "gap");
	proto_close(&state->proto, data);
	return close_packet(state, packet);
}

/* A process's track (kind_process), or one of its threads'. */
static int put_track(struct perfetto_state *state, enum track_kind kind, const struct timeline_slice *slice,
                     const char *name)
{
	struct proto *proto = &state->proto;
	const size_t packet = open_packet(state, 0);
	const size_t track = proto_open(proto, packet_track_descriptor);
	size_t inner;

	if (kind == kind_process) {
		proto_number(proto, track_uuid, uuid_of(kind, (uint32_t)slice->pid));
		inner = proto_open(proto, track_process);
		proto_number(proto, process_pid, (uint64_t)(int64_t)slice->pid);
		proto_text(proto, process_name, name);
	} else {
		proto_number(proto, track_uuid, uuid_of(kind, slice->thread));
		proto_number(proto, track_parent, uuid_of(kind_process, (uint32_t)slice->pid));
		inner = proto_open(proto, track_thread);
		proto_number(proto, thread_pid, (uint64_t)(int64_t)slice->pid);
		proto_number(proto, thread_tid, (uint64_t)(int64_t)slice->tid);
		proto_text(proto, thread_name, name);
	}
	proto_close(proto, inner);
	proto_close(proto, track);
	return close_packet(state, packet);
}

static int on_process(void *context, const struct timeline_slice *first, const char *comm)
{
	char name[4 * 16 + 1];

	return put_track(context, kind_process, first, printable(name, comm, 16));
}

static int on_thread(void *context, const struct timeline_slice *first, const char *comm)
{
	char name[4 * 16 + 1];

	return put_track(context, kind_thread, first, printable(name, comm, 16));
}

/* ---- Functions ------------------------------------------------------------------------------------- */

/* The packet that uses a name first brings it along. */
static int name_first(struct perfetto_state *state, const struct timeline_slice *slice)
{
	const uint32_t index = slice->function->index;
	size_t data;

	if (vector_reach(&state->named, &state->nnamed, index, sizeof(*state->named)))
		return -1;
	if (state->named[index])
		return 0;
	state->named[index] = true;
	data = proto_open(&state->proto, packet_interned_data);
	put_entry(&state->proto, interned_names, (uint64_t)index + 1, slice->name);
	proto_close(&state->proto, data);
	return 0;
}

static void annotate_guess(struct proto *proto)
{
	const size_t annotation = proto_open(proto, event_annotation);

	proto_text(proto, annotation_name, "guess");
	proto_number(proto, annotation_bool, 1);
	proto_close(proto, annotation);
}

static int on_begin(void *context, const struct timeline_slice *slice)
{
	struct perfetto_state *state = context;
	struct proto *proto = &state->proto;
	const size_t packet = open_packet(state, sequence_needed);
	size_t event;

	proto_number(proto, packet_timestamp, slice->begin);
	if (name_first(state, slice))
		return -1;
	event = proto_open(proto, packet_track_event);
	proto_number(proto, event_type, type_begin);
	proto_number(proto, event_track, uuid_of(kind_thread, slice->thread));
	proto_number(proto, event_category, category_function);
	proto_number(proto, event_name_iid, (uint64_t)slice->function->index + 1);
	if (slice->unsure)
		annotate_guess(proto);
	proto_close(proto, event);
	return close_packet(state, packet);
}

static int put_end(struct perfetto_state *state, uint64_t uuid, uint64_t time)
{
	struct proto *proto = &state->proto;
	const size_t packet = open_packet(state, sequence_needed);
	size_t event;

	proto_number(proto, packet_timestamp, time);
	event = proto_open(proto, packet_track_event);
	proto_number(proto, event_type, type_end);
	proto_number(proto, event_track, uuid);
	proto_close(proto, event);
	return close_packet(state, packet);
}

static int on_end(void *context, const struct timeline_slice *slice)
{
	return put_end(context, uuid_of(kind_thread, slice->thread), slice->end);
}

/* ---- Gaps ------------------------------------------------------------------------------------------ */

static int put_gaps_track(struct perfetto_state *state, uint64_t uuid, uint64_t parent, const char *name)
{
	struct proto *proto = &state->proto;
	const size_t packet = open_packet(state, 0);
	const size_t track = proto_open(proto, packet_track_descriptor);

	proto_number(proto, track_uuid, uuid);
	if (parent)
		proto_number(proto, track_parent, parent);
	proto_text(proto, track_name, name);
	proto_close(proto, track);
	return close_packet(state, packet);
}

static int describe_gaps(struct perfetto_state *state, int32_t cpu)
{
	const uint64_t all = uuid_of(kind_all_gaps, 0);
	char name[32];
	int32_t *bigger;

	for (size_t i = 0; i < state->ngaps; i++)
		if (state->gaps[i] == cpu)
			return 0;
	bigger = realloc(state->gaps, (state->ngaps + 1) * sizeof(*bigger));
	if (!bigger)
		return -1;
	state->gaps = bigger;
	state->gaps[state->ngaps++] = cpu;
	snprintf(name, sizeof(name), "CPU %d", (int)cpu);
	if (state->ngaps == 1 && put_gaps_track(state, all, 0, "Gaps"))
		return -1;
	return put_gaps_track(state, uuid_of(kind_gaps, (uint32_t)cpu), all, name);
}

static void annotate_gap(struct proto *proto, const struct sb_gap *gap)
{
	char detail[4 * sizeof(gap->detail) + 1];
	size_t annotation = proto_open(proto, event_annotation);

	proto_text(proto, annotation_name, "bytes");
	proto_number(proto, annotation_uint, gap->bytes);
	proto_close(proto, annotation);
	if (!gap->detail[0])
		return;
	annotation = proto_open(proto, event_annotation);
	proto_text(proto, annotation_name, "detail");
	proto_text(proto, annotation_string, printable(detail, gap->detail, sizeof(gap->detail)));
	proto_close(proto, annotation);
}

static int on_gap(void *context, const struct sb_gap *gap, uint64_t begin, uint64_t end)
{
	struct perfetto_state *state = context;
	struct proto *proto = &state->proto;
	const uint64_t uuid = uuid_of(kind_gaps, (uint32_t)gap->cpu);
	size_t packet, event;

	if (describe_gaps(state, gap->cpu))
		return -1;
	packet = open_packet(state, sequence_needed);
	proto_number(proto, packet_timestamp, begin);
	event = proto_open(proto, packet_track_event);
	proto_number(proto, event_type, end > begin ? type_begin : type_instant);
	proto_number(proto, event_track, uuid);
	proto_number(proto, event_category, category_gap);
	proto_text(proto, event_name, sb_gap_reason_name(gap->reason));
	annotate_gap(proto, gap);
	proto_close(proto, event);
	if (close_packet(state, packet))
		return -1;
	return end > begin ? put_end(state, uuid, end) : 0;
}

/* ---- Switches -------------------------------------------------------------------------------------- */

static int put_switch(struct perfetto_state *state, const struct timeline_run *from,
                      const struct timeline_run *to, uint64_t time)
{
	struct proto *proto = &state->proto;
	const size_t packet = open_packet(state, 0), bundle = proto_open(proto, packet_ftrace_events);
	size_t event, inner;
	char comm[4 * 16 + 1];

	proto_number(proto, bundle_cpu, (uint64_t)(uint32_t)to->cpu);
	event = proto_open(proto, bundle_event);
	proto_number(proto, ftrace_timestamp, time);
	proto_number(proto, ftrace_pid, (uint64_t)(int64_t)from->tid);
	inner = proto_open(proto, ftrace_sched_switch);
	proto_text(proto, switch_prev_comm, printable(comm, from->comm, 16));
	proto_number(proto, switch_prev_pid, (uint64_t)(int64_t)from->tid);
	proto_number(proto, switch_prev_prio, from->tid ? prio_normal : prio_idle);
	proto_number(proto, switch_prev_state, 0);
	proto_text(proto, switch_next_comm, printable(comm, to->comm, 16));
	proto_number(proto, switch_next_pid, (uint64_t)(int64_t)to->tid);
	proto_number(proto, switch_next_prio, to->tid ? prio_normal : prio_idle);
	proto_close(proto, inner);
	proto_close(proto, event);
	proto_close(proto, bundle);
	return close_packet(state, packet);
}

/* Nobody, as far as it is known. */
static struct timeline_run idle_on(int32_t cpu)
{
	return (struct timeline_run){.cpu = cpu, .comm = "swapper"};
}

/* The CPU's last run is over. */
static int end_runs(struct perfetto_state *state)
{
	const struct timeline_run idle = idle_on(state->last.cpu);

	if (!state->has_last)
		return 0;
	state->has_last = false;
	return state->last.tid ? put_switch(state, &state->last, &idle, state->last.end) : 0;
}

static int on_run(void *context, const struct timeline_run *run)
{
	struct perfetto_state *state = context;
	const struct timeline_run idle = idle_on(run->cpu);
	int status = 0;

	if (state->has_last && (state->last.cpu != run->cpu || state->last.end != run->begin))
		status = end_runs(state);
	if (!status)
		status = put_switch(state, state->has_last ? &state->last : &idle, run, run->begin);
	state->last = *run;
	state->has_last = true;
	return status;
}

/* ---- The sink --------------------------------------------------------------------------------------- */

static int perfetto_begin(void *context, struct output *output, const struct sink_context *sink)
{
	struct perfetto_state *state = context;
	const struct timeline_consumer consumer = {.context = state,
	                                           .process = on_process,
	                                           .thread = on_thread,
	                                           .begin = on_begin,
	                                           .end = on_end,
	                                           .gap = on_gap,
	                                           .run = on_run};

	state->output = output;
	state->timeline = timeline_new(sink, &consumer, (uint32_t)state->deepest);
	if (!state->timeline)
		return -1;
	if (put_categories(state) == 0 || output->broken)
		return 0;
	timeline_free(state->timeline);
	free(state->proto.bytes);
	return -1;
}

static void perfetto_free(void *context)
{
	struct perfetto_state *state = context;

	timeline_free(state->timeline);
	free(state->proto.bytes);
	free(state->named);
	free(state->gaps);
}

static int perfetto_flow(void *context, const struct sb_flow *flow)
{
	struct perfetto_state *state = context;

	return timeline_flow(state->timeline, flow);
}

static int perfetto_gap(void *context, const struct sb_gap *gap)
{
	struct perfetto_state *state = context;

	return timeline_gap(state->timeline, gap);
}

static int perfetto_end(void *context, const struct sb_account *account, const struct sb_perfdata *perfdata)
{
	struct perfetto_state *state = context;

	(void)account;
	(void)perfdata;
	return timeline_finish(state->timeline) < 0 ? -1 : end_runs(state);
}

static const struct sink_option options[] = {
        {"depth", "N", "leave out functions that are deeper in the stack (none)", set_depth},
};

const struct sink_type sink_perfetto = {
        .name = "perfetto",
        .about = "a timeline of functions, threads and CPUs for ui.perfetto.dev: protocol buffers",
        .size = sizeof(struct perfetto_state),
        .option = options,
        .noptions = sizeof(options) / sizeof(options[0]),
        .symbols = sink_symbols_always,
        .by_time = true,
        .file_only = true,
        .begin = perfetto_begin,
        .flow = perfetto_flow,
        .gap = perfetto_gap,
        .end = perfetto_end,
        .free = perfetto_free,
};
