/* block_graph.c - see block_graph.h.
 *
 * Nodes are found through a two-level table by offset: 16 MiB regions, then 64-byte lines, each line
 * a list of the nodes that start in it. Lists only grow, at their heads, so readers need no lock.
 *
 * Who makes a node puts it at the head of its list by compare-and-swap. Its memory comes from a shelf that
 * other threads seldom use: where threads learn code at the same time, no cache line goes back and forth for
 * it, neither that of a lock nor one that holds nodes of both.
 */
#include "code/block_graph.h"

#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
	line_shift = 6,
	page_shift = 12,
	region_shift = 24,
	lines_per_page = 1 << (page_shift - line_shift),
	pages_per_region = 1 << (region_shift - page_shift),
	node_alignment = 16,
	smallest_chunk = 1 << 10,
	largest_chunk = 1 << 16,
	cache_line = 64,
	nshelves = 8,
	spins = 1000
};

struct page {
	_Atomic(struct pt_node *) line[lines_per_page];
};

/* A region is an array of them, shorter than others where the section ends. */
struct slot {
	_Atomic(struct page *) page;
};

/* Memory for nodes and pages, handed out from its beginning; the next one is twice as large. */
struct chunk {
	struct chunk *previous;
	size_t size, used;
	_Alignas(node_alignment) uint8_t memory[];
};

/* Where some of the threads have memory for nodes and pages. */
struct shelf {
	_Alignas(cache_line) atomic_flag is_taken;
	struct chunk *chunk; /* of whoever took the shelf */
};

struct pt_block_graph {
	struct shelf shelf[nshelves];
	_Atomic uint64_t memory; /* bytes allocated */
	uint64_t npages;         /* of the section */
	uint64_t nregions;
	_Atomic(struct slot *) region[];
};

/* From a cache line's beginning, all zero. */
static struct pt_block_graph *make_graph(uint64_t section_size)
{
	const uint64_t nregions = ((section_size - 1) >> region_shift) + 1;
	const size_t used = sizeof(struct pt_block_graph) + nregions * sizeof(_Atomic(struct slot *));
	const size_t size = (used + cache_line - 1) / cache_line * cache_line;
	struct pt_block_graph *graph = aligned_alloc(cache_line, size);

	if (!graph)
		return NULL;
	memset(graph, 0, size);
	for (uint32_t i = 0; i < nshelves; ++i)
		atomic_flag_clear(&graph->shelf[i].is_taken);
	graph->npages = ((section_size - 1) >> page_shift) + 1;
	graph->nregions = nregions;
	atomic_store_explicit(&graph->memory, size, memory_order_relaxed);
	return graph;
}

static void free_chunks(struct chunk *chunk)
{
	while (chunk) {
		struct chunk *previous = chunk->previous;

		free(chunk);
		chunk = previous;
	}
}

void pt_block_graph_free(struct pt_block_graph *graph)
{
	if (!graph)
		return;
	for (uint64_t r = 0; r < graph->nregions; ++r)
		free(atomic_load_explicit(&graph->region[r], memory_order_relaxed));
	for (uint32_t i = 0; i < nshelves; ++i)
		free_chunks(graph->shelf[i].chunk);
	free(graph);
}

uint64_t pt_block_graph_size(const struct pt_block_graph *graph)
{
	return atomic_load_explicit(&graph->memory, memory_order_relaxed);
}

/* The section's graph; made by whoever comes first. */
static struct pt_block_graph *graph_of(struct pt_section *section)
{
	struct pt_block_graph *graph = atomic_load_explicit(&section->graph, memory_order_acquire);
	struct pt_block_graph *made;

	if (graph)
		return graph;
	made = make_graph(section->size);
	if (!made)
		return NULL;
	if (atomic_compare_exchange_strong(&section->graph, &graph, made))
		return made;
	pt_block_graph_free(made);
	return graph;
}

static void count_memory(struct pt_block_graph *graph, size_t size)
{
	atomic_fetch_add_explicit(&graph->memory, size, memory_order_relaxed);
}

/* ---- Memory for nodes and pages ---------------------------------------------------------------- */

/* Threads are numbered as they come to make nodes, so that a few of them have a shelf each. */
static uint32_t number_of_thread(void)
{
	static _Atomic uint32_t nthreads;
	static _Thread_local uint32_t number; /* from one on */

	if (!number)
		number = 1 + atomic_fetch_add_explicit(&nthreads, 1, memory_order_relaxed) % nshelves;
	return number - 1;
}

/* Who holds a shelf lets go of it sooner than the kernel could put somebody to sleep. */
static struct shelf *take_shelf(struct pt_block_graph *graph)
{
	struct shelf *shelf = &graph->shelf[number_of_thread()];

	for (uint32_t i = 1; atomic_flag_test_and_set_explicit(&shelf->is_taken, memory_order_acquire); ++i)
		if (i % spins == 0)
			sched_yield();
	return shelf;
}

static void give_back(struct shelf *shelf)
{
	atomic_flag_clear_explicit(&shelf->is_taken, memory_order_release);
}

