/* line_counts.c - see line_counts.h.
 *
 * The line tables of each file are walked, and each stretch of a line is held against the instructions that
 * ran: stretches become rows (line, function, count), which are sorted and summed up. */
#include "count/line_counts.h"

#include <intel-pt.h>

#include "vector.h"

/* A stretch of addresses of one line. */
struct row {
	const char *file;
	uint32_t line;
	size_t part;
	uint64_t low, high;  /* addresses as linked */
	uint64_t begin, end; /* the same in the file; both 0: no code is there */
	uint64_t function;   /* where the function begins that it is in; 0: not known */
};

struct entry {
	struct sb_source_function function;
	size_t part;
};

/* What the walks find. */
struct walk {
	struct row *row;     /* owned */
	struct entry *entry; /* owned */
	size_t nrows, row_room, nentries, entry_room;
	size_t part;
};

static int add_row(void *context, const struct sb_source_line *line)
{
	struct walk *walk = context;

	if (vector_reserve(&walk->row, &walk->row_room, walk->nrows, sizeof(*walk->row)))
		return -1;
	walk->row[walk->nrows++] = (struct row){.file = line->file,
	                                        .line = line->line,
	                                        .part = walk->part,
	                                        .low = line->low,
	                                        .high = line->high};
	return 0;
}

static int add_entry(void *context, const struct sb_source_function *function)
{
	struct walk *walk = context;

	if (vector_reserve(&walk->entry, &walk->entry_room, walk->nentries, sizeof(*walk->entry)))
		return -1;
	walk->entry[walk->nentries++] = (struct entry){*function, walk->part};
	return 0;
}

/* The kernel has many files: those parts of them are walked in which something ran. */
static int walk_kernel(const struct sb_source_walk *walk, const struct code_part *part,
                       struct sb_source_lines *lines)
{
	uint64_t *ip = reallocarray(NULL, part->ninsns + 1, sizeof(*ip));
	int status;

	if (!ip)
		return -1;
	for (size_t i = 0; i < part->ninsns; i++)
		ip[i] = part->insn[i].offset;
	status = sb_source_lines_walk_kernel(lines, ip, part->ninsns, walk, NULL);
	free(ip);
	return status;
}

static int walk_part(const struct sb_source_walk *walk, const struct code_part *part,
                     struct sb_source_lines *lines)
{
	if (part->unwanted)
		return 0;
	if (part->object->is_kernel)
		return walk_kernel(walk, part, lines);
	return part->path ? sb_source_lines_walk(lines, part->object->map, walk, NULL) : 0;
}

static int walk_all(struct walk *walk, const struct code_view *view, struct sb_source_lines *lines)
{
	const struct sb_source_walk callbacks = {walk, add_row, add_entry};
	int status = 0;

	for (walk->part = 0; walk->part < view->nparts && !status; walk->part++)
		status = walk_part(&callbacks, &view->part[walk->part], lines);
	return status ? -1 : 0;
}

/* ---- Functions -------------------------------------------------------------------------------- */

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_lines(const char *a_file, uint32_t a_line, const char *b_file, uint32_t b_line)
{
	const int order = a_file == b_file ? 0 : strcmp(a_file, b_file);

	return order ? order : compare_numbers(a_line, b_line);
}

static int compare_entries(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int order = compare_numbers(a->part, b->part);

	order = order ? order : compare_numbers(a->function.entry, b->function.entry);
	return order ? order : strcmp(a->function.name, b->function.name);
}

static int compare_functions(const void *left, const void *right)
{
	const struct line_function *a = left, *b = right;
	const int order = compare_lines(a->file, a->line, b->file, b->line);

	return order ? order : strcmp(a->name, b->name);
}

static uint64_t count_at(const struct code_part *part, uint64_t address)
{
	uint64_t offset, count = 0;

	if (!code_part_offset(part, address, &offset))
		return 0;
	for (size_t i = code_part_insn(part, offset); i < part->ninsns && part->insn[i].offset == offset; i++)
		count += part->insn[i].count;
	return count;
}

static int make_functions(struct line_counts *counts, const struct walk *walk, const struct code_view *view)
{
	size_t n = 0;

	counts->function = calloc(walk->nentries + 1, sizeof(*counts->function));
	if (!counts->function)
		return -1;
	for (size_t i = 0; i < walk->nentries; i++) {
		const struct entry *entry = &walk->entry[i];

		if (entry->function.file)
			counts->function[n++] = (struct line_function){
			        entry->function.file, entry->function.line, entry->function.name,
			        count_at(&view->part[entry->part], entry->function.entry)};
	}
	qsort(counts->function, n, sizeof(*counts->function), compare_functions);
	for (size_t i = 0; i < n; i++) {
		struct line_function *last = &counts->function[counts->nfunctions];

		if (i && !compare_functions(last - 1, &counts->function[i]))
			last[-1].count += counts->function[i].count;
		else
			counts->function[counts->nfunctions++] = counts->function[i];
	}
	return 0;
}

