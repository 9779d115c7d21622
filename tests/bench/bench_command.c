/* bench_command.c - one row about commands: how long they take, or how much memory they need.
 *
 * A command is split into words as sh does, and started without one: a shell takes as long as a short
 * replay's tenth part. Its output goes to /dev/null. A child's peak memory includes what its parent had when
 * it was started: that is why this program is a small one.
 */
#include "result.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

struct command {
	const char *name, *text;
	wordexp_t words;
};

struct arguments {
	struct command command[2]; /* the other, ours */
	unsigned ncommands;
	struct result result;
	const char *json, *skip; /* why the row is not measured */
	unsigned rounds;
	uint64_t items, bytes; /* that each command processes: for rates */
	double most_seconds;
	int memory; /* rather than time */
};

/* Zero, or an error code. */
static int start(pid_t *pid, const struct command *command)
{
	posix_spawn_file_actions_t actions;
	int errcode = posix_spawn_file_actions_init(&actions);

	if (errcode)
		return errcode;
	for (int fd = 0; fd <= 2 && !errcode; ++fd)
		errcode = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	if (!errcode)
		errcode = posix_spawnp(pid, command->words.we_wordv[0], &actions, NULL,
		                       command->words.we_wordv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return errcode;
}

static int pass(void *context, struct tally *tally)
{
	const struct command *command = context;
	struct rusage usage;
	pid_t pid;
	int status, errcode = start(&pid, command);

	if (errcode || wait4(pid, &status, 0, &usage) < 0) {
		fprintf(stderr, "bench: %s: %s: %s\n", command->name, strerror(errcode ? errcode : errno),
		        command->text);
		return -1;
	}
	if (status)
		fprintf(stderr, "bench: %s: failed (status %#x): %s\n", command->name, (unsigned)status,
		        command->text);
	tally->peak_kib = (uint64_t)usage.ru_maxrss;
	return status ? -1 : 0;
}

static const struct option options[] = {
        {"measure", 1, NULL, 'm'}, {"input", 1, NULL, 'i'},   {"goal", 1, NULL, 'g'},
        {"other", 1, NULL, 'o'},   {"ours", 1, NULL, 'u'},    {"note", 1, NULL, 'N'},
        {"json", 1, NULL, 'j'},    {"rounds", 1, NULL, 'n'},  {"items", 1, NULL, 'I'},
        {"bytes", 1, NULL, 'b'},   {"seconds", 1, NULL, 's'}, {"memory", 0, NULL, 'M'},
        {"skip", 1, NULL, 'S'},    {NULL, 0, NULL, 0},
};

/* times:50:200, within:1.1, rate:5e6:20e6 */
static int take_goal(struct result *result, const char *text)
{
	static const struct {
		const char *name;
		enum goal goal;
	} goals[] = {{"times", goal_times}, {"within", goal_within}, {"rate", goal_rate}};
	size_t length = strcspn(text, ":");

	for (size_t i = 0; i < sizeof(goals) / sizeof(goals[0]); ++i)
		if (strlen(goals[i].name) == length && !strncmp(text, goals[i].name, length)) {
			result->goal = goals[i].goal;
			return sscanf(text + length, ":%lf:%lf", &result->at_least, &result->aim) >= 1 ? 0
			                                                                               : -1;
		}
	return -1;
}

/* "NAME=COMMAND" */
static int take_command(struct command *command, char *text)
{
	char *equals = strchr(text, '=');

	if (!equals)
		return -1;
	*equals = 0;
	command->name = text;
	command->text = equals + 1;
	wordfree(&command->words); /* an option may be given twice */
	if (wordexp(command->text, &command->words, WRDE_NOCMD | WRDE_UNDEF))
		return -1;
	return command->words.we_wordc ? 0 : -1;
}

static int take(struct arguments *arguments, int letter, char *value)
{
	switch (letter) {
	case 'm':
		arguments->result.measure = value;
		return 0;
	case 'i':
		arguments->result.input = value;
		return 0;
	case 'g':
		return take_goal(&arguments->result, value);
	case 'o':
		return take_command(&arguments->command[0], value);
	case 'u':
		return take_command(&arguments->command[1], value);
	case 'N':
		snprintf(arguments->result.note, sizeof(arguments->result.note), "%s", value);
		return 0;
	case 'j':
		arguments->json = value;
		return 0;
	case 'n':
		arguments->rounds = (unsigned)atoi(value);
		return 0;
	case 'I':
		arguments->items = strtoull(value, NULL, 10);
		return 0;
	case 'b':
		arguments->bytes = strtoull(value, NULL, 10);
		return 0;
	case 's':
		arguments->most_seconds = atof(value);
		return 0;
	case 'S':
		arguments->skip = value;
		return 0;
	case 'M':
		arguments->memory = 1;
		return 0;
	default:
		return -1;
	}
}

static int parse(struct arguments *arguments, int argc, char **argv)
{
	int letter;

	while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (take(arguments, letter, optarg) < 0)
			return -1;
	return arguments->result.measure && arguments->result.input &&
	                       (arguments->command[1].text || arguments->skip) && arguments->json &&
	                       arguments->rounds >= 1 && arguments->rounds <= max_rounds && optind == argc
	               ? 0
	               : -1;
}

static struct result_side side_of(const struct arguments *arguments, const char *name,
                                  const struct samples *samples)
{
	struct result_side side = {.name = name, .samples = *samples};
	double median = samples_median(samples);

	side.samples.tally.items = arguments->items;
	if (arguments->memory) {
		side.samples.n = 1;
		side.samples.value[0] = (double)samples->tally.peak_kib / 1024;
		return side;
	}
	if (arguments->bytes)
		side.mb_per_s = (double)arguments->bytes / median / 1e6;
	if (arguments->items)
		side.items_per_s = (double)arguments->items / median;
	return side;
}

/* Zero, or 1: a command failed. */
static int measure_row(struct arguments *arguments, struct results *results)
{
	/* One run of a short replay is as long as what a busy machine does beside it. */
	struct measure_options how = {.rounds = arguments->rounds,
	                              .least_seconds = 0.4,
	                              .most_seconds = arguments->most_seconds,
	                              .by_passes = 1};
	struct result *result = &arguments->result;
	unsigned first = arguments->command[0].text ? 0 : 1;
	struct contestant contestant[2];
	struct samples samples[2];

	for (unsigned i = first; i < 2; ++i)
		contestant[i] = (struct contestant){arguments->command[i].name, pass, &arguments->command[i]};
	if (measure(&how, contestant + first, 2 - first, samples + first) < 0) {
		results_skip(results, result->measure, result->input, "a command failed");
		return 1;
	}
	result->unit = arguments->memory ? "MiB" : "s";
	if (!first)
		result->other = side_of(arguments, arguments->command[0].name, &samples[0]);
	result->ours = side_of(arguments, arguments->command[1].name, &samples[1]);
	results_add(results, result, 0);
	return 0;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {.rounds = 5, .most_seconds = 60};
	struct results *results;
	int failed = 0;

	if (parse(&arguments, argc, argv) < 0) {
		fprintf(stderr,
		        "usage: bench_command --measure M --input I --json FILE --ours NAME=COMMAND | --skip WHY\n"
		        "       [--other NAME=COMMAND] [--goal KIND:LEAST[:AIM]] [--rounds N] [--seconds S]\n"
		        "       [--items N] [--bytes N] [--memory] [--note TEXT]\n");
		return 2;
	}
	results = results_open(arguments.json);
	if (!results)
		return 1;
	if (arguments.skip)
		results_skip(results, arguments.result.measure, arguments.result.input, arguments.skip);
	else
		failed = measure_row(&arguments, results);
	for (unsigned i = 0; i < 2; ++i)
		wordfree(&arguments.command[i].words);
	return results_close(results) < 0 || failed;
}
