/* test_switch_track.c - who runs where the kernel is seen switching: passes of its function, and records.
 *
 * Who goes makes a record before the pass, who comes makes one behind it. Times are in milliseconds, far
 * apart beside the slack of the trace's time, which is a microsecond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "replay/switch_track.h"

static const uint64_t ms = 1000 * 1000;

static struct sb_sched entry(uint64_t time, int32_t prev, int32_t next)
{
	return (struct sb_sched){.time = time, .pid = next, .tid = next, .prev_pid = prev, .prev_tid = prev};
}

/* Of a switch's two records, the first one is there, or the second one, or both. */
static struct sb_sched who_went(uint64_t time, int32_t prev, int32_t next)
{
	struct sb_sched sched = entry(time, prev, next);

	sched.records = sb_sched_out;
	return sched;
}

static struct sb_sched who_came(uint64_t time, int32_t prev, int32_t next)
{
	struct sb_sched sched = entry(time, prev, next);

	sched.records = sb_sched_in;
	return sched;
}

static struct sb_sched both(uint64_t time, uint32_t in_after, int32_t prev, int32_t next)
{
	struct sb_sched sched = entry(time, prev, next);

	sched.records = sb_sched_out | sb_sched_in;
	sched.in_after = in_after;
	return sched;
}

/* Other records say that @tid runs; -1: that nobody knows who does. */
static struct sb_sched runs(uint64_t time, int32_t tid)
{
	struct sb_sched sched = entry(time, -1, tid);

	sched.records = sb_sched_other;
	return sched;
}

/* The schedule's first entry counts. */
static struct switch_track begin(const struct sb_sched *sched, size_t nscheds)
{
	struct switch_track track;

	switch_track_init(&track, sched, nscheds);
	track.slack = 1000;
	switch_track_go_to(&track, 1);
	return track;
}

#define BEGIN(sched) begin(sched, sizeof(sched) / sizeof((sched)[0]))

/* The kernel is seen switching, to nobody knows whom. */
static int32_t pass(struct switch_track *track, uint64_t now)
{
	switch_track_pass(track, &(struct switch_seen){now, now, -1, -1});
	return track->tid;
}

static int32_t leave_kernel(struct switch_track *track, uint64_t now)
{
	switch_track_leave_kernel(track, now);
	return track->tid;
}

static void passes_match_records_in_order(void **state)
{
	const struct sb_sched sched[] = {entry(0, -1, 1), entry(10 * ms, 1, 2), entry(10 * ms + 50, 2, 3),
	                                 entry(20 * ms, 3, 1)};
	struct switch_track track;

	(void)state;
	switch_track_init(&track, sched, 4);
	track.slack = 1000;
	switch_track_go_to(&track, 5 * ms);
	assert_int_equal(track.pid, 1);
	/* Both switches have happened by now, as far as time tells; only one was seen. */
	pass(&track, 10 * ms + 100);
	assert_int_equal(track.pid, 2);
	switch_track_leave_kernel(&track, 10 * ms + 200);
	assert_int_equal(track.pid, 2);
	pass(&track, 10 * ms + 300);
	assert_int_equal(track.pid, 3);
	/* What was not seen, but must have been, counts in the end. */
	switch_track_leave_kernel(&track, 30 * ms);
	assert_int_equal(track.pid, 1);
}

static void a_switch_without_records_is_somebodys(void **state)
{
	const struct sb_sched sched[] = {entry(0, -1, 1), entry(20 * ms, 7, 2)};
	struct switch_track track;

	(void)state;
	switch_track_init(&track, sched, 2);
	track.slack = 10 * ms;
	switch_track_go_to(&track, 1);
	pass(&track, 15 * ms);
	assert_int_equal(track.pid, -1); /* 7, or somebody before 7 */
	pass(&track, 19 * ms);
	assert_int_equal(track.pid, 2);
	pass(&track, 50 * ms);
	assert_int_equal(track.pid, -1); /* nothing says who */
}

