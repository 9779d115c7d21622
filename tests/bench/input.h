/* input.h - what a decoder decodes: a trace, how it was recorded, and the code at its addresses. */
#ifndef BENCH_INPUT_H
#define BENCH_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include <intel-pt.h>

struct input_section {
	char *path;
	uint64_t offset, size, vaddr;
};

struct input {
	char name[64];
	uint8_t *trace;
	size_t size;
	uint64_t first_psb;            /* its offset */
	struct pt_config config;       /* begin, end and the errata are filled in by input_config() */
	struct input_section *section; /* later ones lie over earlier ones */
	size_t nsections;
};

/* All that make an input: zero, or -1 with a message on stderr (input_free() is right then, too). */

/* NAME of the table of hardware traces, below the corpus. 1: not there. */
int input_hardware(struct input *input, const char *corpus, const char *name);
extern const char *const input_hardware_names[]; /* NULL at the end */

/* One CPU's trace of a recording of one process, and the files that ran, below root. */
int input_recording(struct input *input, const char *name, const char *perf_data, const char *root);

/* A made-up trace that goes round through @nsections files, which are written into @dir: @visits jumps in
 * all, and three blocks for each. */
int input_sections(struct input *input, const char *dir, unsigned nsections, unsigned visits);

int input_add_section(struct input *input, const char *path, uint64_t offset, uint64_t size, uint64_t vaddr);
int input_read_trace(struct input *input, const char *path);
/* To be called when the trace is there. */
int input_find_psb(struct input *input);
void input_free(struct input *input);

#endif
