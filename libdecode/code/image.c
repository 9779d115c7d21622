/* image.c - the public face of what lies where (mappings.h), and reading it, also through a callback. */
#include "code/image.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "code/section_cache.h"

enum { page_size = 4096 };

/* Images must differ from each other, and from images that stood at the same address before. */
static uint64_t next_generation(void)
{
	static _Atomic uint64_t counter;

	return atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed) + 1;
}

struct pt_image *pt_image_alloc(const char *name)
{
	struct pt_image *image = calloc(1, sizeof(*image));

	if (!image)
		return NULL;
	if (name) {
		image->name = strdup(name);
		if (!image->name) {
			free(image);
			return NULL;
		}
	}
	image->generation = next_generation();
	return image;
}

void pt_image_free(struct pt_image *image)
{
	const struct pt_space_key any = pt_space_key(NULL);

	if (!image)
		return;
	pt_mappings_remove(&image->mappings, &any, NULL);
	free(image->name);
	free(image);
}

const char *pt_image_name(const struct pt_image *image)
{
	return image ? image->name : NULL;
}

/* Takes over the caller's reference to @section. What a filler adds is news to nobody: it was looked for. */
static int add(struct pt_image *image, const struct pt_space_key *key, struct pt_section *section,
               uint64_t vaddr, int isid)
{
	if (!image->filling) {
		image->generation = next_generation();
	} else if (!pt_mappings_are_free(&image->mappings, key, vaddr, section->size)) {
		pt_section_put(section);
		return -pte_invalid;
	}
	return pt_mappings_add(&image->mappings, key, section, vaddr, isid);
}

int pt_image_add_file(struct pt_image *image, const char *filename, uint64_t offset, uint64_t size,
                      const struct pt_asid *asid, uint64_t vaddr)
{
	struct pt_space_key key = pt_space_key(asid);
	struct pt_section *section;
	struct pt_file *file;
	int status;

	if (!image || !filename)
		return -pte_invalid;
	status = pt_mappings_file(&image->mappings, &file, filename);
	if (status < 0)
		return status;
	if (offset >= file->size) {
		pt_file_put(file);
		return -pte_invalid;
	}
	size = pt_clip_to_address_space(vaddr, size < file->size - offset ? size : file->size - offset);
	/* An empty segment of a program is valid and maps nothing. */
	status = size ? pt_section_of_file(&section, file, offset, size) : 0;
	pt_file_put(file);
	if (status < 0 || !size)
		return status;
	return add(image, &key, section, vaddr, 0);
}

int pt_image_add_cached(struct pt_image *image, struct pt_image_section_cache *iscache, int isid,
                        const struct pt_asid *asid)
{
	struct pt_space_key key = pt_space_key(asid);
	struct pt_section *section;
	uint64_t vaddr;
	int status;

	if (!image || !iscache)
		return -pte_invalid;
	status = pt_iscache_lookup(iscache, isid, &section, &vaddr);
	if (status < 0)
		return status;
	if (!section->size) {
		pt_section_put(section);
		return 0;
	}
	return add(image, &key, section, vaddr, isid);
}

int pt_image_copy(struct pt_image *image, const struct pt_image *src)
{
	if (!image || !src)
		return -pte_invalid;
	if (image == src)
		return 0;
	image->generation = next_generation();
	return pt_mappings_copy(&image->mappings, &src->mappings);
}

static int remove_mappings(struct pt_image *image, const char *filename, const struct pt_asid *asid)
{
	const struct pt_space_key key = pt_space_key(asid);
	const int removed = pt_mappings_remove(&image->mappings, &key, filename);

	if (removed)
		image->generation = next_generation();
	return removed;
}

int pt_image_remove_by_filename(struct pt_image *image, const char *filename, const struct pt_asid *asid)
{
	return image && filename ? remove_mappings(image, filename, asid) : -pte_invalid;
}

int pt_image_remove_by_asid(struct pt_image *image, const struct pt_asid *asid)
{
	return image ? remove_mappings(image, NULL, asid) : -pte_invalid;
}

int pt_image_set_callback(struct pt_image *image, read_memory_callback_t *callback, void *context)
{
	if (!image)
		return -pte_invalid;
	image->callback = callback;
	image->context = context;
	image->generation = next_generation();
	return 0;
}

