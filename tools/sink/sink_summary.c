/* sink_summary.c - who ran how much, what is missing and why, and whether it all adds up.
 *
 * Nearly everything is in the session's account; of the gaps, some details are kept on the way (which
 * file is missing, what the decoder said). Names come from the recording and are printed with
 * everything escaped that a terminal might obey. */
#include "sink/sink.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sink/function_counts.h"
#include "sink/gap_advice.h"
#include "sink/printable.h"

enum {
	maps_most = 20,        /* that are listed */
	details_most = 5,      /* that are remembered for each reason */
	functions_listed = 20, /* unless another number is asked for */
	functions_most = 1000000,
};

struct gap_detail {
	char text[sizeof(((struct sb_gap *)0)->detail)];
	uint64_t count;
};

struct gap_details {
	struct gap_detail detail[details_most];
	unsigned int count;
	uint64_t others; /* gaps with other details */
};

struct summary_state {
	struct output *output;
	struct function_counts *functions; /* owned; NULL: without symbols */
	size_t nfunctions;                 /* that are listed; 0: functions_listed */
	struct gap_details details[sb_gap_reasons];
};

static int set_functions(void *context, const char *value, struct option_error *error)
{
	struct summary_state *state = context;
	uint64_t number;

	if (option_number(value, 1, functions_most, &number, error))
		return -1;
	state->nfunctions = number;
	return 0;
}

static int summary_begin(void *context, struct output *output, const struct sink_context *sink)
{
	struct summary_state *state = context;

	state->output = output;
	if (!state->nfunctions)
		state->nfunctions = functions_listed;
	if (!sink->symbols)
		return 0;
	state->functions = function_counts_new(sink->symbols, sink->clock);
	return state->functions ? 0 : -1;
}

static void summary_free(void *context)
{
	struct summary_state *state = context;

	function_counts_free(state->functions);
}

static int summary_flow(void *context, const struct sb_flow *flow)
{
	struct summary_state *state = context;

	return function_counts_add(state->functions, flow);
}

static int summary_gap(void *context, const struct sb_gap *gap)
{
	struct summary_state *state = context;
	struct gap_details *details;
	struct gap_detail *detail;

	if ((unsigned int)gap->reason >= sb_gap_reasons || !gap->detail[0])
		return 0;
	details = &state->details[gap->reason];
	for (unsigned int i = 0; i < details->count; i++)
		if (!strncmp(details->detail[i].text, gap->detail, sizeof(gap->detail))) {
			details->detail[i].count++;
			return 0;
		}
	if (details->count == details_most) {
		details->others++;
		return 0;
	}
	detail = &details->detail[details->count++];
	snprintf(detail->text, sizeof(detail->text), "%.*s", (int)sizeof(gap->detail) - 1, gap->detail);
	detail->count = 1;
	return 0;
}

static void put_row(struct output *output, const char *pid, const char *tid, const char *comm, uint64_t ninsn,
                    uint64_t nblocks)
{
	output_printf(output, "%10s %10s  %-16s %16" PRIu64 " %16" PRIu64 "\n", pid, tid, comm, ninsn,
	              nblocks);
}

/* The threads of one process: a line for the process, and, when there are several, one for each. */
static void put_process(struct output *output, const struct sb_account_thread *thread, size_t count)
{
	const struct sb_account_thread *leader = thread;
	char pid[16], tid[16], comm[4 * sizeof(thread->comm) + 1];
	uint64_t ninsn = 0, nblocks = 0;

	for (size_t i = 0; i < count; i++) {
		ninsn += thread[i].ninsn;
		nblocks += thread[i].nblocks;
		if (thread[i].tid == thread[i].pid)
			leader = &thread[i];
	}
	snprintf(pid, sizeof(pid), "%" PRId32, thread->pid);
	snprintf(tid, sizeof(tid), "%" PRId32, thread->tid);
	put_row(output, pid, count == 1 ? tid : "", printable(comm, leader->comm, sizeof(leader->comm)),
	        ninsn, nblocks);
	for (size_t i = 0; count > 1 && i < count; i++) {
		snprintf(tid, sizeof(tid), "%" PRId32, thread[i].tid);
		put_row(output, "", tid, printable(comm, thread[i].comm, sizeof(thread[i].comm)),
		        thread[i].ninsn, thread[i].nblocks);
	}
}

