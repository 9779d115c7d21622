/* sink_flame.c - a flame graph: a picture (SVG) of where instructions or time went, in one file that needs
 * nothing else. The width of a function's bar is what ran in it and in what it called.
 *
 * Bars are drawn as they are, for any viewer; in a browser, flame_script.h makes them zoom and be searched.
 */
#include "sink/sink.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sink/call_tree.h"
#include "sink/flame_script.h"
#include "sink/share.h"
#include "vector.h"

enum {
	width = 1200, /* of the picture */
	side = 10,    /* what is left free at its sides */
	bar = 17,     /* height, with the line below it */
	head = 62,    /* above the bars */
	foot = 30,
	title_most = 200,
};

struct flame_state {
	struct output *output;
	enum call_tree_group group;
	enum call_tree_weight weight;
	const char *title;
	double least;           /* how wide a bar must be to be drawn, in percent; 0: 0.01 */
	struct call_tree *tree; /* owned */
};

static int set_group(void *context, const char *value, struct option_error *error)
{
	struct flame_state *state = context;

	return call_tree_set_group(&state->group, value, error);
}

static int set_weight(void *context, const char *value, struct option_error *error)
{
	struct flame_state *state = context;

	return call_tree_set_weight(&state->weight, value, error);
}

static int set_title(void *context, const char *value, struct option_error *error)
{
	struct flame_state *state = context;

	if (strlen(value) > title_most)
		return option_fail(error, "a title of at most %d bytes", title_most);
	state->title = value;
	return 0;
}

static int set_least(void *context, const char *value, struct option_error *error)
{
	struct flame_state *state = context;
	char *end;

	state->least = strtod(value, &end);
	if (end == value || *end || !(state->least >= 0.001 && state->least <= 50))
		return option_fail(error, "expected percent from 0.001 to 50, not '%s'", value);
	return 0;
}

static int flame_begin(void *context, struct output *output, const struct sink_context *sink)
{
	struct flame_state *state = context;

	state->output = output;
	if (state->least <= 0)
		state->least = 0.01;
	if (!state->title)
		state->title = "Flame graph";
	state->tree = call_tree_new(sink, state->group, state->weight);
	return state->tree ? 0 : -1;
}

static void flame_free(void *context)
{
	struct flame_state *state = context;

	call_tree_free(state->tree);
}

static int flame_flow(void *context, const struct sb_flow *flow)
{
	struct flame_state *state = context;

	return call_tree_flow(state->tree, flow);
}

static int flame_gap(void *context, const struct sb_gap *gap)
{
	struct flame_state *state = context;

	return call_tree_gap(state->tree, gap);
}

/* ---- Text --------------------------------------------------------------------------------------- */

/* At most @most bytes of @text, as XML has it. */
static int put_text(struct output *output, const char *text, size_t most)
{
	char *at = output_room(output, 6 * most);

	if (!at)
		return -1;
	for (size_t i = 0; i < most && text[i]; i++) {
		const char *entity = NULL;

		switch (text[i]) {
		case '&':
			entity = "&amp;";
			break;
		case '<':
			entity = "&lt;";
			break;
		case '>':
			entity = "&gt;";
			break;
		case '"':
			entity = "&quot;";
			break;
		default:
			*at++ = (char)((unsigned char)text[i] < 0x20 || (unsigned char)text[i] >= 0x7f
			                       ? '?'
			                       : text[i]);
		}
		if (entity) {
			memcpy(at, entity, strlen(entity));
			at += strlen(entity);
		}
	}
	output_advance(output, at);
	return 0;
}

/* 1234567 as "1,234,567", in @room. */
static const char *with_commas(char room[32], uint64_t number)
{
	char *at = room + 31;
	int digits = 0;

	*at = '\0';
	do {
		if (digits && digits % 3 == 0)
			*--at = ',';
		*--at = (char)('0' + number % 10);
		number /= 10;
		digits++;
	} while (number);
	return at;
}

/* ---- Bars --------------------------------------------------------------------------------------- */

/* A node that is drawn: where, and on which level. */
struct place {
	const struct call_node *node;
	double left, size; /* of the whole: 0 to 1 */
	unsigned int level;
};

struct places {
	struct place *at; /* owned */
	size_t count, capacity;
	unsigned int levels;
};

static int add_place(struct places *places, const struct place *place)
{
	if (vector_reserve(&places->at, &places->capacity, places->count, sizeof(*places->at)))
		return -1;
	places->at[places->count++] = *place;
	if (place->level >= places->levels)
		places->levels = place->level + 1;
	return 0;
}

/* From the root on, level after level: what is not drawn has nothing above it. */
static int find_places(struct places *places, const struct call_node *root, double least)
{
	const struct place first = {.node = root, .size = 1};

	if (add_place(places, &first))
		return -1;
	for (size_t i = 0; i < places->count; i++) {
		const struct place below = places->at[i];
		uint64_t before = 0;

		for (const struct call_node *node = below.node->child; node; node = node->next) {
			const double all = (double)root->total;
			const struct place place = {.node = node,
			                            .left = below.left + (double)before / all,
			                            .size = (double)node->total / all,
			                            .level = below.level + 1};

			before += node->total;
			if (place.size >= least && add_place(places, &place))
				return -1;
		}
	}
	return 0;
}