static void a_switch_between_record_and_pass_is_not_counted_twice(void **state)
{
	const struct sb_sched sched[] = {entry(0, -1, 1), entry(10 * ms, 1, 2), entry(10 * ms + 9, 2, 3)};
	struct switch_track track;

	(void)state;
	switch_track_init(&track, sched, 3);
	track.slack = 1000;
	switch_track_forget(&track, 1);
	switch_track_go_to(&track, 10 * ms + 1); /* in the middle of the switch to 2 */
	assert_int_equal(track.pid, 2);
	pass(&track, 10 * ms + 5);
	assert_int_equal(track.pid, 2);
	pass(&track, 10 * ms + 20);
	assert_int_equal(track.pid, 3);
}

/* The record of who came is made behind the pass, be it late. Until then nobody knows; and it is no record of
 * the next pass, by which 1 comes back. */
static void who_came_came_by_the_pass_before(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), who_came(11 * ms, 1, 2), both(20 * ms, 9, 2, 1),
	                                 both(30 * ms, 9, 1, 3)};
	struct switch_track track = BEGIN(sched);

	(void)state;
	assert_int_equal(pass(&track, 10 * ms), -1);
	switch_track_prove(&track, 11 * ms - 1);
	assert_int_equal(track.tid, -1);
	switch_track_prove(&track, 11 * ms);
	assert_int_equal(track.tid, 2);
	assert_int_equal(pass(&track, 20 * ms + 1), 1);
	assert_int_equal(pass(&track, 30 * ms + 1), 3);
}

/* The same, when nobody looked in the meantime. */
static void who_came_came_before_the_next_pass(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), who_came(11 * ms, 1, 2), both(20 * ms, 9, 2, 1)};
	struct switch_track track = BEGIN(sched);

	(void)state;
	assert_int_equal(pass(&track, 10 * ms), -1);
	assert_int_equal(pass(&track, 20 * ms + 1), 1);
}

/* 2 makes its record when the trace's time is not exact enough to tell whether that was before user space was
 * entered. It came from 1, which ran before the only pass. */
static void who_came_is_who_enters_user_space(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), who_came(10 * ms + 1500, 1, 2)};
	struct switch_track track = BEGIN(sched);

	(void)state;
	assert_int_equal(pass(&track, 10 * ms), -1);
	assert_int_equal(leave_kernel(&track, 10 * ms + 400), -1);
	assert_int_equal(leave_kernel(&track, 10 * ms + 600), 2);
}

/* The same, but whoever came was switched to by 7: there is another pass yet to come. */
static void who_came_from_somebody_else_is_not_there_yet(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), who_came(10 * ms + 1500, 7, 2)};
	struct switch_track track = BEGIN(sched);

	(void)state;
	assert_int_equal(pass(&track, 10 * ms), -1);
	assert_int_equal(leave_kernel(&track, 10 * ms + 600), -1);
	assert_int_equal(pass(&track, 10 * ms + 700), 2);
}

/* Both passes may be before the record of who came, or the second one behind it. */
static void who_came_from_whoever_was_known_came_by_one_pass(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), who_came(10 * ms + 1500, 1, 2),
	                                 both(10 * ms + 1600, 9, 2, 3)};
	struct switch_track track = BEGIN(sched);

	(void)state;
	assert_int_equal(pass(&track, 10 * ms), -1);
	assert_int_equal(pass(&track, 10 * ms + 700), 3);
}

/* Somebody came and went without a record: two passes, and 1 runs again. That 1 goes later is no record of
 * the pass by which it came. */
static void somebody_who_comes_also_goes(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), who_went(20 * ms + 500, 1, 2)};
	struct switch_track track = BEGIN(sched);

	(void)state;
	assert_int_equal(pass(&track, 10 * ms), -1);
	assert_int_equal(pass(&track, 20 * ms), -1);
	assert_int_equal(pass(&track, 20 * ms + 700), 2);
}

