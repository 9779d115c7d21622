/* sink.c - the table of sinks, and the tee between them. */
#include "sink/sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"
#include "sink/flow_filter.h"

static const struct sink_type *const types[] = {
        &sink_insn, &sink_block,     &sink_gap,   &sink_summary, &sink_script, &sink_counts, &sink_lcov,
        &sink_bolt, &sink_autofdo,   &sink_tally, &sink_folded,  &sink_flame,  &sink_chrome, &sink_perfetto,
        &sink_html, &sink_callgrind, &sink_pprof, &sink_jsonl,   &sink_sqlite};

const struct sink_type *sink_type_at(size_t index)
{
	return index < sizeof(types) / sizeof(types[0]) ? types[index] : NULL;
}

const struct sink_type *sink_type_find(const char *name, const char **suggestion)
{
	const struct sink_type *type;
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (size_t i = 0; (type = sink_type_at(i)); i++) {
		if (!strcmp(type->name, name))
			return type;
		nearest_offer(&nearest, type->name);
	}
	if (suggestion)
		*suggestion = nearest.best;
	return NULL;
}

struct open_sink {
	const struct sink_type *type;
	void *state;
	struct output *output; /* owned by the first sink that has it */
	bool owner, flow;
	unsigned int takes; /* enum sb_sums */
	struct sink_context context;
	struct flow_filter *filter; /* NULL: none */
	struct flow_part part;      /* when it takes whole flow, and there are filters */
};

struct sink_set {
	const struct sink_context *context;
	struct flow_filter *filter; /* of all; NULL: none */
	unsigned int sums;          /* as flow comes now */
	bool comes_again;           /* it came otherwise before */
	size_t count;
	struct open_sink sink[];
};

static int open_output(struct sink_set *set, struct open_sink *sink, const char *file, struct sb_error *err)
{
	bool to_stdout = !file || !strcmp(file, "-");

	if (to_stdout && sink->type->file_only)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX,
		                    "the sink %s cannot write to standard output: name a file",
		                    sink->type->name);
	for (size_t i = 0; i < set->count; i++) {
		struct output *other = set->sink[i].output;

		if (to_stdout && !other->path) {
			sink->output = other;
			return 0;
		}
		if (!to_stdout && other->path && !strcmp(other->path, file))
			return sb_error_set(err, -sbe_invalid, file, UINT64_MAX,
			                    "the sinks %s and %s cannot both write to this file",
			                    set->sink[i].type->name, sink->type->name);
	}
	sink->owner = true;
	return output_open(&sink->output, file, err);
}

static int apply_settings(const struct sink_request *request, void *state, struct sb_error *err)
{
	struct option_error error;

	for (size_t i = 0; i < request->nsettings; i++)
		if (request->setting[i].option->set(state, request->setting[i].value, &error))
			return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sink %s: %s: %s",
			                    request->type->name, request->setting[i].option->name, error.why);
	return 0;
}

