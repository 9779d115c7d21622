/* The recordings of the corpus, where it is there: perf and we see the same records; the raw pairs are the
 * same recording as the perf.data; damage at random does no harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/perf_event.h>
#include <unistd.h>
#include <cmocka.h>

#include <sb/perfdata.h>

#include "sb/record_counts.h"
#include "support/temp_dir.h"

static const struct recording {
	const char *name, *file; /* file: below the recording, the perf.data itself */
	uint32_t ncpus;
} recordings[] = {
        {"user-true", "perf.data", 1},
        {"user-true-noretcomp", "perf.data", 1},
        {"user-true-cyc", "perf.data", 1},
        {"user-true-tnt64", "perf.data", 1},
        {"user-pipe", "perf.data", 2},
        {"user-threads", "perf.data", 3},
        {"user-threads-overflow", "perf.data", 3},
        {"user-medium", "perf.data", 2},
        {"kernel-pti", "perf.data/data", 1},
        {"kernel-kaslr-modules", "perf.data/data", 4},
};
enum { nrecordings = sizeof(recordings) / sizeof(recordings[0]) };

static char *path_of(const struct recording *recording, const char *name)
{
	char *path;

	assert_true(asprintf(&path, CORPUS_DIR "/%s/%s", recording->name, name) > 0);
	return path;
}

static void perf_counts_the_same_records(void **state)
{
	(void)state;
	if (!perf_is_installed())
		skip();
	for (size_t i = 0; i < nrecordings; i++) {
		/* perf wants the directory, and takes it for one by its name. */
		char *path = path_of(&recordings[i], "perf.data");
		struct sb_perfdata *perfdata = open_recording(path);

		assert_true(assert_perf_counts_the_same(perfdata, path) > 0);
		sb_perfdata_close(perfdata);
		free(path);
	}
}

static void what_the_readme_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < nrecordings; i++) {
		char *path = path_of(&recordings[i], "perf.data");
		struct sb_perfdata *perfdata = open_recording(path);
		const struct sb_perfdata_info *info = sb_perfdata_info(perfdata);
		int user = !strncmp(recordings[i].name, "user", 4);
		size_t count;

		sb_perfdata_streams(perfdata, &count);
		assert_int_equal(count, recordings[i].ncpus);
		assert_true(info->has_pt);
		assert_int_equal(info->ncpus, recordings[i].ncpus);
		assert_int_equal(info->user_only, user);
		assert_int_equal(info->pt_noretcomp, !strcmp(recordings[i].name, "user-true-noretcomp"));
		assert_int_equal(info->pt_cyc, !strcmp(recordings[i].name, "user-true-cyc"));
		assert_int_equal(info->pt_mtc_freq, user ? 3 : 9);
		if (user) {
			assert_int_equal(info->clock.time_shift, 31);
			assert_int_equal(info->clock.time_mult, 1022611261);
			assert_int_equal(info->clock.time_zero, 7000000000);
			assert_int_equal(info->model, 85);
			assert_int_equal(info->tsc_ctc_num, 168);
			assert_int_equal(info->tsc_ctc_den, 2);
		}
		sb_perfdata_close(perfdata);
		free(path);
	}
}

/* The .pt is the AUX data of its CPU, without perf's padding. */
static void compare_streams(const struct sb_perfdata *file, const struct sb_perfdata *raw)
{
	static const uint8_t pad[8];
	const struct sb_aux_stream *a, *b;
	size_t na, nb;

	a = sb_perfdata_streams(file, &na);
	b = sb_perfdata_streams(raw, &nb);
	assert_int_equal(na, nb);
	for (size_t i = 0; i < na; i++) {
		uint64_t done = 0;

		assert_int_equal(a[i].cpu, b[i].cpu);
		assert_in_range(a[i].size - b[i].size, 0, 7);
		for (size_t k = 0; k < a[i].nchunks; k++) {
			const struct sb_aux_chunk *chunk = &a[i].chunk[k];
			uint64_t left = b[i].size - done;
			uint64_t size = chunk->size < left ? chunk->size : left;

			assert_memory_equal(chunk->bytes, b[i].chunk->bytes + done, size);
			assert_memory_equal(chunk->bytes + size, pad, chunk->size - size);
			done += size;
		}
		assert_int_equal(done, b[i].size);
	}
}

static int is_kernel_s(const struct sb_record *record)
{
	return record->type < SB_RECORD_HEADER_ATTR && record->type != PERF_RECORD_MMAP;
}

/* The next record of @cpu that the kernel wrote while tracing. */
static int next_of_cpu(struct sb_perfdata_cursor *cursor, uint32_t cpu, struct sb_record *record)
{
	int status;

	while ((status = sb_perfdata_next(cursor, record, NULL)) > 0) {
		if (is_kernel_s(record) && record->sample.time && record->sample.cpu == cpu)
			break;
	}
	return status;
}

