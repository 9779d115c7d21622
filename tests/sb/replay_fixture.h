/* A recording that a test writes record by record, its files, and the flow that a replay gives, as text. */
#ifndef TEST_REPLAY_FIXTURE_H
#define TEST_REPLAY_FIXTURE_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <sb/perfdata_write.h>
#include <sb/replay.h>

#include "replay/session.h"
#include "support/temp_dir.h"
#include "support/trace.h"

enum { TEXT_MAX = 32768 };

/* The trace's clock and perf's are the same: one nanosecond per count. */
struct fixture {
	struct temp_dir dir;
	char *root, *recording;
	struct sb_perfdata_writer *writer;
	struct sb_replay_options options;
	uint64_t piece_size; /* 0: as it is */
	struct sb_perfdata *perfdata;
	struct sb_session *session;
	char flow[TEXT_MAX]; /* "cpu/pid/tid@tsc: ip ip ..." per run, separated by "; " */
	char gaps[TEXT_MAX]; /* "reason+bytes", separated by blanks */
	char details[TEXT_MAX];
	int32_t last_cpu, last_pid, last_tid;
	uint64_t last_tsc;
	struct sb_gap gap; /* the last one */
	int sink_result;
	unsigned int nprogress;
};

static inline struct sb_write_sample sample(uint32_t cpu, int32_t pid, uint64_t time)
{
	return (struct sb_write_sample){.pid = pid, .tid = pid, .time = time, .cpu = cpu};
}

enum { PT_CONFIG = 0x300e601, PT_CONFIG_MTC = 1 << 9 };

/* @tsc_per_ctc: 0: not known, so that MTC packets tell nothing. */
static inline int setup_traces(void **state, int user_only, uint64_t pt_config, uint32_t tsc_per_ctc)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct sb_perfdata_write_config config = {.size = sizeof(config),
	                                          .ncpus = 2,
	                                          .pt_pmu_type = 8,
	                                          .pt_config = pt_config,
	                                          .tsc_ctc_num = tsc_per_ctc,
	                                          .tsc_ctc_den = tsc_per_ctc != 0,
	                                          .family = 6,
	                                          .model = 85,
	                                          .stepping = 4,
	                                          .clock = {.time_shift = 0, .time_mult = 1},
	                                          .user_only = user_only,
	                                          .cgroups = 1};
	struct sb_error err = {0};

	temp_dir_make(&fixture->dir);
	fixture->root = temp_dir_path(&fixture->dir, "root");
	assert_int_equal(mkdir(fixture->root, 0777), 0);
	fixture->recording = temp_dir_path(&fixture->dir, "perf.data");
	assert_int_equal(sb_perfdata_writer_open(&fixture->writer, fixture->recording, &config, &err), 0);
	assert_int_equal(sb_write_finished_init(fixture->writer, &err), 0);
	fixture->options.size = sizeof(fixture->options);
	fixture->options.root = (const char *const *)&fixture->root;
	fixture->options.nroots = 1;
	fixture->options.no_host_root = 1;
	*state = fixture;
	return 0;
}

static inline int setup(void **state)
{
	return setup_traces(state, 1, PT_CONFIG, 0);
}

/* Time stands still from one TSC packet to the next. */
static inline int setup_late(void **state)
{
	return setup_traces(state, 1, PT_CONFIG & ~PT_CONFIG_MTC, 0);
}

/* The kernel is traced as well. */
static inline int setup_kernel(void **state)
{
	return setup_traces(state, 0, PT_CONFIG, 0);
}

static inline int teardown(void **state)
{
	struct fixture *fixture = *state;

	sb_session_close(fixture->session);
	sb_perfdata_close(fixture->perfdata);
	sb_perfdata_writer_abort(fixture->writer);
	temp_dir_remove(&fixture->dir);
	free(fixture->root);
	free(fixture->recording);
	free(fixture);
	return 0;
}

/* ---- What is recorded ------------------------------------------------------------------------- */

/* A file below the root. */
static inline void has_file(struct fixture *fixture, const char *name, const void *bytes, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "root%s", name);
	free(temp_dir_write(&fixture->dir, path, bytes, size));
}

static inline void switches(struct fixture *fixture, uint32_t cpu, uint64_t time, int32_t from, int32_t to)
{
	const struct sb_write_sample out = sample(cpu, from, time), in = sample(cpu, to, time + 1);

	assert_int_equal(sb_write_switch(fixture->writer, &out, 1, 0, to, to, NULL), 0);
	assert_int_equal(sb_write_switch(fixture->writer, &in, 0, 0, from, from, NULL), 0);
}

static inline void maps(struct fixture *fixture, uint64_t time, int32_t pid, uint64_t addr,
                        const char *filename)
{
	const struct sb_write_sample at = sample(0, pid, time);
	const struct sb_write_mmap2 map = {.pid = pid,
	                                   .tid = pid,
	                                   .addr = addr,
	                                   .len = 0x1000,
	                                   .prot = PROT_READ | PROT_EXEC,
	                                   .filename = filename};

	assert_int_equal(sb_write_mmap2(fixture->writer, time ? &at : NULL, &map, NULL), 0);
}

static inline void execs(struct fixture *fixture, uint64_t time, int32_t pid, const char *name)
{
	const struct sb_write_sample at = sample(0, pid, time);

	assert_int_equal(sb_write_comm(fixture->writer, &at, pid, pid, name, 1, NULL), 0);
}

static inline void forks(struct fixture *fixture, uint64_t time, int32_t parent, int32_t child)
{
	const struct sb_write_sample at = sample(0, parent, time);

	assert_int_equal(sb_write_fork(fixture->writer, &at, child, parent, child, parent, NULL), 0);
}

