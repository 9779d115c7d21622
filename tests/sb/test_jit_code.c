/* test_jit_code.c - code that a process made itself: where its dump says so, when it says so, and no longer.
 *
 * Times are perf's and the trace's alike (one nanosecond per count). Pieces of code:
 *   A  nop  nop  syscall
 *   B  nop  syscall
 *   C  syscall
 */
#include "replay_fixture.h"

#include "replay/jit_code.h"
#include "support/jitdump_bytes.h"

/* The fixture's, with MTC packets every 8 ns: the trace's time is exact to 10 ns. */
static int setup_timed(void **state)
{
	const struct sb_perfdata_write_config config = {.size = sizeof(config),
	                                                .ncpus = 2,
	                                                .pt_pmu_type = 8,
	                                                .pt_config = 0x300e601,
	                                                .family = 6,
	                                                .model = 85,
	                                                .stepping = 4,
	                                                .clock = {.time_shift = 0, .time_mult = 1},
	                                                .tsc_ctc_num = 99,
	                                                .tsc_ctc_den = 100,
	                                                .user_only = 1};
	struct fixture *fixture;

	setup(state);
	fixture = *state;
	sb_perfdata_writer_abort(fixture->writer);
	assert_int_equal(sb_perfdata_writer_open(&fixture->writer, fixture->recording, &config, NULL), 0);
	assert_int_equal(sb_write_finished_init(fixture->writer, NULL), 0);
	return 0;
}

#define A "\x90\x90\x0f\x05"
#define B "\x90\x0f\x05"
#define C "\x0f\x05"

enum { TIMED = 1, UNTIMED = 0 };

/* Process @pid mapped its dump at @time, which holds @bytes; they are freed. */
static void has_dump(struct fixture *fixture, uint64_t time, int32_t pid, struct dump_bytes *bytes)
{
	char name[32];

	snprintf(name, sizeof(name), "/jit-%d.dump", pid);
	has_file(fixture, name, bytes->byte, bytes->size);
	maps(fixture, time, pid, 0x7000000, name);
	dump_end(bytes);
}

/* Process 1 runs on CPU 0, with anonymous memory at 0x1000 and 0x2000. */
static void has_process(struct fixture *fixture)
{
	maps(fixture, 0, 1, 0x1000, "//anon");
	maps(fixture, 0, 1, 0x2000, "//anon");
	switches(fixture, 0, 20, 0, 1);
}

/* Runs up to a system call at each of the (time, address) pairs, the last of which has time 0. */
static void runs(struct fixture *fixture, uint32_t cpu, const uint64_t (*stretch)[2])
{
	struct trace trace = {0};

	trace_start(&trace, 10);
	for (; (*stretch)[0]; ++stretch)
		trace_stretch(&trace, (*stretch)[0], (*stretch)[1]);
	traced(fixture, cpu, trace.bytes, trace.size);
}

/* What comes out, and the reasons of the gaps; how many bytes each skips is not the matter here. */
static void assert_flow(struct fixture *fixture, const char *flow, const char *reasons)
{
	char found[TEXT_MAX];
	size_t size = 0;

	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, flow);
	for (const char *c = fixture->gaps; *c; ++c)
		if (*c != '+' && (*c < '0' || *c > '9'))
			found[size++] = *c;
	found[size] = '\0';
	assert_string_equal(found, reasons);
}

/* ---- Time ---------------------------------------------------------------------------------------- */

static void code_is_overwritten(void **state)
{
	struct fixture *fixture = *state;
	struct dump_bytes bytes;

	has_process(fixture);
	dump_begin(&bytes, 1, TIMED);
	dump_load(&bytes, 50, 1, 0x1000, "a", A, 4, 1);
	dump_load(&bytes, 150, 1, 0x1000, "b", B, 3, 2);
	dump_load(&bytes, 250, 1, 0x1001, "c", C, 2, 3); /* over a part of it */
	has_dump(fixture, 30, 1, &bytes);
	runs(fixture, 0,
	     (const uint64_t[][2]){
	             {100, 0x1000}, {130, 0x1000}, {200, 0x1000}, {300, 0x1001}, {400, 0x1000}, {0, 0}});
	assert_flow(fixture,
	            "0/1/1@100: 1000 1001 1002; 0/1/1@130: 1000 1001 1002; 0/1/1@200: 1000 1001; "
	            "0/1/1@300: 1001",
	            "anonymous");
	assert_string_equal(fixture->details,
	                    "memory without a file: \"//anon\"; /jit-1.dump has no code there\n");
}