/* The kernel recordings' perf.data calls the vdso by the name of its file. */
static size_t size_to_compare(const struct sb_record *record)
{
	if (record->type == PERF_RECORD_MMAP2 && !strcmp(record->u.mmap.filename, "[vdso]"))
		return (size_t)((const uint8_t *)record->u.mmap.filename - record->bytes);
	return record->size;
}

static void compare_records(const struct sb_perfdata *file, const struct sb_perfdata *raw, uint32_t cpu)
{
	struct sb_perfdata_cursor left, right;
	unsigned int count = 0;
	struct sb_record a, b;

	sb_perfdata_begin(file, &left);
	sb_perfdata_begin(raw, &right);
	while (next_of_cpu(&left, cpu, &a) > 0) {
		assert_int_equal(next_of_cpu(&right, cpu, &b), 1);
		assert_int_equal(a.size, b.size);
		assert_memory_equal(a.bytes, b.bytes, size_to_compare(&b));
		count++;
	}
	assert_int_equal(next_of_cpu(&right, cpu, &b), 0);
	assert_true(count > 0);
}

static void raw_pairs_are_the_same_recording(void **state)
{
	(void)state;
	for (size_t i = 0; i < nrecordings; i++) {
		char *file_path = path_of(&recordings[i], "perf.data"),
		     *raw_path = path_of(&recordings[i], "");
		struct sb_perfdata *file = open_recording(file_path), *raw = open_recording(raw_path);

		compare_streams(file, raw);
		for (uint32_t cpu = 0; cpu < recordings[i].ncpus; cpu++)
			compare_records(file, raw, cpu);
		sb_perfdata_close(file);
		sb_perfdata_close(raw);
		free(file_path);
		free(raw_path);
	}
}

static uint8_t *load(const char *path, size_t *size)
{
	FILE *in = fopen(path, "rb");
	uint8_t *bytes;
	long end;

	assert_non_null(in);
	assert_int_equal(fseek(in, 0, SEEK_END), 0);
	end = ftell(in);
	assert_true(end > 0);
	rewind(in);
	bytes = malloc((size_t)end);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, (size_t)end, in), end);
	fclose(in);
	*size = (size_t)end;
	return bytes;
}

/* Reads all of it, trace bytes too. */
static void read_through(const char *path, FILE *null)
{
	struct sb_perfdata_cursor cursor;
	const struct sb_aux_stream *stream;
	struct sb_perfdata *perfdata;
	struct sb_record record;
	struct sb_error err;
	size_t count;
	int status;

	if (sb_perfdata_open(&perfdata, path, &err) < 0)
		return;
	sb_perfdata_begin(perfdata, &cursor);
	while ((status = sb_perfdata_next(&cursor, &record, &err)) > 0)
		sb_record_print(null, &record);
	assert_true(status == 0 || sb_perfdata_damage(perfdata));
	stream = sb_perfdata_streams(perfdata, &count);
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < stream[i].nchunks; k++)
			assert_int_equal(fwrite(stream[i].chunk[k].bytes, 1, stream[i].chunk[k].size, null),
			                 stream[i].chunk[k].size);
	}
	sb_perfdata_close(perfdata);
}

/* SB_TEST_MUTATIONS sets how many of each recording, for a longer run under a sanitizer. */
static void random_damage_does_no_harm(void **state)
{
	const char *wanted = getenv("SB_TEST_MUTATIONS");
	int mutations = wanted ? atoi(wanted) : 20;
	FILE *null = fopen("/dev/null", "wb");
	struct temp_dir dir;
	uint64_t seed = 1;

	(void)state;
	assert_non_null(null);
	temp_dir_make(&dir);
	for (size_t i = 0; i < nrecordings; i++) {
		char *path = path_of(&recordings[i], recordings[i].file);
		size_t size, window;
		uint8_t *bytes = load(path, &size);

		/* Most of a large file is trace, which is not looked at. */
		window = size < 40000 ? size : 40000;
		for (int m = 0; m < mutations; m++) {
			uint8_t *copy = malloc(size);
			char *mutated;

			assert_non_null(copy);
			memcpy(copy, bytes, size);
			for (int flips = 0; flips < 5; flips++) {
				seed = seed * 6364136223846793005u + 1442695040888963407u;
				copy[(seed >> 33) % window] = (uint8_t)(seed >> 25);
			}
			mutated = temp_dir_write(&dir, "mutated", copy, size);
			read_through(mutated, null);
			free(mutated);
			free(copy);
		}
		free(bytes);
		free(path);
	}
	temp_dir_remove(&dir);
	fclose(null);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(perf_counts_the_same_records),
	        cmocka_unit_test(what_the_readme_says),
	        cmocka_unit_test(raw_pairs_are_the_same_recording),
	        cmocka_unit_test(random_damage_does_no_harm),
	};

	if (access(CORPUS_DIR, R_OK) != 0)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
