/* test_replay.c - who ran what: small programs, their trace, the sideband, and the flow that follows.
 *
 * All programs are mapped at 0x1000 unless said otherwise, so that code alone does not tell them apart:
 *   /a  1000 nop  1001 nop  1002 syscall
 *   /b  1000 nop  1001 syscall
 *   /c  1000 jne 1002  1002 nop  1003 syscall
 *   /d  1000 jmp *%rax
 */
#include "replay_fixture.h"

static const uint8_t code_a[] = {0x90, 0x90, 0x0f, 0x05};
static const uint8_t code_b[] = {0x90, 0x0f, 0x05};
static const uint8_t code_c[] = {0x75, 0x00, 0x90, 0x0f, 0x05};
static const uint8_t code_d[] = {0xff, 0xe0};

static void has_programs(struct fixture *fixture)
{
	has_file(fixture, "/a", code_a, sizeof(code_a));
	has_file(fixture, "/b", code_b, sizeof(code_b));
	has_file(fixture, "/c", code_c, sizeof(code_c));
	has_file(fixture, "/d", code_d, sizeof(code_d));
}

/* ---- Attribution ------------------------------------------------------------------------------ */

static void each_process_has_its_own_code(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/a");
	maps(fixture, 0, 2, 0x1000, "/b");
	switches(fixture, 0, 150, 0, 1);
	switches(fixture, 0, 250, 1, 2);
	switches(fixture, 0, 350, 2, 1);
	trace_start(&trace, 100);
	trace_stretch(&trace, 200, 0x1000);
	trace_stretch(&trace, 300, 0x1000);
	trace_stretch(&trace, 400, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_replay(fixture, "0/1/1@200: 1000 1001 1002; 0/2/2@300: 1000 1001; 0/1/1@400: 1000 1001 1002",
	              "");
	assert_int_equal(sb_session_account(fixture->session)->nswitches, 4); /* unknown, idle, and so on */
}

static void cpus_have_their_own_schedules(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/a");
	maps(fixture, 0, 2, 0x1000, "/b");
	switches(fixture, 0, 150, 0, 1);
	switches(fixture, 1, 150, 0, 2);
	trace_start(&trace, 100);
	trace_stretch(&trace, 200, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	traced(fixture, 1, trace.bytes, trace.size);
	assert_replay(fixture, "0/1/1@200: 1000 1001 1002; 1/2/2@200: 1000 1001", "");
}

/* Time is an estimate: the switch came due in the middle of a stretch, but cannot have happened there. */
static void a_switch_waits_until_tracing_is_off(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/c");
	maps(fixture, 0, 2, 0x1000, "/b");
	switches(fixture, 0, 150, 0, 1);
	switches(fixture, 0, 250, 1, 2);
	trace_start(&trace, 100);
	trace_enabled(&trace, 200, 0x1000);
	trace_tsc(&trace, 300);
	trace_tnt(&trace, "n");
	trace_disabled(&trace);
	trace_stretch(&trace, 301, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	/* The first block's time is that of the TSC before the branch that ends it. */
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->gaps, "");
	assert_non_null(strstr(fixture->flow, "1000"));
	assert_null(strstr(strstr(fixture->flow, "0/2/2"), "0/1/1"));
	assert_non_null(strstr(fixture->flow, "0/2/2@301: 1000 1001"));
	assert_non_null(strstr(fixture->flow, "1003; 0/2/2"));
}

static void exec_gives_a_process_other_code(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/a");
	maps(fixture, 0, 1, 0x5000, "/a");
	switches(fixture, 0, 150, 0, 1);
	execs(fixture, 250, 1, "b");
	maps(fixture, 251, 1, 0x1000, "/b");
	trace_start(&trace, 100);
	trace_stretch(&trace, 200, 0x1000);
	trace_stretch(&trace, 300, 0x1000);
	trace_stretch(&trace, 400, 0x5000); /* no longer mapped */
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000 1001 1002; 0/1/1@300: 1000 1001");
	assert_non_null(strstr(fixture->gaps, "not-mapped"));
	assert_string_equal(sb_session_account(fixture->session)->thread[0].comm, "b");
}

static void a_forked_child_has_its_parents_code(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/a");
	switches(fixture, 0, 150, 0, 1);
	forks(fixture, 210, 1, 2);
	switches(fixture, 0, 250, 1, 2);
	trace_start(&trace, 100);
	trace_stretch(&trace, 200, 0x1000);
	trace_stretch(&trace, 300, 0x1001);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_replay(fixture, "0/1/1@200: 1000 1001 1002; 0/2/2@300: 1001 1002", "");
}

/* Another thread replaces code while this one runs elsewhere. */
static void new_mappings_count_at_once(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/d");
	maps(fixture, 0, 1, 0x2000, "/a");
	switches(fixture, 0, 150, 0, 1);
	maps(fixture, 250, 1, 0x2000, "/b");
	trace_start(&trace, 100);
	trace_enabled(&trace, 200, 0x1000);
	trace_tsc(&trace, 300);
	trace_ip(&trace, ppt_tip, 0x2000);
	trace_disabled(&trace);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->gaps, "");
	assert_non_null(strstr(fixture->flow, " 2000 2001"));
	assert_null(strstr(fixture->flow, " 2002"));
}

/* ---- Gaps ------------------------------------------------------------------------------------- */

/* Two processes; the second one's code is @filename. The second PSB ends what is lost. */
static void second_process_runs(struct fixture *fixture, const char *filename, int mapped)
{
	struct trace trace = {0};

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/a");
	maps(fixture, 0, 2, mapped ? 0x1000 : 0x9000, filename);
	switches(fixture, 0, 150, 0, 1);
	switches(fixture, 0, 250, 1, 2);
	switches(fixture, 0, 350, 2, 1);
	trace_start(&trace, 100);
	trace_stretch(&trace, 200, 0x1000);
	trace_stretch(&trace, 300, 0x1000);
	trace_stretch(&trace, 310, 0x1000);
	trace_start(&trace, 380);
	trace_stretch(&trace, 400, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000 1001 1002; 0/1/1@400: 1000 1001 1002");
}

static void a_file_that_is_not_there_is_no_binary(void **state)
{
	second_process_runs(*state, "/nowhere", 1);
	assert_gap(*state, sb_gap_no_binary);
}

static void a_file_that_is_too_short_is_a_mismatch(void **state)
{
	has_file(*state, "/empty", "", 0);
	second_process_runs(*state, "/empty", 1);
	assert_gap(*state, sb_gap_binary_mismatch);
}

static void generated_code_is_anonymous(void **state)
{
	second_process_runs(*state, "//anon", 1);
	assert_gap(*state, sb_gap_anonymous);
}

static void code_without_a_record_is_not_mapped(void **state)
{
	second_process_runs(*state, "/a", 0);
	assert_gap(*state, sb_gap_not_mapped);
}

static void without_a_schedule_the_process_is_unknown(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/a");
	maps(fixture, 0, 2, 0x1000, "/a");
	maps(fixture, 0, 2, 0x9000, "/b");
	trace_start(&trace, 100);
	trace_stretch(&trace, 200, 0x1000);
	trace_stretch(&trace, 300, 0x9000); /* only one of them has code there; which thread, nobody knows */
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/2/-1@300: 9000 9001");
	assert_gap(fixture, sb_gap_unknown_process);
}

static void the_idle_task_runs_no_code_of_user_space(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	maps(fixture, 0, 1, 0x1000, "/a");
	maps(fixture, 0, 2, 0x1000, "/a");
	switches(fixture, 0, 150, 1, 0);
	trace_start(&trace, 100);
	trace_stretch(&trace, 200, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_gap(fixture, sb_gap_unknown_process);
}

/* That 1 ran before 3, a record says, but none says since when: where the code is 2's, it is 2 still. */
static void addresses_tell_who_runs_where_records_are_missing(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};
	const struct sb_account *account;

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/a");
	maps(fixture, 0, 2, 0x5000, "/b");
	maps(fixture, 0, 3, 0x1000, "/a");
	switches(fixture, 0, 150, 0, 2);
	switches(fixture, 0, 30000, 1, 3);
	trace_start(&trace, 100);
	trace_stretch(&trace, 200, 0x5000);
	trace_stretch(&trace, 10000, 0x5000);
	trace_stretch(&trace, 20000, 0x5000);
	trace_stretch(&trace, 40000, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/2/2@200: 5000 5001; 0/2/2@10000: 5000 5001; "
	                                   "0/2/2@20000: 5000 5001; 0/3/3@40000: 1000 1001 1002");
	account = sb_session_account(fixture->session);
	assert_int_equal(account->switches[sb_switch_uncertain], 0);
	assert_int_equal(account->switches[sb_switch_by_time], account->nswitches);
}

/* What nobody can notice: a process ran for a while in the place of its sibling, which has the same code at
 * the same addresses, and no record of either switch is left. Its instructions are told as the sibling's. */
static void siblings_without_records_are_taken_for_each_other(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/a");
	forks(fixture, 50, 1, 2);
	switches(fixture, 0, 150, 0, 1);
	/* to 2 at 250, back to 1 at 350 */
	trace_start(&trace, 100);
	trace_stretch(&trace, 200, 0x1000);
	trace_stretch(&trace, 300, 0x1000);
	trace_stretch(&trace, 400, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000 1001 1002; 0/1/1@300: 1000 1001 1002; "
	                                   "0/1/1@400: 1000 1001 1002");
	assert_string_equal(fixture->gaps, "");
}

/* A wrong way is noticed late: what came since the last PSB goes with it, what came before stays. */
static void an_error_takes_back_what_no_psb_has_confirmed(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};
	size_t psb[2];

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/a");
	switches(fixture, 0, 150, 0, 1);
	trace_start(&trace, 100);
	trace_stretch(&trace, 200, 0x1000);
	psb[0] = trace.size;
	trace_start(&trace, 250);
	trace_stretch(&trace, 300, 0x1000);
	trace_enabled(&trace, 400, 0x1000);
	trace_tnt(&trace, "n"); /* there is no branch */
	trace_disabled(&trace);
	psb[1] = trace.size;
	trace_start(&trace, 450);
	trace_stretch(&trace, 500, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000 1001 1002; 0/1/1@500: 1000 1001 1002");
	assert_int_equal(sb_session_account(fixture->session)->gap[sb_gap_decode_error].bytes,
	                 psb[1] - psb[0]);
}

/* A PSB+ that brings no event all the same ends the segment before it: nothing is given twice. */
static void a_psb_without_events_is_where_the_next_segment_begins(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};
	size_t second;

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/a");
	switches(fixture, 0, 150, 0, 1);
	trace_start(&trace, 100);
	trace_tsc(&trace, 200);
	trace_mode64(&trace);
	trace_ip(&trace, ppt_tip_pge, 0x1000);
	/* chunks begin at multiples of eight */
	while (trace.size % 8)
		trace.bytes[trace.size++] = 0;
	second = trace.size;
	trace_psb(&trace);
	trace_tsc(&trace, 300);
	trace_ip(&trace, ppt_fup, 0x1000);
	trace_psbend(&trace);
	trace_ip(&trace, ppt_fup, 0x1000);
	trace_mode64(&trace);
	trace_ip(&trace, ppt_tip, 0x1000);
	trace_disabled(&trace);
	trace_start(&trace, 400);
	trace_stretch(&trace, 500, 0x1000);
	memset(trace.bytes + trace.size, 0, 700);
	trace.size += 700;
	traced(fixture, 0, trace.bytes, second);
	traced(fixture, 0, trace.bytes + second, trace.size - second);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/1/1@300: 1000 1001 1002; 0/1/1@500: 1000 1001 1002");
}

static void bytes_that_are_no_packets_are_bad_trace(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/a");
	switches(fixture, 0, 150, 0, 1);
	trace_start(&trace, 100);
	trace.bytes[trace.size++] = 0x02;
	trace.bytes[trace.size++] = 0xff;
	trace_start(&trace, 450);
	trace_stretch(&trace, 500, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "0/1/1@500: 1000 1001 1002");
	assert_gap(fixture, sb_gap_bad_trace);
}

/* ---- Several threads -------------------------------------------------------------------------- */

/* In the middle of a stretch, at a PSB. */
static void trace_psb_at(struct trace *trace, uint64_t tsc, uint64_t ip)
{
	trace_psb(trace);
	trace_tsc(trace, tsc);
	trace_mode64(trace);
	trace_ip(trace, ppt_fup, ip);
	trace_psbend(trace);
}

/* Whoever begins at one of the PSBs believes that the switches of that time have happened; but they wait. */
static void switches_wait_across_psbs(void **state)
{
	static const uint8_t code[] = {0x75, 0xfe, 0x0f, 0x05}; /* 1000 jne 1000  1002 syscall */
	enum { PSBS = 40, TIMES = 30 };
	struct fixture *fixture = *state;
	struct trace trace = {0};
	char *flow;

	has_file(fixture, "/e", code, sizeof(code));
	maps(fixture, 0, 1, 0x1000, "/e");
	maps(fixture, 0, 2, 0x1000, "/e");
	switches(fixture, 0, 150, 0, 1);
	trace_start(&trace, 100);
	trace_enabled(&trace, 200, 0x1000);
	for (int32_t i = 0; i < PSBS; ++i) {
		switches(fixture, 0, 300 + 10 * (uint64_t)i, 1 + i % 2, 2 - i % 2);
		trace_tnt(&trace, "ttt");
		trace_psb_at(&trace, 305 + 10 * (uint64_t)i, 0x1000);
	}
	trace_tnt(&trace, "n");
	trace_disabled(&trace);
	trace_stretch(&trace, 1000, 0x1002);
	traced(fixture, 0, trace.bytes, trace.size);

	fixture->options.jobs = 1;
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->gaps, "");
	assert_null(strstr(fixture->flow, "0/2/2"));
	assert_int_equal(sb_session_account(fixture->session)->ninsn, 3 * PSBS + 3);
	flow = strdup(fixture->flow);
	fixture->piece_size = 1;
	for (unsigned int i = 0; i < TIMES; ++i) {
		fixture->options.jobs = 2 + i % 4;
		assert_replay(fixture, flow, "");
		assert_int_equal(sb_session_account(fixture->session)->ninsn, 3 * PSBS + 3);
		assert_int_equal(sb_session_account(fixture->session)->nswitches, 2 + PSBS);
	}
	free(flow);
}

