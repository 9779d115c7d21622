/* difference.c - see difference.h.
 *
 * Functions and lines are compared as rows. Blocks are not the same in two recordings, as each cuts the code
 * where its counts change: both are cut at all borders of either, and neighbours that count alike are joined.
 */
#include "diff/difference.h"

#include <string.h>

#include "vector.h"

static int add(struct difference *difference, size_t *count, const struct difference_row *row)
{
	if (row->a == row->b && row->a_calls == row->b_calls) {
		difference->same++;
		return 0;
	}
	if (vector_reserve(&difference->row, &difference->room, *count, sizeof(*row)))
		return -1;
	difference->row[(*count)++] = *row;
	return 0;
}

static struct difference_row row_of(const struct tally_row *a, const struct tally_row *b)
{
	const struct tally_row *any = a ? a : b;

	return (struct difference_row){.file = any->file,
	                               .name = any->name,
	                               .begin = any->begin,
	                               .end = any->end,
	                               .a = a ? a->count : 0,
	                               .b = b ? b->count : 0,
	                               .a_calls = a ? a->calls : 0,
	                               .b_calls = b ? b->calls : 0};
}

static int compare_rows(struct difference *difference, size_t *count, const struct tally *a,
                        const struct tally *b)
{
	size_t i = 0, k = 0;

	while (i < a->nrows || k < b->nrows) {
		const struct tally_row *left = i < a->nrows ? &a->row[i] : NULL;
		const struct tally_row *right = k < b->nrows ? &b->row[k] : NULL;
		const int order = !left ? 1 : !right ? -1 : tally_compare(a->by, left, right);
		const struct difference_row row = row_of(order <= 0 ? left : NULL, order >= 0 ? right : NULL);

		if (add(difference, count, &row))
			return -1;
		i += order <= 0;
		k += order >= 0;
	}
	return 0;
}

/* ---- Blocks ----------------------------------------------------------------------------------- */

/* Where a block of one side begins or ends. */
struct border {
	const struct tally_row *row;
	uint64_t at;
	bool of_b, ends;
};

static int compare_borders(const void *left, const void *right)
{
	const struct border *a = left, *b = right;
	const int order = strcmp(a->row->file, b->row->file);

	if (order)
		return order;
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	/* Which one tells the name must not depend on how they are sorted. */
	if (a->ends != b->ends)
		return a->ends ? -1 : 1;
	return a->of_b != b->of_b ? a->of_b - b->of_b : strcmp(a->row->name, b->row->name);
}

static struct border *make_borders(const struct tally *a, const struct tally *b, size_t *count)
{
	struct border *border = calloc(2 * (a->nrows + b->nrows) + 1, sizeof(*border)), *at = border;

	for (int of_b = 0; of_b < 2 && border; of_b++) {
		const struct tally *side = of_b ? b : a;

		for (size_t i = 0; i < side->nrows; i++) {
			*at++ = (struct border){&side->row[i], side->row[i].begin, of_b, false};
			*at++ = (struct border){&side->row[i], side->row[i].end, of_b, true};
		}
	}
	if (!border)
		return NULL;
	*count = (size_t)(at - border);
	qsort(border, *count, sizeof(*border), compare_borders);
	return border;
}

/* Neighbours that count alike are one. */
static bool joins(const struct difference_row *last, const struct difference_row *row)
{
	return last->end == row->begin && last->a == row->a && last->b == row->b &&
	       !strcmp(last->file, row->file) && !strcmp(last->name, row->name);
}

static int sweep(struct difference *difference, size_t *count, const struct border *border, size_t nborders)
{
	struct difference_row row = {0}, last = {0};
	uint64_t ran[2] = {0};

	for (size_t i = 0; i < nborders; i++) {
		const struct border *at = &border[i];

		row.end = at->at;
		row.a = ran[0];
		row.b = ran[1];
		/* Between files nothing ran. */
		if ((row.a || row.b) && row.end > row.begin) {
			if (last.file && joins(&last, &row))
				last.end = row.end;
			else if (last.file && add(difference, count, &last))
				return -1;
			if (!last.file || last.end != row.end)
				last = row;
		}
		ran[at->of_b] += at->ends ? 0 - at->row->count : at->row->count;
		row.begin = at->at;
		row.file = at->row->file;
		if (!at->ends)
			row.name = at->row->name;
	}
	return last.file ? add(difference, count, &last) : 0;
}

static int compare_blocks(struct difference *difference, size_t *count, const struct tally *a,
                          const struct tally *b)
{
	size_t nborders = 0;
	struct border *border = make_borders(a, b, &nborders);
	int status = border ? sweep(difference, count, border, nborders) : -1;

	free(border);
	return status;
}

/* ---- Order ------------------------------------------------------------------------------------ */

static int class_of(const struct difference_row *row)
{
	return !row->b ? 0 : !row->a ? 1 : 2;
}

static uint64_t distance(const struct difference_row *row)
{
	return row->a > row->b ? row->a - row->b : row->b - row->a;
}

static int compare(const void *left, const void *right)
{
	const struct difference_row *a = left, *b = right;
	int order = class_of(a) - class_of(b);

	if (!order)
		order = (distance(a) < distance(b)) - (distance(a) > distance(b));
	if (!order)
		order = strcmp(a->file, b->file);
	if (!order)
		order = strcmp(a->name, b->name);
	return order ? order : (a->begin > b->begin) - (a->begin < b->begin);
}

int difference_make(struct difference *difference, const struct tally *a, const struct tally *b)
{
	size_t count = 0;
	int status;

	*difference = (struct difference){0};
	status = (a->by == tally_block ? compare_blocks : compare_rows)(difference, &count, a, b);
	if (count)
		qsort(difference->row, count, sizeof(*difference->row), compare);
	for (size_t i = 0; i < count; i++) {
		const int class = class_of(&difference->row[i]);

		difference->only_a += class == 0;
		difference->only_b += class == 1;
		difference->moved += class == 2;
	}
	return status;
}

void difference_fini(struct difference *difference)
{
	free(difference->row);
	*difference = (struct difference){0};
}
