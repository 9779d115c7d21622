/* test_checkpoint.c - a recording that is opened with its checkpoint is the same one: its streams, its
 * system, and every byte of its spans; and a checkpoint that was changed anywhere is refused, or found out.
 *
 * The recordings are not part of this project; without them the test is skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sb/checkpoint.h>
#include <sb/kernel.h>
#include <sb/replay.h>

#include "support/spans.h"
#include "system/schedule.h"
#include "system/schedule_image.h"

enum { BEFORE = 4096, CPUS = 16 };

struct saved {
	char path[64];
	FILE *file;
	uint64_t size, sum;
};

static int put(void *context, const void *bytes, size_t size)
{
	struct saved *saved = context;

	assert_int_equal(fwrite(bytes, 1, size, saved->file), size);
	saved->size += size;
	return 0;
}

static int save(struct saved *saved, const struct sb_perfdata *perfdata, const struct sb_system *system)
{
	int status;

	*saved = (struct saved){.path = "/tmp/test_checkpoint.XXXXXX"};
	saved->file = fdopen(mkstemp(saved->path), "w+");
	assert_non_null(saved->file);
	assert_int_equal(fseek(saved->file, BEFORE, SEEK_SET), 0);
	status = sb_checkpoint_write(perfdata, system, put, saved, &saved->sum, NULL);
	assert_int_equal(fflush(saved->file), 0);
	return status;
}

static void forget(struct saved *saved)
{
	fclose(saved->file);
	unlink(saved->path);
}

static int open_saved(const struct saved *saved, struct sb_checkpoint **checkpoint, struct sb_error *err)
{
	return sb_checkpoint_open(checkpoint, saved->path, BEFORE, saved->size, saved->sum, err);
}

/* ---- The same ----------------------------------------------------------------------------------- */

static void expect_same_streams(const struct sb_perfdata *a, const struct sb_perfdata *b)
{
	size_t na, nb;
	const struct sb_aux_stream *as = sb_perfdata_streams(a, &na), *bs = sb_perfdata_streams(b, &nb);

	assert_memory_equal(sb_perfdata_info(a), sb_perfdata_info(b), sizeof(*sb_perfdata_info(a)));
	assert_int_equal(na, nb);
	for (size_t i = 0; i < na; ++i) {
		assert_int_equal(as[i].cpu, bs[i].cpu);
		assert_int_equal(as[i].tid, bs[i].tid);
		assert_int_equal(as[i].size, bs[i].size);
		assert_int_equal(as[i].nchunks, bs[i].nchunks);
		for (size_t k = 0; k < as[i].nchunks; ++k) {
			assert_int_equal(as[i].chunk[k].file_offset, bs[i].chunk[k].file_offset);
			assert_int_equal(as[i].chunk[k].aux_offset, bs[i].chunk[k].aux_offset);
			assert_memory_equal(as[i].chunk[k].bytes, bs[i].chunk[k].bytes, as[i].chunk[k].size);
		}
	}
}

static void expect_same_schedules(const struct sb_system *a, const struct sb_system *b)
{
	size_t na, nb, nentries = 0;
	const void *as, *bs;

	for (int32_t cpu = -1; cpu < CPUS; ++cpu) {
		as = sb_system_schedule(a, cpu, &na);
		bs = sb_system_schedule(b, cpu, &nb);
		assert_int_equal(na, nb);
		assert_int_equal(na ? memcmp(as, bs, na * sizeof(struct sb_sched)) : 0, 0);
		if (na)
			assert_memory_equal(schedule_end(system_schedule(b), (size_t)cpu),
			                    (const struct sb_sched *)as + na - 1, sizeof(struct sb_sched));
		nentries += na;
		const struct sb_aux_flag *af = sb_system_aux_flags(a, cpu, &na);
		const struct sb_aux_flag *bf = sb_system_aux_flags(b, cpu, &nb);
		assert_int_equal(na, nb);
		for (size_t i = 0; i < na; ++i)
			assert_true(af[i].time == bf[i].time && af[i].aux_offset == bf[i].aux_offset &&
			            af[i].aux_size == bf[i].aux_size && af[i].flags == bf[i].flags &&
			            af[i].tid == bf[i].tid);
	}
	assert_true(nentries > 0);
	as = sb_system_lost(a, &na);
	bs = sb_system_lost(b, &nb);
	assert_int_equal(na, nb);
	assert_int_equal(na ? memcmp(as, bs, na * sizeof(struct sb_lost)) : 0, 0);
}

