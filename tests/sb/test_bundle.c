/* test_bundle.c - bundles of made-up recordings: odd names, doubts, reasons, and giving up half-way. The
 * command itself is tested by tests/tools/test_bundle.sh. */
#include "replay_fixture.h"

#include <dirent.h>
#include <unistd.h>

#include <sb/bundle.h>

/* `syscall` at the beginning of a page. */
static const char code[] = "\x0f\x05";

struct bundling {
	struct sb_resolver *resolver;
	struct sb_bundle_options options;
	struct sb_bundle_result result;
	int calls, stop_at; /* 0: never */
	char missing[1024];
};

static int count_and_stop(void *context)
{
	struct bundling *bundling = context;

	return ++bundling->calls == bundling->stop_at;
}

static void note_missing(void *context, const char *path, const char *detail)
{
	struct bundling *bundling = context;

	assert_true(detail[0] != '\0');
	strncat(bundling->missing, path, sizeof(bundling->missing) - strlen(bundling->missing) - 1);
	strncat(bundling->missing, " ", sizeof(bundling->missing) - strlen(bundling->missing) - 1);
}

static void finish_recording(struct fixture *fixture)
{
	struct sb_error err = {0};

	if (!fixture->writer)
		return;
	assert_int_equal(sb_perfdata_writer_finish(fixture->writer, &err), 0);
	fixture->writer = NULL;
	assert_int_equal(sb_perfdata_open(&fixture->perfdata, fixture->recording, &err), 0);
}

/* Makes the bundle "b" from the root. */
static int bundle(struct fixture *fixture, struct bundling *bundling)
{
	char *directory = temp_dir_path(&fixture->dir, "b");
	struct sb_error err = {0};
	int status;

	finish_recording(fixture);
	assert_int_equal(sb_resolver_new(&bundling->resolver, fixture->options.root, 1, 1, &err), 0);
	bundling->options.size = sizeof(bundling->options);
	bundling->options.directory = directory;
	bundling->options.stop = count_and_stop;
	bundling->options.missing = note_missing;
	bundling->options.context = bundling;
	status = sb_bundle_write(fixture->perfdata, bundling->resolver, &bundling->options, &bundling->result,
	                         &err);
	assert_int_equal(err.code, status);
	sb_resolver_free(bundling->resolver);
	free(directory);
	return status;
}

/* The replay from the bundle alone. */
static void replay_bundle(struct fixture *fixture)
{
	char *directory = temp_dir_path(&fixture->dir, "b");
	const struct sb_resolver_options options = {
	        .size = sizeof(options), .no_host_root = 1, .bundle = directory};
	struct sb_resolver *resolver;
	struct sb_error err = {0};

	if (sb_resolver_open(&resolver, &options, &err) < 0)
		fail_msg("%s: %s", err.file, err.text);
	fixture->options.resolver = resolver;
	assert_int_equal(replay(fixture), 0);
	sb_session_close(fixture->session);
	fixture->session = NULL;
	fixture->options.resolver = NULL;
	sb_resolver_free(resolver);
	free(directory);
}

/* From the roots and from the bundle. */
static void assert_same_replay(struct fixture *fixture)
{
	char *flow, *gaps, *details;

	assert_int_equal(replay(fixture), 0);
	flow = strdup(fixture->flow);
	gaps = strdup(fixture->gaps);
	details = strdup(fixture->details);
	replay_bundle(fixture);
	assert_string_equal(fixture->flow, flow);
	assert_string_equal(fixture->gaps, gaps);
	assert_string_equal(fixture->details, details);
	free(flow);
	free(gaps);
	free(details);
}

/* Process 10 runs at three places. */
static void record_three(struct fixture *fixture, const char *first, const char *second, const char *third)
{
	struct trace trace = {0};

	maps(fixture, 0, 10, 0x1000, first);
	maps(fixture, 0, 10, 0x2000, second);
	maps(fixture, 0, 10, 0x3000, third);
	switches(fixture, 0, 50, 0, 10);
	trace_start(&trace, 60);
	for (uint64_t i = 0; i < 3; i++)
		trace_stretch(&trace, 100 + i, 0x1000 + 0x1000 * i);
	traced(fixture, 0, trace.bytes, trace.size);
}

static int entries(const struct fixture *fixture, const char *name)
{
	char *path = temp_dir_path(&fixture->dir, name);
	struct dirent **entry;
	const int count = scandir(path, &entry, NULL, NULL);

	for (int i = 0; i < count; i++)
		free(entry[i]);
	if (count >= 0)
		free(entry);
	free(path);
	return count;
}

