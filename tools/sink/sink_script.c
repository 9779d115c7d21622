/* sink_script.c - lines as perf-script(1) prints them: one for each instruction, block, branch or call.
 *
 * Where an instruction led to is only known from what comes next on its CPU, so the last one of each block
 * waits for that. With the flow of all CPUs in the order of time, lines of different CPUs come in about that
 * order, those of each CPU exactly. */
#include "sink/sink.h"

#include <stdlib.h>
#include <string.h>

#include <sb/call_stack.h>

#include "sink/script_line.h"

enum script_every { every_insn, every_block, every_branch, every_call };

/* A CPU, and what waits there. */
struct lane {
	int32_t cpu;
	bool has_last, has_on;
	struct script_place last; /* the last instruction of a block; .flow is the one below */
	struct sb_flow flow;      /* without its paths */
	uint32_t depth;           /* of last, in calls */
	const char *function;     /* likewise */
	bool unsure;              /* likewise */
	struct sb_flow_event on;  /* tracing was turned on */
};

struct script_state {
	struct script_writer_options options;
	enum script_every every;
	bool syntax_given;
	bool cut;
	struct script_writer *writer; /* owned */
	struct sb_calls *calls;       /* owned; NULL: calls are not indented */
	uint32_t depth;               /* of the block that was given to calls last */
	const char *function;         /* likewise */
	bool unsure;                  /* likewise: that it is there is a guess */
	struct lane *lane;            /* owned */
	size_t nlanes;
	const struct sink_context *context;
};

/* ---- Options ---------------------------------------------------------------------------------- */

static int set_fields(void *context, const char *value, struct option_error *error)
{
	struct script_state *state = context;

	return script_fields_parse(value, &state->options.fields, error);
}

static int set_every(void *context, const char *value, struct option_error *error)
{
	static const char *const names[] = {"insn", "block", "branch", "call"};
	struct script_state *state = context;
	const int chosen = option_choose(names, 4, value, error);

	if (chosen < 0)
		return -1;
	state->every = (enum script_every)chosen;
	return 0;
}

static int set_disasm(void *context, const char *value, struct option_error *error)
{
	static const char *const names[] = {"none", "intel", "att"};
	struct script_state *state = context;
	const int chosen = option_choose(names, 3, value, error);

	if (chosen < 0)
		return -1;
	state->options.syntax = (enum insn_syntax)chosen;
	state->syntax_given = true;
	return 0;
}

static int set_time(void *context, const char *value, struct option_error *error)
{
	static const char *const names[] = {"us", "ns"};
	struct script_state *state = context;
	const int chosen = option_choose(names, 2, value, error);

	if (chosen < 0)
		return -1;
	state->options.nanoseconds = chosen == 1;
	return 0;
}

static const struct sink_option script_options[] = {
        {"every", "insn|block|branch|call", "what has a line (insn)", set_every},
        {"fields", "LIST", "comm,pid,tid,cpu,time,tsc,flags,callindent,ip,sym,symoff,dso,addr,...",
         set_fields},
        {"disasm", "intel|att|none", "show assembly, in that syntax", set_disasm},
        {"time", "us|ns", "how exactly times are shown (us)", set_time},
};

static void set_defaults(struct script_state *state)
{
	struct script_writer_options *options = &state->options;

	if (!options->fields) {
		options->fields = script_comm | script_tid | script_cpu | script_time | script_flags |
		                  script_ip | script_sym | script_symoff | script_dso;
		if (state->every >= every_branch)
			options->fields |= script_addr;
	}
	if (state->syntax_given)
		options->fields = options->syntax ? options->fields | script_asm
		                                  : options->fields & ~(uint32_t)script_asm;
	else if (options->fields & script_asm)
		options->syntax = insn_syntax_intel;
}

/* ---- Begin and end ---------------------------------------------------------------------------- */

static int on_run(void *context, struct sb_call_thread *thread, uint64_t ninsn)
{
	struct script_state *state = context;

	(void)ninsn;
	state->depth = thread->depth - 1;
	state->function = sb_calls_top(thread)->function->name;
	state->unsure = sb_calls_top(thread)->unsure != 0;
	return 0;
}

static int open_calls(struct script_state *state)
{
	const struct sink_context *context = state->context;
	const struct sb_calls_options options = {.size = sizeof(options),
	                                         .symbols = context->symbols,
	                                         .clock = context->clock,
	                                         .system = context->system,
	                                         .holes = context->cut};
	const struct sb_calls_consumer consumer = {.context = state, .run = on_run};

	return sb_calls_new(&state->calls, &options, &consumer, NULL);
}

