/* process.c - see process.h. */
#include "system/process.h"

#include <stdlib.h>
#include <string.h>

#include "bisect.h"

/* ---- The index -------------------------------------------------------------------------------- */

static size_t hash(int32_t key)
{
	return (uint32_t)key * 0x9e3779b1u;
}

static size_t slot_of(const struct id_index *index, int32_t key)
{
	size_t slot = hash(key) & (index->nslots - 1);

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
	*process = (struct process){.pid = pid, .is_stranger = 1};
	return process;
}

/* ---- Strangers ---------------------------------------------------------------------------------- */

static int add_stranger(struct process_table *table, int32_t pid, uint64_t from, uint64_t to)
{
	if (array_reserve(&table->stranger, &table->stranger_capacity, table->nstrangers,
	                  sizeof(*table->stranger)) < 0)
		return -sbe_nomem;
	table->stranger[table->nstrangers++] = (struct process_stranger){pid, from, to};
	return 0;
}

/* Until @time, nobody knows what @process had mapped. */
static int note_stranger(struct process_table *table, const struct process *process, uint64_t time)
{
	return process->is_stranger && time > process->strange_from
	               ? add_stranger(table, process->pid, process->strange_from, time)
	               : 0;
}

/* From @time on, records tell what @process has mapped. */
static int get_acquainted(struct process_table *table, struct process *process, uint64_t time)
{
	const int status = note_stranger(table, process, time);

	process->is_stranger = 0;
	table->unknown_kin.knows_somebody = 1;
	return status;
}

/* The thread of the kernel that makes all others. */
enum { KTHREADD = 2 };

/* A fork has what its parent has: what nobody knows, if nobody knows that. */
static int get_acquainted_by_fork(struct process_table *table, uint64_t time, int32_t pid, int32_t ppid,
                                  int is_new)
{
	const struct process *parent = find_process(table, ppid);
	const int is_strange = time && (parent ? parent->is_stranger : ppid > KTHREADD);
	struct process *child = find_process(table, pid);

	if (!is_new && note_stranger(table, child, time) < 0)
		return -sbe_nomem;
	child->is_stranger = is_strange;
	child->is_forked = 1;
	child->strange_from = time;
	return 0;
}

/* ---- Threads ------------------------------------------------------------------------------------ */

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
	if (process->latest)
		kinship_left(&table->kinship, process->latest);
	process->latest = space;
	process->nspaces += 1;
	return space;
}

/* The space of @process, which began before the recording when there was no record of it. */
static struct space *get_space(struct process_table *table, struct process *process)
{
	return process->latest ? process->latest : new_space(table, process, 0);
}

/* Of what is kept per thread. */
static uint64_t thread_key(int32_t pid, int32_t tid)
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
	table->comm[table->ncomms++] = (struct comm){thread_key(pid, thread->tid), time, name};
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

	if (!process || ((exec || !time) && get_acquainted(table, process, time) < 0))
		return -sbe_nomem;
	thread = thread_lives(table, process, tid);
	if (!thread)
		return -sbe_nomem;
	if (exec) {
		/* All other threads are gone, whether or not their EXIT came. */
		process->nthreads = 1;
		if (!new_space(table, process, time))
			return -sbe_nomem;
		process->latest->program = space_program_due;
	}
	return add_comm(table, time, pid, thread, name);
}

/* *forker: NULL, if nothing is known of the parent. */
static int fork_space(struct process_table *table, uint64_t time, int32_t pid, int32_t ppid,
                      struct space **forked, struct space **forker)
{
	const int is_new = !find_process(table, pid);
	struct process *child = get_process(table, pid);
	struct process *parent;
	struct space *space;

	if (!child || get_acquainted_by_fork(table, time, pid, ppid, is_new) < 0)
		return -sbe_nomem;
	child->nthreads = 0;
	space = new_space(table, child, time);
	if (!space)
		return -sbe_nomem;
	parent = find_process(table, ppid);
	*forked = space;
	*forker = parent ? parent->latest : NULL;
	space->is_kernels = pid == KTHREADD || ppid == KTHREADD || (*forker && (*forker)->is_kernels);
	/* What perf says at the start of who was there before has all mappings of its own behind it; it may
	 * have called execve(2) since. */
	if (*forker && time)
		return space_inherit(&table->pool, space, *forker);
	/* Whatever its parent has, nothing is known of it. */
	space->since = 0;
	return 0;
}

/* The thread that a record is about which says nothing of its life; NULL: out of memory. */
static struct thread *mentioned_thread(struct process_table *table, int32_t pid, int32_t tid)
{
	struct thread *thread = get_thread(table, tid);

