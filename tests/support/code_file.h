/* A file of pseudo-random bytes that a test knows, in a directory of its own. */
#ifndef TEST_CODE_FILE_H
#define TEST_CODE_FILE_H

#include <stdint.h>

#include "support/temp_dir.h"

enum { code_file_size = 400000 }; /* too large for a copy: it is mapped */

struct code_file {
	struct temp_dir dir;
	char *file;
	uint8_t content[code_file_size];
};

void code_file_make(struct code_file *code);
void code_file_remove(struct code_file *code);

#endif
