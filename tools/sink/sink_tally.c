/* sink_tally.c - exact counts by function, line or block, for sbtrace diff: see count/tally.h. */
#include "sink/count_sink.h"

#include <string.h>

#include "count/tally.h"

struct tally_state {
	struct count_sink sink;
	enum tally_by by;
};

static int set_by(void *context, const char *value, struct option_error *error)
{
	struct tally_state *state = context;

	for (int by = 0; by < tally_bys; by++)
		if (!strcmp(value, tally_by_name[by])) {
			state->by = (enum tally_by)by;
			return 0;
		}
	return option_fail(error, "expected function, line or block, found '%s'", value);
}

/* Only lines ask what followed on what. */
static bool is_by_line(const struct sink_setting *setting, size_t nsettings)
{
	bool is = false;

	for (size_t i = 0; i < nsettings; i++)
		if (setting[i].option->set == set_by)
			is = !strcmp(setting[i].value, tally_by_name[tally_line]);
	return is;
}

static unsigned int tally_takes_sums(const struct sink_setting *setting, size_t nsettings)
{
	return is_by_line(setting, nsettings) ? sb_sums_ways : sb_sums_blocks;
}

static int tally_begin(void *context, struct output *output, const struct sink_context *sink)
{
	struct tally_state *state = context;

	state->sink.no_edges = state->by != tally_line;
	return count_sink_begin(state, output, sink);
}

static int tally_end(void *context, const struct sb_account *account, const struct sb_perfdata *perfdata)
{
	struct tally_state *state = context;
	const struct sink_context *sink = state->sink.context;
	struct tally tally = {0};
	struct code_view view;
	int status = count_sink_view(&state->sink, &view);

	(void)account;
	(void)perfdata;
	if (!status)
		status = tally_make(&tally, state->by, &view, sink->symbols, sink->lines);
	if (!status)
		status = tally_write(&tally, state->sink.output);
	tally_fini(&tally);
	code_view_fini(&view);
	return status;
}

static const struct sink_option tally_options[] = {
        {"by", "function|line|block", "what is counted (default: function)", set_by},
        COUNT_SINK_FILE_OPTION,
};

const struct sink_type sink_tally = {
        .name = "tally",
        .about = "counts of functions, lines or blocks: what sbtrace diff compares",
        .size = sizeof(struct tally_state),
        .option = tally_options,
        .noptions = sizeof(tally_options) / sizeof(tally_options[0]),
        .symbols = sink_symbols_always,
        .by_time = true,
        .takes_sums = tally_takes_sums,
        .begin = tally_begin,
        .flow = count_sink_flow,
        .gap = count_sink_gap,
        .end = tally_end,
        .free = count_sink_free,
};
