/* test_replay_corpus.c - recordings whose every instruction is known, replayed: the flow is the truth, line
 * by line, whether the trace comes in one chunk or in many, and the account adds up.
 *
 * The recordings are not part of this project; without them the test is skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sb/perfdata_write.h>
#include <sb/replay.h>

#include "replay/session.h"
#include "support/temp_dir.h"
#include "support/truth_line.h"

enum { CPUS_MAX = 4 };

/* The truth of one CPU, read as the flow comes. */
struct truth {
	FILE *lines; /* of zstd */
	uint64_t count;
	uint64_t last_tsc;
};

struct check {
	const char *directory;
	struct truth truth[CPUS_MAX];
};

static void compare_insn(struct truth *truth, const struct sb_flow *flow, uint64_t ip)
{
	struct truth_line line = {0};
	const int any = truth_line_read(truth->lines, &line);

	truth->count += 1;
	if (!any || line.optional || line.kernel || line.cpu != flow->cpu || line.pid != flow->pid ||
	    line.tid != flow->tid || line.ip != ip)
		fail_msg("CPU %d, instruction %" PRIu64 ": expected %s%d %d %d %" PRIx64
		         ", given %d %d %" PRIx64,
		         flow->cpu, truth->count, any ? "" : "nothing more behind ", line.cpu, line.pid,
		         line.tid, line.ip, flow->pid, flow->tid, ip);
}

static void compare_block(struct truth *truth, const struct sb_flow *flow, const struct pt_run_block *block)
{
	uint64_t ip = block->ip;

	for (uint32_t k = 0; k < block->ninsn; ip += block->length[k++])
		compare_insn(truth, flow, ip);
}

static int on_flow(void *context, const struct sb_flow *flow)
{
	struct check *check = context;
	struct truth *truth;

	assert_in_range(flow->cpu, 0, CPUS_MAX - 1);
	truth = &check->truth[flow->cpu];
	if (!truth->lines)
		truth->lines = truth_open(check->directory, flow->cpu);
	assert_non_null(truth->lines);
	assert_true(flow->tsc >= truth->last_tsc);
	truth->last_tsc = flow->tsc;
	for (uint32_t i = 0; i < flow->npaths; ++i)
		for (uint32_t b = 0; b < flow->path[i]->nblocks; ++b)
			compare_block(truth, flow, &flow->path[i]->block[b]);
	return 0;
}

static void assert_truth_ends(struct check *check)
{
	char line[128];

	for (int cpu = 0; cpu < CPUS_MAX; ++cpu) {
		struct truth *truth = &check->truth[cpu];

		if (!truth->lines)
			continue;
		if (fgets(line, sizeof(line), truth->lines))
			fail_msg("CPU %d: after %" PRIu64 " instructions, missing: %s", cpu, truth->count,
			         line);
		pclose(truth->lines);
	}
}

/* The recording at @path gives the truth in @directory. */
static void assert_exact(const char *directory, const char *path, uint64_t ninsn, unsigned int jobs,
                         uint64_t piece_size)
{
	struct check check = {.directory = directory};
	const struct sb_sink sink = {.context = &check, .flow = on_flow};
	struct sb_perfdata *perfdata = NULL;
	struct sb_session *session = NULL;
	const struct sb_account *account;
	struct sb_error err = {0};
	char root[256];
	const char *roots[] = {root};
	const struct sb_replay_options options = {
	        .size = sizeof(options), .root = roots, .nroots = 1, .no_host_root = 1, .jobs = jobs};
	uint64_t bytes;

	snprintf(root, sizeof(root), "%s/root", directory);
	if (sb_perfdata_open(&perfdata, path, &err) < 0 ||
	    sb_session_open(&session, perfdata, &options, &err) < 0)
		fail_msg("%s: %s", path, err.text);
	session_set_piece_size(session, piece_size);
	if (sb_session_run(session, &sink, &err) < 0)
		fail_msg("%s: %s", path, err.text);
	assert_truth_ends(&check);
	account = sb_session_account(session);
	assert_int_equal(account->ninsn, ninsn);
	bytes = account->bytes_decoded;
	for (int i = 0; i < sb_gap_reasons; ++i) {
		bytes += account->gap[i].bytes;
		assert_true(account->gap[i].bytes < 8);
	}
	assert_int_equal(bytes, account->bytes_total);
	sb_session_close(session);
	sb_perfdata_close(perfdata);
}

/* ---- The same recording in many chunks --------------------------------------------------------- */

