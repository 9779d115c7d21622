/* image_build.c - see image_build.h. */
#include "replay/image_build.h"

#include <intel-pt-filler.h>
#include <stdlib.h>
#include <string.h>

#include "system/arena.h"

struct built_image {
	struct image_builder *builder;
	const struct sb_epoch *epoch;
	struct pt_image *image;
	struct code_window window;   /* without a system: the epoch's is certain */
	const struct sb_epoch *last; /* of the window, whose first is the epoch */
	size_t parts;                /* itself, and the mappings in it */
	size_t index;                /* in the list */
	int used;                    /* since the hand came by */
};

/* That @binary stands at @begin has this number in the section cache. */
struct isid_slot {
	const struct sb_binary *binary; /* NULL: free */
	uint64_t begin;
	int isid;
};

/* The decoder asks for code that no section has. */
static int nothing_there(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	struct image_builder *builder = context;

	(void)buffer;
	(void)size;
	(void)asid;
	if (builder->no_memory)
		return -pte_nomem;
	builder->missing_ip = ip;
	builder->has_missing_ip = 1;
	return -pte_nomap;
}

static struct pt_image *new_image(struct image_builder *builder)
{
	struct pt_image *image = pt_image_alloc(NULL);

	if (image)
		pt_image_set_callback(image, nothing_there, builder);
	return image;
}

int image_builder_init(struct image_builder *builder, struct sb_resolver *resolver,
                       struct pt_image_section_cache *sections, size_t nepochs, size_t limit,
                       struct sb_error *err)
{
	*builder = (struct image_builder){
	        .resolver = resolver, .sections = sections, .nepochs = nepochs, .limit = limit};
	builder->empty = new_image(builder);
	builder->by_epoch = calloc(nepochs ? nepochs : 1, sizeof(struct built_image *));
	if (builder->empty && builder->by_epoch)
		return 0;
	image_builder_fini(builder);
	return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

static void drop(struct image_builder *builder, struct built_image *built)
{
	builder->count -= 1;
	builder->built[built->index] = builder->built[builder->count];
	builder->built[built->index]->index = built->index;
	builder->by_epoch[built->epoch->id] = NULL;
	builder->parts -= built->parts;
	pt_image_free(built->image);
	free(built);
}

static void free_certain(struct built_image *built)
{
	if (built)
		pt_image_free(built->image);
	free(built);
}

void image_builder_fini(struct image_builder *builder)
{
	while (builder->count)
		drop(builder, builder->built[builder->count - 1]);
	for (int i = 0; i < 2; ++i)
		free_certain(builder->certain[i]);
	free(builder->built);
	pt_image_free(builder->empty);
	free(builder->by_epoch);
	free(builder->isid);
	memset(builder, 0, sizeof(*builder));
}

/* ---- Filling ---------------------------------------------------------------------------------- */

static struct isid_slot *isid_slot(const struct image_builder *builder, const struct sb_binary *binary,
                                   uint64_t begin)
{
	uint64_t hash = ((uintptr_t)binary ^ begin >> 12) * 0x9e3779b97f4a7c15ull;
	size_t i = (hash ^ hash >> 32) & (builder->isid_slots - 1);

	while (builder->isid[i].binary &&
	       (builder->isid[i].binary != binary || builder->isid[i].begin != begin))
		i = (i + 1) & (builder->isid_slots - 1);
	return &builder->isid[i];
}

static int grow_isids(struct image_builder *builder)
{
	struct image_builder bigger = {.isid_slots = builder->isid_slots ? 2 * builder->isid_slots : 256};

	bigger.isid = calloc(bigger.isid_slots, sizeof(*bigger.isid));
	if (!bigger.isid)
		return -pte_nomem;
	for (size_t i = 0; i < builder->isid_slots; ++i) {
		const struct isid_slot *slot = &builder->isid[i];

		if (slot->binary)
			*isid_slot(&bigger, slot->binary, slot->begin) = *slot;
	}
	free(builder->isid);
	builder->isid = bigger.isid;
	builder->isid_slots = bigger.isid_slots;
	return 0;
}

/* The section cache looks at the file each time; once is enough. Negative: pt_error_code. */
static int find_isid(struct image_builder *builder, const struct sb_binary *binary, uint64_t begin)
{
	struct isid_slot *slot;
	int isid;

	if (2 * (builder->nisids + 1) > builder->isid_slots && grow_isids(builder) < 0)
		return -pte_nomem;
	slot = isid_slot(builder, binary, begin);
	if (slot->binary)
		return slot->isid;
	isid = pt_iscache_add_file(builder->sections, binary->path, binary->offset, binary->size, begin);
	if (isid < 0)
		return isid;
	*slot = (struct isid_slot){binary, begin, isid};
	builder->nisids += 1;
	return isid;
}

int image_builder_find(const struct image_builder *builder, const struct sb_map *map,
                       const struct sb_binary **binary)
{
	const uint32_t scope = sb_map_scope(builder->resolver, builder->system, map);

	return sb_resolver_find_in(builder->resolver, scope, map, binary, NULL);
}

/* The section of what stands behind @map; zero when that is nothing. */
static int section_of_map(struct image_builder *builder, const struct sb_map *map)
{
	const struct sb_binary *binary;

	if (image_builder_find(builder, map, &binary) < 0)
		return -pte_nomem;
	return binary->missing ? 0 : find_isid(builder, binary, map->begin);
}

int image_builder_section(struct image_builder *builder, const struct sb_epoch *epoch, uint64_t ip)
{
	const struct sb_map *map = sb_epoch_code(epoch, ip);
	struct sb_map inferred;

	if (!map && builder->lost) {
		const int found = lost_map_find(builder->lost, epoch, ip, &inferred);

		if (found < 0)
			return -pte_nomem;
		if (found)
			map = &inferred;
	}
	return map ? section_of_map(builder, map) : 0;
}

/* The same for what is certain. */
static int section_of_window(struct image_builder *builder, const struct built_image *built, uint64_t ip)
{
	const struct sb_map *map;
	const int found = code_window_find(&built->window, ip, &map);

	builder->is_uncertain = found < 0;
	if (found > 0)
		return section_of_map(builder, map);
	return found < 0 ? 0 : image_builder_section(builder, built->epoch, ip);
}

/* The decoder looks for code where the image has none yet. What cannot be added is missing, and is reported
 * as that. */
static int fill(struct pt_image *image, const struct pt_asid *asid, uint64_t ip, void *context)
{
	struct built_image *built = context;
	struct image_builder *builder = built->builder;
	const int isid = built->window.system ? section_of_window(builder, built, ip)
	                                      : image_builder_section(builder, built->epoch, ip);
	const int status = isid <= 0 ? isid : pt_image_add_cached(image, builder->sections, isid, NULL);

	(void)asid;
	if (!built->window.system)
		builder->is_uncertain = 0;
	if (status == -pte_nomem)
		builder->no_memory = 1;
	if (isid <= 0 || status < 0)
		return status;
	if (built->window.system)
		return 1;
	built->parts += 1;
	builder->parts += 1;
	return 1;
}

/* ---- Images by epoch -------------------------------------------------------------------------- */

static struct built_image *build(struct image_builder *builder, const struct sb_epoch *epoch)
{
	struct built_image *built;

