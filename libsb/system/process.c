/* process.c - see process.h. */
#include "system/process.h"

#include <stdlib.h>
#include <string.h>

/* ---- The index -------------------------------------------------------------------------------- */

static size_t slot_of(const struct id_index *index, int32_t key)
{
	size_t slot = ((uint32_t)key * 0x9e3779b1u) & (index->nslots - 1);

	while (index->slot[slot].value && index->slot[slot].key != key)
		slot = (slot + 1) & (index->nslots - 1);
	return slot;
}

/* One more than the value, or zero. */
static uint32_t index_find(const struct id_index *index, int32_t key)
{
	return index->nslots ? index->slot[slot_of(index, key)].value : 0;
}

static int index_grow(struct id_index *index)
{
	struct id_index bigger = {.nslots = index->nslots ? 2 * index->nslots : 64, .count = index->count};

	bigger.slot = calloc(bigger.nslots, sizeof(*bigger.slot));
	if (!bigger.slot)
		return -sbe_nomem;
	for (size_t i = 0; i < index->nslots; ++i)
		if (index->slot[i].value)
			bigger.slot[slot_of(&bigger, index->slot[i].key)] = index->slot[i];
	free(index->slot);
	*index = bigger;
	return 0;
}

static int index_add(struct id_index *index, int32_t key, size_t value)
{
	size_t slot;

	if (4 * (index->count + 1) > 3 * index->nslots && index_grow(index) < 0)
		return -sbe_nomem;
	slot = slot_of(index, key);
	index->slot[slot].key = key;
	index->slot[slot].value = (uint32_t)value + 1;
	index->count += 1;
	return 0;
}

/* ---- Processes and threads -------------------------------------------------------------------- */

static const char no_name[] = "";

static struct process *find_process(const struct process_table *table, int32_t pid)
{
	const uint32_t value = index_find(&table->by_pid, pid);

	return value ? &table->process[value - 1] : NULL;
}

static struct process *get_process(struct process_table *table, int32_t pid)
{
	struct process *process = find_process(table, pid);

	if (process)
		return process;
	if (array_reserve(&table->process, &table->process_capacity, table->nprocesses, sizeof(*process)) <
	            0 ||
	    index_add(&table->by_pid, pid, table->nprocesses) < 0)
		return NULL;
	process = &table->process[table->nprocesses++];
	*process = (struct process){.pid = pid};
	return process;
}

static struct thread *find_thread(const struct process_table *table, int32_t tid)
{
	const uint32_t value = index_find(&table->by_tid, tid);

	return value ? &table->thread[value - 1] : NULL;
}

static struct thread *get_thread(struct process_table *table, int32_t tid)
{
	struct thread *thread = find_thread(table, tid);

	if (thread)
		return thread;
	if (array_reserve(&table->thread, &table->thread_capacity, table->nthreads, sizeof(*thread)) < 0 ||
	    index_add(&table->by_tid, tid, table->nthreads) < 0)
		return NULL;
	thread = &table->thread[table->nthreads++];
	*thread = (struct thread){.tid = tid, .pid = -1, .name = no_name};
	return thread;
}

/* @tid lives, and is a thread of @process. */
static struct thread *thread_lives(struct process_table *table, struct process *process, int32_t tid)
{
	struct thread *thread = get_thread(table, tid);

	if (!thread)
		return NULL;
	if (!thread->alive || thread->pid != process->pid)
		process->nthreads += 1;
	thread->alive = 1;
	thread->pid = process->pid;
	return thread;
}

static struct space *new_space(struct process_table *table, struct process *process, uint64_t time)
{
	struct space *space = space_new(&table->pool, process->pid, time, process->latest);

	if (!space)
		return NULL;
	process->latest = space;
	process->nspaces += 1;
	return space;
}

/* The space of @process, which began before the recording when there was no record of it. */
static struct space *get_space(struct process_table *table, struct process *process)
{
	return process->latest ? process->latest : new_space(table, process, 0);
}