static inline void traced(struct fixture *fixture, uint32_t cpu, const void *bytes, size_t size)
{
	assert_int_equal(sb_write_auxtrace(fixture->writer, cpu, 0, bytes, size, NULL), 0);
}

/* ---- The trace -------------------------------------------------------------------------------- */

static inline void trace_enabled(struct trace *trace, uint64_t tsc, uint64_t ip)
{
	trace_tsc(trace, tsc);
	trace_ip(trace, ppt_tip_pge, ip);
}

static inline void trace_disabled(struct trace *trace)
{
	trace_ip_suppressed(trace, ppt_tip_pgd);
}

/* From @tsc on at @ip, up to a system call. */
static inline void trace_stretch(struct trace *trace, uint64_t tsc, uint64_t ip)
{
	trace_enabled(trace, tsc, ip);
	trace_disabled(trace);
}

/* ---- The replay ------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static inline void append(char text[TEXT_MAX], const char *format, ...)
{
	const size_t length = strlen(text);
	va_list args;

	va_start(args, format);
	assert_true(vsnprintf(text + length, TEXT_MAX - length, format, args) < (int)(TEXT_MAX - length));
	va_end(args);
}

static inline uint64_t append_block(struct fixture *fixture, const struct pt_run_block *block)
{
	uint64_t ip = block->ip;

	for (uint32_t k = 0; k < block->ninsn; ++k) {
		append(fixture->flow, " %jx", (uintmax_t)ip);
		if (k + 1 == block->ninsn)
			assert_int_equal(ip, block->end_ip);
		ip += block->length[k];
	}
	return block->ninsn;
}

static inline int on_flow(void *context, const struct sb_flow *flow)
{
	struct fixture *fixture = context;
	uint64_t ninsn = 0, nblocks = 0;

	if (!fixture->flow[0] || flow->cpu != fixture->last_cpu || flow->pid != fixture->last_pid ||
	    flow->tid != fixture->last_tid || flow->tsc != fixture->last_tsc)
		append(fixture->flow, "%s%d/%d/%d@%ju:", fixture->flow[0] ? "; " : "", flow->cpu, flow->pid,
		       flow->tid, (uintmax_t)flow->tsc);
	fixture->last_cpu = flow->cpu;
	fixture->last_pid = flow->pid;
	fixture->last_tid = flow->tid;
	fixture->last_tsc = flow->tsc;
	for (uint32_t i = 0; i < flow->npaths; ++i) {
		for (uint32_t b = 0; b < flow->path[i]->nblocks; ++b)
			ninsn += append_block(fixture, &flow->path[i]->block[b]);
		nblocks += flow->path[i]->nblocks;
	}
	assert_int_equal(ninsn, flow->ninsn);
	assert_int_equal(nblocks, flow->nblocks);
	return fixture->sink_result;
}

static inline int on_gap(void *context, const struct sb_gap *gap)
{
	struct fixture *fixture = context;

	append(fixture->gaps, "%s%s+%ju", fixture->gaps[0] ? " " : "", sb_gap_reason_name(gap->reason),
	       (uintmax_t)gap->bytes);
	append(fixture->details, "%s\n", gap->detail);
	fixture->gap = *gap;
	return 0;
}

static inline int on_progress(void *context, uint64_t done, uint64_t total)
{
	struct fixture *fixture = context;

	assert_true(done <= total);
	fixture->nprogress += 1;
	return 0;
}

/* Whatever happens, all bytes are in the account. */
static inline void assert_balance(const struct sb_account *account)
{
	uint64_t bytes = account->bytes_decoded;

	for (int i = 0; i < sb_gap_reasons; ++i)
		bytes += account->gap[i].bytes;
	assert_int_equal(bytes, account->bytes_total);
}

static inline int replay(struct fixture *fixture)
{
	const struct sb_sink sink = {
	        .context = fixture, .flow = on_flow, .gap = on_gap, .progress = on_progress};
	struct sb_error err = {0};
	int status;

	if (fixture->writer) {
		assert_int_equal(sb_perfdata_writer_finish(fixture->writer, &err), 0);
		fixture->writer = NULL;
		assert_int_equal(sb_perfdata_open(&fixture->perfdata, fixture->recording, &err), 0);
	}
	sb_session_close(fixture->session);
	fixture->session = NULL;
	fixture->flow[0] = fixture->gaps[0] = fixture->details[0] = '\0';
	assert_int_equal(sb_session_open(&fixture->session, fixture->perfdata, &fixture->options, &err), 0);
	if (fixture->piece_size)
		session_set_piece_size(fixture->session, fixture->piece_size);
	status = sb_session_run(fixture->session, &sink, &err);
	if (status == 0)
		assert_balance(sb_session_account(fixture->session));
	return status;
}

static inline void assert_replay(struct fixture *fixture, const char *flow, const char *gaps)
{
	assert_int_equal(replay(fixture), 0);
	assert_string_equal(fixture->flow, flow);
	assert_string_equal(fixture->gaps, gaps);
}

static inline void assert_gap(const struct fixture *fixture, enum sb_gap_reason reason)
{
	const struct sb_account *account = sb_session_account(fixture->session);

	assert_int_equal(account->gap[reason].count, 1);
	assert_true(account->gap[reason].bytes > 0);
	assert_int_equal(account->bytes_decoded + account->gap[reason].bytes, account->bytes_total);
	assert_true(fixture->details[0] != '\n');
}

#endif