static void bytes_before_the_first_psb_are_counted(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/a");
	switches(fixture, 0, 150, 0, 1);
	trace_tnt(&trace, "ttt");
	trace_tnt(&trace, "ttt");
	trace_start(&trace, 100);
	trace_stretch(&trace, 200, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_replay(fixture, "0/1/1@200: 1000 1001 1002", "no-sync+2");
}

static void trace_without_any_psb_is_all_no_sync(void **state)
{
	struct fixture *fixture = *state;
	static const uint8_t zeros[4096];

	traced(fixture, 0, zeros, sizeof(zeros));
	assert_replay(fixture, "", "no-sync+4096");
}

static void an_overflow_is_a_gap_without_bytes(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/a");
	switches(fixture, 0, 150, 0, 1);
	trace_start(&trace, 100);
	trace_stretch(&trace, 200, 0x1000);
	trace_ovf(&trace);
	trace_ip(&trace, ppt_fup, 0x1001);
	trace_disabled(&trace);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->gaps, "overflow+0");
	assert_string_equal(fixture->flow, "0/1/1@200: 1000 1001 1002 1001 1002");
}

/* Who was switched in while packets were lost? The records know. */
static void a_switch_inside_of_an_overflow_is_seen(void **state)
{
	struct fixture *fixture = *state;
	struct trace trace = {0};

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/a");
	maps(fixture, 0, 2, 0x1000, "/b");
	switches(fixture, 0, 150, 0, 1);
	switches(fixture, 0, 250, 1, 2);
	trace_start(&trace, 100);
	trace_enabled(&trace, 200, 0x1002);
	trace_ovf(&trace);
	trace_tsc(&trace, 300);
	trace_ip(&trace, ppt_fup, 0x1000);
	trace_disabled(&trace);
	traced(fixture, 0, trace.bytes, trace.size);
	assert_int_equal(replay(fixture), 0);
	assert_non_null(strstr(fixture->flow, "0/2/2@300: 1000 1001"));
	assert_null(strstr(fixture->flow, "1/1@300"));
}