static int copy_record(struct sb_perfdata_writer *writer, const struct sb_record *record)
{
	const struct sb_write_sample at = {.pid = record->sample.pid,
	                                   .tid = record->sample.tid,
	                                   .time = record->sample.time,
	                                   .cpu = record->sample.cpu};
	const struct sb_write_sample *sample = at.time ? &at : NULL;
	struct sb_write_mmap2 map;

	switch (record->type) {
	case PERF_RECORD_COMM:
		return sb_write_comm(writer, sample, record->u.comm.pid, record->u.comm.tid,
		                     record->u.comm.name, record->u.comm.exec, NULL);
	case PERF_RECORD_FORK:
		return sb_write_fork(writer, sample, record->u.task.pid, record->u.task.ppid,
		                     record->u.task.tid, record->u.task.ptid, NULL);
	case PERF_RECORD_EXIT:
		return sb_write_exit(writer, sample, record->u.task.pid, record->u.task.ppid,
		                     record->u.task.tid, record->u.task.ptid, NULL);
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return sb_write_switch(
		        writer, sample, record->u.context_switch.out, record->u.context_switch.preempt,
		        record->u.context_switch.next_prev_pid, record->u.context_switch.next_prev_tid, NULL);
	case PERF_RECORD_ITRACE_START:
		return sb_write_itrace_start(writer, sample, record->u.itrace_start.pid,
		                             record->u.itrace_start.tid, NULL);
	case PERF_RECORD_MMAP2:
		map = (struct sb_write_mmap2){.pid = record->u.mmap.pid,
		                              .tid = record->u.mmap.tid,
		                              .addr = record->u.mmap.addr,
		                              .len = record->u.mmap.len,
		                              .pgoff = record->u.mmap.pgoff,
		                              .maj = record->u.mmap.maj,
		                              .min = record->u.mmap.min,
		                              .ino = record->u.mmap.ino,
		                              .prot = record->u.mmap.prot,
		                              .flags = record->u.mmap.flags,
		                              .filename = record->u.mmap.filename};
		return sb_write_mmap2(writer, sample, &map, NULL);
	default:
		return 0;
	}
}

static void copy_records(struct sb_perfdata_writer *writer, const struct sb_perfdata *perfdata)
{
	struct sb_perfdata_cursor cursor;
	struct sb_record record;

	sb_perfdata_begin(perfdata, &cursor);
	while (sb_perfdata_next(&cursor, &record, NULL) > 0)
		assert_int_equal(copy_record(writer, &record), 0);
}

/* Chunks of @size bytes, of all CPUs in turn. */
static void copy_trace(struct sb_perfdata_writer *writer, const struct sb_perfdata *perfdata, uint64_t size)
{
	const struct sb_aux_stream *stream;
	size_t count;
	int wrote = 1;

	stream = sb_perfdata_streams(perfdata, &count);
	for (uint64_t at = 0; wrote; at += size) {
		wrote = 0;
		for (size_t i = 0; i < count; ++i) {
			assert_int_equal(stream[i].nchunks, 1);
			if (at >= stream[i].size)
				continue;
			wrote = 1;
			assert_int_equal(
			        sb_write_auxtrace(
			                writer, (uint32_t)stream[i].cpu, 0, stream[i].chunk->bytes + at,
			                at + size < stream[i].size ? size : stream[i].size - at, NULL),
			        0);
		}
	}
}

static void rewrite(const char *from, const char *to, uint64_t chunk_size)
{
	struct sb_perfdata_write_config config = {.size = sizeof(config), .pt_pmu_type = 8, .user_only = 1};
	struct sb_perfdata_writer *writer = NULL;
	const struct sb_perfdata_info *info;
	struct sb_perfdata *perfdata = NULL;
	struct sb_error err = {0};

	if (sb_perfdata_open(&perfdata, from, &err) < 0)
		fail_msg("%s: %s", from, err.text);
	info = sb_perfdata_info(perfdata);
	config.ncpus = info->ncpus;
	config.pt_config = info->pt_config;
	config.family = info->family;
	config.model = info->model;
	config.stepping = info->stepping;
	config.clock = info->clock;
	config.tsc_ctc_num = info->tsc_ctc_num;
	config.tsc_ctc_den = info->tsc_ctc_den;
	config.max_nonturbo_ratio = info->max_nonturbo_ratio;
	if (sb_perfdata_writer_open(&writer, to, &config, &err) < 0)
		fail_msg("%s: %s", to, err.text);
	assert_int_equal(sb_write_finished_init(writer, &err), 0);
	copy_records(writer, perfdata);
	copy_trace(writer, perfdata, chunk_size);
	assert_int_equal(sb_perfdata_writer_finish(writer, &err), 0);
	sb_perfdata_close(perfdata);
}

