/* test_run_times.c - times inside of runs: all of them, or with pt_blk_set_run_last_time() the last one.
 * Truth is what a decoder tells that hands out each of them: it takes each CYC for itself. */
#include "run_fixture.h"

enum { passes = 60, most_runs = 64 };

/* What a run has told of blocks, events and time. */
struct told {
	uint32_t nblocks, nevents, ntimes;
	uint64_t ninsn, tsc, events_tsc;
	struct pt_run_time last;
	uint32_t lost_mtc, lost_cyc, has_tsc;
};

struct pass {
	struct told run[most_runs];
	uint32_t nruns;
	int status;
};

static struct pt_config machine(struct stream *stream, uint8_t mtc_freq)
{
	struct pt_config config = stream_config(stream);

	config.cpuid_0x15_eax = 2;
	config.cpuid_0x15_ebx = 168;
	config.mtc_freq = mtc_freq;
	config.nom_freq = 21;
	return config;
}

/* How many blocks come before the run's path of that number: which paths a run is made of depends on what was
 * met before. */
static uint32_t blocks_before(const struct pt_run *run, uint32_t path)
{
	uint32_t nblocks = 0;

	for (uint32_t i = 0; i < path; ++i)
		nblocks += run->path[i]->nblocks;
	return nblocks;
}

static struct told tell(const struct pt_run *run)
{
	struct told told = {.nblocks = run->nblocks,
	                    .nevents = run->nevents,
	                    .ntimes = run->ntimes,
	                    .ninsn = run->ninsn,
	                    .tsc = run->tsc,
	                    .lost_mtc = run->lost_mtc,
	                    .lost_cyc = run->lost_cyc,
	                    .has_tsc = run->has_tsc};

	for (uint32_t i = 0; i < run->nevents; ++i)
		told.events_tsc = told.events_tsc * 31 + run->event[i].event.tsc +
		                  blocks_before(run, run->event[i].path);
	if (run->ntimes) {
		told.last = run->time[run->ntimes - 1];
		told.last.path = blocks_before(run, told.last.path);
	}
	return told;
}

static void decode(struct pt_block_decoder *decoder, struct pass *pass)
{
	pass->status = pt_blk_sync_set(decoder, 0);
	for (pass->nruns = 0; pass->status >= 0; ++pass->nruns) {
		struct pt_run run;

		assert_true(pass->nruns < most_runs);
		pass->status = pt_blk_run(decoder, &run, sizeof(run));
		pass->run[pass->nruns] = tell(&run);
	}
	assert_int_equal(pass->status, -pte_eos);
}

static struct pt_block_decoder *open_decoder(const struct pt_config *config, struct pt_image *image)
{
	struct pt_block_decoder *decoder = pt_blk_alloc_decoder(config);

	assert_non_null(decoder);
	assert_int_equal(pt_blk_set_image(decoder, image), 0);
	assert_int_equal(pt_blk_set_run_events(decoder, 1), 0);
	return decoder;
}

static void assert_same(const struct told *all, const struct told *last)
{
	assert_int_equal(last->nblocks, all->nblocks);
	assert_int_equal(last->ninsn, all->ninsn);
	assert_int_equal(last->nevents, all->nevents);
	assert_int_equal(last->events_tsc, all->events_tsc);
	assert_int_equal(last->tsc, all->tsc);
	assert_int_equal(last->lost_mtc, all->lost_mtc);
	assert_int_equal(last->lost_cyc, all->lost_cyc);
	assert_int_equal(last->has_tsc, all->has_tsc);
	assert_int_equal(last->ntimes, all->ntimes != 0);
	assert_int_equal(last->last.tsc, all->last.tsc);
	assert_int_equal(last->last.lost_cyc, all->last.lost_cyc);
	assert_int_equal(last->last.lost_mtc, all->last.lost_mtc);
	assert_int_equal(last->last.has_tsc, all->last.has_tsc);
	assert_true(last->last.path >= all->last.path);
}

/* All of a pass. */
static struct told sum(const struct pass *pass)
{
	struct told sum = {0};

