/* code_table.c - see code_table.h. */
#include "count/code_table.h"

#include <stdlib.h>
#include <string.h>

enum { objects_first = 64, slots_first = 4096, found_bits = 13 };

/* What a mapping is of. */
struct code_object_slot {
	const struct sb_map *map; /* NULL: free */
	int32_t pid;
	struct code_object *object;
};

/* A block that was found at an address, by whoever has these mappings. */
struct code_found {
	const struct sb_epoch *epoch; /* NULL: the kernel, or not known */
	uint64_t ip;
	int32_t pid;
	struct code_block *block; /* NULL: free */
};

static uint64_t mix(uint64_t key)
{
	key *= 0x9e3779b97f4a7c15;
	return key ^ key >> 32;
}

int code_table_init(struct code_table *table, bool by_process)
{
	*table = (struct code_table){.by_process = by_process,
	                             .object_slots = objects_first,
	                             .seen_slots = slots_first,
	                             .block_slots = slots_first,
	                             .link_slots = slots_first};
	table->object_slot = calloc(table->object_slots, sizeof(struct code_object *));
	table->seen = calloc(table->seen_slots, sizeof(*table->seen));
	table->block = calloc(table->block_slots, sizeof(struct code_block *));
	table->link = calloc(table->link_slots, sizeof(struct code_link *));
	table->found = calloc((size_t)1 << found_bits, sizeof(*table->found));
	if (table->object_slot && table->seen && table->block && table->link && table->found)
		return 0;
	code_table_fini(table);
	return -1;
}

void code_table_fini(struct code_table *table)
{
	free(table->object_slot);
	free(table->seen);
	free(table->block);
	free(table->link);
	free(table->found);
	pool_free(&table->pool);
	table->object_slot = NULL;
	table->seen = NULL;
	table->block = NULL;
	table->link = NULL;
	table->found = NULL;
}

/* ---- Objects ---------------------------------------------------------------------------------- */

/* Whether two mappings are of one file: by build-id, else by name, device and inode. */
static bool is_same_file(const struct sb_map *a, const struct sb_map *b)
{
	if (a->origin != b->origin || a->build_id_size != b->build_id_size)
		return false;
	if (a->build_id_size)
		return !memcmp(a->build_id, b->build_id, a->build_id_size);
	return a->ino == b->ino && a->maj == b->maj && a->min == b->min && !strcmp(a->filename, b->filename);
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const uint8_t *byte = bytes;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ byte[i]) * 0x100000001b3;
	return hash;
}

/* What object_is() compares. */
static uint64_t object_hash(const struct sb_map *map, int32_t pid, bool is_kernel)
{
	uint64_t hash = (uint64_t)(uint32_t)pid << 1 | is_kernel;

	if (map && map->build_id_size)
		hash = hash_bytes(hash, map->build_id, map->build_id_size);
	else if (map)
		hash = hash_bytes(hash ^ map->ino << 32, map->filename, strlen(map->filename));
	return mix(hash);
}

static bool object_is(const struct code_object *object, const struct sb_map *map, int32_t pid, bool is_kernel)
{
	if (object->pid != pid || object->is_kernel != is_kernel || !object->map != !map)
		return false;
	return !map || is_same_file(object->map, map);
}

static int grow_objects(struct code_table *table)
{
	const size_t nslots = 2 * table->object_slots;
	struct code_object **slot = calloc(nslots, sizeof(struct code_object *));

	if (!slot)
		return -1;
	for (struct code_object *object = table->object; object; object = object->next) {
		struct code_object **to = &slot[object->hash & (nslots - 1)];

		object->next_in_slot = *to;
		*to = object;
	}
	free(table->object_slot);
	table->object_slot = slot;
	table->object_slots = nslots;
	return 0;
}

