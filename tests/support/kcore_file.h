/* A kcore with one segment of code. */
#ifndef TEST_KCORE_FILE_H
#define TEST_KCORE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "support/temp_dir.h"

/* Writes @size bytes of @code, no more than 4096, as what stands at @address; returns the path, to be freed. */
char *kcore_file(const struct temp_dir *dir, uint64_t address, const uint8_t *code, size_t size);

#endif
