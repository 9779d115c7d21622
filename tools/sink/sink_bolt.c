/* sink_bolt.c - a pre-aggregated profile for perf2bolt(1), of one binary: llvm-bolt's documentation, "Using
 * pre-aggregated profile". Addresses are as the file was linked, in hex:
 *
 *   B FROM TO COUNT MISPREDICTED   a branch that was taken; 0 is what is outside of the binary
 *   F FROM TO COUNT                execution went straight on from one instruction to another
 *
 * Each stretch without a branch is one F, and each conditional branch that was not taken one more, so that
 * whatever blocks perf2bolt makes of the code, their counts are exact. Mispredictions are not in a trace: 0.
 */
#include "sink/count_sink.h"

#include <inttypes.h>

#include "count/code_run.h"

static int put(struct output *output, char letter, uint64_t from, uint64_t to, uint64_t count)
{
	return output_printf(output, "%c %" PRIx64 " %" PRIx64 " %" PRIu64 "%s\n", letter, from, to, count,
	                     letter == 'B' ? " 0" : "");
}

static int put_runs(struct output *output, const struct code_part *part)
{
	int status = 0;

	for (size_t i = 0; i < part->ninsns && !status;) {
		struct code_run run;
		uint64_t last;

		i = code_part_run(part, i, &run);
		last = code_part_address(part, run.last);
		if (run.first != run.last)
			status = put(output, 'F', code_part_address(part, run.first), last, run.count);
		if (run.onward && !status)
			status = put(output, 'F', last, code_part_address(part, run.next), run.onward);
	}
	return status;
}

/* Branches from here. */
static int put_branches(struct output *output, const struct code_part *part)
{
	int status = 0;

	for (size_t i = 0; i < part->nedges && !status; i++) {
		const struct code_edge *edge = &part->edge[i];
		const uint64_t from = code_part_address(part, edge->from);
		const uint64_t to = edge->part == part ? code_part_address(part, edge->to) : 0;

		if (edge->kind == code_edge_fall)
			status = put(output, 'F', from, to, edge->count);
		else if (code_edge_is_taken(edge))
			status = put(output, 'B', from, to, edge->count);
	}
	return status;
}

/* Branches from elsewhere. */
static int put_into(struct output *output, const struct code_view *view, const struct code_part *part)
{
	int status = 0;

	for (size_t i = 0; i < view->nparts; i++)
		for (size_t k = 0; k < view->part[i].nedges && !status; k++) {
			const struct code_edge *edge = &view->part[i].edge[k];

			if (&view->part[i] != part && edge->part == part && code_edge_is_taken(edge))
				status = put(output, 'B', 0, code_part_address(part, edge->to), edge->count);
		}
	return status;
}

static int put_profile(struct output *output, const struct code_view *view, const struct code_part *part)
{
	if (put_runs(output, part) || put_branches(output, part))
		return -1;
	return put_into(output, view, part);
}

static int bolt_end(void *state, const struct sb_account *account, const struct sb_perfdata *perfdata)
{
	(void)account;
	(void)perfdata;
	return count_sink_put_binary(state, put_profile);
}

static const struct sink_option bolt_options[] = {COUNT_SINK_FILE_OPTION};

const struct sink_type sink_bolt = {
        .name = "bolt",
        .about = "branches of one binary: a profile for perf2bolt -pa and llvm-bolt",
        .size = sizeof(struct count_sink),
        .option = bolt_options,
        .noptions = sizeof(bolt_options) / sizeof(bolt_options[0]),
        .by_time = true,
        .takes_sums = count_sink_takes_sums,
        .begin = count_sink_begin,
        .flow = count_sink_flow,
        .gap = count_sink_gap,
        .end = bolt_end,
        .free = count_sink_free,
};
