/* open_session.c - how long a recording takes until a replay of it could begin.
 *
 *   open_session FILE model|session
 *
 * Prints the processor time, in seconds, that building the model takes, or opening a session, which does
 * more.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <sb/perfdata.h>
#include <sb/replay.h>
#include <sb/system.h>

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int build_model(const struct sb_perfdata *perfdata, struct sb_error *err)
{
	struct sb_system *system;
	const int status = sb_system_build(&system, perfdata, err);

	if (status == 0)
		sb_system_free(system);
	return status;
}

static int open_session(const struct sb_perfdata *perfdata, struct sb_error *err)
{
	const struct sb_replay_options options = {.size = sizeof(options), .no_host_root = 1};
	struct sb_session *session;
	const int status = sb_session_open(&session, perfdata, &options, err);

	if (status == 0)
		sb_session_close(session);
	return status;
}

int main(int argc, char **argv)
{
	struct sb_perfdata *perfdata;
	struct sb_error err = {0};
	char text[1024];
	double begin;
	int status;

	if (argc != 3 || (strcmp(argv[2], "model") != 0 && strcmp(argv[2], "session") != 0)) {
		fputs("usage: open_session FILE model|session\n", stderr);
		return 2;
	}
	begin = now();
	status = sb_perfdata_open(&perfdata, argv[1], &err);
	if (status == 0) {
		status = (strcmp(argv[2], "model") == 0 ? build_model : open_session)(perfdata, &err);
		sb_perfdata_close(perfdata);
	}
	if (status < 0) {
		fprintf(stderr, "open_session: %s\n", sb_error_string(&err, text, sizeof(text)));
		return 1;
	}
	printf("%.3f\n", now() - begin);
	return 0;
}
