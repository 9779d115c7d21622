/* bench_api.c - our libipt beside Debian's in one process; tests/bench/run calls it. See api.h for the rows.
 */
#include "api.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { max_recordings = 16, small_visits = 2048 };

struct arguments {
	const char *ours, *peer, *corpus, *dir, *json, *only;
	char *recording[max_recordings]; /* NAME=PERF_DATA:ROOT */
	unsigned nrecordings, rounds;
	int quick;
};

static const struct option options[] = {
        {"ours", 1, NULL, 'o'}, {"peer", 1, NULL, 'p'},      {"corpus", 1, NULL, 'c'},
        {"dir", 1, NULL, 'd'},  {"recording", 1, NULL, 'r'}, {"rounds", 1, NULL, 'n'},
        {"only", 1, NULL, 'O'}, {"json", 1, NULL, 'j'},      {"quick", 0, NULL, 'q'},
        {NULL, 0, NULL, 0},
};

static int parse(struct arguments *arguments, int argc, char **argv)
{
	int letter;

	while ((letter = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (letter) {
		case 'o':
			arguments->ours = optarg;
			break;
		case 'p':
			arguments->peer = optarg;
			break;
		case 'c':
			arguments->corpus = optarg;
			break;
		case 'd':
			arguments->dir = optarg;
			break;
		case 'r':
			if (arguments->nrecordings == max_recordings)
				return -1;
			arguments->recording[arguments->nrecordings++] = optarg;
			break;
		case 'n':
			arguments->rounds = (unsigned)atoi(optarg);
			break;
		case 'O':
			arguments->only = optarg;
			break;
		case 'j':
			arguments->json = optarg;
			break;
		case 'q':
			arguments->quick = 1;
			break;
		default:
			return -1;
		}
	return arguments->ours && arguments->dir && arguments->json && arguments->rounds >= 1 &&
	                       arguments->rounds <= max_rounds && optind == argc
	               ? 0
	               : -1;
}

/* Zero as well when it is not there. */
static int hardware(struct api *api, const char *corpus, const char *name)
{
	struct input input;
	int status = input_hardware(&input, corpus, name);

	if (!status)
		status = api_decode_rows(api, &input);
	input_free(&input);
	return status < 0 ? status : 0;
}

static int recording(struct api *api, char *text)
{
	char *data = strchr(text, '='), *root = data ? strchr(data, ':') : NULL;
	struct input input;
	int status;

	if (!root) {
		fprintf(stderr, "bench: %s: expected NAME=PERF_DATA:ROOT\n", text);
		return -1;
	}
	*data++ = 0;
	*root++ = 0;
	status = input_recording(&input, text, data, root);
	if (!status)
		status = api_decode_rows(api, &input);
	input_free(&input);
	return status;
}

/* An input that needs neither corpus nor ptrace. */
static int made_up(struct api *api)
{
	struct input input;
	int status = input_sections(&input, api->dir, 1, small_visits);

	snprintf(input.name, sizeof(input.name), "made-up jumps");
	if (!status)
		status = api_decode_rows(api, &input);
	input_free(&input);
	return status;
}

static int all_rows(struct api *api, struct arguments *arguments)
{
	int status = 0;

	for (size_t i = 0; arguments->corpus && input_hardware_names[i] && !status; ++i)
		status = hardware(api, arguments->corpus, input_hardware_names[i]);
	for (unsigned i = 0; i < arguments->nrecordings && !status; ++i)
		status = recording(api, arguments->recording[i]);
	if (!status)
		status = made_up(api);
	if (!status)
		status = api_section_rows(api);
	if (!status)
		status = api_swap_rows(api);
	return status;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {.rounds = 5};
	struct api api = {.options = {.warm_up = 1}};
	int status, written;

	if (parse(&arguments, argc, argv) < 0) {
		fprintf(stderr,
		        "usage: bench_api --ours LIB [--peer LIB] --dir DIR --json FILE [--corpus DIR]\n"
		        "       [--recording NAME=PERF_DATA:ROOT]... [--rounds N] [--only PATTERN] [--quick]\n");
		return 2;
	}
	api.options.rounds = arguments.rounds;
	api.options.least_seconds = arguments.quick ? 0.001 : 0.02;
	api.options.most_seconds = arguments.quick ? 0.1 : 20;
	api.only = arguments.only;
	api.dir = arguments.dir;
	api.quick = arguments.quick;
	api.has_peer = arguments.peer && !access(arguments.peer, R_OK);
	if (library_load(&api.ours, arguments.ours, 1) < 0 ||
	    (api.has_peer && library_load(&api.peer, arguments.peer, 0) < 0))
		return 1;
	api.results = results_open(arguments.json);
	if (!api.results)
		return 1;
	status = all_rows(&api, &arguments);
	written = results_close(api.results);
	return status || written;
}
