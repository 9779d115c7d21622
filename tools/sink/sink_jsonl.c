/* sink_jsonl.c - a JSON object on each line; sbtrace-jsonl(5) and its schema (report/jsonl.schema.json) say
 * which. */
#include "sink/sink.h"

#include <inttypes.h>
#include <string.h>

#include <sb/call_stack.h>

#include "sink/gap_advice.h"
#include "sink/json_out.h"
#include "sink/switch_time.h"
#include "version.h"

enum jsonl_flow { jsonl_runs, jsonl_blocks, jsonl_no_flow };

enum { name_most = 1024, path_most = 4096 };

struct jsonl_state {
	enum jsonl_flow flow;
	bool calls_wanted;
	struct output *output;
	const struct sink_context *context;
	struct sb_calls *calls; /* owned; NULL: not wanted */
};

/* ---- Options ---------------------------------------------------------------------------------- */

static int set_flow(void *context, const char *value, struct option_error *error)
{
	static const char *const names[] = {"run", "block", "none"};
	struct jsonl_state *state = context;

	for (unsigned int i = 0; i < 3; i++)
		if (!strcmp(value, names[i])) {
			state->flow = (enum jsonl_flow)i;
			return 0;
		}
	return option_fail(error, "expected run, block or none, found '%s'", value);
}

static int set_calls(void *context, const char *value, struct option_error *error)
{
	struct jsonl_state *state = context;

	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return option_fail(error, "expected yes or no, found '%s'", value);
	state->calls_wanted = value[0] == 'y';
	return 0;
}

static const struct sink_option jsonl_options[] = {
        {"flow", "run|block|none", "an object for each run, for each block, or for neither (run)", set_flow},
        {"calls", "yes|no", "objects for functions that are entered and left (no)", set_calls},
};

/* ---- Pieces of objects ------------------------------------------------------------------------ */

static void begin(const struct jsonl_state *state, const char *type)
{
	output_puts(state->output, "{\"type\":\"");
	output_puts(state->output, type);
	output_puts(state->output, "\"");
}

static int end(const struct jsonl_state *state)
{
	return output_puts(state->output, "}\n");
}

static void put_who(const struct jsonl_state *state, int32_t cpu, int32_t pid, int32_t tid)
{
	json_out_named_integer(state->output, "cpu", cpu);
	json_out_named_integer(state->output, "pid", pid);
	json_out_named_integer(state->output, "tid", tid);
}

/* In ns; null when the clock is not known, or @tsc is not (0). */
static void put_time(const struct jsonl_state *state, const char *name, uint64_t tsc)
{
	if (tsc && state->context->clock->time_mult)
		json_out_named_number(state->output, name, sb_clock_tsc_to_ns(state->context->clock, tsc));
	else
		output_printf(state->output, ",\"%s\":null", name);
}

static void put_when(const struct jsonl_state *state, uint64_t tsc)
{
	json_out_named_number(state->output, "tsc", tsc);
	put_time(state, "time", tsc);
}

/* ---- What is known at first ------------------------------------------------------------------- */

static void put_containers(const struct jsonl_state *state)
{
	const struct sb_container *const *container;
	size_t count;

	container = sb_system_containers(state->context->system, &count);
	for (size_t i = 0; i < count; i++) {
		begin(state, "container");
		output_printf(state->output, ",\"container\":%" PRIu32 ",\"kind\":\"%s\"",
		              container[i]->index, sb_container_kind_name(container[i]->kind));
		json_out_named_string(state->output, "id", container[i]->id, SB_CONTAINER_ID_MAX);
		json_out_named_string(state->output, "pod", container[i]->pod, SB_POD_MAX);
		json_out_named_string(state->output, "cgroup", container[i]->cgroup, path_most);
		end(state);
	}
}

static void put_switches(const struct jsonl_state *state, int32_t cpu)
{
	const struct sb_sched *sched;
	size_t count;

	sched = switches_replayed(state->context, cpu, &count);
	for (size_t i = 0; i < count; i++) {
		begin(state, "switch");
		put_who(state, cpu, sched[i].pid, sched[i].tid);
		json_out_named_number(state->output, "time", sched[i].time);
		json_out_named_integer(state->output, "prev_pid", sched[i].prev_pid);
		json_out_named_integer(state->output, "prev_tid", sched[i].prev_tid);
		end(state);
	}
}

static int put_recording(const struct jsonl_state *state)
{
	const struct sb_aux_stream *stream;
	size_t count;

	stream = sb_perfdata_streams(state->context->perfdata, &count);
	begin(state, "recording");
	json_out_named_string(state->output, "path", sb_perfdata_path(state->context->perfdata), path_most);
	output_printf(state->output, ",\"sbtrace\":\"%s\",\"streams\":%zu", sbtrace_version, count);
	end(state);
	put_containers(state);
	for (size_t i = 0; i < count; i++)
		if (stream[i].cpu >= 0)
			put_switches(state, stream[i].cpu);
	return state->output->broken ? -1 : 0;
}

