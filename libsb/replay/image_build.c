/* image_build.c - see image_build.h. */
#include "replay/image_build.h"

#include <stdlib.h>
#include <string.h>

struct built_image {
	struct pt_image *image;
	struct built_image *newer, *older;
	uint32_t epoch;
};

/* The decoder asks for code that no section has. */
static int nothing_there(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	struct image_builder *builder = context;

	(void)buffer;
	(void)size;
	(void)asid;
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

int image_builder_init(struct image_builder *builder, struct sb_resolver *resolver, size_t nepochs,
                       size_t limit, struct sb_error *err)
{
	*builder = (struct image_builder){.resolver = resolver, .nepochs = nepochs, .limit = limit};
	builder->sections = pt_iscache_alloc("sbtrace");
	builder->empty = new_image(builder);
	builder->by_epoch = calloc(nepochs ? nepochs : 1, sizeof(struct built_image *));
	if (builder->sections && builder->empty && builder->by_epoch)
		return 0;
	image_builder_fini(builder);
	return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

static void unlink_image(struct image_builder *builder, struct built_image *built)
{
	if (built->newer)
		built->newer->older = built->older;
	else
		builder->newest = built->older;
	if (built->older)
		built->older->newer = built->newer;
	else
		builder->oldest = built->newer;
}

static void link_newest(struct image_builder *builder, struct built_image *built)
{
	built->newer = NULL;
	built->older = builder->newest;
	if (builder->newest)
		builder->newest->newer = built;
	else
		builder->oldest = built;
	builder->newest = built;
}

static void drop(struct image_builder *builder, struct built_image *built)
{
	unlink_image(builder, built);
	builder->by_epoch[built->epoch] = NULL;
	builder->count -= 1;
	pt_image_free(built->image);
	free(built);
}

void image_builder_fini(struct image_builder *builder)
{
	while (builder->newest)
		drop(builder, builder->newest);
	pt_image_free(builder->empty);
	free(builder->by_epoch);
	pt_iscache_free(builder->sections);
	memset(builder, 0, sizeof(*builder));
}

/* Adds what stands behind @map. What cannot be added is missing, and is reported where code runs there. */
static int add_map(struct image_builder *builder, struct pt_image *image, const struct sb_map *map)
{
	const struct sb_binary *binary;
	int isid, status;

	status = sb_resolver_find(builder->resolver, map, &binary, NULL);
	if (status < 0 || binary->missing)
		return status;
	isid = pt_iscache_add_file(builder->sections, binary->path, binary->offset, binary->size, map->begin);
	status = isid < 0 ? isid : pt_image_add_cached(image, builder->sections, isid, NULL);
	return status == -pte_nomem ? -sbe_nomem : 0;
}

static struct pt_image *build(struct image_builder *builder, const struct sb_epoch *epoch)
{
	struct pt_image *image = new_image(builder);

	if (!image)
		return NULL;
	for (const struct sb_map *map = sb_epoch_map(epoch, 0); map; map = sb_epoch_map(epoch, map->end)) {
		if (add_map(builder, image, map) < 0) {
			pt_image_free(image);
			return NULL;
		}
	}
	return image;
}

struct pt_image *image_builder_get(struct image_builder *builder, const struct sb_epoch *epoch)
{
	struct built_image *built;

	if (!epoch)
		return builder->empty;
	built = builder->by_epoch[epoch->id];
	if (built) {
		if (built != builder->newest) {
			unlink_image(builder, built);
			link_newest(builder, built);
		}
		return built->image;
	}
	built = calloc(1, sizeof(*built));
	if (built)
		built->image = build(builder, epoch);
	if (!built || !built->image) {
		free(built);
		return NULL;
	}
	built->epoch = epoch->id;
	builder->by_epoch[epoch->id] = built;
	link_newest(builder, built);
	builder->count += 1;
	/* The decoder may still look at the one before this. */
	if (builder->count > builder->limit)
		drop(builder, builder->oldest);
	return built->image;
}
