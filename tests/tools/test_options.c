/* Options as a table: what is accepted, and what is said about the rest; and the nearest word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "nearest.h"
#include "options.h"
#include "progress.h"

/* What was parsed, as one line of text. */
struct target {
	char text[256];
};

static int note(struct target *target, const char *name, const char *value)
{
	size_t used = strlen(target->text);

	snprintf(target->text + used, sizeof(target->text) - used, "%s=%s;", name, value ? value : "");
	return 0;
}

static int take_cpu(void *target, const char *value, struct option_error *error)
{
	if (!strcmp(value, "bad"))
		return option_fail(error, "expected a number, found '%s'", value);
	return note(target, "cpu", value);
}

static int take_all(void *target, const char *value, struct option_error *error)
{
	(void)error;
	return note(target, "all", value);
}

static int take_maybe(void *target, const char *value, struct option_error *error)
{
	(void)error;
	return note(target, "maybe", value ? value : "(none)");
}

static int take_operand(void *target, const char *value, struct option_error *error)
{
	(void)error;
	return note(target, "operand", value);
}

static const struct option_row rows[] = {
        {"cpu", 'c', "LIST", "only these", take_cpu},
        {"all", 'a', NULL, "everything", take_all},
        {"maybe", 0, "[=WHAT]", "this, or something", take_maybe},
};

