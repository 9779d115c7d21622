/* build_ids.c - see build_ids.h. */
#include "perfdata/build_ids.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "record/bytes.h"

enum {
	HEADER_SIZE = 8,
	PID = HEADER_SIZE,
	BUILD_ID = PID + 4,
	BUILD_ID_ROOM = 24,
	FILENAME = BUILD_ID + BUILD_ID_ROOM,
	MISC_SIZE = 1 << 15, /* PERF_RECORD_MISC_BUILD_ID_SIZE; older headers do not have it */
	ID_MAX = 20
};

static int add(struct build_id_table *table, const char *filename, const uint8_t *id, uint8_t size)
{
	struct build_id_entry *entry;

	if (table->count == table->capacity) {
		const size_t capacity = table->capacity ? 2 * table->capacity : 64;

		entry = reallocarray(table->entry, capacity, sizeof(*entry));
		if (!entry)
			return -1;
		table->entry = entry;
		table->capacity = capacity;
	}
	entry = &table->entry[table->count];
	*entry = (struct build_id_entry){.filename = strdup(filename), .size = size};
	if (!entry->filename)
		return -1;
	memcpy(entry->id, id, size);
	table->count += 1;
	return 0;
}

/* Build-ids have whole words; where their size is not written down, zeros fill up what they lack. */
static uint8_t size_of(const uint8_t *record, uint16_t misc)
{
	uint8_t size = ID_MAX;

	if (misc & MISC_SIZE)
		return record[BUILD_ID + ID_MAX];
	while (size && load_u32(record + BUILD_ID + size - 4) == 0)
		size = (uint8_t)(size - 4);
	return size;
}

/* Code of guests has names of its own. */
static int is_guest(uint16_t misc)
{
	const unsigned int mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;

	return mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER;
}

static const char *read_one(struct build_id_table *table, const uint8_t *record, uint16_t length)
{
	const uint16_t misc = load_u16(record + 4);
	const uint8_t size = size_of(record, misc);
	const char *filename = (const char *)record + FILENAME;

	if (!memchr(filename, '\0', length - FILENAME))
		return "the name of a build-id's file has no end";
	if (size > ID_MAX)
		return "a build-id has more than 20 bytes";
	if (!size || is_guest(misc))
		return NULL;
	return add(table, filename, record + BUILD_ID, size) < 0 ? "out of memory" : NULL;
}

const char *build_ids_read(struct build_id_table *table, const uint8_t *bytes, uint64_t size)
{
	const char *wrong = NULL;

	while (size && !wrong) {
		const uint16_t length = size < HEADER_SIZE ? 0 : load_u16(bytes + 6);

		if (length <= FILENAME || length > size)
			return "a build-id's record is too short, or longer than what is there";
		wrong = read_one(table, bytes, length);
		bytes += length;
		size -= length;
	}
	return wrong;
}

static int compare(const void *a, const void *b)
{
	const struct build_id_entry *one = a, *other = b;

	return strcmp(one->filename, other->filename);
}

/* Makes one of two entries of the same name, which says nothing unless they agree. */
static void unite(struct build_id_entry *entry, struct build_id_entry *other)
{
	if (entry->size != other->size || memcmp(entry->id, other->id, sizeof(entry->id)) != 0)
		entry->size = 0;
	free(other->filename);
}

void build_ids_seal(struct build_id_table *table)
{
	size_t count = 0;

	if (table->count)
		qsort(table->entry, table->count, sizeof(*table->entry), compare);
	for (size_t i = 0; i < table->count; ++i) {
		struct build_id_entry *entry = &table->entry[i];

		if (count && compare(&table->entry[count - 1], entry) == 0)
			unite(&table->entry[count - 1], entry);
		else
			table->entry[count++] = *entry;
	}
	table->count = count;
}

int build_ids_find(const struct build_id_table *table, const char *filename, uint8_t id[20])
{
	const struct build_id_entry key = {.filename = (char *)(uintptr_t)filename};
	const struct build_id_entry *entry = NULL;

	if (table->count)
		entry = bsearch(&key, table->entry, table->count, sizeof(key), compare);
	if (!entry || !entry->size)
		return 0;
	memcpy(id, entry->id, sizeof(entry->id));
	return entry->size;
}

void build_ids_free(struct build_id_table *table)
{
	for (size_t i = 0; i < table->count; ++i)
		free(table->entry[i].filename);
	free(table->entry);
	*table = (struct build_id_table){0};
}
