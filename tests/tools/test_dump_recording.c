/* sbtrace dump of recordings: CPU after CPU, packets cut between AUX chunks, snapshots that repeat bytes,
 * places where the kernel dropped trace, threads in place of CPUs, and what the account says of all that. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <linux/perf_event.h>

#include <cmocka.h>
#include <sb/perfdata_write.h>

#include "support/temp_dir.h"

#define PSB 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82

struct fixture {
	struct temp_dir dir;
	char *path;
	struct sb_perfdata_writer *writer;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct sb_perfdata_write_config config = {.size = sizeof(config),
	                                                .ncpus = 2,
	                                                .pt_pmu_type = 8,
	                                                .pt_config = 0x400,
	                                                .family = 6,
	                                                .model = 85,
	                                                .clock = {31, 1022611261, 0}};

	assert_non_null(fixture);
	temp_dir_make(&fixture->dir);
	fixture->path = temp_dir_path(&fixture->dir, "perf.data");
	assert_int_equal(sb_perfdata_writer_open(&fixture->writer, fixture->path, &config, NULL), 0);
	assert_int_equal(sb_write_finished_init(fixture->writer, NULL), 0);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	sb_perfdata_writer_abort(fixture->writer);
	temp_dir_remove(&fixture->dir);
	free(fixture->path);
	free(fixture);
	return 0;
}

#define CHUNK(fixture, cpu, ...)                                                                             \
	assert_int_equal(sb_write_auxtrace((fixture)->writer, (cpu), 1, (const uint8_t[]){__VA_ARGS__},      \
	                                   sizeof((const uint8_t[]){__VA_ARGS__}), NULL),                    \
	                 0)

static void finish(struct fixture *fixture)
{
	struct sb_perfdata_writer *writer = fixture->writer;

	fixture->writer = NULL;
	assert_int_equal(sb_write_finished_round(writer, NULL), 0);
	assert_int_equal(sb_perfdata_writer_finish(writer, NULL), 0);
}

/* What `sbtrace dump OPTIONS` writes, standard error at the end, and its exit status. */
static void assert_dump(const struct fixture *fixture, const char *options, int status, const char *wanted)
{
	char line[1024], text[8192];
	FILE *pipe;
	size_t size;
	int ended;

	snprintf(line, sizeof(line), SBTRACE_EXE " dump %s %s 2>&1", options, fixture->path);
	pipe = popen(line, "r");
	assert_non_null(pipe);
	size = fread(text, 1, sizeof(text) - 1, pipe);
	text[size] = '\0';
	ended = pclose(pipe);
	assert_string_equal(text, wanted);
	assert_true(WIFEXITED(ended));
	assert_int_equal(WEXITSTATUS(ended), status);
}

/* Changes the AUXTRACE record number @index: its offset, and the thread that it belongs to in place of a CPU.
 */
