/* The code of a case: assembled by as, linked by ld to the addresses that the case gives, read back
 * from the ELF file, and written to files for an image. */
#ifndef CASE_PROGRAM_H
#define CASE_PROGRAM_H

#include <stdio.h>

#include "case_file.h"

struct program_section {
	uint64_t address;
	uint8_t *bytes; /* owned */
	size_t size;
	int bits;
	struct pt_asid asid;
	char path[96]; /* of the file with these bytes */
};

struct program_label {
	char *name; /* owned */
	uint64_t address;
};

struct program {
	struct program_section section[case_max_code];
	size_t nsections;
	struct program_label *label; /* owned, in the order of addresses */
	size_t nlabels;
	char directory[64]; /* temporary; empty: none */
};

enum { program_no_tools = 1 };

/* Zero; program_no_tools when there is no assembler; -1 and a complaint on stderr. */
int program_make(struct program *program, const struct case_file *file);
void program_free(struct program *program);

/* A number, a label, or a label with "+number" behind it. -1: neither. */
int program_value(const struct program *program, const char *word, uint64_t *value);

/* Writes @address as a label, a label and a distance, or a number. */
void program_print_address(FILE *out, const struct program *program, uint64_t address);

/* Reads code as the image does. Returns how many bytes there are. */
size_t program_read(const struct program *program, const struct pt_asid *asid, uint64_t address,
                    uint8_t *buffer, size_t size);

#endif