	for (uint32_t i = 0; i < pass->nruns; ++i) {
		sum.nblocks += pass->run[i].nblocks;
		sum.ninsn += pass->run[i].ninsn;
		sum.nevents += pass->run[i].nevents;
	}
	return sum;
}

/* Where the cache holds next to nothing, where a run ends depends on what it held. */
static void assert_same_runs(const struct fixture *fixture, const struct pass *all, const struct pass *last)
{
	const struct told sum_all = sum(all), sum_last = sum(last);
	const unsigned long few = 16;

	assert_int_equal(sum_last.nblocks, sum_all.nblocks);
	assert_int_equal(sum_last.ninsn, sum_all.ninsn);
	assert_int_equal(sum_last.nevents, sum_all.nevents);
	if (fixture->limit && strtoul(fixture->limit, NULL, 0) < few)
		return;
	assert_int_equal(last->nruns, all->nruns);
	for (uint32_t i = 0; i < all->nruns; ++i)
		assert_same(&all->run[i], &last->run[i]);
}

/* Passes over the trace, often enough for the way to be known, and for chains to be given up. */
static void check(struct fixture *fixture, uint8_t mtc_freq)
{
	static struct pass all, last;
	const struct pt_config config = machine(&fixture->stream, mtc_freq);
	struct pt_block_decoder *each = open_decoder(&config, fixture->image);
	struct pt_block_decoder *once = open_decoder(&config, fixture->image);
	uint32_t ntimes = 0;

	assert_int_equal(pt_blk_set_run_last_time(once, 1), 0);
	for (int n = 0; n < passes; ++n) {
		decode(each, &all);
		decode(once, &last);
		assert_same_runs(fixture, &all, &last);
		for (uint32_t i = 0; i < all.nruns; ++i)
			ntimes += all.run[i].ntimes;
	}
	assert_true(ntimes > passes);
	pt_blk_free_decoder(each);
	pt_blk_free_decoder(once);
}

/* Between any two windows is a CYC: so there are no chains. In segments between PSBs, which end runs: each
 * has fewer times than a run may have. @cbr: cycles have a length; else they are lost. */
static void write_trace(struct fixture *fixture, int cbr)
{
	static const char *const parts[] = {
	        "cyc:3 tnt:111111 cyc:1f tnt:1110 cyc:2 tip:1000",
	        "cyc:0 tnt:0 tip:1001 cyc:123 cyc:5 tnt:10 tip:1000",
	        "cyc:7 tnt:0 cyc:6 pgd:- cyc:1 pad pge:1000 cyc:9",
	        "cyc:4 tnt:110 tip:~1000 pad pad cyc:5 pad tnt:111111",
	        "cyc:fff tnt:111111 cyc:1 tnt:0 tip:1000 pad",
	        "cyc:1 tnt:111111 tnt:0 cyc:1 tip:1000",
	};
	uint32_t roll = 1, ctc = 0x21;
	char text[64];

	for (int segment = 0; segment < 14; ++segment) {
		snprintf(text, sizeof(text), "psb tsc:%x tma:100,0 %s exec:64 fup:1000 psbend",
		         0x10000 * (segment + 1), cbr ? "cbr:15" : "");
		stream_write(&fixture->stream, segment ? text : "tsc:1000 tma:100,0 pge:1000");
		for (int i = 0; i < 30; ++i) {
			roll = roll * 1664525u + 1013904223u;
			stream_write(&fixture->stream, parts[(roll >> 16) % 6]);
			if (i % 15 == 14) {
				snprintf(text, sizeof(text), "cyc:20 mtc:%x", ctc++ & 0xff);
				stream_write(&fixture->stream, text);
			}
		}
	}
	stream_write(&fixture->stream, "tnt:0 pgd:- pad pad pad pad pad pad pad pad");
}

static void the_last_time_is_that_of_all(void **state)
{
	struct fixture *fixture = *state;

	load(fixture, "\x90\x74\xfd\xff\xe0", 5); /* nop; je 1000; jmp *rax */
	write_trace(fixture, 1);
	check(fixture, 3);
}

