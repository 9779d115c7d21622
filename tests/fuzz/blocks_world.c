/* blocks_world.c - see blocks_world.h. */
#include "blocks_world.h"

#include <string.h>

#include "support/check.h"
#include "support/memory_file.h"

enum {
	at_layout = fuzz_config_bytes,
	at_observers,
	at_client,
	at_ops,
	at_code_size, /* two bytes */
	at_split = at_code_size + 2,
};

static const uint64_t bases[16] = {
        0x400000,       0x7fff12340000, 0xffffffff81000000, 0x100000000,
        0x55d5a0000000, 0x1000,         0x8040000,          0,
        0xff00,         0xffff0000,     0xfffffffffffffe00, 0x401ff0,
        0x80000000,     0x10000,        0xffffff00,         0x400040,
};

static size_t byte_at(const uint8_t *data, size_t size, size_t at)
{
	return at < size ? data[at] : 0;
}

uint64_t world_base(const uint8_t *data, size_t size)
{
	return bases[byte_at(data, size, at_layout) & 15];
}

size_t world_code_begin(const uint8_t *data, size_t size)
{
	const size_t begin = world_header + byte_at(data, size, at_ops) % max_ops;

	return begin < size ? begin : size;
}

size_t world_code_size(const uint8_t *data, size_t size)
{
	const size_t left = size - world_code_begin(data, size);
	const size_t wanted = byte_at(data, size, at_code_size) | byte_at(data, size, at_code_size + 1) << 8;
	const size_t code_size = wanted % (max_code + 1);

	return code_size < left ? code_size : left;
}

size_t world_trace_begin(const uint8_t *data, size_t size)
{
	return world_code_begin(data, size) + world_code_size(data, size);
}

/* The second image is the first one with its parts swapped. */
static void init_code(struct world *world, const uint8_t *code)
{
	const size_t size = world->code_size, split = world->split;

	if (!size)
		return;
	memcpy(world->code[0], code, size);
	memcpy(world->code[1], code + split, size - split);
	memcpy(world->code[1] + size - split, code, split);
	for (size_t i = 0; i < size; i++)
		world->code[1][i] ^= i % 64 == 13;
}

static struct memory_file files[2];

void world_init(struct world *world, const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, data + size};
	const uint8_t *code = data + world_code_begin(data, size);

	world->layout = (uint8_t)byte_at(data, size, at_layout);
	world->observers = (uint8_t)byte_at(data, size, at_observers);
	world->client = (uint8_t)byte_at(data, size, at_client);
	world->base = world_base(data, size);
	world->code_size = world_code_size(data, size);
	world->split = world->code_size;
	if (world->layout & (layout_split | layout_callback | layout_asid))
		world->split = world->code_size * byte_at(data, size, at_split) / 256;
	world->op = data + (world_header < size ? world_header : size);
	world->ops = (size_t)(code - world->op);
	init_code(world, code);
	fuzz_config_init(&world->fc, &in, world->base);
	in.pos = code + world->code_size;
	fuzz_config_trace(&world->fc, &in, 1 + (world->client / client_repeats & 3u));
	for (unsigned i = 0; i < 2; i++) {
		if (!files[i].fd)
			memory_file_open(&files[i]);
		memory_file_set(&files[i], world->code[i], world->code_size);
	}
}

void world_fini(struct world *world)
{
	fuzz_config_fini(&world->fc);
}

size_t world_read(const struct world *world, unsigned i, uint64_t ip, uint8_t *bytes, size_t size)
{
	const uint64_t at = ip - world->base;
	size_t left;

	if (ip < world->base || at >= world->code_size)
		return 0;
	left = world->code_size - at;
	if (left < size)
		size = left;
	memcpy(bytes, world->code[i] + at, size);
	return size;
}

static int read_memory(struct world *world, unsigned i, uint8_t *buffer, size_t size, uint64_t ip)
{
	/* Only the part that is in no section; a caller may not get more than was asked for. */
	if (ip - world->base < world->split)
		return -pte_nomap;
	size = world_read(world, i, ip, buffer, size);
	return size ? (int)size : -pte_nomap;
}

