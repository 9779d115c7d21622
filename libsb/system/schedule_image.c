/* schedule_image.c - see schedule_image.h. Rows are checked for what a reader relies on; times and numbers
 * may be anything, as in records. */
#include "system/schedule_image.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct sb_sched) == CHECKPOINT_SCHED_SIZE, "rows are kept as they are");
_Static_assert(sizeof(struct sb_seen) == CHECKPOINT_SEEN_SIZE, "rows are kept as they are");
_Static_assert(sizeof(struct sb_aux_flag) == CHECKPOINT_FLAG_SIZE, "rows are kept as they are");
_Static_assert(sizeof(struct sb_lost) == CHECKPOINT_LOST_SIZE, "rows are kept as they are");

/* ---- Writing ------------------------------------------------------------------------------------ */

/* A flag's row has bytes that nobody sets. */
static void write_flags(struct checkpoint_writer *writer, const struct sb_aux_flag *flag, size_t count)
{
	for (size_t i = 0; i < count; ++i) {
		struct sb_aux_flag row;

		memset(&row, 0, sizeof(row));
		row.time = flag[i].time;
		row.aux_offset = flag[i].aux_offset;
		row.aux_size = flag[i].aux_size;
		row.flags = flag[i].flags;
		row.tid = flag[i].tid;
		checkpoint_table_put(writer, &row, 1);
	}
}

static int is_empty(const struct cpu_schedule *cpu)
{
	return !cpu->nscheds && !cpu->nseen && !cpu->nflags && !cpu->is_whole && !cpu->losses;
}

static size_t nsums(size_t nscheds)
{
	return (nscheds + CHECKPOINT_SCHEDS_PER_SUM - 1) / CHECKPOINT_SCHEDS_PER_SUM;
}

/* How many entries from @first on have a sum together. */
static size_t rows_from(const struct cpu_schedule *cpu, size_t first)
{
	const size_t left = cpu->nscheds - first;

	return left < CHECKPOINT_SCHEDS_PER_SUM ? left : CHECKPOINT_SCHEDS_PER_SUM;
}

/* The sums of entries, which are a table of their own: *@sum has room for them, and is behind them then. A
 * large schedule is not in memory as a whole. */
static void write_entries(const struct cpu_schedule *cpu, struct checkpoint_writer *writer, uint64_t **sum)
{
	enum { BLOCKS_IN_MEMORY = 16 };
	size_t count;

	for (size_t i = 0, nblocks = 0; i < cpu->nscheds; i += count) {
		if (nblocks++ % BLOCKS_IN_MEMORY == 0)
			spill_array_release(&cpu->spill, cpu->sched);
		count = rows_from(cpu, i);
		*(*sum)++ = checkpoint_sum_of(cpu->sched + i, count * sizeof(*cpu->sched));
		checkpoint_table_put(writer, cpu->sched + i, count);
	}
	spill_array_release(&cpu->spill, cpu->sched);
}

static void write_all_entries(const struct schedule *schedule, struct checkpoint_writer *writer)
{
	size_t count = 0;
	uint64_t *sum, *end;

	for (size_t i = 0; i < schedule->ncpus; ++i)
		count += nsums(schedule->cpu[i].nscheds);
	sum = end = malloc((count + 1) * sizeof(*sum));
	if (!sum) {
		writer->status = -sbe_nomem;
		return;
	}
	checkpoint_table_begin(writer, checkpoint_scheds);
	for (size_t i = 0; i < schedule->ncpus; ++i)
		write_entries(&schedule->cpu[i], writer, &end);
	checkpoint_table_begin(writer, checkpoint_sched_sums);
	checkpoint_table_put(writer, sum, count);
	free(sum);
}

static void write_cpus(const struct schedule *schedule, struct checkpoint_writer *writer)
{
	struct checkpoint_cpu row = {0};

	checkpoint_table_begin(writer, checkpoint_cpus);
	for (size_t i = 0; i < schedule->ncpus; ++i) {
		const struct cpu_schedule *cpu = &schedule->cpu[i];

		row.first_sched += row.nscheds;
		row.first_sum += nsums(row.nscheds);
		row.first_seen += row.nseen;
		row.first_flag += row.nflags;
		row.nscheds = cpu->nscheds;
		row.nseen = cpu->nseen;
		row.nflags = cpu->nflags;
		if (is_empty(cpu))
			continue;
		row.number = (uint32_t)i;
		row.bits = cpu->is_whole ? checkpoint_cpu_whole : 0;
		row.losses = cpu->losses;
		memset(row.last_sched, 0, sizeof(row.last_sched));
		if (cpu->nscheds)
			memcpy(row.last_sched, &cpu->sched[cpu->nscheds - 1], sizeof(row.last_sched));
		checkpoint_table_put(writer, &row, 1);
	}
}