	if (array_reserve(&builder->built, &builder->capacity, builder->count, sizeof(built)) < 0)
		return NULL;
	built = calloc(1, sizeof(*built));
	if (!built)
		return NULL;
	*built =
	        (struct built_image){.builder = builder, .epoch = epoch, .parts = 1, .index = builder->count};
	built->image = new_image(builder);
	if (!built->image) {
		free(built);
		return NULL;
	}
	pt_image_set_filler(built->image, fill, built);
	builder->by_epoch[epoch->id] = built;
	builder->built[builder->count++] = built;
	builder->parts += 1;
	return built;
}

/* NULL: that one must stay. */
static struct built_image *at_hand(struct image_builder *builder)
{
	struct built_image *built;

	if (builder->hand >= builder->count)
		builder->hand = 0;
	built = builder->built[builder->hand];
	return built == builder->newest || built == builder->previous ? NULL : built;
}

/* Drops an image that was not asked for since the hand came round last. A list in the order of use would do,
 * too, but changing it touches the memory of others at each switch. */
static void drop_one(struct image_builder *builder)
{
	for (;; ++builder->hand) {
		struct built_image *const built = at_hand(builder);

		if (!built)
			continue;
		if (!built->used) {
			drop(builder, built);
			return;
		}
		built->used = 0;
	}
}

/* Time goes on: what had ended by @time is hardly asked for again. Looks at some of them, as one was made. */
static void drop_ended(struct image_builder *builder, uint64_t time)
{
	for (int i = 0; i < 4; ++i) {
		struct built_image *const built = at_hand(builder);

		if (built && built->epoch->to <= time)
			drop(builder, built);
		else
			++builder->hand;
	}
}

struct pt_image *image_builder_get(struct image_builder *builder, const struct sb_epoch *epoch)
{
	struct built_image *built;
	int is_new;

	if (!epoch)
		return builder->empty;
	built = builder->by_epoch[epoch->id];
	is_new = !built;
	if (is_new)
		built = build(builder, epoch);
	if (!built)
		return NULL;
	built->used = 1;
	if (built == builder->newest)
		return built->image;
	/* The decoder may still look at the one before this. */
	builder->previous = builder->newest;
	builder->newest = built;
	if (is_new)
		drop_ended(builder, epoch->from);
	while (builder->parts > builder->limit && builder->count > 2)
		drop_one(builder);
	return built->image;
}

/* ---- Images of what is certain ------------------------------------------------------------------ */

struct pt_image *image_builder_certain(struct image_builder *builder, const struct code_window *window,
                                       const struct code_window_ends *ends)
{
	struct built_image *built;

	for (int i = 0; i < 2; ++i) {
		built = builder->certain[i];
		if (!built || built->epoch != ends->first || built->last != ends->last ||
		    built->window.pid != window->pid)
			continue;
		builder->certain[i] = builder->certain[0];
		builder->certain[0] = built;
		return built->image;
	}
	built = calloc(1, sizeof(*built));
	if (!built)
		return NULL;
	*built = (struct built_image){
	        .builder = builder, .epoch = ends->first, .last = ends->last, .window = *window};
	built->image = new_image(builder);
	if (!built->image) {
		free(built);
		return NULL;
	}
	pt_image_set_filler(built->image, fill, built);
	/* The decoder may still look at the one asked for last. */
	free_certain(builder->certain[1]);
	builder->certain[1] = builder->certain[0];
	builder->certain[0] = built;
	return built->image;
}