/* Around the moment, it takes more exact times than there are. */
static void what_runs_while_code_is_overwritten_is_not_known(void **state)
{
	struct fixture *fixture = *state;
	struct dump_bytes bytes;

	has_process(fixture);
	dump_begin(&bytes, 1, TIMED);
	dump_load(&bytes, 50, 1, 0x1000, "a", A, 4, 1);
	dump_load(&bytes, 150, 1, 0x1000, "b", B, 3, 2);
	dump_load(&bytes, 200, 1, 0x1000, "short-lived", C, 2, 3);
	dump_load(&bytes, 205, 1, 0x1000, "a", A, 4, 4);
	has_dump(fixture, 30, 1, &bytes);
	runs(fixture, 0,
	     (const uint64_t[][2]){{60, 0x1000},
	                           {139, 0x1000},
	                           {140, 0x1000},
	                           {151, 0x1000},
	                           {160, 0x1000},
	                           {189, 0x1000},
	                           {190, 0x1000},
	                           {203, 0x1000},
	                           {206, 0x1000},
	                           {215, 0x1000},
	                           {0, 0}});
	assert_flow(fixture,
	            "0/1/1@60: 1000 1001 1002; 0/1/1@139: 1000 1001 1002; 0/1/1@160: 1000 1001; "
	            "0/1/1@189: 1000 1001; 0/1/1@215: 1000 1001 1002",
	            "anonymous anonymous");
	assert_non_null(strstr(fixture->details, "jit-1.dump: other code came there, and the trace's time"));
}

static void code_is_moved(void **state)
{
	struct fixture *fixture = *state;
	struct dump_bytes bytes;

	has_process(fixture);
	dump_begin(&bytes, 1, TIMED);
	dump_load(&bytes, 50, 1, 0x1000, "a", A, 4, 1);
	dump_move(&bytes, 150, 1, 0x1000, 0x2000, 4, 1);
	dump_load(&bytes, 250, 1, 0x1000, "b", B, 3, 2);
	dump_move(&bytes, 350, 1, 0x3000, 0x2000, 4, 9); /* what that is, nobody knows */
	has_dump(fixture, 30, 1, &bytes);
	/* At 200, a thread is still on its way through the old place. */
	runs(fixture, 0,
	     (const uint64_t[][2]){{100, 0x1000},
	                           {200, 0x2000},
	                           {210, 0x1000},
	                           {300, 0x1000},
	                           {310, 0x2000},
	                           {400, 0x2000},
	                           {0, 0}});
	assert_flow(fixture,
	            "0/1/1@100: 1000 1001 1002; 0/1/1@200: 2000 2001 2002; 0/1/1@210: 1000 1001 1002; "
	            "0/1/1@300: 1000 1001; 0/1/1@310: 2000 2001 2002",
	            "anonymous");
	assert_non_null(strstr(fixture->details, "/jit-1.dump: what was moved there was never loaded"));
}

/* Memory that is made writable and executable in turn says nothing new. */
static void memory_that_is_mapped_again_keeps_its_code(void **state)
{
	struct fixture *fixture = *state;
	struct dump_bytes bytes;

	has_process(fixture);
	dump_begin(&bytes, 1, TIMED);
	dump_load(&bytes, 50, 1, 0x1000, "a", A, 4, 1);
	has_dump(fixture, 30, 1, &bytes);
	maps(fixture, 90, 1, 0x1000, "//anon");
	maps(fixture, 150, 1, 0x1000, "//anon");
	runs(fixture, 0, (const uint64_t[][2]){{100, 0x1000}, {200, 0x1000}, {0, 0}});
	assert_flow(fixture, "0/1/1@100: 1000 1001 1002; 0/1/1@200: 1000 1001 1002", "");
}