/* Parses @words (up to seven); the result and *rest tell how it ended. stderr is put aside. */
static enum options_result parse(const char *const *words, bool stop, struct target *target, int *rest,
                                 char *complaint, size_t size)
{
	const struct option_table table = {"tool",
	                                   "[OPTIONS]",
	                                   "",
	                                   rows,
	                                   sizeof(rows) / sizeof(rows[0]),
	                                   stop,
	                                   stop ? NULL : take_operand,
	                                   NULL};
	FILE *file = tmpfile();
	int keep = dup(STDERR_FILENO), argc = 0;
	enum options_result result;
	char *argv[8];

	assert_non_null(file);
	argv[argc++] = (char *)(uintptr_t) "tool";
	while (*words)
		argv[argc++] = (char *)(uintptr_t)*words++;
	memset(target, 0, sizeof(*target));
	dup2(fileno(file), STDERR_FILENO);
	result = options_parse(&table, argc, argv, target, rest);
	fflush(stderr);
	dup2(keep, STDERR_FILENO);
	close(keep);
	rewind(file);
	memset(complaint, 0, size);
	complaint[fread(complaint, 1, size - 1, file)] = '\0';
	fclose(file);
	return result;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void assert_parsed(const char *const *words, const char *expected)
{
	struct target target;
	char complaint[256];
	int rest;

	assert_int_equal(parse(words, false, &target, &rest, complaint, sizeof(complaint)), options_done);
	assert_string_equal(target.text, expected);
	assert_string_equal(complaint, "");
}

static void assert_refused(const char *const *words, const char *expected)
{
	struct target target;
	char complaint[256], whole[256];
	int rest;

	assert_int_equal(parse(words, false, &target, &rest, complaint, sizeof(complaint)), options_wrong);
	snprintf(whole, sizeof(whole), "tool: %s\nTry 'tool --help'.\n", expected);
	assert_string_equal(complaint, whole);
}

static void options_stand_anywhere_and_in_every_form(void **state)
{
	(void)state;
	assert_parsed(WORDS("--cpu", "1", "x", "--cpu=2"), "cpu=1;operand=x;cpu=2;");
	assert_parsed(WORDS("-c", "1", "-c2", "-ac3", "-aa"), "cpu=1;cpu=2;all=;cpu=3;all=;all=;");
	assert_parsed(WORDS("--cpu=a=b", "--cpu", "--all"), "cpu=a=b;cpu=--all;");
	assert_parsed(WORDS("--maybe", "x", "--maybe=y"), "maybe=(none);operand=x;maybe=y;");
	assert_parsed(WORDS("-", "--", "--all", "--"), "operand=-;operand=--all;operand=--;");
}

static void mistakes_are_told(void **state)
{
	(void)state;
	assert_refused(WORDS("--cup", "1"), "unknown option '--cup'; did you mean '--cpu'?");
	assert_refused(WORDS("--frobnicate=1"), "unknown option '--frobnicate'");
	assert_refused(WORDS("-x"), "unknown option '-x'");
	assert_refused(WORDS("--cpu"), "--cpu needs a value: LIST");
	assert_refused(WORDS("--all=1"), "--all takes no value");
	assert_refused(WORDS("--cpu", "bad"), "--cpu: expected a number, found 'bad'");
}

static void a_command_keeps_its_own_options(void **state)
{
	struct target target;
	char complaint[64];
	int rest;

	(void)state;
	assert_int_equal(parse(WORDS("-a", "ls", "-c"), true, &target, &rest, complaint, sizeof(complaint)),
	                 options_done);
	assert_string_equal(target.text, "all=;");
	assert_int_equal(rest, 2);
	assert_int_equal(
	        parse(WORDS("-a", "--", "-ls", "-c"), true, &target, &rest, complaint, sizeof(complaint)),
	        options_done);
	assert_int_equal(rest, 3);
}

static void numbers_are_whole_and_in_range(void **state)
{
	static const char *const wrong[] = {
	        "", " 1", "-1", "+1", "1 ", "0x", "0xg", "1e3", "18446744073709551616"};
	struct option_error error;
	uint64_t value;

	(void)state;
	assert_int_equal(option_number("18446744073709551615", 0, UINT64_MAX, &value, &error), 0);
	assert_int_equal(value, UINT64_MAX);
	assert_int_equal(option_number("0x1F", 0, 31, &value, &error), 0);
	assert_int_equal(value, 31);
	assert_int_equal(option_number("010", 0, 31, &value, &error), 0);
	assert_int_equal(value, 10);
	assert_int_equal(option_number("5", 6, 7, &value, &error), -1);
	assert_string_equal(error.why, "expected a number from 6 to 7, found '5'");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(option_number(wrong[i], 0, UINT64_MAX, &value, &error), -1);
}

static const char *nearest_of(const char *typed)
{
	struct nearest nearest;

	nearest_begin(&nearest, typed);
	nearest_offer(&nearest, "record");
	nearest_offer(&nearest, "replay");
	nearest_offer(&nearest, "cpu");
	return nearest.best;
}

static void near_words_are_found_and_far_ones_are_not(void **state)
{
	(void)state;
	assert_string_equal(nearest_of("rpelay"), "replay");
	assert_string_equal(nearest_of("recrod"), "record");
	assert_string_equal(nearest_of("rec"), "record");
	assert_string_equal(nearest_of("cpus"), "cpu");
	assert_null(nearest_of(""));
	assert_null(nearest_of("x"));
	assert_null(nearest_of("frobnicate"));
	assert_null(nearest_of("recordrecordrecordrecordrecordrecordrecordrecord"));
}

static void the_bar_tells_part_rate_and_time_left(void **state)
{
	char text[128];

	(void)state;
	progress_text(text, sizeof(text), 50000000, 200000000, 1000000000);
	assert_string_equal(text, " 25% [=======                       ] 50.0 MB/s, 00:03 left");
	progress_text(text, sizeof(text), 0, 0, 0);
	assert_string_equal(text, "  0% [                              ] 0.0 MB/s, --:-- left");
	progress_text(text, sizeof(text), 2, 1, 1);
	assert_string_equal(text, "100% [==============================] 2000.0 MB/s, --:-- left");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(options_stand_anywhere_and_in_every_form),
	        cmocka_unit_test(mistakes_are_told),
	        cmocka_unit_test(a_command_keeps_its_own_options),
	        cmocka_unit_test(numbers_are_whole_and_in_range),
	        cmocka_unit_test(near_words_are_found_and_far_ones_are_not),
	        cmocka_unit_test(the_bar_tells_part_rate_and_time_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