/* ---- Calls ------------------------------------------------------------------------------------ */

static int put_call(const struct jsonl_state *state, const struct sb_call_thread *thread, const char *type,
                    const char *how)
{
	const struct sb_call_frame *frame = sb_calls_top(thread);

	begin(state, type);
	put_who(state, thread->cpu, thread->pid, thread->tid);
	put_when(state, thread->tsc);
	json_out_named_string(state->output, "how", how, name_most);
	json_out_named_number(state->output, "depth", thread->depth);
	json_out_named_string(state->output, "function", frame->function->name, name_most);
	json_out_named_string(state->output, "dso", frame->function->dso, path_most);
	json_out_named_address(state->output, "ip", frame->ip);
	output_puts(state->output, frame->unsure ? ",\"unsure\":true" : ",\"unsure\":false");
	return 0;
}

static int on_enter(void *context, struct sb_call_thread *thread)
{
	const struct jsonl_state *state = context;

	put_call(state, thread, "call", sb_enter_name((enum sb_enter)sb_calls_top(thread)->how));
	json_out_named_address(state->output, "from", sb_calls_top(thread)->from_ip);
	return end(state) ? -sbe_stop : 0;
}

static int on_leave(void *context, struct sb_call_thread *thread, enum sb_leave how)
{
	const struct jsonl_state *state = context;

	put_call(state, thread, "leave", sb_leave_name(how));
	json_out_named_number(state->output, "instructions", thread->ninsn - sb_calls_top(thread)->ninsn);
	return end(state) ? -sbe_stop : 0;
}

static int open_calls(struct jsonl_state *state)
{
	const struct sb_calls_options options = {.size = sizeof(options),
	                                         .symbols = state->context->symbols,
	                                         .clock = state->context->clock,
	                                         .system = state->context->system,
	                                         .holes = state->context->cut};
	const struct sb_calls_consumer consumer = {.context = state, .enter = on_enter, .leave = on_leave};

	return sb_calls_new(&state->calls, &options, &consumer, NULL) < 0 ? -1 : 0;
}

static void jsonl_free(void *context)
{
	struct jsonl_state *state = context;

	sb_calls_free(state->calls);
}

static int jsonl_begin(void *context, struct output *output, const struct sink_context *sink)
{
	struct jsonl_state *state = context;

	state->output = output;
	state->context = sink;
	if (state->calls_wanted && open_calls(state))
		return -1;
	/* A reader who went away is seen later. */
	put_recording(state);
	return 0;
}

/* ---- Flow and gaps ---------------------------------------------------------------------------- */

static const struct pt_run_block *last_block(const struct sb_flow *flow)
{
	const struct pt_run_path *path = flow->path[flow->npaths - 1];

	return &path->block[path->nblocks - 1];
}

static int put_run(const struct jsonl_state *state, const struct sb_flow *flow)
{
	begin(state, "run");
	put_who(state, flow->cpu, flow->pid, flow->tid);
	put_when(state, flow->tsc);
	json_out_named_address(state->output, "ip", flow->path[0]->block[0].ip);
	json_out_named_address(state->output, "end_ip", last_block(flow)->end_ip);
	json_out_named_number(state->output, "instructions", flow->ninsn);
	json_out_named_number(state->output, "blocks", flow->nblocks);
	return end(state);
}

static int put_block(const struct jsonl_state *state, const struct sb_flow *flow,
                     const struct pt_run_block *block)
{
	begin(state, "block");
	put_who(state, flow->cpu, flow->pid, flow->tid);
	put_when(state, flow->tsc);
	json_out_named_address(state->output, "ip", block->ip);
	json_out_named_address(state->output, "end_ip", block->end_ip);
	json_out_named_number(state->output, "instructions", block->ninsn);
	return end(state);
}

static int jsonl_flow(void *context, const struct sb_flow *flow)
{
	const struct jsonl_state *state = context;

	if (state->calls && sb_calls_flow(state->calls, flow) < 0)
		return -1;
	if (state->flow == jsonl_runs && flow->npaths)
		return put_run(state, flow);
	for (uint32_t i = 0; state->flow == jsonl_blocks && i < flow->npaths; i++)
		for (uint32_t k = 0; k < flow->path[i]->nblocks; k++)
			if (put_block(state, flow, &flow->path[i]->block[k]))
				return -1;
	return 0;
}