static void flagged_trace_begins_anew(void **state)
{
	struct fixture *fixture = *state;
	struct trace before = {0}, behind = {0};
	const struct sb_write_sample at = sample(0, 1, 240);

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/c");
	switches(fixture, 0, 150, 0, 1);
	trace_start(&before, 100);
	trace_enabled(&before, 200, 0x1000);
	while (before.size % 8)
		before.bytes[before.size++] = 0;
	assert_int_equal(sb_write_aux(fixture->writer, &at, 0, before.size, 1, NULL), 0);
	/* Without the hole, the branch would be taken for the one at 1000. */
	trace_tnt(&behind, "n");
	trace_disabled(&behind);
	trace_start(&behind, 300);
	trace_enabled(&behind, 310, 0x1002);
	trace_disabled(&behind);
	traced(fixture, 0, before.bytes, before.size);
	traced(fixture, 0, behind.bytes, behind.size);
	assert_int_equal(replay(fixture), 0);
	assert_null(strstr(fixture->flow, "@200: 1000 1002"));
	assert_non_null(strstr(fixture->flow, "0/1/1@310: 1002 1003"));
	assert_string_equal(fixture->gaps, "truncated+2 truncated+0");
}

/* ---- Chunks ----------------------------------------------------------------------------------- */

/* Many PSBs, and packets cut wherever chunks end. */
static void chunks_are_decoded_as_one_stream(void **state)
{
	static const size_t sizes[] = {8, 64, 200, 512, 520, 1000, 1504, 4096};
	struct fixture *fixture;
	struct trace trace = {0};
	char whole[TEXT_MAX] = "";

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
		uint64_t tsc = 1000;

		teardown(state);
		setup(state);
		fixture = *state;
		has_programs(fixture);
		maps(fixture, 0, 1, 0x1000, "/c");
		switches(fixture, 0, 150, 0, 1);
		trace.size = 0;
		trace_start(&trace, 900);
		trace_enabled(&trace, 990, 0x1000);
		while (trace.size + 200 < sizeof(trace.bytes)) {
			trace_tnt(&trace, "n");
			trace_disabled(&trace);
			trace_enabled(&trace, tsc++, 0x1000);
			if (tsc % 20)
				continue;
			trace_psb(&trace);
			trace_tsc(&trace, tsc++);
			trace_mode64(&trace);
			trace_ip(&trace, ppt_fup, 0x1000);
			trace_psbend(&trace);
		}
		for (size_t at = 0; at < trace.size; at += sizes[i])
			traced(fixture, 0, trace.bytes + at,
			       at + sizes[i] < trace.size ? sizes[i] : trace.size - at);
		assert_int_equal(replay(fixture), 0);
		assert_string_equal(fixture->gaps, "");
		if (!whole[0])
			strcpy(whole, fixture->flow);
		assert_string_equal(fixture->flow, whole);
		assert_non_null(strstr(whole, "@1000: 1000 1002 1003"));
	}
}

