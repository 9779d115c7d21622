/* answer.c - see answer.h: a hash table with lists. */
#include "binary/answer.h"

#include <stdlib.h>
#include <string.h>

#include "system/string_table.h"

static size_t hash(uint32_t scope, const struct sb_map *map)
{
	uint64_t value = 0xcbf29ce484222325ull ^ map->pgoff ^ (uint64_t)scope << 48;

	value = string_hash(value, map->filename, strlen(map->filename));
	value = (value ^ (map->end - map->begin)) * 0x9e3779b97f4a7c15ull;
	return (size_t)(value ^ (value >> 29));
}

static int is_answer_for(const struct answer *answer, uint32_t scope, const struct sb_map *map,
                         int was_written)
{
	const struct sb_map *known = &answer->map;

	return answer->scope == scope && answer->was_written == was_written && known->pgoff == map->pgoff &&
	       known->end == map->end - map->begin && known->recorded_pgoff == map->recorded_pgoff &&
	       known->recorded_size == map->recorded_size && known->maj == map->maj &&
	       known->min == map->min && known->ino == map->ino &&
	       known->build_id_size == map->build_id_size && known->origin == map->origin &&
	       known->replaced == map->replaced &&
	       memcmp(known->build_id, map->build_id, sizeof(map->build_id)) == 0 &&
	       strcmp(known->filename, map->filename) == 0;
}

struct answer *answer_find(const struct answer_table *table, uint32_t scope, const struct sb_map *map,
                           int was_written)
{
	struct answer *answer = NULL;

	if (table->nslots)
		answer = table->slot[hash(scope, map) & (table->nslots - 1)];
	while (answer && !is_answer_for(answer, scope, map, was_written))
		answer = answer->next;
	return answer;
}

static void insert(struct answer_table *table, struct answer *answer)
{
	struct answer **slot = &table->slot[hash(answer->scope, &answer->map) & (table->nslots - 1)];

	answer->next = *slot;
	*slot = answer;
}

static int grow(struct answer_table *table)
{
	struct answer_table bigger = {.nslots = table->nslots ? 2 * table->nslots : 256};

	bigger.slot = calloc(bigger.nslots, sizeof(struct answer *));
	if (!bigger.slot)
		return -sbe_nomem;
	for (size_t i = 0; i < table->nslots; ++i) {
		for (struct answer *answer = table->slot[i], *next; answer; answer = next) {
			next = answer->next;
			insert(&bigger, answer);
		}
	}
	free(table->slot);
	table->slot = bigger.slot;
	table->nslots = bigger.nslots;
	return 0;
}

struct answer *answer_add(struct answer_table *table, uint32_t scope, const struct sb_map *map,
                          int was_written)
{
	struct answer *answer;
	char *filename;

	if (table->count >= table->nslots && grow(table) < 0)
		return NULL;
	answer = calloc(1, sizeof(*answer));
	filename = strdup(map->filename);
	if (!answer || !filename) {
		free(answer);
		free(filename);
		return NULL;
	}
	answer->map = *map;
	answer->map.begin = 0;
	answer->map.end = map->end - map->begin;
	answer->map.filename = filename;
	answer->scope = scope;
	answer->was_written = was_written;
	answer->plain.fd = answer->debug_plain.fd = -1;
	insert(table, answer);
	table->count += 1;
	return answer;
}

void answer_table_fini(struct answer_table *table)
{
	for (size_t i = 0; i < table->nslots; ++i) {
		for (struct answer *answer = table->slot[i], *next; answer; answer = next) {
			next = answer->next;
			plain_file_close(&answer->plain);
			plain_file_close(&answer->debug_plain);
			free(answer->debug);
			free(answer->binary.path);
			free((char *)(uintptr_t)answer->map.filename);
			free(answer);
		}
	}
	free(table->slot);
	*table = (struct answer_table){0};
}
