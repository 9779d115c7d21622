/* tally.c - see tally.h: making rows out of counts. */
#include "count/tally.h"

#include <string.h>

#include "count/code_function.h"
#include "count/code_run.h"
#include "count/line_counts.h"
#include "vector.h"

const char *const tally_by_name[tally_bys] = {
        [tally_function] = "function", [tally_line] = "line", [tally_block] = "block"};

/* A copy without what would end a column or a line. NULL: out of memory. */
static const char *keep(struct tally *tally, const char *text)
{
	const size_t size = strlen(text);
	char *copy = pool_take(&tally->strings, size + 1);

	for (size_t i = 0; copy && i < size; i++)
		copy[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
	return copy;
}

static struct tally_row *add_row(struct tally *tally, const char *file, const char *name)
{
	struct tally_row *row;

	if (vector_reserve(&tally->row, &tally->room, tally->nrows, sizeof(*tally->row)))
		return NULL;
	row = &tally->row[tally->nrows++];
	*row = (struct tally_row){.file = keep(tally, file), .name = keep(tally, name)};
	return row->file && row->name ? row : NULL;
}

/* ---- Functions -------------------------------------------------------------------------------- */

static const char *file_of(const struct code_part *part, const struct sb_symbol *symbol)
{
	return symbol->dso ? symbol->dso : part->name;
}

static int add_functions(struct tally *tally, const struct code_part *part, struct sb_symbols *symbols)
{
	struct code_function function;

	for (size_t i = 0; i < part->ninsns; i = function.end) {
		struct tally_row *row;

		if (code_part_function(part, i, symbols, &function))
			return -1;
		row = add_row(tally, file_of(part, &function.symbol),
		              function.symbol.name ? function.symbol.name : "-");
		if (!row)
			return -1;
		row->count = function.ninsn;
		row->calls = function.entries;
	}
	return 0;
}

/* ---- Blocks ----------------------------------------------------------------------------------- */

static int add_runs(struct tally *tally, const struct code_part *part, size_t i,
                    const struct code_function *function)
{
	while (i < function->end) {
		struct code_run run;
		struct tally_row *row = add_row(tally, file_of(part, &function->symbol),
		                                function->symbol.name ? function->symbol.name : "-");

		if (!row)
			return -1;
		i = code_part_run(part, i, &run);
		row->begin = code_part_address(part, run.first);
		row->end = row->begin + (run.next - run.first);
		row->count = run.count;
	}
	return 0;
}

static int add_blocks(struct tally *tally, const struct code_part *part, struct sb_symbols *symbols)
{
	struct code_function function;

	for (size_t i = 0; i < part->ninsns; i = function.end)
		if (code_part_function(part, i, symbols, &function) || add_runs(tally, part, i, &function))
			return -1;
	return 0;
}

/* ---- Lines ------------------------------------------------------------------------------------ */

static int add_lines(struct tally *tally, const struct code_view *view, struct sb_source_lines *lines)
{
	struct line_counts counts = {0};
	int status = line_counts_make(&counts, view, lines);

	for (size_t i = 0; i < counts.nlines && !status; i++) {
		struct tally_row *row;

		if (!counts.line[i].count)
			continue;
		row = add_row(tally, counts.line[i].file, "-");
		if (!row) {
			status = -1;
			break;
		}
		row->begin = counts.line[i].line;
		row->count = counts.line[i].count;
	}
	line_counts_fini(&counts);
	return status;
}

/* ---- Rows ------------------------------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

int tally_compare(enum tally_by by, const struct tally_row *a, const struct tally_row *b)
{
	int order = strcmp(a->file, b->file);

	if (!order && by != tally_block)
		order = strcmp(a->name, b->name);
	order = order ? order : compare_numbers(a->begin, b->begin);
	return order ? order : compare_numbers(a->end, b->end);
}

static int compare_functions(const void *a, const void *b)
{
	return tally_compare(tally_function, a, b);
}

static int compare_blocks(const void *a, const void *b)
{
	return tally_compare(tally_block, a, b);
}

/* Equal rows become one. */
static void merge(struct tally *tally)
{
	size_t n = 0;

	if (tally->nrows)
		qsort(tally->row, tally->nrows, sizeof(*tally->row),
		      tally->by == tally_block ? compare_blocks : compare_functions);
	for (size_t i = 0; i < tally->nrows; i++) {
		struct tally_row *last = n ? &tally->row[n - 1] : NULL;

		if (!last || tally_compare(tally->by, last, &tally->row[i]) ||
		    last->end != tally->row[i].end) {
			tally->row[n++] = tally->row[i];
			continue;
		}
		last->count += tally->row[i].count;
		last->calls += tally->row[i].calls;
	}
	tally->nrows = n;
}

int tally_make(struct tally *tally, enum tally_by by, const struct code_view *view,
               struct sb_symbols *symbols, struct sb_source_lines *lines)
{
	int status = 0;

	*tally = (struct tally){.by = by};
	if (by == tally_line)
		status = add_lines(tally, view, lines);
	for (size_t i = 0; i < view->nparts && !status && by != tally_line; i++)
		if (!view->part[i].unwanted)
			status = by == tally_function ? add_functions(tally, &view->part[i], symbols)
			                              : add_blocks(tally, &view->part[i], symbols);
	merge(tally);
	return status;
}

void tally_fini(struct tally *tally)
{
	free(tally->row);
	pool_free(&tally->strings);
	*tally = (struct tally){0};
}