/* ---- Damage ----------------------------------------------------------------------------------- */

static void record_two_processes(struct fixture *fixture);

/* Any bytes at all: an error when it is opened, or a balanced account. */
static void replay_bytes(struct fixture *fixture, const uint8_t *bytes, size_t size)
{
	struct sb_error err = {0};
	char *path = temp_dir_write(&fixture->dir, "damaged", bytes, size);

	sb_session_close(fixture->session);
	fixture->session = NULL;
	sb_perfdata_close(fixture->perfdata);
	fixture->perfdata = NULL;
	fixture->flow[0] = '\0';
	if (sb_perfdata_open(&fixture->perfdata, path, &err) < 0)
		assert_true(err.text[0]);
	/* Damage that makes its times those of another clock: that is refused. */
	else if (!sb_perfdata_info(fixture->perfdata)->foreign_clock)
		assert_int_equal(replay(fixture), 0);
	free(path);
}

static void damage_anywhere_does_no_harm(void **state)
{
	struct fixture *fixture = *state;
	uint8_t bytes[16384], damaged[16384];
	char flow[TEXT_MAX];
	uint32_t random = 1;
	size_t size;
	FILE *file;

	record_two_processes(fixture);
	assert_int_equal(replay(fixture), 0);
	strcpy(flow, fixture->flow);
	file = fopen(fixture->recording, "rb");
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	for (size_t cut = 0; cut < size; cut += 7)
		replay_bytes(fixture, bytes, cut);
	for (int i = 0; i < 1000; ++i) {
		memcpy(damaged, bytes, size);
		for (int k = 0; k < 1 + i % 4; ++k) {
			random = random * 1664525u + 1013904223u;
			damaged[(random >> 8) % size] = (uint8_t)(random >> 24);
		}
		replay_bytes(fixture, damaged, size);
	}
	replay_bytes(fixture, bytes, size);
	assert_string_equal(fixture->flow, flow);
}