/* A processor that is taken away from a virtual machine switches late. */
static void a_late_pass_is_that_of_the_record(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), both(10 * ms, 3000000, 1, 2),
	                                 both(13 * ms + 5, 9, 2, 3)};
	struct switch_track track = BEGIN(sched);

	(void)state;
	switch_track_forget(&track, 1);
	switch_track_go_to(&track, 10 * ms + 1);
	assert_int_equal(pass(&track, 12 * ms), 2);
	assert_int_equal(pass(&track, 13 * ms + 9), 3);
}

/* Behind the record of who came, its pass is not expected any more, however soon the next one comes. */
static void a_pass_behind_both_records_is_the_next_ones(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), both(10 * ms, 10, 1, 2), both(10 * ms + 50, 9, 2, 3)};
	struct switch_track track = BEGIN(sched);

	(void)state;
	switch_track_forget(&track, 1);
	switch_track_go_to(&track, 10 * ms + 20);
	assert_int_equal(track.tid, 2);
	assert_int_equal(pass(&track, 10 * ms + 55), 3);
}

/* Page tables say which process comes: 2 came by a pass that was not seen. */
static void a_pass_to_another_process_is_not_that_of_a_past_record(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), who_went(10 * ms, 1, 2), who_went(10 * ms + 900, 2, 3)};
	struct switch_track track = BEGIN(sched);

	(void)state;
	switch_track_pass(&track, &(struct switch_seen){10 * ms + 1000, 10 * ms + 1000, 3, 3});
	assert_int_equal(track.tid, 3);
	assert_int_equal(track.next, 3);
}

/* The kernel used other page tables for a while, and 1 its own again, before it switched. */
static void its_own_page_tables_are_not_those_of_whoever_comes(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), both(10 * ms, 9, 1, 2)};
	struct switch_track track = BEGIN(sched);

	(void)state;
	switch_track_pass(&track, &(struct switch_seen){10 * ms + 5, 10 * ms + 5, 1, 1});
	assert_int_equal(track.tid, 2);
}

/* Records were lost, but nobody was switched to. */
static void that_nobody_knows_is_no_news_without_a_pass(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), runs(5 * ms, -1), runs(20 * ms, 4)};
	struct switch_track track = BEGIN(sched);

	(void)state;
	switch_track_prove(&track, 6 * ms);
	assert_int_equal(track.tid, 1);
	assert_int_equal(pass(&track, 10 * ms), -1);
	assert_int_equal(leave_kernel(&track, 11 * ms), -1);
	switch_track_prove(&track, 20 * ms);
	assert_int_equal(track.tid, 4);
}

/* The trace's time stands still from 10 to 30, as without MTC packets: the passes come in the order of the
 * records, if none of these is missing. */
static void passes_come_in_order_while_time_stands_still(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), both(12 * ms, 9, 1, 2), both(20 * ms, 9, 2, 3),
	                                 both(40 * ms, 9, 3, 4)};
	const struct switch_seen seen = {10 * ms, 30 * ms, -1, -1};
	struct switch_track track = BEGIN(sched);

	(void)state;
	track.is_whole = 1;
	switch_track_pass(&track, &seen);
	assert_int_equal(track.tid, 2);
	switch_track_pass(&track, &seen);
	assert_int_equal(track.tid, 3);
	switch_track_prove(&track, 30 * ms);
	assert_int_equal(track.tid, 3);
	switch_track_pass(&track, &seen);
	assert_int_equal(track.tid, -1);
}

/* The same, and some may be missing: which pass was whose, nobody knows. 2 came by one of them; whether the
 * last one was behind that, nobody knows either. */
