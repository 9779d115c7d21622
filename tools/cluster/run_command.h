/* tools/cluster/run_command.h - runs a program of the batch system and takes what it prints. */
#ifndef TOOLS_CLUSTER_RUN_COMMAND_H
#define TOOLS_CLUSTER_RUN_COMMAND_H

#include <stdbool.h>

#include <sb/error.h>

enum { run_command_most = 256 << 20 /* bytes of output that are taken */ };

/* @argv[0] is looked for in PATH. Its exit status, with what it printed in *text (to be freed); or a negative
 * code: it is not there (-sbe_not_found), was ended by a signal, or prints too much. @quiet: its standard
 * error is thrown away. */
int run_command(const char *const argv[], bool quiet, char **text, struct sb_error *err);

#endif
