/* main.c - runs one text case: `case_runner FILE` compares; `--print` and `--debian` write what our library
 * and Debian's libipt make of it, to help writing cases. tests/cases/README describes the format. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coverage.h"
#include "damage.h"
#include "diff.h"
#include "view.h"

enum { exit_skipped = 77, seconds_to_hang = 30 };

struct run {
	struct case_file file;
	struct program program;
	struct case_trace trace;
	struct api debian;
	int have_debian;
};

static char *expected_text(const struct case_lines *lines)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; out && i < lines->count; ++i)
		fprintf(out, "%s\n", lines->line[i].text);
	if (out)
		fclose(out);
	return text;
}

/* Compares and complains. @must_differ turns the verdict round. Returns whether it is as it must be. */
static int judge(const struct run *run, const char *who, enum case_view which, const char *expected,
                 const char *actual, const char *must_differ)
{
	const int same = !strcmp(expected, actual);

	if (same != !must_differ) {
		printf("%s: %s of %s ", run->file.path, case_view_names[which], who);
		if (must_differ)
			printf("is right: take the mark away (%s)\n", must_differ);
		else
			printf("differs: - expected, + actual\n");
		diff_print(stdout, expected, actual);
		return 0;
	}
	return 1;
}

/* Some views have an expectation even where the case has none: packets must come out as they went in, and
 * queries be answered
 * as Debian's libipt answers them. */
static char *expectation(const struct run *run, struct case_trace *trace, enum case_view which)
{
	struct view view;

	if (run->file.expected >> which & 1)
		return expected_text(&run->file.expect[which]);
	if (which == view_packets)
		return run->trace.raw ? NULL : strdup(run->trace.dump);
	if (which != view_query || !run->have_debian)
		return NULL;
	view = view_make(&api_ours, &run->file, &run->program, trace);
	return view_text(&view, which);
}

static int check_ours(struct run *run, enum case_view which, const char *expected)
{
	const struct view view = view_make(&api_ours, &run->file, &run->program, &run->trace);
	char *actual = view_text(&view, which);
	int good;

	if (!actual) {
		printf("%s: our library has no %s\n", run->file.path, case_view_names[which]);
		return 0;
	}
	good = judge(run, "ours", which, expected, actual,
	             run->file.xfail >> which & 1 ? run->file.reason_xfail : NULL);
	free(actual);
	return good;
}

static int check_debian(struct run *run, enum case_view which, const char *expected)
{
	struct view view;
	char *actual, *plain;
	int good = 1;

	if (!run->have_debian)
		return 1;
	view = view_make(&run->debian, &run->file, &run->program, &run->trace);
	view.plain = 1;
	actual = view_text(&view, which);
	plain = which == view_packets ? strdup(expected) : view_plain(expected);
	if (actual)
		good = judge(run, "Debian's libipt", which, plain, actual,
		             run->file.debian_differs >> which & 1 ? run->file.reason_debian : NULL);
	free(actual);
	free(plain);
	return good;
}

static int check(struct run *run)
{
	int good = 1;

	for (enum case_view which = 0; which < view_count; ++which) {
		char *expected = expectation(run, &run->trace, which);

		if (!expected)
			continue;
		good &= check_ours(run, which, expected);
		good &= check_debian(run, which, expected);
		free(expected);
	}
	good &= damage_check(&run->file, &run->program, &run->trace);
	if (!run->have_debian && !run->file.debian_not_asked && good)
		printf("%s: Debian's libipt is not there to compare with\n", run->file.path);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int print_all(struct run *run, const struct api *api, int plain)
{
	struct view view = view_make(api, &run->file, &run->program, &run->trace);

	view.plain = plain;
	for (enum case_view which = 0; which < view_count; ++which) {
		char *text = view_text(&view, which);

		printf("expect %s\n", case_view_names[which]);
		for (char *save = NULL, *line = text ? strtok_r(text, "\n", &save) : NULL; line;
		     line = strtok_r(NULL, "\n", &save))
			printf("\t%s\n", line);
		free(text);
	}
	return EXIT_SUCCESS;
}

static int act(struct run *run, const char *mode)
{
	run->have_debian = !run->file.debian_not_asked && api_debian(&run->debian) == 0;
	if (!mode)
		return check(run);
	if (!strcmp(mode, "--print"))
		return print_all(run, &api_ours, 0);
	if (!strcmp(mode, "--debian") && run->have_debian)
		return print_all(run, &run->debian, 1);
	fprintf(stderr, "cannot do that: %s\n", mode);
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	static struct run run;
	int status;

	if (argc < 2 || argc > 3) {
		fprintf(stderr,
		        "usage: case_runner [--print | --debian] FILE\n       case_runner --coverage FOLDER\n");
		return EXIT_FAILURE;
	}
	alarm(seconds_to_hang);
	if (argc == 3 && !strcmp(argv[1], "--coverage"))
		return coverage_check(argv[2]) ? EXIT_SUCCESS : EXIT_FAILURE;
	status = case_file_read(&run.file, argv[argc - 1]);
	if (!status)
		status = program_make(&run.program, &run.file);
	if (!status)
		status = case_trace_build(&run.trace, &run.file, &run.program);
	if (!status) {
		status = act(&run, argc == 3 ? argv[1] : NULL);
	} else if (status == program_no_tools) {
		printf("skipped: neither as nor ld may be missing\n");
		status = exit_skipped;
	}
	case_trace_free(&run.trace);
	program_free(&run.program);
	case_file_free(&run.file);
	return status < 0 ? EXIT_FAILURE : status;
}