static int jsonl_gap(void *context, const struct sb_gap *gap)
{
	const struct jsonl_state *state = context;

	if (state->calls && sb_calls_gap(state->calls, gap) < 0)
		return -1;
	begin(state, "gap");
	put_who(state, gap->cpu, gap->pid, gap->tid);
	output_printf(state->output, ",\"reason\":\"%s\"", sb_gap_reason_name(gap->reason));
	json_out_named_number(state->output, "tsc_from", gap->tsc_from);
	json_out_named_number(state->output, "tsc_to", gap->tsc_to);
	put_time(state, "time_from", gap->tsc_from);
	put_time(state, "time_to", gap->tsc_to);
	json_out_named_number(state->output, "offset", gap->offset);
	json_out_named_number(state->output, "bytes", gap->bytes);
	json_out_named_address(state->output, "ip", gap->ip);
	json_out_named_string(state->output, "detail", gap->detail, sizeof(gap->detail));
	json_out_named_string(state->output, "avoid", gap_advice(gap->reason, state->context->perfdata), 256);
	return end(state);
}

/* ---- The end ---------------------------------------------------------------------------------- */

static void put_thread(const struct jsonl_state *state, const struct sb_account_thread *thread)
{
	begin(state, "thread");
	json_out_named_integer(state->output, "pid", thread->pid);
	json_out_named_integer(state->output, "tid", thread->tid);
	json_out_named_string(state->output, "comm", thread->comm, sizeof(thread->comm));
	json_out_named_number(state->output, "instructions", thread->ninsn);
	json_out_named_number(state->output, "blocks", thread->nblocks);
	end(state);
}

/* The @count threads of a process, the leader first. */
static void put_process(const struct jsonl_state *state, const struct sb_account_thread *thread, size_t count)
{
	const char *comm = sb_system_comm(state->context->system, thread->pid, thread->pid, UINT64_MAX);
	uint64_t ninsn = 0, nblocks = 0;

	for (size_t i = 0; i < count; i++) {
		put_thread(state, &thread[i]);
		ninsn += thread[i].ninsn;
		nblocks += thread[i].nblocks;
	}
	begin(state, "process");
	output_printf(state->output, ",\"pid\":%" PRId32, thread->pid);
	json_out_named_string(state->output, "comm", comm, 16);
	output_printf(state->output, ",\"threads\":%zu", count);
	json_out_named_number(state->output, "instructions", ninsn);
	json_out_named_number(state->output, "blocks", nblocks);
	end(state);
}

static int put_summary(const struct jsonl_state *state, const struct sb_account *account)
{
	struct output *output = state->output;
	const char *comma = "";

	begin(state, "summary");
	json_out_named_number(output, "instructions", account->ninsn);
	json_out_named_number(output, "blocks", account->nblocks);
	json_out_named_number(output, "instructions_filtered", account->ninsn_filtered);
	json_out_named_number(output, "switches", account->nswitches);
	json_out_named_number(output, "bytes_total", account->bytes_total);
	json_out_named_number(output, "bytes_decoded", account->bytes_decoded);
	output_printf(output, ",\"gaps\":{");
	for (unsigned int i = 0; i < sb_gap_reasons; i++) {
		if (!account->gap[i].count && !account->gap[i].bytes)
			continue;
		output_printf(output, "%s\"%s\":{\"count\":%" PRIu64, comma,
		              sb_gap_reason_name((enum sb_gap_reason)i), account->gap[i].count);
		json_out_named_number(output, "bytes", account->gap[i].bytes);
		output_printf(output, "}");
		comma = ",";
	}
	output_printf(output, "}");
	return end(state);
}

static int jsonl_end(void *context, const struct sb_account *account, const struct sb_perfdata *perfdata)
{
	const struct jsonl_state *state = context;

	(void)perfdata;
	if (state->calls && sb_calls_finish(state->calls) < 0)
		return -1;
	for (size_t i = 0, count; i < account->nthreads; i += count) {
		for (count = 1; i + count < account->nthreads; count++)
			if (account->thread[i + count].pid != account->thread[i].pid)
				break;
		put_process(state, &account->thread[i], count);
	}
	return put_summary(state, account);
}

const struct sink_type sink_jsonl = {
        .name = "jsonl",
        .about = "a JSON object on each line: sbtrace-jsonl(5)",
        .size = sizeof(struct jsonl_state),
        .option = jsonl_options,
        .noptions = sizeof(jsonl_options) / sizeof(jsonl_options[0]),
        .symbols = sink_symbols_always,
        .by_time = true,
        .of_all = true,
        .begin = jsonl_begin,
        .flow = jsonl_flow,
        .gap = jsonl_gap,
        .end = jsonl_end,
        .free = jsonl_free,
};
