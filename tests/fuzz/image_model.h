/* A model of an image so simple that it is right: for a few windows of addresses and every address space,
 * each byte has a cell of its own that says which mapping holds it. */
#ifndef FUZZ_IMAGE_MODEL_H
#define FUZZ_IMAGE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

enum { model_windows = 6, model_window_size = 256, model_spaces = 9 };

/* What a byte of a mapping is: none is byte @value of file @file. */
struct model_cell {
	uint32_t mapping; /* a number of its own for every mapping; zero: not mapped */
	uint8_t file;
	uint8_t value;
	int isid;
};

/* The spaces are cr3 unknown, 1, 2 times vmcs unknown, 1, 2; window @w begins at model_base(w). */
struct model {
	struct model_cell cell[model_spaces][model_windows][model_window_size];
	uint32_t mappings;
};

/* A piece of a file that is to be mapped. */
struct model_piece {
	uint8_t file;
	int isid;
	const uint8_t *bytes;
	uint64_t size;
};

uint64_t model_base(unsigned window);

/* How many addresses of the window there are: the last one may end at 2^64. */
unsigned model_room(unsigned window);

bool model_spaces_match(unsigned a, unsigned b);

/* Maps @piece, which may hang over the window's end only where addresses end. */
void model_add(struct model *model, unsigned space, unsigned window, unsigned at,
               const struct model_piece *piece);

/* Unmaps what matches @space and, if it is not negative, came from @file; returns how many mappings. */
int model_remove(struct model *model, unsigned space, int file);

void model_copy(struct model *model, const struct model *from);

/* The cells that a look-up in @space may find at @at: the one of exactly this space, else any that matches.
 * Returns how many. */
int model_find(const struct model *model, unsigned space, unsigned window, unsigned at,
               const struct model_cell *found[model_spaces]);

#endif