static void files_and_code_replace_each_other(void **state)
{
	struct fixture *fixture = *state;
	struct dump_bytes bytes;

	has_process(fixture);
	has_file(fixture, "/c", C "\x90\x90\x90" B, 8);
	maps(fixture, 0, 1, 0x3000, "/c");
	dump_begin(&bytes, 1, TIMED);
	dump_load(&bytes, 50, 1, 0x1000, "a", A, 4, 1);
	dump_load(&bytes, 60, 1, 0x2000, "b", B, 3, 2);
	dump_load(&bytes, 250, 1, 0x3000, "a", A, 4, 3); /* over a part of the file's */
	has_dump(fixture, 30, 1, &bytes);
	maps(fixture, 150, 1, 0x1000, "/c");
	runs(fixture, 0,
	     (const uint64_t[][2]){{100, 0x1000},
	                           {110, 0x3000},
	                           {200, 0x1000},
	                           {210, 0x2000},
	                           {300, 0x3005},
	                           {310, 0x3000},
	                           {320, 0x3005},
	                           {0, 0}});
	assert_flow(fixture,
	            "0/1/1@100: 1000 1001 1002; 0/1/1@110: 3000; 0/1/1@200: 1000; 0/1/1@210: 2000 2001; "
	            "0/1/1@300: 3005 3006; 0/1/1@310: 3000 3001 3002; 0/1/1@320: 3005 3006",
	            "");
}

/* ---- Processes ----------------------------------------------------------------------------------- */

/* @first: where the child comes to user space first, when it was switched to for sure; 0: nobody sees it. */
static void has_child(struct fixture *fixture, uint64_t first)
{
	static const uint8_t forks_there[] = "\x90\xb8\x39\0\0\0\x0f\x05\x0f\x05"; /* mov $57, %eax */
	const uint64_t stretch[][2] = {
	        {18000, 0x1000}, {20000, 0x2800}, {30000, 0x1000}, {31000, 0x2000}, {0, 0}};
	const uint64_t all[][2] = {{17000, first},  {18000, 0x1000}, {20000, 0x2800},
	                           {30000, 0x1000}, {31000, 0x2000}, {0, 0}};
	struct dump_bytes bytes;

	has_process(fixture);
	has_file(fixture, "/f", forks_there, sizeof(forks_there) - 1);
	maps(fixture, 0, 1, 0x3000, "/f");
	dump_begin(&bytes, 1, TIMED);
	dump_load(&bytes, 50, 1, 0x1000, "a", A, 4, 1);
	dump_load(&bytes, 19000, 1, 0x2000, "b", B, 3, 2); /* the parent's alone */
	dump_load(&bytes, 19100, 2, 0x2800, "c", C, 2, 1); /* the child's alone, in its parent's dump */
	dump_load(&bytes, 25000, 1, 0x1000, "b", B, 3, 3);
	has_dump(fixture, 30, 1, &bytes);
	forks(fixture, 11000, 1, 2);
	switches(fixture, 1, 12000, 0, 2);
	runs(fixture, 0,
	     (const uint64_t[][2]){{100, 0x1000}, {20000, 0x2000}, {30000, 0x1000}, {31000, 0x2800}, {0, 0}});
	runs(fixture, 1, first ? all : stretch);
}

static void a_child_has_what_its_parent_had(void **state)
{
	has_child(*state, 0x3008);
	assert_flow(*state,
	            "0/1/1@100: 1000 1001 1002; 0/1/1@20000: 2000 2001; 0/1/1@30000: 1000 1001; "
	            "1/2/2@17000: 3008; "
	            "1/2/2@18000: 1000 1001 1002; 1/2/2@20000: 2800; 1/2/2@30000: 1000 1001 1002",
	            "anonymous anonymous");
}