static int read_memory_0(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	(void)asid;
	return read_memory(context, 0, buffer, size, ip);
}

static int read_memory_1(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	(void)asid;
	return read_memory(context, 1, buffer, size, ip);
}

static void map_first(struct world *world, unsigned i)
{
	int isid;

	if (!(world->layout & layout_cached)) {
		pt_image_add_file(world->image[i], files[i].name, 0, world->split, NULL, world->base);
		return;
	}
	isid = pt_iscache_add_file(world->cache, files[i].name, 0, world->split, world->base);
	if (isid > 0)
		pt_image_add_cached(world->image[i], world->cache, isid, NULL);
}

void world_map(struct world *world, unsigned i)
{
	struct pt_asid asid;

	pt_asid_init(&asid);
	asid.cr3 = 0x1000;
	if (world->split)
		map_first(world, i);
	if (world->split < world->code_size && !(world->layout & layout_callback))
		pt_image_add_file(world->image[i], files[i].name, world->split, UINT64_MAX,
		                  world->layout & layout_asid ? &asid : NULL, world->base + world->split);
}

/* ---- Observers ---- */

static struct told *tell(struct world *world)
{
	static struct told rest;

	return world->ntold < max_ticks ? &world->told[world->ntold++] : &rest;
}

static void swap_images(struct world *world)
{
	world->now = !world->now;
	FUZZ_CHECK(world->set_image(world->decoder, world->image[world->now]) == 0, "image refused");
}

static int result_of_call(struct world *world)
{
	FUZZ_CHECK(world->move(world->decoder) == -pte_invalid, "moved inside a callback");
	return (world->observers & observer_fails) && ++world->calls % 4 == 3 ? (int)observer_error : 0;
}

static int on_tick(struct pt_observer *self, uint64_t tsc, uint32_t lost_mtc, uint32_t lost_cyc)
{
	struct world *world = self->context;

	FUZZ_CHECK(tsc >= self->tick.limit, "before its limit");
	/* Without a limit, every change is told, and so it is one; but resynchronising may synchronise as
	 * well. */
	FUZZ_CHECK(!tsc || self->tick.limit || world->client || tsc != world->ticked, "told twice of %llx",
	           (unsigned long long)tsc);
	world->ticked = tsc;
	*tell(world) = (struct told){tsc, lost_mtc, lost_cyc, -1};
	if (world->observers & tick_swaps)
		swap_images(world);
	if (world->observers & tick_moves_limit)
		self->tick.limit = tsc + 0x400;
	if ((world->observers & tick_detaches) && tsc % 3 == 2)
		self->tick.callback = NULL;
	if (world->observers & tick_changes_image) {
		const unsigned i = tsc & 1;

		pt_image_remove_by_filename(world->image[i], files[i].name, NULL);
		if (tsc & 2)
			world_map(world, i);
	}
	return result_of_call(world);
}

static int on_state(struct pt_observer *self, enum pt_decode_state state)
{
	struct world *world = self->context;

	*tell(world) = (struct told){.state = (int)state};
	if ((world->observers & state_swaps) && state == ptds_enabled)
		swap_images(world);
	return result_of_call(world);
}

void world_begin(struct world *world)
{
	world->cache = pt_iscache_alloc(NULL);
	for (unsigned i = 0; i < 2; i++) {
		world->image[i] = pt_image_alloc(NULL);
		world_map(world, i);
		if (world->layout & layout_callback)
			pt_image_set_callback(world->image[i], i ? read_memory_1 : read_memory_0, world);
	}
	world->now = 0;
	world->calls = 0;
	world->ntold = 0;
	world->ticked = 0;
	memset(&world->tick, 0, sizeof(world->tick));
	memset(&world->state, 0, sizeof(world->state));
	world->tick.size = world->state.size = sizeof(struct pt_observer);
	world->tick.context = world->state.context = world;
	world->tick.tick.callback = on_tick;
	world->state.state.callback = on_state;
}

void world_end(struct world *world)
{
	pt_image_free(world->image[0]);
	pt_image_free(world->image[1]);
	pt_iscache_free(world->cache);
}
