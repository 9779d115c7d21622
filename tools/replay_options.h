/* tools/replay_options.h - the command line of everything that replays: sbtrace replay, sbtrace job. */
#ifndef TOOLS_REPLAY_OPTIONS_H
#define TOOLS_REPLAY_OPTIONS_H

#include "job/job.h"
#include "job/job_run.h"
#include "options.h"

struct replay_command {
	struct job job; /* first: the target of the options for files */
	struct job_variables set;
	struct job_run_options options;
};

extern const struct option_row replay_option_rows[];
extern const size_t nreplay_option_rows;

/* The operand: a recording, or a job that names one. */
option_set replay_take_recording;

/* Whether the options make sense together: zero, or -1 with the reason. */
int replay_command_check(const struct replay_command *command, struct option_error *error);

/* When the operand is a job, reads it; what the command line says goes on top of it. */
int replay_command_read(struct replay_command *command, struct sb_error *err);

void replay_command_free(struct replay_command *command);

#endif
