/* kernel_image.c - see kernel_image.h. */
#include "replay/kernel_image.h"

#include <intel-pt-filler.h>
#include <stdlib.h>
#include <string.h>

#include <sb/error.h>

/* The decoder asks for code that is not there. */
static int nothing_there(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	struct kernel_image *kernel = context;

	(void)buffer;
	(void)size;
	(void)asid;
	if (kernel->no_memory)
		return -pte_nomem;
	kernel->missing_ip = ip;
	kernel->has_missing_ip = 1;
	return -pte_nomap;
}

/* What stands there when @nchanges patches are in force, or is taken to do so. */
static const struct kernel_version *version_of(const struct kernel_image *kernel,
                                               const struct kernel_piece *piece, size_t nchanges)
{
	const struct kernel_version *version = kernel_text_version(kernel->text, piece, nchanges);
	const uint8_t choice = version->is_open ? kernel->choice[version - kernel->text->version] : 0;

	return choice ? kernel_text_content(kernel->text, piece, choice - 1u) : version;
}

/* The section of a piece's version when @nchanges patches are in force; zero when it is nothing. */
static int section_of(struct kernel_image *kernel, const struct kernel_piece *piece, size_t nchanges)
{
	const struct kernel_version *version = version_of(kernel, piece, nchanges);
	const struct sb_binary *binary = &version->binary;
	int *known = &kernel->isid[version - kernel->text->version], isid = *known;

	if (!binary->size)
		return 0;
	if (!isid)
		isid = pt_iscache_add_file(kernel->sections, binary->path, binary->offset, binary->size,
		                           piece->begin);
	if (isid > 0)
		*known = isid;
	return isid;
}

int kernel_image_section(struct kernel_image *kernel, uint64_t ip, uint64_t time)
{
	const struct kernel_piece *piece = kernel->text ? kernel_text_find(kernel->text, ip) : NULL;

	return piece ? section_of(kernel, piece, kernel_text_changes(kernel->text, time)) : 0;
}

/* Maps a piece's version over what was there before; zero when it is nothing. */
static int map_version(struct kernel_image *kernel, const struct kernel_piece *piece)
{
	const int isid = section_of(kernel, piece, kernel->nchanges);
	int status;

	if (isid <= 0)
		return isid;
	status = pt_image_add_cached(kernel->image, kernel->sections, isid, NULL);
	if (status < 0)
		return status;
	kernel->filled[piece - kernel->text->piece] = 1;
	return 1;
}

static int fill(struct pt_image *image, const struct pt_asid *asid, uint64_t ip, void *context)
{
	struct kernel_image *kernel = context;
	const struct kernel_piece *piece = kernel->text ? kernel_text_find(kernel->text, ip) : NULL;
	const int status = piece ? map_version(kernel, piece) : 0;

	(void)image;
	(void)asid;
	if (status == -pte_nomem)
		kernel->no_memory = 1;
	return status;
}

int kernel_image_init(struct kernel_image *kernel, const struct kernel_text *text,
                      struct pt_image_section_cache *sections)
{
	*kernel = (struct kernel_image){.text = text, .sections = sections};
	kernel->image = pt_image_alloc("kernel");
	kernel->isid = calloc(text && text->nversions ? text->nversions : 1, sizeof(*kernel->isid));
	kernel->filled = calloc(text && text->npieces ? text->npieces : 1, 1);
	if (text && text->nopen)
		kernel->choice = calloc(text->nversions, 1);
	if (!kernel->image || !kernel->isid || !kernel->filled || (text && text->nopen && !kernel->choice)) {
		kernel_image_fini(kernel);
		return -sbe_nomem;
	}
	pt_image_set_callback(kernel->image, nothing_there, kernel);
	pt_image_set_filler(kernel->image, fill, kernel);
	return 0;
}

void kernel_image_fini(struct kernel_image *kernel)
{
	pt_image_free(kernel->image);
	free(kernel->isid);
	free(kernel->filled);
	free(kernel->choice);
	memset(kernel, 0, sizeof(*kernel));
}

/* Where a version is nothing, the one before must go: all goes, and comes again as it is reached. */
static void empty(struct kernel_image *kernel)
{
	pt_image_remove_by_asid(kernel->image, NULL);
	memset(kernel->filled, 0, kernel->text->npieces);
}

static int change_piece(struct kernel_image *kernel, uint32_t index)
{
	const struct kernel_piece *piece = &kernel->text->piece[index];
	int status;

	if (!kernel->filled[index])
		return 0;
	status = map_version(kernel, piece);
	if (status == 0)
		empty(kernel);
	return status < 0 ? status : 0;
}

int kernel_image_go_to(struct kernel_image *kernel, uint64_t time)
{
	size_t from = kernel->nchanges, to;
	int status = 0;

	if (!kernel->text)
		return 0;
	to = kernel_text_changes(kernel->text, time);
	kernel->nchanges = to;
	if (to < from) {
		const size_t swap = from;

		from = to;
		to = swap;
	}
	for (size_t i = from; i < to && status == 0; ++i)
		status = change_piece(kernel, kernel->text->change[i].piece);
	return status;
}

uint64_t kernel_image_until(const struct kernel_image *kernel)
{
	return kernel->text && kernel->nchanges < kernel->text->nchanges
	               ? kernel->text->change[kernel->nchanges].time
	               : UINT64_MAX;
}

int64_t kernel_image_open_at(const struct kernel_image *kernel, uint64_t ip)
{
	const struct kernel_piece *piece = kernel->choice ? kernel_text_find(kernel->text, ip) : NULL;
	const struct kernel_version *version = piece ? version_of(kernel, piece, kernel->nchanges) : NULL;

	return version && version->is_open ? version - kernel->text->version : -1;
}

void kernel_image_choose(struct kernel_image *kernel, size_t version, uint32_t content)
{
	kernel->nchosen += !kernel->choice[version];
	kernel->choice[version] = (uint8_t)(content + 1);
}

void kernel_image_forget_choices(struct kernel_image *kernel)
{
	if (!kernel->nchosen)
		return;
	memset(kernel->choice, 0, kernel->text->nversions);
	kernel->nchosen = 0;
	empty(kernel);
}

void kernel_image_take(struct kernel_image *kernel, const struct kernel_image *from)
{
	empty(kernel);
	if (kernel->choice)
		memcpy(kernel->choice, from->choice, kernel->text->nversions);
	kernel->nchosen = from->nchosen;
	kernel->nchanges = from->nchanges;
	kernel->no_memory = kernel->has_missing_ip = 0;
}