	if (thread && thread->pid != pid) {
		thread->pid = pid;
		thread->alive = 0;
		thread->member = (struct member){0};
	}
	return thread;
}

/* What perf says at the start of processes and their parents is old: who may be elsewhere by now. */
static int inherit_membership(struct process_table *table, uint64_t time, int is_process,
                              struct thread *thread, struct thread *creator)
{
	if (!time && is_process)
		creator = NULL;
	return membership_forked(&table->members, time, thread_key(thread->pid, thread->tid), &thread->member,
	                         creator ? thread_key(creator->pid, creator->tid) : 0,
	                         creator ? &creator->member : NULL);
}

int process_fork(struct process_table *table, uint64_t time, int32_t pid, int32_t ppid, int32_t tid,
                 int32_t ptid)
{
	const struct told_fork fork = {time, pid, tid, ppid, 0};
	struct process *process;
	struct thread *thread, *creator;
	struct space *child = NULL, *parent = NULL;
	int status = 0;

	/* The parent may be mentioned here for the first time. */
	if (ppid >= 0 && ptid >= 0 && !mentioned_thread(table, ppid, ptid))
		return -sbe_nomem;
	if (pid != ppid)
		status = fork_space(table, time, pid, ppid, &child, &parent);
	if (status == 0)
		status = kinship_forked(&table->kinship, &fork, child, parent);
	if (status < 0)
		return status;
	process = get_process(table, pid);
	thread = process ? thread_lives(table, process, tid) : NULL;
	if (!thread || (!time && get_acquainted(table, process, time) < 0))
		return -sbe_nomem;
	creator = find_thread(table, ptid);
	status = inherit_membership(table, time, pid != ppid, thread, creator);
	if (status < 0)
		return status;
	return add_comm(table, time, pid, thread, creator ? creator->name : no_name);
}

int process_reused(struct process_table *table, uint64_t time, int32_t pid)
{
	struct process *process = find_process(table, pid);

	if (!process)
		return 0;
	if (note_stranger(table, process, time) < 0 || !new_space(table, process, time))
		return -sbe_nomem;
	process->is_stranger = 1;
	process->is_forked = 0;
	process->strange_from = time;
	return 0;
}

int process_exit(struct process_table *table, uint64_t time, int32_t pid, int32_t tid)
{
	struct process *process = get_process(table, pid);
	struct thread *thread = find_thread(table, tid);

	if (!process || (pid == tid && process->nthreads <= 1 && get_acquainted(table, process, time) < 0))
		return -sbe_nomem;
	if (!thread || !thread->alive || thread->pid != pid)
		return 0;
	thread->alive = 0;
	if (process->nthreads)
		process->nthreads -= 1;
	if (!process->nthreads && process->latest) {
		process->latest->public.to = time;
		kinship_left(&table->kinship, process->latest);
	}
	return 0;
}

/* "/lib64/ld-linux-x86-64.so.2", "/usr/lib/libz.so", "/lib/libc.so.6 (deleted)" */
static int is_library(const char *filename)
{
	const char *suffix = strstr(strrchr(filename, '/'), ".so");

	return suffix && (suffix[3] == '\0' || suffix[3] == '.' || suffix[3] == ' ');
}

/* An exec maps the program before what loads it, and both before any library. The program may be in memory
 * that has a name ("/memfd:..."). */
static void see_program(struct space *space, const struct sb_map *map)
{
	if (space->program == space_program_due && map->filename[0] == '/' && map->filename[1] != '/')
		space->program = is_library(map->filename) ? space_program_lost : space_program_seen;
}

/* Whether the record of something that @space has mapped, but not any more, may be lost. */
static int may_lack_map(const struct process_table *table, const struct space *space, uint64_t time)
{
	return lost_times_meet(&table->lost, space->since, time);
}

int process_map(struct process_table *table, int32_t pid, struct sb_map_node *node)
{
	struct process *process = get_process(table, pid);
	struct space *space = process ? get_space(table, process) : NULL;

	if (!space || (!node->map.time && get_acquainted(table, process, 0) < 0) ||
	    replaced_files_note(&table->replaced, &node->map) < 0 ||
	    kinship_mapped(&table->kinship, &table->pool, space, &node->map) < 0 ||
	    unknown_kin_mapped(table, process, space, &node->map) < 0)
		return -sbe_nomem;
	space->is_strange = process->is_stranger || may_lack_map(table, space, node->map.time);
	see_program(space, &node->map);
	return map_is_made(&node->map) ? space_code(&table->pool, space, node)
	                               : space_map(&table->pool, space, node);
}

