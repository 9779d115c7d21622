/* kernel_text.c - see kernel_text.h. */
#include "binary/kernel_text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "system/arena.h"

/* What versions may take together. */
enum { PATCHES_MAX = 256 << 20 };

/* Addresses that are patched: [begin, end), by the pokes of a list. */
struct area {
	uint64_t begin, end;
	uint32_t first, npokes; /* in the pokes sorted by address */
};

struct builder {
	struct kernel_text *text;
	const struct kernel_regions *regions;
	int base;                         /* the file of the regions; -1: none */
	const struct sb_text_poke **poke; /* owned; by area, then in time */
	struct area *area;                /* owned; sorted */
	size_t nareas;
	uint64_t written; /* to the file of versions */
	size_t piece_capacity, version_capacity;
	struct sb_error *err;
};

static uint64_t poke_end(const struct sb_text_poke *poke)
{
	return poke->addr + (poke->old_len > poke->new_len ? poke->old_len : poke->new_len);
}

/* ---- Areas ------------------------------------------------------------------------------------ */

static int compare_addresses(const void *a, const void *b)
{
	const struct sb_text_poke *left = *(const struct sb_text_poke *const *)a;
	const struct sb_text_poke *right = *(const struct sb_text_poke *const *)b;

	if (left->addr != right->addr)
		return left->addr < right->addr ? -1 : 1;
	return left < right ? -1 : left > right;
}

/* Pokes come sorted by time. */
static int compare_places(const void *a, const void *b)
{
	const struct sb_text_poke *left = *(const struct sb_text_poke *const *)a;
	const struct sb_text_poke *right = *(const struct sb_text_poke *const *)b;

	return left < right ? -1 : left > right;
}

static int is_sound(const struct sb_text_poke *poke)
{
	return poke->addr >> 63 && poke_end(poke) > poke->addr;
}

/* Pokes that overlap are of one area. */
static int find_areas(struct builder *builder, const struct sb_text_poke *poke, size_t npokes)
{
	size_t count = 0;

	builder->poke = calloc(npokes ? npokes : 1, sizeof(struct sb_text_poke *));
	builder->area = calloc(npokes ? npokes : 1, sizeof(*builder->area));
	if (!builder->poke || !builder->area)
		return -sbe_nomem;
	for (size_t i = 0; i < npokes; ++i)
		if (is_sound(&poke[i]))
			builder->poke[count++] = &poke[i];
	qsort(builder->poke, count, sizeof(struct sb_text_poke *), compare_addresses);
	for (size_t i = 0; i < count; ++i) {
		const uint64_t begin = builder->poke[i]->addr, end = poke_end(builder->poke[i]);
		struct area *last = builder->nareas ? &builder->area[builder->nareas - 1] : NULL;

		if (last && begin < last->end) {
			last->end = end > last->end ? end : last->end;
			last->npokes += 1;
		} else {
			builder->area[builder->nareas++] =
			        (struct area){.begin = begin, .end = end, .first = (uint32_t)i, .npokes = 1};
		}
	}
	for (size_t i = 0; i < builder->nareas; ++i)
		qsort(builder->poke + builder->area[i].first, builder->area[i].npokes,
		      sizeof(struct sb_text_poke *), compare_places);
	return 0;
}

/* ---- Pieces and versions ------------------------------------------------------------------------ */

static int add_piece(struct builder *builder, uint64_t begin, uint64_t end)
{
	struct kernel_text *text = builder->text;

	if (array_reserve(&text->piece, &builder->piece_capacity, text->npieces, sizeof(*text->piece)) < 0)
		return -sbe_nomem;
	text->piece[text->npieces++] =
	        (struct kernel_piece){.begin = begin, .end = end, .first = (uint32_t)text->nversions};
	return 0;
}

/* Of the last piece. @path NULL: nothing is there. */
static int add_version(struct builder *builder, uint64_t from, char *path, uint64_t offset)
{
	struct kernel_text *text = builder->text;
	struct kernel_piece *piece = &text->piece[text->npieces - 1];
	const uint64_t size = path ? piece->end - piece->begin : 0;

	if (array_reserve(&text->version, &builder->version_capacity, text->nversions,
	                  sizeof(*text->version)) < 0)
		return -sbe_nomem;
	text->version[text->nversions++] = (struct kernel_version){
	        .from = from, .binary = {.path = path, .offset = offset, .size = size}};
	piece->nversions += 1;
	return 0;
}

