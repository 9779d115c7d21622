/* test_repair.c - several may run, or a record's time misleads: the trace behind tells who did.
 *
 * Who ran what, and where, is written down here: the trace is made of it.
 */
#include "replay_fixture.h"

#include <time.h>

/* 1000 jne 1004  1002 nop  1003 nop  1004 syscall */
static const uint8_t branching[] = {0x75, 0x02, 0x90, 0x90, 0x0f, 0x05};
/* 1000 nop  1001 nop  1002 syscall */
static const uint8_t straight[] = {0x90, 0x90, 0x0f, 0x05};
/* 1000 ret */
static const uint8_t returning[] = {0xc3, 0x90, 0x0f, 0x05};

static void has_programs(struct fixture *fixture)
{
	has_file(fixture, "/branching", branching, sizeof(branching));
	has_file(fixture, "/straight", straight, sizeof(straight));
	has_file(fixture, "/returning", returning, sizeof(returning));
}

/* Two processes whose programs were linked to the same address; the second one is switched to at 1000. */
static void run_one_after_the_other(struct fixture *fixture, const char *first, const char *second)
{
	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, first);
	maps(fixture, 0, 2, 0x1000, second);
	switches(fixture, 0, 150, 0, 1);
	switches(fixture, 0, 1000, 1, 2);
}

/* Stretches of the programs at 0x1000, at no time of their own. */
static void runs_branching(struct trace *trace)
{
	trace_ip(trace, ppt_tip_pge, 0x1000);
	trace_tnt(trace, "t");
	trace_disabled(trace);
}

static void runs_straight(struct trace *trace)
{
	trace_ip(trace, ppt_tip_pge, 0x1000);
	trace_disabled(trace);
}

static void assert_switches(struct fixture *fixture, uint64_t repaired, uint64_t uncertain)
{
	const struct sb_account *account = sb_session_account(fixture->session);

	assert_int_equal(account->switches[sb_switch_repaired], repaired);
	assert_int_equal(account->switches[sb_switch_uncertain], uncertain);
}

/* They take turns, and time stands still. */
static void take_turns(struct fixture *fixture)
{
	struct trace trace = {0};

	run_one_after_the_other(fixture, "/branching", "/straight");
	switches(fixture, 0, 2000, 2, 1);
	trace_start(&trace, 100);
	trace_tsc(&trace, 200);
	trace_mode64(&trace);
	runs_branching(&trace);
	runs_straight(&trace);
	runs_branching(&trace);
	trace_start(&trace, 5000);
	traced(fixture, 0, trace.bytes, trace.size);
}

static void where_time_stands_still_the_code_that_fits_tells_who_runs(void **state)
{
	struct fixture *fixture = *state;

	take_turns(fixture);
	assert_replay(fixture, "0/1/1@200: 1000 1004; 0/2/2@200: 1000 1001 1002; 0/1/1@200: 1000 1004", "");
	assert_switches(fixture, 2, 0);
}

static void without_trials_nobody_knows(void **state)
{
	struct fixture *fixture = *state;

	take_turns(fixture);
	fixture->options.without_evidence = 1u << sb_switch_repaired;
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000 1004");
	assert_gap(fixture, sb_gap_unknown_process);
	assert_switches(fixture, 0, 1);
}