static void expect_same_systems(const struct sb_system *a, const struct sb_system *b)
{
	uint64_t sa, sb;
	size_t na, nb;

	expect_same_schedules(a, b);
	assert_int_equal(sb_system_nrecords(a, &sa), sb_system_nrecords(b, &sb));
	assert_int_equal(sa, sb);
	assert_int_equal(sb_system_nepochs(a), sb_system_nepochs(b));
	sb_system_memberships(a, &na);
	sb_system_memberships(b, &nb);
	assert_int_equal(na, nb);
	sb_system_kernel_maps(a, &na);
	sb_system_kernel_maps(b, &nb);
	assert_int_equal(na, nb);
}

/* Never called: they say what is wanted. */
static int on_flow(void *context, const struct sb_flow *flow)
{
	(void)context;
	(void)flow;
	return -sbe_stop;
}

static int on_gap(void *context, const struct sb_gap *gap)
{
	(void)context;
	(void)gap;
	return -sbe_stop;
}

static int on_event(void *context, const struct sb_flow_event *event)
{
	(void)context;
	(void)event;
	return -sbe_stop;
}

/* The spans' bytes name what the system has by its numbers: they are the same when all is. */
static void expect_same_spans(const struct sb_perfdata *a, const struct sb_perfdata *b, const char *root)
{
	const char *const roots[] = {root};
	const struct sb_replay_options options = {
	        .size = sizeof(options), .root = roots, .nroots = 1, .no_host_root = 1};
	const struct sb_sink sink = {.flow = on_flow, .gap = on_gap, .event = on_event};
	struct spans as, bs;

	spans_cut(&as, a, &options, 60000, 8192);
	spans_cut(&bs, b, &options, 60000, 8192);
	assert_int_equal(as.line.nspans, bs.line.nspans);
	spans_run(&as, a, &options, &sink);
	spans_run(&bs, b, &options, &sink);
	for (size_t i = 0; i < as.line.nspans; ++i) {
		assert_int_equal(as.of[i].size, bs.of[i].size);
		assert_memory_equal(as.of[i].bytes, bs.of[i].bytes, as.of[i].size);
	}
	spans_free(&as);
	spans_free(&bs);
}

static void test_same(void **state)
{
	static const char *const names[] = {"user-pipe", "user-threads-overflow", "kernel-pti"};
	size_t nfound = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
		char path[256], root[256];
		struct sb_perfdata *whole = NULL, *at = NULL;
		struct sb_system *first = NULL, *second = NULL;
		struct sb_checkpoint *checkpoint = NULL;
		struct sb_error err = {0};
		struct saved saved;

		snprintf(path, sizeof(path), "%s/%s/perf.data", CORPUS_DIR, names[i]);
		snprintf(root, sizeof(root), "%s/%s/root", CORPUS_DIR, names[i]);
		if (access(path, R_OK) != 0)
			continue;
		nfound++;
		assert_int_equal(sb_perfdata_open(&whole, path, &err), 0);
		assert_int_equal(sb_system_build(&first, whole, &err), 0);
		assert_int_equal(save(&saved, whole, first), 1);
		assert_int_equal(open_saved(&saved, &checkpoint, &err), 0);
		assert_int_equal(sb_perfdata_open_at(&at, path, checkpoint, &err), 0);
		assert_int_equal(sb_system_build(&second, at, &err), 0);
		expect_same_streams(whole, at);
		expect_same_systems(first, second);
		expect_same_spans(whole, at, root);
		assert_int_equal(sb_perfdata_failure(at, &err), 0);
		sb_system_free(first);
		sb_system_free(second);
		sb_perfdata_close(whole);
		sb_perfdata_close(at);
		sb_checkpoint_close(checkpoint);
		forget(&saved);
	}
	if (!nfound)
		skip();
}

/* ---- Another ------------------------------------------------------------------------------------ */

struct opened {
	struct sb_perfdata *perfdata;
	struct sb_system *system;
	struct saved saved;
};

