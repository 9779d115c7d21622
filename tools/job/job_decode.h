/* tools/job/job_decode.h - what a job says of the processor, as the decoder wants it. */
#ifndef TOOLS_JOB_DECODE_H
#define TOOLS_JOB_DECODE_H

#include <intel-pt.h>

#include "job/job.h"

struct job_decoding {
	bool has_cpu, has_errata;
	struct pt_cpu cpu;
	struct pt_errata errata;
};

/* Errata by name; with "none" in the list, none. */
int job_decoding_of(const struct job_decode *decode, struct job_decoding *decoding, struct sb_error *err);

/* The names, NULL behind the last. */
extern const char *const job_errata[];

#endif
