/* code_file.c - see code_file.h. */
#include "support/code_file.h"

#include <stdlib.h>

void code_file_make(struct code_file *code)
{
	uint32_t random = 1;

	for (size_t i = 0; i < code_file_size; i++) {
		random = random * 1664525u + 1013904223u;
		code->content[i] = (uint8_t)(random >> 24);
	}
	temp_dir_make(&code->dir);
	code->file = temp_dir_write(&code->dir, "code", code->content, code_file_size);
}

void code_file_remove(struct code_file *code)
{
	temp_dir_remove(&code->dir);
	free(code->file);
}
