/* fetch_command.c - see fetch_command.h. The command is the leader of a process group of its own, so that
 * what it started can be killed with it. */
#include "job/fetch_command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interrupt.h"

extern char **environ;

enum {
	tick = 200,      /* ms between looks at the clock, and at interrupts */
	said_most = 160, /* bytes of what the command says that are told: its last ones */
};

enum ending { ended_itself, ended_late, ended_by_interrupt, ended_too_long };

struct running {
	const struct fetch_command *command;
	pid_t pid;
	int output, errors;  /* pipes; negative: closed */
	int is_gone, status; /* the program is; waitpid()'s */
	size_t came;
	enum ending ending;
	char said[said_most + 1];
	size_t nsaid;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* ---- Starting --------------------------------------------------------------------------------- */

/* What we ignore, it shall not. */
static int set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t defaults, none;
	int reason;

	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	reason = posix_spawnattr_setsigdefault(attributes, &defaults);
	if (!reason)
		reason = posix_spawnattr_setsigmask(attributes, &none);
	if (!reason)
		reason = posix_spawnattr_setpgroup(attributes, 0);
	return reason ? reason
	              : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
	                                                             POSIX_SPAWN_SETPGROUP);
}

static int spawn(struct running *running, int output, int errors)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int reason = posix_spawn_file_actions_init(&actions);

	if (reason)
		return reason;
	reason = posix_spawnattr_init(&attributes);
	if (!reason) {
		reason = set_attributes(&attributes);
		if (!reason)
			reason = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
			                                          O_RDONLY, 0);
		if (!reason)
			reason = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
		if (!reason)
			reason = posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
		if (!reason)
			reason = posix_spawnp(&running->pid, running->command->argv[0], &actions, &attributes,
			                      running->command->argv, environ);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&actions);
	return reason;
}

/* Zero, or why not. */
static int start(struct running *running)
{
	int output[2], errors[2], reason;

	if (pipe2(output, O_CLOEXEC))
		return errno;
	if (pipe2(errors, O_CLOEXEC)) {
		reason = errno;
		close(output[0]);
		close(output[1]);
		return reason;
	}
	reason = spawn(running, output[1], errors[1]);
	close(output[1]);
	close(errors[1]);
	running->output = output[0];
	running->errors = errors[0];
	return reason;
}

/* ---- Reading ---------------------------------------------------------------------------------- */

static void close_pipe(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* One byte more than there is room for is too much. */
static void read_output(struct running *running)
{
	const struct fetch_command *command = running->command;
	char more;
	ssize_t n;

	if (running->came < command->size)
		n = read(running->output, (char *)command->bytes + running->came,
		         command->size - running->came);
	else
		n = read(running->output, &more, 1);
	if (n > 0 && running->came == command->size)
		running->ending = ended_too_long;
	else if (n > 0)
		running->came += (size_t)n;
	else if (n == 0 || errno != EINTR)
		close_pipe(&running->output);
}

/* The last bytes count. */
static void read_errors(struct running *running)
{
	char text[4096];
	const ssize_t n = read(running->errors, text, sizeof(text));
	size_t size = n > 0 ? (size_t)n : 0, kept;

	if (n == 0 || (n < 0 && errno != EINTR))
		close_pipe(&running->errors);
	kept = size < said_most ? size : said_most;
	if (running->nsaid + kept > said_most) {
		const size_t gone = running->nsaid + kept - said_most;

		running->nsaid -= gone;
		memmove(running->said, running->said + gone, running->nsaid);
	}
	memcpy(running->said + running->nsaid, text + size - kept, kept);
	running->nsaid += kept;
}

/* What it left behind may hold the pipe for errors open. */
static int is_over(struct running *running)
{
	if (!running->is_gone)
		running->is_gone = waitpid(running->pid, &running->status, WNOHANG) == running->pid;
	return running->is_gone && running->output < 0;
}

static void read_all(struct running *running)
{
	const double deadline = now() + (double)running->command->timeout;

	while (running->ending == ended_itself && !is_over(running)) {
		struct pollfd pipes[] = {{running->output, POLLIN, 0}, {running->errors, POLLIN, 0}};
		/* With both closed, it is as good as gone. */
		const int ready = poll(pipes, 2, running->output < 0 && running->errors < 0 ? 1 : tick);

		if (ready > 0 && pipes[0].revents)
			read_output(running);
		if (ready > 0 && pipes[1].revents)
			read_errors(running);
		if (interrupt_came())
			running->ending = ended_by_interrupt;
		else if (running->ending == ended_itself && now() > deadline)
			running->ending = ended_late;
	}
}

/* ---- Ending ----------------------------------------------------------------------------------- */

/* What it said, in one line, behind ": it said". */
static const char *quote(struct running *running, char text[said_most + 32])
{
	char *at = running->said;

	while (running->nsaid && running->said[running->nsaid - 1] <= ' ')
		running->nsaid--;
	running->said[running->nsaid] = '\0';
	for (; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = ' ';
	text[0] = '\0';
	if (running->nsaid)
		snprintf(text, said_most + 32, "; it said: %s", running->said);
	return text;
}

static int failed(struct running *running, struct sb_error *err, const char *how)
{
	const struct fetch_command *command = running->command;
	char said[said_most + 32];

	return sb_error_set(err, -sbe_io, command->url, command->offset,
	                    "the command '%s' %s, after %zu of %s%zu bytes%s", command->argv[0], how,
	                    running->came, command->is_exact ? "" : "at most ", command->size,
	                    quote(running, said));
}

static int64_t judge(struct running *running, struct sb_error *err)
{
	const int status = running->status;
	const struct fetch_command *command = running->command;
	char how[64];

	switch (running->ending) {
	case ended_by_interrupt:
		return sb_error_set(err, -sbe_stop, command->url, UINT64_MAX, "interrupted");
	case ended_late:
		snprintf(how, sizeof(how), "was not done in %" PRIu64 " seconds and was killed",
		         command->timeout);
		return failed(running, err, how);
	case ended_too_long:
		return failed(running, err, "goes on printing");
	case ended_itself:
		break;
	}
	if (WIFSIGNALED(status)) {
		snprintf(how, sizeof(how), "was ended by signal %d", WTERMSIG(status));
		return failed(running, err, how);
	}
	if (WEXITSTATUS(status)) {
		snprintf(how, sizeof(how), "failed with status %d", WEXITSTATUS(status));
		return failed(running, err, how);
	}
	if (command->is_exact && running->came < command->size)
		return failed(running, err, "ended well, but too early");
	return (int64_t)running->came;
}

/* All that it prints, and its end. */
static void finish(struct running *running)
{
	read_all(running);
	if (running->ending != ended_itself)
		kill(-running->pid, SIGKILL);
	close_pipe(&running->output);
	close_pipe(&running->errors);
	while (!running->is_gone && waitpid(running->pid, &running->status, 0) < 0 && errno == EINTR)
		;
}

int64_t fetch_command_run(const struct fetch_command *command, struct sb_error *err)
{
	struct running running = {.command = command, .output = -1, .errors = -1};
	struct interrupt_watch watch;
	int reason;

	/* Else the command, which is in a group of its own, would outlive us. */
	interrupt_watch(&watch);
	reason = start(&running);
	if (!reason)
		finish(&running);
	interrupt_unwatch(&watch);
	if (reason) {
		close_pipe(&running.output);
		close_pipe(&running.errors);
		return sb_error_set(err, reason == ENOENT ? -sbe_not_found : -sbe_io, command->url,
		                    command->offset, "the command '%s' cannot be run: %s", command->argv[0],
		                    strerror(reason));
	}
	return judge(&running, err);
}
