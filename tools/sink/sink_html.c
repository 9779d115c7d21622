/* sink_html.c - a report that is one page, by itself: who ran where and when, where instructions went, what
 * was lost and why, and all processes.
 *
 * The page (report/page.html) is a part of the program; what it shows is put into it as JSON, of which the
 * page's script says the form. Everything is summed up on the way, so that memory and page are bounded. */
#include "sink/sink.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sink/json_out.h"
#include "sink/report_page.h"
#include "sink/report_runs.h"
#include "sink/report_stacks.h"
#include "sink/text.h"
#include "version.h"

enum {
	details_most = 20, /* of a reason for gaps that are told */
	nodes_finest =
	        20000, /* of the call trees: those of less than one in so many instructions are summed up */
};

struct gap_text {
	char text[sizeof(((struct sb_gap *)0)->detail)];
	uint64_t count;
};

struct html_state {
	struct output *output;
	const struct sink_context *context;
	struct report_runs runs;
	uint32_t most, told; /* stacks: in memory, and that are told of; 0: as is good */
	struct report_stacks stacks;
	struct gap_text detail[sb_gap_reasons][details_most];
	unsigned int sums; /* how flow comes: calls, then threads; else all at once */
};

static void html_free(void *context)
{
	struct html_state *state = context;

	report_runs_free(&state->runs);
	report_stacks_free(&state->stacks);
}

static int html_begin(void *context, struct output *output, const struct sink_context *sink)
{
	struct html_state *state = context;

	state->output = output;
	state->context = sink;
	report_runs_init(&state->runs, sink);
	if (!report_stacks_init(&state->stacks, sink, state->most ? state->most : report_nodes_most,
	                        state->told > nodes_finest ? state->told : nodes_finest))
		return 0;
	html_free(state);
	return -1;
}

/* ---- Flow and gaps ---------------------------------------------------------------------------- */

/* Flow comes once for the stacks, and once for the times. */
static void html_sums(void *context, unsigned int sums)
{
	struct html_state *state = context;

	state->sums = sums;
}

static bool has_times(const struct html_state *state)
{
	return !(state->sums & sb_sums_stacks);
}

static bool has_calls(const struct html_state *state)
{
	return !(state->sums & sb_sums_threads);
}

static int add_times(struct html_state *state, const struct sb_flow *flow)
{
	struct sb_flow_turn only;

	if (flow->turn)
		return report_runs_add(&state->runs, flow->turn, flow->nturns);
	only = sb_flow_as_turn(flow);
	return report_runs_add(&state->runs, &only, 1);
}

static int html_flow(void *context, const struct sb_flow *flow)
{
	struct html_state *state = context;
	int status = has_times(state) ? add_times(state, flow) : 0;

	if (status || !has_calls(state))
		return status;
	status = sb_calls_flow(state->stacks.calls, flow);
	return status < 0 && status != -sbe_order ? -1 : status;
}

static uint64_t html_turns_until(void *context, int32_t cpu)
{
	struct html_state *state = context;

	return report_runs_until(&state->runs, cpu);
}

static void keep_detail(struct html_state *state, const struct sb_gap *gap)
{
	struct gap_text *detail = state->detail[gap->reason];

	for (unsigned int i = 0; i < details_most; i++) {
		if (detail[i].count && strncmp(detail[i].text, gap->detail, sizeof(gap->detail)) != 0 &&
		    i + 1 < details_most)
			continue;
		/* The last one is for all others. */
		if (!detail[i].count)
			memcpy(detail[i].text, i + 1 < details_most ? gap->detail : "others",
			       i + 1 < details_most ? sizeof(gap->detail) : sizeof("others"));
		detail[i].count++;
		return;
	}
}

static int html_gap(void *context, const struct sb_gap *gap)
{
	struct html_state *state = context;

	if ((unsigned int)gap->reason >= sb_gap_reasons)
		return 0;
	if (has_calls(state) && sb_calls_gap(state->stacks.calls, gap) < 0)
		return -1;
	if (!has_times(state))
		return 0;
	keep_detail(state, gap);
	return report_runs_gap(&state->runs, gap);
}

/* ---- JSON ------------------------------------------------------------------------------------- */

