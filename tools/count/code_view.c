/* code_view.c - see code_view.h. */
#include "count/code_view.h"

#include <stdlib.h>
#include <string.h>

#include <intel-pt.h>

#include "vector.h"

static const char *const kind_name[code_edge_kinds] = {
        [code_edge_fall] = "fall",   [code_edge_taken] = "taken",   [code_edge_jump] = "jump",
        [code_edge_call] = "call",   [code_edge_return] = "return", [code_edge_far] = "far",
        [code_edge_async] = "async",
};

const char *code_edge_kind_name(enum code_edge_kind kind)
{
	return kind_name[kind];
}

/* ---- Parts ------------------------------------------------------------------------------------ */

static const char *name_of(const struct code_object *object)
{
	if (object->map)
		return object->map->filename;
	return object->is_kernel ? "[kernel]" : "[unknown]";
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_maps(const struct sb_map *a, const struct sb_map *b)
{
	int order;

	if (!a || !b)
		return (a != NULL) - (b != NULL);
	order = memcmp(a->build_id, b->build_id, sizeof(a->build_id));
	order = order ? order : compare_numbers(a->maj, b->maj);
	order = order ? order : compare_numbers(a->min, b->min);
	order = order ? order : compare_numbers(a->ino, b->ino);
	return order ? order : (int)a->origin - (int)b->origin;
}

static int compare_parts(const void *left, const void *right)
{
	const struct code_part *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	order = order ? order : compare_maps(a->object->map, b->object->map);
	order = order ? order : (int)b->object->is_kernel - (int)a->object->is_kernel;
	return order ? order : (a->object->pid > b->object->pid) - (a->object->pid < b->object->pid);
}

static int compare_parts_by_process(const void *left, const void *right)
{
	const struct code_part *a = left, *b = right;
	const int order = (a->object->pid > b->object->pid) - (a->object->pid < b->object->pid);

	return order ? order : compare_parts(left, right);
}

/* Where the file is, and what it says of its code. */
static int resolve(struct code_part *part, struct sb_resolver *resolver)
{
	const struct sb_map *map = part->object->map;
	const struct sb_binary *binary;

	if (!resolver || !map || map->origin != sb_map_recorded || sb_map_is_anonymous(map->filename))
		return 0;
	if (sb_resolver_find(resolver, map, &binary, NULL) < 0)
		return -1;
	if (binary->missing)
		return 0;
	part->path = binary->path;
	part->shift = (int64_t)(binary->offset - map->pgoff);
	part->ncodes =
	        sb_elf_code(binary->path, part->code, sizeof(part->code) / sizeof(part->code[0]), NULL);
	return 0;
}

uint64_t code_part_address(const struct code_part *part, uint64_t offset)
{
	const uint64_t at = code_part_in_file(part, offset);

	for (int i = 0; i < part->ncodes; i++)
		if (at >= part->code[i].offset && at - part->code[i].offset < part->code[i].size)
			return part->code[i].address + (at - part->code[i].offset);
	return offset;
}

bool code_part_offset(const struct code_part *part, uint64_t address, uint64_t *offset)
{
	for (int i = 0; i < part->ncodes; i++)
		if (address >= part->code[i].address &&
		    address - part->code[i].address < part->code[i].size) {
			*offset = part->code[i].offset + (address - part->code[i].address) -
			          (uint64_t)part->shift;
			return true;
		}
	*offset = address;
	return part->object->is_kernel;
}

static int make_parts(struct code_view *view, const struct code_table *table, struct sb_resolver *resolver,
                      struct code_part **by_index)
{
	for (const struct code_object *object = table->object; object; object = object->next)
		view->part[view->nparts++] = (struct code_part){.object = object, .name = name_of(object)};
	qsort(view->part, view->nparts, sizeof(*view->part),
	      table->by_process ? compare_parts_by_process : compare_parts);
	for (size_t i = 0; i < view->nparts; i++) {
		by_index[view->part[i].object->index] = &view->part[i];
		if (resolve(&view->part[i], resolver))
			return -1;
	}
	return 0;
}

/* ---- Blocks ----------------------------------------------------------------------------------- */

static int compare_blocks(const void *left, const void *right)
{
	const struct code_block *a = *(const struct code_block *const *)left,
	                        *b = *(const struct code_block *const *)right;
	int order = compare_numbers(a->offset, b->offset);

	order = order ? order : (int)a->ninsn - (int)b->ninsn;
	return order ? order : compare_numbers(a->last, b->last);
}

/* Of two blocks the one that does not depend on who was found first. */
static const struct code_block *first_block(const struct code_block *a, const struct code_block *b)
{
	return compare_blocks(&b, &a) < 0 ? b : a;
}

/* Counts the blocks of each part, then fills them in. */
static int take_blocks(struct code_view *view, const struct code_table *table, struct code_part **by_index)
{
	for (int fill = 0; fill < 2; fill++) {
		for (size_t i = 0; i < view->nparts && fill; i++) {
			view->part[i].block = calloc(view->part[i].nblocks + 1, sizeof(struct code_block *));
			if (!view->part[i].block)
				return -1;
			view->part[i].nblocks = 0;
		}
		for (size_t i = 0; i < table->block_slots; i++)
			for (const struct code_block *block = table->block[i]; block; block = block->next) {
				struct code_part *part = by_index[block->object->index];

				if (fill)
					part->block[part->nblocks] = block;
				part->nblocks++;
			}
	}
	for (size_t i = 0; i < view->nparts; i++)
		qsort(view->part[i].block, view->part[i].nblocks, sizeof(struct code_block *),
		      compare_blocks);
	return 0;
}

/* ---- Instructions ----------------------------------------------------------------------------- */

static int compare_insns(const void *left, const void *right)
{
	const struct code_insn *a = left, *b = right;
	int order = compare_numbers(a->offset, b->offset);

	return order ? order : (int)a->length - (int)b->length;
}

/* What was counted, by place; blocks that overlap have most of their instructions in common. */
struct insns {
	struct code_insn *in_order; /* room for those of all blocks */
	size_t count;
	struct code_insn *between; /* owned; of no block before, but with some of one behind them */
	size_t nbetween, room;
};

/* Of a block's, the one at @offset with index @i. */
static struct code_insn insn_of(const struct code_block *block, uint64_t offset, unsigned int i)
{
	return (struct code_insn){.offset = offset,
	                          .count = block->count,
	                          .block = block,
	                          .length = block->length[i],
	                          .iclass = i + 1 == block->ninsn ? block->iclass : (uint8_t)ptic_other};
}

/* It is the same instruction. */
static void add_insn(struct code_insn *insn, const struct code_insn *more)
{
	insn->count += more->count;
	insn->block = first_block(insn->block, more->block);
	if (insn->iclass == ptic_other)
		insn->iclass = more->iclass;
}

/* Blocks come in the order of their offsets. */
static int add_insns(struct insns *insns, const struct code_block *block)
{
	size_t at = vector_from(insns->in_order, insns->count, sizeof(*insns->in_order), block->offset);
	uint64_t offset = block->offset;

	for (unsigned int i = 0; i < block->ninsn; i++) {
		const struct code_insn insn = insn_of(block, offset, i);

		while (at < insns->count && compare_insns(&insns->in_order[at], &insn) < 0)
			at++;
		if (at == insns->count) {
			insns->in_order[insns->count++] = insn;
		} else if (!compare_insns(&insns->in_order[at], &insn)) {
			add_insn(&insns->in_order[at], &insn);
		} else {
			if (vector_reserve(&insns->between, &insns->room, insns->nbetween,
			                   sizeof(*insns->between)))
				return -1;
			insns->between[insns->nbetween++] = insn;
		}
		offset += block->length[i];
	}
	return 0;
}

/* Equal instructions become one. */
static size_t merge_insns(struct code_insn *insn, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (n && !compare_insns(&insn[n - 1], &insn[i]))
			add_insn(&insn[n - 1], &insn[i]);
		else
			insn[n++] = insn[i];
	}
	return n;
}

