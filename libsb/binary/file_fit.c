/* file_fit.c - see file_fit.h. */
#include "binary/file_fit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binary/elf_file.h"

enum { PAGE = 4096 };

void answer_say(struct answer *answer, enum sb_gap_reason missing, const char *format, ...)
{
	va_list args;

	answer->binary.missing = missing;
	va_start(args, format);
	vsnprintf(answer->binary.detail, sizeof(answer->binary.detail), format, args);
	va_end(args);
}

const char *build_id_text(const uint8_t *id, int size, char text[41])
{
	for (int i = 0; i < size; ++i)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	if (size <= 0)
		strcpy(text, "none");
	return text;
}

/* Where the file's name is, when there is room for so much only. */
static const char *end_of(const char *path, size_t most)
{
	const size_t length = strlen(path);

	return length > most ? path + length - most : path;
}

static int build_id_fits(struct answer *answer, const struct rooted_file *file)
{
	const struct sb_map *map = &answer->map;
	char recorded[41], found[41];
	uint8_t id[20];
	int size;

	if (!map->build_id_size)
		return 1;
	size = elf_file_build_id(file->fd, id);
	if (size == map->build_id_size && memcmp(id, map->build_id, (size_t)size) == 0)
		return 1;
	answer_say(answer, sb_gap_binary_mismatch, "build-id recorded %s, found %s in %s",
	           build_id_text(map->build_id, map->build_id_size, recorded), build_id_text(id, size, found),
	           end_of(file->path, 48));
	return 0;
}

int is_recorded_inode(const struct sb_map *map, const struct rooted_file *file)
{
	return map->maj == file->maj && map->min == file->min && map->ino == file->ino;
}

uint64_t done_until(uint64_t written, uint64_t ago)
{
	enum { TICK = 50 * 1000 * 1000, APART = 1000 };
	const uint64_t error = TICK + ago / APART;

	if (written == UINT64_MAX || ago <= error || ago - error > written)
		return written;
	return written - (ago - error);
}

/* Of a file that was recorded without a build-id, its own times tell whether it is still the same. */
static int is_unchanged(struct answer *answer, const struct rooted_file *file)
{
	const struct sb_map *map = &answer->map;

	if (map->build_id_size || !map->ino || !is_recorded_inode(map, file))
		return 1;
	answer->written = file->written;
	if (file->written <= answer->recorded_until)
		return 1;
	answer_say(answer, sb_gap_binary_mismatch,
	           "%.70s was written to since it was recorded, and no build-id was recorded", file->path);
	return 0;
}

static uint64_t page_up(uint64_t value)
{
	return value + (PAGE - 1 - (value - 1) % PAGE);
}

/* The part of the file that stands at the mapping's begin, when code ends at @end. */
static int set_range(struct answer *answer, const struct rooted_file *file, uint64_t end)
{
	const uint64_t pgoff = answer->map.pgoff;

	if (end > file->size)
		end = file->size;
	if (pgoff >= end) {
		answer_say(answer, sb_gap_binary_mismatch, "offset 0x%" PRIx64 " of %.100s holds no code",
		           pgoff, file->path);
		return 0;
	}
	answer->binary.offset = pgoff;
	answer->binary.size = answer->map.end < end - pgoff ? answer->map.end : end - pgoff;
	return 1;
}

static int range_fits(struct answer *answer, const struct rooted_file *file, enum fit fit)
{
	const uint64_t offset = answer->map.recorded_pgoff, size = answer->map.recorded_size;
	char why[80] = "the file is too short";
	uint64_t code_size;
	int status;

	/* What several records made has no end of its own to check. */
	if (!size && fit == fit_mapping)
		return set_range(answer, file, UINT64_MAX);
	if (fit == fit_exactly)
		status = elf_file_check_whole_segment(file->fd, offset, size, &code_size, why, sizeof(why));
	else
		status = elf_file_check_mapping(file->fd, offset, size, &code_size, why, sizeof(why));
	if (status == 0 && offset < file->size && code_size <= page_up(file->size) - offset)
		return set_range(answer, file, offset + code_size);
	answer_say(answer, sb_gap_binary_mismatch,
	           "recorded 0x%" PRIx64 " bytes at 0x%" PRIx64 " of %.60s: %s", size, offset, file->path,
	           why);
	return 0;
}

/* A vdso is an image of memory: one segment, mapped whole. */
static int vdso_range_fits(struct answer *answer, const struct rooted_file *file)
{
	if (answer->map.recorded_size <= page_up(file->size))
		return set_range(answer, file, UINT64_MAX);
	answer_say(answer, sb_gap_binary_mismatch, "recorded 0x%" PRIx64 " bytes; %.60s has 0x%" PRIx64,
	           answer->map.recorded_size, file->path, file->size);
	return 0;
}

static int plain_file_take(struct answer *answer, struct rooted_file *file, enum fit fit)
{
	if (!file->size) {
		answer_say(answer, sb_gap_binary_mismatch, "%.120s is empty", file->path);
		return 0;
	}
	if (!build_id_fits(answer, file) || !is_unchanged(answer, file))
		return 0;
	if (elf_file_is_debug_only(file->fd)) {
		answer_say(answer, sb_gap_binary_mismatch, "%.120s is a debug file without code", file->path);
		return 0;
	}
	if (fit == fit_vdso ? !vdso_range_fits(answer, file) : !range_fits(answer, file, fit))
		return 0;
	answer->binary.missing = sb_gap_none;
	answer->binary.detail[0] = '\0';
	answer->binary.path = file->path;
	file->path = NULL;
	return 1;
}

/* Compressed bytes are no code; what is in them is, when its build-id is right. */
static int compressed_file_take(struct answer *answer, const struct rooted_file *file, enum fit fit)
{
	struct rooted_file inside = *file;
	struct plain_file plain;
	struct sb_error err;

	if (plain_file_of(&plain, file->fd, file->path, 0, &err) < 0) {
		answer_say(answer, sb_gap_binary_mismatch, "%.90s: %.60s", file->path, err.text);
		return 0;
	}
	inside.fd = plain.fd;
	inside.size = plain.size;
	inside.path = plain.path;
	if (!plain_file_take(answer, &inside, fit)) {
		plain_file_close(&plain);
		return 0;
	}
	plain.path = NULL; /* the answer's */
	answer->plain = plain;
	return 1;
}

int file_take(struct answer *answer, struct rooted_file *file, enum fit fit)
{
	const int whole = answer->map.end == UINT64_MAX;

	if (!compressed_file_is(file->fd) || (whole && !answer->map.build_id_size))
		return plain_file_take(answer, file, fit);
	if (answer->map.build_id_size)
		return compressed_file_take(answer, file, fit);
	answer_say(answer, sb_gap_binary_mismatch,
	           "%.90s is compressed, and no build-id says that this is what is in it", file->path);
	return 0;
}
