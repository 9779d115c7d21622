/* test_replay_kernel.c - recordings of whole systems whose every instruction is known, replayed: kernel and
 * user space, modules, patched kernel text, several CPUs; with one thread and with several.
 *
 * The recordings are not part of this project; without them the test is skipped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sb/replay.h>

#include "kernel_truth.h"
#include "replay/session.h"

struct check {
	const char *directory;
	FILE *truth[CPUS_MAX];            /* of zstd */
	uint64_t ninsn, optional, owners; /* given; left out; of the kernel, under another name */
};

static void compare_insn(struct check *check, const struct sb_flow *flow, uint64_t ip)
{
	struct truth_line line = {0};

	while (truth_line_read(check->truth[flow->cpu], &line) && line.optional && line.ip != ip)
		check->optional += 1;
	check->ninsn += 1;
	if (line.ip != ip || (!line.kernel && (line.pid != flow->pid || line.tid != flow->tid)))
		fail_msg("CPU %d: expected %d %d %" PRIx64 ", given %d %d %" PRIx64, flow->cpu, line.pid,
		         line.tid, line.ip, flow->pid, flow->tid, ip);
	check->owners += line.pid != flow->pid || line.tid != flow->tid;
}

static int on_flow(void *context, const struct sb_flow *flow)
{
	struct check *check = context;

	assert_in_range(flow->cpu, 0, CPUS_MAX - 1);
	if (!check->truth[flow->cpu])
		check->truth[flow->cpu] = truth_open(check->directory, flow->cpu);
	assert_non_null(check->truth[flow->cpu]);
	for (uint32_t i = 0; i < flow->npaths; ++i)
		for (uint32_t b = 0; b < flow->path[i]->nblocks; ++b) {
			const struct pt_run_block *block = &flow->path[i]->block[b];
			uint64_t ip = block->ip;

			for (uint32_t k = 0; k < block->ninsn; ip += block->length[k++])
				compare_insn(check, flow, ip);
		}
	return 0;
}

static void close_truths(struct check *check)
{
	struct truth_line line;

	for (int cpu = 0; cpu < CPUS_MAX; ++cpu) {
		if (!check->truth[cpu])
			continue;
		while (truth_line_read(check->truth[cpu], &line)) {
			assert_true(line.optional);
			check->optional += 1;
		}
		pclose(check->truth[cpu]);
	}
}

struct recording {
	const char *name;
	uint64_t ninsn, optional;
	unsigned int jobs;
};

static void replays_exactly(void **state)
{
	const struct recording *recording = *state;
	char directory[256], path[300], root[300];
	const char *roots[] = {root};
	const struct sb_replay_options options = {.size = sizeof(options),
	                                          .root = roots,
	                                          .nroots = 1,
	                                          .no_host_root = 1,
	                                          .jobs = recording->jobs};
	struct check check = {.directory = directory};
	const struct sb_sink sink = {.context = &check, .flow = on_flow};
	struct sb_perfdata *perfdata;
	struct sb_session *session;

	snprintf(directory, sizeof(directory), CORPUS_DIR "/%s", recording->name);
	snprintf(path, sizeof(path), "%s/perf.data", directory);
	snprintf(root, sizeof(root), "%s/root", directory);
	if (access(path, R_OK | X_OK) != 0)
		skip();
	assert_int_equal(sb_perfdata_open(&perfdata, path, NULL), 0);
	assert_int_equal(sb_session_open(&session, perfdata, &options, NULL), 0);
	session_set_piece_size(session, 16 * 1024);
	assert_int_equal(sb_session_run(session, &sink, NULL), 0);
	close_truths(&check);
	assert_int_equal(check.ninsn, recording->ninsn - check.optional);
	assert_in_range(check.optional, 0, recording->optional);
	assert_true(check.owners * 1000 <= check.ninsn);
	sb_session_close(session);
	sb_perfdata_close(perfdata);
}

int main(void)
{
	static const struct recording alone = {"kernel-pti", 27300999, 0, 1},
	                              crew = {"kernel-kaslr-modules", 64718104, 6, 3};
	const struct CMUnitTest tests[] = {
	        {"pti", replays_exactly, NULL, NULL, (void *)(uintptr_t)&alone},
	        {"kaslr", replays_exactly, NULL, NULL, (void *)(uintptr_t)&crew},
	};

	if (access(CORPUS_DIR, R_OK | X_OK) != 0)
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
