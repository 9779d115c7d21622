/* run_command.c - see run_command.h. */
#include "cluster/run_command.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int start(const char *const argv[], bool quiet, int output, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int reason = posix_spawn_file_actions_init(&actions);

	if (reason)
		return reason;
	reason = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!reason)
		reason = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!reason && quiet)
		reason = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (!reason)
		reason = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return reason;
}

static int read_all(int fd, char **text, const char *name, struct sb_error *err)
{
	size_t size = 0;
	FILE *to = open_memstream(text, &size), *from = fdopen(fd, "r");
	char buffer[16384];
	size_t n, all = 0;

	if (!from)
		close(fd);
	while (to && from && all <= run_command_most && (n = fread(buffer, 1, sizeof(buffer), from)) > 0)
		all += fwrite(buffer, 1, n, to);
	if (from)
		fclose(from);
	if (!to || fclose(to) || !from)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	if (all > run_command_most)
		return sb_error_set(err, -sbe_unsupported, name, UINT64_MAX, "prints more than %d MiB",
		                    run_command_most >> 20);
	return 0;
}

int run_command(const char *const argv[], bool quiet, char **text, struct sb_error *err)
{
	int pipes[2], reason, status, code;
	pid_t pid;

	*text = NULL;
	if (pipe2(pipes, O_CLOEXEC))
		return sb_error_set(err, -sbe_io, NULL, UINT64_MAX, "no pipe: %s", strerror(errno));
	reason = start(argv, quiet, pipes[1], &pid);
	close(pipes[1]);
	if (reason) {
		close(pipes[0]);
		return sb_error_set(err, reason == ENOENT ? -sbe_not_found : -sbe_io, argv[0], UINT64_MAX,
		                    "cannot be run: %s", strerror(reason));
	}
	code = read_all(pipes[0], text, argv[0], err);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!code && !WIFEXITED(status))
		code = sb_error_set(err, -sbe_io, argv[0], UINT64_MAX, "was ended by signal %d",
		                    WTERMSIG(status));
	if (!code)
		return WEXITSTATUS(status);
	free(*text);
	*text = NULL;
	return code;
}