void schedule_write(const struct schedule *schedule, struct checkpoint_writer *writer)
{
	write_cpus(schedule, writer);
	write_all_entries(schedule, writer);
	checkpoint_table_begin(writer, checkpoint_seen);
	for (size_t i = 0; i < schedule->ncpus; ++i)
		checkpoint_table_put(writer, schedule->cpu[i].seen, schedule->cpu[i].nseen);
	checkpoint_table_begin(writer, checkpoint_flags);
	for (size_t i = 0; i < schedule->ncpus; ++i)
		write_flags(writer, schedule->cpu[i].flag, schedule->cpu[i].nflags);
	checkpoint_table_begin(writer, checkpoint_lost);
	checkpoint_table_put(writer, schedule->lost, schedule->nlost);
	checkpoint_table_begin(writer, checkpoint_thread_flags);
	write_flags(writer, schedule->thread_flag, schedule->nthread_flags);
}

/* ---- Reading ------------------------------------------------------------------------------------ */

static int wrong(const struct sb_checkpoint *checkpoint, const char *what, struct sb_error *err)
{
	return sb_error_set(err, -sbe_format, checkpoint_path(checkpoint), UINT64_MAX, "no checkpoint: %s",
	                    what);
}

/* Rows [first, first + count) of a table; NULL: there are not so many, or none are asked for. */
static void *rows_of(const struct sb_checkpoint *checkpoint, enum checkpoint_kind kind, uint64_t first,
                     uint64_t count, size_t size, int *fits)
{
	uint64_t all;
	const uint8_t *rows = checkpoint_rows(checkpoint, kind, &all);

	if (first > all || count > all - first) {
		*fits = 0;
		return NULL;
	}
	/* Never written to: the schedule is sealed. */
	return count ? (void *)(uintptr_t)(rows + first * size) : NULL;
}

static int read_cpu(struct schedule *schedule, const struct sb_checkpoint *checkpoint,
                    const struct checkpoint_cpu *row)
{
	struct cpu_schedule *cpu = &schedule->cpu[row->number];
	int fits = row->losses <= switch_losses_many && !(row->bits & ~(uint32_t)checkpoint_cpu_bits);

	cpu->sched = rows_of(checkpoint, checkpoint_scheds, row->first_sched, row->nscheds,
	                     sizeof(*cpu->sched), &fits);
	cpu->seen =
	        rows_of(checkpoint, checkpoint_seen, row->first_seen, row->nseen, sizeof(*cpu->seen), &fits);
	cpu->flag = rows_of(checkpoint, checkpoint_flags, row->first_flag, row->nflags, sizeof(*cpu->flag),
	                    &fits);
	cpu->nscheds = cpu->sched ? row->nscheds : 0;
	cpu->nseen = cpu->seen ? row->nseen : 0;
	cpu->nflags = cpu->flag ? row->nflags : 0;
	memcpy(&cpu->last, row->last_sched, sizeof(cpu->last));
	cpu->is_whole = (row->bits & checkpoint_cpu_whole) != 0;
	cpu->losses = (enum switch_losses)row->losses;
	return fits;
}

static int read_right(struct schedule_right *right, const struct sb_checkpoint *checkpoint,
                      const struct checkpoint_cpu *row, int *fits)
{
	right->nblocks = nsums(row->nscheds);
	right->sum = rows_of(checkpoint, checkpoint_sched_sums, row->first_sum, right->nblocks,
	                     sizeof(*right->sum), fits);
	if (!right->sum)
		right->nblocks = 0;
	right->blocks = calloc(right->nblocks + 1, sizeof(*right->blocks));
	return right->blocks ? 0 : -sbe_nomem;
}

