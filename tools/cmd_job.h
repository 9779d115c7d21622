/* cmd_job.h - actions of `sbtrace job` with command lines of their own; as in commands.h, argv[0] is the
 * action. */
#ifndef TOOLS_CMD_JOB_H
#define TOOLS_CMD_JOB_H

#include <stdbool.h>

int job_plan_command(int argc, char **argv);
int job_merge_command(int argc, char **argv);
int job_submit_command(int argc, char **argv);
int job_status_command(int argc, char **argv);
/* `job run`, when it is asked for shards. */
bool job_is_shard_run(int argc, char **argv);
int job_shard_run_command(int argc, char **argv);

#endif