/* ---- The recordings ----------------------------------------------------------------------------- */

struct recording {
	const char *name;
	uint64_t ninsn;
};

static void replays_exactly(void **state)
{
	const struct recording *recording = *state;
	char directory[128], path[160];

	snprintf(directory, sizeof(directory), CORPUS_DIR "/%s", recording->name);
	snprintf(path, sizeof(path), "%s/perf.data", directory);
	if (access(path, R_OK) != 0)
		skip();
	assert_exact(directory, path, recording->ninsn, 1, 1 << 16);
	assert_exact(directory, path, recording->ninsn, 2, 1 << 16);
}

static void replays_exactly_in_chunks(void **state)
{
	static const uint64_t sizes[] = {8, 1000, 4096, 30000};
	const struct recording *recording = *state;
	char directory[128], path[160];
	struct temp_dir temp;

	snprintf(directory, sizeof(directory), CORPUS_DIR "/%s", recording->name);
	snprintf(path, sizeof(path), "%s/perf.data", directory);
	if (access(path, R_OK) != 0)
		skip();
	temp_dir_make(&temp);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
		char *copy = temp_dir_path(&temp, "perf.data");

		rewrite(path, copy, sizes[i]);
		assert_exact(directory, copy, recording->ninsn, 1, 1 << 16);
		assert_exact(directory, copy, recording->ninsn, 3, 1 << (4 * i));
		free(copy);
	}
	temp_dir_remove(&temp);
}

/* ---- Real hardware ------------------------------------------------------------------------------ */

/* All of a file; to be freed. */
static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*size = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*size + 1);
	assert_int_equal(fread(bytes, 1, *size, file), *size);
	fclose(file);
	return bytes;
}

static void copy_pevent(struct sb_perfdata_writer *writer, const uint8_t *bytes, size_t size)
{
	const struct sb_sample_format format = {.sample_type = 0x10086, .sample_id_all = 1};
	struct sb_record record;

	for (size_t at = 0; at < size; at += record.size) {
		assert_int_equal(sb_record_parse(&record, bytes + at, size - at, &format, NULL, at, NULL), 0);
		assert_int_equal(copy_record(writer, &record), 0);
	}
}

static void append_block_ips(char *text, const struct pt_run_block *block)
{
	uint64_t ip = block->ip;

	for (uint32_t k = 0; k < block->ninsn && strlen(text) < 200; ip += block->length[k++])
		sprintf(text + strlen(text), "%" PRIx64 " ", ip);
}

static int append_ips(void *context, const struct sb_flow *flow)
{
	char *text = context;

	assert_int_equal(flow->pid, 223991);
	for (uint32_t i = 0; i < flow->npaths; ++i)
		for (uint32_t b = 0; b < flow->path[i]->nblocks; ++b)
			append_block_ips(text, &flow->path[i]->block[b]);
	return 0;
}

static void write_hello(const char *path)
{
	/* TSC, MTC with period 3 */
	const struct sb_perfdata_write_config config = {.size = sizeof(config),
	                                                .ncpus = 12,
	                                                .pt_pmu_type = 8,
	                                                .pt_config = 0x400 | 0x200 | 3 << 14,
	                                                .family = 6,
	                                                .model = 85,
	                                                .stepping = 4,
	                                                .clock = {31, 581029125, 18444502336406842448u},
	                                                .tsc_ctc_num = 308,
	                                                .tsc_ctc_den = 2,
	                                                .max_nonturbo_ratio = 37,
	                                                .user_only = 1};
	struct sb_perfdata_writer *writer;
	uint8_t *bytes;
	size_t size;

	assert_int_equal(sb_perfdata_writer_open(&writer, path, &config, NULL), 0);
	bytes = read_file(CORPUS_DIR "/hw-hello/primary.sideband.pevent", &size);
	copy_pevent(writer, bytes, size);
	free(bytes);
	bytes = read_file(CORPUS_DIR "/hw-hello/pt.bin", &size);
	assert_int_equal(sb_write_auxtrace(writer, 9, 0, bytes, size, NULL), 0);
	free(bytes);
	assert_int_equal(sb_perfdata_writer_finish(writer, NULL), 0);
}