int process_cgroup(struct process_table *table, uint64_t time, int32_t pid, int32_t tid, uint32_t cgroup)
{
	struct thread *thread = mentioned_thread(table, pid, tid);

	return thread ? membership_sampled(&table->members, time, thread_key(pid, tid), &thread->member,
	                                   cgroup)
	              : -sbe_nomem;
}

int process_namespaces(struct process_table *table, uint64_t time, int32_t pid, int32_t tid, uint32_t set)
{
	struct thread *thread = mentioned_thread(table, pid, tid);

	return thread ? membership_entered(&table->members, time, thread_key(pid, tid), &thread->member, set)
	              : -sbe_nomem;
}

/* Asks memory for what is kept of each thread and process; puts the processes into @process. */
static void find_soon(const struct process_table *table, const struct process_soon *soon, size_t count,
                      const struct process **process)
{
	for (size_t i = 0; i < count; ++i) {
		if (table->by_pid.nslots)
			__builtin_prefetch(
			        &table->by_pid.slot[hash(soon[i].pid) & (table->by_pid.nslots - 1)]);
		if (table->by_tid.nslots)
			__builtin_prefetch(
			        &table->by_tid.slot[hash(soon[i].tid) & (table->by_tid.nslots - 1)]);
	}
	for (size_t i = 0; i < count; ++i) {
		process[i] = find_process(table, soon[i].pid);
		__builtin_prefetch(process[i]);
		__builtin_prefetch(find_thread(table, soon[i].tid));
	}
}

/* The same for the processes' spaces. */
static void find_spaces_soon(const struct process *const *process, size_t count, const struct space **space)
{
	for (size_t i = 0; i < count; ++i) {
		space[i] = process[i] ? process[i]->latest : NULL;
		if (!space[i])
			continue;
		__builtin_prefetch(space[i]);
		__builtin_prefetch(&space[i]->trees);
		__builtin_prefetch(&space[i]->kin);
	}
}

void process_soon(const struct process_table *table, const struct process_soon *soon, size_t count)
{
	const struct process *process[PROCESS_SOON_MAX];
	const struct space *space[PROCESS_SOON_MAX];
	const struct sb_map_node *node[PROCESS_SOON_MAX];
	int left = 0;

	find_soon(table, soon, count, process);
	find_spaces_soon(process, count, space);
	for (size_t i = 0; i < count; ++i) {
		node[i] = space[i] && soon[i].maps ? space[i]->trees.maps : NULL;
		__builtin_prefetch(node[i]);
		left |= node[i] != NULL;
	}
	/* All searches go on by one step, while memory answers the others'. */
	while (left) {
		left = 0;
		for (size_t i = 0; i < count; ++i) {
			if (!node[i])
				continue;
			node[i] = space_search_step(node[i], soon[i].addr);
			__builtin_prefetch(node[i]);
			left |= node[i] != NULL;
		}
	}
}

/* ---- When all records are there ---------------------------------------------------------------- */

static struct pid_spaces *spaces_slot(const struct process_table *table, int32_t pid)
{
	size_t slot = hash(pid) & (table->nspace_slots - 1);

	while (table->spaces_of[slot].count && table->spaces_of[slot].pid != pid)
		slot = (slot + 1) & (table->nspace_slots - 1);
	return &table->spaces_of[slot];
}

/* Appends those of @process to the list; there is room. */
static void list_spaces(struct process_table *table, const struct process *process)
{
	struct space *space = process->latest;

	if (!process->nspaces)
		return;
	*spaces_slot(table, process->pid) =
	        (struct pid_spaces){process->pid, (uint32_t)table->nspaces, process->nspaces};
	for (uint32_t i = process->nspaces; i > 0; --i, space = space->earlier)
		table->space[table->nspaces + i - 1] = (struct space_since){space->public.from, space};
	table->nspaces += process->nspaces;
}

static int list_all_spaces(struct process_table *table)
{
	size_t nspaces = 0;

	table->nspace_slots = 64;
	while (table->nspace_slots < 2 * table->nprocesses)
		table->nspace_slots *= 2;
	for (size_t i = 0; i < table->nprocesses; ++i)
		nspaces += table->process[i].nspaces;
	table->spaces_of = calloc(table->nspace_slots, sizeof(*table->spaces_of));
	table->space = calloc(nspaces ? nspaces : 1, sizeof(*table->space));
	if (!table->spaces_of || !table->space || nspaces > UINT32_MAX)
		return -sbe_nomem;
	for (size_t i = 0; i < table->nprocesses; ++i)
		list_spaces(table, &table->process[i]);
	return 0;
}

