/* sbtrace.c - the executable: finds the subcommand in a table and hands over. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "nearest.h"
#include "version.h"

struct command_row {
	const char *name;
	const char *about;
	int (*run)(int argc, char **argv);
};

static const struct command_row commands[] = {
        {"record", "record the machine as it runs, or a command step by step", cmd_record},
        {"dump", "the packets of a trace, one by one", cmd_dump},
        {"replay", "what every process of a recording executed", cmd_replay},
        {"job", "check, show, run and verify replays that are described in files", cmd_job},
        {"diff", "what ran in one recording and not in another, and how counts moved", cmd_diff},
        {"events", "what can be counted and traced here, and how it is encoded", cmd_events},
        {"bundle", "the files that a replay elsewhere needs, in one directory", cmd_bundle},
};

enum { ncommands = sizeof(commands) / sizeof(commands[0]) };

static void usage(FILE *file)
{
	fprintf(file,
	        "usage: sbtrace COMMAND [OPTIONS] ...\n       sbtrace --help | --version\n\ncommands:\n");
	for (int i = 0; i < ncommands; i++)
		fprintf(file, "  %-10s %s\n", commands[i].name, commands[i].about);
	fprintf(file, "\n'sbtrace COMMAND --help' tells the options of a command.\n");
}

static int unknown(const char *word)
{
	struct nearest nearest;

	nearest_begin(&nearest, word);
	for (int i = 0; i < ncommands; i++)
		nearest_offer(&nearest, commands[i].name);
	fprintf(stderr, "sbtrace: there is no command '%s'", word);
	if (nearest.best)
		fprintf(stderr, "; did you mean '%s'?", nearest.best);
	fprintf(stderr, "\nTry 'sbtrace --help'.\n");
	return exit_usage;
}

static int run(int argc, char **argv)
{
	if (argc < 2) {
		usage(stderr);
		return exit_usage;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return exit_fine;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("sbtrace %s\n", sbtrace_version);
		return exit_fine;
	}
	for (int i = 0; i < ncommands; i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	return unknown(argv[1]);
}

/* Whatever was printed has arrived, or it is told; a reader who went away is fine. */
static int finish(int status)
{
	const int failed = ferror(stdout);

	errno = 0;
	if ((!fflush(stdout) && !failed) || errno == EPIPE)
		return status;
	fprintf(stderr, "sbtrace: standard output: write failed%s%s\n", errno ? ": " : "",
	        errno ? strerror(errno) : "");
	return exit_error;
}

/* What is opened later would be taken for one that is closed: messages would be written into a recording.
 * What is written to it fails as before. */
static void open_standard_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	open_standard_streams();
	return finish(run(argc, argv));
}
