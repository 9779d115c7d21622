/* sink_pprof.c - call stacks with the instructions that ran in each, for `go tool pprof` and what else reads
 * its profiles: google/pprof, proto/profile.proto, packed with gzip.
 *
 * A location is a function. Whose stack it is, is a label of the sample; so is that it is a guess. */
#include "sink/sink.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "sink/call_tree.h"
#include "sink/proto_wire.h"

enum {
	gzip_window = 15 + 16,   /* zlib's way to say gzip */
	flush_size = 256 * 1024, /* is packed at a time */
};

/* Fields of messages. */
enum {
	profile_sample_type = 1,
	profile_sample,
	profile_location = 4,
	profile_function,
	profile_string,
	profile_period_type = 11,
	profile_period,
	sample_location = 1,
	sample_value,
	sample_label,
	label_key = 1,
	label_string,
	type_name = 1,
	type_unit,
	location_id = 1,
	location_line = 4,
	line_function = 1,
	function_id = 1,
	function_name,
	function_system_name,
};

/* The first strings of the table; names of functions and groups follow. */
enum { string_empty, string_weight, string_unit, string_group, string_stack, string_guess, strings_fixed };

struct pprof_state {
	struct output *output;
	enum call_tree_group group;
	enum call_tree_weight weight;
	struct call_tree *tree; /* owned */
	struct proto proto;
	const char **name; /* owned; of all nodes, sorted; the index is the number of the function less one */
	size_t nnames;
};

static int set_group(void *context, const char *value, struct option_error *error)
{
	struct pprof_state *state = context;

	return call_tree_set_group(&state->group, value, error);
}

static int set_weight(void *context, const char *value, struct option_error *error)
{
	struct pprof_state *state = context;

	return call_tree_set_weight(&state->weight, value, error);
}

static int pprof_begin(void *context, struct output *output, const struct sink_context *sink)
{
	struct pprof_state *state = context;

	state->output = output;
	state->tree = call_tree_new(sink, state->group, state->weight);
	return state->tree ? 0 : -1;
}

static void pprof_free(void *context)
{
	struct pprof_state *state = context;

	call_tree_free(state->tree);
	free(state->proto.bytes);
	free(state->name);
}

static int pprof_flow(void *context, const struct sb_flow *flow)
{
	struct pprof_state *state = context;

	return call_tree_flow(state->tree, flow);
}

static int pprof_gap(void *context, const struct sb_gap *gap)
{
	struct pprof_state *state = context;

	return call_tree_gap(state->tree, gap);
}

/* ---- Names ------------------------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int list_names(struct pprof_state *state)
{
	const struct call_node *root = call_tree_root(state->tree);
	size_t count = 0, n = 0;

	for (const struct call_node *node = root; (node = call_node_after(node));)
		count++;
	state->name = calloc(count + 1, sizeof(*state->name));
	if (!state->name)
		return -1;
	for (const struct call_node *node = root; (node = call_node_after(node));)
		state->name[n++] = node->name;
	qsort(state->name, n, sizeof(*state->name), compare_names);
	for (size_t i = 0; i < n; i++)
		if (!i || strcmp(state->name[i], state->name[i - 1]) != 0)
			state->name[state->nnames++] = state->name[i];
	return 0;
}

static uint64_t index_of(const struct pprof_state *state, const char *name)
{
	const char **found = bsearch(&name, state->name, state->nnames, sizeof(*state->name), compare_names);

	return (uint64_t)(found - state->name);
}

/* ---- Packing ---------------------------------------------------------------------------------- */

struct packer {
	struct pprof_state *state;
	z_stream stream;
};

/* Packs what was written so far; @flush: Z_FINISH at the end, else Z_NO_FLUSH. */
static int pack(struct packer *packer, int flush)
{
	struct proto *proto = &packer->state->proto;
	z_stream *stream = &packer->stream;

	if (proto->failed)
		return -1;
	stream->next_in = proto->bytes;
	stream->avail_in = (uInt)proto->used;
	do {
		char *room = output_room(packer->state->output, output_most);

		if (!room)
			return -1;
		stream->next_out = (Bytef *)room;
		stream->avail_out = output_most;
		deflate(stream, flush);
		output_advance(packer->state->output, (const char *)stream->next_out);
	} while (!stream->avail_out);
	proto->used = 0;
	return 0;
}

static int pack_if_much(struct packer *packer)
{
	return packer->state->proto.used < flush_size ? 0 : pack(packer, Z_NO_FLUSH);
}

/* ---- Messages --------------------------------------------------------------------------------- */

static void put_type(struct proto *proto, uint32_t field)
{
	const size_t opened = proto_open(proto, field);

	proto_number(proto, type_name, string_weight);
	proto_number(proto, type_unit, string_unit);
	proto_close(proto, opened);
}