/* ---- What the caller wants -------------------------------------------------------------------- */

static void record_two_processes(struct fixture *fixture)
{
	struct trace trace = {0};

	has_programs(fixture);
	maps(fixture, 0, 1, 0x1000, "/a");
	maps(fixture, 0, 2, 0x1000, "/b");
	switches(fixture, 0, 150, 0, 1);
	switches(fixture, 0, 250, 1, 2);
	switches(fixture, 1, 150, 0, 1);
	trace_start(&trace, 100);
	trace_stretch(&trace, 200, 0x1000);
	trace_stretch(&trace, 300, 0x1000);
	traced(fixture, 0, trace.bytes, trace.size);
	trace.size = 0;
	trace_start(&trace, 100);
	trace_stretch(&trace, 400, 0x1002);
	traced(fixture, 1, trace.bytes, trace.size);
}

static void other_processes_are_left_out(void **state)
{
	struct fixture *fixture = *state;
	static const int32_t pid[] = {2};

	record_two_processes(fixture);
	fixture->options.pid = pid;
	fixture->options.npids = 1;
	assert_replay(fixture, "0/2/2@300: 1000 1001", "");
	assert_int_equal(sb_session_account(fixture->session)->nthreads, 1);
	assert_int_equal(sb_session_account(fixture->session)->ninsn, 2);
}

