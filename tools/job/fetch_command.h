/* tools/job/fetch_command.h - runs a command that prints a known number of bytes, and takes them. */
#ifndef TOOLS_JOB_FETCH_COMMAND_H
#define TOOLS_JOB_FETCH_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include <sb/error.h>

struct fetch_command {
	char *const *argv; /* argv[0] is looked for in PATH */
	uint64_t timeout;  /* seconds, after which it is killed */
	const char *url;   /* what it is about, for errors ... */
	uint64_t offset;   /* ... and where in it; UINT64_MAX: nowhere */
	void *bytes;       /* where they go */
	size_t size;       /* room there, and ... */
	int is_exact;      /* ... so many have to come; else at most */
};

/* How many bytes came; or a negative code, and *err says how the command ended, what came, what was expected,
 * and what the command had to say. It and what it started is gone then. An interrupt (interrupt.h) ends it,
 * too. */
int64_t fetch_command_run(const struct fetch_command *command, struct sb_error *err);

#endif
