/* build_ids.h - the build-ids that perf wrote down when the recording ended: the BUILD_ID feature.
 *
 * One record per file whose code was seen: header, s32 pid (-1: the host), u8 build_id[24], its name. When
 * the header's misc says so, build_id[20] is the build-id's size; else it is 20, or less when zeros fill it
 * up. Format: perf.data-file-format.txt, HEADER_BUILD_ID. A mapping whose own record has no build-id has that
 * of its file.
 */
#ifndef SB_BUILD_IDS_H
#define SB_BUILD_IDS_H

#include <stddef.h>
#include <stdint.h>

struct build_id_entry {
	char *filename; /* owned */
	uint8_t id[20];
	uint8_t size; /* 0: several files had this name, with different build-ids */
};

/* Sorted by name once it is sealed. Zeroed is empty. */
struct build_id_table {
	struct build_id_entry *entry;
	size_t count, capacity;
};

/* Adds what a stretch of such records says, whose first byte is that of a header. NULL, or what is wrong with
 * it: what came before that counts. */
const char *build_ids_read(struct build_id_table *table, const uint8_t *bytes, uint64_t size);

/* All has been read: from now on it can be asked. */
void build_ids_seal(struct build_id_table *table);

/* The build-id of the host's file of that name: its size, 0 when none is known. */
int build_ids_find(const struct build_id_table *table, const char *filename, uint8_t id[20]);

void build_ids_free(struct build_id_table *table);

#endif