static void script_free(void *context)
{
	struct script_state *state = context;

	script_writer_free(state->writer);
	sb_calls_free(state->calls);
	free(state->lane);
}

static int script_begin(void *context, struct output *output, const struct sink_context *sink)
{
	struct script_state *state = context;

	state->context = sink;
	state->cut = sink->cut;
	set_defaults(state);
	state->writer = script_writer_new(output, sink, &state->options);
	if (state->writer && (!(state->options.fields & script_indent) || open_calls(state) >= 0))
		return 0;
	script_free(state);
	return -1;
}

static struct lane *lane_of(struct script_state *state, int32_t cpu)
{
	struct lane *lane;

	for (size_t i = 0; i < state->nlanes; i++)
		if (state->lane[i].cpu == cpu)
			return &state->lane[i];
	lane = reallocarray(state->lane, state->nlanes + 1, sizeof(*lane));
	if (!lane)
		return NULL;
	state->lane = lane;
	lane += state->nlanes++;
	*lane = (struct lane){.cpu = cpu};
	return lane;
}

/* ---- What waits ------------------------------------------------------------------------------- */

/* Where it went. */
struct destination {
	bool known;
	uint64_t ip;
	const struct sb_flow *flow; /* NULL: whose it was */
	const char *prefix;         /* of the flags */
};

static bool is_wanted(const struct script_state *state, const struct lane *lane, const struct destination *to,
                      const char *branch)
{
	if (state->every == every_insn)
		return true;
	if (!branch[0] || (state->every == every_call && (!strcmp(branch, "jcc") || !strcmp(branch, "jmp"))))
		return false;
	if (strcmp(branch, "jcc") != 0)
		return true;
	return to->known ? to->ip != lane->last.ip + lane->last.length : state->cut;
}

/* The instruction that waits went on to @to. */
static int settle(struct script_state *state, struct lane *lane, const struct destination *to)
{
	const char *branch;
	struct script_line line;

	if (!lane->has_last)
		return 0;
	lane->has_last = false;
	lane->last.flow = &lane->flow;
	branch = script_branch(state->writer, &lane->last);
	if (!branch)
		return -1;
	if (!is_wanted(state, lane, to, branch))
		return 0;
	line = (struct script_line){.at = lane->last,
	                            .flags = branch[0] ? to->prefix : "",
	                            .more = branch,
	                            .has_to = to->known && branch[0],
	                            .to = to->ip,
	                            .to_flow = to->flow,
	                            .depth = lane->depth,
	                            .function = lane->function,
	                            .unsure = lane->unsure};
	return script_put(state->writer, &line);
}

static int put_event(struct script_state *state, const struct lane *lane, const struct sb_flow *flow,
                     const struct sb_flow_event *event, const char *flags)
{
	const struct script_line line = {.at = {.flow = flow, .ip = event->from},
	                                 .flags = flags,
	                                 .more = "",
	                                 .has_to = true,
	                                 .to = event->to,
	                                 .depth = lane->depth,
	                                 .function = lane->function,
	                                 .unsure = lane->unsure};

	return state->every < every_branch ? 0 : script_put(state->writer, &line);
}

/* Tracing was turned on: whose flow it is tells what is there; without any, the model of the system does. */
static int settle_on(struct script_state *state, struct lane *lane, const struct sb_flow *flow)
{
	const struct sink_context *context = state->context;
	struct sb_flow nobody = {.cpu = lane->cpu, .pid = lane->on.pid, .tid = lane->on.tid};

	if (!lane->has_on)
		return 0;
	lane->has_on = false;
	if (!flow) {
		const uint64_t time = sb_clock_tsc_to_ns(context->clock, lane->on.tsc);
		const struct sb_space *space = sb_system_space(context->system, nobody.pid, time);

		nobody.epoch = space ? sb_space_epoch(space, time) : NULL;
	} else {
		nobody = *flow;
	}
	nobody.tsc = lane->on.tsc;
	return put_event(state, lane, &nobody, &lane->on, "tr strt");
}

/* ---- Flow ------------------------------------------------------------------------------------- */

/* Gives the block to the call stacks, which then know its depth. */
static int follow_calls(struct script_state *state, const struct sb_flow *flow,
                        const struct pt_run_block *block, bool is_last)
{
	const struct pt_run_path path = {
	        .block = block, .nblocks = 1, .ninsn = block->ninsn, .id = ptr_no_id};
	const struct pt_run_path *const paths[] = {&path};
	struct sb_flow one = *flow;

	one.path = paths;
	one.npaths = one.nblocks = 1;
	one.ninsn = block->ninsn;
	if (!is_last)
		one.left_ip = 0;
	return sb_calls_flow(state->calls, &one);
}

