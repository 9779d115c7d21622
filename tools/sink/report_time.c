/* report_time.c - see report_time.h. */
#include "sink/report_time.h"

#include <stdlib.h>
#include <string.h>

#include "vector.h"

void report_time_free(struct report_time *time)
{
	for (size_t i = 0; i < time->ncpus; i++)
		free(time->cpu[i].entry);
	free(time->cpu);
	*time = (struct report_time){0};
}

int64_t report_time_cpu(struct report_time *time, int32_t cpu)
{
	struct report_cpu *bigger;
	size_t at = 0;

	while (at < time->ncpus && time->cpu[at].cpu < cpu)
		at++;
	if (at < time->ncpus && time->cpu[at].cpu == cpu)
		return (int64_t)at;
	bigger = reallocarray(time->cpu, time->ncpus + 1, sizeof(*bigger));
	if (!bigger)
		return -1;
	time->cpu = bigger;
	memmove(&bigger[at + 1], &bigger[at], (time->ncpus - at) * sizeof(*bigger));
	time->ncpus++;
	bigger[at] = (struct report_cpu){.cpu = cpu};
	return (int64_t)at;
}

/* The entry of @who in the last bin, or NULL. */
static struct report_entry *find_last(const struct report_cpu *cpu, uint64_t bin, uint32_t who)
{
	for (size_t i = cpu->count; i-- > 0 && cpu->entry[i].bin == bin;)
		if (cpu->entry[i].who == who)
			return &cpu->entry[i];
	return NULL;
}

static void add_sums(struct report_entry *entry, const uint64_t sum[3])
{
	for (int i = 0; i < 3; i++)
		entry->sum[i] += sum[i];
}

static int compare(const void *a, const void *b)
{
	const struct report_entry *left = a, *right = b;

	return left->who < right->who ? -1 : left->who > right->who;
}

/* Those of a bin, which stand together; mostly there are one or two. */
static void sort_bin(struct report_entry *entry, size_t count)
{
	enum { few = 16 };

	if (count > few) {
		qsort(entry, count, sizeof(*entry), compare);
		return;
	}
	for (size_t i = 1; i < count; i++) {
		const struct report_entry moved = entry[i];
		size_t to = i;

		for (; to > 0 && entry[to - 1].who > moved.who; to--)
			entry[to] = entry[to - 1];
		entry[to] = moved;
	}
}

static void widen_cpu(struct report_cpu *cpu)
{
	size_t count = 0, first = 0;

	for (size_t i = 0; i < cpu->count; i++)
		cpu->entry[i].bin >>= 1;
	for (size_t i = 0; i < cpu->count; i++)
		if (i + 1 == cpu->count || cpu->entry[i + 1].bin != cpu->entry[i].bin) {
			sort_bin(cpu->entry + first, i + 1 - first);
			first = i + 1;
		}
	for (size_t i = 0; i < cpu->count; i++) {
		struct report_entry *last = count ? &cpu->entry[count - 1] : NULL;

		if (last && last->bin == cpu->entry[i].bin && last->who == cpu->entry[i].who)
			add_sums(last, cpu->entry[i].sum);
		else
			cpu->entry[count++] = cpu->entry[i];
	}
	cpu->count = count;
}

static uint64_t bins_of(const struct report_time *time)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < time->ncpus; i++) {
		const struct report_cpu *cpu = &time->cpu[i];

		if (!cpu->count)
			continue;
		first = cpu->entry[0].bin < first ? cpu->entry[0].bin : first;
		last = cpu->entry[cpu->count - 1].bin > last ? cpu->entry[cpu->count - 1].bin : last;
	}
	return first > last ? 0 : last - first + 1;
}

static void widen(struct report_time *time)
{
	while (time->count > report_entries_most * 3 / 4 && bins_of(time) > report_bins_least) {
		time->shift++;
		time->count = 0;
		for (size_t i = 0; i < time->ncpus; i++) {
			widen_cpu(&time->cpu[i]);
			time->count += time->cpu[i].count;
		}
	}
}

static int append(struct report_time *time, struct report_cpu *cpu, const struct report_entry *entry)
{
	if (vector_reserve(&cpu->entry, &cpu->capacity, cpu->count, sizeof(*cpu->entry)))
		return -1;
	cpu->entry[cpu->count++] = *entry;
	time->count++;
	/* Where wider bins would not help, more is allowed before that is tried again. */
	if (time->count >= report_entries_most && !(time->count & (time->count - 1)))
		widen(time);
	return 0;
}

static int add(struct report_time *time, struct report_cpu *cpu, uint64_t at, uint32_t who,
               const uint64_t sum[3])
{
	struct report_entry entry = {.bin = at >> time->shift, .who = who}, *known;

	if (cpu->count && entry.bin <= cpu->entry[cpu->count - 1].bin) {
		entry.bin = cpu->entry[cpu->count - 1].bin;
		known = find_last(cpu, entry.bin, who);
		if (known) {
			add_sums(known, sum);
			return 0;
		}
	}
	add_sums(&entry, sum);
	return append(time, cpu, &entry);
}

int report_time_add(struct report_time *time, size_t cpu, uint64_t at, uint32_t who, const uint64_t sum[3])
{
	return add(time, &time->cpu[cpu], at, who, sum);
}

int report_time_add_span(struct report_time *time, size_t cpu, uint32_t who, uint64_t from, uint64_t to)
{
	/* Bins may become wider meanwhile. */
	while (from < to) {
		const uint64_t end = (from | ((1ull << time->shift) - 1)) + 1;
		const uint64_t part = (end && end < to ? end : to) - from;

		if (add(time, &time->cpu[cpu], from, who, (const uint64_t[3]){part, 0, 0}))
			return -1;
		from += part;
	}
	return 0;
}
