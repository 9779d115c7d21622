/* function_counts.c - see function_counts.h.
 *
 * A function is a name and what it is in: sb_symbols gives equal strings as one pointer. Each answer that is
 * kept (symbol_text) knows its function, so that most blocks cost two comparisons and an addition. */
#include "sink/function_counts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sink/printable.h"
#include "sink/symbol_text.h"

struct function {
	struct function *next;  /* of the same slot */
	const char *name, *dso; /* NULL: not known */
	uint64_t ninsn;
};

struct function_counts {
	struct symbol_texts *texts; /* owned */
	struct function **slot;     /* owned */
	size_t nslots, count;       /* nslots: a power of two */
	uint64_t ninsn;
};

enum { slots_first = 1024 };

struct function_counts *function_counts_new(struct sb_symbols *symbols, const struct sb_clock *clock)
{
	struct function_counts *counts = calloc(1, sizeof(*counts));

	if (!counts)
		return NULL;
	counts->nslots = slots_first;
	counts->texts = symbol_texts_new(symbols, clock);
	counts->slot = calloc(counts->nslots, sizeof(struct function *));
	if (counts->texts && counts->slot)
		return counts;
	function_counts_free(counts);
	return NULL;
}

void function_counts_free(struct function_counts *counts)
{
	if (!counts)
		return;
	for (size_t i = 0; counts->slot && i < counts->nslots; i++)
		for (struct function *function = counts->slot[i], *next; function; function = next) {
			next = function->next;
			free(function);
		}
	free(counts->slot);
	symbol_texts_free(counts->texts);
	free(counts);
}

/* ---- Counting --------------------------------------------------------------------------------- */

static size_t slot_of(const char *name, const char *dso, size_t nslots)
{
	const uint64_t key = ((uintptr_t)name ^ (uintptr_t)dso << 7) * 0x9e3779b97f4a7c15;

	return (key ^ key >> 32) & (nslots - 1);
}

static int grow(struct function_counts *counts)
{
	const size_t nslots = 2 * counts->nslots;
	struct function **slot = calloc(nslots, sizeof(struct function *));

	if (!slot)
		return -1;
	for (size_t i = 0; i < counts->nslots; i++)
		for (struct function *function = counts->slot[i], *next; function; function = next) {
			const size_t to = slot_of(function->name, function->dso, nslots);

			next = function->next;
			function->next = slot[to];
			slot[to] = function;
		}
	free(counts->slot);
	counts->slot = slot;
	counts->nslots = nslots;
	return 0;
}

static struct function *get_function(struct function_counts *counts, const char *name, const char *dso)
{
	struct function *function, **slot;

	if (counts->count >= counts->nslots && grow(counts))
		return NULL;
	slot = &counts->slot[slot_of(name, dso, counts->nslots)];
	for (function = *slot; function; function = function->next)
		if (function->name == name && function->dso == dso)
			return function;
	function = malloc(sizeof(*function));
	if (!function)
		return NULL;
	*function = (struct function){.next = *slot, .name = name, .dso = dso};
	*slot = function;
	counts->count++;
	return function;
}

/* The function of @ip, and where the answer ends. */
static struct function *function_at(struct function_counts *counts, const struct sb_flow *flow, uint64_t ip,
                                    uint64_t *high)
{
	struct symbol_text *text = symbol_text_at(counts->texts, flow, ip);

	if (!text)
		return NULL;
	if (!text->note)
		text->note = get_function(counts, text->name, text->dso);
	*high = text->high;
	return text->note;
}

/* A block may go on in the next function. */
static int add_block(struct function_counts *counts, const struct sb_flow *flow,
                     const struct pt_run_block *block)
{
	uint64_t ip = block->ip, high;
	struct function *function = function_at(counts, flow, ip, &high);

	if (function && block->end_ip < high) {
		function->ninsn += block->ninsn;
		return 0;
	}
	for (unsigned int i = 0; function && i < block->ninsn; i++) {
		if (ip >= high)
			function = function_at(counts, flow, ip, &high);
		if (function)
			function->ninsn++;
		ip += block->length[i];
	}
	return function ? 0 : -1;
}

int function_counts_add(struct function_counts *counts, const struct sb_flow *flow)
{
	counts->ninsn += flow->ninsn;
	for (uint32_t i = 0; i < flow->npaths; i++)
		for (uint32_t k = 0; k < flow->path[i]->nblocks; k++)
			if (add_block(counts, flow, &flow->path[i]->block[k]))
				return -1;
	return 0;
}

/* ---- The table -------------------------------------------------------------------------------- */

static int compare_strings(const char *a, const char *b)
{
	if (!a || !b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

static int compare(const void *left, const void *right)
{
	const struct function *a = *(struct function *const *)left, *b = *(struct function *const *)right;
	int names;

	if (a->ninsn != b->ninsn)
		return a->ninsn > b->ninsn ? -1 : 1;
	names = compare_strings(a->name, b->name);
	return names ? names : compare_strings(a->dso, b->dso);
}

static const char *or_dash(char *room, const char *string)
{
	return string ? printable(room, string, symbol_name_most) : "-";
}

static void put_function(struct output *output, const struct function *function, uint64_t ninsn)
{
	char name[symbol_column_most], dso[symbol_column_most];

	output_printf(output, "%16" PRIu64 " %6.2f%%  %s (%s)\n", function->ninsn,
	              100 * (double)function->ninsn / (double)ninsn, or_dash(name, function->name),
	              or_dash(dso, function->dso));
}

int function_counts_put(struct function_counts *counts, size_t most, struct output *output)
{
	struct function **all = malloc((counts->count + 1) * sizeof(struct function *));
	size_t n = 0;

	if (!all)
		return -1;
	for (size_t i = 0; i < counts->nslots; i++)
		for (struct function *function = counts->slot[i]; function; function = function->next)
			all[n++] = function;
	qsort(all, n, sizeof(*all), compare);
	output_printf(output, "\n%16s %7s  %s\n", "instructions", "", "function (file)");
	for (size_t i = 0; i < n && i < most; i++)
		put_function(output, all[i], counts->ninsn);
	if (n > most)
		output_printf(output, "%24s  %zu others\n", "", n - most);
	free(all);
	return 0;
}
