/* live_command.c - see live_command.h. Both connections are closed by exec; the one that the command waits
 * for also ends when the recorder does, however it ends, and then the command ends, too.
 */
#include "capture/live_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { exit_not_run = 127 };

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static _Noreturn void run(char *const argv[], const int go[2], const int failed[2])
{
	int error;
	ssize_t size;
	char byte;

	close(go[1]);
	close(failed[0]);
	do /* handlers are still the caller's */
		size = read(go[0], &byte, 1);
	while (size < 0 && errno == EINTR);
	if (size != 1)
		_exit(exit_not_run);
	execvp(argv[0], argv);
	error = errno;
	if (write(failed[1], &error, sizeof(error)) < 0)
		_exit(exit_not_run + 1);
	_exit(exit_not_run);
}

int live_command_start(struct live_command *command, char *const argv[], struct sb_error *err)
{
	int go[2] = {-1, -1}, failed[2] = {-1, -1};
	pid_t pid = -1;

	*command = (struct live_command){.go = -1, .failed = -1};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) == 0 && pipe2(failed, O_CLOEXEC) == 0)
		pid = fork();
	if (pid == 0)
		run(argv, go, failed);
	close_fd(&go[0]);
	close_fd(&failed[1]);
	if (pid < 0) {
		const int error = errno;

		close_fd(&go[1]);
		close_fd(&failed[0]);
		return sb_error_set(err, -sbe_io, argv[0], UINT64_MAX, "it cannot be started: %s",
		                    strerror(error));
	}
	*command = (struct live_command){.pid = pid, .go = go[1], .failed = failed[0]};
	return 0;
}

int live_command_let_go(struct live_command *command)
{
	/* One that was killed meanwhile does not listen: that is no reason to end without a word. */
	const ssize_t size = send(command->go, "", 1, MSG_NOSIGNAL);

	close_fd(&command->go);
	return size == 1 ? 0 : -1;
}

int live_command_ran(struct live_command *command, int is_gone, const char *name, struct sb_error *err)
{
	int error = 0;
	ssize_t size;

	do
		size = read(command->failed, &error, sizeof(error));
	while (size < 0 && errno == EINTR);
	close_fd(&command->failed);
	if (!error && !is_gone)
		return 0;
	return sb_error_set(err, -sbe_not_found, name, UINT64_MAX, "it cannot be run: %s",
	                    error ? strerror(error) : "it was killed before");
}

int live_command_go(struct live_command *command, const char *name, struct sb_error *err)
{
	const int is_gone = live_command_let_go(command) < 0;
	const int status = live_command_ran(command, is_gone, name, err);

	if (status < 0)
		live_command_ended(command, 1);
	return status;
}

int live_command_ended(struct live_command *command, int wait)
{
	pid_t pid;

	if (!command->pid)
		return 1;
	do
		pid = waitpid(command->pid, &command->status, wait ? 0 : WNOHANG);
	while (pid < 0 && errno == EINTR);
	if (!pid)
		return 0;
	command->pid = 0;
	return 1;
}

void live_command_stop(struct live_command *command, int number)
{
	close_fd(&command->go);
	close_fd(&command->failed);
	if (command->pid)
		kill(command->pid, number);
}
