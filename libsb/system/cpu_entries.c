/* cpu_entries.c - see cpu_entries.h. */
#include "system/cpu_entries.h"

#include <string.h>

#include <sb/error.h>

#include "system/schedule.h"

/* Whether both say the same: the two records of one switch, or that somebody still runs. */
static int says_the_same(const struct sb_sched *last, const struct sb_sched *entry)
{
	if (last->pid != entry->pid || last->tid != entry->tid)
		return 0;
	if (entry->prev_tid < 0 || (entry->prev_pid == entry->pid && entry->prev_tid == entry->tid))
		return 1;
	return entry->records == sb_sched_in && !(last->records & sb_sched_in) &&
	       (last->prev_tid < 0 ||
	        (last->prev_pid == entry->prev_pid && last->prev_tid == entry->prev_tid));
}

static void merge(struct sb_sched *last, const struct sb_sched *entry)
{
	const uint64_t after = entry->time - last->time;

	if (entry->records == sb_sched_in && last->records == sb_sched_out)
		last->in_after = after < UINT32_MAX ? (uint32_t)after : UINT32_MAX;
	last->records |= entry->records;
	if (last->prev_tid < 0 && entry->records == sb_sched_in) {
		last->prev_pid = entry->prev_pid;
		last->prev_tid = entry->prev_tid;
	}
}

/* Leaves out entries from @first to @end that say nothing new. */
static void drop_repeats(struct cpu_schedule *cpu, size_t first, size_t end)
{
	size_t kept = first;

	for (size_t i = first; i < end; ++i) {
		const struct sb_sched *entry = &cpu->sched[i];

		schedule_pass(cpu, kept);
		if (kept && says_the_same(&cpu->sched[kept - 1], entry))
			merge(&cpu->sched[kept - 1], entry);
		else if (kept++ < i)
			cpu->sched[kept - 1] = *entry;
	}
	if (kept < end)
		memmove(cpu->sched + kept, cpu->sched + end, (cpu->nscheds - end) * sizeof(*cpu->sched));
	cpu->nscheds -= end - kept;
}

int cpu_entries_sort(struct cpu_schedule *cpu)
{
	int status = 0;

	if (cpu->unsorted)
		status = array_sort(cpu->sched + cpu->nsettled, cpu->nscheds - cpu->nsettled,
		                    sizeof(*cpu->sched));
	cpu->unsorted = 0;
	return status;
}

/* When the last record was made that @entry, which is not settled, is of. */
static uint64_t end_of(const struct sb_sched *entry)
{
	return entry->time + (sched_has_both(entry) ? entry->in_after : 0);
}

/* Of what add_half() made one of. */
static void forget_second_half(struct sb_sched *entry)
{
	entry->records = sb_sched_out;
	entry->in_after = 0;
}

/* Those that are not settled have both records when add_half() made one of two. */
static size_t count_pairs(const struct cpu_schedule *cpu)
{
	size_t count = 0;

	for (size_t i = cpu->nsettled; i < cpu->nscheds; ++i)
		count += sched_has_both(&cpu->sched[i]) ? 1 : 0;
	return count;
}

/* Something came between the records of one switch: each record is an entry again, and so are those to come.
 */
static int split_pairs(struct cpu_schedule *cpu)
{
	const size_t npairs = count_pairs(cpu);
	size_t to = cpu->nscheds + npairs;

	if (spill_array_reserve(&cpu->spill, &cpu->sched, &cpu->sched_capacity, cpu->nscheds, npairs,
	                        sizeof(*cpu->sched)) < 0)
		return -sbe_nomem;
	for (size_t from = cpu->nscheds; from-- > cpu->nsettled && to > from + 1;) {
		struct sb_sched entry = cpu->sched[from];

		if (sched_has_both(&entry)) {
			cpu->sched[--to] = entry;
			cpu->sched[to].time = end_of(&entry);
			cpu->sched[to].records = sb_sched_in;
			cpu->sched[to].in_after = 0;
			forget_second_half(&entry);
		}
		cpu->sched[--to] = entry;
	}
	cpu->nscheds += npairs;
	cpu->takes_records = 1;
	return 0;
}

/* Entries at the beginning that nobody looks at before the end go to the file: all that are counted, but for
 * the two that come before what is still compared. */
static void put_away(struct cpu_schedule *cpu)
{
	const size_t first = cpu->count.next > 2 ? cpu->count.next - 2 : 0;
	size_t put;

	if (first * sizeof(*cpu->sched) < SPILL_FROM / 2)
		return;
	put = spill_array_put(&cpu->spill, cpu->sched, first * sizeof(*cpu->sched)) / sizeof(*cpu->sched);
	memmove(cpu->sched, cpu->sched + put, (cpu->nscheds - put) * sizeof(*cpu->sched));
	cpu->nscheds -= put;
	cpu->nsettled -= put;
	cpu->count.next -= put;
}

int cpu_entries_gather(struct cpu_schedule *cpu)
{
	const size_t in_memory = cpu->nscheds;

	if (spill_array_gather(&cpu->spill, &cpu->sched, &cpu->sched_capacity, &cpu->nscheds,
	                       sizeof(*cpu->sched)) < 0)
		return -sbe_nomem;
	cpu->nsettled += cpu->nscheds - in_memory;
	cpu->count.next += cpu->nscheds - in_memory;
	return 0;
}