static int put_insns(struct script_state *state, const struct sb_flow *flow, const struct pt_run_block *block)
{
	const unsigned int count = state->every == every_block ? 1 : block->ninsn - 1u;
	struct script_line line = {
	        .at = {.flow = flow, .ip = block->ip, .mode = block->mode, .iclass = ptic_other},
	        .flags = "",
	        .more = "",
	        .depth = state->depth,
	        .function = state->function,
	        .unsure = state->unsure};

	for (unsigned int i = 0; i < count; i++) {
		line.at.length = block->length[i];
		if (script_put(state->writer, &line))
			return -1;
		line.at.ip += block->length[i];
	}
	return 0;
}

static int put_block(struct script_state *state, struct lane *lane, const struct sb_flow *flow,
                     const struct pt_run_block *block)
{
	const struct destination here = {.known = !state->cut, .ip = block->ip, .flow = flow, .prefix = ""};

	if (settle_on(state, lane, flow) || settle(state, lane, &here))
		return -1;
	if (state->every <= every_block && put_insns(state, flow, block))
		return -1;
	if (state->every == every_block)
		return 0;
	lane->has_last = true;
	lane->last = (struct script_place){.ip = block->end_ip,
	                                   .length = block->length[block->ninsn - 1],
	                                   .mode = block->mode,
	                                   .iclass = block->iclass};
	lane->flow = *flow;
	lane->depth = state->depth;
	lane->function = state->function;
	lane->unsure = state->unsure;
	return 0;
}

static int script_flow(void *context, const struct sb_flow *flow)
{
	struct script_state *state = context;
	struct lane *lane = lane_of(state, flow->cpu);

	if (!lane)
		return -1;
	for (uint32_t i = 0; i < flow->npaths; i++)
		for (uint32_t j = 0; j < flow->path[i]->nblocks; j++) {
			const bool is_last = i + 1 == flow->npaths && j + 1 == flow->path[i]->nblocks;
			const struct pt_run_block *block = &flow->path[i]->block[j];

			if ((state->calls && follow_calls(state, flow, block, is_last) < 0) ||
			    put_block(state, lane, flow, block))
				return -1;
		}
	return 0;
}

static int script_event(void *context, const struct sb_flow_event *event)
{
	struct script_state *state = context;
	struct lane *lane = lane_of(state, event->cpu);
	struct destination to = {.known = true, .ip = event->from, .prefix = ""};

	if (!lane || settle_on(state, lane, NULL))
		return -1;
	if (event->kind == sb_flow_on) {
		to.known = false;
		lane->has_on = true;
		lane->on = *event;
		return settle(state, lane, &to);
	}
	if (event->kind == sb_flow_off) {
		to.ip = event->to;
		to.prefix = "tr end  ";
		return settle(state, lane, &to);
	}
	lane->flow.tsc = event->tsc > lane->flow.tsc ? event->tsc : lane->flow.tsc;
	if (settle(state, lane, &to))
		return -1;
	return put_event(state, lane, &lane->flow, event,
	                 event->kind == sb_flow_interrupt ? "hw int" : "tr end  async");
}

/* What came before the gap went nobody knows where. */
static int script_gap(void *context, const struct sb_gap *gap)
{
	const struct destination unknown = {.prefix = ""};
	struct script_state *state = context;
	struct lane *lane = gap->cpu >= 0 ? lane_of(state, gap->cpu) : NULL;

	if (gap->cpu >= 0 && (!lane || settle_on(state, lane, NULL) || settle(state, lane, &unknown)))
		return -1;
	if (state->calls && sb_calls_gap(state->calls, gap) < 0)
		return -1;
	return script_put_gap(state->writer, gap);
}

static int script_end(void *context, const struct sb_account *account, const struct sb_perfdata *perfdata)
{
	const struct destination unknown = {.prefix = ""};
	struct script_state *state = context;

	(void)account;
	(void)perfdata;
	for (size_t i = 0; i < state->nlanes; i++)
		if (settle_on(state, &state->lane[i], NULL) || settle(state, &state->lane[i], &unknown))
			return -1;
	return 0;
}

const struct sink_type sink_script = {
        .name = "script",
        .about = "lines as perf script prints them, for instructions, blocks, branches or calls",
        .size = sizeof(struct script_state),
        .option = script_options,
        .noptions = sizeof(script_options) / sizeof(script_options[0]),
        .symbols = sink_symbols_always,
        .by_time = true,
        .begin = script_begin,
        .flow = script_flow,
        .gap = script_gap,
        .event = script_event,
        .end = script_end,
        .free = script_free,
};
