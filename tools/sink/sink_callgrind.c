/* sink_callgrind.c - functions, lines and calls with inclusive cost, for callgrind_annotate and KCachegrind:
 * Valgrind's manual, "Callgrind Format Specification". The cost of a line is the instructions of it that ran,
 * exactly; that of a call what the called function took with all that it called, out of call stacks. */
#include "sink/count_sink.h"

#include <inttypes.h>
#include <string.h>

#include "count/call_counts.h"
#include "count/code_function.h"
#include "vector.h"

struct callgrind_state {
	struct count_sink sink;
	struct sb_source_lines *lines; /* the context's */
	struct call_counts *calls;     /* owned */
};

/* What a line of a function cost itself. */
struct cost {
	uint32_t function;
	const char *file; /* NULL: not known */
	uint32_t line;
	uint64_t ninsn;
};

struct costs {
	struct cost *cost; /* owned */
	size_t count, room;
};

static void callgrind_free(void *context)
{
	struct callgrind_state *state = context;

	call_counts_free(state->calls);
	count_sink_free(context);
}

static int callgrind_begin(void *context, struct output *output, const struct sink_context *sink)
{
	struct callgrind_state *state = context;

	state->sink.no_edges = true;
	if (count_sink_begin(context, output, sink))
		return -1;
	state->lines = sink->lines;
	state->calls = call_counts_new(sink->symbols, state->lines, sink->clock, sink->system, sink->cut);
	if (state->calls)
		return 0;
	callgrind_free(context);
	return -1;
}

/* Added up, it comes twice: as counts, and as calls. */
static int callgrind_flow(void *context, const struct sb_flow *flow)
{
	struct callgrind_state *state = context;

	if (!flow->calls && count_sink_flow(context, flow))
		return -1;
	return flow->times || flow->ways ? 0 : call_counts_flow(state->calls, flow);
}

static unsigned int callgrind_takes_sums(const struct sink_setting *setting, size_t nsettings)
{
	(void)setting;
	(void)nsettings;
	return sb_sums_blocks | sb_sums_edges;
}

static int callgrind_gap(void *context, const struct sb_gap *gap)
{
	struct callgrind_state *state = context;

	return count_sink_gap(context, gap) || call_counts_gap(state->calls, gap) ? -1 : 0;
}

/* ---- Costs of lines --------------------------------------------------------------------------- */

static int add_cost(struct costs *costs, uint32_t function, const struct sb_source_line *line, uint64_t ninsn)
{
	struct cost *last = costs->count ? &costs->cost[costs->count - 1] : NULL;

	if (last && last->function == function && last->file == line->file && last->line == line->line) {
		last->ninsn += ninsn;
		return 0;
	}
	if (vector_reserve(&costs->cost, &costs->room, costs->count, sizeof(*costs->cost)))
		return -1;
	costs->cost[costs->count++] = (struct cost){function, line->file, line->line, ninsn};
	return 0;
}

/* The instructions from @i on that are of @function. */
static int add_function(struct callgrind_state *state, struct costs *costs, const struct code_part *part,
                        size_t i, const struct code_function *function)
{
	const char *dso = function->symbol.dso ? function->symbol.dso : part->name;
	const int64_t index = call_counts_function(state->calls, dso, function->symbol.name);
	struct sb_source_line line = {0};
	int status = index < 0 ? -1 : 0;

	for (; i < function->end && !status; i++) {
		const struct sb_symbols_place place = code_insn_place(&part->insn[i]);

		if (place.ip < line.low || place.ip >= line.high)
			status = sb_source_lines_find(state->lines, &place, &line, NULL) < 0 ? -1 : 0;
		if (!status)
			status = add_cost(costs, (uint32_t)index, &line, part->insn[i].count);
	}
	return status;
}

static int add_part(struct callgrind_state *state, struct costs *costs, const struct code_part *part)
{
	struct code_function function;

	for (size_t i = 0; i < part->ninsns; i = function.end)
		if (code_part_function(part, i, state->sink.context->symbols, &function) ||
		    add_function(state, costs, part, i, &function))
			return -1;
	return 0;
}

