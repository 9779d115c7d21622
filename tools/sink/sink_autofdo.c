/* sink_autofdo.c - a text profile of one binary for create_gcov(1) and create_llvm_prof(1) of AutoFDO
 * (--profiler=text): three lists, each after a line with its length:
 *
 *   FIRST-LAST:COUNT   instructions that ran one behind the other
 *   ADDRESS:COUNT      samples: none, as the ranges say it all
 *   FROM->TO:COUNT     branches that were taken, within the binary
 *
 * Addresses are offsets in the file, in hex. */
#include "sink/count_sink.h"

#include <inttypes.h>

#include "count/code_run.h"

/* The list of ranges: @output NULL only counts them. */
static int put_ranges(struct output *output, const struct code_part *part, size_t *count)
{
	int status = 0;

	*count = 0;
	for (size_t i = 0; i < part->ninsns && !status; ++*count) {
		struct code_run run;

		i = code_part_run(part, i, &run);
		if (output)
			status = output_printf(output, "%" PRIx64 "-%" PRIx64 ":%" PRIu64 "\n",
			                       code_part_in_file(part, run.first),
			                       code_part_in_file(part, run.last), run.count);
	}
	return status;
}

static int put_branches(struct output *output, const struct code_part *part, size_t *count)
{
	int status = 0;

	*count = 0;
	for (size_t i = 0; i < part->nedges && !status; i++) {
		const struct code_edge *edge = &part->edge[i];

		if (!code_edge_is_taken(edge) || edge->part != part)
			continue;
		++*count;
		if (output)
			status = output_printf(output, "%" PRIx64 "->%" PRIx64 ":%" PRIu64 "\n",
			                       code_part_in_file(part, edge->from),
			                       code_part_in_file(part, edge->to), edge->count);
	}
	return status;
}

static int put_list(struct output *output, const struct code_part *part,
                    int (*put)(struct output *output, const struct code_part *part, size_t *count))
{
	size_t count;

	put(NULL, part, &count);
	return output_printf(output, "%zu\n", count) || put(output, part, &count) ? -1 : 0;
}

static int put_profile(struct output *output, const struct code_view *view, const struct code_part *part)
{
	(void)view;
	if (put_list(output, part, put_ranges) || output_printf(output, "0\n"))
		return -1;
	return put_list(output, part, put_branches);
}

static int autofdo_end(void *state, const struct sb_account *account, const struct sb_perfdata *perfdata)
{
	(void)account;
	(void)perfdata;
	return count_sink_put_binary(state, put_profile);
}

static const struct sink_option autofdo_options[] = {COUNT_SINK_FILE_OPTION};

const struct sink_type sink_autofdo = {
        .name = "autofdo",
        .about = "a text profile of one binary for AutoFDO: create_gcov --profiler=text",
        .size = sizeof(struct count_sink),
        .option = autofdo_options,
        .noptions = sizeof(autofdo_options) / sizeof(autofdo_options[0]),
        .by_time = true,
        .takes_sums = count_sink_takes_sums,
        .begin = count_sink_begin,
        .flow = count_sink_flow,
        .gap = count_sink_gap,
        .end = autofdo_end,
        .free = count_sink_free,
};
