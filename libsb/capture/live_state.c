/* live_state.c - see live_state.h. Whatever is told of a process is a fact, whose hash is kept: so that it is
 * told once, and what is new the second time is found without keeping all that there was.
 */
#include "capture/live_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/exec_map_file.h"
#include "capture/shortage.h"
#include "record/bytes.h"
#include "system/arena.h"

enum { scans_most = 8, readings_most = 8, ticks = 16 };

struct file_key {
	uint64_t maj, min, ino;
};

/* ---- Facts ------------------------------------------------------------------------------------ */

enum fact { fact_thread = 1, fact_comm, fact_namespaces, fact_cgroup_of, fact_map, fact_cgroup, fact_file };

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; ++i)
		hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static uint64_t mix_number(uint64_t hash, uint64_t number)
{
	return mix(hash, &number, sizeof(number));
}

static uint64_t begin_fact(enum fact kind, uint64_t who, uint64_t start)
{
	return mix_number(mix_number(mix_number(UINT64_C(0xcbf29ce484222325), kind), who), start);
}

/* Positive: it has not been told yet. */
static int is_new(struct live_state *state, uint64_t fact)
{
	uint32_t number;
	const int status = key_table_keep(&state->facts, &fact, &number);

	return status < 0 ? sb_error_set(state->err, -sbe_nomem, NULL, UINT64_MAX, "out of memory") : status;
}

int live_state_init(struct live_state *state, struct sb_perfdata_writer *writer, struct sb_error *err)
{
	int status;

	*state = (struct live_state){.writer = writer, .err = err};
	key_table_init(&state->facts, sizeof(uint64_t), 0);
	key_table_init(&state->forked, sizeof(int32_t), 0);
	key_table_init(&state->files, sizeof(struct file_key), 0);
	status = cgroups_open(&state->cgroups);
	return status < 0 ? fail_short(-status, "/proc/self/mountinfo", err) : 0;
}

void live_state_fini(struct live_state *state)
{
	cgroups_close(state->cgroups);
	key_table_free(&state->facts);
	key_table_free(&state->forked);
	key_table_free(&state->files);
	free(state->build_id);
	free(state->build_ids);
	*state = (struct live_state){0};
}

int live_state_forked(struct live_state *state, int32_t tid)
{
	uint32_t number;

	return key_table_keep(&state->forked, &tid, &number);
}

/* ---- Build-ids -------------------------------------------------------------------------------- */