static struct code_object *new_object(struct code_table *table, const struct sb_map *map, int32_t pid,
                                      bool is_kernel, uint64_t hash)
{
	struct code_object *object, **slot;

	if (table->nobjects >= table->object_slots && grow_objects(table))
		return NULL;
	object = pool_take(&table->pool, sizeof(*object));
	if (!object)
		return NULL;
	slot = &table->object_slot[hash & (table->object_slots - 1)];
	*object = (struct code_object){.next = table->object,
	                               .next_in_slot = *slot,
	                               .hash = hash,
	                               .map = map,
	                               .pid = pid,
	                               .is_kernel = is_kernel,
	                               .index = table->nobjects++};
	*slot = object;
	table->object = object;
	return object;
}

/* The object of a mapping, or of what has none. */
static struct code_object *object_of(struct code_table *table, const struct sb_map *map, int32_t pid,
                                     bool is_kernel)
{
	const uint64_t hash = object_hash(map, pid, is_kernel);
	struct code_object *object = table->object_slot[hash & (table->object_slots - 1)];

	while (object && !object_is(object, map, pid, is_kernel))
		object = object->next_in_slot;
	if (!object)
		return new_object(table, map, pid, is_kernel, hash);
	if (map && strcmp(map->filename, object->map->filename) < 0)
		object->map = map;
	return object;
}

static struct code_object_slot *seen_slot(struct code_object_slot *seen, size_t nslots,
                                          const struct sb_map *map, int32_t pid)
{
	size_t i = mix((uintptr_t)map >> 4 ^ (uint64_t)pid << 48) & (nslots - 1);

	while (seen[i].map && (seen[i].map != map || seen[i].pid != pid))
		i = (i + 1) & (nslots - 1);
	return &seen[i];
}

static int grow_seen(struct code_table *table)
{
	const size_t nslots = 2 * table->seen_slots;
	struct code_object_slot *seen = calloc(nslots, sizeof(*seen));

	if (!seen)
		return -1;
	for (size_t i = 0; i < table->seen_slots; i++)
		if (table->seen[i].map)
			*seen_slot(seen, nslots, table->seen[i].map, table->seen[i].pid) = table->seen[i];
	free(table->seen);
	table->seen = seen;
	table->seen_slots = nslots;
	return 0;
}

/* Mappings are the system's: each is compared with the objects only once. */
static struct code_object *object_of_map(struct code_table *table, const struct sb_map *map, int32_t pid)
{
	struct code_object_slot *slot;

	if (2 * table->nseen >= table->seen_slots && grow_seen(table))
		return NULL;
	slot = seen_slot(table->seen, table->seen_slots, map, pid);
	if (slot->map)
		return slot->object;
	slot->object = object_of(table, map, pid, false);
	if (!slot->object)
		return NULL;
	slot->map = map;
	slot->pid = pid;
	table->nseen++;
	return slot->object;
}

/* What stands at @ip, and where in it. */
static struct code_object *object_at(struct code_table *table, const struct sb_symbols_place *place,
                                     uint64_t ip, uint64_t *offset)
{
	const int32_t process = table->by_process ? place->pid : -1;
	const struct sb_map *map = NULL;

	*offset = ip;
	if (ip >> 63)
		return object_of(table, NULL, process, true);
	if (place->epoch)
		map = sb_epoch_code(place->epoch, ip);
	if (!map || map->begin > ip)
		return object_of(table, NULL, place->pid, false);
	*offset = map->pgoff + (ip - map->begin);
	return object_of_map(table, map, process);
}

/* ---- Blocks ----------------------------------------------------------------------------------- */

static size_t block_slot(const struct code_object *object, uint64_t offset, size_t nslots)
{
	return mix(offset ^ (uint64_t)object->index << 40) & (nslots - 1);
}

static int grow_blocks(struct code_table *table)
{
	const size_t nslots = 2 * table->block_slots;
	struct code_block **slot = calloc(nslots, sizeof(*slot));

	if (!slot)
		return -1;
	for (size_t i = 0; i < table->block_slots; i++)
		for (struct code_block *block = table->block[i], *next; block; block = next) {
			const size_t to = block_slot(block->object, block->offset, nslots);

			next = block->next;
			block->next = slot[to];
			slot[to] = block;
		}
	free(table->block);
	table->block = slot;
	table->block_slots = nslots;
	return 0;
}