static void patch(const struct fixture *fixture, int index, uint64_t offset, int32_t tid)
{
	static const uint8_t header[] = {71, 0, 0, 0, 0, 0, 48, 0}; /* PERF_RECORD_AUXTRACE, of 48 bytes */
	enum { offset_at = 16, tid_at = 36, cpu_at = 40, most = 1 << 16 };
	uint8_t *bytes = malloc(most), *at = bytes;
	FILE *file = fopen(fixture->path, "r+b");
	const int32_t none = -1;
	size_t size;

	assert_non_null(bytes);
	assert_non_null(file);
	size = fread(bytes, 1, most, file);
	do {
		at = memmem(at + 1, size - (size_t)(at + 1 - bytes), header, sizeof(header));
		assert_non_null(at);
	} while (index--);
	memcpy(at + offset_at, &offset, sizeof(offset));
	if (tid >= 0) {
		memcpy(at + tid_at, &tid, sizeof(tid));
		memcpy(at + cpu_at, &none, sizeof(none));
	}
	rewind(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	free(bytes);
}

/* A TSC that begins in the second chunk and ends in the third; the last one is filled up with PADs. */
static void write_three_chunks(struct fixture *fixture)
{
	CHUNK(fixture, 0, PSB, 0x19, 5, 0, 0, 0, 0, 0, 0);
	CHUNK(fixture, 0, 0x2d, 1, 0, 0x19, 6, 0, 0, 0);
	CHUNK(fixture, 0, 0, 0, 0, 0x2d, 2, 0);
}

static void cpus_come_one_after_the_other(void **state)
{
	struct fixture *fixture = *state;

	write_three_chunks(fixture);
	CHUNK(fixture, 1, 0x86, PSB, 0x2d, 3, 0);
	finish(fixture);
	assert_dump(
	        fixture, "--json", 0,
	        "{\"cpu\":0,\"offset\":0,\"size\":16,\"name\":\"psb\",\"fields\":{},\"ip\":null,\"tsc\":null}\n"
	        "{\"cpu\":0,\"offset\":16,\"size\":8,\"name\":\"tsc\",\"header\":true,\"fields\":{\"tsc\":\"0x5\"},"
	        "\"ip\":null,\"tsc\":5}\n"
	        "{\"cpu\":0,\"offset\":24,\"size\":3,\"name\":\"tip\",\"fields\":{\"ipc\":1,"
	        "\"payload\":\"????????????0001\"},\"ip\":\"0x1\",\"tsc\":5}\n"
	        "{\"cpu\":0,\"offset\":27,\"size\":8,\"name\":\"tsc\",\"fields\":{\"tsc\":\"0x6\"},\"ip\":\"0x1\",\"tsc\":6}\n"
	        "{\"cpu\":0,\"offset\":35,\"size\":3,\"name\":\"tip\",\"fields\":{\"ipc\":1,"
	        "\"payload\":\"????????????0002\"},\"ip\":\"0x2\",\"tsc\":6}\n"
	        "{\"cpu\":0,\"offset\":38,\"size\":1,\"name\":\"pad\",\"fields\":{},\"ip\":\"0x2\",\"tsc\":6}\n"
	        "{\"cpu\":0,\"offset\":39,\"size\":1,\"name\":\"pad\",\"fields\":{},\"ip\":\"0x2\",\"tsc\":6}\n"
	        "{\"cpu\":1,\"offset\":0,\"size\":1,\"skipped\":\"before the first PSB\"}\n"
	        "{\"cpu\":1,\"offset\":1,\"size\":16,\"name\":\"psb\",\"fields\":{},\"ip\":null,\"tsc\":null}\n"
	        "{\"cpu\":1,\"offset\":17,\"size\":3,\"name\":\"tip\",\"fields\":{\"ipc\":1,"
	        "\"payload\":\"????????????0003\"},\"ip\":\"0x3\",\"tsc\":null}\n"
	        "{\"cpu\":1,\"offset\":20,\"size\":1,\"name\":\"pad\",\"fields\":{},\"ip\":\"0x3\",\"tsc\":null}\n"
	        "{\"cpu\":1,\"offset\":21,\"size\":1,\"name\":\"pad\",\"fields\":{},\"ip\":\"0x3\",\"tsc\":null}\n"
	        "{\"cpu\":1,\"offset\":22,\"size\":1,\"name\":\"pad\",\"fields\":{},\"ip\":\"0x3\",\"tsc\":null}\n"
	        "{\"cpu\":1,\"offset\":23,\"size\":1,\"name\":\"pad\",\"fields\":{},\"ip\":\"0x3\",\"tsc\":null}\n"
	        "sbtrace dump: 64 bytes of trace = 63 in 13 packets + 1 left out in 1 place\n");
	assert_dump(fixture, "--quiet", 0,
	            "# cpu 0\n# cpu 1\n00000000  skipped      before the first PSB: 1 byte left out\n"
	            "sbtrace dump: 64 bytes of trace = 63 in 13 packets + 1 left out in 1 place\n");
	assert_dump(fixture, "--quiet --cpu 0", 0,
	            "# cpu 0\nsbtrace dump: 40 bytes of trace = 40 in 7 packets + 0 left out in 0 places\n");
	assert_dump(fixture, "--quiet --cpu 0 --from 27 --to 0x1c", 0,
	            "# cpu 0\nsbtrace dump: 40 bytes of trace = 8 in 1 packet + 0 left out in 0 places"
	            " + 32 not asked for\n");
}

static void a_recording_may_be_of_threads(void **state)
{
	struct fixture *fixture = *state;

	CHUNK(fixture, 0, PSB, 2, 0x23, 0, 0, 0, 0, 0, 0);
	finish(fixture);
	patch(fixture, 0, 0, 1234);
	assert_dump(fixture, "--no-pad --no-time", 0,
	            "# thread 1234\n"
	            "00000000  psb                                                           -\n"
	            "00000010  psbend                                                        -\n"
	            "sbtrace dump: 24 bytes of trace = 24 in 8 packets + 0 left out in 0 places\n");
	assert_dump(
	        fixture, "--json --no-pad --no-time --to 1", 0,
	        "{\"tid\":1234,\"offset\":0,\"size\":16,\"name\":\"psb\",\"fields\":{},\"ip\":null}\n"
	        "sbtrace dump: 24 bytes of trace = 16 in 1 packet + 0 left out in 0 places + 8 not asked for\n");
}

/* The second chunk has the last eight bytes of the first once more. */
static void what_a_snapshot_repeats_is_read_once(void **state)
{
	struct fixture *fixture = *state;

	CHUNK(fixture, 0, PSB, 0x19, 5, 0, 0, 0, 0, 0, 0);
	CHUNK(fixture, 0, 0x19, 5, 0, 0, 0, 0, 0, 0, 0x2d, 1, 0);
	finish(fixture);
	patch(fixture, 1, 16, -1);
	assert_dump(fixture, "--quiet", 0,
	            "# cpu 0\nsbtrace dump: 40 bytes of trace = 32 in 8 packets + 0 left out in 0 places"
	            " + 8 recorded twice\n");
}

/* A chunk that does not continue the one before; and one of which the kernel says that trace was dropped. */
static void where_trace_is_missing_reading_begins_anew(void **state)
{
	const struct sb_write_sample sample = {.pid = 1, .tid = 1, .time = 1, .cpu = 1};
	struct fixture *fixture = *state;

	CHUNK(fixture, 0, PSB, 0x2d, 1, 0, 0x2d, 2, 0, 0x19, 0);
	CHUNK(fixture, 0, 0x86, PSB, 0x2d, 3, 0, 0, 0, 0, 0);
	CHUNK(fixture, 1, PSB, 0x2d, 1, 0, 0x2d, 2, 0, 0x86, 0x86);
	assert_int_equal(sb_write_aux(fixture->writer, &sample, 0, 22, PERF_AUX_FLAG_TRUNCATED, NULL), 0);
	finish(fixture);
	patch(fixture, 1, 0x1000, -1);
	assert_dump(
	        fixture, "--quiet", 1,
	        "# cpu 0\n"
	        "00000016  error        packet cut off by the end of the trace: 2 bytes left out\n"
	        "00001000  skipped      trace is missing here, and up to the next PSB nothing can be read: 1 byte"
	        " left out\n"
	        "# cpu 1\n"
	        "00000016  skipped      trace is missing here, and up to the next PSB nothing can be read: 2 bytes"
	        " left out\n"
	        "sbtrace dump: 72 bytes of trace = 67 in 12 packets + 5 left out in 3 places\n");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(cpus_come_one_after_the_other, setup, teardown),
	        cmocka_unit_test_setup_teardown(a_recording_may_be_of_threads, setup, teardown),
	        cmocka_unit_test_setup_teardown(what_a_snapshot_repeats_is_read_once, setup, teardown),
	        cmocka_unit_test_setup_teardown(where_trace_is_missing_reading_begins_anew, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