static uint64_t comm_key(int32_t pid, int32_t tid)
{
	return (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
}

/* From @time on, @thread of @pid has the name @name. A name that it has already says nothing new. */
static int add_comm(struct process_table *table, uint64_t time, int32_t pid, struct thread *thread,
                    const char *name)
{
	thread->name = name;
	if (thread->noted == name && thread->noted_pid == pid)
		return 0;
	if (array_reserve(&table->comm, &table->comm_capacity, table->ncomms, sizeof(*table->comm)) < 0)
		return -sbe_nomem;
	table->comm[table->ncomms++] = (struct comm){comm_key(pid, thread->tid), time, name};
	thread->noted = name;
	thread->noted_pid = pid;
	return 0;
}

/* ---- Records ---------------------------------------------------------------------------------- */

int process_comm(struct process_table *table, uint64_t time, int32_t pid, int32_t tid, const char *name,
                 int exec)
{
	struct process *process = get_process(table, pid);
	struct thread *thread;

	if (!process)
		return -sbe_nomem;
	thread = thread_lives(table, process, tid);
	if (!thread)
		return -sbe_nomem;
	if (exec) {
		/* All other threads are gone, whether or not their EXIT came. */
		process->nthreads = 1;
		if (!new_space(table, process, time))
			return -sbe_nomem;
	}
	return add_comm(table, time, pid, thread, name);
}

static int fork_space(struct process_table *table, uint64_t time, int32_t pid, int32_t ppid)
{
	struct process *child = get_process(table, pid);
	struct process *parent;
	struct space *space;

	if (!child)
		return -sbe_nomem;
	child->nthreads = 0;
	space = new_space(table, child, time);
	if (!space)
		return -sbe_nomem;
	parent = find_process(table, ppid);
	return parent && parent->latest ? space_inherit(&table->pool, space, parent->latest) : 0;
}

int process_fork(struct process_table *table, uint64_t time, int32_t pid, int32_t ppid, int32_t tid,
                 int32_t ptid)
{
	const struct thread *creator;
	struct process *process;
	struct thread *thread;
	int status;

	if (pid != ppid) {
		status = fork_space(table, time, pid, ppid);
		if (status < 0)
			return status;
	}
	process = get_process(table, pid);
	thread = process ? thread_lives(table, process, tid) : NULL;
	if (!thread)
		return -sbe_nomem;
	creator = find_thread(table, ptid);
	return add_comm(table, time, pid, thread, creator ? creator->name : no_name);
}

void process_exit(struct process_table *table, uint64_t time, int32_t pid, int32_t tid)
{
	struct process *process = find_process(table, pid);
	struct thread *thread = find_thread(table, tid);

	if (!process || !thread || !thread->alive || thread->pid != pid)
		return;
	thread->alive = 0;
	if (process->nthreads)
		process->nthreads -= 1;
	if (!process->nthreads && process->latest)
		process->latest->public.to = time;
}

int process_map(struct process_table *table, int32_t pid, struct sb_map_node *node)
{
	struct process *process = get_process(table, pid);
	struct space *space = process ? get_space(table, process) : NULL;

	return space ? space_map(&table->pool, space, node) : -sbe_nomem;
}

/* ---- When all records are there ---------------------------------------------------------------- */

static int list_spaces(struct process *process)
{
	struct space *space = process->latest;

	if (!process->nspaces)
		return 0;
	process->space = calloc(process->nspaces, sizeof(struct space *));
	if (!process->space)
		return -sbe_nomem;
	for (uint32_t i = process->nspaces; i > 0; --i, space = space->earlier)
		process->space[i - 1] = space;
	return 0;
}

int process_table_seal(struct process_table *table)
{
	for (size_t i = 0; i < table->nprocesses; ++i) {
		struct process *process = &table->process[i];

		if (list_spaces(process) < 0)
			return -sbe_nomem;
		for (uint32_t k = 0; k < process->nspaces; ++k)
			space_seal(&table->pool, process->space[k]);
	}
	for (size_t i = 0; i < table->nprocesses; ++i)
		for (uint32_t k = 0; k < table->process[i].nspaces; ++k)
			space_publish(&table->pool, table->process[i].space[k]);
	/* Each thread's names stay in the order of their times: of those given at one time, the last one
	 * counts. */
	return array_sort(table->comm, table->ncomms, sizeof(*table->comm));
}

const struct sb_space *process_space(const struct process_table *table, int32_t pid, uint64_t time)
{
	const struct process *process = find_process(table, pid);
	uint32_t low = 0, high = process ? process->nspaces : 0;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (process->space[middle]->public.from <= time)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &process->space[low - 1]->public : NULL;
}

const char *process_name(const struct process_table *table, int32_t pid, int32_t tid, uint64_t time)
{
	const uint64_t key = comm_key(pid, tid);
	size_t low = 0, high = table->ncomms;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct comm *comm = &table->comm[middle];

		if (comm->key < key || (comm->key == key && comm->time <= time))
			low = middle + 1;
		else
			high = middle;
	}
	return low && table->comm[low - 1].key == key ? table->comm[low - 1].name : no_name;
}

const struct thread *process_thread(const struct process_table *table, int32_t tid)
{
	return find_thread(table, tid);
}

void process_table_init(struct process_table *table)
{
	memset(table, 0, sizeof(*table));
	space_pool_init(&table->pool);
}

void process_table_free(struct process_table *table)
{
	for (size_t i = 0; i < table->nprocesses; ++i) {
		struct process *process = &table->process[i];

		for (struct space *space = process->latest; space; space = space->earlier)
			space_free(space);
		free(process->space);
	}
	free(table->process);
	free(table->thread);
	free(table->comm);
	free(table->by_pid.slot);
	free(table->by_tid.slot);
	space_pool_free(&table->pool);
}