/* Or what its parent has: clone() can make processes with one memory. */
static void a_child_of_which_nobody_saw_how_it_was_made_may_have_what_its_parent_has(void **state)
{
	has_child(*state, 0);
	assert_flow(*state,
	            "0/1/1@100: 1000 1001 1002; 0/1/1@20000: 2000 2001; 0/1/1@30000: 1000 1001; "
	            "1/2/2@18000: 1000 1001 1002; 1/2/2@20000: 2800",
	            "anonymous anonymous");
}

static void an_exec_leaves_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct dump_bytes bytes;

	has_process(fixture);
	dump_begin(&bytes, 1, TIMED);
	dump_load(&bytes, 50, 1, 0x1000, "a", A, 4, 1);
	has_dump(fixture, 30, 1, &bytes);
	execs(fixture, 150, 1, "new");
	maps(fixture, 160, 1, 0x1000, "//anon");
	runs(fixture, 0, (const uint64_t[][2]){{100, 0x1000}, {200, 0x1000}, {0, 0}});
	assert_flow(fixture, "0/1/1@100: 1000 1001 1002", "anonymous");
}

/* In a container, processes and their dumps have numbers of their own. */
static void a_dump_is_of_the_process_that_maps_it(void **state)
{
	struct fixture *fixture = *state;
	struct dump_bytes bytes;

	has_process(fixture);
	maps(fixture, 0, 2, 0x1000, "//anon");
	switches(fixture, 1, 20, 0, 2);
	dump_begin(&bytes, 7, TIMED);
	dump_load(&bytes, 50, 7, 0x1000, "a", A, 4, 1);
	dump_load(&bytes, 60, 1, 0x1000, "another one's in there", B, 3, 1);
	has_file(fixture, "/jit-7.dump", bytes.byte, bytes.size);
	dump_end(&bytes);
	maps(fixture, 30, 2, 0x7000000, "/jit-7.dump");
	maps(fixture, 40, 1, 0x7000000, "/jit-7.dump"); /* of another container, but not this file */
	runs(fixture, 0, (const uint64_t[][2]){{100, 0x1000}, {0, 0}});
	runs(fixture, 1, (const uint64_t[][2]){{100, 0x1000}, {0, 0}});
	assert_flow(fixture, "1/2/2@100: 1000 1001 1002", "anonymous");
	assert_non_null(strstr(fixture->details, "/jit-7.dump: another process mapped it"));
}

/* ---- Dumps --------------------------------------------------------------------------------------- */

static void without_times_only_what_never_changed_is_known(void **state)
{
	struct fixture *fixture = *state;
	struct dump_bytes bytes;

	has_process(fixture);
	dump_begin(&bytes, 1, UNTIMED);
	dump_load(&bytes, 5000000, 1, 0x1000, "a", A, 4, 1);
	dump_load(&bytes, 5000001, 1, 0x2000, "b", B, 3, 2);
	dump_load(&bytes, 5000002, 1, 0x2002, "over its end", A, 4, 3);
	dump_load(&bytes, 5000003, 1, 0x1000, "the same again", A, 4, 4);
	has_dump(fixture, 30, 1, &bytes);
	runs(fixture, 0, (const uint64_t[][2]){{100, 0x1000}, {200, 0x2000}, {0, 0}});
	assert_flow(fixture, "0/1/1@100: 1000 1001 1002", "anonymous");
	assert_non_null(strstr(fixture->details, "several pieces of code were there"));
}

static void what_a_dump_that_is_cut_off_says_counts_up_to_there(void **state)
{
	struct fixture *fixture = *state;
	struct dump_bytes bytes;

	has_process(fixture);
	dump_begin(&bytes, 1, TIMED);
	dump_load(&bytes, 50, 1, 0x1000, "a", A, 4, 1);
	dump_load(&bytes, 150, 1, 0x1000, "b", B, 3, 2);
	bytes.size -= 1;
	has_dump(fixture, 30, 1, &bytes);
	runs(fixture, 0, (const uint64_t[][2]){{100, 0x1000}, {200, 0x1000}, {0, 0}});
	assert_flow(fixture, "0/1/1@100: 1000 1001 1002", "anonymous");
	assert_non_null(strstr(fixture->details, "jit-1.dump is cut off: what was there since is not known"));
}