int pt_image_set_filler(struct pt_image *image, pt_image_filler_t *filler, void *context)
{
	if (!image)
		return -pte_invalid;
	image->filler = filler;
	image->filler_context = context;
	image->generation = next_generation();
	return 0;
}

/* ---- asking an image -------------------------------------------------------------------------- */

/* Nothing is mapped at @vaddr yet. */
static const struct pt_mapping *fill_in(struct pt_image *image, const struct pt_space_key *key,
                                        uint64_t vaddr)
{
	const struct pt_asid asid = {.size = sizeof(asid), .cr3 = key->cr3, .vmcs = key->vmcs};
	int added;

	if (!image->filler || image->filling)
		return NULL;
	image->filling = true;
	added = image->filler(image, &asid, vaddr, image->filler_context);
	image->filling = false;
	return added > 0 ? pt_mappings_find(&image->mappings, key, vaddr) : NULL;
}

static const struct pt_mapping *find(struct pt_image *image, const struct pt_space_key *key, uint64_t vaddr)
{
	const struct pt_mapping *mapping = pt_mappings_find(&image->mappings, key, vaddr);

	return mapping ? mapping : fill_in(image, key, vaddr);
}

const struct pt_mapping *pt_image_lookup(struct pt_image *image, const struct pt_asid *asid, uint64_t vaddr)
{
	const struct pt_space_key key = pt_space_key(asid);

	return find(image, &key, vaddr);
}

const struct pt_mapping *pt_image_find(const struct pt_image *image, const struct pt_asid *asid,
                                       uint64_t vaddr)
{
	const struct pt_space_key key = pt_space_key(asid);

	return pt_mappings_find(&image->mappings, &key, vaddr);
}

bool pt_image_is_sure(const struct pt_image *image, const struct pt_asid *asid)
{
	const struct pt_space_key key = pt_space_key(asid);

	return pt_mappings_are_sure(&image->mappings, &key);
}

/* How much to ask for when @size was too much: up to the end of the page, where memory is most likely to end.
 */
static uint64_t less_than(uint64_t size, uint64_t vaddr)
{
	const uint64_t left = page_size - vaddr % page_size;

	return size > left ? left : size / 2;
}

/* Some callbacks give all or nothing: where memory ends within @size, they are asked for less. */
static int read_callback(const struct pt_image *image, const struct pt_space_key *key, uint8_t *buffer,
                         uint64_t size, uint64_t vaddr)
{
	struct pt_asid asid = {.size = sizeof(asid), .cr3 = key->cr3, .vmcs = key->vmcs};
	int status;

	if (!image->callback)
		return -pte_nomap;
	size = pt_mappings_gap(&image->mappings, key, vaddr, size);
	do {
		status = image->callback(buffer, size, &asid, vaddr, image->context);
		if (status > 0 && (uint64_t)status > size) /* nobody knows what it wrote */
			return -pte_internal;
	} while (status < 0 && (size = less_than(size, vaddr)));
	return status ? status : -pte_nomap;
}

static int read_mapping(const struct pt_mapping *mapping, uint8_t *buffer, uint64_t size, uint64_t vaddr)
{
	uint64_t left = mapping->end - vaddr;
	const uint8_t *bytes;
	int errcode;

	bytes = pt_section_bytes(mapping->section, &errcode);
	if (!bytes)
		return errcode;
	if (size > left)
		size = left;
	memcpy(buffer, bytes + (vaddr - mapping->begin), size);
	return (int)size;
}

int pt_image_read(struct pt_image *image, int *isid, uint8_t *buffer, uint16_t size,
                  const struct pt_asid *asid, uint64_t vaddr)
{
	struct pt_space_key key = pt_space_key(asid);
	uint64_t wanted = pt_clip_to_address_space(vaddr, size), done = 0;
	int status = -pte_nomap;

	while (done < wanted) {
		const struct pt_mapping *mapping = find(image, &key, vaddr + done);

		status = mapping ? read_mapping(mapping, buffer + done, wanted - done, vaddr + done)
		                 : read_callback(image, &key, buffer + done, wanted - done, vaddr + done);
		if (status <= 0)
			break;
		if (!done)
			*isid = mapping ? mapping->isid : 0;
		done += (uint64_t)status;
	}
	return done ? (int)done : status;
}