/* The others come to where they belong: from the end on, as there is room behind. */
static void put_between(struct insns *insns)
{
	struct code_insn *to;
	size_t left = insns->count;

	if (!insns->nbetween)
		return;
	qsort(insns->between, insns->nbetween, sizeof(*insns->between), compare_insns);
	insns->nbetween = merge_insns(insns->between, insns->nbetween);
	insns->count += insns->nbetween;
	to = insns->in_order + insns->count;
	while (insns->nbetween)
		*--to = left && compare_insns(&insns->in_order[left - 1],
		                              &insns->between[insns->nbetween - 1]) > 0
		                ? insns->in_order[--left]
		                : insns->between[--insns->nbetween];
}

static int make_insns(struct code_part *part)
{
	struct insns insns = {0};
	size_t count = 0;
	int status = 0;

	for (size_t i = 0; i < part->nblocks; i++)
		count += part->block[i]->ninsn;
	part->insn = insns.in_order = reallocarray(NULL, count + 1, sizeof(*part->insn));
	if (!insns.in_order)
		return -1;
	for (size_t i = 0; i < part->nblocks && !status; i++)
		status = add_insns(&insns, part->block[i]);
	if (!status)
		put_between(&insns);
	part->ninsns = insns.count;
	free(insns.between);
	return status;
}