static void a_damaged_dump_is_not_used(void **state)
{
	struct fixture *fixture = *state;
	struct dump_bytes bytes;

	has_process(fixture);
	dump_begin(&bytes, 1, TIMED);
	dump_load(&bytes, 50, 1, 0x1000, "a", A, 4, 1);
	dump_other(&bytes, 0, 60, 20);
	has_dump(fixture, 30, 1, &bytes);
	runs(fixture, 0, (const uint64_t[][2]){{100, 0x1000}, {0, 0}});
	assert_flow(fixture, "", "anonymous");
	assert_non_null(
	        strstr(fixture->details, "/jit-1.dump: expected a record (LOAD, type 0) of at least 57"));
}

/* What the caller names needs no record, but one tells whose it is. */
static void dumps_may_be_named(void **state)
{
	struct fixture *fixture = *state;
	struct dump_bytes bytes;
	char *path[2];

	has_process(fixture);
	maps(fixture, 0, 2, 0x1000, "//anon");
	switches(fixture, 1, 20, 0, 2);
	dump_begin(&bytes, 1, TIMED);
	dump_load(&bytes, 50, 1, 0x1000, "a", A, 4, 1);
	path[0] = temp_dir_write(&fixture->dir, "some-name", bytes.byte, bytes.size);
	dump_end(&bytes);
	dump_begin(&bytes, 9, TIMED);
	dump_load(&bytes, 50, 9, 0x1000, "b", B, 3, 1);
	path[1] = temp_dir_write(&fixture->dir, "jit-9.dump", bytes.byte, bytes.size);
	dump_end(&bytes);
	maps(fixture, 30, 2, 0x7000000, "/in/a/container/jit-9.dump");
	fixture->options.jitdump = (const char *const *)path;
	fixture->options.njitdumps = 2;
	runs(fixture, 0, (const uint64_t[][2]){{100, 0x1000}, {0, 0}});
	runs(fixture, 1, (const uint64_t[][2]){{100, 0x1000}, {0, 0}});
	assert_flow(fixture, "0/1/1@100: 1000 1001 1002; 1/2/2@100: 1000 1001", "");
	free(path[0]);
	free(path[1]);
}

static void a_named_dump_must_be_good(void **state)
{
	struct fixture *fixture = *state;
	char *path = temp_dir_write(&fixture->dir, "jit-1.dump", "nothing", 7);
	struct sb_error err = {0};

	has_process(fixture);
	assert_flow(fixture, "", "");
	sb_session_close(fixture->session);
	fixture->session = NULL;
	fixture->options.jitdump = (const char *const *)&path;
	fixture->options.njitdumps = 1;
	assert_int_equal(sb_session_open(&fixture->session, fixture->perfdata, &fixture->options, &err),
	                 -sbe_format);
	assert_string_equal(err.file, path);
	assert_int_equal(err.offset, 0);
	free(path);
}

/* A record that comes too late for its round makes the model begin anew. */
static void a_late_record_changes_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct dump_bytes bytes;

	has_process(fixture);
	dump_begin(&bytes, 1, TIMED);
	dump_load(&bytes, 50, 1, 0x1000, "a", A, 4, 1);
	dump_load(&bytes, 150, 1, 0x1000, "b", B, 3, 2);
	has_dump(fixture, 30, 1, &bytes);
	for (uint64_t time = 100; time <= 300; time += 50) {
		maps(fixture, time, 1, 0x5000 + 0x1000 * time, "//anon");
		assert_int_equal(sb_write_finished_round(fixture->writer, NULL), 0);
	}
	maps(fixture, 90, 1, 0x4000, "//anon");
	runs(fixture, 0, (const uint64_t[][2]){{100, 0x1000}, {200, 0x1000}, {0, 0}});
	assert_flow(fixture, "0/1/1@100: 1000 1001 1002; 0/1/1@200: 1000 1001", "");
}

/* ---- Size ---------------------------------------------------------------------------------------- */

