/* tools/job/job_decode.h - what a job says of the processor, as the decoder wants it. */
#ifndef TOOLS_JOB_DECODE_H
#define TOOLS_JOB_DECODE_H

#include <intel-pt.h>

#include "job/job.h"

struct job_decoding {
	bool has_cpu, has_errata, tsc_alone;
	uint32_t without_evidence; /* as in sb_replay_options */
	struct pt_cpu cpu;
	struct pt_errata errata;
};

/* Errata by name. */
int job_decoding_of(const struct job_decode *decode, struct job_decoding *decoding, struct sb_error *err);

/* The names, NULL behind the last. */
extern const char *const job_errata[], *const job_time_sources[], *const job_switch_evidence[];

/* "none" goes with no other word of a list: whether @word may be added. Zero, or -1 with the reason. */
int job_decode_check_none(const struct job_texts *words, const char *word, struct option_error *error);

/* For the command line: "tsc"; "addresses,page_tables". Zero, or -1 with the reason. */
int job_decode_set_time_source(struct job_decode *decode, const char *text, struct option_error *error);
int job_decode_set_evidence(struct job_decode *decode, const char *text, struct option_error *error);

#endif
