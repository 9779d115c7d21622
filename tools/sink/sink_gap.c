/* sink_gap.c - every gap, one line each: "cpu pid tid tsc_from tsc_to offset bytes reason ip detail avoid",
 * tab-separated; offset and ip in hex, "-" for what is not known. */
#include "sink/sink.h"

#include <inttypes.h>
#include <stdio.h>

#include "sink/gap_advice.h"

struct gap_state {
	struct output *output;
	const struct sb_perfdata *perfdata;
};

static int gap_begin(void *context, struct output *output, const struct sink_context *sink)
{
	struct gap_state *state = context;

	state->output = output;
	state->perfdata = sink->perfdata;
	return 0;
}

struct column {
	char text[24];
};

static struct column number(int64_t value, int known)
{
	struct column column = {"-"};

	if (known)
		snprintf(column.text, sizeof(column.text), "%" PRId64, value);
	return column;
}

static struct column address(uint64_t value)
{
	struct column column = {"-"};

	if (value)
		snprintf(column.text, sizeof(column.text), "%" PRIx64, value);
	return column;
}

static int gap_gap(void *context, const struct sb_gap *gap)
{
	struct gap_state *state = context;

	return output_printf(state->output, "%s\t%s\t%s\t%s\t%s\t%" PRIx64 "\t%" PRIu64 "\t%s\t%s\t%s\t%s\n",
	                     number(gap->cpu, gap->cpu >= 0).text, number(gap->pid, gap->pid >= 0).text,
	                     number(gap->tid, gap->tid >= 0).text,
	                     number((int64_t)gap->tsc_from, gap->tsc_from != 0).text,
	                     number((int64_t)gap->tsc_to, gap->tsc_to != 0).text, gap->offset, gap->bytes,
	                     sb_gap_reason_name(gap->reason), address(gap->ip).text,
	                     gap->detail[0] ? gap->detail : "-", gap_advice(gap->reason, state->perfdata));
}

const struct sink_type sink_gap = {
        .name = "gap",
        .about = "every gap: cpu pid tid tsc_from tsc_to offset bytes reason ip detail",
        .size = sizeof(struct gap_state),
        .begin = gap_begin,
        .gap = gap_gap,
};
