/* count_sink.c - see count_sink.h. */
#include "sink/count_sink.h"

#include <fnmatch.h>

int count_sink_begin(void *state, struct output *output, const struct sink_context *context)
{
	struct count_sink *sink = state;

	sink->output = output;
	sink->context = context;
	sink->counts = exec_counts_new(context->clock, context->cut || sink->no_edges, sink->by_process);
	return sink->counts ? 0 : -1;
}

int count_sink_flow(void *state, const struct sb_flow *flow)
{
	struct count_sink *sink = state;

	return exec_counts_flow(sink->counts, flow);
}

int count_sink_gap(void *state, const struct sb_gap *gap)
{
	struct count_sink *sink = state;

	exec_counts_gap(sink->counts, gap);
	return 0;
}

unsigned int count_sink_takes_sums(const struct sink_setting *setting, size_t nsettings)
{
	(void)setting;
	(void)nsettings;
	return sb_sums_ways;
}

void count_sink_free(void *state)
{
	struct count_sink *sink = state;

	exec_counts_free(sink->counts);
}

int count_sink_set_file(void *state, const char *value, struct option_error *error)
{
	struct count_sink *sink = state;

	return option_pattern(&sink->file, value, error);
}

int count_sink_view(struct count_sink *sink, struct code_view *view)
{
	const struct code_table *table = exec_counts_table(sink->counts);

	*view = (struct code_view){0};
	if (!table || code_view_make(view, table, sink->context->resolver))
		return -1;
	for (size_t i = 0; i < view->nparts; i++)
		view->part[i].unwanted = sink->file && fnmatch(sink->file, view->part[i].name, 0) != 0;
	return 0;
}

static uint64_t ninsn_of(const struct code_part *part)
{
	uint64_t ninsn = 0;

	for (size_t i = 0; i < part->ninsns; i++)
		ninsn += part->insn[i].count;
	return ninsn;
}

/* The one that executed the most; NULL: none. */
static const struct code_part *busiest(const struct code_view *view)
{
	const struct code_part *best = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < view->nparts; i++) {
		const struct code_part *part = &view->part[i];

		if (part->unwanted || part->ncodes <= 0 || ninsn_of(part) <= most)
			continue;
		best = part;
		most = ninsn_of(part);
	}
	return best;
}

int count_sink_put_binary(struct count_sink *sink,
                          int (*put)(struct output *output, const struct code_view *view,
                                     const struct code_part *part))
{
	struct code_view view;
	int status = count_sink_view(sink, &view);
	const struct code_part *part = status ? NULL : busiest(&view);

	if (part)
		status = put(sink->output, &view, part);
	code_view_fini(&view);
	return status;
}

size_t count_sink_name(char *text, const char *name)
{
	size_t i;

	for (i = 0; name[i] && i < count_sink_name_most; i++)
		text[i] = (unsigned char)name[i] < 0x20 || name[i] == 0x7f ? '?' : name[i];
	return i;
}

int count_sink_put_name(struct output *output, const char *before, const char *name, const char *behind)
{
	char text[count_sink_name_most];
	const size_t size = count_sink_name(text, name);

	return output_printf(output, "%s%.*s%s", before, (int)size, text, behind);
}
