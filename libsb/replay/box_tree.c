/* box_tree.c - see box_tree.h.
 *
 * An R-tree that is packed once: boxes are sorted by where they begin and cut into slices, each slice is
 * sorted by time and cut into groups. Groups of groups follow one level after the other; the last one is the
 * root.
 */
#include "replay/box_tree.h"

#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

#include "system/arena.h"

enum { GROUP = 16 };

int box_tree_add(struct box_tree *tree, const struct box *box)
{
	if (array_reserve(&tree->box, &tree->capacity, tree->count, sizeof(*box)) < 0)
		return -sbe_nomem;
	tree->box[tree->count++] = *box;
	return 0;
}

void box_tree_free(struct box_tree *tree)
{
	free(tree->box);
	free(tree->group);
	memset(tree, 0, sizeof(*tree));
}

/* ---- Building --------------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
	const struct box *left = a, *right = b;

	if (left->span.from != right->span.from)
		return left->span.from < right->span.from ? -1 : 1;
	if (left->span.begin != right->span.begin)
		return left->span.begin < right->span.begin ? -1 : 1;
	return left->value < right->value ? -1 : left->value > right->value;
}

/* As many slices as a slice has groups. */
static size_t slice_size(size_t count)
{
	size_t groups = 1;

	while (groups * groups * GROUP < count)
		groups += 1;
	return groups * GROUP;
}

static void stretch(struct box_span *all, const struct box_span *one)
{
	if (one->begin < all->begin)
		all->begin = one->begin;
	if (one->end > all->end)
		all->end = one->end;
	if (one->from < all->from)
		all->from = one->from;
	if (one->to > all->to)
		all->to = one->to;
}

static const struct box_span *member_of(const struct box_tree *tree, const struct box_group *group, size_t i)
{
	return group->of_groups ? &tree->group[group->first + i].span : &tree->box[group->first + i].span;
}

/* One level: the boxes, or the groups, from @first to @end as groups. */
static int add_level(struct box_tree *tree, int of_groups, size_t first, size_t end)
{
	for (size_t i = first; i < end; i += GROUP) {
		struct box_group group = {.first = i,
		                          .count = (uint32_t)(end - i < GROUP ? end - i : GROUP),
		                          .of_groups = of_groups};

		if (array_reserve(&tree->group, &tree->group_capacity, tree->ngroups, sizeof(group)) < 0)
			return -sbe_nomem;
		group.span = *member_of(tree, &group, 0);
		for (size_t k = 1; k < group.count; ++k)
			stretch(&group.span, member_of(tree, &group, k));
		tree->group[tree->ngroups++] = group;
	}
	return 0;
}

int box_tree_build(struct box_tree *tree)
{
	const size_t slice = slice_size(tree->count);
	size_t first = 0, end;
	int status = array_sort(tree->box, tree->count, sizeof(*tree->box));

	for (size_t i = 0; i < tree->count && status == 0; i += slice)
		qsort(tree->box + i, tree->count - i < slice ? tree->count - i : slice, sizeof(*tree->box),
		      compare_times);
	if (status == 0)
		status = add_level(tree, 0, 0, tree->count);
	end = tree->ngroups;
	while (status == 0 && end - first > 1) {
		status = add_level(tree, 1, first, end);
		first = end;
		end = tree->ngroups;
	}
	return status;
}

/* ---- Asking ----------------------------------------------------------------------------------- */

struct question {
	uint64_t at, from, to;
	int (*callback)(void *context, const struct box *box);
	void *context;
};

static int is_met(const struct box_span *span, const struct question *question)
{
	return span->begin <= question->at && question->at < span->end && span->from <= question->to &&
	       question->from <= span->to;
}

static int ask(const struct box_tree *tree, const struct box_group *group, const struct question *question)
{
	int status = 0;

	for (size_t i = 0; i < group->count && status == 0; ++i) {
		if (!is_met(member_of(tree, group, i), question))
			continue;
		if (group->of_groups)
			status = ask(tree, &tree->group[group->first + i], question);
		else
			status = question->callback(question->context, &tree->box[group->first + i]);
	}
	return status;
}

int box_tree_find(const struct box_tree *tree, uint64_t at, uint64_t from, uint64_t to,
                  int (*callback)(void *context, const struct box *box), void *context)
{
	const struct question question = {at, from, to, callback, context};

	return tree->ngroups ? ask(tree, &tree->group[tree->ngroups - 1], &question) : 0;
}
