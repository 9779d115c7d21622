/* image_model.c - see image_model.h. */
#include "image_model.h"

#include "support/check.h"

uint64_t model_base(unsigned window)
{
	static const uint64_t base[model_windows] = {
	        0, 0x1000, 0xfffffff0, 0x7fffffffffffff80, 0xffffffff80000000, UINT64_MAX - 127};

	return base[window];
}

unsigned model_room(unsigned window)
{
	return window == model_windows - 1 ? 128 : model_window_size;
}

static bool field_matches(unsigned a, unsigned b)
{
	return !a || !b || a == b;
}

bool model_spaces_match(unsigned a, unsigned b)
{
	return field_matches(a / 3, b / 3) && field_matches(a % 3, b % 3);
}

void model_add(struct model *model, unsigned space, unsigned window, unsigned at,
               const struct model_piece *piece)
{
	const struct model_cell none = {0};

	FUZZ_CHECK(model->mappings < UINT32_MAX, "too many mappings for the model");
	model->mappings++;
	for (uint64_t i = 0; i < piece->size && at + i < model_room(window); i++) {
		for (unsigned other = 0; other < model_spaces; other++)
			if (model_spaces_match(space, other))
				model->cell[other][window][at + i] = none;
		model->cell[space][window][at + i] = (struct model_cell){.mapping = model->mappings,
		                                                         .file = piece->file,
		                                                         .value = piece->bytes[i],
		                                                         .isid = piece->isid};
	}
}

/* Removes from one window of one space; a mapping that was cut apart counts as many. */
static int remove_in_window(struct model_cell cell[model_window_size], int file)
{
	const struct model_cell none = {0};
	uint32_t last = 0;
	int removed = 0;

	for (unsigned at = 0; at < model_window_size; at++) {
		const uint32_t mapping = cell[at].mapping;

		if (mapping && (file < 0 || cell[at].file == file)) {
			removed += mapping != last;
			cell[at] = none;
		}
		last = mapping;
	}
	return removed;
}

int model_remove(struct model *model, unsigned space, int file)
{
	int removed = 0;

	for (unsigned other = 0; other < model_spaces; other++) {
		if (!model_spaces_match(space, other))
			continue;
		for (unsigned window = 0; window < model_windows; window++)
			removed += remove_in_window(model->cell[other][window], file);
	}
	return removed;
}

/* The mapping that begins at @at, as far as it goes, added to @model. Returns its size. */
static unsigned copy_mapping(struct model *model, unsigned space, unsigned window, unsigned at,
                             const struct model_cell *cell)
{
	uint8_t bytes[model_window_size];
	unsigned size = 0;

	while (at + size < model_window_size && cell[at + size].mapping == cell[at].mapping) {
		bytes[size] = cell[at + size].value;
		size++;
	}
	model_add(model, space, window, at, &(struct model_piece){cell[at].file, cell[at].isid, bytes, size});
	return size;
}

void model_copy(struct model *model, const struct model *from)
{
	/* Where spaces match, mappings do not overlap: the order does not count. */
	for (unsigned space = 0; space < model_spaces; space++)
		for (unsigned window = 0; window < model_windows; window++)
			for (unsigned at = 0; at < model_window_size;)
				at += from->cell[space][window][at].mapping
				              ? copy_mapping(model, space, window, at,
				                             from->cell[space][window])
				              : 1;
}

int model_find(const struct model *model, unsigned space, unsigned window, unsigned at,
               const struct model_cell *found[model_spaces])
{
	int n = 0;

	found[0] = &model->cell[space][window][at];
	if (found[0]->mapping)
		return 1;
	for (unsigned other = 0; other < model_spaces; other++)
		if (model_spaces_match(space, other) && model->cell[other][window][at].mapping)
			found[n++] = &model->cell[other][window][at];
	return n;
}