static struct code_block *new_block(struct code_table *table, const struct pt_run_block *from)
{
	struct code_block *block;
	uint8_t *length;
	uint32_t last = (uint32_t)(from->end_ip - from->ip);

	if (table->nblocks >= table->block_slots && grow_blocks(table))
		return NULL;
	block = pool_take(&table->pool, sizeof(*block) + from->ninsn);
	if (!block)
		return NULL;
	length = (uint8_t *)(block + 1);
	memcpy(length, from->length, from->ninsn);
	*block = (struct code_block){.size = last + from->length[from->ninsn - 1],
	                             .last = last,
	                             .ninsn = from->ninsn,
	                             .iclass = from->iclass,
	                             .length = length};
	return block;
}

static struct code_block *look_up(struct code_table *table, const struct sb_symbols_place *place,
                                  const struct pt_run_block *from)
{
	uint64_t offset;
	struct code_object *object = object_at(table, place, from->ip, &offset);
	struct code_block *block, **slot;

	if (!object)
		return NULL;
	slot = &table->block[block_slot(object, offset, table->block_slots)];
	for (block = *slot; block; block = block->next)
		if (block->offset == offset && block->object == object && block->ninsn == from->ninsn &&
		    block->last == from->end_ip - from->ip)
			return block;
	block = new_block(table, from);
	if (!block)
		return NULL;
	block->object = object;
	block->offset = offset;
	block->place = *place;
	block->place.ip = from->ip;
	/* The table may have grown. */
	slot = &table->block[block_slot(object, offset, table->block_slots)];
	block->next = *slot;
	*slot = block;
	table->nblocks++;
	return block;
}

struct code_block *code_table_block(struct code_table *table, const struct sb_symbols_place *place,
                                    const struct pt_run_block *from)
{
	const struct sb_epoch *epoch = from->ip >> 63 ? NULL : place->epoch;
	const int32_t pid = from->ip >> 63 && !table->by_process ? -1 : place->pid;
	struct code_found *found = &table->found[mix(from->ip ^ (uintptr_t)epoch << 8) >> (64 - found_bits)];
	const struct code_block *block = found->block;

	if (block && found->ip == from->ip && found->epoch == epoch && found->pid == pid &&
	    block->ninsn == from->ninsn && block->last == from->end_ip - from->ip)
		return found->block;
	*found = (struct code_found){epoch, from->ip, pid, look_up(table, place, from)};
	return found->block;
}

/* ---- Links ------------------------------------------------------------------------------------ */

static size_t link_slot(const struct code_block *from, const struct code_block *to, size_t nslots)
{
	return mix((uintptr_t)from * 31 ^ (uintptr_t)to >> 4) & (nslots - 1);
}

static int grow_links(struct code_table *table)
{
	const size_t nslots = 2 * table->link_slots;
	struct code_link **slot = calloc(nslots, sizeof(*slot));

	if (!slot)
		return -1;
	for (size_t i = 0; i < table->link_slots; i++)
		for (struct code_link *link = table->link[i], *next; link; link = next) {
			const size_t to = link_slot(link->from, link->to, nslots);

			next = link->next;
			link->next = slot[to];
			slot[to] = link;
		}
	free(table->link);
	table->link = slot;
	table->link_slots = nslots;
	return 0;
}

struct code_link *code_table_link_look_up(struct code_table *table, const struct code_block *from,
                                          const struct code_block *to, bool async)
{
	struct code_link *link, **slot = &table->link[link_slot(from, to, table->link_slots)];

	for (link = *slot; link; link = link->next)
		if (link->from == from && link->to == to && link->async == async)
			return link;
	if (table->nlinks >= table->link_slots && grow_links(table))
		return NULL;
	link = pool_take(&table->pool, sizeof(*link));
	if (!link)
		return NULL;
	slot = &table->link[link_slot(from, to, table->link_slots)];
	*link = (struct code_link){.next = *slot, .from = from, .to = to, .async = async};
	*slot = link;
	table->nlinks++;
	return link;
}
