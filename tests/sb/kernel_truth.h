/* A replay of a whole system beside its truth, where parts of the code are not known: between gaps, every
 * stretch of instructions is in the truth as it is, one behind the other, in the order of the truth.
 *
 * Where a stretch begins is the first place of the truth, behind the stretch before, where its first
 * instructions stand as they came: as many as there are, up to STRETCH_MAX. From there on, all must agree: in
 * user space also the thread, if one is named.
 */
#ifndef TEST_SB_KERNEL_TRUTH_H
#define TEST_SB_KERNEL_TRUTH_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sb/replay.h>

#include "support/truth_line.h"

enum { CPUS_MAX = 4, STRETCH_MAX = 4096 };

/* A CPU's flow. */
struct follower {
	FILE *truth; /* of zstd */
	int is_following;
	uint64_t begin[STRETCH_MAX];  /* else: the stretch's first instructions */
	uint32_t border[STRETCH_MAX]; /* of each beginning of it: the longest one that is its end, too */
	uint32_t nbegin;
	uint64_t ninsn, skipped;
};

struct truth_check {
	const char *directory;
	struct follower cpu[CPUS_MAX];
	uint64_t ngaps[sb_gap_reasons];
};

/* The next line whose code is in a file, or which is at @ip. */
static inline int read_certain(FILE *truth, uint64_t ip, struct truth_line *line)
{
	int any;

	do
		any = truth_line_read(truth, line);
	while (any && line->optional && line->ip != ip);
	return any;
}

/* Knuth, Morris, Pratt. */
static inline void add_to_begin(struct follower *cpu, uint64_t ip)
{
	uint32_t border = cpu->nbegin ? cpu->border[cpu->nbegin - 1] : 0;

	while (border && cpu->begin[border] != ip)
		border = cpu->border[border - 1];
	if (cpu->nbegin && cpu->begin[border] == ip)
		border += 1;
	cpu->border[cpu->nbegin] = border;
	cpu->begin[cpu->nbegin++] = ip;
}

static inline void find_begin(struct follower *cpu)
{
	uint32_t matched = 0;
	struct truth_line line = {0};

	cpu->ninsn += cpu->nbegin;
	while (matched < cpu->nbegin) {
		if (!read_certain(cpu->truth, 0, &line))
			fail_msg("%u instructions from %" PRIx64 " on are not in the truth", cpu->nbegin,
			         cpu->begin[0]);
		while (matched && cpu->begin[matched] != line.ip)
			matched = cpu->border[matched - 1];
		matched += cpu->begin[matched] == line.ip;
		cpu->skipped += 1;
	}
	cpu->skipped -= cpu->nbegin;
	cpu->nbegin = 0;
	cpu->is_following = 1;
}

static inline void follow_insn(struct follower *cpu, const struct sb_flow *flow, uint64_t ip)
{
	struct truth_line line = {0};

	if (!cpu->is_following) {
		add_to_begin(cpu, ip);
		if (cpu->nbegin == STRETCH_MAX)
			find_begin(cpu);
		return;
	}
	cpu->ninsn += 1;
	if (!read_certain(cpu->truth, ip, &line) || line.ip != ip)
		fail_msg("expected %" PRIx64 ", given %" PRIx64, line.ip, ip);
	if (line.kernel || flow->tid < 0)
		return;
	if (line.pid != flow->pid || line.tid != flow->tid)
		fail_msg("expected %d %d %" PRIx64 ", given %d %d", line.pid, line.tid, ip, flow->pid,
		         flow->tid);
}

static inline struct follower *follower_of(struct truth_check *check, int32_t cpu)
{
	struct follower *follower;

	assert_in_range(cpu, 0, CPUS_MAX - 1);
	follower = &check->cpu[cpu];
	if (!follower->truth)
		follower->truth = truth_open(check->directory, cpu);
	assert_non_null(follower->truth);
	return follower;
}

static inline int follow_flow(void *context, const struct sb_flow *flow)
{
	struct follower *cpu = follower_of(context, flow->cpu);

	for (uint32_t i = 0; i < flow->npaths; ++i)
		for (uint32_t b = 0; b < flow->path[i]->nblocks; ++b) {
			const struct pt_run_block *block = &flow->path[i]->block[b];
			uint64_t ip = block->ip;

			for (uint32_t k = 0; k < block->ninsn; ip += block->length[k++])
				follow_insn(cpu, flow, ip);
		}
	return 0;
}

static inline int follow_gap(void *context, const struct sb_gap *gap)
{
	struct truth_check *check = context;
	struct follower *cpu = follower_of(context, gap->cpu);

	check->ngaps[gap->reason] += 1;
	if (!cpu->is_following && cpu->nbegin)
		find_begin(cpu);
	cpu->is_following = 0;
	return 0;
}

/* How many instructions came, all of them right; *skipped: how many are missing. */
static inline uint64_t end_of_truth(struct truth_check *check, uint64_t *skipped)
{
	uint64_t ninsn = 0;
	struct truth_line line = {0};

	*skipped = 0;
	for (int i = 0; i < CPUS_MAX; ++i) {
		struct follower *cpu = &check->cpu[i];

		if (!cpu->truth)
			continue;
		if (!cpu->is_following && cpu->nbegin)
			find_begin(cpu);
		while (read_certain(cpu->truth, 0, &line))
			cpu->skipped += 1;
		pclose(cpu->truth);
		ninsn += cpu->ninsn;
		*skipped += cpu->skipped;
	}
	return ninsn;
}

#endif