/* Who fits is one of two: it stays unknown. */
static void two_that_fit_leave_it_open(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/straight");
	maps(fixture, 0, 2, 0x1000, "/branching");
	maps(fixture, 0, 3, 0x1000, "/branching");
	switches(fixture, 0, 150, 0, 1);
	switches(fixture, 0, 1000, 1, 2);
	switches(fixture, 0, 2000, 2, 3);
	trace_start(&trace, 100);
	trace_tsc(&trace, 200);
	trace_mode64(&trace);
	runs_straight(&trace);
	runs_branching(&trace);
	trace_start(&trace, 5000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000 1001 1002");
	assert_gap(fixture, sb_gap_unknown_process);
	assert_switches(fixture, 0, 1);
}

/* A child has its parent's code until it calls execve(): what it has afterwards does not refute it. */
static void a_child_fits_as_its_parent_does_before_it_executes_another_program(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/branching");
	switches(fixture, 0, 150, 0, 1);
	forks(fixture, 500, 1, 2);
	switches(fixture, 0, 1000, 1, 2);
	execs(fixture, 1500, 2, "straight");
	maps(fixture, 1600, 2, 0x1000, "/straight");
	switches(fixture, 0, 2000, 2, 1);
	trace_start(&trace, 100);
	trace_tsc(&trace, 200);
	trace_mode64(&trace);
	runs_branching(&trace);
	runs_branching(&trace); /* whose is that? */
	trace_start(&trace, 5000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000 1004");
	assert_gap(fixture, sb_gap_unknown_process);
	assert_switches(fixture, 0, 1);
}

/* Nobody fits: it is as it was without. */
static void when_nobody_fits_it_is_a_gap(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	run_one_after_the_other(fixture, "/straight", "/returning");
	trace_start(&trace, 100);
	trace_tsc(&trace, 200);
	trace_mode64(&trace);
	runs_straight(&trace);
	trace_ip(&trace, ppt_tip_pge, 0x1000);
	trace_tnt(&trace, "n"); /* neither a return nor a straight way */
	trace_disabled(&trace);
	trace_start(&trace, 5000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000 1001 1002");
	assert_gap(fixture, sb_gap_unknown_process);
	assert_switches(fixture, 0, 1);
}

/* A program whose file is not there cannot be refuted. */
static void who_has_code_that_is_not_known_may_run(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	run_one_after_the_other(fixture, "/branching", "/missing");
	trace_start(&trace, 100);
	trace_tsc(&trace, 200);
	trace_mode64(&trace);
	runs_branching(&trace);
	runs_branching(&trace);
	trace_start(&trace, 5000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000 1004");
	assert_gap(fixture, sb_gap_unknown_process);
	assert_switches(fixture, 0, 1);
}

/* ---- With exact time ---------------------------------------------------------------------------- */

/* The trace's estimate says 900, while the switch is recorded at 1000: so the first one's code is taken, and
 * contradicted. Behind the next PSB, time is right again. */
static void an_early_time_is_set_right(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	run_one_after_the_other(fixture, "/branching", "/straight");
	switches(fixture, 0, 20000, 2, 1);
	trace_start(&trace, 200);
	trace_tsc(&trace, 300);
	trace_mode64(&trace);
	runs_branching(&trace);
	trace_tsc(&trace, 900);
	runs_straight(&trace);
	trace_tsc(&trace, 10000);
	runs_straight(&trace);
	trace_start(&trace, 30000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_replay(fixture, "0/1/1@300: 1000 1004; 0/2/2@900: 1000 1001 1002; 0/2/2@10000: 1000 1001 1002",
	              "");
	assert_switches(fixture, 1, 0);
}

/* What fits stays, as near as the next switch may be. */
static void a_record_that_nothing_contradicts_is_right(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	run_one_after_the_other(fixture, "/branching", "/straight");
	trace_start(&trace, 200);
	trace_tsc(&trace, 900);
	trace_mode64(&trace);
	runs_branching(&trace);
	trace_tsc(&trace, 10000);
	runs_straight(&trace);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_replay(fixture, "0/1/1@900: 1000 1004; 0/2/2@10000: 1000 1001 1002", "");
	assert_switches(fixture, 0, 0);
}

/* No record of a switch is left: it is whoever's code fits. */
static void where_records_of_switches_are_missing_the_code_that_fits_tells(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/branching");
	maps(fixture, 0, 2, 0x1000, "/straight");
	trace_start(&trace, 200);
	trace_tsc(&trace, 300);
	trace_mode64(&trace);
	runs_straight(&trace);
	trace_tsc(&trace, 400);
	runs_branching(&trace);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_replay(fixture, "0/2/-1@300: 1000 1001 1002; 0/1/-1@400: 1000 1004", "");
	assert_switches(fixture, 2, 0);
}

/* A compressed return goes to a call that the trace has seen: where there was none, nobody returned. */
static void who_returns_was_called(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/branching");
	maps(fixture, 0, 2, 0x1000, "/returning");
	trace_start(&trace, 200);
	trace_tsc(&trace, 300);
	trace_mode64(&trace);
	runs_branching(&trace);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_replay(fixture, "0/1/-1@300: 1000 1004", "");
	assert_switches(fixture, 1, 0);
}

/* ---- Who may have code that no record tells of ---------------------------------------------------- */

/* 1000 jmp *%rax */
static const uint8_t jumping[] = {0xff, 0xe0};

enum { JUMPS = 8, FIRST_JUMP = 0x1000, BEHIND_JUMPS = FIRST_JUMP + JUMPS * 0x1000 };

static void loses(struct fixture *fixture, uint64_t time)
{
	const struct sb_write_sample at = sample(1, 1, time);

	assert_int_equal(sb_write_lost(fixture->writer, &at, 1, NULL), 0);
}

/* As many pages as are looked at in advance. */
static void maps_jumps(struct fixture *fixture, uint64_t time, int32_t pid)
{
	has_programs(fixture);
	has_file(fixture, "/jumping", jumping, sizeof(jumping));
	for (uint64_t i = 0; i < JUMPS; ++i)
		maps(fixture, time, pid, FIRST_JUMP + i * 0x1000, "/jumping");
}

/* From page to page, and on to where only the first process certainly has code. */
static void runs_jumps(struct fixture *fixture)
{
	struct trace trace = {0};

	trace_start(&trace, 200);
	trace_tsc(&trace, 300);
	trace_mode64(&trace);
	trace_ip(&trace, ppt_tip_pge, FIRST_JUMP);
	for (uint64_t i = 1; i <= JUMPS; ++i)
		trace_ip(&trace, ppt_tip, FIRST_JUMP + i * 0x1000);
	trace_disabled(&trace);
	traced(fixture, 0, trace.bytes, trace.size);
}

static void assert_is_open(struct fixture *fixture)
{
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "");
	assert_gap(fixture, sb_gap_unknown_process);
	assert_switches(fixture, 0, 0);
}

static void who_has_nothing_mapped_where_the_trace_goes_was_not_there(void **state)
{
	struct fixture *fixture = *state;

	maps_jumps(fixture, 0, 1);
	maps(fixture, 0, 1, BEHIND_JUMPS, "/straight");
	maps_jumps(fixture, 0, 2);
	runs_jumps(fixture);
	assert_int_equal(replay(fixture), 0);
	assert_switches(fixture, 1, 0);
}

/* Of the second one's beginning there is no record: it may have all that its parent has. */
static void a_stranger_is_not_refuted_by_what_no_record_says_it_has(void **state)
{
	struct fixture *fixture = *state;

	maps_jumps(fixture, 0, 1);
	maps(fixture, 0, 1, BEHIND_JUMPS, "/straight");
	maps_jumps(fixture, 100, 2);
	runs_jumps(fixture);
	assert_is_open(fixture);
}

/* Records were lost, and one of them may have told of a mapping. */
static void who_may_have_mapped_what_was_lost_is_not_refuted(void **state)
{
	struct fixture *fixture = *state;

	maps_jumps(fixture, 0, 1);
	maps(fixture, 0, 1, BEHIND_JUMPS, "/straight");
	maps_jumps(fixture, 0, 2);
	loses(fixture, 250);
	runs_jumps(fixture);
	assert_is_open(fixture);
}

/* Before 101000 the first one runs, by the records, while the switch to the next one comes so soon that it
 * may have been before. Only the second one's code fits. */
static void runs_early(struct fixture *fixture)
{
	struct trace trace = {0};

	trace_start(&trace, 200);
	trace_tsc(&trace, 100900);
	trace_mode64(&trace);
	runs_straight(&trace);
	trace_start(&trace, 130000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
}

/* The first one's number is somebody else's by then, of whose beginning there is no record. */
static void what_had_ended_is_not_refuted(void **state)
{
	struct fixture *fixture = *state;
	const struct sb_write_sample end = sample(0, 1, 50);

	has_programs(fixture);
	execs(fixture, 30, 1, "branching");
	maps(fixture, 40, 1, 0x1000, "/branching");
	maps(fixture, 0, 2, 0x1000, "/straight");
	assert_int_equal(sb_write_exit(fixture->writer, &end, 1, 0, 1, 0, NULL), 0);
	switches(fixture, 0, 60, 1, 0);
	switches(fixture, 0, 100150, 0, 1);
	switches(fixture, 0, 101000, 1, 2);
	runs_early(fixture);
	assert_switches(fixture, 0, 0);
}

/* Between those whose code is known, one is switched to of whom nobody knows what it has. */
static void a_stranger_may_be_who_runs_early(void **state)
{
	struct fixture *fixture = *state;

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/branching");
	maps(fixture, 0, 2, 0x1000, "/straight");
	switches(fixture, 0, 100150, 0, 1);
	switches(fixture, 0, 101000, 1, 3);
	switches(fixture, 0, 101010, 3, 2);
	runs_early(fixture);
	assert_switches(fixture, 0, 0);
}

/* ---- What it costs ------------------------------------------------------------------------------ */

/* 1000 jne 1000  1002 syscall; and with another jump before that. */
static const uint8_t looping[] = {0x75, 0xfe, 0x0f, 0x05};
static const uint8_t longer[] = {0x75, 0xfe, 0x75, 0x00, 0x0f, 0x05};

enum { PERIODS = 2000, STRETCHES = 6, ROUNDS = 240 };

/* Round and round, and out. */
static void loops(struct trace *trace, uint64_t ip, int is_longer)
{
	trace_ip(trace, ppt_tip_pge, ip);
	for (int i = 0; i < ROUNDS; i += 6)
		trace_tnt(trace, "tttttt");
	trace_tnt(trace, is_longer ? "nt" : "n");
	trace_disabled(trace);
}

/* In each period two processes take turns that only the last branch of a stretch tells apart, unless the
 * second one has its code @elsewhere. */
static void records_doubts(struct fixture *fixture, uint64_t elsewhere)
{
	struct trace *trace = calloc(1, sizeof(*trace));
	uint8_t *bytes = malloc((size_t)PERIODS * sizeof(trace->bytes));
	size_t size = 0;

	assert_non_null(trace);
	assert_non_null(bytes);
	has_file(fixture, "/looping", looping, sizeof(looping));
	has_file(fixture, "/longer", longer, sizeof(longer));
	maps(fixture, 0, 1, 0x1000, "/looping");
	maps(fixture, 0, 2, elsewhere, "/longer");
	switches(fixture, 0, 150, 0, 1);
	for (uint64_t i = 0; i < PERIODS; ++i) {
		const uint64_t now = 10000 * (i + 1);

		trace->size = 0;
		trace_start(trace, now);
		trace_mode64(trace);
		for (uint64_t k = 0; k < STRETCHES; ++k) {
			loops(trace, k & 1 ? elsewhere : 0x1000, k & 1);
			switches(fixture, 0, now + 100 * (k + 1), k & 1 ? 2 : 1, k & 1 ? 1 : 2);
		}
		memcpy(bytes + size, trace->bytes, trace->size);
		size += trace->size;
	}
	traced(fixture, 0, bytes, size);
	free(bytes);
	free(trace);
}

static int counts_flow(void *context, const struct sb_flow *flow)
{
	*(uint64_t *)context += flow->ninsn;
	return 0;
}

/* Processor time of a replay, the least of a few, in clock ticks. */
static clock_t replay_time(struct fixture *fixture, struct sb_account *account)
{
	clock_t least = 0;

	for (int i = 0; i < 3; ++i) {
		uint64_t ninsn = 0;
		const struct sb_sink sink = {.context = &ninsn, .flow = counts_flow};
		struct sb_error err = {0};
		clock_t began;

		sb_session_close(fixture->session);
		assert_int_equal(
		        sb_session_open(&fixture->session, fixture->perfdata, &fixture->options, &err), 0);
		began = clock();
		assert_int_equal(sb_session_run(fixture->session, &sink, &err), 0);
		began = clock() - began;
		if (!i || began < least)
			least = began;
		*account = *sb_session_account(fixture->session);
		assert_int_equal(ninsn, account->ninsn);
	}
	return least;
}

static struct fixture *opens_doubts(uint64_t elsewhere)
{
	struct fixture *fixture;
	struct sb_error err = {0};
	void *state;

	setup_late(&state);
	fixture = state;
	records_doubts(fixture, elsewhere);
	assert_int_equal(sb_perfdata_writer_finish(fixture->writer, &err), 0);
	fixture->writer = NULL;
	assert_int_equal(sb_perfdata_open(&fixture->perfdata, fixture->recording, &err), 0);
	return fixture;
}

static clock_t doubts_time(uint64_t elsewhere, uint32_t without, struct sb_account *account)
{
	struct fixture *fixture = opens_doubts(elsewhere);
	void *state = fixture;
	clock_t time;

	fixture->options.without_evidence = without;
	time = replay_time(fixture, account);
	teardown(&state);
	return time;
}

/* A recording in which everything is in doubt takes not more than twice the time that it would if nothing
 * were, or if nothing were tried. */
static void doubts_cost_no_more_than_the_trace(void **state)
{
	struct sb_account tried, given_up, plain;
	const clock_t dear = doubts_time(0x1000, 0, &tried);
	const clock_t without = doubts_time(0x1000, 1u << sb_switch_repaired, &given_up);
	const clock_t cheap = doubts_time(0x5000, 0, &plain);

	(void)state;
	print_message("tried: %ld ticks, %ju instructions; given up: %ld, %ju; without doubt: %ld, %ju\n",
	              (long)dear, (uintmax_t)tried.ninsn, (long)without, (uintmax_t)given_up.ninsn,
	              (long)cheap, (uintmax_t)plain.ninsn);
	assert_true(tried.switches[sb_switch_repaired] >= PERIODS);
	assert_true(tried.ninsn > given_up.ninsn);
	assert_true(dear <= 2 * (without > cheap ? without : cheap));
}

/* All that a sink is told, in a few bytes: order counts. */
struct digest {
	uint64_t value, nflows;
};

static void digests(struct digest *digest, uint64_t value)
{
	digest->value = (digest->value ^ value) * 0x100000001b3;
}

static int digests_flow(void *context, const struct sb_flow *flow)
{
	struct digest *digest = context;

	digest->nflows += 1;
	digests(digest, (uint64_t)flow->pid << 32 | (uint32_t)flow->tid);
	digests(digest, flow->tsc);
	for (uint32_t i = 0; i < flow->npaths; ++i)
		for (uint32_t k = 0; k < flow->path[i]->nblocks; ++k)
			digests(digest, flow->path[i]->block[k].end_ip);
	return 0;
}

static int digests_gap(void *context, const struct sb_gap *gap)
{
	digests(context, gap->offset);
	digests(context, gap->bytes);
	return 0;
}

static struct digest digest_of(struct fixture *fixture, unsigned int jobs, uint64_t *repaired)
{
	struct digest digest = {0};
	const struct sb_sink sink = {.context = &digest, .flow = digests_flow, .gap = digests_gap};
	struct sb_error err = {0};

	sb_session_close(fixture->session);
	fixture->options.jobs = jobs;
	assert_int_equal(sb_session_open(&fixture->session, fixture->perfdata, &fixture->options, &err), 0);
	session_set_piece_size(fixture->session, 8192);
	assert_int_equal(sb_session_run(fixture->session, &sink, &err), 0);
	*repaired = sb_session_account(fixture->session)->switches[sb_switch_repaired];
	return digest;
}

static void any_number_of_threads_gives_the_same(void **state)
{
	struct fixture *fixture = opens_doubts(0x1000);
	uint64_t repaired, again;
	const struct digest one = digest_of(fixture, 1, &repaired);
	void *opened = fixture;

	(void)state;
	assert_true(one.nflows > PERIODS);
	for (unsigned int jobs = 2; jobs < 6; ++jobs) {
		const struct digest more = digest_of(fixture, jobs, &again);

		assert_int_equal(more.value, one.value);
		assert_int_equal(more.nflows, one.nflows);
		assert_int_equal(again, repaired);
	}
	teardown(&opened);
}

int main(void)
{
#define LATE_TEST(name) cmocka_unit_test_setup_teardown(name, setup_late, teardown)
#define TEST(name)      cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        LATE_TEST(where_time_stands_still_the_code_that_fits_tells_who_runs),
	        LATE_TEST(without_trials_nobody_knows),
	        LATE_TEST(two_that_fit_leave_it_open),
	        LATE_TEST(a_child_fits_as_its_parent_does_before_it_executes_another_program),
	        LATE_TEST(when_nobody_fits_it_is_a_gap),
	        LATE_TEST(who_has_code_that_is_not_known_may_run),
	        TEST(an_early_time_is_set_right),
	        TEST(a_record_that_nothing_contradicts_is_right),
	        TEST(where_records_of_switches_are_missing_the_code_that_fits_tells),
	        TEST(who_returns_was_called),
	        TEST(who_has_nothing_mapped_where_the_trace_goes_was_not_there),
	        TEST(a_stranger_is_not_refuted_by_what_no_record_says_it_has),
	        TEST(who_may_have_mapped_what_was_lost_is_not_refuted),
	        TEST(what_had_ended_is_not_refuted),
	        TEST(a_stranger_may_be_who_runs_early),
	        cmocka_unit_test(any_number_of_threads_gives_the_same),
	        cmocka_unit_test(doubts_cost_no_more_than_the_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
