/* A file in memory that has a name, for sections. Its content is set anew for each input; no section of an
 * earlier input is in use then. */
#ifndef FUZZ_MEMORY_FILE_H
#define FUZZ_MEMORY_FILE_H

#include <stddef.h>
#include <stdint.h>

struct memory_file {
	int fd;
	char name[32];
};

void memory_file_open(struct memory_file *file);
void memory_file_set(struct memory_file *file, const uint8_t *bytes, size_t size);

#endif