/* Files are opened until their build-id is known, which may fail as the process goes. */
static int build_id_of(struct live_state *state, pid_t tid, const struct exec_map *map, struct file_id *id)
{
	const struct file_key key = {map->maj, map->min, map->ino};
	uint32_t number;
	int status;

	*id = (struct file_id){0};
	if (!map->ino || map->name[0] != '/')
		return 0;
	status = key_table_keep(&state->files, &key, &number);
	if (status > 0 &&
	    array_reserve(&state->build_id, &state->capacity, state->nbuild_ids, sizeof(*id)) < 0)
		status = -sbe_nomem;
	if (status < 0)
		return sb_error_set(state->err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	if (status > 0)
		state->build_id[state->nbuild_ids++] = (struct file_id){0};
	status = state->build_id[number].size ? 0 : exec_map_build_id(tid, map, &state->build_id[number]);
	*id = state->build_id[number];
	return status < 0 ? fail_short(-status, map->name, state->err) : 0;
}

/* A record of the feature, see perfdata/build_ids.h: header, pid, build-id, name. */
int live_state_mapped(struct live_state *state, pid_t tid, const struct exec_map *map)
{
	enum { head = 36, of_user = 2, has_size = 1 << 15, align = 64 };
	const size_t length = strlen(map->name) + 1, size = head + (length + align - 1) / align * align;
	struct file_id id;
	uint8_t *at;
	int status = build_id_of(state, tid, map, &id);

	if (status < 0 || !id.size)
		return status;
	status =
	        is_new(state, mix(mix(begin_fact(fact_file, 0, 0), id.id, sizeof(id.id)), map->name, length));
	if (status <= 0)
		return status;
	if (array_reserve_more(&state->build_ids, &state->build_ids_capacity, state->build_ids_size, size,
	                       1) < 0)
		return -sbe_nomem;
	at = state->build_ids + state->build_ids_size;
	state->build_ids_size += size;
	memset(at, 0, size);
	store_u16(at + 4, of_user | has_size);
	store_u16(at + 6, (uint16_t)size);
	store_u32(at + 8, UINT32_MAX); /* the host */
	memcpy(at + 12, id.id, sizeof(id.id));
	at[32] = id.size;
	memcpy(at + head, map->name, length);
	return 0;
}

/* ---- Telling ---------------------------------------------------------------------------------- */

/* The sample trailer, as of @time; NULL: of before the recording. */
struct telling {
	const struct live_process *process;
	uint64_t time;
	struct sb_write_sample sample;
};

static const struct sb_write_sample *sample_of(const struct live_state *state, struct telling *telling,
                                               pid_t tid)
{
	if (!state->is_timed)
		return NULL;
	telling->sample = (struct sb_write_sample){
	        .pid = telling->process->pid, .tid = tid, .time = telling->time, .cpu = state->cpu};
	return &telling->sample;
}

static int tell_thread(struct live_state *state, struct telling *telling, const struct live_thread *thread)
{
	const struct live_process *process = telling->process;
	const pid_t pid = process->pid;
	const int is_leader = thread->tid == pid;
	const int status = is_new(state, begin_fact(fact_thread, (uint64_t)thread->tid, thread->start));

	if (status <= 0)
		return status;
	state->nthreads += 1;
	state->nprocesses += is_leader ? 1 : 0;
	/* What the kernel has told until now decides whether it needs telling. */
	if (state->is_timed && state->tick && state->tick(state->context) < 0)
		return -sbe_io;
	if (state->is_timed && key_table_find(&state->forked, &thread->tid, &(uint32_t){0}))
		return 0;
	return sb_write_fork(state->writer, sample_of(state, telling, thread->tid), pid,
	                     is_leader ? process->ppid : pid, thread->tid, is_leader ? process->ppid : pid,
	                     state->err);
}

static int tell_namespaces(struct live_state *state, struct telling *telling,
                           const struct live_thread *thread)
{
	int status;

	if (!thread->has_namespaces)
		return 0;
	status = is_new(state, mix(begin_fact(fact_namespaces, (uint64_t)thread->tid, thread->start),
	                           thread->namespaces, sizeof(thread->namespaces)));
	return status <= 0 ? status
	                   : sb_write_namespaces(state->writer, sample_of(state, telling, thread->tid),
	                                         telling->process->pid, thread->tid, thread->namespaces,
	                                         NR_NAMESPACES, state->err);
}

static int tell_comm(struct live_state *state, struct telling *telling, const struct live_thread *thread)
{
	const int status = is_new(state, mix(begin_fact(fact_comm, (uint64_t)thread->tid, thread->start),
	                                     thread->comm, strlen(thread->comm)));

	return status <= 0 ? status
	                   : sb_write_comm(state->writer, sample_of(state, telling, thread->tid),
	                                   telling->process->pid, thread->tid, thread->comm, 0, state->err);
}

/* A sample, for want of a record that would tell it; it needs a time. */
static int tell_cgroup_of(struct live_state *state, struct telling *telling, const struct live_thread *thread)
{
	int status;

	if (!state->is_timed || !state->with_cgroups || !thread->cgroup)
		return 0;
	status = is_new(state, mix_number(begin_fact(fact_cgroup_of, (uint64_t)thread->tid, thread->start),
	                                  thread->cgroup));
	return status <= 0 ? status
	                   : sb_write_cgroup_sample(state->writer, sample_of(state, telling, thread->tid), 0,
	                                            thread->cgroup, state->err);
}

static uint64_t map_fact(const struct live_process *process, const struct exec_map *map)
{
	const uint64_t values[] = {map->begin, map->end, map->pgoff, map->maj,
	                           map->min,   map->ino, map->prot,  map->flags};

	return mix(mix(begin_fact(fact_map, (uint64_t)process->pid, process->start), values, sizeof(values)),
	           map->name, strlen(map->name));
}

static int tell_map(struct live_state *state, struct telling *telling, const struct exec_map *map)
{
	const pid_t pid = telling->process->pid;
	struct file_id id;
	int status = is_new(state, map_fact(telling->process, map));

	if (status <= 0)
		return status;
	status = build_id_of(state, telling->process->shown_by, map, &id);
	if (status < 0)
		return status;
	return exec_map_write(state->writer, sample_of(state, telling, pid), pid, pid, map, &id, state->err);
}

static int tell(struct live_state *state, const struct live_process *process, uint64_t time)
{
	static int (*const tellers[])(struct live_state *, struct telling *, const struct live_thread *) = {
	        tell_thread, tell_namespaces, tell_comm, tell_cgroup_of};
	struct telling telling = {.process = process, .time = time};
	int status = 0;

	for (size_t i = 0; i < process->nthreads && status >= 0; ++i)
		for (size_t k = 0; k < sizeof(tellers) / sizeof(tellers[0]) && status >= 0; ++k)
			status = tellers[k](state, &telling, &process->thread[i]);
	for (size_t i = 0; i < process->maps.nmaps && status >= 0; ++i)
		status = tell_map(state, &telling, &process->maps.map[i]);
	return status < 0 ? status : 0;
}

static int tell_cgroup(void *context, const struct cgroup *cgroup)
{
	struct live_state *state = context;
	const uint64_t fact = mix(begin_fact(fact_cgroup, cgroup->id, 0), cgroup->path, strlen(cgroup->path));
	struct live_process nobody = {0};
	struct telling telling = {.process = &nobody,
	                          .time = state->is_timed ? live_clock_now(&state->clock) : 0};
	const int status = is_new(state, fact);

	return status <= 0 ? status
	                   : sb_write_cgroup(state->writer, sample_of(state, &telling, 0), cgroup->id,
	                                     cgroup->path, state->err);
}

/* ---- Before the recording --------------------------------------------------------------------- */

struct scan {
	struct live_state *state;
	int what;
	struct key_table *seen; /* int32_t: processes that need no second look; NULL: none */
	size_t count;
	int again; /* there were some that had not been seen */
};

/* We are short of something: see live_process_read(). */
static int fail_reading(struct live_state *state, int status)
{
	return fail_short(status == -sbe_nomem ? ENOMEM : -status, "/proc", state->err);
}

static int is_wanted(const struct live_state *state, pid_t pid)
{
	for (size_t i = 0; i < state->nonly; ++i)
		if (state->only[i].pid == pid)
			return 1;
	return !state->only;
}

static int tell_before(void *context, pid_t pid)
{
	const struct scan *scan = context;
	struct live_process process;
	int status;

	if (!is_wanted(scan->state, pid))
		return 0;
	status = live_process_read(&process, pid, scan->what, scan->state->cgroups);
	status = status < 0 ? fail_reading(scan->state, status) : tell(scan->state, &process, 0);
	live_process_free(&process);
	return status;
}

static int scan_failed(struct live_state *state, int status)
{
	if (state->err && state->err->code)
		return status;
	return sb_error_set(state->err, -sbe_io, "/proc", UINT64_MAX, "%s", strerror(-status));
}

/* All threads first: a fork that comes behind the parent's mappings would hand them on. */
int live_state_before(struct live_state *state)
{
	struct scan threads = {.state = state, .what = live_process_threads};
	struct scan maps = {.state = state, .what = live_process_maps};
	int status = cgroups_walk(state->cgroups, tell_cgroup, state);

	if (status >= 0)
		status = live_processes(tell_before, &threads);
	if (status >= 0)
		status = live_processes(tell_before, &maps);
	return status < 0 ? scan_failed(state, status) : 0;
}

/* ---- While it runs ---------------------------------------------------------------------------- */

/* Reads it until it stays as it is from one time to the next: then it was so in between, at *time. */
static int read_settled(struct live_state *state, struct live_process *process, pid_t pid, uint64_t *time)
{
	const int all = live_process_threads | live_process_maps;
	struct live_process next;
	int status = live_process_read(process, pid, all, state->cgroups);

	for (int i = 0; i < readings_most && status == 0; ++i) {
		int same;

		*time = live_clock_now(&state->clock);
		status = live_process_read(&next, pid, all, state->cgroups);
		same = status == 0 && live_process_same(process, &next);
		live_process_free(process);
		*process = next;
		if (same)
			break;
	}
	return status;
}

static int catch_up(void *context, pid_t pid)
{
	struct scan *scan = context;
	struct live_state *state = scan->state;
	struct live_process process = {0};
	const int32_t key = pid;
	uint32_t number;
	uint64_t time = 0;
	int status;

	if (!is_wanted(state, pid))
		return 0;
	status = key_table_keep(scan->seen, &key, &number);
	if (status == 0)
		return 0;
	scan->again = 1;
	if (status > 0)
		status = read_settled(state, &process, pid, &time);
	if (status < 0) {
		live_process_free(&process);
		return fail_reading(state, status);
	}
	status = state->tick && ++scan->count % ticks == 0 ? state->tick(state->context) : 0;
	if (status >= 0)
		status = tell(state, &process, time);
	live_process_free(&process);
	return status;
}

/* Who began while the others were read is not in the list; so it is read again, until nobody is new. */
int live_state_catch_up(struct live_state *state)
{
	struct key_table seen;
	struct scan scan = {.state = state, .seen = &seen, .again = 1};
	int status;

	state->is_timed = 1;
	key_table_init(&seen, sizeof(int32_t), 0);
	status = cgroups_walk(state->cgroups, tell_cgroup, state);
	for (int i = 0; i < scans_most && status >= 0 && scan.again; ++i) {
		scan.again = 0;
		status = live_processes(catch_up, &scan);
	}
	key_table_free(&seen);
	return status < 0 ? scan_failed(state, status) : 0;
}