static void other_cpus_are_left_out_and_counted(void **state)
{
	struct fixture *fixture = *state;
	static const int32_t cpu[] = {1, 7};

	record_two_processes(fixture);
	fixture->options.cpu = cpu;
	fixture->options.ncpus = 2;
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, "1/1/1@400: 1002");
	assert_gap(fixture, sb_gap_filtered);
}

static void other_times_are_left_out(void **state)
{
	struct fixture *fixture = *state;

	record_two_processes(fixture);
	fixture->options.tsc_from = 250;
	fixture->options.tsc_to = 300;
	assert_replay(fixture, "0/2/2@300: 1000 1001", "");
}

static void the_sink_can_stop_the_replay(void **state)
{
	struct fixture *fixture = *state;

	record_two_processes(fixture);
	fixture->sink_result = -sbe_stop;
	assert_int_equal(replay(fixture), -sbe_stop);
	assert_string_equal(fixture->flow, "0/1/1@200: 1000 1001 1002");
	assert_true(sb_session_account(fixture->session)->bytes_total > 0);
}

static void a_session_runs_once_and_needs_no_sink(void **state)
{
	struct fixture *fixture = *state;
	struct sb_session *session = NULL;
	struct sb_error err = {0};

	record_two_processes(fixture);
	assert_int_equal(replay(fixture), 0);
	assert_true(fixture->nprogress > 0);
	assert_int_equal(sb_session_run(fixture->session, NULL, &err), -sbe_invalid);
	assert_int_equal(sb_session_open(&session, fixture->perfdata, NULL, &err), 0);
	assert_int_equal(sb_session_run(session, NULL, &err), 0);
	sb_session_close(session);
	assert_int_equal(sb_session_open(NULL, fixture->perfdata, NULL, &err), -sbe_invalid);
}

