/* sink_insn.c - every instruction, one line each: "cpu pid tid tsc ip", tab-separated, ip in hex; with
 * symbols, theirs behind it.
 *
 * Made for tens of millions of lines a second. Neighbouring lines share all but the last three
 * digits: those before stand ready in a template that is copied as a whole, and the last three come,
 * newline included, from a table. With symbols, each line is put together. */
#include "sink/sink.h"

#include "sink/symbol_text.h"
#include "sink/text.h"

enum {
	page_bits = 12, /* three hexadecimal digits */
	page_size = 1 << page_bits,
	template_size = 128,
	chunk = 256, /* instructions for which room is asked at once */
};

static const uint64_t no_page = UINT64_MAX; /* higher than any */

struct insn_state {
	struct output *output;
	struct text_prefix prefix;
	uint64_t page;   /* that the template is for, or no_page */
	uint32_t length; /* of the template */
	char template[template_size];
	struct symbol_texts *texts; /* owned; NULL: without symbols */
	char tail[page_size][4];    /* "000\n" to "fff\n" */
};

_Static_assert(chunk *template_size + template_size <= output_most, "a chunk must fit");

static int insn_begin(void *context, struct output *output, const struct sink_context *sink)
{
	static const char digit[] = "0123456789abcdef";
	struct insn_state *state = context;

	state->output = output;
	state->page = no_page;
	for (unsigned int i = 0; i < page_size; i++) {
		state->tail[i][0] = digit[i >> 8];
		state->tail[i][1] = digit[i >> 4 & 15];
		state->tail[i][2] = digit[i & 15];
		state->tail[i][3] = '\n';
	}
	if (!sink->symbols)
		return 0;
	state->texts = symbol_texts_new(sink->symbols, sink->clock);
	return state->texts ? 0 : -1;
}

static void insn_free(void *context)
{
	struct insn_state *state = context;

	symbol_texts_free(state->texts);
}

static void make_template(struct insn_state *state, uint64_t page)
{
	char *at = state->template + state->prefix.length;

	memcpy(state->template, state->prefix.text, sizeof(state->prefix.text));
	at = text_hex(at, page);
	state->page = page;
	state->length = (uint32_t)(at - state->template);
}

/* Addresses below 0x1000 have fewer digits than the template's tail. */
static char *put_first_page(const struct insn_state *state, char *at, uint64_t ip)
{
	memcpy(at, state->prefix.text, state->prefix.length);
	at = text_hex(at + state->prefix.length, ip);
	*at++ = '\n';
	return at;
}

static inline char *put_line(struct insn_state *state, char *at, uint64_t ip)
{
	uint64_t page = ip >> page_bits;

	if (__builtin_expect(page != state->page, 0)) {
		if (!page)
			return put_first_page(state, at, ip);
		make_template(state, page);
	}
	/* Copies of a fixed size are a few moves; what is too much is overwritten. */
	memcpy(at, state->template, 64);
	if (__builtin_expect(state->length > 64, 0))
		memcpy(at + 64, state->template + 64, template_size - 64);
	at += state->length;
	memcpy(at, state->tail[ip & (page_size - 1)], 4);
	return at + 4;
}

static int put_block(struct insn_state *state, const struct pt_run_block *block)
{
	const uint8_t *length = block->length;
	uint64_t ip = block->ip;
	unsigned int left = block->ninsn;

	while (left) {
		unsigned int n = left < chunk ? left : chunk;
		char *at = output_room(state->output, (n + 1) * template_size);

		if (!at)
			return -1;
		for (unsigned int i = 0; i < n; i++) {
			at = put_line(state, at, ip);
			ip += length[i];
		}
		output_advance(state->output, at);
		length += n;
		left -= n;
	}
	return 0;
}

static int put_block_with_symbols(struct insn_state *state, const struct sb_flow *flow,
                                  const struct pt_run_block *block)
{
	enum { longest = sizeof(((struct text_prefix *)0)->text) + 64 + symbol_text_most };
	uint64_t ip = block->ip;

	for (unsigned int i = 0; i < block->ninsn; i++) {
		const struct symbol_text *text = symbol_text_at(state->texts, flow, ip);
		char *at = output_room(state->output, longest);

		if (!at || !text)
			return -1;
		memcpy(at, state->prefix.text, sizeof(state->prefix.text));
		at = text_hex(at + state->prefix.length, ip);
		at = symbol_text_put(at, text, ip);
		*at++ = '\n';
		output_advance(state->output, at);
		ip += block->length[i];
	}
	return 0;
}

static int put_path(struct insn_state *state, const struct sb_flow *flow, const struct pt_run_path *path)
{
	int status = 0;

	for (uint32_t i = 0; i < path->nblocks && !status; i++)
		status = state->texts ? put_block_with_symbols(state, flow, &path->block[i])
		                      : put_block(state, &path->block[i]);
	return status;
}

static int insn_flow(void *context, const struct sb_flow *flow)
{
	struct insn_state *state = context;

	if (text_prefix_set(&state->prefix, flow))
		state->page = no_page;
	for (uint32_t i = 0; i < flow->npaths; i++)
		if (put_path(state, flow, flow->path[i]))
			return -1;
	return 0;
}

const struct sink_type sink_insn = {
        .name = "insn",
        .about = "every instruction: cpu pid tid tsc ip [symbol dso]",
        .size = sizeof(struct insn_state),
        .symbols = sink_symbols_asked,
        .begin = insn_begin,
        .flow = insn_flow,
        .free = insn_free,
};
