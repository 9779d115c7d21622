/* tools/dump/sideband.h - sbtrace dump --sideband: the records of a recording, one by one, and how many there
 * are of each type. */
#ifndef TOOLS_DUMP_SIDEBAND_H
#define TOOLS_DUMP_SIDEBAND_H

#include <stdint.h>

#include <sb/error.h>
#include <sb/perfdata.h>

#include "dump/dump_options.h"
#include "output.h"

/* Of the records that were asked for. */
struct sideband_counts {
	uint64_t type[dump_types]; /* what has no name is counted as type 0 */
	uint64_t total, bytes;     /* without the payload behind records */
	uint64_t outside;          /* records that were not asked for */
};

/* The forms in which records are written. Functions return zero, or negative when the output is broken or
 * memory is short. */
struct sideband_writer {
	struct output *output;
	const struct sb_perfdata *perfdata;
	bool raw;    /* with the bytes */
	void *state; /* the form's own */
};

struct sideband_form {
	int (*open)(struct sideband_writer *writer); /* NULL: there is nothing to be done */
	/* @file: where the records that follow are; only called where there are several. */
	int (*file)(struct sideband_writer *writer, const char *file);
	int (*record)(struct sideband_writer *writer, const struct sb_record *record);
	/* A BPF program whose code is in the recording's header. */
	int (*bpf)(struct sideband_writer *writer, const struct sb_bpf_image *image);
	int (*end)(struct sideband_writer *writer, const struct sideband_counts *counts);
	void (*close)(struct sideband_writer *writer); /* also follows an open() that failed */
};

extern const struct sideband_form sideband_text, sideband_json;

/* The account is written to stderr. Zero; positive when some of the recording is damaged, which was said; or
 * a negative code. */
int sideband_dump(const struct dump_options *options, struct sb_error *err);

#endif