/* By the thread, which is searched for. */
static int are_sorted(const struct sb_aux_flag *flag, size_t count)
{
	for (size_t i = 1; i < count; ++i)
		if (flag[i - 1].tid > flag[i].tid)
			return 0;
	return 1;
}

int schedule_read(struct schedule *schedule, const struct sb_checkpoint *checkpoint, struct sb_error *err)
{
	const struct checkpoint_cpu *row;
	uint64_t nrows, count;
	int fits = 1;

	row = checkpoint_rows(checkpoint, checkpoint_cpus, &nrows);
	schedule->checkpoint = checkpoint;
	for (uint64_t i = 0; i < nrows; ++i)
		if (row[i].number > SB_CPU_MAX || (i && row[i].number <= row[i - 1].number))
			return wrong(checkpoint, "its CPUs are not in order", err);
	schedule->ncpus = nrows ? (size_t)row[nrows - 1].number + 1 : 0;
	schedule->cpu = calloc(schedule->ncpus + 1, sizeof(*schedule->cpu));
	schedule->right = calloc(schedule->ncpus + 1, sizeof(*schedule->right));
	if (!schedule->cpu || !schedule->right)
		return -sbe_nomem;
	for (size_t i = 0; i < schedule->ncpus; ++i)
		schedule->cpu[i].losses = switch_losses_none;
	for (uint64_t i = 0; i < nrows; ++i) {
		fits &= read_cpu(schedule, checkpoint, &row[i]);
		if (fits && read_right(&schedule->right[row[i].number], checkpoint, &row[i], &fits) < 0)
			return -sbe_nomem;
	}
	checkpoint_rows(checkpoint, checkpoint_lost, &count);
	schedule->lost = rows_of(checkpoint, checkpoint_lost, 0, count, sizeof(*schedule->lost), &fits);
	schedule->nlost = count;
	checkpoint_rows(checkpoint, checkpoint_thread_flags, &count);
	schedule->thread_flag =
	        rows_of(checkpoint, checkpoint_thread_flags, 0, count, sizeof(*schedule->thread_flag), &fits);
	schedule->nthread_flags = count;
	if (!fits || !are_sorted(schedule->thread_flag, schedule->nthread_flags))
		return wrong(checkpoint, "what it has of a CPU is outside of its tables", err);
	return 0;
}

static int block_is_right(const struct schedule *schedule, const struct cpu_schedule *cpu, size_t block)
{
	struct schedule_right *right = &schedule->right[cpu - schedule->cpu];
	const size_t first = block * CHECKPOINT_SCHEDS_PER_SUM, count = rows_from(cpu, first);
	int is = atomic_load(&right->blocks[block]);

	if (is < schedule_is_fine) {
		is = checkpoint_sum_of(cpu->sched + first, count * sizeof(*cpu->sched)) == right->sum[block]
		             ? schedule_is_fine
		             : schedule_is_wrong;
		if (is == schedule_is_wrong)
			checkpoint_spoil(schedule->checkpoint);
		atomic_store(&right->blocks[block], (unsigned char)is);
	}
	return is == schedule_is_fine;
}

int schedule_is_right(const struct schedule *schedule, const struct cpu_schedule *cpu)
{
	const size_t nblocks = schedule->checkpoint ? schedule->right[cpu - schedule->cpu].nblocks : 0;
	int is = 1;

	for (size_t i = 0; i < nblocks && is; ++i)
		is = block_is_right(schedule, cpu, i);
	return is;
}

struct schedule_use schedule_use_of(const struct schedule *schedule, const struct cpu_schedule *cpu)
{
	const struct schedule_right *right =
	        schedule->checkpoint ? &schedule->right[cpu - schedule->cpu] : NULL;

	return right ? (struct schedule_use){right->blocks, right->nblocks} : (struct schedule_use){0};
}

static void check_used(const struct schedule *schedule, const struct cpu_schedule *cpu)
{
	const struct schedule_use use = schedule_use_of(schedule, cpu);

	for (size_t i = 0; i < use.nblocks; ++i)
		if (atomic_load(&use.blocks[i]) == schedule_is_used)
			block_is_right(schedule, cpu, i);
}

void schedule_check_used(const struct schedule *schedule)
{
	for (size_t i = 0; i < schedule->ncpus; ++i)
		check_used(schedule, &schedule->cpu[i]);
}