/* ---- Lines ------------------------------------------------------------------------------------ */

/* The function that @address is in; the entries are sorted. NULL: not known. */
static const struct entry *entry_of(const struct walk *walk, size_t part, uint64_t address)
{
	size_t low = 0, high = walk->nentries;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct entry *entry = &walk->entry[middle];

		if (entry->part < part || (entry->part == part && entry->function.entry <= address))
			low = middle + 1;
		else
			high = middle;
	}
	return low && walk->entry[low - 1].part == part ? &walk->entry[low - 1] : NULL;
}

static void place_row(struct row *row, const struct walk *walk, const struct code_part *part)
{
	const struct entry *entry = entry_of(walk, row->part, row->low);
	const struct sb_source_function *function = entry ? &entry->function : NULL;

	if (code_part_offset(part, row->low, &row->begin))
		row->end = row->begin + (row->high - row->low);
	else
		row->begin = 0;
	row->function = function ? function->entry : 0;
	/* The brace belongs to the declaration. */
	if (function && function->entry == row->low && function->file == row->file &&
	    function->line < row->line)
		row->line = function->line;
}

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	int order = compare_lines(a->file, a->line, b->file, b->line);

	order = order ? order : compare_numbers(a->part, b->part);
	order = order ? order : compare_numbers(a->function, b->function);
	return order ? order : compare_numbers(a->low, b->low);
}

/* The rows of one line in one function, by address. */
struct line_rows {
	const struct row *row;
	size_t count;
	const struct code_part *part;
};