/* The record of a program's mapping is lost, and so may be any other: who has it may run where somebody else
 * is known to have something. */
static int note_lost_programs(struct process_table *table)
{
	for (size_t i = 0; i < table->nspaces; ++i) {
		const struct sb_space *space = &table->space[i].space->public;

		if (space_lacks_program(space) && add_stranger(table, space->pid, space->from, space->to) < 0)
			return -sbe_nomem;
	}
	return 0;
}

static void note_only_threads(struct process_table *table)
{
	for (size_t i = 0; i < table->nprocesses; ++i)
		table->process[i].only_tid = -2;
	for (size_t i = 0; i < table->nthreads; ++i) {
		struct process *process = find_process(table, table->thread[i].pid);

		if (process)
			process->only_tid = process->only_tid == -2 ? table->thread[i].tid : -1;
	}
}

int process_table_seal(struct process_table *table)
{
	if (list_all_spaces(table) < 0)
		return -sbe_nomem;
	for (size_t i = 0; i < table->nprocesses; ++i)
		if (note_stranger(table, &table->process[i], UINT64_MAX) < 0)
			return -sbe_nomem;
	if (note_lost_programs(table) < 0)
		return -sbe_nomem;
	for (size_t i = 0; i < table->nspaces; ++i)
		space_seal(&table->pool, table->space[i].space);
	for (size_t i = 0; i < table->nspaces; ++i)
		space_publish(&table->pool, table->space[i].space);
	note_only_threads(table);
	if (membership_seal(&table->members) < 0 || replaced_files_mark(&table->replaced, table) < 0)
		return -sbe_nomem;
	/* Each thread's names stay in the order of their times: of those given at one time, the last one
	 * counts. */
	return array_sort(table->comm, table->ncomms, sizeof(*table->comm));
}

const struct sb_space *process_space(const struct process_table *table, int32_t pid, uint64_t time)
{
	const struct pid_spaces *spaces = spaces_slot(table, pid);
	const struct space_since *space = table->space + spaces->first;
	struct bisect at = {.high = spaces->count};

	while (bisect_more(&at))
		bisect_go(&at, space[at.middle].from <= time);
	return at.low ? &space[at.low - 1].space->public : NULL;
}

const char *process_name(const struct process_table *table, int32_t pid, int32_t tid, uint64_t time,
                         uint64_t *until)
{
	const uint64_t key = thread_key(pid, tid);
	struct bisect at = {.high = table->ncomms};

	while (bisect_more(&at)) {
		const struct comm *comm = &table->comm[at.middle];

		bisect_go(&at, comm->key < key || (comm->key == key && comm->time <= time));
	}
	if (until)
		*until = at.low < table->ncomms && table->comm[at.low].key == key ? table->comm[at.low].time
		                                                                  : UINT64_MAX;
	return at.low && table->comm[at.low - 1].key == key ? table->comm[at.low - 1].name : no_name;
}

/* What nobody has told of a thread is as with its leader. */
const struct sb_membership *process_membership(const struct process_table *table, int32_t pid, int32_t tid,
                                               uint64_t time)
{
	const struct sb_membership *found = membership_find(&table->members, thread_key(pid, tid), time);

	return found || pid == tid ? found : membership_find(&table->members, thread_key(pid, pid), time);
}

const struct thread *process_thread(const struct process_table *table, int32_t tid)
{
	return find_thread(table, tid);
}

void process_table_init(struct process_table *table, struct string_table *names)
{
	memset(table, 0, sizeof(*table));
	space_pool_init(&table->pool);
	membership_init(&table->members, names, table->pool.seed);
	replaced_files_init(&table->replaced, table->pool.seed);
}

void process_table_free(struct process_table *table)
{
	free(table->spaces_of);
	free(table->space);
	free(table->process);
	free(table->thread);
	free(table->stranger);
	free(table->comm);
	free(table->by_pid.slot);
	free(table->by_tid.slot);
	kinship_free(&table->kinship);
	unknown_kin_free(&table->unknown_kin);
	membership_free(&table->members);
	replaced_files_free(&table->replaced);
	space_pool_free(&table->pool);
}

int process_is_known(const struct process_table *table, int32_t pid)
{
	return find_process(table, pid) != NULL;
}

int process_has_other_threads(const struct process_table *table, int32_t pid, int32_t tid)
{
	const struct process *process = find_process(table, pid);

	return process && process->only_tid != -2 && process->only_tid != tid;
}

int32_t process_only_thread(const struct process_table *table, int32_t pid)
{
	const struct process *process = find_process(table, pid);

	return process && process->only_tid >= 0 ? process->only_tid : -1;
}
