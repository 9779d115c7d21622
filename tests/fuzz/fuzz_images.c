/* fuzz_images.c - a sequence of calls of pt_image_*() and pt_iscache_*(), compared with the model after each.
 *
 * There are two images, one section cache and three files. Addresses lie in a few windows, two of them where
 * addresses begin and end; the images' callback, when there is one, knows a byte at every address. */
#include <limits.h>
#include <string.h>

#include <intel-pt.h>

#include "code/image.h"
#include "image_model.h"
#include "support/check.h"
#include "support/input.h"
#include "support/memory_file.h"
#include "support/target.h"

enum { nfiles = 3, file_size = 96, max_steps = 48, max_entries = 64, images = 2 };

/* What a section cache was told. */
struct entry {
	uint8_t file;
	unsigned window, at;
	uint64_t offset, size;
	int isid;
};

struct callback {
	uint8_t how;
	unsigned calls;
};

struct world {
	struct fuzz_input in;
	struct pt_image *image[images];
	struct model *model[images];
	struct callback callback[images];
	struct pt_image_section_cache *cache;
	struct entry entry[max_entries];
	unsigned entries;
	struct memory_file *file;
	const uint8_t (*bytes)[file_size];
};

/* ---- Arguments ---- */

struct place {
	unsigned window, at;
	uint64_t vaddr;
};

static struct place take_place(struct world *world)
{
	struct place place;

	place.window = fuzz_below(&world->in, model_windows);
	place.at = fuzz_u8(&world->in) & 127;
	place.vaddr = model_base(place.window) + place.at;
	return place;
}

static struct pt_asid asid_of(unsigned space)
{
	struct pt_asid asid;

	pt_asid_init(&asid);
	if (space / 3)
		asid.cr3 = space / 3;
	if (space % 3)
		asid.vmcs = space % 3;
	return asid;
}

/* A range of a file: in it, across its end, behind it, and as large as numbers get. */
static void take_range(struct world *world, uint64_t *offset, uint64_t *size)
{
	const uint8_t kind = fuzz_u8(&world->in) & 15;

	*offset = fuzz_u8(&world->in) % (file_size + 2);
	*size = fuzz_u8(&world->in) % (file_size + 2);
	if (kind == 1)
		*size = UINT64_MAX;
	if (kind == 2)
		*offset = UINT64_MAX;
	if (kind == 3)
		*size = UINT64_MAX - *offset;
	if (kind == 4)
		*offset = 0, *size = file_size;
	if (kind == 5)
		*offset = 16, *size = 32;
}

/* What of the range is in the file and has an address. */
static uint64_t clipped(uint64_t offset, uint64_t size, const struct place *place)
{
	const uint64_t room = model_room(place->window) - place->at;

	if (size > file_size - offset)
		size = file_size - offset;
	return place->window == model_windows - 1 && size > room ? room : size;
}

/* ---- Steps ---- */

static void step_add_file(struct world *world, unsigned i)
{
	const unsigned space = fuzz_below(&world->in, model_spaces), file = fuzz_below(&world->in, nfiles);
	const struct place place = take_place(world);
	const struct pt_asid asid = asid_of(space);
	uint64_t offset, size;
	int status;

	take_range(world, &offset, &size);
	status = pt_image_add_file(world->image[i], world->file[file].name, offset, size,
	                           space ? &asid : NULL, place.vaddr);
	if (offset >= file_size) {
		FUZZ_CHECK(status == -pte_invalid, "status %d", status);
		return;
	}
	FUZZ_CHECK(status == 0, "status %d", status);
	model_add(world->model[i], space, place.window, place.at,
	          &(struct model_piece){(uint8_t)file, 0, world->bytes[file] + offset,
	                                clipped(offset, size, &place)});
}