/* The first row that begins behind @offset. */
static size_t row_above(const struct line_rows *rows, uint64_t offset)
{
	size_t low = 0, high = rows->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (rows->row[middle].begin <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool holds(const struct line_rows *rows, uint64_t offset)
{
	const size_t above = row_above(rows, offset);

	return above && offset < rows->row[above - 1].end;
}

/* Whether all from @begin, which is of the line, to @end is. */
static bool holds_all(const struct line_rows *rows, uint64_t begin, uint64_t end)
{
	size_t i = row_above(rows, begin) - 1;

	while (end >= rows->row[i].end && i + 1 < rows->count && rows->row[i + 1].begin == rows->row[i].end)
		i++;
	return end < rows->row[i].end;
}

/* How often execution left the line, stayed in it going back, and was at one place of it at most. */
struct line_flow {
	uint64_t out, back, most;
};

static void add_jump(struct line_flow *flow, const struct line_rows *rows, const struct code_insn *insn)
{
	const struct code_part *part = rows->part;

	for (size_t i = code_part_edge(part, insn->offset);
	     i < part->nedges && part->edge[i].from == insn->offset; i++) {
		const struct code_edge *edge = &part->edge[i];

		if (edge->part != part || !holds(rows, edge->to))
			flow->out += edge->count;
		else if (edge->to <= edge->from && holds_all(rows, edge->to, edge->from))
			flow->back += edge->count;
	}
}

static void add_insn(struct line_flow *flow, const struct line_rows *rows, const struct code_insn *insn)
{
	flow->most = insn->count > flow->most ? insn->count : flow->most;
	if (insn->iclass == ptic_cond_jump || insn->iclass == ptic_jump || insn->iclass == ptic_indirect)
		add_jump(flow, rows, insn);
	else if (insn->iclass == ptic_return || !holds(rows, insn->offset + insn->length))
		flow->out += insn->count;
}

static uint64_t count_rows(const struct line_rows *rows)
{
	struct line_flow flow = {0};

	for (size_t i = 0; i < rows->count; i++)
		for (size_t k = code_part_insn(rows->part, rows->row[i].begin);
		     k < rows->part->ninsns && rows->part->insn[k].offset < rows->row[i].end; k++)
			add_insn(&flow, rows, &rows->part->insn[k]);
	return flow.back ? flow.out + flow.back : flow.most;
}

static bool is_same_line(const struct row *a, const struct row *b)
{
	return a->file == b->file && a->line == b->line;
}

static bool is_same_place(const struct row *a, const struct row *b)
{
	return is_same_line(a, b) && a->part == b->part && a->function == b->function;
}

/* The rows are sorted: those of a function are neighbours. */
static int make_lines(struct line_counts *counts, const struct walk *walk, const struct code_view *view)
{
	size_t end;

	counts->line = calloc(walk->nrows + 1, sizeof(*counts->line));
	if (!counts->line)
		return -1;
	for (size_t i = 0; i < walk->nrows; i = end) {
		const struct row *row = &walk->row[i];
		struct line_rows rows = {.row = row, .part = &view->part[row->part]};

		for (end = i; end < walk->nrows && is_same_place(row, &walk->row[end]); end++)
			;
		rows.count = end - i;
		counts->nlines += !i || !is_same_line(row - 1, row);
		counts->line[counts->nlines - 1].file = row->file;
		counts->line[counts->nlines - 1].line = row->line;
		counts->line[counts->nlines - 1].count += count_rows(&rows);
	}
	return 0;
}

/* ---- Branches --------------------------------------------------------------------------------- */

/* Adds the ways that execution went from the instruction which left at edge @first, up to @end. */
static int add_ways(struct line_counts *counts, size_t *room, const struct row *row, uint32_t jump,
                    const struct code_edge *first, const struct code_edge *end)
{
	uint64_t way[2] = {0};
	const bool conditional = first->kind == code_edge_fall || first->kind == code_edge_taken;
	const uint32_t nways = conditional ? 2 : (uint32_t)(end - first);

	for (const struct code_edge *edge = first; edge < end && conditional; edge++)
		way[edge->kind == code_edge_taken] += edge->count;
	for (uint32_t i = 0; i < nways; i++) {
		if (vector_reserve(&counts->branch, room, counts->nbranches, sizeof(*counts->branch)))
			return -1;
		counts->branch[counts->nbranches++] = (struct line_branch){
		        row->file, row->line, jump, i, conditional ? way[i] : first[i].count};
	}
	return 0;
}

/* The jumps of a row, which is one of several of its line in the function. */
static int add_jumps(struct line_counts *counts, size_t *room, const struct row *row,
                     const struct code_part *part, uint32_t *jump)
{
	const struct code_edge *all = part->edge + part->nedges;
	const struct code_edge *edge = part->edge + code_part_edge(part, row->begin);

	while (edge < all && edge->from < row->end) {
		const struct code_edge *end = edge;

		while (end < all && end->from == edge->from)
			end++;
		if (edge->kind <= code_edge_taken || (edge->kind == code_edge_jump && end - edge > 1))
			if (add_ways(counts, room, row, (*jump)++, edge, end))
				return -1;
		edge = end;
	}
	return 0;
}

static int compare_branches(const void *left, const void *right)
{
	const struct line_branch *a = left, *b = right;
	int order = compare_lines(a->file, a->line, b->file, b->line);

	order = order ? order : compare_numbers(a->jump, b->jump);
	return order ? order : compare_numbers(a->branch, b->branch);
}

static int make_branches(struct line_counts *counts, const struct walk *walk, const struct code_view *view)
{
	size_t room = 0, n = 0;
	uint32_t jump = 0;

	for (size_t i = 0; i < walk->nrows; i++) {
		const struct row *row = &walk->row[i];

		if (!i || !is_same_place(row - 1, row))
			jump = 0;
		if (add_jumps(counts, &room, row, &view->part[row->part], &jump))
			return -1;
	}
	if (counts->nbranches)
		qsort(counts->branch, counts->nbranches, sizeof(*counts->branch), compare_branches);
	for (size_t i = 0; i < counts->nbranches; i++)
		if (n && !compare_branches(&counts->branch[n - 1], &counts->branch[i]))
			counts->branch[n - 1].count += counts->branch[i].count;
		else
			counts->branch[n++] = counts->branch[i];
	counts->nbranches = n;
	return 0;
}

/* ------------------------------------------------------------------------------------------------- */

static int fill(struct line_counts *counts, struct walk *walk, const struct code_view *view)
{
	if (walk->nentries)
		qsort(walk->entry, walk->nentries, sizeof(*walk->entry), compare_entries);
	for (size_t i = 0; i < walk->nrows; i++)
		place_row(&walk->row[i], walk, &view->part[walk->row[i].part]);
	if (walk->nrows)
		qsort(walk->row, walk->nrows, sizeof(*walk->row), compare_rows);
	if (make_functions(counts, walk, view) || make_lines(counts, walk, view))
		return -1;
	return make_branches(counts, walk, view);
}

int line_counts_make(struct line_counts *counts, const struct code_view *view, struct sb_source_lines *lines)
{
	struct walk walk = {0};
	int status;

	*counts = (struct line_counts){0};
	status = walk_all(&walk, view, lines);
	if (!status)
		status = fill(counts, &walk, view);
	free(walk.row);
	free(walk.entry);
	return status;
}

void line_counts_fini(struct line_counts *counts)
{
	free(counts->line);
	free(counts->function);
	free(counts->branch);
	*counts = (struct line_counts){0};
}
