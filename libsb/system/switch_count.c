/* switch_count.c - see switch_count.h. */
#include "system/switch_count.h"

static int is_single(const struct sb_sched *entry)
{
	return (entry->records & SCHED_BOTH) && !sched_has_both(entry);
}

/* Whether a switch between both entries has no record. */
static int lacks_switch(const struct sb_sched *before, const struct sb_sched *entry)
{
	return before->tid >= 0 && entry->prev_tid >= 0 &&
	       (entry->prev_pid != before->pid || entry->prev_tid != before->tid);
}

/* Whether @entry's records say that it comes right behind @before. */
static int follows(const struct sb_sched *before, const struct sb_sched *entry)
{
	if (before->tid < 0 || entry->tid < 0)
		return 0;
	if (entry->prev_tid < 0)
		return entry->pid == before->pid;
	return entry->prev_pid == before->pid && entry->prev_tid == before->tid;
}

void switch_count_to(struct switch_count *count, const struct sb_sched *sched, size_t end)
{
	size_t i = count->next ? count->next : 1;

	for (; i < end; ++i) {
		const struct sb_sched *before = &sched[i - 1], *entry = &sched[i];

		count->nswitches += (entry->records & SCHED_BOTH) != 0;
		count->nboth += (size_t)sched_has_both(entry);
		count->nsingle += i > 1 && is_single(entry);
		/* Mostly, it is plain. */
		if (entry->tid >= 0 && entry->prev_tid >= 0 && entry->prev_tid == before->tid &&
		    entry->prev_pid == before->pid)
			continue;
		count->nlost += (size_t)lacks_switch(before, entry);
		count->nbreaks += (size_t)!follows(before, entry);
	}
	count->next = i;
}

size_t switch_count_single(const struct switch_count *count, const struct sb_sched *sched, size_t nscheds)
{
	return count->nsingle - (nscheds > 2 && is_single(&sched[nscheds - 1]));
}

int switch_count_is_whole(const struct switch_count *count, const struct sb_sched *sched, size_t nscheds)
{
	return count->nswitches && !count->nbreaks &&
	       (!count->nboth || !switch_count_single(count, sched, nscheds));
}