static int open_filter(struct flow_filter **filter, const struct sink_filter *wanted,
                       const struct sink_context *context, struct sb_error *err)
{
	*filter = flow_filter_new(wanted, context);
	return *filter ? 0 : sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

static int begin(struct open_sink *sink, struct sb_error *err)
{
	int code;

	if (sink->type->begin(sink->state, sink->output, &sink->context) >= 0)
		return 0;
	code = sink->output->broken ? sb_error_set(err, -sbe_io, sink->output->path, UINT64_MAX,
	                                           "cannot be written: %s", output_reason(sink->output))
	                            : sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	if (sink->owner)
		output_close(sink->output);
	return code;
}

static int open_sink(struct sink_set *set, const struct sink_request *request,
                     const struct sink_context *context, struct sb_error *err)
{
	struct open_sink *sink = &set->sink[set->count];
	int code;

	sink->type = request->type;
	sink->flow = sink_type_wants_flow(request->type, request->symbols);
	if (request->type->takes_sums && !request->filter)
		sink->takes = request->type->takes_sums(request->setting, request->nsettings);
	sink->context = *context;
	if (!sink_type_wants_symbols(request->type, request->symbols))
		sink->context.symbols = NULL;
	if (request->filter && (request->filter->naddresses || request->filter->nfunctions))
		sink->context.cut = true;
	sink->state = calloc(1, request->type->size);
	if (!sink->state)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	code = apply_settings(request, sink->state, err);
	if (!code && request->filter)
		code = open_filter(&sink->filter, request->filter, context, err);
	if (request->type->whole_flow && sink->flow && (request->filter || context->cut)) {
		sink->part.filter[0] = sink->filter;
		sink->context.part = &sink->part;
		sink->context.cut = false;
	}
	if (!code)
		code = open_output(set, sink, request->file, err);
	if (!code)
		code = begin(sink, err);
	if (code) {
		flow_filter_free(sink->filter);
		free(sink->state);
	} else {
		set->count++;
	}
	return code;
}

int sink_set_new(struct sink_set **result, const struct sink_request *request, size_t count,
                 const struct sink_context *context, struct sb_error *err)
{
	struct sink_set *set = calloc(1, sizeof(*set) + count * sizeof(set->sink[0]));
	int code = 0;

	if (!set)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	set->context = context;
	for (size_t i = 0; i < count && !code; i++)
		code = open_sink(set, &request[i], context, err);
	if (code)
		sink_set_free(set);
	else
		*result = set;
	return code;
}

/* After a write failed: go on as long as somebody listens, but never after a real error. */
static int after_failure(const struct sink_set *set)
{
	struct sb_error error;
	int code = sink_set_error(set, &error);

	if (code)
		return code;
	return sink_set_all_gone(set) ? -sbe_stop : 0;
}

int sink_set_filter(struct sink_set *set, const struct sink_filter *filter)
{
	struct sb_error ignored;
	const int code = open_filter(&set->filter, filter, set->context, &ignored);

	for (size_t i = 0; i < set->count; i++)
		set->sink[i].part.filter[1] = set->filter;
	return code;
}

void sink_set_limit(struct sink_set *set, struct output_limit *limit)
{
	for (size_t i = 0; i < set->count; i++)
		set->sink[i].output->limit = limit;
}

int sink_set_sums(struct sink_set *set, unsigned int sums)
{
	set->comes_again = set->sums != sb_sums_none;
	set->sums = sums;
	for (size_t i = 0; i < set->count; i++)
		if (set->sink[i].type->sums)
			set->sink[i].type->sums(set->sink[i].state, sums);
	return 0;
}

/* Whether it is this sink's turn. Those that look at no flow are given the rest once. */
static bool is_given(const struct sink_set *set, const struct open_sink *sink)
{
	const unsigned int both = sink->takes & set->sums;

	if (sink->output->broken)
		return false;
	if (!sink->flow)
		return !set->comes_again;
	/* Of what is counted, more will do. */
	return !set->sums || both & (sb_sums_stacks | sb_sums_threads) ||
	       (sink->takes & sb_sums_counts && set->sums & sb_sums_counts);
}

/* Zero, or negative: the sink's output is broken, or there is no memory. */
static int give_flow(const struct open_sink *sink, const struct sb_flow *flow, const struct sb_flow *part)
{
	if (sink->context.part)
		return flow_part_begin(&sink->part, flow) ? sink->type->flow(sink->state, flow) : 0;
	flow = part;
	if (!flow)
		return 0;
	if (sink->filter && flow_filter_apply(sink->filter, flow, &flow))
		return -sbe_nomem;
	return flow ? sink->type->flow(sink->state, flow) : 0;
}

int sink_set_flow(struct sink_set *set, const struct sb_flow *flow)
{
	const struct sb_flow *part = flow;
	bool failed = false;
	int status;

	if (set->filter && flow_filter_apply(set->filter, flow, &part))
		return -sbe_nomem;
	for (size_t i = 0; i < set->count; i++) {
		const struct open_sink *sink = &set->sink[i];

		if (!sink->flow || !is_given(set, sink))
			continue;
		status = give_flow(sink, flow, part);
		if (!status)
			continue;
		if (!sink->output->broken)
			return status == -sbe_order ? status : -sbe_nomem;
		failed = true;
	}
	return failed ? after_failure(set) : 0;
}

uint64_t sink_set_turns_until(const struct sink_set *set, int32_t cpu)
{
	uint64_t until = UINT64_MAX;

	for (size_t i = 0; i < set->count; i++) {
		const struct open_sink *sink = &set->sink[i];
		uint64_t own = 0;

		if (!sink->flow || !is_given(set, sink))
			continue;
		if (sink->type->turns_until && !set->filter && !sink->filter)
			own = sink->type->turns_until(sink->state, cpu);
		until = own < until ? own : until;
	}
	return until;
}

int sink_set_gap(struct sink_set *set, const struct sb_gap *gap)
{
	bool failed = false;

	for (size_t i = 0; i < set->count; i++) {
		const struct open_sink *sink = &set->sink[i];

		if (!sink->type->gap || !is_given(set, sink) ||
		    (sink->filter && !sink->context.part && !flow_filter_wants_gap(sink->filter, gap)))
			continue;
		if (sink->type->gap(sink->state, gap))
			failed = true;
	}
	return failed ? after_failure(set) : 0;
}

int sink_set_event(struct sink_set *set, const struct sb_flow_event *event)
{
	bool failed = false;

	for (size_t i = 0; i < set->count; i++) {
		const struct open_sink *sink = &set->sink[i];

		if (!sink->type->event || !is_given(set, sink) ||
		    (sink->filter && !flow_filter_wants_event(sink->filter, event)) ||
		    !sink->type->event(sink->state, event))
			continue;
		if (!sink->output->broken)
			return -sbe_nomem;
		failed = true;
	}
	return failed ? after_failure(set) : 0;
}

bool sink_set_wants_events(const struct sink_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->sink[i].type->event)
			return true;
	return false;
}