static struct entry *same_entry(struct world *world, const struct entry *wanted)
{
	for (unsigned i = 0; i < world->entries; i++) {
		struct entry *entry = &world->entry[i];

		if (entry->file == wanted->file && entry->window == wanted->window &&
		    entry->at == wanted->at && entry->offset == wanted->offset && entry->size == wanted->size)
			return entry;
	}
	return NULL;
}

static void step_cache_add(struct world *world, unsigned i)
{
	const unsigned file = fuzz_below(&world->in, nfiles);
	const struct place place = take_place(world);
	struct entry wanted = {.file = (uint8_t)file, .window = place.window, .at = place.at}, *known;
	uint64_t size;
	int isid;

	(void)i;
	take_range(world, &wanted.offset, &size);
	isid = pt_iscache_add_file(world->cache, world->file[file].name, wanted.offset, size, place.vaddr);
	if (wanted.offset >= file_size) {
		FUZZ_CHECK(isid == -pte_invalid, "status %d", isid);
		return;
	}
	wanted.size = clipped(wanted.offset, size, &place);
	FUZZ_CHECK(isid > 0, "status %d", isid);
	known = same_entry(world, &wanted);
	FUZZ_CHECK(!known || known->isid == isid, "isid %d, now %d", known->isid, isid);
	for (unsigned e = 0; e < world->entries; e++)
		FUZZ_CHECK(&world->entry[e] == known || world->entry[e].isid != isid, "isid %d twice", isid);
	wanted.isid = isid;
	if (!known && world->entries < max_entries)
		world->entry[world->entries++] = wanted;
}

static const struct entry *take_entry(struct world *world)
{
	const uint8_t choice = fuzz_u8(&world->in);

	return world->entries ? &world->entry[choice % world->entries] : NULL;
}

static void step_add_cached(struct world *world, unsigned i)
{
	const unsigned space = fuzz_below(&world->in, model_spaces);
	const struct entry *entry = take_entry(world);
	const struct pt_asid asid = asid_of(space);
	int status;

	if (!entry) {
		status = pt_image_add_cached(world->image[i], world->cache, 1, &asid);
		FUZZ_CHECK(status == -pte_bad_image || world->entries == max_entries, "status %d", status);
		return;
	}
	status = pt_image_add_cached(world->image[i], world->cache, entry->isid, space ? &asid : NULL);
	FUZZ_CHECK(status == 0, "status %d", status);
	model_add(world->model[i], space, entry->window, entry->at,
	          &(struct model_piece){entry->file, entry->isid, world->bytes[entry->file] + entry->offset,
	                                entry->size});
}

static void step_cache_read(struct world *world, unsigned i)
{
	const struct entry *entry = take_entry(world);
	const unsigned at = fuzz_u8(&world->in), wanted = fuzz_u8(&world->in);
	uint8_t buffer[256];
	uint64_t left;
	int status;

	(void)i;
	if (!entry)
		return;
	status = pt_iscache_read(world->cache, buffer, wanted, entry->isid, model_base(entry->window) + at);
	if (!wanted) {
		FUZZ_CHECK(status == -pte_invalid, "status %d", status);
		return;
	}
	if (at < entry->at || at >= entry->at + entry->size) {
		FUZZ_CHECK(status == -pte_nomap, "status %d", status);
		return;
	}
	left = entry->at + entry->size - at;
	FUZZ_CHECK(status == (int)(wanted < left ? wanted : left), "read %d", status);
	FUZZ_CHECK(
	        !memcmp(buffer, world->bytes[entry->file] + entry->offset + (at - entry->at), (size_t)status),
	        "wrong bytes");
}

static void step_set_limit(struct world *world, unsigned i)
{
	const uint8_t limit = fuzz_u8(&world->in);

	(void)i;
	FUZZ_CHECK(pt_iscache_set_limit(world->cache, limit == 255 ? UINT64_MAX : limit * 8ull) == 0,
	           "refused");
}

