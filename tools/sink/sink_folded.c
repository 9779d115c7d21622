/* sink_folded.c - call stacks, one a line, as flamegraph.pl, speedscope and many others read them:
 * "GROUP;OUTERMOST;...;INNERMOST WEIGHT", sorted. What is a guess ends in " (?)".
 *
 * The sum of all weights is what the account counts as instructions. */
#include "sink/sink.h"

#include <stdlib.h>
#include <string.h>

#include "sink/call_tree.h"
#include "sink/text.h"
#include "vector.h"

struct folded_state {
	struct output *output;
	enum call_tree_group group;
	enum call_tree_weight weight;
	struct call_tree *tree; /* owned */
	char *line;             /* owned; the names of the nodes down to the present one */
	size_t capacity;
};

static int set_group(void *context, const char *value, struct option_error *error)
{
	struct folded_state *state = context;

	return call_tree_set_group(&state->group, value, error);
}

static int set_weight(void *context, const char *value, struct option_error *error)
{
	struct folded_state *state = context;

	return call_tree_set_weight(&state->weight, value, error);
}

static int folded_begin(void *context, struct output *output, const struct sink_context *sink)
{
	struct folded_state *state = context;

	state->output = output;
	state->tree = call_tree_new(sink, state->group, state->weight);
	return state->tree ? 0 : -1;
}

static void folded_free(void *context)
{
	struct folded_state *state = context;

	call_tree_free(state->tree);
	free(state->line);
}

static int folded_flow(void *context, const struct sb_flow *flow)
{
	struct folded_state *state = context;

	return call_tree_flow(state->tree, flow);
}

static int folded_gap(void *context, const struct sb_gap *gap)
{
	struct folded_state *state = context;

	return call_tree_gap(state->tree, gap);
}

/* The node's name behind the first @length bytes of the line; returns the new length, 0: no memory. */
static size_t add_name(struct folded_state *state, size_t length, const struct call_node *node)
{
	const size_t more = strlen(node->name) + sizeof("; (?)");
	char *at;

	if (length + more > state->capacity) {
		const size_t wanted = 2 * (length + more);
		char *bigger = realloc(state->line, wanted);

		if (!bigger)
			return 0;
		state->line = bigger;
		state->capacity = wanted;
	}
	at = state->line + length;
	if (length)
		*at++ = ';';
	for (const char *from = node->name; *from; from++)
		*at++ = *from == ';' ? ':' : *from; /* it parts names */
	if (node->unsure) {
		memcpy(at, " (?)", 4);
		at += 4;
	}
	return (size_t)(at - state->line);
}

/* Stacks may be so deep that a line has more than there can be room for at once. */
static int put_line(struct folded_state *state, size_t length, uint64_t weight)
{
	char *at;

	if (output_write(state->output, state->line, length))
		return -1;
	at = output_room(state->output, 2 * (size_t)text_slack);
	if (!at)
		return -1;
	*at++ = ' ';
	at = text_u64(at, weight);
	*at++ = '\n';
	output_advance(state->output, at);
	return 0;
}

/* How long the line is up to the end of each name on the way to the present node. */
struct lengths {
	size_t *at;
	size_t capacity;
};

static int set_length(struct lengths *lengths, size_t depth, size_t length)
{
	if (vector_reach(&lengths->at, &lengths->capacity, depth, sizeof(*lengths->at)))
		return -1;
	lengths->at[depth] = length;
	return 0;
}

static int put_tree(struct folded_state *state, struct lengths *lengths)
{
	const struct call_node *root = call_tree_root(state->tree), *node = root->child;
	size_t depth = 1;

	if (set_length(lengths, 0, 0))
		return -1;
	while (node) {
		const size_t length = add_name(state, lengths->at[depth - 1], node);

		if (!length || set_length(lengths, depth, length))
			return -1;
		if (node->self && put_line(state, length, node->self))
			return -1;
		if (node->child) {
			node = node->child;
			depth++;
			continue;
		}
		while (node != root && !node->next) {
			node = node->parent;
			depth--;
		}
		node = node == root ? NULL : node->next;
	}
	return 0;
}

static int folded_end(void *context, const struct sb_account *account, const struct sb_perfdata *perfdata)
{
	struct folded_state *state = context;
	struct lengths lengths = {0};
	int status;

	(void)account;
	(void)perfdata;
	if (call_tree_finish(state->tree) < 0)
		return -1;
	status = put_tree(state, &lengths);
	free(lengths.at);
	return status;
}

static const struct sink_option options[] = {
        {"by", "comm|process|thread|container|none", "what stacks begin with (comm)", set_group},
        {"weight", "instructions|time", "what is counted (instructions)", set_weight},
};

const struct sink_type sink_folded = {
        .name = "folded",
        .about = "call stacks, one a line, with the instructions that ran in each",
        .size = sizeof(struct folded_state),
        .option = options,
        .noptions = sizeof(options) / sizeof(options[0]),
        .symbols = sink_symbols_always,
        .by_time = true,
        .whole_flow = true,
        .takes_sums = call_tree_takes_sums,
        .begin = folded_begin,
        .flow = folded_flow,
        .gap = folded_gap,
        .end = folded_end,
        .free = folded_free,
};
