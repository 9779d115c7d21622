/* A case: a trace, the code it ran, how it is to be decoded and, when it is known, the truth. */
#ifndef DIFF_CASE_H
#define DIFF_CASE_H

#include <stddef.h>
#include <stdint.h>

/* A piece of code: [offset, offset + size) of a file, at vaddr. */
struct case_section {
	char path[256];
	uint64_t offset, size, vaddr;
	const uint8_t *bytes; /* the same, mapped */
	int fd;               /* of an unnamed file, else -1 */
};

/* Order of the bits as in struct pt_errata. */
enum case_erratum {
	err_bdm70 = 1,
	err_bdm64 = 2,
	err_skd007 = 4,
	err_skd022 = 8,
	err_skd010 = 16,
	err_skl014 = 32,
	err_apl12 = 64,
	err_apl11 = 128,
	err_skl168 = 256,
	err_skz84 = 512
};

enum case_flag { flag_tick = 1, flag_end_on_call = 2, flag_end_on_jump = 4 };

enum { case_max_sections = 256, case_max_filters = 4 };

struct case_filter {
	uint8_t config; /* 0 off, 1 trace inside, 2 stop inside */
	uint64_t a, b;
};

struct diff_case {
	char name[128];
	int damaged;    /* the trace is not as a CPU wrote it */
	int shared;     /* the sections belong to another case */
	uint8_t *trace; /* owned */
	size_t size;
	struct case_section section[case_max_sections]; /* later ones lie over earlier ones */
	size_t nsections;

	int estimates; /* there may be MTC or CYC packets */
	uint16_t family;
	uint8_t model, stepping;
	unsigned errata; /* enum case_erratum */
	uint32_t eax, ebx;
	uint8_t mtc_freq, nom_freq;
	unsigned flags; /* enum case_flag */
	struct case_filter filter[case_max_filters];

	/* The addresses of the instructions that ran, when the trace is a valid one; owned. A decoder may
	 * go on behind the last one until it needs trace. */
	uint64_t *truth;
	size_t ntruth;
};

void case_free(struct diff_case *c);

/* Both: zero, or -1 with a message on stderr. */
int case_set_trace(struct diff_case *c, const char *path);
int case_add_file(struct diff_case *c, const char *path, uint64_t offset, uint64_t size, uint64_t vaddr);

/* Code from memory, in an unnamed file that both libraries can open. */
int case_add_bytes(struct diff_case *c, const uint8_t *bytes, size_t size, uint64_t vaddr);

/* Up to @size bytes at @vaddr; how many there are. */
size_t case_read(const struct diff_case *c, uint64_t vaddr, uint8_t *bytes, size_t size);

/* Writes trace and code into the directory @dir and prints the pt_diff options that use them. */
int case_save(const struct diff_case *c, const char *dir);

#endif