static void step_remove_by_name(struct world *world, unsigned i)
{
	const unsigned space = fuzz_below(&world->in, model_spaces), file = fuzz_below(&world->in, nfiles);
	const struct pt_asid asid = asid_of(space);
	int removed =
	        pt_image_remove_by_filename(world->image[i], world->file[file].name, space ? &asid : NULL);

	FUZZ_CHECK(removed == model_remove(world->model[i], space, (int)file), "removed %d", removed);
}

static void step_remove_by_asid(struct world *world, unsigned i)
{
	const unsigned space = fuzz_below(&world->in, model_spaces);
	const struct pt_asid asid = asid_of(space);
	int removed = pt_image_remove_by_asid(world->image[i], space ? &asid : NULL);

	FUZZ_CHECK(removed == model_remove(world->model[i], space, -1), "removed %d", removed);
}

static void step_copy(struct world *world, unsigned i)
{
	FUZZ_CHECK(pt_image_copy(world->image[i], world->image[!i]) == 0, "not copied");
	model_copy(world->model[i], world->model[!i]);
}

static void step_copy_to_itself(struct world *world, unsigned i)
{
	FUZZ_CHECK(pt_image_copy(world->image[i], world->image[i]) == 0, "not copied");
}

static void step_new_image(struct world *world, unsigned i)
{
	pt_image_free(world->image[i]);
	world->image[i] = pt_image_alloc("again");
	memset(world->model[i], 0, sizeof(*world->model[i]));
	world->callback[i].how = 0;
}

static void step_free_cache(struct world *world, unsigned i)
{
	(void)i;
	pt_iscache_free(world->cache);
	world->cache = pt_iscache_alloc(NULL);
	world->entries = 0;
}

/* ---- Reading through the callback ---- */

static uint8_t byte_at(uint64_t ip, const struct pt_asid *asid)
{
	return (uint8_t)(ip * 31 + asid->cr3 * 7 + asid->vmcs);
}

enum {
	callback_none,
	callback_all,
	callback_few,
	callback_fails,
	callback_nothing,
	callback_lies,
	callback_kinds
};

static int read_memory(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	struct callback *callback = context;

	FUZZ_CHECK(size > 0 && asid, "nothing asked");
	FUZZ_CHECK(ip + (size - 1) >= ip, "beyond the last address");
	callback->calls++;
	switch (callback->how) {
	case callback_fails:
		return -pte_bad_file;
	case callback_nothing:
		return 0;
	case callback_few:
		size = size < 3 ? size : 3;
		break;
	default:
		break;
	}
	for (size_t i = 0; i < size; i++)
		buffer[i] = byte_at(ip + i, asid);
	return callback->how == callback_lies ? INT_MAX : (int)size;
}

static void step_set_callback(struct world *world, unsigned i)
{
	struct callback *callback = &world->callback[i];

	callback->how = (uint8_t)fuzz_below(&world->in, callback_kinds);
	FUZZ_CHECK(pt_image_set_callback(world->image[i], callback->how ? read_memory : NULL, callback) == 0,
	           "refused");
}

/* ---- Comparing ---- */

/* Whether the image may answer @value with @isid for the byte. */
static int cell_allows(const struct world *world, unsigned i, unsigned space, const struct place *place,
                       uint8_t value, int isid)
{
	const struct model_cell *found[model_spaces];
	const struct pt_asid asid = asid_of(space);
	const int n = model_find(world->model[i], space, place->window, place->at, found);

	for (int f = 0; f < n; f++)
		if (found[f]->value == value && (isid < 0 || found[f]->isid == isid))
			return 1;
	return !n && world->callback[i].how && value == byte_at(place->vaddr, &asid) && isid <= 0;
}

/* Whether nothing is known of the address, so that a read must fail there, or stop. */
static int nothing_at(const struct world *world, unsigned i, unsigned space, const struct place *place)
{
	const struct model_cell *found[model_spaces];
	const uint8_t how = world->callback[i].how;

	if (model_find(world->model[i], space, place->window, place->at, found))
		return 0;
	return how != callback_all && how != callback_few;
}