size_t code_part_insn(const struct code_part *part, uint64_t offset)
{
	return vector_from(part->insn, part->ninsns, sizeof(*part->insn), offset);
}

/* ---- Edges ------------------------------------------------------------------------------------ */

static bool goes_straight_on(const struct code_link *link)
{
	return link->from->object == link->to->object &&
	       link->from->offset + link->from->size == link->to->offset;
}

static enum code_edge_kind kind_of(const struct code_link *link)
{
	if (link->async)
		return code_edge_async;
	switch (link->from->iclass) {
	case ptic_cond_jump:
		return goes_straight_on(link) ? code_edge_fall : code_edge_taken;
	case ptic_jump:
		return code_edge_jump;
	case ptic_call:
		return code_edge_call;
	case ptic_return:
		return code_edge_return;
	case ptic_far_call:
	case ptic_far_return:
	case ptic_far_jump:
		return code_edge_far;
	case ptic_indirect:
		return code_edge_jump;
	default:
		return code_edge_async;
	}
}

/* That one instruction follows on the one before it is no edge. */
static bool is_edge(const struct code_link *link)
{
	return link->count && !(kind_of(link) == code_edge_async && goes_straight_on(link));
}

static int compare_edges(const void *left, const void *right)
{
	const struct code_edge *a = left, *b = right;
	int order = compare_numbers(a->from, b->from);

	order = order ? order : (a->part > b->part) - (a->part < b->part); /* which are sorted */
	order = order ? order : compare_numbers(a->to, b->to);
	return order ? order : (int)a->kind - (int)b->kind;
}

static size_t merge_edges(struct code_edge *edge, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		struct code_edge *last = n ? &edge[n - 1] : NULL;

		if (!last || compare_edges(last, &edge[i])) {
			edge[n++] = edge[i];
			continue;
		}
		last->count += edge[i].count;
		last->from_block = first_block(last->from_block, edge[i].from_block);
		last->to_block = first_block(last->to_block, edge[i].to_block);
	}
	return n;
}

static int take_edges(struct code_view *view, const struct code_table *table, struct code_part **by_index)
{
	for (int fill = 0; fill < 2; fill++) {
		for (size_t i = 0; i < view->nparts && fill; i++) {
			view->part[i].edge = calloc(view->part[i].nedges + 1, sizeof(struct code_edge));
			if (!view->part[i].edge)
				return -1;
			view->part[i].nedges = 0;
		}
		for (size_t i = 0; i < table->link_slots; i++)
			for (const struct code_link *link = table->link[i]; link; link = link->next) {
				struct code_part *part = by_index[link->from->object->index];

				if (!is_edge(link))
					continue;
				if (fill)
					part->edge[part->nedges] = (struct code_edge){
					        .from = link->from->offset + link->from->last,
					        .to = link->to->offset,
					        .part = by_index[link->to->object->index],
					        .kind = kind_of(link),
					        .count = link->count,
					        .from_block = link->from,
					        .to_block = link->to};
				part->nedges++;
			}
	}
	for (size_t i = 0; i < view->nparts; i++) {
		struct code_part *part = &view->part[i];

		qsort(part->edge, part->nedges, sizeof(*part->edge), compare_edges);
		part->nedges = merge_edges(part->edge, part->nedges);
	}
	return 0;
}

size_t code_part_edge(const struct code_part *part, uint64_t offset)
{
	return vector_from(part->edge, part->nedges, sizeof(*part->edge), offset);
}

/* ---- The view --------------------------------------------------------------------------------- */

static int fill(struct code_view *view, const struct code_table *table, struct sb_resolver *resolver,
                struct code_part **by_index)
{
	if (make_parts(view, table, resolver, by_index) || take_blocks(view, table, by_index) ||
	    take_edges(view, table, by_index))
		return -1;
	for (size_t i = 0; i < view->nparts; i++)
		if (make_insns(&view->part[i]))
			return -1;
	return 0;
}

int code_view_make(struct code_view *view, const struct code_table *table, struct sb_resolver *resolver)
{
	struct code_part **by_index = calloc(table->nobjects + 1, sizeof(*by_index));
	int status = -1;

	*view = (struct code_view){.part = calloc(table->nobjects + 1, sizeof(*view->part))};
	if (view->part && by_index)
		status = fill(view, table, resolver, by_index);
	free(by_index);
	if (status)
		code_view_fini(view);
	return status;
}

void code_view_fini(struct code_view *view)
{
	for (size_t i = 0; i < view->nparts; i++) {
		free(view->part[i].block);
		free(view->part[i].insn);
		free(view->part[i].edge);
	}
	free(view->part);
	*view = (struct code_view){0};
}