static int put_meta(const struct html_state *state, const struct sb_account *account)
{
	struct output *output = state->output;

	output_printf(output, "{\"version\":\"%s\",\"recording\":", sbtrace_version);
	json_out_string(output, sb_perfdata_path(state->context->perfdata), 4096);
	return output_printf(output,
	                     ",\"unit\":\"%s\",\"first\":\"%" PRIu64 "\",\"length\":%" PRIu64
	                     ",\"shift\":%u,\"ninsn\":%" PRIu64 ",\"nblocks\":%" PRIu64
	                     ",\"filtered\":%" PRIu64 ",\"switches\":%" PRIu64 ",\"total\":%" PRIu64
	                     ",\"decoded\":%" PRIu64 ",\"threads\":%zu",
	                     state->context->clock->time_mult ? "ns" : "ticks", state->runs.first,
	                     state->runs.last - state->runs.first, state->runs.time.shift, account->ninsn,
	                     account->nblocks, account->ninsn_filtered, account->nswitches,
	                     account->bytes_total, account->bytes_decoded, account->nthreads);
}

static size_t threads_of(const struct sb_account *account, int32_t pid)
{
	size_t low = 0, high = account->nthreads, count = 0;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (account->thread[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + count < account->nthreads && account->thread[low + count].pid == pid)
		count++;
	return count;
}

/* [pid, name, container, user, kernel, blocks, threads, first, last], times from the first of all on. */
static int put_processes(const struct html_state *state, const struct sb_account *account)
{
	struct output *output = state->output;

	output_printf(output, ",\n\"processes\":[");
	for (uint32_t i = 0; i < state->runs.nprocesses; i++) {
		const struct report_process *process = &state->runs.process[i];
		const char *comm =
		        sb_system_comm(state->context->system, process->pid, process->pid, UINT64_MAX);

		output_printf(output, "%s[%" PRId32 ",", i ? ",\n" : "", process->pid);
		json_out_string(output, *comm ? comm : "?", 16);
		output_printf(output, ",%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%zu,%" PRIu64 ",%" PRIu64 "]",
		              process->container ? (int)process->container->index : -1, process->user,
		              process->kernel, process->nblocks, threads_of(account, process->pid),
		              process->first > state->runs.first ? process->first - state->runs.first : 0,
		              process->last > state->runs.first ? process->last - state->runs.first : 0);
	}
	return output_printf(output, "]");
}

static int put_containers(const struct html_state *state)
{
	struct output *output = state->output;
	const struct sb_container *const *container;
	size_t count;

	container = sb_system_containers(state->context->system, &count);
	output_printf(output, ",\n\"containers\":[");
	for (size_t i = 0; i < count; i++) {
		output_printf(output, "%s[\"%s\",", i ? "," : "", sb_container_kind_name(container[i]->kind));
		json_out_string(output, container[i]->id, SB_CONTAINER_ID_MAX);
		output_printf(output, ",");
		json_out_string(output, container[i]->pod, SB_POD_MAX);
		output_printf(output, "]");
	}
	return output_printf(output, "]");
}

/* At most four, with commas between them. */
static void put_numbers(struct output *output, const uint64_t *number, size_t count)
{
	char *at = output_room(output, 4 * (size_t)text_slack);

	if (!at)
		return;
	for (size_t i = 0; i < count; i++) {
		if (i)
			*at++ = ',';
		at = text_u64(at, number[i]);
	}
	output_advance(output, at);
}

/* {cpu, runs: [bin, process, time, user, kernel, ...], gaps: [bin, reason, count, bytes, ...]}; bins from
 * that of the first time on. */
static int put_cpu(const struct html_state *state, const struct report_cpu *cpu)
{
	const uint64_t first = state->runs.first >> state->runs.time.shift;
	struct output *output = state->output;

	for (int gaps = 0; gaps < 2; gaps++) {
		const char *comma = "";

		if (gaps)
			output_printf(output, "],\"gaps\":[");
		else
			output_printf(output, "{\"cpu\":%" PRId32 ",\"runs\":[", cpu->cpu);
		for (size_t i = 0; i < cpu->count; i++) {
			const struct report_entry *entry = &cpu->entry[i];

			if (!(entry->who & report_gap) != !gaps)
				continue;
			output_puts(output, comma);
			put_numbers(output,
			            (const uint64_t[]){entry->bin > first ? entry->bin - first : 0,
			                               entry->who & ~(uint32_t)report_gap},
			            2);
			output_puts(output, ",");
			put_numbers(output, entry->sum + gaps, 3 - (size_t)gaps);
			comma = ",";
		}
	}
	return output_printf(output, "]}");
}

static int put_cpus(const struct html_state *state)
{
	output_printf(state->output, ",\n\"cpus\":[");
	for (size_t i = 0; i < state->runs.time.ncpus; i++) {
		output_printf(state->output, i ? ",\n" : "");
		put_cpu(state, &state->runs.time.cpu[i]);
	}
	return output_printf(state->output, "]");
}

/* {name: {count, bytes, details: [[text, count], ...]}} of each reason, in order. */
static int put_gaps(const struct html_state *state, const struct sb_account *account)
{
	struct output *output = state->output;

	output_printf(output, ",\n\"gaps\":[");
	for (unsigned int i = 0; i < sb_gap_reasons; i++) {
		const struct gap_text *detail = state->detail[i];

		output_printf(output,
		              "%s{\"reason\":\"%s\",\"count\":%" PRIu64 ",\"bytes\":%" PRIu64
		              ",\"details\":[",
		              i ? ",\n" : "", sb_gap_reason_name((enum sb_gap_reason)i),
		              account->gap[i].count, account->gap[i].bytes);
		for (unsigned int k = 0; k < details_most && detail[k].count; k++) {
			output_printf(output, k ? ",[" : "[");
			json_out_string(output, detail[k].text, sizeof(detail[k].text));
			output_printf(output, ",%" PRIu64 "]", detail[k].count);
		}
		output_printf(output, "]}");
	}
	return output_printf(output, "]");
}

/* ---- Call trees ------------------------------------------------------------------------------- */

/* Names by the number that nodes have. */
static int put_functions(const struct html_state *state, const struct sb_function *const *order,
                         uint32_t count)
{
	struct output *output = state->output;

	output_printf(output, ",\n\"functions\":[");
	for (uint32_t i = 0; i < count; i++) {
		const struct sb_function *function = order[i];
		const char *dso = function->dso ? function->dso : "";
		const char *base = strrchr(dso, '/');

		output_printf(output, i ? ",\n[" : "[");
		json_out_string(output, function->name ? function->name : "", 512);
		output_printf(output, ",");
		json_out_string(output, base ? base + 1 : dso, 255);
		output_printf(output, "]");
	}
	return output_printf(output, "]");
}

/* Nodes in the order in which they are met: depth, function, 1: kernel, 2: unsure, and its own instructions.
 * What has less than @least counts for the node above. */
static int put_tree(const struct html_state *state, const uint64_t *total, const uint32_t *rank,
                    uint32_t root, uint64_t least)
{
	static const uint64_t flags[] = {0, 2, 1, 3};
	const struct report_stacks *stacks = &state->stacks;
	struct output *output = state->output;
	uint32_t at = root, depth = 0;

	for (;;) {
		const struct report_node *node = &stacks->node[at];
		uint64_t below = node->self;
		uint32_t next = node->child;

		for (uint32_t i = node->child; i; i = stacks->node[i].link)
			below += total[i] < least ? total[i] : 0;
		output_puts(output, depth ? "," : "");
		put_numbers(output,
		            (const uint64_t[]){depth, depth ? rank[report_function(node)] : 0,
		                               flags[report_flags(node)], below},
		            4);
		depth++;
		for (;;) {
			while (next && total[next] < least)
				next = stacks->node[next].link;
			if (next || at == root)
				break;
			next = stacks->node[at].link;
			at = stacks->node[at].parent;
			depth--;
		}
		if (!next)
			return output->broken ? -1 : 0;
		at = next;
	}
}

/* A process in a container, as trees are sorted. */
struct tree_place {
	int64_t process;
	int container;
	uint32_t group;
};

static int compare_places(const void *left, const void *right)
{
	const struct tree_place *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	return (a->container > b->container) - (a->container < b->container);
}

/* NULL: no memory. */
static struct tree_place *sort_trees(struct html_state *state)
{
	const struct report_stacks *stacks = &state->stacks;
	struct tree_place *place = calloc(stacks->ngroups + 1, sizeof(*place));

	for (uint32_t i = 0; place && i < stacks->ngroups; i++) {
		const struct report_group *group = &stacks->group[i];
		const struct report_process *process = report_runs_process(&state->runs, group->pid);

		if (!process) {
			free(place);
			return NULL;
		}
		place[i] = (struct tree_place){process - state->runs.process,
		                               group->container ? (int)group->container->index : -1, i};
	}
	if (place)
		qsort(place, stacks->ngroups, sizeof(*place), compare_places);
	return place;
}

/* {process, container, total, nodes: [...]} of each process in each container. */
static int put_trees(struct html_state *state, const uint32_t *rank)
{
	const struct report_stacks *stacks = &state->stacks;
	struct tree_place *place = sort_trees(state);
	uint64_t *total = place ? report_stacks_totals(stacks) : NULL,
	         least = total ? report_stacks_least(stacks, total, state->told ? state->told : UINT32_MAX)
	                       : 0;
	struct output *output = state->output;

	if (!least) {
		free(total);
		free(place);
		return -1;
	}
	output_printf(output, ",\n\"trees\":[");
	for (uint32_t i = 0; i < stacks->ngroups; i++) {
		const uint32_t root = stacks->group[place[i].group].root;

		output_printf(output,
		              "%s{\"process\":%" PRId64 ",\"container\":%d,\"total\":%" PRIu64 ",\"nodes\":[",
		              i ? ",\n" : "", place[i].process, place[i].container, total[root]);
		put_tree(state, total, rank, root, least);
		output_printf(output, "]}");
	}
	free(total);
	free(place);
	return output_printf(output, "]");
}

static int put_calls(struct html_state *state)
{
	const struct sb_function **order;
	uint32_t *rank, count;
	int status = report_stacks_sort(&state->stacks, &rank, &order, &count);

	if (!status)
		status = put_functions(state, order, count) || put_trees(state, rank) ? -1 : 0;
	free(rank);
	free(order);
	return status;
}

/* ---- The page --------------------------------------------------------------------------------- */

static int html_end(void *context, const struct sb_account *account, const struct sb_perfdata *perfdata)
{
	struct html_state *state = context;
	int status;

	(void)perfdata;
	status = report_runs_finish(&state->runs);
	if (!status)
		status = report_stacks_finish(&state->stacks);
	if (status)
		return status;
	if (output_write(state->output, report_page_before, report_page_before_size) ||
	    put_meta(state, account) || put_processes(state, account) || put_containers(state) ||
	    put_cpus(state) || put_gaps(state, account) || put_calls(state) ||
	    output_printf(state->output, "}\n"))
		return -1;
	return output_write(state->output, report_page_behind, report_page_behind_size);
}

static int set_keep(void *context, const char *value, struct option_error *error)
{
	struct html_state *state = context;
	uint64_t number = report_nodes_all;

	if (strcmp(value, "all") != 0 && option_number(value, report_nodes_least, 1 << 28, &number, error))
		return -1;
	state->most = (uint32_t)number;
	return 0;
}

/* "all" was all that are kept: whatever is told of is as if they were. */
static int set_stacks(void *context, const char *value, struct option_error *error)
{
	struct html_state *state = context;
	uint64_t number;

	if (!strcmp(value, "all"))
		return set_keep(context, value, error);
	if (option_number(value, 1, 1 << 28, &number, error))
		return -1;
	state->told = (uint32_t)number;
	return 0;
}

static unsigned int html_takes_sums(const struct sink_setting *setting, size_t nsettings)
{
	(void)setting;
	(void)nsettings;
	return sb_sums_threads | sb_sums_calls;
}

static const struct sink_option html_options[] = {
        {"stacks", "N|all",
         "call stacks to be told of at most, those with the most instructions (with one in 20000 of all)",
         set_stacks},
        {"keep", "N|all", "call stacks in memory; others wait in a temporary file (1048576)", set_keep},
};

const struct sink_type sink_html = {
        .name = "html",
        .about = "a report as one page: timeline, flame graph, gaps, processes",
        .size = sizeof(struct html_state),
        .option = html_options,
        .noptions = sizeof(html_options) / sizeof(html_options[0]),
        .symbols = sink_symbols_always,
        .by_time = true,
        .of_all = true,
        .takes_sums = html_takes_sums,
        .turns_until = html_turns_until,
        .sums = html_sums,
        .begin = html_begin,
        .flow = html_flow,
        .gap = html_gap,
        .end = html_end,
        .free = html_free,
};
