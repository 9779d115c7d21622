/* function_counts.c - see function_counts.h. The summary's view of exact counts. */
#include "sink/function_counts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "count/exec_counts.h"
#include "count/tally.h"
#include "sink/printable.h"
#include "sink/share.h"
#include "sink/symbol_text.h"

struct function_counts {
	struct exec_counts *counts; /* owned */
	struct sb_symbols *symbols; /* borrowed */
};

struct function_counts *function_counts_new(struct sb_symbols *symbols, const struct sb_clock *clock)
{
	struct function_counts *counts = calloc(1, sizeof(*counts));

	if (!counts)
		return NULL;
	counts->symbols = symbols;
	/* What follows on what is not asked for. */
	counts->counts = exec_counts_new(clock, true, false);
	if (counts->counts)
		return counts;
	free(counts);
	return NULL;
}

void function_counts_free(struct function_counts *counts)
{
	if (!counts)
		return;
	exec_counts_free(counts->counts);
	free(counts);
}

int function_counts_add(struct function_counts *counts, const struct sb_flow *flow)
{
	return exec_counts_flow(counts->counts, flow);
}

/* ---- The table -------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
	const struct tally_row *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return tally_compare(tally_function, a, b);
}

static void put_rows(const struct tally *tally, size_t most, struct output *output)
{
	char name[symbol_column_most], dso[symbol_column_most];
	uint64_t ninsn = 0;

	for (size_t i = 0; i < tally->nrows; i++)
		ninsn += tally->row[i].count;
	output_printf(output, "\n%16s %7s  %s\n", "instructions", "", "function (file)");
	for (size_t i = 0; i < tally->nrows && i < most; i++) {
		const struct tally_row *row = &tally->row[i];

		output_printf(output, "%16" PRIu64 " %6.2f%%  %s (%s)\n", row->count,
		              share_percent(row->count, ninsn),
		              printable(name, row->name, symbol_name_most),
		              printable(dso, row->file, symbol_name_most));
	}
	if (tally->nrows > most)
		output_printf(output, "%24s  %zu others\n", "", tally->nrows - most);
}

int function_counts_put(struct function_counts *counts, size_t most, struct output *output)
{
	const struct code_table *table = exec_counts_table(counts->counts);
	struct code_view view;
	struct tally tally = {0};
	int status;

	if (!table || code_view_make(&view, table, NULL))
		return -1;
	status = tally_make(&tally, tally_function, &view, counts->symbols, NULL);
	if (!status && tally.nrows)
		qsort(tally.row, tally.nrows, sizeof(*tally.row), compare);
	if (!status)
		put_rows(&tally, most, output);
	tally_fini(&tally);
	code_view_fini(&view);
	return status;
}
