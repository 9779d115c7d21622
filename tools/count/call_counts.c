/* call_counts.c - see call_counts.h. */
#include "count/call_counts.h"

#include <stdbool.h>
#include <string.h>

#include "vector.h"

enum { sites = 1 << 14, edge_slots_first = 1024, function_slots_first = 1024 };

/* A line that was looked up, and where it holds. */
struct site {
	const struct sb_epoch *epoch;
	struct sb_source_line line; /* high 0: free */
};

/* A function's beginning that was looked up. */
struct beginning {
	const struct sb_epoch *epoch;
	uint64_t ip; /* 0: free */
	int64_t index;
};

struct call_counts {
	struct sb_calls *calls;        /* owned */
	struct sb_source_lines *lines; /* borrowed */
	struct call_function *function;
	size_t nfunctions, function_room;
	uint32_t *function_slot; /* owned; an index plus one, 0: free; open addressing */
	size_t nfunction_slots;
	uint32_t *by_engine; /* owned; an index plus one by the engine's, 0: not known yet */
	size_t nby_engine;
	struct call_edge *edge; /* owned */
	size_t nedges, edge_room;
	uint32_t *edge_slot; /* owned; as above */
	size_t nedge_slots;
	struct call_doubts doubts;
	struct site site[sites];
	struct beginning seen[sites];
};

/* ---- Functions -------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t key)
{
	key *= 0x9e3779b97f4a7c15;
	return key ^ key >> 32;
}

static uint32_t *function_slot(const struct call_counts *counts, uint32_t *slot, size_t nslots,
                               const char *dso, const char *name)
{
	size_t i = mix((uintptr_t)dso ^ (uintptr_t)name << 7) & (nslots - 1);

	while (slot[i] &&
	       (counts->function[slot[i] - 1].dso != dso || counts->function[slot[i] - 1].name != name))
		i = (i + 1) & (nslots - 1);
	return &slot[i];
}

static int grow_functions(struct call_counts *counts)
{
	const size_t nslots = counts->nfunction_slots ? 2 * counts->nfunction_slots : function_slots_first;
	uint32_t *slot = calloc(nslots, sizeof(*slot));

	if (!slot)
		return -1;
	for (size_t i = 0; i < counts->nfunctions; i++)
		*function_slot(counts, slot, nslots, counts->function[i].dso, counts->function[i].name) =
		        (uint32_t)i + 1;
	free(counts->function_slot);
	counts->function_slot = slot;
	counts->nfunction_slots = nslots;
	return 0;
}

int64_t call_counts_function(struct call_counts *counts, const char *dso, const char *name)
{
	uint32_t *slot;

	if (2 * counts->nfunctions >= counts->nfunction_slots && grow_functions(counts))
		return -1;
	slot = function_slot(counts, counts->function_slot, counts->nfunction_slots, dso, name);
	if (*slot)
		return *slot - 1;
	if (vector_reserve(&counts->function, &counts->function_room, counts->nfunctions,
	                   sizeof(*counts->function)))
		return -1;
	counts->function[counts->nfunctions++] = (struct call_function){.dso = dso, .name = name};
	*slot = (uint32_t)counts->nfunctions;
	return (int64_t)counts->nfunctions - 1;
}

static size_t place_of(const struct sb_calls_space *space, uint64_t ip)
{
	return mix(ip ^ (uintptr_t)space->epoch << 4) % sites;
}

/* The line at @ip in that process; NULL: out of memory. */
static const struct sb_source_line *line_at(struct call_counts *counts, const struct sb_calls_space *space,
                                            uint64_t ip)
{
	const struct sb_symbols_place place = {.epoch = space->epoch, .pid = space->pid, .ip = ip};
	struct site *site = &counts->site[place_of(space, ip)];

	if (site->line.high && site->epoch == space->epoch && ip >= site->line.low && ip < site->line.high)
		return &site->line;
	site->epoch = space->epoch;
	return sb_source_lines_find(counts->lines, &place, &site->line, NULL) < 0 ? NULL : &site->line;
}

/* Its index; negative: out of memory. */
static int64_t function_of(struct call_counts *counts, const struct sb_function *of)
{
	int64_t index;

	if (vector_reach(&counts->by_engine, &counts->nby_engine, of->index, sizeof(*counts->by_engine)))
		return -1;
	if (counts->by_engine[of->index])
		return counts->by_engine[of->index] - 1;
	index = call_counts_function(counts, of->dso, of->name);
	if (index >= 0)
		counts->by_engine[of->index] = (uint32_t)index + 1;
	return index;
}