static int open_corpus(void **state)
{
	static struct opened opened;

	*state = NULL;
	if (access(CORPUS_DIR "/user-true/perf.data", R_OK) != 0)
		return 0;
	assert_int_equal(sb_perfdata_open(&opened.perfdata, CORPUS_DIR "/user-true/perf.data", NULL), 0);
	assert_int_equal(sb_system_build(&opened.system, opened.perfdata, NULL), 0);
	assert_int_equal(save(&opened.saved, opened.perfdata, opened.system), 1);
	*state = &opened;
	return 0;
}

static int close_corpus(void **state)
{
	struct opened *opened = *state;

	if (!opened)
		return 0;
	forget(&opened->saved);
	sb_system_free(opened->system);
	sb_perfdata_close(opened->perfdata);
	return 0;
}

static void test_other_recording(void **state)
{
	const struct opened *opened = *state;
	struct sb_checkpoint *checkpoint = NULL;
	struct sb_perfdata *perfdata = NULL;
	struct sb_error err = {0};

	if (!opened)
		skip();
	assert_int_equal(open_saved(&opened->saved, &checkpoint, &err), 0);
	assert_int_equal(
	        sb_perfdata_open_at(&perfdata, CORPUS_DIR "/user-true-cyc/perf.data", checkpoint, &err),
	        -sbe_mismatch);
	assert_null(perfdata);
	assert_non_null(strstr(err.text, opened->saved.path));
	sb_checkpoint_close(checkpoint);
	assert_int_equal(sb_checkpoint_open(&checkpoint, opened->saved.path, BEFORE, opened->saved.size,
	                                    opened->saved.sum ^ 1, &err),
	                 -sbe_mismatch);
}

static void test_cut(void **state)
{
	const struct opened *opened = *state;
	struct sb_checkpoint *checkpoint = NULL;
	struct sb_error err;

	if (!opened)
		skip();
	for (uint64_t size = 0; size < opened->saved.size; size += 1 + size / 7) {
		err = (struct sb_error){0};
		assert_true(sb_checkpoint_open(&checkpoint, opened->saved.path, BEFORE, size,
		                               opened->saved.sum, &err) < 0);
		assert_true(err.code < 0 && strcmp(err.file, opened->saved.path) == 0);
	}
	assert_int_equal(sb_checkpoint_open(&checkpoint, opened->saved.path, BEFORE, opened->saved.size + 1,
	                                    opened->saved.sum, &err),
	                 -sbe_truncated);
	assert_int_equal(sb_checkpoint_open(&checkpoint, "/nowhere", 0, 4096, 0, &err), -sbe_not_found);
}

/* Whether anything is said of a checkpoint, all of which is used. */
static int is_found_out(const struct opened *opened)
{
	struct sb_checkpoint *checkpoint = NULL;
	struct sb_perfdata *perfdata = NULL;
	struct sb_system *system = NULL;
	struct sb_error err = {0};
	size_t count;
	int status = open_saved(&opened->saved, &checkpoint, &err);

	if (status < 0)
		return 1;
	status = sb_perfdata_open_at(&perfdata, sb_perfdata_path(opened->perfdata), checkpoint, &err);
	if (status == 0)
		status = sb_system_build(&system, perfdata, &err);
	for (int32_t cpu = 0; cpu < CPUS && status == 0; ++cpu)
		sb_system_schedule(system, cpu, &count);
	if (status == 0)
		status = sb_perfdata_failure(perfdata, &err);
	sb_system_free(system);
	sb_perfdata_close(perfdata);
	sb_checkpoint_close(checkpoint);
	return status < 0;
}

static void flip(const struct saved *saved, uint64_t at, int *was)
{
	assert_int_equal(fseek(saved->file, (long)(BEFORE + at), SEEK_SET), 0);
	*was = getc(saved->file);
	assert_int_equal(fseek(saved->file, (long)(BEFORE + at), SEEK_SET), 0);
	putc(*was ^ 0x40, saved->file);
	fflush(saved->file);
}

/* All that is no padding between tables is told by some sum. */
static void test_changed(void **state)
{
	struct opened *opened = *state;
	uint64_t nfound = 0, ntried = 0;
	int was;

	if (!opened)
		skip();
	assert_false(is_found_out(opened));
	for (uint64_t at = 0; at < opened->saved.size; at += 1 + opened->saved.size / 997) {
		flip(&opened->saved, at, &was);
		ntried++;
		nfound += was == 0 ? 1 : (uint64_t)is_found_out(opened);
		assert_true(was == 0 || nfound == ntried);
		flip(&opened->saved, at, &was);
	}
	assert_true(ntried > 300);
	assert_false(is_found_out(opened));
}

