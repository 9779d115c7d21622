/* fork_paging.c - see fork_paging.h. */
#include "replay/fork_paging.h"

#include <stdlib.h>

#include "replay/address_index.h"
#include "replay/cr3_map.h"
#include "system/arena.h"

/* A memory, by whoever had it first: what page tables it was seen to have. */
struct seen_memory {
	uint64_t pid; /* first: sorted by it */
	uint64_t from, to;
	uint64_t cr3; /* 0: it was not seen */
	int is_contradictory;
};

struct seen_memories {
	struct seen_memory *of; /* owned */
	size_t count;
};

static const struct sb_space *space_at(const struct sb_system *system, int32_t pid, uint64_t time)
{
	const struct sb_space *space = sb_system_space(system, pid, time);

	return space && time < space->to ? space : NULL;
}

/* That of @pid at @time; NULL: it is not looked for. */
static struct seen_memory *find(const struct seen_memories *memories, int32_t pid, uint64_t time)
{
	size_t i = pid > 0 ? array_above(memories->of, memories->count, sizeof(*memories->of), (uint32_t)pid)
	                   : 0;

	for (; i > 0 && memories->of[i - 1].pid == (uint32_t)pid; --i)
		if (memories->of[i - 1].from <= time && time < memories->of[i - 1].to)
			return &memories->of[i - 1];
	return NULL;
}

static void on_seen(void *context, int32_t pid, uint64_t cr3, uint64_t time)
{
	struct seen_memory *memory = find(context, pid, time);

	if (!memory)
		return;
	memory->is_contradictory |= memory->cr3 && memory->cr3 != cr3;
	memory->cr3 = cr3;
}

static int by_pid_and_time(const void *left, const void *right)
{
	const struct seen_memory *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

static void add(struct seen_memories *memories, const struct sb_space *space)
{
	if (space)
		memories->of[memories->count++] = (struct seen_memory){
		        .pid = (uint32_t)space->pid, .from = space->from, .to = space->to};
}

/* Those of all children and their parents, each once. */
static int list(struct seen_memories *memories, const struct sb_system *system, const struct fork_fact *fact,
                size_t count)
{
	size_t kept = 0;

	memories->of = calloc(2 * count, sizeof(*memories->of));
	if (!memories->of)
		return -sbe_nomem;
	for (size_t i = 0; i < count; ++i) {
		if (fact[i].memory != fork_unknown)
			continue;
		add(memories, space_at(system, fact[i].pid, fact[i].time));
		add(memories, space_at(system, fact[i].ppid, fact[i].time));
	}
	qsort(memories->of, memories->count, sizeof(*memories->of), by_pid_and_time);
	for (size_t i = 0; i < memories->count; ++i)
		if (!kept || by_pid_and_time(&memories->of[kept - 1], &memories->of[i]) != 0)
			memories->of[kept++] = memories->of[i];
	memories->count = kept;
	return 0;
}

static enum fork_memory conclude(const struct seen_memories *memories, const struct fork_fact *fact)
{
	const struct seen_memory *child = find(memories, fact->pid, fact->time),
	                         *parent = find(memories, fact->ppid, fact->time);

	if (!child || !parent || !child->cr3 || !parent->cr3 || child->is_contradictory ||
	    parent->is_contradictory)
		return fork_unknown;
	return child->cr3 == parent->cr3 ? fork_shares : fork_copies;
}

static int look_at_trace(struct seen_memories *memories, const struct sb_perfdata *perfdata,
                         const struct sb_system *system, uint64_t slack)
{
	struct address_index addresses;
	struct cr3_map map;
	int status;

	address_index_init(&addresses, system);
	addresses.perfdata = perfdata;
	addresses.slack = slack;
	cr3_map_init(&map, perfdata, system, &addresses, slack);
	map.seen = on_seen;
	map.seen_context = memories;
	status = cr3_learn(&map);
	cr3_map_fini(&map);
	address_index_fini(&addresses);
	return status;
}

int fork_paging_find(const struct sb_perfdata *perfdata, const struct sb_system *system, uint64_t slack,
                     struct fork_fact *fact, size_t count)
{
	struct seen_memories memories = {0};
	int status = count ? list(&memories, system, fact, count) : 0;

	if (status == 0 && memories.count)
		status = look_at_trace(&memories, perfdata, system, slack);
	for (size_t i = 0; status == 0 && i < count; ++i)
		if (fact[i].memory == fork_unknown)
			fact[i].memory = conclude(&memories, &fact[i]);
	free(memories.of);
	return status;
}