static void passes_are_nobodys_while_time_stands_still_and_records_are_missing(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), both(20 * ms, 9, 1, 2), both(29 * ms, 2 * 1000000, 2, 3),
	                                 both(40 * ms, 9, 3, 4)};
	const struct switch_seen seen = {10 * ms, 30 * ms, -1, -1};
	struct switch_track track = BEGIN(sched);

	(void)state;
	for (int i = 0; i < 3; ++i) {
		switch_track_pass(&track, &seen);
		assert_int_equal(track.tid, -1);
	}
	switch_track_prove(&track, 30 * ms);
	assert_int_equal(track.tid, -1);
	/* 3 is behind this pass, or came by one of those before. */
	assert_int_equal(pass(&track, 30 * ms), -1);
	assert_int_equal(pass(&track, 40 * ms + 5), 4);
}

static const struct switch_seen standing = {10000000, 30000000, -1, -1};

/* More passes than records, and then time goes on: whoever came by the record may have gone. As many: whoever
 * came is there. */
static void who_runs_is_not_known_behind_more_passes_than_records(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), who_went(20 * ms, 1, 2), both(40 * ms, 9, 3, 4)};

	(void)state;
	for (int npasses = 1; npasses <= 2; ++npasses) {
		struct switch_track track = BEGIN(sched);

		track.sees_passes = track.stands_still = 1;
		for (int i = 0; i < npasses; ++i) {
			switch_track_pass(&track, &standing);
			assert_int_equal(track.tid, -1);
		}
		switch_track_go_to(&track, 30 * ms);
		assert_int_equal(track.tid, npasses == 1 ? 2 : -1);
		assert_int_equal(pass(&track, 40 * ms + 5), 4);
	}
}

/* Page tables, or addresses, say who runs. */
static void concluded(struct switch_track *track, int32_t tid)
{
	switch_track_infer(track, tid, tid, sb_switch_by_paging);
}

/* 1 went and came back while time stood still, and it was concluded that it runs. The records of that are of
 * no pass behind it. */
static void records_of_passes_before_a_conclusion_are_stale(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), who_went(20 * ms, 1, 2), both(21 * ms, 9, 2, 1),
	                                 both(40 * ms, 9, 3, 4)};
	struct switch_track track = BEGIN(sched);

	(void)state;
	switch_track_pass(&track, &standing);
	switch_track_pass(&track, &standing);
	concluded(&track, 1);
	assert_int_equal(pass(&track, 30 * ms), -1);
	assert_int_equal(pass(&track, 40 * ms + 5), 4);
}

/* The same by page tables: the second pass was to 3, whatever 2's record says, which is of the first one. */
static void records_of_passes_that_page_tables_tell_are_stale(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), both(20 * ms, 9, 1, 2), both(50 * ms, 9, 3, 1)};
	struct switch_track track = BEGIN(sched);

	(void)state;
	switch_track_pass(&track, &(struct switch_seen){10 * ms, 30 * ms, 2, 2});
	switch_track_pass(&track, &(struct switch_seen){10 * ms, 30 * ms, 3, 3});
	switch_track_prove(&track, 30 * ms);
	assert_int_equal(track.tid, 3);
	assert_int_equal(pass(&track, 50 * ms + 5), 1);
}

/* Nor is any missing: but of whom the page tables are, they do not say, so that nobody knows which record it
 * was. */
static void records_are_stale_where_none_is_missing(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), both(15 * ms, 9, 1, 2), both(20 * ms, 9, 2, 1)};
	struct switch_track track = BEGIN(sched);

	(void)state;
	track.is_whole = 1;
	switch_track_doubt(&track);
	switch_track_pass(&track, &standing);
	switch_track_pass(&track, &(struct switch_seen){10 * ms, 30 * ms, 1, 1});
	assert_int_equal(track.tid, 1);
	switch_track_prove(&track, 20 * ms + 5);
	assert_int_equal(track.tid, 1);
}