static struct chunk *make_chunk(struct pt_block_graph *graph, struct shelf *shelf)
{
	const size_t twice = shelf->chunk ? 2 * shelf->chunk->size : smallest_chunk;
	const size_t size = twice < largest_chunk ? twice : largest_chunk;
	struct chunk *chunk = aligned_alloc(node_alignment, sizeof(*chunk) + size);

	if (!chunk)
		return NULL;
	count_memory(graph, sizeof(*chunk) + size);
	chunk->previous = shelf->chunk;
	chunk->size = size;
	chunk->used = 0;
	shelf->chunk = chunk;
	return chunk;
}

/* Where the shelf's next @size bytes are; they are free as long as nobody says that they are used. */
static void *find_room(struct pt_block_graph *graph, struct shelf *shelf, size_t size)
{
	struct chunk *chunk = shelf->chunk;

	if (!chunk || chunk->used + size > chunk->size)
		chunk = make_chunk(graph, shelf);
	return chunk ? chunk->memory + chunk->used : NULL;
}

static void use_room(struct shelf *shelf, size_t size)
{
	shelf->chunk->used += (size + node_alignment - 1) & ~(size_t)(node_alignment - 1);
}

/* ---- The table ---------------------------------------------------------------------------------- */

/* The region of that number, for as many pages as the section has there; made when missing. */
static struct slot *make_region(struct pt_block_graph *graph, uint64_t number)
{
	const uint64_t left = graph->npages - number * pages_per_region;
	const size_t npages = left < pages_per_region ? (size_t)left : pages_per_region;
	struct slot *there = atomic_load_explicit(&graph->region[number], memory_order_acquire);
	struct slot *region = there ? NULL : calloc(npages, sizeof(*region));

	if (!region)
		return there;
	if (!atomic_compare_exchange_strong(&graph->region[number], &there, region)) {
		free(region);
		return there;
	}
	count_memory(graph, npages * sizeof(*region));
	return region;
}

/* Of the shelf's memory: malloc() makes threads that learn code at the same time wait for each other. */
static struct page *make_page(struct pt_block_graph *graph, struct shelf *shelf, struct slot *slot)
{
	struct page *there = atomic_load_explicit(&slot->page, memory_order_acquire);
	struct page *page = there ? NULL : find_room(graph, shelf, sizeof(*page));

	if (!page)
		return there;
	memset(page, 0, sizeof(*page));
	if (!atomic_compare_exchange_strong(&slot->page, &there, page))
		return there;
	use_room(shelf, sizeof(*page));
	return page;
}

/* The list of nodes in the line that holds @offset; NULL when there is none yet. */
static _Atomic(struct pt_node *) *find_line(struct pt_block_graph *graph, uint64_t offset)
{
	struct slot *region;
	struct page *page;

	region = atomic_load_explicit(&graph->region[offset >> region_shift], memory_order_acquire);
	if (!region)
		return NULL;
	page = atomic_load_explicit(&region[(offset >> page_shift) % pages_per_region].page,
	                            memory_order_acquire);
	if (!page)
		return NULL;
	return &page->line[(offset >> line_shift) % lines_per_page];
}

/* The same, made when missing; NULL: out of memory. */
static _Atomic(struct pt_node *) *make_line(struct pt_block_graph *graph, struct shelf *shelf,
                                            uint64_t offset)
{
	struct slot *region = make_region(graph, offset >> region_shift);
	struct page *page;

	if (!region)
		return NULL;
	page = make_page(graph, shelf, &region[(offset >> page_shift) % pages_per_region]);
	return page ? &page->line[(offset >> line_shift) % lines_per_page] : NULL;
}

/* From @node on, along its list. */
static struct pt_node *find_among(struct pt_node *node, uint64_t offset, enum pt_exec_mode mode)
{
	while (node && (node->offset != offset || node->mode != (uint8_t)mode))
		node = node->sibling;
	return node;
}

static void append_insn(struct pt_node *node, const struct pt_insn_info *info)
{
	node->last = node->size;
	node->length[node->ninsn++] = info->length;
	node->size = (uint16_t)(node->size + info->length);
	node->kind = info->kind;
	node->iclass = info->iclass;
}

/* Those that a block begins with, at once. */
static void pass_others(struct pt_node *node, const uint8_t *bytes, uint64_t size, enum pt_exec_mode mode)
{
	uint32_t passed;
	const uint32_t n = pt_insn_pass_others(bytes, size, mode, node->length, pt_node_max_insn, &passed);

	node->size = (uint16_t)passed;
	node->last = n ? (uint16_t)(passed - node->length[n - 1]) : 0;
	node->ninsn = (uint16_t)n;
	node->iclass = n ? ptic_other : ptic_unknown;
}

/* An instruction that cannot be decoded ends a block before it; as the first one it is an error. */
static int end_before_undecodable(struct pt_node *node, int status)
{
	if (node->ninsn) {
		node->kind = pt_kind_fall;
		return 0;
	}
	if (status != -pte_nomap)
		return status;
	node->kind = pt_kind_split;
	return 0;
}

