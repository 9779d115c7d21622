/* cmd_diff.c - `sbtrace diff`: what ran in one recording and not in the other, and how counts moved.
 *
 * Each side is a recording, which is replayed to a tally in a temporary file, or such a file that
 * `sbtrace replay --sink tally` wrote. */
#include "commands.h"

#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "count/tally.h"
#include "diff/difference.h"
#include "diff/difference_print.h"
#include "interrupt.h"
#include "job/job_replay.h"
#include "replay_options.h"
#include "tell.h"

struct diff_command {
	struct replay_command replay; /* first: the target of the options of replays */
	const char *side[2];
	size_t nsides;
	enum tally_by by;
	bool by_given;    /* else what tallies are by is fine */
	size_t ntallies;  /* sides that are none that is replayed */
	const char *file; /* glob(7); NULL: all */
	uint64_t most;    /* rows of each kind; 0: all */
	bool json;
};

static int take_by(void *target, const char *value, struct option_error *error)
{
	struct diff_command *command = target;

	for (int by = 0; by < tally_bys; by++)
		if (!strcmp(value, tally_by_name[by])) {
			command->by = (enum tally_by)by;
			command->by_given = true;
			return 0;
		}
	return option_fail(error, "expected function, line or block, found '%s'", value);
}

static int take_file(void *target, const char *value, struct option_error *error)
{
	return option_pattern(&((struct diff_command *)target)->file, value, error);
}

static int take_most(void *target, const char *value, struct option_error *error)
{
	return option_number(value, 0, UINT32_MAX, &((struct diff_command *)target)->most, error);
}

static int take_json(void *target, const char *value, struct option_error *error)
{
	(void)value;
	(void)error;
	((struct diff_command *)target)->json = true;
	return 0;
}

static int take_side(void *target, const char *value, struct option_error *error)
{
	struct diff_command *command = target;

	if (command->nsides == 2)
		return option_fail(error, "there are two recordings already");
	command->side[command->nsides++] = value;
	return 0;
}

static const struct option_row own_rows[] = {
        {"by", 0, "WHAT", "compare each function (the default), line or block", take_by},
        {"file", 0, "GLOB", "only code of files whose name, as recorded, matches", take_file},
        {"most", 0, "N", "tell at most N rows of each kind (default: 40; 0: all)", take_most},
        {"json", 0, NULL, "write JSON, not text", take_json},
};

/* What of a replay's options has no place here. */
static bool is_foreign(const struct option_row *row)
{
	static const char *const names[] = {"sink",   "with",     "symbols", "strict",  "set",
	                                    "resume", "progress", "bundle",  "address", "function"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(row->name, names[i]))
			return true;
	return false;
}

/* ---- The sides -------------------------------------------------------------------------------- */

static int set_up_job(struct diff_command *command, struct sb_error *err)
{
	struct job *job = &command->replay.job;
	struct option_error error;

	if (job_add_sink(job, "tally", "-", &error) ||
	    job_add_setting(job, "by", tally_by_name[command->by], &error) ||
	    (command->file && job_add_setting(job, "file", command->file, &error)))
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "%s", error.why);
	return 0;
}

static int replay_to(struct diff_command *command, const char *recording, char *file, struct tally *tally,
                     struct sb_error *err)
{
	const struct job_replay_request request = {.command = "sbtrace diff",
	                                           .job = &command->replay.job,
	                                           .recording = recording,
	                                           .file = &file};
	enum job_replay_end end;
	int code = job_replay(&request, &end, NULL, err);

	if (!code && end == job_replay_wrong)
		return sb_error_set(err, -sbe_decode, recording, UINT64_MAX, "the account does not add up");
	return code ? code : tally_read(tally, file, err);
}

static int replay(struct diff_command *command, const char *recording, struct tally *tally,
                  struct sb_error *err)
{
	const char *where = getenv("TMPDIR");
	char directory[4096], file[sizeof(directory) + 16];
	int code;

	snprintf(directory, sizeof(directory), "%s/sbtrace-diff-XXXXXX", where && *where ? where : "/tmp");
	if (!mkdtemp(directory))
		return sb_error_set(err, -sbe_io, directory, UINT64_MAX, "cannot be made: %s",
		                    strerror(errno));
	snprintf(file, sizeof(file), "%s/tally", directory);
	code = replay_to(command, recording, file, tally, err);
	unlink(file);
	rmdir(directory);
	return code;
}

/* What a replay would have left out. Lines of source do not tell which file they ran in. */
static int narrow(const struct diff_command *command, const char *side, struct tally *tally,
                  struct sb_error *err)
{
	size_t kept = 0;