/* 1 made its record when it came, before the pass that is seen; what went before that is not known. */
static void who_came_before_came_by_no_later_pass(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), who_went(20 * ms, 1, 2), who_came(35 * ms, 2, 1)};
	struct switch_track track = BEGIN(sched);

	(void)state;
	switch_track_pass(&track, &standing);
	switch_track_pass(&track, &standing);
	concluded(&track, 1);
	assert_int_equal(pass(&track, 40 * ms), -1);
}

/* A pass was that of a record to come, while time stood still; that is no time that goes back. */
static void what_was_seen_stays_while_time_stands_still(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), both(20 * ms, 9, 1, 2), both(50 * ms, 9, 2, 3)};
	struct switch_track track = BEGIN(sched);

	(void)state;
	track.is_whole = track.stands_still = 1;
	switch_track_pass(&track, &standing);
	assert_int_equal(track.tid, 2);
	switch_track_go_to(&track, 10 * ms);
	assert_int_equal(track.tid, 2);
}

/* The flow of a kernel begins there. */
static struct switch_track begin_at(const struct sb_sched *sched, size_t nscheds, uint64_t now)
{
	struct switch_track track = begin(sched, nscheds);

	track.sees_passes = 1;
	switch_track_forget(&track, 1);
	switch_track_go_to(&track, now);
	switch_track_regain(&track, now, now);
	return track;
}

/* The first record of a switch was made: whether its pass was before or is yet to come, is not known up to
 * there, or up to the second record, or to user space. */
static void who_runs_is_not_known_between_record_and_pass(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), both(10 * ms, 100, 1, 2), both(20 * ms, 9, 2, 3)};
	struct switch_track track = begin_at(sched, 3, 10 * ms + 50), other = track;

	(void)state;
	assert_int_equal(track.tid, -1);
	assert_int_equal(pass(&track, 10 * ms + 60), 2);
	assert_int_equal(pass(&track, 20 * ms + 5), 3);
	switch_track_prove(&other, 10 * ms + 99);
	assert_int_equal(other.tid, -1);
	switch_track_prove(&other, 10 * ms + 100);
	assert_int_equal(other.tid, 2);
	other = begin_at(sched, 3, 10 * ms + 50);
	assert_int_equal(leave_kernel(&other, 10 * ms + 70), 2);
	other = begin_at(sched, 3, 10 * ms + 200);
	assert_int_equal(other.tid, 2);
}

/* The same without the second record, and others may be missing: the pass may be 2's, or that by which 2
 * went. */
static void a_pass_behind_half_a_switch_may_be_another_one(void **state)
{
	const struct sb_sched sched[] = {runs(0, 1), who_went(10 * ms, 1, 2), both(20 * ms, 9, 3, 4)};
	struct switch_track track = begin_at(sched, 3, 10 * ms + 50), whole = track;

	(void)state;
	assert_int_equal(track.tid, -1);
	assert_int_equal(pass(&track, 10 * ms + 60), -1);
	assert_int_equal(leave_kernel(&track, 11 * ms), -1);
	assert_int_equal(pass(&track, 20 * ms + 5), 4);
	whole.is_whole = 1;
	assert_int_equal(pass(&whole, 10 * ms + 60), 2);
}

/* Who came makes a record soon, and there is none of who went; or a switch has no record at all. */
static void who_runs_is_not_known_where_a_record_may_be_missing(void **state)
{
	const struct sb_sched late[] = {runs(0, 1), who_came(10 * ms, 1, 2)};
	const struct sb_sched none[] = {runs(0, 1), both(20 * ms, 9, 3, 2)};
	struct switch_track track = begin_at(late, 2, 10 * ms - 50);

	(void)state;
	assert_int_equal(track.tid, -1);
	switch_track_prove(&track, 10 * ms);
	assert_int_equal(track.tid, 2);
	track = begin_at(late, 2, 5 * ms);
	assert_int_equal(track.tid, 1);
	track = begin_at(none, 2, 5 * ms);
	assert_int_equal(track.tid, -1);
}

