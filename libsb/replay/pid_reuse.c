/* pid_reuse.c - see pid_reuse.h. */
#include "replay/pid_reuse.h"

#include <stdlib.h>

#include "replay/lost_spans.h"
#include "system/arena.h"
#include "system/process.h"

enum {
	FIRST_PID = 300,     /* where the kernel goes on behind the last one */
	FEW_PIDS = 32768,    /* there are so many numbers, */
	MANY_PIDS = 4 << 20, /* or so many, if the administrator wants more */
	DISORDER_MAX = 1024, /* between numbers of forks at about the same time */
	FORKS_MAX = 64,      /* that are asked for the next number */
	EFFORT_MAX =
	        1 << 24 /* numbers that are looked at; who loses that much loses most of the trace, too */
};

struct known_number {
	uint64_t tid; /* first: sorted by it */
};

/* Where the kernel is with giving numbers. */
struct turn {
	const struct told_fork *fork;
	size_t nforks, next; /* the first one that is not before the loss */
	int64_t last;        /* the number of the one before; -1: there was none */
	uint64_t lost;       /* records since */
	uint64_t lost_until;
};

struct search {
	const struct sb_system *system;
	struct known_number *number; /* owned */
	size_t nnumbers;
	int64_t end; /* of all numbers */
	struct turn turn;
	struct pid_reuse *reuse;
	size_t count, capacity;
	size_t effort;
};

static void add_number(struct search *search, int32_t tid)
{
	if (tid <= 0)
		return;
	search->number[search->nnumbers++].tid = (uint32_t)tid;
	if (tid >= FEW_PIDS)
		search->end = MANY_PIDS;
}

/* Of a process, a mapping may be all that is known. */
static int list_numbers(struct search *search)
{
	const struct process_table *table = system_processes(search->system);

	search->end = FEW_PIDS;
	search->number = calloc(table->nthreads + table->nprocesses + 1, sizeof(*search->number));
	if (!search->number)
		return -sbe_nomem;
	for (size_t i = 0; i < table->nthreads; ++i)
		add_number(search, table->thread[i].tid);
	for (size_t i = 0; i < table->nprocesses; ++i)
		add_number(search, table->process[i].pid);
	return array_sort(search->number, search->nnumbers, sizeof(*search->number));
}

/* ---- The turn ----------------------------------------------------------------------------------- */

/* Forks on several CPUs need not be recorded in the order of their numbers. */
static int is_behind(int64_t last, int32_t tid)
{
	return tid < last && last - tid < DISORDER_MAX;
}

static void come_to(struct turn *turn, const struct lost_span *span)
{
	for (; turn->next < turn->nforks && turn->fork[turn->next].time <= span->from; ++turn->next) {
		const struct told_fork *fork = &turn->fork[turn->next];

		if (is_behind(turn->last, fork->tid))
			continue;
		turn->last = fork->tid;
		if (turn->lost_until < fork->time)
			turn->lost = 0;
	}
	turn->lost += span->nrecords < MANY_PIDS ? span->nrecords : MANY_PIDS;
	if (turn->lost > MANY_PIDS)
		turn->lost = MANY_PIDS;
	if (turn->lost_until < span->to)
		turn->lost_until = span->to;
}

/* ---- Whose number it may have come to ------------------------------------------------------------- */

static int add_if_alive(struct search *search, int32_t pid, uint64_t time)
{
	const struct sb_space *space = sb_system_space(search->system, pid, time);

	if (!space || space->from >= time || space->to <= time)
		return 0;
	if (array_reserve(&search->reuse, &search->capacity, search->count, sizeof(*search->reuse)) < 0)
		return -sbe_nomem;
	search->reuse[search->count++] = (struct pid_reuse){time, pid};
	return 0;
}

/* Those above @from, of which @left are given; numbers that are in use are passed over. What is left at @end.
 */
static int give(struct search *search, int64_t from, int64_t end, uint64_t *left, uint64_t time)
{
	int64_t at = from;
	size_t i = array_above(search->number, search->nnumbers, sizeof(*search->number), (uint64_t)from);
	int status = 0;

	for (; i < search->nnumbers && (int64_t)search->number[i].tid < end && status == 0; ++i) {
		const int64_t tid = (int64_t)search->number[i].tid;

		if (++search->effort > EFFORT_MAX)
			return 0;
		if (tid == at)
			continue;
		if ((uint64_t)(tid - at - 1) >= *left)
			break;
		*left -= (uint64_t)(tid - at - 1);
		at = tid;
		status = add_if_alive(search, (int32_t)tid, time);
	}
	*left -= at + 1 < end && (uint64_t)(end - at - 1) < *left ? (uint64_t)(end - at - 1) : *left;
	return status;
}

/* The next number that is known to have been given; 0: none is. */
static int64_t next_number(const struct turn *turn, int64_t from)
{
	for (size_t i = turn->next; i < turn->nforks && i < turn->next + FORKS_MAX; ++i)
		if (turn->fork[i].tid != from && !is_behind(from, turn->fork[i].tid))
			return turn->fork[i].tid;
	return 0;
}

/* Before the first fork, the number of the first one tells; without any fork, the highest one. */
static int64_t start_of_turn(const struct search *search)
{
	const struct turn *turn = &search->turn;

	if (turn->last >= 0)
		return turn->last;
	if (turn->next < turn->nforks) {
		const int64_t first = turn->fork[turn->next].tid, before = first - 1 - (int64_t)turn->lost;

		return before > FIRST_PID ? before : first > FIRST_PID ? FIRST_PID : 0;
	}
	return search->nnumbers ? (int64_t)search->number[search->nnumbers - 1].tid : 0;
}

/* From the last number, it goes on with the first ones; but so many forks do not go unseen where none is
 * seen. */
static int look_at(struct search *search, const struct lost_span *span)
{
	int64_t from, next;
	uint64_t left;
	int status;

	come_to(&search->turn, span);
	from = start_of_turn(search);
	next = next_number(&search->turn, from);
	left = search->turn.lost;
	status = give(search, from, next > from ? next : search->end, &left, span->from);
	if (status < 0 || next > from || search->turn.last < 0)
		return status;
	return give(search, FIRST_PID - 1, next ? next : from, &left, span->from);
}

int pid_reuse_find(const struct sb_system *system, struct pid_reuse **reuse, size_t *count)
{
	const struct kinship *kinship = &system_processes(system)->kinship;
	struct search search = {.system = system,
	                        .turn = {.fork = kinship->fork, .nforks = kinship->nforks, .last = -1}};
	struct lost_spans lost;
	int status = lost_spans_init(&lost, system, NULL);

	if (status == 0 && lost.count)
		status = list_numbers(&search);
	for (size_t i = 0; i < lost.count && status == 0; ++i)
		if (lost.of[i].nrecords)
			status = look_at(&search, &lost.of[i]);
	lost_spans_fini(&lost);
	free(search.number);
	*reuse = search.reuse;
	*count = search.count;
	return status;
}