bool sink_set_all_gone(const struct sink_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		if (!set->sink[i].output->broken)
			return false;
	return true;
}

int sink_set_error(const struct sink_set *set, struct sb_error *err)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct output *output = set->sink[i].output;

		if (output->broken && output->broken != EPIPE)
			return sb_error_set(err, -sbe_io, output->path ? output->path : "standard output",
			                    UINT64_MAX, "write failed: %s", output_reason(output));
	}
	return 0;
}

/* The output is not what failed. */
static int end_failed(const struct open_sink *sink, int code, struct sb_error *err)
{
	if (code != -sbe_io)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	return sb_error_set(err, -sbe_io, NULL, UINT64_MAX,
	                    "%s: what it put aside in a temporary file cannot be read again: %s",
	                    sink->type->name, strerror(errno));
}

int sink_set_finish(struct sink_set *set, const struct sb_account *account,
                    const struct sb_perfdata *perfdata, struct sb_error *err)
{
	int code = 0;

	for (size_t i = 0; i < set->count; i++) {
		const struct open_sink *sink = &set->sink[i];

		if (sink->output->broken || !sink->type->end)
			continue;
		code = sink->type->end(sink->state, account, perfdata);
		if (code && !sink->output->broken)
			return end_failed(sink, code, err);
	}
	code = 0;
	/* All are tried; the first that fails is told. */
	for (size_t i = 0; i < set->count; i++)
		if (set->sink[i].owner) {
			int result = output_commit(set->sink[i].output, code ? NULL : err);

			code = code ? code : result;
		}
	return code;
}

void sink_set_free(struct sink_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->count; i++) {
		if (set->sink[i].owner)
			output_close(set->sink[i].output);
		if (set->sink[i].type->free)
			set->sink[i].type->free(set->sink[i].state);
		free(set->sink[i].state);
		flow_filter_free(set->sink[i].filter);
	}
	flow_filter_free(set->filter);
	free(set);
}
