/* sink_counts.c - exact counts as text, for whoever adds up or compares: how often each instruction ran, and
 * how often execution came from one to another by other ways than straight on. Tab-separated, sorted:
 *
 *   insn  FILE ADDRESS COUNT
 *   edge  KIND FILE ADDRESS FILE ADDRESS COUNT
 *
 * Addresses, in hex, are as the file was linked; the kernel's as they are. By process, each line begins with
 * its number, and they are sorted by that first. */
#include "sink/count_sink.h"

#include <inttypes.h>
#include <string.h>

static void put_process(const struct count_sink *sink, const struct code_part *part)
{
	if (sink->by_process)
		output_printf(sink->output, "%" PRId32 "\t", part->object->pid);
}

static int put_insn(const struct count_sink *sink, const struct code_part *part, const struct code_insn *insn)
{
	struct output *output = sink->output;

	put_process(sink, part);
	count_sink_put_name(output, "insn\t", part->name, "\t");
	return output_printf(output, "%" PRIx64 "\t%" PRIu64 "\n", code_part_address(part, insn->offset),
	                     insn->count);
}

static int put_edge(const struct count_sink *sink, const struct code_part *part, const struct code_edge *edge)
{
	struct output *output = sink->output;

	put_process(sink, part);
	output_printf(output, "edge\t%s", code_edge_kind_name(edge->kind));
	count_sink_put_name(output, "\t", part->name, "\t");
	output_printf(output, "%" PRIx64, code_part_address(part, edge->from));
	count_sink_put_name(output, "\t", edge->part->name, "\t");
	return output_printf(output, "%" PRIx64 "\t%" PRIu64 "\n", code_part_address(edge->part, edge->to),
	                     edge->count);
}

static int counts_end(void *state, const struct sb_account *account, const struct sb_perfdata *perfdata)
{
	struct count_sink *sink = state;
	struct code_view view;
	int status = count_sink_view(sink, &view);

	(void)account;
	(void)perfdata;
	for (size_t i = 0; i < view.nparts && !status; i++) {
		const struct code_part *part = &view.part[i];

		for (size_t k = 0; k < part->ninsns && !part->unwanted && !status; k++)
			status = put_insn(sink, part, &part->insn[k]);
		for (size_t k = 0; k < part->nedges && !part->unwanted && !status; k++)
			status = put_edge(sink, part, &part->edge[k]);
	}
	code_view_fini(&view);
	return status;
}

static int set_by(void *state, const char *value, struct option_error *error)
{
	struct count_sink *sink = state;

	sink->by_process = !strcmp(value, "process");
	return sink->by_process || !strcmp(value, "all")
	               ? 0
	               : option_fail(error, "expected all or process, found '%s'", value);
}

static unsigned int counts_takes_sums(const struct sink_setting *setting, size_t nsettings)
{
	for (size_t i = 0; i < nsettings; i++)
		if (setting[i].option->set == set_by && !strcmp(setting[i].value, "process"))
			return sb_sums_processes;
	return sb_sums_ways;
}

static const struct sink_option counts_options[] = {
        {"by", "all|process", "who is counted together (default: all)", set_by},
        COUNT_SINK_FILE_OPTION,
};

const struct sink_type sink_counts = {
        .name = "counts",
        .about = "how often each instruction and each way between them was taken",
        .size = sizeof(struct count_sink),
        .option = counts_options,
        .noptions = sizeof(counts_options) / sizeof(counts_options[0]),
        .by_time = true,
        .takes_sums = counts_takes_sums,
        .begin = count_sink_begin,
        .flow = count_sink_flow,
        .gap = count_sink_gap,
        .end = counts_end,
        .free = count_sink_free,
};