	if (command->by_given && tally->by != command->by)
		return sb_error_set(err, -sbe_mismatch, side, UINT64_MAX, "is by %s, not by %s as asked for",
		                    tally_by_name[tally->by], tally_by_name[command->by]);
	if (!command->file)
		return 0;
	if (tally->by == tally_line)
		return sb_error_set(
		        err, -sbe_mismatch, side, UINT64_MAX,
		        "is by line, and does not tell which file that ran in: give 'file' to the "
		        "sink tally that writes it");
	for (size_t i = 0; i < tally->nrows; i++)
		if (!fnmatch(command->file, tally->row[i].file, 0))
			tally->row[kept++] = tally->row[i];
	tally->nrows = kept;
	return 0;
}

static int read_side(struct diff_command *command, const char *side, struct tally *tally,
                     struct sb_error *err)
{
	const int code = tally_read(tally, side, err);

	command->ntallies += code == 0;
	if (code <= 0)
		return code ? code : narrow(command, side, tally, err);
	tally_fini(tally);
	return replay(command, side, tally, err);
}

/* What was replayed before cannot be filtered any more. */
static int check_filter(const struct diff_command *command, struct sb_error *err)
{
	const struct job_filter *filter = &command->replay.job.filter;

	if (command->ntallies < 2 ||
	    (!filter->cpu.count && !filter->pid.count && !filter->container.count && !filter->cgroup.count &&
	     !filter->comm.count && filter->from.unit == job_time_open && filter->to.unit == job_time_open))
		return 0;
	return sb_error_set(
	        err, -sbe_mismatch, command->side[0], UINT64_MAX,
	        "is, as %s, what sink tally wrote, and does not tell CPUs, threads and times: give "
	        "such filters to the replays that write them",
	        command->side[1]);
}

/* ---- The command ------------------------------------------------------------------------------ */

static int print(const struct diff_command *command, const struct tally *a, const struct tally *b,
                 struct sb_error *err)
{
	struct difference difference;
	struct difference_print what = {.difference = &difference,
	                                .by = a->by,
	                                .a = command->side[0],
	                                .b = command->side[1],
	                                .most = command->most};
	struct output *output;
	int code = output_open(&output, NULL, err);

	if (code)
		return code;
	if (difference_make(&difference, a, b))
		code = sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	else if ((command->json ? difference_print_json : difference_print_text)(&what, output) &&
	         !output->broken)
		code = sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	difference_fini(&difference);
	if (!code)
		code = output_commit(output, err);
	output_close(output);
	return code;
}

static int diff(struct diff_command *command, struct sb_error *err)
{
	struct tally tally[2] = {{0}, {0}};
	int code = set_up_job(command, err);

	for (int i = 0; i < 2 && !code; i++)
		code = read_side(command, command->side[i], &tally[i], err);
	if (!code)
		code = check_filter(command, err);
	if (!code && tally[0].by != tally[1].by)
		code = sb_error_set(err, -sbe_mismatch, command->side[1], UINT64_MAX,
		                    "is by %s, while %s is by %s", tally_by_name[tally[1].by],
		                    command->side[0], tally_by_name[tally[0].by]);
	if (!code)
		code = print(command, &tally[0], &tally[1], err);
	tally_fini(&tally[0]);
	tally_fini(&tally[1]);
	return code;
}

static enum options_result parse(int argc, char **argv, struct diff_command *command)
{
	enum { nown = sizeof(own_rows) / sizeof(own_rows[0]) };
	struct option_row *row = calloc(nown + nreplay_option_rows, sizeof(*row));
	struct option_table options = {
	        .command = "sbtrace diff",
	        .usage = "[OPTIONS] A B",
	        .about =
	                "What ran in recording A and not in B, or in B and not in A, and how often in each.\n"
	                "Each is a recording as for sbtrace replay, or a file that its sink tally wrote.\n",
	        .row = row,
	        .operand = take_side,
	};
	enum options_result result;

	if (!row) {
		fprintf(stderr, "sbtrace diff: out of memory\n");
		return options_wrong;
	}
	memcpy(row, own_rows, sizeof(own_rows));
	options.nrows = nown;
	for (size_t i = 0; i < nreplay_option_rows; i++)
		if (!is_foreign(&replay_option_rows[i]))
			row[options.nrows++] = replay_option_rows[i];
	result = options_parse(&options, argc, argv, command, NULL);
	free(row);
	if (result == options_done && command->nsides != 2) {
		fprintf(stderr, "sbtrace diff: which two recordings?\nTry 'sbtrace diff --help'.\n");
		result = options_wrong;
	}
	return result;
}

int cmd_diff(int argc, char **argv)
{
	struct diff_command command = {.most = 40};
	const enum options_result result = parse(argc, argv, &command);
	struct sb_error err = {0};
	int status = result == options_wrong ? exit_usage : exit_fine;

	/* A reader who goes away is seen as EPIPE, by the output that he read. */
	signal(SIGPIPE, SIG_IGN);
	if (result == options_done && diff(&command, &err)) {
		tell("sbtrace diff", "", &err);
		status = exit_error;
	}
	replay_command_free(&command.replay);
	interrupt_end();
	return status;
}