/* ---- Who ran ------------------------------------------------------------------------------------ */

enum { EACH = CHECKPOINT_SCHEDS_PER_SUM, NSCHEDS = 3 * EACH + 7 };

/* Of the second CPU; the first one has another schedule. */
static void save_schedules(struct saved *saved, uint64_t *entries)
{
	static struct sb_sched sched[EACH + NSCHEDS];
	struct cpu_schedule cpu[] = {{.sched = sched, .nscheds = EACH + 1},
	                             {.sched = sched + EACH, .nscheds = NSCHEDS}};
	const struct schedule schedule = {.cpu = cpu, .ncpus = 2};
	struct checkpoint_writer writer = {.put = put, .context = saved};

	for (int32_t i = 0; i < EACH + NSCHEDS; ++i)
		sched[i] = (struct sb_sched){.time = (uint64_t)i * 1000 + 1, .pid = i, .tid = i};
	*saved = (struct saved){.path = "/tmp/test_checkpoint.XXXXXX"};
	saved->file = fdopen(mkstemp(saved->path), "w+");
	assert_non_null(saved->file);
	assert_int_equal(fseek(saved->file, BEFORE, SEEK_SET), 0);
	schedule_write(&schedule, &writer);
	assert_int_equal(checkpoint_finish(&writer, &saved->sum), 0);
	assert_int_equal(fflush(saved->file), 0);
	*entries = writer.table[1].offset + (EACH + 1) * sizeof(struct sb_sched);
	assert_int_equal(writer.table[1].kind, checkpoint_scheds);
}

/* Whether it is found out that an entry was changed, when entries @first to @last are looked at; or all. */
static int is_found_in(const struct saved *saved, size_t first, size_t last)
{
	struct sb_checkpoint *checkpoint;
	struct schedule schedule = {0};
	struct sb_error err = {0};
	int status;

	assert_int_equal(open_saved(saved, &checkpoint, &err), 0);
	assert_int_equal(schedule_read(&schedule, checkpoint, &err), 0);
	assert_int_equal(schedule.cpu[1].nscheds, NSCHEDS);
	if (last < NSCHEDS) {
		const struct schedule_use use = schedule_use_of(&schedule, &schedule.cpu[1]);

		schedule_use_note(&use, first, last);
		schedule_check_used(&schedule);
		status = checkpoint_failure(checkpoint, &err);
	} else {
		status = schedule_is_right(&schedule, &schedule.cpu[1]) ? 0 : -1;
		assert_int_equal(!status, !checkpoint_failure(checkpoint, &err));
	}
	schedule_free(&schedule);
	sb_checkpoint_close(checkpoint);
	return status < 0;
}

/* What was changed is found out by whoever looks at it, or beside it, and by nobody else. */
static void test_changed_schedule(void **state)
{
	static const size_t places[] = {0, EACH - 1, EACH, 2 * EACH + 5, 3 * EACH, NSCHEDS - 1};
	struct saved saved;
	uint64_t entries;

	(void)state;
	save_schedules(&saved, &entries);
	assert_false(is_found_in(&saved, 0, NSCHEDS));
	assert_false(is_found_in(&saved, 0, NSCHEDS - 1));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); ++i) {
		const size_t block = places[i] / EACH;
		int was;

		flip(&saved, entries + places[i] * sizeof(struct sb_sched), &was);
		assert_true(is_found_in(&saved, 0, NSCHEDS));
		assert_true(is_found_in(&saved, places[i], places[i]));
		for (size_t k = 0; k < 4; ++k)
			assert_int_equal(is_found_in(&saved, k * EACH + 3, k * EACH + 5), k == block);
		flip(&saved, entries + places[i] * sizeof(struct sb_sched), &was);
	}
	forget(&saved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(test_same),
	        cmocka_unit_test(test_changed_schedule),
	        cmocka_unit_test_setup_teardown(test_other_recording, open_corpus, close_corpus),
	        cmocka_unit_test_setup_teardown(test_cut, open_corpus, close_corpus),
	        cmocka_unit_test_setup_teardown(test_changed, open_corpus, close_corpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