static size_t count_epochs(struct fixture *fixture)
{
	const struct sb_perfdata_info *info;
	struct sb_perfdata *perfdata;
	struct sb_resolver *resolver;
	struct sb_system *system;
	struct jit_code *jit;
	size_t count;

	assert_int_equal(sb_perfdata_writer_finish(fixture->writer, NULL), 0);
	fixture->writer = NULL;
	assert_int_equal(sb_perfdata_open(&perfdata, fixture->recording, NULL), 0);
	info = sb_perfdata_info(perfdata);
	assert_int_equal(sb_resolver_new(&resolver, fixture->options.root, 1, 1, NULL), 0);
	assert_int_equal(jit_code_new(&jit, resolver, info, NULL, 0, NULL), 0);
	assert_int_equal(system_build(&system, perfdata, jit_code_coder(jit), NULL, NULL), 0);
	count = sb_system_space(system, 1, 100)->nepochs;
	sb_system_free(system);
	jit_code_free(jit);
	sb_resolver_free(resolver);
	sb_perfdata_close(perfdata);
	return count;
}

/* 100,000 pieces of code, each at its own time; every @again-th where one was before. */
static void has_many_pieces(struct fixture *fixture, uint64_t again)
{
	struct dump_bytes bytes;

	maps(fixture, 0, 1, 0x1000, "//anon");
	dump_begin(&bytes, 1, TIMED);
	for (uint64_t i = 0; i < 100000; ++i)
		dump_load(&bytes, 1000 + i, 1, i % again == again - 1 ? 0x1000 : 0x100000 + 16 * i, "piece",
		          A, 4, i);
	has_dump(fixture, 30, 1, &bytes);
}

static void pieces_in_places_of_their_own_are_one_epoch(void **state)
{
	has_many_pieces(*state, 1000000);
	assert_int_equal(count_epochs(*state), 1);
}

static void pieces_that_replace_others_begin_epochs(void **state)
{
	has_many_pieces(*state, 2);
	assert_int_equal(count_epochs(*state), 50000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(code_is_overwritten, setup_timed, teardown),
	        cmocka_unit_test_setup_teardown(what_runs_while_code_is_overwritten_is_not_known, setup_timed,
	                                        teardown),
	        cmocka_unit_test_setup_teardown(code_is_moved, setup_timed, teardown),
	        cmocka_unit_test_setup_teardown(memory_that_is_mapped_again_keeps_its_code, setup_timed,
	                                        teardown),
	        cmocka_unit_test_setup_teardown(files_and_code_replace_each_other, setup_timed, teardown),
	        cmocka_unit_test_setup_teardown(a_child_has_what_its_parent_had, setup_timed, teardown),
	        cmocka_unit_test_setup_teardown(
	                a_child_of_which_nobody_saw_how_it_was_made_may_have_what_its_parent_has, setup_timed,
	                teardown),
	        cmocka_unit_test_setup_teardown(an_exec_leaves_nothing, setup_timed, teardown),
	        cmocka_unit_test_setup_teardown(a_dump_is_of_the_process_that_maps_it, setup_timed, teardown),
	        cmocka_unit_test_setup_teardown(without_times_only_what_never_changed_is_known, setup_timed,
	                                        teardown),
	        cmocka_unit_test_setup_teardown(what_a_dump_that_is_cut_off_says_counts_up_to_there,
	                                        setup_timed, teardown),
	        cmocka_unit_test_setup_teardown(a_damaged_dump_is_not_used, setup_timed, teardown),
	        cmocka_unit_test_setup_teardown(dumps_may_be_named, setup_timed, teardown),
	        cmocka_unit_test_setup_teardown(a_named_dump_must_be_good, setup_timed, teardown),
	        cmocka_unit_test_setup_teardown(a_late_record_changes_nothing, setup_timed, teardown),
	        cmocka_unit_test_setup_teardown(pieces_in_places_of_their_own_are_one_epoch, setup_timed,
	                                        teardown),
	        cmocka_unit_test_setup_teardown(pieces_that_replace_others_begin_epochs, setup_timed,
	                                        teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