int pt_node_decode(struct pt_node *node, const uint8_t *bytes, uint64_t size, uint64_t offset,
                   enum pt_exec_mode mode)
{
	memset(node, 0, sizeof(*node));
	node->offset = offset;
	node->mode = (uint8_t)mode;
	pass_others(node, bytes, size, mode);
	while (node->ninsn < pt_node_max_insn) {
		struct pt_insn_info info;
		int status;

		if (node->size == size) {
			node->kind = pt_kind_fall;
			return 0;
		}
		status = pt_insn_classify(&info, bytes + node->size, size - node->size, mode);
		if (status < 0)
			return end_before_undecodable(node, status);
		append_insn(node, &info);
		if (info.kind != pt_kind_other) {
			node->ip_bits = info.ip_bits;
			node->target = info.displacement + (info.ip_bits ? node->size : 0);
			return 0;
		}
	}
	node->kind = pt_kind_fall;
	return 0;
}

/* Puts @node into its list, unless somebody else was faster: returns what is there then. */
static struct pt_node *publish(_Atomic(struct pt_node *) *line, struct pt_node *node)
{
	struct pt_node *head = atomic_load_explicit(line, memory_order_acquire), *there;

	do {
		there = find_among(head, node->offset, (enum pt_exec_mode)node->mode);
		if (there)
			return there;
		node->sibling = head;
	} while (!atomic_compare_exchange_weak_explicit(line, &head, node, memory_order_release,
	                                                memory_order_acquire));
	return node;
}

static int make_node(const struct pt_node **made, struct pt_block_graph *graph, const struct pt_node *decoded)
{
	const size_t size = offsetof(struct pt_node, length) + decoded->ninsn;
	struct shelf *shelf = take_shelf(graph);
	_Atomic(struct pt_node *) *line = make_line(graph, shelf, decoded->offset);
	struct pt_node *node = line ? find_room(graph, shelf, size) : NULL;

	if (node) {
		memcpy(node, decoded, size);
		*made = publish(line, node);
		if (*made == node)
			use_room(shelf, size);
	}
	give_back(shelf);
	return node ? 0 : -pte_nomem;
}

/* What is decoded next lies behind @node, or where its branch leads to: it is on its way from memory while
 * @node gets its place. */
static void prefetch_next(const uint8_t *bytes, const struct pt_node *node, uint64_t section_size)
{
	const uint64_t next = node->offset + node->size, taken = node->offset + (uint64_t)node->target;

	if (next < section_size)
		__builtin_prefetch(bytes + next);
	if (taken < section_size)
		__builtin_prefetch(bytes + taken);
}

int pt_graph_node(const struct pt_node **node, struct pt_section *section, uint64_t offset,
                  enum pt_exec_mode mode)
{
	_Alignas(struct pt_node) uint8_t storage[pt_node_storage];
	struct pt_node *decoded = (struct pt_node *)storage;
	_Atomic(struct pt_node *) *line;
	struct pt_block_graph *graph;
	const uint8_t *bytes;
	int status = -pte_nomem;

	if (offset >= section->size)
		return -pte_nomap;
	graph = graph_of(section);
	if (!graph)
		return -pte_nomem;
	line = find_line(graph, offset);
	*node = line ? find_among(atomic_load_explicit(line, memory_order_acquire), offset, mode) : NULL;
	if (*node)
		return 0;
	bytes = pt_section_bytes(section, &status);
	if (!bytes)
		return status;
	status = pt_node_decode(decoded, bytes + offset, section->size - offset, offset, mode);
	if (status < 0)
		return status;
	prefetch_next(bytes, decoded, section->size);
	return make_node(node, graph, decoded);
}

int pt_graph_next(const struct pt_node **next, struct pt_section *section, const struct pt_node *node)
{
	int status;

	*next = atomic_load_explicit(&node->next, memory_order_acquire);
	if (*next)
		return 0;
	status = pt_graph_node(next, section, node->offset + node->size, node->mode);
	if (status == 0 && (*next)->kind != pt_kind_split)
		atomic_store_explicit(&((struct pt_node *)(uintptr_t)node)->next, *next,
		                      memory_order_release);
	return status;
}

int pt_graph_taken(const struct pt_node **taken, struct pt_section *section, const struct pt_node *node)
{
	int status;

	*taken = atomic_load_explicit(&node->taken, memory_order_acquire);
	if (*taken)
		return 0;
	if (node->ip_bits < pt_mode_ip_bits((enum pt_exec_mode)node->mode))
		return -pte_nomap;
	/* A target before the section wraps to a huge offset, which is outside as well. */
	status = pt_graph_node(taken, section, node->offset + (uint64_t)node->target, node->mode);
	if (status == 0 && (*taken)->kind != pt_kind_split)
		atomic_store_explicit(&((struct pt_node *)(uintptr_t)node)->taken, *taken,
		                      memory_order_release);
	return status;
}

const struct pt_node *pt_graph_make_link(struct pt_section *section, const struct pt_node *node, int taken)
{
	const struct pt_node *to;
	const int status = taken ? pt_graph_taken(&to, section, node) : pt_graph_next(&to, section, node);

	return status < 0 || to->kind == pt_kind_split ? NULL : to;
}