static void names_may_be_any_bytes(void **state)
{
	struct fixture *fixture = *state;
	struct bundling bundling = {0};

	has_file(fixture, "/a\\x41\n", code, sizeof(code) - 1);
	has_file(fixture, "/\xff\xfe\x01", code, sizeof(code) - 1);
	has_file(fixture, "/\xc3\xa4", "\x90\x0f\x05", 3);
	record_three(fixture, "/a\\x41\n", "/\xff\xfe\x01", "/\xc3\xa4");
	assert_int_equal(bundle(fixture, &bundling), 0);
	assert_int_equal(bundling.result.nfiles, 3);
	assert_int_equal(bundling.result.nmissing, 0);
	/* two of them are the same */
	assert_int_equal(bundling.result.ncopied, 2);
	assert_same_replay(fixture);
	assert_string_equal(fixture->gaps, "");
	bundling = (struct bundling){0};
	assert_int_equal(bundle(fixture, &bundling), 0);
	assert_int_equal(bundling.result.nfiles, 3);
	assert_int_equal(bundling.result.ncopied, 0);
}

static void what_is_missing_is_told_and_stays_missing(void **state)
{
	struct fixture *fixture = *state;
	struct bundling bundling = {0};

	has_file(fixture, "/b", code, sizeof(code) - 1);
	has_file(fixture, "/c", "", 0);
	record_three(fixture, "/nowhere\n", "/b", "/c");
	assert_int_equal(bundle(fixture, &bundling), 0);
	assert_int_equal(bundling.result.nfiles, 1);
	assert_int_equal(bundling.result.nmissing, 2);
	assert_string_equal(bundling.missing, "/c /nowhere\\x0a ");
	assert_same_replay(fixture);
	assert_non_null(strstr(fixture->details, "/c is empty"));
	assert_non_null(strstr(fixture->gaps, "no-binary"));
	assert_non_null(strstr(fixture->gaps, "binary-mismatch"));
}

static void giving_up_leaves_nothing(void **state)
{
	struct fixture *fixture = *state;
	int before, stopped = 0;

	has_file(fixture, "/a", "\x0f\x05", 2);
	has_file(fixture, "/b", "\x0f\x05\x90", 3);
	has_file(fixture, "/c", "\x0f\x05\xc3", 3);
	record_three(fixture, "/a", "/b", "/c");
	finish_recording(fixture);
	before = entries(fixture, "");
	for (int stop_at = 1; stop_at < 5; stop_at++) {
		struct bundling bundling = {.stop_at = stop_at, .options = {.with_recording = 1}};

		assert_int_equal(bundle(fixture, &bundling), -sbe_stop);
		assert_int_equal(entries(fixture, ""), before);
		stopped++;
	}
	assert_int_equal(stopped, 4);
}

static void giving_up_leaves_an_old_bundle_as_it_was(void **state)
{
	struct fixture *fixture = *state;
	struct bundling first = {0}, again = {.stop_at = 4, .options = {.with_recording = 1}},
	                whole = {.options = {.with_recording = 1}};
	char *path;
	struct sb_error err;

	has_file(fixture, "/a", code, sizeof(code) - 1);
	record_three(fixture, "/a", "/b", "/c");
	assert_int_equal(bundle(fixture, &first), 0);
	assert_int_equal(first.result.nmissing, 2);
	has_file(fixture, "/b", "\x0f\x05\x90", 3);
	has_file(fixture, "/c", "\x0f\x05\xc3", 3);
	assert_int_equal(bundle(fixture, &again), -sbe_stop);
	assert_int_equal(entries(fixture, "b/sha256"), 2 + 1);
	assert_int_equal(entries(fixture, "b/recordings"), -1);
	replay_bundle(fixture);
	assert_non_null(strstr(fixture->gaps, "no-binary"));
	/* and then it is completed */
	path = temp_dir_path(&fixture->dir, "b");
	assert_int_equal(bundle(fixture, &whole), 0);
	assert_int_equal(whole.result.nmissing, 0);
	replay_bundle(fixture);
	assert_string_equal(fixture->gaps, "");
	{
		char *recording = NULL;

		assert_int_equal(sb_bundle_recording(path, NULL, &recording, &err), 0);
		assert_int_equal(access(recording, R_OK), 0);
		free(recording);
		assert_int_equal(sb_bundle_recording(path, "other", &recording, &err), -sbe_not_found);
		assert_int_equal(sb_bundle_recording(path, "../manifest.json", &recording, &err),
		                 -sbe_not_found);
	}
	free(path);
}

static void a_bundle_is_needed_where_one_is_named(void **state)
{
	struct fixture *fixture = *state;
	const struct sb_resolver_options options = {
	        .size = sizeof(options), .no_host_root = 1, .bundle = fixture->root};
	struct sb_resolver *resolver = NULL;
	struct sb_error err;

	assert_int_equal(sb_resolver_open(&resolver, &options, &err), -sbe_not_found);
	assert_string_equal(err.file, fixture->root);
	assert_null(resolver);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(names_may_be_any_bytes),
	        TEST(what_is_missing_is_told_and_stays_missing),
	        TEST(giving_up_leaves_nothing),
	        TEST(giving_up_leaves_an_old_bundle_as_it_was),
	        TEST(a_bundle_is_needed_where_one_is_named),
	};

	return cmocka_run_group_tests_name("bundle", tests, NULL, NULL);
}