static void the_account_names_threads_in_order(void **state)
{
	struct fixture *fixture = *state;
	const struct sb_account *account;

	execs(fixture, 1, 2, "second");
	execs(fixture, 1, 1, "first");
	record_two_processes(fixture);
	fixture->options.no_host_root = 1;
	assert_int_equal(replay(fixture), 0);
	account = sb_session_account(fixture->session);
	assert_true(account->nrecords > 10);
	for (size_t i = 1; i < account->nthreads; ++i)
		assert_true(account->thread[i - 1].pid < account->thread[i].pid);
}

/* SKD022: a FUP before the TIP.PGD of a VM entry is of that entry, which was executed; without the erratum,
 * it is of an interrupt that came before. The recording's processor has it, 6/61 has not. */
static void the_caller_may_know_the_errata(void **state)
{
	static const uint8_t vmlaunch[] = {0x90, 0x0f, 0x01, 0xc2, 0x90};
	static const struct pt_cpu broadwell = {.vendor = pcv_intel, .family = 6, .model = 61};
	static const struct pt_errata none, skd022 = {.skd022 = 1};
	static const struct {
		const struct pt_cpu *cpu;
		const struct pt_errata *errata;
		const char *flow;
	} cases[] = {
	        {NULL, NULL, "0/1/1@200: 1000 1001"},
	        {NULL, &none, "0/1/1@200: 1000"},
	        {&broadwell, NULL, "0/1/1@200: 1000"},
	        {&broadwell, &skd022, "0/1/1@200: 1000 1001"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture *fixture;
		struct trace trace = {0};

		if (i)
			setup(state);
		fixture = *state;
		has_file(fixture, "/v", vmlaunch, sizeof(vmlaunch));
		maps(fixture, 0, 1, 0x1000, "/v");
		switches(fixture, 0, 150, 0, 1);
		trace_start(&trace, 100);
		trace_enabled(&trace, 200, 0x1000);
		trace_ip(&trace, ppt_fup, 0x1001);
		trace_disabled(&trace);
		traced(fixture, 0, trace.bytes, trace.size);
		fixture->options.cpu_model = cases[i].cpu;
		fixture->options.errata = cases[i].errata;
		assert_int_equal(replay(fixture), 0);
		assert_string_equal(fixture->flow, cases[i].flow);
		if (i + 1 < sizeof(cases) / sizeof(cases[0]))
			teardown(state);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	        TEST(each_process_has_its_own_code),
	        TEST(cpus_have_their_own_schedules),
	        TEST(a_switch_waits_until_tracing_is_off),
	        TEST(exec_gives_a_process_other_code),
	        TEST(a_forked_child_has_its_parents_code),
	        TEST(new_mappings_count_at_once),
	        TEST(a_file_that_is_not_there_is_no_binary),
	        TEST(a_file_that_is_too_short_is_a_mismatch),
	        TEST(generated_code_is_anonymous),
	        TEST(code_without_a_record_is_not_mapped),
	        TEST(without_a_schedule_the_process_is_unknown),
	        TEST(the_idle_task_runs_no_code_of_user_space),
	        TEST(addresses_tell_who_runs_where_records_are_missing),
	        TEST(siblings_without_records_are_taken_for_each_other),
	        TEST(an_error_takes_back_what_no_psb_has_confirmed),
	        TEST(a_psb_without_events_is_where_the_next_segment_begins),
	        TEST(bytes_that_are_no_packets_are_bad_trace),
	        TEST(switches_wait_across_psbs),
	        TEST(bytes_before_the_first_psb_are_counted),
	        TEST(trace_without_any_psb_is_all_no_sync),
	        TEST(an_overflow_is_a_gap_without_bytes),
	        TEST(a_switch_inside_of_an_overflow_is_seen),
	        TEST(flagged_trace_begins_anew),
	        TEST(chunks_are_decoded_as_one_stream),
	        TEST(damage_anywhere_does_no_harm),
	        TEST(other_processes_are_left_out),
	        TEST(other_cpus_are_left_out_and_counted),
	        TEST(other_times_are_left_out),
	        TEST(the_sink_can_stop_the_replay),
	        TEST(a_session_runs_once_and_needs_no_sink),
	        TEST(the_account_names_threads_in_order),
	        TEST(the_caller_may_know_the_errata),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
