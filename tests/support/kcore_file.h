/* kcore_file.h - a made-up /proc/kcore, or a copy of one: a core file with segments of the kernel's code. */
#ifndef TEST_KCORE_FILE_H
#define TEST_KCORE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "support/temp_dir.h"

/* What stands at @address. */
struct kcore_segment {
	uint64_t address;
	const uint8_t *code;
	size_t size;
};

/* Writes some segments, no more than 8, as the file kcore; returns the path, to be freed. */
char *kcore_file_of(const struct temp_dir *dir, const struct kcore_segment *segment, size_t count);

/* Writes @size bytes of @code as what stands at @address; returns the path, to be freed. */
char *kcore_file(const struct temp_dir *dir, uint64_t address, const uint8_t *code, size_t size);

#endif
