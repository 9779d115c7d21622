/* sink_block.c - every basic block, one line each: "cpu pid tid tsc ip end_ip ninsn", tab-separated,
 * addresses (of its first and of its last instruction) in hex. */
#include "sink/sink.h"

#include "sink/text.h"

struct block_state {
	struct output *output;
	struct text_prefix prefix;
};

static void block_begin(void *context, struct output *output)
{
	struct block_state *state = context;

	state->output = output;
}

static int put_path(struct block_state *state, const struct pt_run_path *path)
{
	enum { longest = sizeof(((struct text_prefix *)0)->text) + 64 + text_slack };

	for (uint32_t i = 0; i < path->nblocks; i++) {
		const struct pt_run_block *block = &path->block[i];
		char *at = output_room(state->output, longest);

		if (!at)
			return -1;
		memcpy(at, state->prefix.text, sizeof(state->prefix.text));
		at = text_hex(at + state->prefix.length, block->ip);
		*at++ = '\t';
		at = text_hex(at, block->end_ip);
		*at++ = '\t';
		at = text_u64(at, block->ninsn);
		*at++ = '\n';
		output_advance(state->output, at);
	}
	return 0;
}

static int block_flow(void *context, const struct sb_flow *flow)
{
	struct block_state *state = context;

	text_prefix_set(&state->prefix, flow);
	for (uint32_t i = 0; i < flow->npaths; i++)
		if (put_path(state, flow->path[i]))
			return -1;
	return 0;
}

const struct sink_type sink_block = {
        .name = "block",
        .about = "every basic block: cpu pid tid tsc ip end_ip ninsn",
        .size = sizeof(struct block_state),
        .begin = block_begin,
        .flow = block_flow,
};
