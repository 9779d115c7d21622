/* kernel_bpf.c - see kernel_bpf.h. */
#include "binary/kernel_bpf.h"

#include <linux/perf_event.h>
#include <stdlib.h>

#include <sb/error.h>

#include "system/arena.h"

enum { PROGRAM_MAX = 64 << 20 }; /* bytes: nothing that is larger is a program */

/* Something with a number that it is found by. */
struct keyed {
	uint64_t key; /* first: sorted by it */
	const void *of;
};

/* Sorted by key, then in the order of time. */
struct index {
	struct keyed *keyed; /* owned */
	size_t count;
};

/* A stretch of addresses. */
struct stretch {
	uint64_t begin; /* first: sorted by it */
	uint64_t reach; /* where the farthest of those up to this one ends */
};

struct making {
	struct kernel_bodies *bodies;
	struct index program;      /* BPF_EVENT, by id */
	struct index symbol;       /* KSYMBOL of BPF, by place */
	struct index image;        /* by place */
	struct stretch *announced; /* owned; of all symbols */
};

/* Where something stands, as one number; others may have the same. */
static uint64_t place_key(uint64_t begin, uint64_t size)
{
	return begin * 0x9e3779b97f4a7c15 ^ size;
}

static int index_room(struct index *index, size_t count)
{
	index->keyed = calloc(count ? count : 1, sizeof(*index->keyed));
	return index->keyed ? 0 : -sbe_nomem;
}

static int index_sort(struct index *index)
{
	return array_sort(index->keyed, index->count, sizeof(*index->keyed));
}

static void index_add(struct index *index, uint64_t key, const void *of)
{
	index->keyed[index->count++] = (struct keyed){key, of};
}

/* The first one with that number, or what comes behind it. */
static size_t index_find(const struct index *index, uint64_t key)
{
	return key ? array_above(index->keyed, index->count, sizeof(*index->keyed), key - 1) : 0;
}

static int make_indices(struct making *making, const struct sb_bpf_image *image, size_t nimages,
                        const struct sb_system *system)
{
	size_t nprograms, nsymbols;
	const struct sb_bpf_program *program = sb_system_bpf_programs(system, &nprograms);
	const struct sb_kernel_symbol *symbol = sb_system_kernel_symbols(system, &nsymbols);

	if (index_room(&making->program, nprograms) < 0 || index_room(&making->symbol, nsymbols) < 0 ||
	    index_room(&making->image, nimages) < 0)
		return -sbe_nomem;
	making->announced = calloc(nsymbols ? nsymbols : 1, sizeof(*making->announced));
	if (!making->announced)
		return -sbe_nomem;
	for (size_t i = 0; i < nprograms; ++i)
		index_add(&making->program, program[i].id, &program[i]);
	for (size_t i = 0; i < nimages; ++i)
		index_add(&making->image, place_key(image[i].begin, image[i].size), &image[i]);
	for (size_t i = 0; i < nsymbols; ++i) {
		if (symbol[i].type != PERF_RECORD_KSYMBOL_TYPE_BPF)
			continue;
		making->announced[making->symbol.count] = (struct stretch){symbol[i].begin, symbol[i].end};
		index_add(&making->symbol, place_key(symbol[i].begin, symbol[i].end - symbol[i].begin),
		          &symbol[i]);
	}
	if (array_sort(making->announced, making->symbol.count, sizeof(*making->announced)) < 0)
		return -sbe_nomem;
	for (size_t i = 1; i < making->symbol.count; ++i)
		if (making->announced[i].reach < making->announced[i - 1].reach)
			making->announced[i].reach = making->announced[i - 1].reach;
	return index_sort(&making->program) < 0 || index_sort(&making->symbol) < 0 ||
	                       index_sort(&making->image) < 0
	               ? -sbe_nomem
	               : 0;
}

static int add_image(struct making *making, const struct sb_bpf_image *image, uint64_t from, uint64_t to)
{
	const struct kernel_body body = {
	        .from = from, .to = to, .begin = image->begin, .size = image->size, .bytes = image->bytes};

	return kernel_bodies_add(making->bodies, &body);
}

/* Whether a symbol was ever announced at some of these addresses. */
static int is_announced(const struct making *making, uint64_t begin, uint64_t end)
{
	const size_t before =
	        array_above(making->announced, making->symbol.count, sizeof(*making->announced), end - 1);

	return before && making->announced[before - 1].reach > begin;
}

/* The times at which the program of the image was loaded. */
static int add_loaded(struct making *making, const struct sb_bpf_image *image)
{
	const uint64_t place = place_key(image->begin, image->size);
	size_t i = index_find(&making->program, image->program);
	int status = 0, any = 0;

	for (; i < making->program.count && making->program.keyed[i].key == image->program; ++i) {
		const struct sb_bpf_program *program = making->program.keyed[i].of;

		any = 1;
		if (status == 0)
			status = add_image(making, image, program->from, program->to);
	}
	if (any)
		return status;
	for (i = index_find(&making->symbol, place);
	     i < making->symbol.count && making->symbol.keyed[i].key == place; ++i) {
		const struct sb_kernel_symbol *symbol = making->symbol.keyed[i].of;

		if (symbol->begin != image->begin || symbol->end - symbol->begin != image->size || status < 0)
			continue;
		any = 1;
		status = add_image(making, image, symbol->from, symbol->to);
	}
	if (any || is_announced(making, image->begin, image->begin + image->size))
		return status;
	return add_image(making, image, 0, UINT64_MAX);
}

static int has_image(const struct making *making, const struct sb_kernel_symbol *symbol)
{
	const uint64_t place = place_key(symbol->begin, symbol->end - symbol->begin);
	const size_t i = index_find(&making->image, place);

	return i < making->image.count && making->image.keyed[i].key == place;
}

/* What was there before the recording, and stays, kcore may have. */
static int add_unknown(struct making *making, const struct sb_kernel_symbol *symbol)
{
	const struct kernel_body body = {.from = symbol->from ? symbol->from : symbol->to,
	                                 .to = UINT64_MAX,
	                                 .begin = symbol->begin,
	                                 .size = symbol->end - symbol->begin};

	if (has_image(making, symbol) || body.from == UINT64_MAX || body.size > PROGRAM_MAX)
		return 0;
	return kernel_bodies_add(making->bodies, &body);
}

static int add_all(struct making *making, const struct sb_bpf_image *image, size_t nimages)
{
	int status = 0;

	for (size_t i = 0; i < making->symbol.count && status == 0; ++i)
		status = add_unknown(making, making->symbol.keyed[i].of);
	for (size_t i = 0; i < nimages && status == 0; ++i)
		status = add_loaded(making, &image[i]);
	return status;
}

int kernel_bpf_add(struct kernel_bodies *bodies, const struct sb_bpf_image *image, size_t nimages,
                   const struct sb_system *system)
{
	struct making making = {.bodies = bodies};
	int status = make_indices(&making, image, nimages, system);

	if (status == 0)
		status = add_all(&making, image, nimages);
	free(making.program.keyed);
	free(making.symbol.keyed);
	free(making.image.keyed);
	free(making.announced);
	return status;
}