int cpu_entries_settle(struct cpu_schedule *cpu, uint64_t time)
{
	enum { AT_LEAST = 256 };
	const size_t before = cpu->nscheds;
	size_t end = cpu->nsettled;
	int status = cpu_entries_sort(cpu);

	while (end < cpu->nscheds && end_of(&cpu->sched[end]) <= time)
		cpu->settled_time = end_of(&cpu->sched[end++]);
	drop_repeats(cpu, cpu->nsettled ? cpu->nsettled - 1 : 0, end);
	cpu->nsettled = end - (before - cpu->nscheds);
	/* The last one, and the one it may be found to be the same as, can still become something else. */
	if (cpu->nsettled > 2)
		switch_count_to(&cpu->count, cpu->sched, cpu->nsettled - 2);
	schedule_pass(cpu, cpu->nsettled);
	put_away(cpu);
	cpu->settle_at = cpu->nsettled + 2 * (cpu->nscheds - cpu->nsettled) + AT_LEAST;
	return status;
}

/* Whether both name the same threads. */
static int names_the_same(const struct sb_sched *a, const struct sb_sched *b)
{
	enum { BEGIN = offsetof(struct sb_sched, pid), END = offsetof(struct sb_sched, records) };

	return memcmp((const char *)a + BEGIN, (const char *)b + BEGIN, END - BEGIN) == 0;
}

/* Whether @entry says the same as @last, and is the second record of its switch as plainly as can be: what
 * merge() would make of them, split_pairs() tells apart. */
static int is_second_half(const struct sb_sched *last, const struct sb_sched *entry)
{
	return entry->records == sb_sched_in && last->records == sb_sched_out &&
	       names_the_same(last, entry) &&
	       (entry->pid | entry->tid | entry->prev_pid | entry->prev_tid) >= 0 &&
	       (entry->pid != entry->prev_pid || entry->tid != entry->prev_tid) &&
	       entry->time - last->time < UINT32_MAX;
}

/* Nine of ten records are of switches that have two: they are one entry as soon as the second has come, so
 * that half as many are written. As long as records come in order. */
static int add_half(struct cpu_schedule *cpu, const struct sb_sched *entry, int *is_added)
{
	struct sb_sched *last = &cpu->sched[cpu->nscheds - 1];

	*is_added = 0;
	if (cpu->takes_records || cpu->nscheds <= cpu->nsettled)
		return 0;
	if (entry->time < end_of(last))
		return split_pairs(cpu);
	*is_added = is_second_half(last, entry);
	if (*is_added) {
		last->in_after = (uint32_t)(entry->time - last->time);
		last->records = SCHED_BOTH;
	}
	return 0;
}

int cpu_entries_append(struct cpu_schedule *cpu, const struct sb_sched *entry)
{
	int is_added = 0, status = cpu->nscheds ? add_half(cpu, entry, &is_added) : 0;

	if (status < 0)
		return status;
	if (!is_added) {
		if (cpu->nscheds == cpu->sched_capacity &&
		    spill_array_reserve(&cpu->spill, &cpu->sched, &cpu->sched_capacity, cpu->nscheds, 1,
		                        sizeof(*cpu->sched)) < 0)
			return -sbe_nomem;
		if (cpu->nscheds && entry->time < cpu->sched[cpu->nscheds - 1].time)
			cpu->unsorted = 1;
		cpu->sched[cpu->nscheds++] = *entry;
	}
	cpu->last = *entry;
	return 0;
}

int cpu_entries_forget_after(struct cpu_schedule *cpu, uint64_t time)
{
	while (cpu->nscheds && cpu->sched[cpu->nscheds - 1].time > time)
		cpu->nscheds -= 1;
	if (cpu->nscheds > cpu->nsettled && end_of(&cpu->sched[cpu->nscheds - 1]) > time)
		forget_second_half(&cpu->sched[cpu->nscheds - 1]);
	return cpu_entries_append(cpu, &(struct sb_sched){.time = time + 1,
	                                                  .pid = -1,
	                                                  .tid = -1,
	                                                  .prev_pid = -1,
	                                                  .prev_tid = -1,
	                                                  .records = sb_sched_other});
}

/* What is left to count when there are no more. */
static void count_rest(struct cpu_schedule *cpu)
{
	enum { STEP = 1024 };

	/* Those at the end may have been cut off. */
	if (cpu->count.next >= cpu->nscheds)
		memset(&cpu->count, 0, sizeof(cpu->count));
	while (cpu->count.next < cpu->nscheds) {
		const size_t left = cpu->nscheds - cpu->count.next;

		switch_count_to(&cpu->count, cpu->sched, cpu->count.next + (left < STEP ? left : STEP));
		schedule_pass(cpu, cpu->count.next);
	}
	cpu->is_whole = switch_count_is_whole(&cpu->count, cpu->sched, cpu->nscheds);
}

void cpu_entries_finish(struct cpu_schedule *cpu, int anew)
{
	size_t first = cpu->nsettled < cpu->nscheds ? cpu->nsettled : cpu->nscheds;

	if (anew) {
		memset(&cpu->count, 0, sizeof(cpu->count));
		first = 0;
	}
	drop_repeats(cpu, first ? first - 1 : 0, cpu->nscheds);
	count_rest(cpu);
}