/* What is never patched, of a region. */
static int add_base(struct builder *builder, const struct kernel_region *region, uint64_t begin, uint64_t end)
{
	int status;

	if (begin >= end)
		return 0;
	status = add_piece(builder, begin, end);
	return status < 0 ? status
	                  : add_version(builder, 0, builder->text->path,
	                                region->offset + (begin - region->begin));
}

/* ---- An area's bytes over time ------------------------------------------------------------------ */

struct content {
	uint8_t *bytes;
	uint8_t *known; /* a byte for each: whether something is there */
	uint64_t begin, size;
};

static void put(struct content *content, const struct sb_text_poke *poke, int is_new)
{
	const uint64_t offset = poke->addr - content->begin;
	const uint16_t length = is_new ? poke->new_len : poke->old_len;
	const uint16_t longest = poke->old_len > poke->new_len ? poke->old_len : poke->new_len;

	if (!length) {
		memset(content->known + offset, 0, longest);
		return;
	}
	memcpy(content->bytes + offset, is_new ? poke->new_bytes : poke->old_bytes, length);
	memset(content->known + offset, 1, length);
}

static void put_base(struct content *content, const struct builder *builder)
{
	for (size_t i = 0; i < builder->regions->count; ++i) {
		const struct kernel_region *region = &builder->regions->region[i];
		const uint64_t end = content->begin + content->size;
		const uint64_t low = region->begin > content->begin ? region->begin : content->begin;
		const uint64_t high = region->end < end ? region->end : end;

		if (low >= high)
			continue;
		if (pread(builder->base, content->bytes + (low - content->begin), high - low,
		          (off_t)(region->offset + (low - region->begin))) == (ssize_t)(high - low))
			memset(content->known + (low - content->begin), 1, high - low);
	}
}

/* Another version: it stands in the file of versions, if something stands everywhere. */
static int write_version(struct builder *builder, const struct content *content, uint64_t from)
{
	const uint64_t offset = builder->written;

	if (memchr(content->known, 0, content->size))
		return add_version(builder, from, NULL, 0);
	if (content->size > PATCHES_MAX - builder->written)
		return sb_error_set(builder->err, -sbe_unsupported, NULL, UINT64_MAX,
		                    "the kernel's code is patched too much: the versions of what TEXT_POKE "
		                    "records change take more than %d MiB",
		                    PATCHES_MAX >> 20);
	if (pwrite(builder->text->patches, content->bytes, content->size, (off_t)offset) !=
	    (ssize_t)content->size)
		return sb_error_set(builder->err, -sbe_io, NULL, UINT64_MAX,
		                    "cannot write versions of the kernel's code to a temporary file: %s",
		                    strerror(errno));
	builder->written += content->size;
	return add_version(builder, from, builder->text->patches_path, offset);
}

/* Each poke makes a version; what was there at first, the first poke of each byte tells best. */
static int write_versions(struct builder *builder, const struct area *area, struct content *content)
{
	const struct sb_text_poke **poke = builder->poke + area->first;
	int status;

	put_base(content, builder);
	for (uint32_t i = area->npokes; i-- > 0;)
		put(content, poke[i], 0);
	status = write_version(builder, content, 0);
	for (uint32_t i = 0; i < area->npokes && status == 0; ++i) {
		put(content, poke[i], 1);
		status = write_version(builder, content, poke[i]->time);
	}
	return status;
}

static int add_area(struct builder *builder, const struct area *area)
{
	struct content content = {.begin = area->begin, .size = area->end - area->begin};
	int status = add_piece(builder, area->begin, area->end);

	content.bytes = calloc(2, content.size);
	if (!content.bytes)
		return -sbe_nomem;
	content.known = content.bytes + content.size;
	if (status == 0)
		status = write_versions(builder, area, &content);
	free(content.bytes);
	return status;
}

/* Regions and areas in the order of their addresses; an area comes before what it covers of a region. */
static int add_all(struct builder *builder)
{
	const struct kernel_regions *regions = builder->regions;
	size_t r = 0, a = 0;
	uint64_t at = 0;
	int status = 0;

	while (status == 0 && (r < regions->count || a < builder->nareas)) {
		const struct kernel_region *region = r < regions->count ? &regions->region[r] : NULL;
		const struct area *area = a < builder->nareas ? &builder->area[a] : NULL;
		const uint64_t begin = !region ? UINT64_MAX : region->begin > at ? region->begin : at;
		uint64_t end;

		if (region && region->end <= at) {
			r += 1;
			continue;
		}
		if (area && area->begin <= begin) {
			status = add_area(builder, area);
			at = area->end;
			a += 1;
			continue;
		}
		end = area && area->begin < region->end ? area->begin : region->end;
		status = add_base(builder, region, begin, end);
		at = end;
	}
	return status;
}