/* Of a long schedule, so many entries each. */
static void notes_which_entries_are_looked_at(void **state)
{
	enum { EACH = CHECKPOINT_SCHEDS_PER_SUM, NBLOCKS = 5 };
	static struct sb_sched sched[EACH * NBLOCKS];
	atomic_uchar blocks[NBLOCKS] = {0};
	const struct schedule_use use = {blocks, NBLOCKS};
	struct switch_track track;

	(void)state;
	for (size_t i = 0; i < EACH * NBLOCKS; ++i)
		sched[i] = entry((i + 1) * ms, (int32_t)i, (int32_t)i + 1);
	switch_track_init(&track, NULL, 0);
	switch_track_take(&track, sched, EACH * NBLOCKS, &use);
	switch_track_forget(&track, 1);
	switch_track_go_to(&track, (2 * EACH + 100) * ms);
	assert_int_equal(track.tid, 2 * EACH + 100);
	assert_int_equal(blocks[0], schedule_is_used); /* how it begins */
	assert_int_equal(blocks[1], schedule_is_unknown);
	assert_int_equal(blocks[2], schedule_is_used);
	assert_int_equal(blocks[3], schedule_is_unknown);
	/* The next one is the first of the next block. */
	switch_track_go_to(&track, 3 * EACH * ms);
	assert_int_equal(blocks[3], schedule_is_used);
	assert_int_equal(blocks[4], schedule_is_unknown);
	/* Back by a block: the one before that is looked at as well. */
	switch_track_go_to(&track, (EACH + 1) * ms);
	assert_int_equal(track.tid, EACH + 1);
	assert_int_equal(blocks[1], schedule_is_used);
	assert_int_equal(blocks[4], schedule_is_unknown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(passes_match_records_in_order),
	        cmocka_unit_test(a_switch_without_records_is_somebodys),
	        cmocka_unit_test(a_switch_between_record_and_pass_is_not_counted_twice),
	        cmocka_unit_test(who_came_came_by_the_pass_before),
	        cmocka_unit_test(who_came_came_before_the_next_pass),
	        cmocka_unit_test(who_came_is_who_enters_user_space),
	        cmocka_unit_test(who_came_from_somebody_else_is_not_there_yet),
	        cmocka_unit_test(who_came_from_whoever_was_known_came_by_one_pass),
	        cmocka_unit_test(somebody_who_comes_also_goes),
	        cmocka_unit_test(a_late_pass_is_that_of_the_record),
	        cmocka_unit_test(a_pass_behind_both_records_is_the_next_ones),
	        cmocka_unit_test(a_pass_to_another_process_is_not_that_of_a_past_record),
	        cmocka_unit_test(its_own_page_tables_are_not_those_of_whoever_comes),
	        cmocka_unit_test(that_nobody_knows_is_no_news_without_a_pass),
	        cmocka_unit_test(passes_come_in_order_while_time_stands_still),
	        cmocka_unit_test(passes_are_nobodys_while_time_stands_still_and_records_are_missing),
	        cmocka_unit_test(who_runs_is_not_known_behind_more_passes_than_records),
	        cmocka_unit_test(records_of_passes_before_a_conclusion_are_stale),
	        cmocka_unit_test(records_of_passes_that_page_tables_tell_are_stale),
	        cmocka_unit_test(records_are_stale_where_none_is_missing),
	        cmocka_unit_test(who_came_before_came_by_no_later_pass),
	        cmocka_unit_test(what_was_seen_stays_while_time_stands_still),
	        cmocka_unit_test(who_runs_is_not_known_between_record_and_pass),
	        cmocka_unit_test(a_pass_behind_half_a_switch_may_be_another_one),
	        cmocka_unit_test(who_runs_is_not_known_where_a_record_may_be_missing),
	        cmocka_unit_test(notes_which_entries_are_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
