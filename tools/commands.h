/* tools/commands.h - the subcommands of sbtrace, one function and one file (cmd_NAME.c) each.
 *
 * argv[0] is the name of the subcommand; the caller keeps argv. The returned value is the exit
 * status of the program. To add one: declare it here, add a row to the table in sbtrace.c.
 */
#ifndef TOOLS_COMMANDS_H
#define TOOLS_COMMANDS_H

enum {
	exit_fine = 0,
	exit_error = 1,     /* something went wrong, and stderr says what */
	exit_usage = 2,     /* the command line makes no sense */
	exit_gaps = 3,      /* all went well, but there are gaps, and --strict was given */
	exit_unfinished = 3 /* all goes well, but others are still at it */
};

int cmd_replay(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_bundle(int argc, char **argv);
int cmd_job(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_events(int argc, char **argv);

#endif