static int compare_strings(const char *a, const char *b)
{
	if (!a || !b || a == b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

static int compare_costs(const void *left, const void *right)
{
	const struct cost *a = left, *b = right;
	int order = (a->function > b->function) - (a->function < b->function);

	order = order ? order : compare_strings(a->file, b->file);
	return order ? order : (a->line > b->line) - (a->line < b->line);
}

/* ---- Writing ---------------------------------------------------------------------------------- */

/* What is written, and which file its lines are of. */
struct writer {
	struct output *output;
	const struct call_function *function;
	const struct cost *cost;
	const struct call_edge *edge;
	size_t ncosts, nedges;
	const char *own, *file; /* own: the function's */
};

static const char *or_unknown(const char *name)
{
	return name ? name : "???";
}

/* What has no name is told apart by what it is in. */
static int put_function_name(struct output *output, const char *key, const struct call_function *function)
{
	const char *slash = function->dso ? strrchr(function->dso, '/') : NULL;

	if (function->name)
		return count_sink_put_name(output, key, function->name, "\n");
	output_printf(output, "%s", key);
	return count_sink_put_name(output, "(", slash ? slash + 1 : or_unknown(function->dso), ")\n");
}

/* What is of no known file is of the function's. */
static void put_file(struct writer *writer, const char *file)
{
	if (!file)
		file = writer->own;
	if (file == writer->file)
		return;
	writer->file = file;
	count_sink_put_name(writer->output, "fi=", or_unknown(file), "\n");
}

static void put_cost(struct writer *writer, const struct cost *cost)
{
	put_file(writer, cost->file);
	output_printf(writer->output, "%" PRIu32 " %" PRIu64 "\n", cost->line, cost->ninsn);
}

static int put_call(struct writer *writer, const struct call_edge *edge)
{
	const struct call_function *callee = &writer->function[edge->callee];

	put_file(writer, edge->file);
	count_sink_put_name(writer->output, "cob=", or_unknown(callee->dso), "\n");
	count_sink_put_name(writer->output, "cfi=", or_unknown(callee->file), "\n");
	put_function_name(writer->output, "cfn=", callee);
	return output_printf(writer->output, "calls=%" PRIu64 " %" PRIu32 "\n%" PRIu32 " %" PRIu64 "\n",
	                     edge->calls, callee->line, edge->line, edge->ninsn);
}

static int put_function(struct writer *writer, uint32_t index)
{
	const struct call_function *function = &writer->function[index];
	int status;

	count_sink_put_name(writer->output, "\nob=", or_unknown(function->dso), "\n");
	count_sink_put_name(writer->output, "fl=", or_unknown(function->file), "\n");
	status = put_function_name(writer->output, "fn=", function);
	writer->own = writer->file = function->file;
	for (; writer->ncosts && writer->cost->function == index; writer->cost++, writer->ncosts--)
		put_cost(writer, writer->cost);
	for (; writer->nedges && writer->edge->caller == index && !status; writer->edge++, writer->nedges--)
		status = put_call(writer, writer->edge);
	return status;
}

static uint64_t sum_of(const struct costs *costs)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < costs->count; i++)
		sum += costs->cost[i].ninsn;
	return sum;
}

static int put_all(struct callgrind_state *state, const struct costs *costs)
{
	const struct call_doubts doubts = call_counts_doubts(state->calls);
	struct writer writer = {.output = state->sink.output, .cost = costs->cost, .ncosts = costs->count};
	size_t nfunctions;
	int status;

	writer.function = call_counts_functions(state->calls, &nfunctions);
	writer.edge = call_counts_edges(state->calls, &writer.nedges);
	status = output_printf(writer.output,
	                       "# callgrind format\nversion: 1\ncreator: sbtrace\npositions: line\n");
	if (doubts.guesses)
		output_printf(writer.output,
		              "desc: Guesses: %" PRIu64 " of %" PRIu64 " calls, and their costs\n",
		              doubts.guesses, doubts.calls);
	output_printf(writer.output, "event: Ir : Instructions\nevents: Ir\nsummary: %" PRIu64 "\n",
	              sum_of(costs));
	for (uint32_t i = 0; i < nfunctions && !status; i++)
		status = put_function(&writer, i);
	return status;
}

static int callgrind_end(void *context, const struct sb_account *account, const struct sb_perfdata *perfdata)
{
	struct callgrind_state *state = context;
	struct costs costs = {0};
	struct code_view view;
	uint32_t *rank = NULL;
	int status = count_sink_view(&state->sink, &view);

	(void)account;
	(void)perfdata;
	if (!status)
		status = call_counts_finish(state->calls);
	for (size_t i = 0; i < view.nparts && !status; i++)
		status = add_part(state, &costs, &view.part[i]);
	if (!status)
		status = call_counts_sort(state->calls, &rank);
	for (size_t i = 0; i < costs.count && !status; i++)
		costs.cost[i].function = rank[costs.cost[i].function];
	if (costs.count)
		qsort(costs.cost, costs.count, sizeof(*costs.cost), compare_costs);
	if (!status)
		status = put_all(state, &costs);
	free(costs.cost);
	free(rank);
	code_view_fini(&view);
	return status;
}

const struct sink_type sink_callgrind = {
        .name = "callgrind",
        .about = "functions, lines and calls with what they cost: for callgrind_annotate, KCachegrind",
        .size = sizeof(struct callgrind_state),
        .symbols = sink_symbols_always,
        .by_time = true,
        .takes_sums = callgrind_takes_sums,
        .begin = callgrind_begin,
        .flow = callgrind_flow,
        .gap = callgrind_gap,
        .end = callgrind_end,
        .free = callgrind_free,
};
