/* sink_counts.c - exact counts as text, for whoever adds up or compares: how often each instruction ran, and
 * how often execution came from one to another by other ways than straight on. Tab-separated, sorted:
 *
 *   insn  FILE ADDRESS COUNT
 *   edge  KIND FILE ADDRESS FILE ADDRESS COUNT
 *
 * Addresses, in hex, are as the file was linked; the kernel's as they are. By process, each line begins with
 * its number, and they are sorted by that first. */
#include "sink/count_sink.h"

#include <stdlib.h>
#include <string.h>

#include "sink/text.h"

/* The name of each part, as it is written. */
struct shown {
	char *text; /* owned */
	size_t size;
};

enum { numbers_size = 64 + 4 * text_slack }; /* what a line has beside names, at most */

static void free_names(struct shown *name, const struct code_view *view)
{
	for (size_t i = 0; name && i < view->nparts; i++)
		free(name[i].text);
	free(name);
}

/* NULL: out of memory. */
static struct shown *show_names(const struct code_view *view)
{
	struct shown *name = calloc(view->nparts + 1, sizeof(*name));

	for (size_t i = 0; name && i < view->nparts; i++) {
		name[i].text = malloc(strlen(view->part[i].name) + 1);
		if (!name[i].text) {
			free_names(name, view);
			return NULL;
		}
		name[i].size = count_sink_name(name[i].text, view->part[i].name);
	}
	return name;
}

struct lines {
	const struct count_sink *sink;
	const struct code_view *view;
	const struct shown *name; /* by part */
};

static char *put_process(const struct count_sink *sink, const struct code_part *part, char *at)
{
	if (!sink->by_process)
		return at;
	at = text_i32(at, part->object->pid);
	*at++ = '\t';
	return at;
}

/* FILE ADDRESS, and a tab behind each. */
static char *put_place(const struct lines *lines, const struct code_part *part, uint64_t offset, char *at)
{
	const struct shown *name = &lines->name[part - lines->view->part];

	memcpy(at, name->text, name->size);
	at += name->size;
	*at++ = '\t';
	at = text_hex(at, code_part_address(part, offset));
	*at++ = '\t';
	return at;
}

static int put_count(struct output *output, uint64_t count, char *at)
{
	at = text_u64(at, count);
	*at++ = '\n';
	output_advance(output, at);
	return 0;
}

static int put_insn(const struct lines *lines, const struct code_part *part, const struct code_insn *insn)
{
	struct output *output = lines->sink->output;
	char *at = output_room(output, numbers_size + count_sink_name_most);

	if (!at)
		return -1;
	at = put_process(lines->sink, part, at);
	at = text_put(at, "insn\t");
	at = put_place(lines, part, insn->offset, at);
	return put_count(output, insn->count, at);
}

static int put_edge(const struct lines *lines, const struct code_part *part, const struct code_edge *edge)
{
	struct output *output = lines->sink->output;
	char *at = output_room(output, numbers_size + 2 * (size_t)count_sink_name_most);

	if (!at)
		return -1;
	at = put_process(lines->sink, part, at);
	at = text_put(at, "edge\t");
	at = text_put(at, code_edge_kind_name(edge->kind));
	*at++ = '\t';
	at = put_place(lines, part, edge->from, at);
	at = put_place(lines, edge->part, edge->to, at);
	return put_count(output, edge->count, at);
}

static int put_part(const struct lines *lines, const struct code_part *part)
{
	int status = 0;

	for (size_t i = 0; i < part->ninsns && !status; i++)
		status = put_insn(lines, part, &part->insn[i]);
	for (size_t i = 0; i < part->nedges && !status; i++)
		status = put_edge(lines, part, &part->edge[i]);
	return status;
}

static int counts_end(void *state, const struct sb_account *account, const struct sb_perfdata *perfdata)
{
	struct count_sink *sink = state;
	struct code_view view;
	int status = count_sink_view(sink, &view);
	struct shown *name = status ? NULL : show_names(&view);
	const struct lines lines = {sink, &view, name};

	(void)account;
	(void)perfdata;
	status = name ? 0 : -1;
	for (size_t i = 0; i < view.nparts && !status; i++)
		if (!view.part[i].unwanted)
			status = put_part(&lines, &view.part[i]);
	free_names(name, &view);
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