static void hello_on_hardware(void **state)
{
	const char *const roots[] = {CORPUS_DIR "/hw-hello"};
	const struct sb_replay_options options = {
	        .size = sizeof(options), .root = roots, .nroots = 1, .no_host_root = 1};
	char text[256] = "";
	const struct sb_sink sink = {.context = text, .flow = append_ips};
	struct sb_perfdata *perfdata;
	struct sb_session *session;
	struct temp_dir temp;
	char *path;

	(void)state;
	if (access(roots[0], R_OK | X_OK) != 0)
		skip();
	temp_dir_make(&temp);
	path = temp_dir_path(&temp, "perf.data");
	write_hello(path);
	assert_int_equal(sb_perfdata_open(&perfdata, path, NULL), 0);
	assert_int_equal(sb_session_open(&session, perfdata, &options, NULL), 0);
	assert_int_equal(sb_session_run(session, &sink, NULL), 0);
	assert_string_equal(text, "401000 401005 40100a 401014 401019 40101b 401020 401025 ");
	assert_string_equal(sb_session_account(session)->thread[0].comm, "hello");
	sb_session_close(session);
	sb_perfdata_close(perfdata);
	free(path);
	temp_dir_remove(&temp);
}

/* ---- Damage --------------------------------------------------------------------------------------- */

/* What a recording that ends too early still has is right: the beginning of the truth. */
static void replay_beginning(const char *directory, const char *path)
{
	struct check check = {.directory = directory};
	const struct sb_sink sink = {.context = &check, .flow = on_flow};
	const struct sb_account *account;
	struct sb_perfdata *perfdata;
	struct sb_session *session;
	struct sb_error err = {0};
	char root[256];
	const char *roots[] = {root};
	const struct sb_replay_options options = {
	        .size = sizeof(options), .root = roots, .nroots = 1, .no_host_root = 1};
	uint64_t bytes;

	snprintf(root, sizeof(root), "%s/root", directory);
	if (sb_perfdata_open(&perfdata, path, &err) < 0) {
		assert_true(err.text[0] && err.file[0]);
		return;
	}
	assert_int_equal(sb_session_open(&session, perfdata, &options, &err), 0);
	assert_int_equal(sb_session_run(session, &sink, &err), 0);
	account = sb_session_account(session);
	bytes = account->bytes_decoded;
	for (int i = 0; i < sb_gap_reasons; ++i)
		bytes += account->gap[i].bytes;
	assert_int_equal(bytes, account->bytes_total);
	assert_true(account->gap[sb_gap_truncated].count > 0);
	for (int cpu = 0; cpu < CPUS_MAX; ++cpu)
		if (check.truth[cpu].lines)
			pclose(check.truth[cpu].lines);
	sb_session_close(session);
	sb_perfdata_close(perfdata);
}

static void what_is_left_of_a_cut_recording_is_right(void **state)
{
	static const char directory[] = CORPUS_DIR "/user-true";
	struct temp_dir temp;
	uint8_t *bytes;
	size_t size;

	(void)state;
	if (access(directory, R_OK | X_OK) != 0)
		skip();
	bytes = read_file(CORPUS_DIR "/user-true/perf.data", &size);
	temp_dir_make(&temp);
	for (size_t cut = 0; cut < size; cut += 250) {
		char *path = temp_dir_write(&temp, "perf.data", bytes, cut);

		replay_beginning(directory, path);
		free(path);
	}
	temp_dir_remove(&temp);
	free(bytes);
}

int main(void)
{
	static const struct recording all[] = {
	        {"user-true", 115234},
	        {"user-true-noretcomp", 115234},
	        {"user-true-cyc", 115234},
	        {"user-true-tnt64", 115234},
	        {"user-pipe", 3906156},
	        {"user-threads", 1193649},
	        {"user-threads-overflow", 1056834},
	        {"user-medium", 12000153},
	};
#define EXACT(i)                                                                                             \
	{                                                                                                    \
		all[i].name, replays_exactly, NULL, NULL, (void *)(uintptr_t)&all[i]                         \
	}
#define CHUNKS(i)                                                                                            \
	{                                                                                                    \
		"chunks", replays_exactly_in_chunks, NULL, NULL, (void *)(uintptr_t)&all[i]                  \
	}
	const struct CMUnitTest tests[] = {
	        EXACT(0),
	        EXACT(1),
	        EXACT(2),
	        EXACT(3),
	        EXACT(4),
	        EXACT(5),
	        EXACT(6),
	        EXACT(7),
	        CHUNKS(0),
	        CHUNKS(2),
	        CHUNKS(3),
	        CHUNKS(5),
	        CHUNKS(6),
	        cmocka_unit_test(hello_on_hardware),
	        cmocka_unit_test(what_is_left_of_a_cut_recording_is_right),
	};

	if (access(CORPUS_DIR, R_OK | X_OK) != 0)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