/* Unless records alone say it. */
static void put_switches(struct output *output, const struct sb_account *account)
{
	const uint64_t *by = account->switches;

	if (by[sb_switch_seen] || by[sb_switch_by_address] || by[sb_switch_by_paging] ||
	    by[sb_switch_repaired] || by[sb_switch_uncertain])
		output_printf(output,
		              "switches: %" PRIu64 " seen in the kernel, %" PRIu64 " by time, %" PRIu64
		              " without a record, by the addresses behind them, %" PRIu64
		              " by their page tables, %" PRIu64 " repaired, %" PRIu64
		              " to nobody knows whom\n",
		              by[sb_switch_seen], by[sb_switch_by_time], by[sb_switch_by_address],
		              by[sb_switch_by_paging], by[sb_switch_repaired], by[sb_switch_uncertain]);
}

static void put_processes(struct output *output, const struct sb_account *account)
{
	const struct sb_account_thread *thread = account->thread;
	size_t first = 0, nprocesses = 0;

	output_printf(output, "%10s %10s  %-16s %16s %16s\n", "process", "thread", "command", "instructions",
	              "blocks");
	for (size_t i = 1; i <= account->nthreads; i++)
		if (i == account->nthreads || thread[i].pid != thread[first].pid) {
			put_process(output, &thread[first], i - first);
			first = i;
			nprocesses++;
		}
	put_row(output, "total", "", "", account->ninsn, account->nblocks);
	output_printf(output,
	              "\n%zu processes, %zu threads, %" PRIu64 " switches; %" PRIu64
	              " sideband records, %" PRIu64 " of types that are not used\n",
	              nprocesses, account->nthreads, account->nswitches, account->nrecords,
	              account->nrecords_skipped);
	put_switches(output, account);
	if (account->ninsn_filtered)
		output_printf(output, "%" PRIu64 " instructions are left out, as asked for\n",
		              account->ninsn_filtered);
}

/* An id is as long as docker and podman show it; names are whole. */
static const char *short_id(char *to, const char *id)
{
	enum { ID = 64, SHOWN = 12 };
	const size_t size = strspn(id, "0123456789abcdef") == ID && !id[ID] ? SHOWN : SB_CONTAINER_ID_MAX;

	return *id ? printable(to, id, size) : "-";
}

static void put_containers(struct output *output, const struct sb_account *account)
{
	char id[4 * SB_CONTAINER_ID_MAX + 1], pod[4 * SB_CONTAINER_ID_MAX + 1];

	if (!account->ncontainers)
		return;
	output_printf(output, "\n%-16s %-10s %-36s %9s %16s %16s\n", "container", "kind", "pod", "processes",
	              "instructions", "blocks");
	for (size_t i = 0; i < account->ncontainers; i++) {
		const struct sb_account_container *sum = &account->container[i];
		const struct sb_container *container = sum->container;

		output_printf(output, "%-16s %-10s %-36s %9zu %16" PRIu64 " %16" PRIu64 "\n",
		              container ? short_id(id, container->id) : "(outside)",
		              container ? sb_container_kind_name(container->kind) : "-",
		              container ? short_id(pod, container->pod) : "-", sum->nprocesses, sum->ninsn,
		              sum->nblocks);
	}
}

