/* sink_block.c - every basic block, one line each: "cpu pid tid tsc ip end_ip ninsn", tab-separated,
 * addresses (of its first and of its last instruction) in hex; with symbols, those of its first one. */
#include "sink/sink.h"

#include "sink/symbol_text.h"
#include "sink/text.h"

struct block_state {
	struct output *output;
	struct text_prefix prefix;
	struct symbol_texts *texts; /* owned; NULL: without symbols */
};

static int block_begin(void *context, struct output *output, const struct sink_context *sink)
{
	struct block_state *state = context;

	state->output = output;
	if (!sink->symbols)
		return 0;
	state->texts = symbol_texts_new(sink->symbols, sink->clock);
	return state->texts ? 0 : -1;
}

static void block_free(void *context)
{
	struct block_state *state = context;

	symbol_texts_free(state->texts);
}

static int put_path(struct block_state *state, const struct sb_flow *flow, const struct pt_run_path *path)
{
	enum { numbers_most = sizeof(((struct text_prefix *)0)->text) + 64 + text_slack };
	const size_t longest = numbers_most + (state->texts ? (size_t)symbol_text_most : 0);

	for (uint32_t i = 0; i < path->nblocks; i++) {
		const struct pt_run_block *block = &path->block[i];
		const struct symbol_text *text = NULL;
		char *at = output_room(state->output, longest);

		if (state->texts)
			text = symbol_text_at(state->texts, flow, block->ip);
		if (!at || (state->texts && !text))
			return -1;
		memcpy(at, state->prefix.text, sizeof(state->prefix.text));
		at = text_hex(at + state->prefix.length, block->ip);
		*at++ = '\t';
		at = text_hex(at, block->end_ip);
		*at++ = '\t';
		at = text_u64(at, block->ninsn);
		if (text)
			at = symbol_text_put(at, text, block->ip);
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
		if (put_path(state, flow, flow->path[i]))
			return -1;
	return 0;
}

const struct sink_type sink_block = {
        .name = "block",
        .about = "every basic block: cpu pid tid tsc ip end_ip ninsn [symbol dso]",
        .size = sizeof(struct block_state),
        .symbols = sink_symbols_asked,
        .begin = block_begin,
        .flow = block_flow,
        .free = block_free,
};