static int compare_strings(const char *a, const char *b)
{
	if (!a || !b || a == b)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

/* A function begins at @ip. Several of the same name may begin at several lines: the first one is told,
 * whichever of them came first. */
static int see_beginning(struct call_counts *counts, const struct sb_calls_space *space, int64_t index,
                         uint64_t ip)
{
	struct call_function *function = &counts->function[index];
	struct beginning *seen = &counts->seen[place_of(space, ip)];
	const struct sb_source_line *line;
	int order;

	if (!function->name || (seen->epoch == space->epoch && seen->ip == ip && seen->index == index))
		return 0;
	line = line_at(counts, space, ip);
	if (!line)
		return -1;
	order = compare_strings(line->file, function->file);
	if (line->file && (!function->file || order < 0 || (order == 0 && line->line < function->line))) {
		function->file = line->file;
		function->line = line->line;
	}
	*seen = (struct beginning){space->epoch, ip, index};
	return 0;
}

/* ---- Edges ------------------------------------------------------------------------------------ */

static bool is_same_edge(const struct call_edge *a, const struct call_edge *b)
{
	return a->caller == b->caller && a->callee == b->callee && a->file == b->file && a->line == b->line;
}

static uint32_t *edge_slot(const struct call_counts *counts, uint32_t *slot, size_t nslots,
                           const struct call_edge *edge)
{
	size_t i = mix((uint64_t)edge->caller << 32 ^ edge->callee ^ (uint64_t)edge->line << 20 ^
	               (uintptr_t)edge->file) &
	           (nslots - 1);

	while (slot[i] && !is_same_edge(&counts->edge[slot[i] - 1], edge))
		i = (i + 1) & (nslots - 1);
	return &slot[i];
}

static int grow_edges(struct call_counts *counts)
{
	const size_t nslots = counts->nedge_slots ? 2 * counts->nedge_slots : edge_slots_first;
	uint32_t *slot = calloc(nslots, sizeof(*slot));

	if (!slot)
		return -1;
	for (size_t i = 0; i < counts->nedges; i++)
		*edge_slot(counts, slot, nslots, &counts->edge[i]) = (uint32_t)i + 1;
	free(counts->edge_slot);
	counts->edge_slot = slot;
	counts->nedge_slots = nslots;
	return 0;
}

static int add_edge(struct call_counts *counts, const struct call_edge *edge)
{
	uint32_t *slot;

	if (2 * counts->nedges >= counts->nedge_slots && grow_edges(counts))
		return -1;
	slot = edge_slot(counts, counts->edge_slot, counts->nedge_slots, edge);
	if (!*slot) {
		if (vector_reserve(&counts->edge, &counts->edge_room, counts->nedges, sizeof(*edge)))
			return -1;
		counts->edge[counts->nedges++] = *edge;
		*slot = (uint32_t)counts->nedges;
		return 0;
	}
	counts->edge[*slot - 1].calls += edge->calls;
	counts->edge[*slot - 1].ninsn += edge->ninsn;
	return 0;
}

/* ---- The consumer of stacks ------------------------------------------------------------------- */

/* Calls, which came back, of a function by another one; by nobody that is known: NULL. */
static int add_calls(struct call_counts *counts, const struct sb_calls_space *space,
                     const struct sb_calls_edge *calls)
{
	const int64_t callee = function_of(counts, calls->callee),
	              caller = calls->caller ? function_of(counts, calls->caller) : 0;
	struct call_edge edge = {.calls = calls->calls, .ninsn = calls->ninsn};
	const struct sb_source_line *line;

	if (caller < 0 || callee < 0 || see_beginning(counts, space, callee, calls->ip))
		return -1;
	if (!calls->caller)
		return 0;
	if (calls->from_ip) {
		line = line_at(counts, space, calls->from_ip);
		if (!line)
			return -1;
		edge.file = line->file;
		edge.line = line->line;
	}
	edge.caller = (uint32_t)caller;
	edge.callee = (uint32_t)callee;
	return add_edge(counts, &edge);
}

static int on_leave(void *context, struct sb_call_thread *thread, enum sb_leave how)
{
	struct call_counts *counts = context;
	const struct sb_call_frame *frame = sb_calls_top(thread);
	const struct sb_calls_space space = {thread->pid, thread->epoch};
	const struct sb_calls_edge calls = {
	        .caller = thread->depth < 2 ? NULL : frame[-1].function,
	        .callee = frame->function,
	        .ip = frame->begin ? frame->begin : frame->ip,
	        .from_ip = sb_call_is_made((enum sb_enter)frame->how) ? frame->from_ip : 0,
	        .calls = frame->how != sb_enter_again,
	        .ninsn = thread->ninsn - frame->ninsn};

	if (calls.caller) {
		counts->doubts.calls += 1;
		counts->doubts.guesses += frame->unsure || how == sb_leave_lost;
	}
	return add_calls(counts, &space, &calls) ? -sbe_nomem : 0;
}

/* What is told in edges() is all that matters of flow that was added up. */
static int on_sums(void *context, struct sb_call_thread *thread, const struct sb_calls_sum *sum,
                   uint32_t count)
{
	(void)context;
	(void)thread;
	(void)sum;
	(void)count;
	return 0;
}

static int on_edges(void *context, const struct sb_calls_space *space, const struct sb_calls_edge *edge,
                    size_t count)
{
	struct call_counts *counts = context;

	for (size_t i = 0; i < count; i++) {
		counts->doubts.calls += edge[i].calls;
		if (add_calls(counts, space, &edge[i]))
			return -sbe_nomem;
	}
	return 0;
}

/* ---- Life ------------------------------------------------------------------------------------- */

struct call_counts *call_counts_new(struct sb_symbols *symbols, struct sb_source_lines *lines,
                                    const struct sb_clock *clock, const struct sb_system *system, bool cut)
{
	struct call_counts *counts = calloc(1, sizeof(*counts));
	const struct sb_calls_options options = {
	        .size = sizeof(options), .symbols = symbols, .clock = clock, .system = system, .holes = cut};
	const struct sb_calls_consumer consumer = {
	        .context = counts, .leave = on_leave, .sums = on_sums, .edges = on_edges};

	if (!counts)
		return NULL;
	counts->lines = lines;
	if (!grow_functions(counts) && !grow_edges(counts) &&
	    sb_calls_new(&counts->calls, &options, &consumer, NULL) >= 0)
		return counts;
	call_counts_free(counts);
	return NULL;
}

void call_counts_free(struct call_counts *counts)
{
	if (!counts)
		return;
	sb_calls_free(counts->calls);
	free(counts->function);
	free(counts->function_slot);
	free(counts->by_engine);
	free(counts->edge);
	free(counts->edge_slot);
	free(counts);
}

int call_counts_flow(struct call_counts *counts, const struct sb_flow *flow)
{
	return sb_calls_flow(counts->calls, flow);
}

int call_counts_gap(struct call_counts *counts, const struct sb_gap *gap)
{
	return sb_calls_gap(counts->calls, gap) < 0 ? -1 : 0;
}

static int compare_edges(const void *left, const void *right)
{
	const struct call_edge *a = left, *b = right;
	int order = (a->caller > b->caller) - (a->caller < b->caller);

	order = order ? order : (a->callee > b->callee) - (a->callee < b->callee);
	order = order ? order : compare_strings(a->file, b->file);
	return order ? order : (a->line > b->line) - (a->line < b->line);
}

int call_counts_finish(struct call_counts *counts)
{
	return sb_calls_finish(counts->calls) < 0 ? -1 : 0;
}

/* A function, and its index before it was sorted. */
struct sorted {
	struct call_function function;
	uint32_t index;
};

static int compare_functions(const void *left, const void *right)
{
	const struct sorted *a = left, *b = right;
	int order = compare_strings(a->function.dso, b->function.dso);

	order = order ? order : compare_strings(a->function.name, b->function.name);
	return order ? order : (a->index > b->index) - (a->index < b->index);
}

static int sort_functions(struct call_counts *counts, uint32_t *rank)
{
	const size_t count = counts->nfunctions;
	struct sorted *sorted = calloc(count + 1, sizeof(*sorted));

	if (!sorted)
		return -1;
	for (size_t i = 0; i < count; i++)
		sorted[i] = (struct sorted){counts->function[i], (uint32_t)i};
	qsort(sorted, count, sizeof(*sorted), compare_functions);
	for (size_t i = 0; i < count; i++) {
		counts->function[i] = sorted[i].function;
		rank[sorted[i].index] = (uint32_t)i;
	}
	free(sorted);
	return 0;
}

int call_counts_sort(struct call_counts *counts, uint32_t **rank)
{
	*rank = calloc(counts->nfunctions + 1, sizeof(**rank));
	if (!*rank || sort_functions(counts, *rank))
		return -1;
	for (size_t i = 0; i < counts->nedges; i++) {
		counts->edge[i].caller = (*rank)[counts->edge[i].caller];
		counts->edge[i].callee = (*rank)[counts->edge[i].callee];
	}
	if (counts->nedges)
		qsort(counts->edge, counts->nedges, sizeof(*counts->edge), compare_edges);
	return 0;
}

const struct call_function *call_counts_functions(const struct call_counts *counts, size_t *count)
{
	*count = counts->nfunctions;
	return counts->function;
}

struct call_doubts call_counts_doubts(const struct call_counts *counts)
{
	return counts->doubts;
}

const struct call_edge *call_counts_edges(const struct call_counts *counts, size_t *count)
{
	*count = counts->nedges;
	return counts->edge;
}