/* A colour of the name: the same function looks the same everywhere. */
static unsigned int hue_of(const struct call_node *node)
{
	uint32_t hash = 2166136261;

	for (const char *at = node->name; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619;
	return (hash ^ hash >> 15) % 8;
}

static int put_bar(const struct flame_state *state, const struct place *place, unsigned int levels,
                   const struct call_node *root)
{
	struct output *output = state->output;
	const struct call_node *node = place->node;
	const double left = side + place->left * (width - 2 * side), size = place->size * (width - 2 * side);
	const unsigned int top = head + (levels - 1 - place->level) * bar;
	const double letters = (size - 6) / 6.6;
	const size_t shown = letters > 0 ? (size_t)letters : 0, length = strlen(node->name);
	char total[32], self[32];
	int status;

	status = output_printf(
	        output, "<g class=\"f%s c%u\" data-x=\"%.9g\" data-w=\"%.9g\" data-l=\"%u\"><title>",
	        node->unsure ? " u" : "", hue_of(node), place->left, place->size, place->level);
	if (!status)
		status = put_text(output, node->name, 2048);
	if (!status)
		status = output_printf(
		        output, "%s (%s %s, %.2f%%; itself %s)</title>", node->unsure ? ": a guess" : "",
		        with_commas(total, node->total), call_tree_unit(state->tree),
		        share_percent(node->total, root->total), with_commas(self, node->self));
	if (!status)
		status = output_printf(output,
		                       "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" rx=\"2\"/>"
		                       "<text x=\"%.2f\" y=\"%u\">",
		                       left, top, size, bar - 1, left + 3, top + 12);
	if (!status && shown >= 3)
		status = put_text(output, node->name, length <= shown ? length : shown - 2);
	if (!status)
		status = output_printf(output, "%s</text></g>\n", shown >= 3 && length > shown ? ".." : "");
	return status;
}

/* ---- The picture -------------------------------------------------------------------------------- */

static int put_head(const struct flame_state *state, unsigned int height)
{
	const struct call_node *root = call_tree_root(state->tree);
	char total[32];
	int status =
	        output_printf(state->output,
	                      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
	                      "<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
	                      "height=\"%u\" viewBox=\"0 0 %d %u\" data-unit=\"%s\" data-total=\"%" PRIu64
	                      "\" data-side=\"%d\">\n<title>",
	                      width, height, width, height, call_tree_unit(state->tree), root->total, side);

	if (!status)
		status = put_text(state->output, state->title, title_most);
	if (!status)
		status = output_printf(state->output, "</title>\n%s", flame_style);
	if (!status)
		status = output_printf(state->output,
		                       "<rect id=\"page\" width=\"100%%\" height=\"100%%\"/>\n"
		                       "<text id=\"title\" x=\"%d\" y=\"26\">",
		                       width / 2);
	if (!status)
		status = put_text(state->output, state->title, title_most);
	if (!status)
		status = output_printf(state->output, "</text>\n%s", flame_controls);
	if (!status)
		status = output_printf(
		        state->output,
		        "<text id=\"details\" x=\"%d\" y=\"%u\">%s %s</text>\n<g id=\"bars\">\n", side,
		        height - 10, with_commas(total, root->total), call_tree_unit(state->tree));
	return status;
}

static int put_picture(const struct flame_state *state, const struct places *places)
{
	const unsigned int height = head + places->levels * bar + foot;
	int status = put_head(state, height);

	for (size_t i = 0; i < places->count && !status; i++)
		status = put_bar(state, &places->at[i], places->levels, call_tree_root(state->tree));
	for (size_t i = 0; i < sizeof(flame_script) / sizeof(flame_script[0]) && !status; i++)
		status = output_printf(state->output, "%s", flame_script[i]);
	return status;
}

static int flame_end(void *context, const struct sb_account *account, const struct sb_perfdata *perfdata)
{
	const struct flame_state *state = context;
	struct places places = {0};
	int status;

	(void)account;
	(void)perfdata;
	if (call_tree_finish(state->tree) < 0)
		return -1;
	status = find_places(&places, call_tree_root(state->tree), state->least / 100);
	if (!status)
		status = put_picture(state, &places);
	free(places.at);
	return status;
}

static const struct sink_option options[] = {
        {"by", "comm|process|thread|container|none", "what the lowest bars are (comm)", set_group},
        {"weight", "instructions|time", "what the width of bars is (instructions)", set_weight},
        {"min", "PERCENT", "narrower bars are left out (0.01)", set_least},
        {"title", "TEXT", "above the picture", set_title},
};

const struct sink_type sink_flame = {
        .name = "flame",
        .about = "a flame graph: call stacks as a picture (SVG) to click on and search",
        .size = sizeof(struct flame_state),
        .option = options,
        .noptions = sizeof(options) / sizeof(options[0]),
        .symbols = sink_symbols_always,
        .by_time = true,
        .whole_flow = true,
        .takes_sums = call_tree_takes_sums,
        .begin = flame_begin,
        .flow = flame_flow,
        .gap = flame_gap,
        .end = flame_end,
        .free = flame_free,
};