/* ---- All -------------------------------------------------------------------------------------- */

static int compare_changes(const void *a, const void *b)
{
	const struct kernel_change *left = a, *right = b;

	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return left->piece < right->piece ? -1 : left->piece > right->piece;
}

static int list_changes(struct kernel_text *text)
{
	text->change = calloc(text->nversions ? text->nversions : 1, sizeof(*text->change));
	if (!text->change)
		return -sbe_nomem;
	for (size_t i = 0; i < text->npieces; ++i) {
		const struct kernel_piece *piece = &text->piece[i];

		for (uint32_t v = 1; v < piece->nversions; ++v)
			text->change[text->nchanges++] = (struct kernel_change){
			        .time = text->version[piece->first + v].from, .piece = (uint32_t)i};
	}
	qsort(text->change, text->nchanges, sizeof(*text->change), compare_changes);
	return 0;
}

static int build(struct builder *builder, const struct sb_text_poke *poke, size_t npokes)
{
	struct kernel_text *text = builder->text;
	int status = find_areas(builder, poke, npokes);

	if (status == 0 && builder->nareas) {
		text->patches = memfd_create("sbtrace-kernel", MFD_CLOEXEC);
		if (text->patches < 0)
			return sb_error_set(builder->err, -sbe_io, NULL, UINT64_MAX,
			                    "no memory file for the kernel's patched code: %s",
			                    strerror(errno));
		snprintf(text->patches_path, sizeof(text->patches_path), "/proc/self/fd/%d", text->patches);
	}
	if (status == 0)
		status = add_all(builder);
	return status == 0 ? list_changes(text) : status;
}

/* What is not patched: kcore is what ran, vmlinux only nearly. */
static int read_base(struct kernel_text *text, struct kernel_regions *regions,
                     const struct kernel_sources *sources, struct sb_error *err)
{
	const char *path = sources->kcore ? sources->kcore : sources->vmlinux;

	if (!path)
		return 0;
	text->path = strdup(path);
	if (!text->path)
		return -sbe_nomem;
	return kernel_regions_read(regions, path, sources->kcore ? 0 : sources->vmlinux_shift, err);
}

int kernel_text_init(struct kernel_text *text, const struct kernel_sources *sources,
                     const struct sb_text_poke *poke, size_t npokes, struct sb_error *err)
{
	static const char *const switches[] = {"__switch_to_asm", "__switch_to", NULL};
	struct kernel_regions regions = {0};
	struct builder builder = {.text = text, .regions = &regions, .base = -1, .err = err};
	int status;

	*text = (struct kernel_text){.patches = -1};
	status = read_base(text, &regions, sources, err);
	if (status == 0 && text->path)
		builder.base = open(text->path, O_RDONLY | O_CLOEXEC);
	if (status == 0)
		status = build(&builder, poke, npokes);
	if (status == 0 && sources->kallsyms)
		text->switch_ip = kallsyms_find(sources->kallsyms, switches);
	if (builder.base >= 0)
		close(builder.base);
	free(builder.poke);
	free(builder.area);
	kernel_regions_free(&regions);
	if (status < 0)
		kernel_text_fini(text);
	return status == -sbe_nomem ? sb_error_set(err, status, NULL, UINT64_MAX, "out of memory") : status;
}

void kernel_text_fini(struct kernel_text *text)
{
	if (text->patches >= 0)
		close(text->patches);
	free(text->piece);
	free(text->version);
	free(text->change);
	free(text->path);
	*text = (struct kernel_text){.patches = -1};
}

/* ---- Asking ----------------------------------------------------------------------------------- */

const struct kernel_piece *kernel_text_find(const struct kernel_text *text, uint64_t ip)
{
	const size_t behind = array_above(text->piece, text->npieces, sizeof(*text->piece), ip);

	return behind && ip < text->piece[behind - 1].end ? &text->piece[behind - 1] : NULL;
}

size_t kernel_text_changes(const struct kernel_text *text, uint64_t time)
{
	return array_above(text->change, text->nchanges, sizeof(*text->change), time);
}

const struct kernel_version *kernel_text_version(const struct kernel_text *text,
                                                 const struct kernel_piece *piece, size_t nchanges)
{
	const struct kernel_version *version = &text->version[piece->first];

	/* The last one that is not later; the first one is from the beginning on. */
	return !nchanges ? version
	                 : &version[array_above(version, piece->nversions, sizeof(*version),
	                                        text->change[nchanges - 1].time) -
	                            1];
}