static void put_details(struct output *output, const struct gap_details *details)
{
	char text[4 * sizeof(details->detail[0].text) + 1];

	for (unsigned int i = 0; i < details->count; i++)
		output_printf(output, "    %" PRIu64 " x %s\n", details->detail[i].count,
		              printable(text, details->detail[i].text, sizeof(details->detail[i].text)));
	if (details->others)
		output_printf(output, "    %" PRIu64 " x others\n", details->others);
}

/* Returns the bytes that were skipped. */
static uint64_t put_gaps(struct output *output, const struct summary_state *state,
                         const struct sb_account *account, const struct sb_perfdata *perfdata)
{
	uint64_t count = 0, bytes = 0;

	output_printf(output, "\n%-24s %10s %16s\n", "gaps", "count", "bytes skipped");
	for (unsigned int i = 0; i < sb_gap_reasons; i++) {
		if (!account->gap[i].count && !account->gap[i].bytes)
			continue;
		output_printf(output, "  %-22s %10" PRIu64 " %16" PRIu64 "\n",
		              sb_gap_reason_name((enum sb_gap_reason)i), account->gap[i].count,
		              account->gap[i].bytes);
		put_details(output, &state->details[i]);
		output_printf(output, "    avoided by: %s\n", gap_advice((enum sb_gap_reason)i, perfdata));
		count += account->gap[i].count;
		bytes += account->gap[i].bytes;
	}
	output_printf(output, "  %-22s %10" PRIu64 " %16" PRIu64 "\n", "total", count, bytes);
	return bytes;
}

/* What was concluded, and not recorded. */
static void put_maps(struct output *output, const struct sb_account *account)
{
	if (!account->nmaps)
		return;
	output_printf(output, "\n%10s %16s %s\n", "process", "address",
	              "mapped without a record, by the addresses that were executed");
	for (size_t i = 0; i < account->nmaps && i < maps_most; i++) {
		const struct sb_account_map *map = &account->map[i];
		char text[4 * 256 + 1];

		output_printf(output, "%10" PRId32 " %16" PRIx64 " %s\n", map->pid, map->begin,
		              printable(text, map->filename, 256));
	}
	if (account->nmaps > maps_most)
		output_printf(output, "%10s %zu more\n", "", account->nmaps - maps_most);
}

static int summary_end(void *context, const struct sb_account *account, const struct sb_perfdata *perfdata)
{
	const struct summary_state *state = context;
	struct output *output = state->output;
	uint64_t skipped;
	bool balances;

	put_processes(output, account);
	put_containers(output, account);
	if (state->functions && account->ninsn &&
	    function_counts_put(state->functions, state->nfunctions, output))
		return -1;
	put_maps(output, account);
	skipped = put_gaps(output, state, account, perfdata);
	balances = account->bytes_total == account->bytes_decoded + skipped;
	output_printf(output,
	              "\nbytes of trace: %" PRIu64 " total %s %" PRIu64 " decoded + %" PRIu64
	              " skipped (%s)\n",
	              account->bytes_total, balances ? "=" : "IS NOT", account->bytes_decoded, skipped,
	              balances ? "the account balances" : "THE ACCOUNT IS WRONG");
	return output->broken ? -1 : 0;
}

static const struct sink_option summary_options[] = {
        {"functions", "N", "with symbols: how many functions are listed (20)", set_functions},
};

static unsigned int summary_takes_sums(const struct sink_setting *setting, size_t nsettings)
{
	(void)setting;
	(void)nsettings;
	return sb_sums_blocks;
}

const struct sink_type sink_summary = {
        .name = "summary",
        .about = "instructions of each process and thread, gaps by reason, bytes",
        .size = sizeof(struct summary_state),
        .option = summary_options,
        .noptions = sizeof(summary_options) / sizeof(summary_options[0]),
        .symbols = sink_symbols_asked,
        .flow_for_symbols = true,
        .of_all = true,
        .takes_sums = summary_takes_sums,
        .begin = summary_begin,
        .flow = summary_flow,
        .gap = summary_gap,
        .end = summary_end,
        .free = summary_free,
};