static void lost_cycles_are_counted_each(void **state)
{
	struct fixture *fixture = *state;

	load(fixture, "\x90\x74\xfd\xff\xe0", 5);
	write_trace(fixture, 0);
	check(fixture, 3);
}

/* ---- Rows ----------------------------------------------------------------------------------------- */

enum { most_rows = 10, most_tnts = 20 };

struct row {
	char tnt[most_tnts][8];
	uint32_t count;
};

static uint32_t draw(uint32_t *roll, uint32_t limit)
{
	*roll = *roll * 1664525u + 1013904223u;
	return (*roll >> 16) % limit;
}

/* TNTs whose outcomes lead from 1000 through the program below, back to 1000: 1; or 0, 1, and either. @whole:
 * each of them does. */
static void make_row(struct row *row, uint32_t *roll, int whole)
{
	static const char *const ways[] = {"1", "011", "010"};
	const char *way = "";

	row->count = 1 + draw(roll, most_tnts);
	for (uint32_t i = 0; i < row->count; ++i) {
		const uint32_t bits = 1 + draw(roll, 4);
		uint32_t n = 0;

		while (n < bits || (*way && (whole || i + 1 == row->count))) {
			if (!*way)
				way = ways[draw(roll, 3)];
			row->tnt[i][n++] = *way++;
		}
		row->tnt[i][n] = '\0';
	}
}

/* Rows are told from each other by any of their TNTs, and by where they end. */
static void make_rows(struct row *rows, uint32_t *roll)
{
	for (uint32_t i = 0; i < most_rows; ++i)
		make_row(&rows[i], roll, i == 0);
	rows[1] = rows[0];
	strcpy(rows[1].tnt[0], "1111");
	strcpy(rows[0].tnt[0], "1");
	rows[2] = rows[0];
	rows[2].count = 1 + rows[0].count / 2;
	strcpy(rows[2].tnt[rows[2].count - 1], "111111");
}

static void write_row(struct stream *stream, const struct row *row, uint32_t *roll)
{
	static const uint32_t most[] = {0x20, 0x1000, 0x1000, 0x1000, 0x80000};
	char text[64];

	for (uint32_t i = 0; i < row->count; ++i) {
		snprintf(text, sizeof(text), "cyc:%x tnt:%s", draw(roll, most[draw(roll, 5)]), row->tnt[i]);
		stream_write(stream, text);
	}
}

/* Rows in any order, with other cycles each time, and what may stand between them; in segments, which end
 * runs. */
static void write_rows(struct fixture *fixture)
{
	static const char *const between[] = {
	        "pad pad",
	        "pad",
	        "cyc:144 pad cyc:5 pad",
	        "tnt:1 tnt:1 tnt:1",
	        "cyc:5 tnt:00 tip:1000",
	        "cyc:77 tnt:00 cyc:3 tip:1000",
	        "tnt:00 cyc:1 tip:1000",
	};
	static struct row rows[most_rows];
	uint32_t roll = 7, ctc = 0x21;
	char text[64];

	make_rows(rows, &roll);
	for (int segment = 0; segment < 9; ++segment) {
		snprintf(text, sizeof(text), "psb tsc:%x tma:100,0 cbr:15 exec:64 fup:1000 psbend",
		         0x100000 * (segment + 1));
		stream_write(&fixture->stream, segment ? text : "tsc:1000 tma:100,0 pge:1000");
		for (int i = 0; i < 16; ++i) {
			write_row(&fixture->stream, &rows[draw(&roll, most_rows)], &roll);
			stream_write(&fixture->stream, between[draw(&roll, 7)]);
			if (i % 5 == 4) {
				snprintf(text, sizeof(text), "mtc:%x", ctc++ & 0xff);
				stream_write(&fixture->stream, text);
			}
		}
	}
	stream_write(&fixture->stream, "pgd:- pad pad pad pad pad pad pad pad");
}

static void rows_are_what_their_windows_are(void **state)
{
	struct fixture *fixture = *state;

	/* nop; je 1000; jne 1007; jmp *rax; 1007: nop; jne 1000; jmp 1000 */
	load(fixture, "\x90\x74\xfd\x75\x02\xff\xe0\x90\x75\xf6\xeb\xf4", 12);
	write_rows(fixture);
	/* So seldom that the cycles before it take time on. */
	check(fixture, 14);
}