static void compare_read(struct world *world, unsigned i, unsigned space, struct place place, uint16_t size)
{
	const struct pt_asid asid = asid_of(space);
	const unsigned room = model_room(place.window) - place.at;
	uint8_t buffer[model_window_size];
	int isid = -77, status;

	status = pt_image_read(world->image[i], &isid, buffer, size, &asid, place.vaddr);
	if (nothing_at(world, i, space, &place)) {
		FUZZ_CHECK(status < 0, "read %d bytes at %llx, where nothing is", status,
		           (unsigned long long)place.vaddr);
		return;
	}
	FUZZ_CHECK(status > 0 && status <= size, "status %d at %llx", status,
	           (unsigned long long)place.vaddr);
	for (unsigned n = 0; n < (unsigned)status && n < room; n++) {
		FUZZ_CHECK(cell_allows(world, i, space, &place, buffer[n], n ? -1 : isid),
		           "space %u, %llx: %02x isid %d", space, (unsigned long long)place.vaddr, buffer[n],
		           isid);
		place.at++;
		place.vaddr++;
	}
	if (place.window == model_windows - 1)
		FUZZ_CHECK((unsigned)status <= room, "beyond the last address");
	if (status < size && (unsigned)status < room && world->callback[i].how != callback_few)
		FUZZ_CHECK(nothing_at(world, i, space, &place), "stopped at %llx",
		           (unsigned long long)place.vaddr);
}

/* In every @step-th space. */
static void compare_window(struct world *world, unsigned i, unsigned window, unsigned first, unsigned step)
{
	for (unsigned space = first; space < model_spaces; space += step) {
		struct place place = {.window = window};

		while (place.at < model_room(window)) {
			const uint16_t size = (uint16_t)(1 + (place.at * 7 + space) % 61);

			place.vaddr = model_base(window) + place.at;
			compare_read(world, i, space, place, size);
			place.at += size;
		}
	}
}

typedef void step_t(struct world *world, unsigned i);

static step_t *const steps[] = {
        step_add_file,     step_add_file,       step_add_file,       step_add_file,   step_cache_add,
        step_cache_add,    step_add_cached,     step_add_cached,     step_cache_read, step_set_limit,
        step_set_callback, step_remove_by_name, step_remove_by_asid, step_copy,       step_copy_to_itself,
        step_new_image,    step_free_cache,
};

static struct memory_file files[nfiles];
static uint8_t contents[nfiles][file_size];

static void make_files(void)
{
	if (files[0].fd)
		return;
	for (unsigned f = 0; f < nfiles; f++) {
		for (unsigned i = 0; i < file_size; i++)
			contents[f][i] = (uint8_t)(i * 5 + f * 83 + 1);
		memory_file_open(&files[f]);
		memory_file_set(&files[f], contents[f], file_size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world world = {.in = {data, data + size}, .file = files, .bytes = (const void *)contents};

	make_files();
	world.cache = pt_iscache_alloc("cache");
	for (unsigned i = 0; i < images; i++) {
		world.image[i] = pt_image_alloc(NULL);
		world.model[i] = calloc(1, sizeof(*world.model[i]));
	}
	for (unsigned n = 0; n < max_steps && world.in.pos < world.in.end; n++) {
		const uint8_t choice = fuzz_u8(&world.in);
		const unsigned i = choice & 1;

		steps[(choice >> 1) % (sizeof(steps) / sizeof(*steps))](&world, i);
		compare_window(&world, i, n % model_windows, n % 4, 4);
	}
	for (unsigned w = 0; w < images * model_windows; w++)
		compare_window(&world, w % images, w / images, 0, 1);
	pt_iscache_free(world.cache);
	for (unsigned i = 0; i < images; i++) {
		pt_image_free(world.image[i]);
		free(world.model[i]);
	}
	return 0;
}
