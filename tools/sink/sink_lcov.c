/* sink_lcov.c - coverage of source: a tracefile as geninfo(1) describes it, for genhtml(1) and others.
 *
 * Lines and functions of files that ran but did not run themselves count zero. Branches are machine branches:
 * of each conditional jump that was executed, branch 0 is that it was not taken, branch 1 that it was. */
#include "sink/count_sink.h"

#include <fnmatch.h>
#include <inttypes.h>

#include "count/line_counts.h"

struct lcov_state {
	struct count_sink sink;
	const char *source; /* glob(7); NULL: all */
};

static int set_source(void *context, const char *value, struct option_error *error)
{
	struct lcov_state *state = context;

	return option_pattern(&state->source, value, error);
}

/* Where the arrays of struct line_counts are. */
struct place {
	size_t line, function, branch;
};

static void put_functions(struct output *output, const struct line_counts *counts, const char *file,
                          struct place *at)
{
	const size_t first = at->function;
	size_t nrun = 0;

	for (; at->function < counts->nfunctions && counts->function[at->function].file == file;
	     at->function++) {
		output_printf(output, "FN:%" PRIu32, counts->function[at->function].line);
		count_sink_put_name(output, ",", counts->function[at->function].name, "\n");
	}
	for (size_t i = first; i < at->function; i++) {
		output_printf(output, "FNDA:%" PRIu64, counts->function[i].count);
		count_sink_put_name(output, ",", counts->function[i].name, "\n");
		nrun += counts->function[i].count > 0;
	}
	output_printf(output, "FNF:%zu\nFNH:%zu\n", at->function - first, nrun);
}

static void put_branches(struct output *output, const struct line_counts *counts, const char *file,
                         struct place *at)
{
	const size_t first = at->branch;
	size_t nrun = 0;

	for (; at->branch < counts->nbranches && counts->branch[at->branch].file == file; at->branch++) {
		const struct line_branch *branch = &counts->branch[at->branch];

		output_printf(output, "BRDA:%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 "\n", branch->line,
		              branch->jump, branch->branch, branch->count);
		nrun += branch->count > 0;
	}
	if (at->branch > first)
		output_printf(output, "BRF:%zu\nBRH:%zu\n", at->branch - first, nrun);
}

static int put_lines(struct output *output, const struct line_counts *counts, const char *file,
                     struct place *at)
{
	const size_t first = at->line;
	size_t nrun = 0;

	for (; at->line < counts->nlines && counts->line[at->line].file == file; at->line++) {
		const struct line_count *line = &counts->line[at->line];

		output_printf(output, "DA:%" PRIu32 ",%" PRIu64 "\n", line->line, line->count);
		nrun += line->count > 0;
	}
	return output_printf(output, "LF:%zu\nLH:%zu\nend_of_record\n", at->line - first, nrun);
}

/* What is of other files than those with lines is nobody's. */
static void skip_to(const struct line_counts *counts, const char *file, struct place *at)
{
	while (at->function < counts->nfunctions && counts->function[at->function].file != file &&
	       strcmp(counts->function[at->function].file, file) < 0)
		at->function++;
	while (at->branch < counts->nbranches && counts->branch[at->branch].file != file &&
	       strcmp(counts->branch[at->branch].file, file) < 0)
		at->branch++;
}

static int put_file(const struct lcov_state *state, const struct line_counts *counts, struct place *at)
{
	struct output *output = state->sink.output;
	const char *file = counts->line[at->line].file;

	if (state->source && fnmatch(state->source, file, 0) != 0) {
		while (at->line < counts->nlines && counts->line[at->line].file == file)
			at->line++;
		return 0;
	}
	skip_to(counts, file, at);
	count_sink_put_name(output, "TN:\nSF:", file, "\n");
	put_functions(output, counts, file, at);
	put_branches(output, counts, file, at);
	return put_lines(output, counts, file, at);
}

static int put_all(const struct lcov_state *state, const struct code_view *view)
{
	struct line_counts counts;
	struct place at = {0};
	int status = line_counts_make(&counts, view, state->sink.context->lines);

	while (at.line < counts.nlines && !status)
		status = put_file(state, &counts, &at);
	line_counts_fini(&counts);
	return status;
}

static int lcov_end(void *context, const struct sb_account *account, const struct sb_perfdata *perfdata)
{
	struct lcov_state *state = context;
	struct code_view view;
	int status = count_sink_view(&state->sink, &view);

	(void)account;
	(void)perfdata;
	if (!status)
		status = put_all(state, &view);
	code_view_fini(&view);
	return status;
}

static const struct sink_option lcov_options[] = {
        COUNT_SINK_FILE_OPTION,
        {"source", "GLOB", "only source files whose name matches", set_source},
};

const struct sink_type sink_lcov = {
        .name = "lcov",
        .about = "coverage of source with lines, functions, branches: for genhtml",
        .size = sizeof(struct lcov_state),
        .option = lcov_options,
        .noptions = sizeof(lcov_options) / sizeof(lcov_options[0]),
        .by_time = true,
        .takes_sums = count_sink_takes_sums,
        .begin = count_sink_begin,
        .flow = count_sink_flow,
        .gap = count_sink_gap,
        .end = lcov_end,
        .free = count_sink_free,
};
