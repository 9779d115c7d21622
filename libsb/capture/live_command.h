/* live_command.h - the command that a recording is of, live or in software: it waits before exec until all is
 * set up. */
#ifndef SB_LIVE_COMMAND_H
#define SB_LIVE_COMMAND_H

#include <sys/types.h>

#include <sb/error.h>

struct live_command {
	pid_t pid;      /* 0: none, or it has been waited for */
	int go, failed; /* connections: a byte lets it run; its errno comes when exec failed. -1: closed */
	int status;     /* of wait(2) */
};

/* Ready for exec. */
int live_command_start(struct live_command *command, char *const argv[], struct sb_error *err);
/* Off it goes: zero when exec was done. */
int live_command_go(struct live_command *command, const char *name, struct sb_error *err);

/* The same in two steps, for who has to attend to it in between. Zero: it may run; -1: it is gone. */
int live_command_let_go(struct live_command *command);
/* Behind exec, or its end; @is_gone: the latter is known. Zero when exec was done. */
int live_command_ran(struct live_command *command, int is_gone, const char *name, struct sb_error *err);

/* Whether it has ended; then .status is known. @wait: until it has. */
int live_command_ended(struct live_command *command, int wait);
/* It never ran, or it gets a signal, and is to be waited for. */
void live_command_stop(struct live_command *command, int number);

#endif