static void put_label(struct proto *proto, uint64_t key, uint64_t string)
{
	const size_t opened = proto_open(proto, sample_label);

	proto_number(proto, label_key, key);
	proto_number(proto, label_string, string);
	proto_close(proto, opened);
}

/* Whether the node is whose stacks they are, and no function. */
static bool is_group(const struct pprof_state *state, const struct call_node *node)
{
	return state->group != group_none && !node->parent->parent;
}

/* The stack of @node, the innermost function first. */
static void put_sample(struct pprof_state *state, const struct call_node *node)
{
	struct proto *proto = &state->proto;
	const size_t opened = proto_open(proto, profile_sample);
	const uint64_t weight = node->self;
	bool unsure = false;

	for (; node->parent && !is_group(state, node); node = node->parent) {
		proto_number(proto, sample_location, index_of(state, node->name) + 1);
		unsure |= node->unsure;
	}
	proto_number(proto, sample_value, weight);
	if (node->parent)
		put_label(proto, string_group, strings_fixed + index_of(state, node->name));
	if (unsure)
		put_label(proto, string_stack, string_guess);
	proto_close(proto, opened);
}

static void put_function(struct proto *proto, size_t index)
{
	size_t opened = proto_open(proto, profile_location), line;

	proto_number(proto, location_id, index + 1);
	line = proto_open(proto, location_line);
	proto_number(proto, line_function, index + 1);
	proto_close(proto, line);
	proto_close(proto, opened);
	opened = proto_open(proto, profile_function);
	proto_number(proto, function_id, index + 1);
	proto_number(proto, function_name, strings_fixed + index);
	proto_number(proto, function_system_name, strings_fixed + index);
	proto_close(proto, opened);
}

static void put_fixed_strings(struct pprof_state *state)
{
	static const char *const group[] = {[group_comm] = "comm",
	                                    [group_process] = "process",
	                                    [group_thread] = "thread",
	                                    [group_container] = "container",
	                                    [group_none] = "-"};
	const char *unit = call_tree_unit(state->tree);
	const bool counts = state->weight == weight_instructions;
	const char *const string[strings_fixed] = {[string_empty] = "",
	                                           [string_weight] = counts ? "instructions" : "time",
	                                           [string_unit] = counts                ? "count"
	                                                           : !strcmp(unit, "ns") ? "nanoseconds"
	                                                                                 : unit,
	                                           [string_group] = group[state->group],
	                                           [string_stack] = "stack",
	                                           [string_guess] = "guess"};

	for (int i = 0; i < strings_fixed; i++)
		proto_text(&state->proto, profile_string, string[i]);
}

static int put_all(struct packer *packer)
{
	struct pprof_state *state = packer->state;
	struct proto *proto = &state->proto;
	int status = 0;

	put_type(proto, profile_sample_type);
	put_fixed_strings(state);
	for (size_t i = 0; i < state->nnames && !status; i++) {
		proto_text(proto, profile_string, state->name[i]);
		put_function(proto, i);
		status = pack_if_much(packer);
	}
	for (const struct call_node *node = call_tree_root(state->tree);
	     !status && (node = call_node_after(node));) {
		if (!node->self || is_group(state, node))
			continue;
		put_sample(state, node);
		status = pack_if_much(packer);
	}
	put_type(proto, profile_period_type);
	proto_number(proto, profile_period, 1);
	return status ? status : pack(packer, Z_FINISH);
}

static int pprof_end(void *context, const struct sb_account *account, const struct sb_perfdata *perfdata)
{
	struct pprof_state *state = context;
	struct packer packer = {.state = state};
	int status;

	(void)account;
	(void)perfdata;
	if (call_tree_finish(state->tree) < 0 || list_names(state))
		return -1;
	if (deflateInit2(&packer.stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, 8,
	                 Z_DEFAULT_STRATEGY) != Z_OK)
		return -1;
	status = put_all(&packer);
	deflateEnd(&packer.stream);
	return status;
}

static const struct sink_option options[] = {
        {"by", "comm|process|thread|container|none", "whose stacks they are, as a label (comm)", set_group},
        {"weight", "instructions|time", "what is counted (instructions)", set_weight},
};

const struct sink_type sink_pprof = {
        .name = "pprof",
        .about = "call stacks with the instructions that ran in each: for go tool pprof",
        .size = sizeof(struct pprof_state),
        .option = options,
        .noptions = sizeof(options) / sizeof(options[0]),
        .symbols = sink_symbols_always,
        .by_time = true,
        .whole_flow = true,
        .takes_sums = call_tree_takes_sums,
        .begin = pprof_begin,
        .flow = pprof_flow,
        .gap = pprof_gap,
        .end = pprof_end,
        .free = pprof_free,
};
