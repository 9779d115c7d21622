/* tools/record_live.h - sbtrace record without --software: of the machine as it runs. */
#ifndef TOOLS_RECORD_LIVE_H
#define TOOLS_RECORD_LIVE_H

#include <stdbool.h>

#include <sb/recorder.h>

#include "progress.h"

struct record_live {
	struct sb_recorder_config config;
	char **event; /* owned, as are those below */
	size_t nevents;
	pid_t *pid, *tid;
	size_t npids, ntids;
	bool sideband_only, quiet, show_progress;
	struct progress progress;
	const char *bundle; /* a directory; NULL */
	bool old_due;       /* see old_recording.h */
};

/* The first of the options for this kind of recording that was given; NULL: none. */
const char *record_live_option(const struct record_live *live);
/* Whether one of the events is a trace; without any, it is. */
bool record_live_has_trace(const struct record_live *live);
/* Records; @argv NULL: no command. The exit status. */
int record_live(struct record_live *live, int argc, char **argv, char *const *command);
/* Of a command that ended with @status, which is wait(2)'s: as a shell has it. */
int record_exit_status(int status);
void record_live_free(struct record_live *live);

#endif
