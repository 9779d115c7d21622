/* tools/dump/dump_options.h - the command line of sbtrace dump, parsed. */
#ifndef TOOLS_DUMP_DUMP_OPTIONS_H
#define TOOLS_DUMP_DUMP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <intel-pt.h>

#include "job/job.h"
#include "options.h"

enum { dump_types = 128 }; /* numbers of record types */

struct dump_options {
	const char *path, *output;
	bool json, raw, quiet, no_time, no_pad, no_sync;
	uint64_t from, to;
	/* --sideband: records instead of packets, of these types when there are any */
	bool sideband, has_types;
	bool type[dump_types];
	struct job_list cpu;
	/* How the trace was recorded: those given, on top of what a recording says. */
	bool has_model, has_mtc_freq, has_nom_freq, has_cpuid;
	struct pt_config config;
};

enum options_result dump_options_parse(struct dump_options *options, int argc, char **argv);
void dump_options_free(struct dump_options *options);

/* The number that records of this type are counted as: 0 for all whose type has no name. */
uint32_t dump_type(uint32_t type);

/* Puts what was given on top of *config. */
void dump_options_configure(const struct dump_options *options, struct pt_config *config);

#endif
