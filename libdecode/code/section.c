/* section.c - a piece of a file, its reference count and its bytes.
 *
 * Threads that race for the first use each ask for the file's mapping; one publishes the address, the
 * others give theirs back. From then on the pointer stays until nobody uses the section.
 */
#include "code/section.h"

#include <stdlib.h>

#include "code/block_graph.h"
#include "code/section_keeper.h"
#include "intel-pt.h"

/* Addresses of sections come again; whoever remembers what he saw in one must not take another for it. */
static uint64_t next_number(void)
{
	static _Atomic uint64_t counter;

	return atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed) + 1;
}

int pt_section_of_file(struct pt_section **section, struct pt_file *file, uint64_t offset, uint64_t size)
{
	struct pt_section *made = calloc(1, sizeof(*made));

	if (!made)
		return -pte_nomem;
	made->file = pt_file_get(file);
	made->number = next_number();
	made->offset = offset;
	made->size = size;
	atomic_init(&made->refs, 1);
	*section = made;
	return 0;
}

int pt_section_make(struct pt_section **section, const char *filename, uint64_t offset, uint64_t size)
{
	struct pt_file *file;
	int status;

	if (!size)
		return -pte_invalid;
	status = pt_file_make(&file, filename);
	if (status < 0)
		return status;
	if (offset >= file->size)
		status = -pte_invalid;
	else
		status = pt_section_of_file(section, file, offset,
		                            size < file->size - offset ? size : file->size - offset);
	pt_file_put(file);
	return status;
}

int pt_section_slice(struct pt_section **slice, struct pt_section *parent, uint64_t offset, uint64_t size)
{
	const uint8_t *bytes = atomic_load_explicit(&parent->bytes, memory_order_acquire);
	int status;

	if (!size || offset >= parent->size || size > parent->size - offset)
		return -pte_invalid;
	status = pt_section_of_file(slice, parent->file, parent->offset + offset, size);
	if (status == 0 && bytes) {
		pt_file_map_again(parent->file);
		atomic_init(&(*slice)->bytes, bytes + offset);
	}
	return status;
}

struct pt_section *pt_section_get(struct pt_section *section)
{
	atomic_fetch_add_explicit(&section->refs, 1, memory_order_relaxed);
	return section;
}

/* Gives a reference back if others than the cache's remain; returns whether it did. */
static bool put_one_of_many(struct pt_section *section)
{
	const uint64_t cached = section->keeper ? 1 : 0;
	uint64_t refs = atomic_load_explicit(&section->refs, memory_order_relaxed);

	while (refs > cached + 1) {
		if (atomic_compare_exchange_weak_explicit(&section->refs, &refs, refs - 1,
		                                          memory_order_acq_rel, memory_order_relaxed))
			return true;
	}
	return false;
}

void pt_section_put(struct pt_section *section)
{
	if (!section || put_one_of_many(section))
		return;
	if (section->keeper)
		pt_keeper_put(section->keeper, section);
	else if (atomic_fetch_sub_explicit(&section->refs, 1, memory_order_acq_rel) == 1)
		pt_section_destroy(section);
}

const uint8_t *pt_section_bytes(struct pt_section *section, int *errcode)
{
	const uint8_t *bytes = atomic_load_explicit(&section->bytes, memory_order_acquire);
	const uint8_t *first = NULL;

	if (bytes)
		return bytes;
	bytes = pt_file_map(section->file, errcode);
	if (!bytes)
		return NULL;
	bytes += section->offset;
	if (!atomic_compare_exchange_strong_explicit(&section->bytes, &first, bytes, memory_order_acq_rel,
	                                             memory_order_acquire)) {
		pt_file_unmap(section->file);
		return first;
	}
	return bytes;
}

uint64_t pt_section_cost(const struct pt_section *section)
{
	const struct pt_block_graph *graph = atomic_load_explicit(&section->graph, memory_order_acquire);
	const uint8_t *bytes = atomic_load_explicit(&section->bytes, memory_order_acquire);

	return (bytes ? section->size : 0) + (graph ? pt_block_graph_size(graph) : 0);
}

void pt_section_drop(struct pt_section *section)
{
	pt_block_graph_free(atomic_exchange_explicit(&section->graph, NULL, memory_order_acq_rel));
	if (atomic_exchange_explicit(&section->bytes, NULL, memory_order_acq_rel))
		pt_file_unmap(section->file);
}

void pt_section_destroy(struct pt_section *section)
{
	pt_section_drop(section);
	pt_file_put(section->file);
	free(section);
}