/* ---- Block by block ------------------------------------------------------------------------------- */

enum { most_blocks = 1 << 14 };

struct times {
	uint64_t tsc[most_blocks];
	uint32_t lost_cyc[most_blocks];
	uint64_t events_tsc;
	uint32_t count;
};

/* Behind each block, the time, or where it is not asked for, the one before. */
static void ask(struct pt_block_decoder *decoder, uint32_t every, struct times *times)
{
	int status = pt_blk_sync_set(decoder, 0);
	struct pt_block block;
	struct pt_event event;
	uint64_t tsc = 0;
	uint32_t lost_cyc = 0;

	times->count = 0;
	times->events_tsc = 0;
	while (status >= 0) {
		if (status & pts_event_pending) {
			status = pt_blk_event(decoder, &event, sizeof(event));
			times->events_tsc = times->events_tsc * 31 + event.tsc;
			continue;
		}
		status = pt_blk_next(decoder, &block, sizeof(block));
		assert_true(times->count < most_blocks);
		if (times->count % every == 0)
			(void)pt_blk_time(decoder, &tsc, NULL, &lost_cyc);
		times->tsc[times->count] = tsc;
		times->lost_cyc[times->count++] = lost_cyc;
	}
	assert_int_equal(status, -pte_eos);
}

/* How often the time is asked for does not change it: truth is a decoder on foot that is asked each time. */
static void check_blocks(struct fixture *fixture)
{
	static const uint32_t every[] = {1, 2, 3, 7, 50, most_blocks};
	static struct times truth, times;
	const struct pt_config config = machine(&fixture->stream, 3);
	const char *const cache = getenv("SBTRACE_RUN_CACHE");
	struct pt_block_decoder *decoder;

	setenv("SBTRACE_RUN_CACHE", "0", 1);
	decoder = open_decoder(&config, fixture->image);
	if (cache)
		setenv("SBTRACE_RUN_CACHE", cache, 1);
	else
		unsetenv("SBTRACE_RUN_CACHE");
	ask(decoder, 1, &truth);
	assert_true(truth.count > 1000);
	pt_blk_free_decoder(decoder);
	for (size_t i = 0; i < sizeof(every) / sizeof(every[0]); ++i) {
		decoder = open_decoder(&config, fixture->image);
		for (int n = 0; n < passes / 10; ++n) {
			ask(decoder, every[i], &times);
			assert_int_equal(times.count, truth.count);
			assert_int_equal(times.events_tsc, truth.events_tsc);
			for (uint32_t k = 0; k < truth.count; k += every[i]) {
				assert_int_equal(times.tsc[k], truth.tsc[k]);
				assert_int_equal(times.lost_cyc[k], truth.lost_cyc[k]);
			}
		}
		pt_blk_free_decoder(decoder);
	}
}

static void times_of_blocks_do_not_depend_on_who_asks(void **state)
{
	struct fixture *fixture = *state;

	load(fixture, "\x90\x74\xfd\xff\xe0", 5);
	write_trace(fixture, 1);
	check_blocks(fixture);
}

static void lost_cycles_of_blocks_do_not_either(void **state)
{
	struct fixture *fixture = *state;

	load(fixture, "\x90\x74\xfd\xff\xe0", 5);
	write_trace(fixture, 0);
	check_blocks(fixture);
}

static void bad_arguments(void **state)
{
	(void)state;
	assert_int_equal(pt_blk_set_run_last_time(NULL, 1), -pte_invalid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(the_last_time_is_that_of_all, setup, teardown),
	        cmocka_unit_test_setup_teardown(lost_cycles_are_counted_each, setup, teardown),
	        cmocka_unit_test_setup_teardown(rows_are_what_their_windows_are, setup, teardown),
	        cmocka_unit_test_setup_teardown(times_of_blocks_do_not_depend_on_who_asks, setup, teardown),
	        cmocka_unit_test_setup_teardown(lost_cycles_of_blocks_do_not_either, setup, teardown),
	        cmocka_unit_test(bad_arguments),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
