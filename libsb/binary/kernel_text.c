/* kernel_text.c - see kernel_text.h. */
#include "binary/kernel_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "system/arena.h"

/* What versions may take together. */
enum { PATCHES_MAX = 256 << 20 };

struct builder {
	struct kernel_text *text;
	const struct kernel_regions *regions;
	int base; /* the file of the regions; -1: none */
	struct kernel_patches patches;
	struct lost_times losses;
	uint64_t written; /* to the file of versions */
	size_t piece_capacity, version_capacity;
	struct sb_error *err;
};

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
	text->version[text->nversions++] =
	        (struct kernel_version){.from = from,
	                                .binary = {.path = path, .offset = offset, .size = size},
	                                .usual = KERNEL_CONTENTS_MAX};
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
	                  : add_version(builder, 0, builder->text->base.path,
	                                region->offset + (begin - region->begin));
}

/* ---- An interval's bytes over time ------------------------------------------------------------------ */

struct content {
	uint8_t *bytes;
	uint8_t *known; /* a byte for each: whether something is there */
	uint64_t begin, size;
};

/* What the patch says of before, or of after. */
static void put(struct content *content, const struct kernel_patch *patch, int is_new)
{
	const uint8_t *bytes = is_new ? patch->new_bytes : patch->old_bytes;
	const uint64_t size = is_new ? patch->new_size : patch->old_size;
	const uint64_t low = patch->begin > content->begin ? patch->begin : content->begin;
	const uint64_t last = size ? patch->begin + size : patch->end;
	const uint64_t high = last < content->begin + content->size ? last : content->begin + content->size;

	if (low >= high)
		return;
	memset(content->known + (low - content->begin), size != 0, high - low);
	if (size)
		memcpy(content->bytes + (low - content->begin), bytes + (low - patch->begin), high - low);
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

static int too_much(const struct builder *builder)
{
	return sb_error_set(
	        builder->err, -sbe_unsupported, NULL, UINT64_MAX,
	        "the kernel's code is patched too much: the versions of what TEXT_POKE records, BPF "
	        "programs and modules change take more than %d MiB",
	        PATCHES_MAX >> 20);
}

/* Another version: it stands in the file of versions, if something stands everywhere. */
static int write_version(struct builder *builder, const struct content *content, uint64_t from)
{
	const uint64_t offset = builder->written;

	if (memchr(content->known, 0, content->size))
		return add_version(builder, from, NULL, 0);
	if (content->size > PATCHES_MAX - builder->written)
		return too_much(builder);
	if (pwrite(builder->text->patches, content->bytes, content->size, (off_t)offset) !=
	    (ssize_t)content->size)
		return sb_error_set(builder->err, -sbe_io, NULL, UINT64_MAX,
		                    "cannot write versions of the kernel's code to a temporary file: %s",
		                    strerror(errno));
	builder->written += content->size;
	return add_version(builder, from, builder->text->patches_path, offset);
}

/* What was patched later in code that was there from the beginning: up to where other code comes. */
static void put_before_pokes(struct content *content, const struct kernel_patch *const *patch,
                             uint64_t npatches)
{
	uint64_t end = 0;

	while (end < npatches && (!patch[end]->time || patch[end]->old_size))
		end += 1;
	while (end-- > 0)
		if (patch[end]->time)
			put(content, patch[end], 0);
}

/* What came before all is there. */
static void put_first_bodies(struct content *content, const struct kernel_patch *const *patch,
                             uint64_t npatches)
{
	for (uint64_t i = 0; i < npatches && !patch[i]->time; ++i)
		put(content, patch[i], 1);
}

/* What is there at the beginning: of each byte the first patch tells best what was there before it. */
static void put_beginning(struct content *content, const struct builder *builder,
                          const struct kernel_interval *interval)
{
	const struct kernel_patch *const *patch = builder->patches.of + interval->first;

	put_base(content, builder);
	for (uint64_t i = interval->npatches; i-- > 0;)
		if (patch[i]->time)
			put(content, patch[i], 0);
	put_first_bodies(content, patch, interval->npatches);
	put_before_pokes(content, patch, interval->npatches);
}

static int content_init(struct content *content, const struct kernel_interval *interval)
{
	*content = (struct content){.begin = interval->begin, .size = interval->end - interval->begin};
	content->bytes = calloc(2, content->size);
	content->known = content->bytes + content->size;
	return content->bytes ? 0 : -sbe_nomem;
}

static void content_copy(struct content *content, const struct content *from)
{
	memcpy(content->bytes, from->bytes, 2 * from->size);
}

static int content_is_same(const struct content *a, const struct content *b)
{
	return memcmp(a->bytes, b->bytes, a->size) == 0 && memcmp(a->known, b->known, a->size) == 0;
}

/* ---- What stands there where records were lost ----------------------------------------------------- */

/* An interval that pokes change, in a recording with losses. */
struct doubt {
	struct builder *builder;
	struct content before, behind; /* owned: a patch, or what it comes behind */
	uint8_t *contents;             /* owned: all that ever stands there */
	uint32_t ncontents;            /* more than KERNEL_CONTENTS_MAX: too many */
};

static int doubt_init(struct doubt *doubt, struct builder *builder, const struct kernel_interval *interval)
{
	*doubt = (struct doubt){.builder = builder};
	if (content_init(&doubt->before, interval) < 0 || content_init(&doubt->behind, interval) < 0)
		return -sbe_nomem;
	doubt->contents = calloc(KERNEL_CONTENTS_MAX, doubt->before.size);
	return doubt->contents ? 0 : -sbe_nomem;
}

static void doubt_fini(struct doubt *doubt)
{
	free(doubt->before.bytes);
	free(doubt->behind.bytes);
	free(doubt->contents);
}

/* The number of what stands there; KERNEL_CONTENTS_MAX: it is none that is known. */
static uint32_t number_of(struct doubt *doubt, const struct content *content)
{
	const uint64_t size = content->size;

	if (memchr(content->known, 0, size))
		return KERNEL_CONTENTS_MAX;
	for (uint32_t i = 0; i < doubt->ncontents && i < KERNEL_CONTENTS_MAX; ++i)
		if (memcmp(doubt->contents + i * size, content->bytes, size) == 0)
			return i;
	if (doubt->ncontents < KERNEL_CONTENTS_MAX)
		memcpy(doubt->contents + doubt->ncontents * size, content->bytes, size);
	return doubt->ncontents > KERNEL_CONTENTS_MAX ? KERNEL_CONTENTS_MAX : doubt->ncontents++;
}

static int add_open(struct doubt *doubt, uint64_t from, uint32_t usual)
{
	struct kernel_text *text = doubt->builder->text;
	const int status = add_version(doubt->builder, from, NULL, 0);

	if (status < 0)
		return status;
	text->version[text->nversions - 1].is_open = 1;
	text->version[text->nversions - 1].usual = usual;
	text->nopen += 1;
	return 0;
}

/* The losses between two patches: their number, and where they begin and end. */
static size_t losses_between(const struct lost_times *losses, uint64_t from, uint64_t to,
                             struct lost_time *all)
{
	size_t count = 0;

	for (size_t i = 0; i < losses->count && losses->of[i].from < to; ++i) {
		if (losses->of[i].to <= from)
			continue;
		if (!count++)
			all->from = losses->of[i].from > from ? losses->of[i].from : from;
		all->to = losses->of[i].to;
	}
	return count;
}

/* From @from on, @content stands there, up to @next, or for good: unless records were lost. Behind the last
 * of these, it is what the next one says. @is_sure: there is no doubt about @from. */
static int write_open(struct doubt *doubt, const struct content *content, uint64_t from,
                      const struct kernel_patch *next, int is_sure)
{
	const uint64_t to = next ? next->time : UINT64_MAX;
	const int ends = next && next->is_poke;
	uint32_t before = number_of(doubt, content), behind = before;
	struct lost_time all = {0};
	const size_t nlosses = losses_between(&doubt->builder->losses, from, to, &all);
	int status = 0;

	content_copy(&doubt->behind, content);
	if (ends) {
		put(&doubt->behind, next, 0);
		behind = number_of(doubt, &doubt->behind);
	}
	if (!nlosses || is_sure)
		status = write_version(doubt->builder, content, from);
	if (!nlosses || status < 0)
		return status;
	status = add_open(doubt, is_sure ? all.from : from,
	                  is_sure && before == behind ? before : KERNEL_CONTENTS_MAX);
	return status < 0 || !ends || all.to >= to - 1
	               ? status
	               : write_version(doubt->builder, &doubt->behind, all.to + 1);
}

/* They stand behind the piece's versions. */
static int write_contents(struct doubt *doubt)
{
	struct builder *builder = doubt->builder;
	struct kernel_text *text = builder->text;
	struct kernel_piece *piece = &text->piece[text->npieces - 1];
	const uint32_t nversions = piece->nversions;
	struct content content = doubt->before;
	int status = 0;

	if (doubt->ncontents > KERNEL_CONTENTS_MAX)
		return 0;
	memset(content.known, 1, content.size);
	for (uint32_t i = 0; i < doubt->ncontents && status == 0; ++i) {
		memcpy(content.bytes, doubt->contents + i * content.size, content.size);
		status = write_version(builder, &content, UINT64_MAX);
	}
	piece->nversions = nversions;
	piece->ncontents = doubt->ncontents;
	return status;
}

/* kcore is copied when a recording begins: it and the first patch say the same of the beginning, or nobody
 * knows. */
static int is_beginning_sure(struct doubt *doubt, const struct kernel_interval *interval,
                             const struct content *content)
{
	const struct builder *builder = doubt->builder;

	put_base(&doubt->before, builder);
	put_first_bodies(&doubt->before, builder->patches.of + interval->first, interval->npatches);
	number_of(doubt, &doubt->before);
	return content_is_same(&doubt->before, content);
}

static const struct kernel_patch *next_patch(const struct kernel_patch *const *patch, uint64_t npatches,
                                             uint64_t from)
{
	while (from < npatches && !patch[from]->time)
		from += 1;
	return from < npatches ? patch[from] : NULL;
}

/* ---- Versions ------------------------------------------------------------------------------------- */

/* Each patch makes a version; and so do losses. */
static int write_doubtful(struct builder *builder, const struct kernel_interval *interval,
                          struct content *content)
{
	const struct kernel_patch *const *patch = builder->patches.of + interval->first;
	const uint64_t npatches = interval->npatches;
	const struct kernel_patch *next = next_patch(patch, npatches, 0);
	struct doubt doubt;
	int status = doubt_init(&doubt, builder, interval);

	if (status == 0)
		status = write_open(&doubt, content, 0, next, is_beginning_sure(&doubt, interval, content));
	for (uint64_t i = 0; i < npatches && status == 0; ++i) {
		if (!patch[i]->time)
			continue;
		put(content, patch[i], 1);
		status = write_open(&doubt, content, patch[i]->time, next_patch(patch, npatches, i + 1), 1);
	}
	if (status == 0)
		status = write_contents(&doubt);
	doubt_fini(&doubt);
	return status;
}

/* Each patch makes a version. */
static int write_versions(struct builder *builder, const struct kernel_interval *interval,
                          struct content *content)
{
	const struct kernel_patch *const *patch = builder->patches.of + interval->first;
	int status = write_version(builder, content, 0);

	for (uint64_t i = 0; i < interval->npatches && status == 0; ++i) {
		if (!patch[i]->time)
			continue;
		put(content, patch[i], 1);
		status = write_version(builder, content, patch[i]->time);
	}
	return status;
}

/* Pokes change it, and records of pokes may have been lost. */
static int is_doubtful(const struct builder *builder, const struct kernel_interval *interval)
{
	const struct kernel_patch *const *patch = builder->patches.of + interval->first;

	for (uint64_t i = 0; builder->losses.count && i < interval->npatches; ++i)
		if (patch[i]->is_poke)
			return 1;
	return 0;
}

static int add_interval(struct builder *builder, const struct kernel_interval *interval)
{
	struct content content;
	int status;

	if (interval->end - interval->begin > PATCHES_MAX)
		return too_much(builder);
	status = content_init(&content, interval);
	if (status == 0)
		status = add_piece(builder, interval->begin, interval->end);
	if (status == 0) {
		put_beginning(&content, builder, interval);
		status = is_doubtful(builder, interval) ? write_doubtful(builder, interval, &content)
		                                        : write_versions(builder, interval, &content);
	}
	free(content.bytes);
	return status;
}

/* Regions and intervals in the order of their addresses; an interval comes before what it covers of a region.
 */
static int add_all(struct builder *builder)
{
	const struct kernel_regions *regions = builder->regions;
	size_t r = 0, a = 0;
	uint64_t at = 0;
	int status = 0;

	while (status == 0 && (r < regions->count || a < builder->patches.nintervals)) {
		const struct kernel_region *region = r < regions->count ? &regions->region[r] : NULL;
		const struct kernel_interval *interval =
		        a < builder->patches.nintervals ? &builder->patches.interval[a] : NULL;
		const uint64_t begin = !region ? UINT64_MAX : region->begin > at ? region->begin : at;
		uint64_t end;

		if (region && region->end <= at) {
			r += 1;
			continue;
		}
		if (interval && interval->begin <= begin) {
			status = add_interval(builder, interval);
			at = interval->end;
			a += 1;
			continue;
		}
		end = interval && interval->begin < region->end ? interval->begin : region->end;
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

static int build(struct builder *builder, const struct kernel_history *history)
{
	struct kernel_text *text = builder->text;
	int status = kernel_patches_init(&builder->patches, history->poke, history->npokes, history->body,
	                                 history->nbodies);

	if (status == -sbe_unsupported)
		return too_much(builder);
	if (status == 0 && builder->patches.nintervals) {
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

int kernel_text_init(struct kernel_text *text, struct kernel_base *base, const struct kernel_history *history,
                     struct sb_error *err)
{
	struct builder builder = {
	        .text = text, .regions = &text->base.regions, .losses = history->losses, .err = err};
	int status;

	*text = (struct kernel_text){.patches = -1, .base = *base};
	*base = kernel_base_none();
	builder.base = kernel_base_fd(&text->base);
	status = build(&builder, history);
	kernel_patches_free(&builder.patches);
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
	kernel_base_close(&text->base);
	*text = (struct kernel_text){.patches = -1, .base = kernel_base_none()};
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
