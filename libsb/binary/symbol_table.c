/* symbol_table.c - see symbol_table.h.
 *
 * A sweep over the symbols with a size, by their begin: the stack holds those that are open, the innermost on
 * top. Those without a size fill the holes that are left.
 */
#include "binary/symbol_table.h"

#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

#include "system/arena.h"

enum { SYMBOLS_MAX = 1 << 28 };

int symbol_table_add(struct symbol_table *table, const struct table_symbol *symbol)
{
	if (symbol->end < symbol->begin || table->nsymbols >= SYMBOLS_MAX)
		return 0;
	if (array_reserve(&table->symbol, &table->symbol_capacity, table->nsymbols, sizeof(*symbol)) < 0)
		return -sbe_nomem;
	table->symbol[table->nsymbols++] = *symbol;
	return 0;
}

void symbol_table_fini(struct symbol_table *table)
{
	free(table->symbol);
	free(table->segment);
	memset(table, 0, sizeof(*table));
}

/* ---- Which one is best ------------------------------------------------------------------------- */

/* Longer names are equal if they begin alike: nobody shall wait for a file that is full of them. */
enum { NAME_COMPARED = 4096 };

static int is_open(const struct table_symbol *symbol)
{
	return symbol->end == symbol->begin;
}

static int compare_names(const char *left, const char *right)
{
	const size_t nleft = strnlen(left, NAME_COMPARED), nright = strnlen(right, NAME_COMPARED);

	if (nleft != nright)
		return nleft < nright ? -1 : 1;
	return memcmp(left, right, nleft);
}

static int is_better(const struct table_symbol *left, const struct table_symbol *right)
{
	if (is_open(left) != is_open(right))
		return is_open(right);
	if (left->is_label != right->is_label)
		return right->is_label;
	if (left->binding != right->binding)
		return left->binding < right->binding;
	return compare_names(left->name.raw, right->name.raw) < 0;
}

/* Keeps the best of each address, with the longest size of all: they name the same code. */
static int keep_best(struct symbol_table *table)
{
	size_t kept = 0;

	if (array_sort(table->symbol, table->nsymbols, sizeof(*table->symbol)) < 0)
		return -sbe_nomem;
	for (size_t i = 0; i < table->nsymbols; ++i) {
		const struct table_symbol next = table->symbol[i];
		struct table_symbol *best = kept ? &table->symbol[kept - 1] : NULL;
		uint64_t end;

		if (!best || next.begin != best->begin) {
			table->symbol[kept++] = next;
			continue;
		}
		end = next.end > best->end ? next.end : best->end;
		if (is_better(&next, best))
			*best = next;
		best->end = end;
	}
	table->nsymbols = kept;
	return 0;
}

/* ---- Segments ---------------------------------------------------------------------------------- */

/* From @begin on it is @symbol. */
static int put(struct symbol_table *table, uint64_t begin, uint32_t symbol)
{
	struct table_segment *last = table->nsegments ? &table->segment[table->nsegments - 1] : NULL;

	if (last && last->begin == begin) {
		last->symbol = symbol;
		return 0;
	}
	if (last && last->symbol == symbol)
		return 0;
	if (array_reserve(&table->segment, &table->segment_capacity, table->nsegments, sizeof(*last)) < 0)
		return -sbe_nomem;
	table->segment[table->nsegments++] = (struct table_segment){begin, symbol};
	return 0;
}

/* Symbols that are open, the innermost last. */
struct sweep {
	struct symbol_table *table;
	uint32_t *open; /* owned */
	size_t nopen, capacity;
};

/* Closes all that end up to @address. */
static int close_until(struct sweep *sweep, uint64_t address)
{
	const struct table_symbol *symbol = sweep->table->symbol;
	int status = 0;

	while (sweep->nopen && symbol[sweep->open[sweep->nopen - 1]].end <= address && status == 0) {
		const uint64_t end = symbol[sweep->open[--sweep->nopen]].end;

		/* Those below that ended while this one was on top are over, too. */
		while (sweep->nopen && symbol[sweep->open[sweep->nopen - 1]].end <= end)
			sweep->nopen -= 1;
		status = put(sweep->table, end, sweep->nopen ? sweep->open[sweep->nopen - 1] : NO_SYMBOL);
	}
	return status;
}

/* How far a symbol without a size reaches when the next symbol begins at @next. */
static uint64_t open_end(const struct table_symbol *symbol, uint64_t next)
{
	return symbol->limit < next ? symbol->limit : next;
}

static int sweep_symbol(struct sweep *sweep, uint32_t index)
{
	struct symbol_table *table = sweep->table;
	struct table_symbol *symbol = &table->symbol[index];
	int status = close_until(sweep, symbol->begin);

	if (status < 0)
		return status;
	if (is_open(symbol)) {
		const uint64_t next = index + 1 < table->nsymbols ? symbol[1].begin : UINT64_MAX;

		/* A label within a function. */
		if (sweep->nopen)
			return 0;
		symbol->end = open_end(symbol, next);
		if (symbol->end <= symbol->begin)
			return 0;
	}
	if (array_reserve(&sweep->open, &sweep->capacity, sweep->nopen, sizeof(*sweep->open)) < 0)
		return -sbe_nomem;
	sweep->open[sweep->nopen++] = index;
	return put(table, symbol->begin, index);
}

int symbol_table_seal(struct symbol_table *table)
{
	struct sweep sweep = {.table = table};
	int status = keep_best(table);

	for (size_t i = 0; i < table->nsymbols && status == 0; ++i)
		status = sweep_symbol(&sweep, (uint32_t)i);
	if (status == 0)
		status = close_until(&sweep, UINT64_MAX);
	free(sweep.open);
	return status;
}

struct table_symbol *symbol_table_find(const struct symbol_table *table, uint64_t address, uint64_t *low,
                                       uint64_t *high)
{
	const size_t below = array_above(table->segment, table->nsegments, sizeof(*table->segment), address);

	*low = below ? table->segment[below - 1].begin : 0;
	*high = below < table->nsegments ? table->segment[below].begin : UINT64_MAX;
	if (!below || table->segment[below - 1].symbol == NO_SYMBOL)
		return NULL;
	return &table->symbol[table->segment[below - 1].symbol];
}
