/* system.c - the model of the system over time, see sb/system.h.
 *
 * Records come in file order, in which those of different CPUs are interleaved roughly: the schedule of a CPU
 * takes its own as they come; what concerns processes is gathered, sorted by time, and then told to the
 * process table in that order.
 *
 * A thrifty system tells at the end of each round what no later record should precede, so that memory follows
 * the model. Recordings in which one does are read again by one that gathers everything first: the
 * model is the same either way.
 */
#include "system/system.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "system/guest_records.h"
#include "system/kernel_events.h"
#include "system/map_walk.h"
#include "system/process.h"
#include "system/record_use.h"
#include "system/schedule.h"
#include "system/schedule_image.h"
#include "system/string_table.h"

enum change_kind {
	change_comm,
	change_exec,
	change_fork,
	change_exit,
	change_reused,
	change_map,
	change_cgroup,
	change_namespaces
};

/* A record that changes a process. */
struct change {
	uint64_t time; /* first: sorted by it */
	union {
		const char *name;         /* comm, exec */
		struct sb_map_node *node; /* map */
		struct {
			int32_t ppid, ptid;
		} parent;        /* fork */
		uint32_t number; /* cgroup, namespaces */
	} u;
	int32_t pid, tid;
	uint32_t kind;
};

/* A file with code that a process made itself. */
struct code_source {
	int32_t pid;
	const char *filename;
};

struct sb_system {
	const struct sb_perfdata *perfdata; /* for build-ids; NULL: there are none. Only while it is built */
	struct process_table processes;
	struct schedule schedule;
	struct kernel_events kernel;
	struct string_table names;
	struct guest_records guests;
	int thrifty;
	struct change *change; /* not told yet */
	int unsorted;          /* not in the order of their times */
	size_t nchanges, change_capacity;
	const struct system_coder *coder; /* borrowed; NULL: none */
	struct code_source *source;
	size_t nsources, source_capacity;
	struct system_code *code; /* those before next_code have been told */
	int code_unsorted;
	size_t ncodes, next_code, code_capacity;
	uint64_t told; /* a thrifty system told changes up to here */
	uint64_t nrecords, nskipped;
	int damaged;
	struct sb_error damage;
};

struct sb_system *system_new(int thrifty)
{
	struct sb_system *system = calloc(1, sizeof(*system));

	if (!system)
		return NULL;
	system->thrifty = system->schedule.thrifty = thrifty;
	process_table_init(&system->processes, &system->names);
	string_table_init(&system->names, system->processes.pool.seed);
	return system;
}

void sb_system_free(struct sb_system *system)
{
	if (!system)
		return;
	process_table_free(&system->processes);
	schedule_free(&system->schedule);
	kernel_events_free(&system->kernel);
	string_table_free(&system->names);
	guest_records_free(&system->guests);
	free(system->source);
	free(system->code);
	free(system->change);
	free(system);
}

/* ---- Gathering -------------------------------------------------------------------------------- */

static int gather(struct sb_system *system, const struct change *change)
{
	/* Kernel threads' and unknown processes' changes are nobody's. */
	if (change->pid < 0 || change->tid < 0)
		return 0;
	if (system->thrifty && change->time < system->told)
		return 1;
	if (array_reserve(&system->change, &system->change_capacity, system->nchanges, sizeof(*change)) < 0)
		return -sbe_nomem;
	if (system->nchanges && change->time < system->change[system->nchanges - 1].time)
		system->unsorted = 1;
	system->change[system->nchanges++] = *change;
	return 0;
}

static int gather_comm(struct sb_system *system, const struct sb_record *record, uint64_t time)
{
	const struct change change = {.time = time,
	                              .kind = record->u.comm.exec ? change_exec : change_comm,
	                              .pid = record->u.comm.pid,
	                              .tid = record->u.comm.tid,
	                              .u.name = string_table_keep(&system->names, record->u.comm.name)};

	if (!change.u.name)
		return -sbe_nomem;
	return gather(system, &change);
}

static int gather_task(struct sb_system *system, const struct sb_record *record, uint64_t time)
{
	struct change change = {.time = time,
	                        .kind = record->type == PERF_RECORD_FORK ? change_fork : change_exit,
	                        .pid = record->u.task.pid,
	                        .tid = record->u.task.tid};

	change.u.parent.ppid = record->u.task.ppid;
	change.u.parent.ptid = record->u.task.ptid;
	return gather(system, &change);
}

/* Whether code can run there that a user-space mapping describes. MMAP has no protection bits: perf
 * uses it for executable mappings, and marks the others. */
static int is_user_code(const struct sb_record *record)
{
	if (record->u.mmap.is_kernel || record->u.mmap.is_guest || record->u.mmap.is_data ||
	    !record->u.mmap.len)
		return 0;
	return !record->u.mmap.is_mmap2 || (record->u.mmap.prot & PROT_EXEC);
}

/* "jit-PID.dump", in any directory. */
static int is_marker(const char *filename)
{
	const char *slash = strrchr(filename, '/');
	const char *name = slash ? slash + 1 : filename;
	size_t digits;

	if (strncmp(name, "jit-", 4) != 0)
		return 0;
	digits = strspn(name + 4, "0123456789");
	return digits && strcmp(name + 4 + digits, ".dump") == 0;
}

static int gather_map(struct sb_system *system, const struct sb_record *record, uint64_t time)
{
	struct change change = {
	        .time = time, .kind = change_map, .pid = record->u.mmap.pid, .tid = record->u.mmap.tid};
	const char *filename;
	struct sb_map *map;
	int status;

	if (!is_user_code(record) || change.pid < 0 || change.tid < 0)
		return 0;
	filename = string_table_keep(&system->names, record->u.mmap.filename);
	change.u.node = space_node(&system->processes.pool);
	if (!filename || !change.u.node)
		return -sbe_nomem;
	map = &change.u.node->map;
	map->begin = record->u.mmap.addr;
	map->end =
	        record->u.mmap.len > UINT64_MAX - map->begin ? UINT64_MAX : map->begin + record->u.mmap.len;
	map->pgoff = record->u.mmap.pgoff;
	map->filename = filename;
	map->maj = record->u.mmap.maj;
	map->min = record->u.mmap.min;
	map->ino = record->u.mmap.ino;
	map->build_id_size = record->u.mmap.build_id_size;
	memcpy(map->build_id, record->u.mmap.build_id, sizeof(map->build_id));
	if (!map->build_id_size && system->perfdata)
		map->build_id_size = (uint8_t)sb_perfdata_build_id(system->perfdata, filename, map->build_id);
	map->pid = change.pid;
	map->time = time;
	map->recorded_pgoff = map->pgoff;
	map->recorded_size = record->u.mmap.len;
	if ((record->u.mmap.prot & PROT_WRITE) && filename[0] == '/' && !sb_map_is_anonymous(filename))
		map->origin = sb_map_written;
	status = gather(system, &change);
	if (status == 0 && system->coder && is_marker(filename))
		status = system->coder->marker(system->coder->context, system, change.pid, map);
	return status;
}

int system_watch(struct sb_system *system, const struct system_coder *coder)
{
	system->coder = coder;
	return coder->begin(coder->context, system);
}

int system_code_source(struct sb_system *system, int32_t pid, const char *filename)
{
	const char *kept = string_table_keep(&system->names, filename);

	if (!kept || system->nsources >= INT32_MAX ||
	    array_reserve(&system->source, &system->source_capacity, system->nsources,
	                  sizeof(*system->source)) < 0)
		return -sbe_nomem;
	system->source[system->nsources] = (struct code_source){pid, kept};
	return (int)system->nsources++;
}

void system_code_source_pid(struct sb_system *system, int source, int32_t pid)
{
	system->source[source].pid = pid;
}

int system_code(struct sb_system *system, const struct system_code *code)
{
	if (system->thrifty && code->time < system->told)
		return 1;
	if (array_reserve(&system->code, &system->code_capacity, system->ncodes, sizeof(*code)) < 0)
		return -sbe_nomem;
	if (system->ncodes > system->next_code && code->time < system->code[system->ncodes - 1].time)
		system->code_unsorted = 1;
	system->code[system->ncodes++] = *code;
	return 0;
}

/* A sample tells the cgroup of whoever was interrupted. The idle task is nobody. */
static int gather_sample(struct sb_system *system, const struct sb_record *record, uint64_t time)
{
	struct change change = {
	        .time = time, .kind = change_cgroup, .pid = record->sample.pid, .tid = record->sample.tid};

	if (!(record->u.sample.has & PERF_SAMPLE_CGROUP) || !(record->sample.has & PERF_SAMPLE_TID) ||
	    !record->u.sample.cgroup || !change.tid)
		return 0;
	if (membership_cgroup(&system->processes.members, record->u.sample.cgroup, &change.u.number) < 0)
		return -sbe_nomem;
	return gather(system, &change);
}

static int gather_namespaces(struct sb_system *system, const struct sb_record *record, uint64_t time)
{
	struct change change = {.time = time,
	                        .kind = change_namespaces,
	                        .pid = record->u.namespaces.pid,
	                        .tid = record->u.namespaces.tid};
	struct sb_namespaces set = {0};

	for (uint64_t i = 0; i < SB_NAMESPACES; ++i) {
		const struct sb_namespace of = sb_record_namespace(record, i);

		set.of[i].dev = of.dev;
		set.of[i].ino = of.ino;
	}
	/* Of a process that ended while perf looked at it. */
	if (!set.of[PID_NS_INDEX].ino || !set.of[MNT_NS_INDEX].ino)
		return 0;
	if (membership_set(&system->processes.members, &set, &change.u.number) < 0)
		return -sbe_nomem;
	return gather(system, &change);
}

static uint64_t time_of(const struct sb_record *record)
{
	if (record->sample.has & PERF_SAMPLE_TIME)
		return record->sample.time;
	return record->type == PERF_RECORD_FORK || record->type == PERF_RECORD_EXIT ? record->u.task.time : 0;
}

/* ---- Telling ---------------------------------------------------------------------------------- */

static void note_time(struct process_table *processes, uint64_t time)
{
	if (!processes->first_time || (time && time < processes->first_time))
		processes->first_time = time;
	if (time > processes->last_time)
		processes->last_time = time;
}

static int tell(struct process_table *processes, const struct change *change)
{
	note_time(processes, change->time);
	switch (change->kind) {
	case change_comm:
	case change_exec:
		return process_comm(processes, change->time, change->pid, change->tid, change->u.name,
		                    change->kind == change_exec);
	case change_fork:
		return process_fork(processes, change->time, change->pid, change->u.parent.ppid, change->tid,
		                    change->u.parent.ptid);
	case change_exit:
		return process_exit(processes, change->time, change->pid, change->tid);
	case change_reused:
		return process_reused(processes, change->time, change->pid);
	case change_cgroup:
		return process_cgroup(processes, change->time, change->pid, change->tid, change->u.number);
	case change_namespaces:
		return process_namespaces(processes, change->time, change->pid, change->tid,
		                          change->u.number);
	default:
		return process_map(processes, change->pid, change->u.node);
	}
}

/* Prepares for telling the next changes; how many were looked at. */
static size_t expect(const struct sb_system *system, size_t first)
{
	struct process_soon soon[PROCESS_SOON_MAX];
	size_t count = 0, i = first;

	/* A fork is about two. */
	for (; i < system->nchanges && count + 1 < PROCESS_SOON_MAX; ++i) {
		const struct change *change = &system->change[i];

		soon[count++] = change->kind == change_map
		                        ? (struct process_soon){change->pid, change->tid, 1,
		                                                change->u.node->map.begin}
		                        : (struct process_soon){change->pid, change->tid, 0, 0};
		if (change->kind == change_fork)
			soon[count++] =
			        (struct process_soon){change->u.parent.ppid, change->u.parent.ptid, 0, 0};
	}
	process_soon(&system->processes, soon, count);
	return i - first;
}

static int sort_code(struct sb_system *system)
{
	if (!system->code_unsorted)
		return 0;
	system->code_unsorted = 0;
	return array_sort(system->code + system->next_code, system->ncodes - system->next_code,
	                  sizeof(*system->code));
}

static int tell_code(struct sb_system *system, const struct system_code *code)
{
	const struct code_source *source = &system->source[code->source];
	struct sb_map_node *node = space_node(&system->processes.pool);

	if (!node)
		return -sbe_nomem;
	node->map.begin = code->begin;
	node->map.end = code->end;
	node->map.pgoff = code->offset;
	node->map.filename = source->filename;
	node->map.pid = source->pid;
	node->map.origin = (uint8_t)code->origin;
	node->map.time = code->time;
	return process_map(&system->processes, source->pid, node);
}

/* The code whose time has come before @time: what records say at the same time comes first. */
static int tell_code_before(struct sb_system *system, uint64_t time)
{
	int status = 0;

	while (system->next_code < system->ncodes && system->code[system->next_code].time < time &&
	       status == 0) {
		const struct system_code *code = &system->code[system->next_code++];

		system->told = code->time;
		status = tell_code(system, code);
	}
	return status;
}

/* Tells the changes up to @time, and keeps the rest. */
static int tell_until(struct sb_system *system, uint64_t time)
{
	int status =
	        system->unsorted ? array_sort(system->change, system->nchanges, sizeof(*system->change)) : 0;
	size_t ntold = 0, nexpected = 0;

	if (status == 0)
		status = sort_code(system);
	while (ntold < system->nchanges && system->change[ntold].time <= time && status == 0) {
		if (ntold == nexpected)
			nexpected += expect(system, nexpected);
		status = tell_code_before(system, system->change[ntold].time);
		if (status == 0)
			status = tell(&system->processes, &system->change[ntold++]);
	}
	system->unsorted = 0;
	if (!ntold)
		return status;
	if (system->change[ntold - 1].time > system->told)
		system->told = system->change[ntold - 1].time;
	system->nchanges -= ntold;
	memmove(system->change, system->change + ntold, system->nchanges * sizeof(*system->change));
	return status;
}

int system_record(struct sb_system *system, const struct sb_record *record)
{
	const uint64_t time = time_of(record);
	int status = 0;

	system->nrecords += 1;
	if (guest_records_have(&system->guests, record)) {
		system->nskipped += 1;
		return 0;
	}
	if (!record_says_something(record))
		system->nskipped += 1;
	if (!system->schedule.checkpoint)
		status = schedule_record(&system->schedule, record, time);
	if (status == 0)
		status = kernel_events_record(&system->kernel, &system->names, record, time);
	if (status)
		return status;
	switch (record->type) {
	case PERF_RECORD_COMM:
		return gather_comm(system, record, time);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return gather_task(system, record, time);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return gather_map(system, record, time);
	case PERF_RECORD_NAMESPACES:
		return gather_namespaces(system, record, time);
	case PERF_RECORD_CGROUP:
		return membership_cgroup_path(&system->processes.members, record->u.cgroup.id,
		                              record->u.cgroup.path);
	case PERF_RECORD_SAMPLE:
		return gather_sample(system, record, time);
	case SB_RECORD_ID_INDEX:
		return guest_records_index(&system->guests, record);
	case SB_RECORD_FINISHED_ROUND:
		return system->thrifty ? tell_until(system, system->schedule.safe_time) : 0;
	default:
		return 0;
	}
}

static int32_t pid_of_thread(const void *processes, int32_t tid)
{
	const struct thread *thread = process_thread(processes, tid);

	return thread ? thread->pid : -1;
}

int system_seal(struct sb_system *system, int damaged)
{
	int status = tell_until(system, UINT64_MAX);

	if (status == 0)
		status = tell_code_before(system, UINT64_MAX);
	free(system->code);
	system->code = NULL;
	system->ncodes = system->next_code = system->code_capacity = 0;
	free(system->change);
	system->change = NULL;
	system->nchanges = system->change_capacity = 0;
	if (status == 0)
		status = process_table_seal(&system->processes);
	if (status == 0)
		status = kernel_events_seal(&system->kernel);
	if (system->schedule.checkpoint)
		return status;
	if (status == 0)
		schedule_find_pids(&system->schedule, pid_of_thread, &system->processes);
	return status < 0 ? status : schedule_seal(&system->schedule, damaged);
}

/* Passes the plain switches at @cursor, which concern the schedule alone. They say of no machine that runs as
 * a guest that they are its: only their identifiers would. */
static int pass_switches(struct sb_system *system, struct sb_perfdata_cursor *cursor,
                         const struct switch_layout *layout)
{
	if (!layout->size || system->guests.count || system->schedule.checkpoint)
		return 0;
	return schedule_switches(&system->schedule, cursor, layout, &system->nrecords);
}

/* All records up to the end or to damage. Positive: thrift does not work out. */
static int read_records(struct sb_system *system, const struct sb_perfdata *perfdata)
{
	const struct switch_layout layout = switch_layout(perfdata);
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	int status, found;

	sb_perfdata_begin(perfdata, &cursor);
	do {
		status = pass_switches(system, &cursor, &layout);
		if (status)
			return status;
		found = sb_perfdata_next(&cursor, &record, &system->damage);
		if (found > 0)
			status = system_record(system, &record);
	} while (found > 0 && status == 0);
	system->damaged = found < 0;
	return status;
}

/* What a checkpoint says that records do not. */
static int use_checkpoint(struct sb_system *system, const struct sb_checkpoint *checkpoint,
                          struct sb_error *err)
{
	return checkpoint ? schedule_read(&system->schedule, checkpoint, err) : 0;
}

/* Records that a checkpoint left out were counted, too. */
static void count_all(struct sb_system *system, const struct sb_checkpoint *checkpoint)
{
	const struct checkpoint_recording *is;
	uint64_t count;

	if (!checkpoint)
		return;
	is = checkpoint_rows(checkpoint, checkpoint_recording, &count);
	system->nrecords = is->nrecords;
	system->nskipped = is->nskipped;
}

static int take_facts(struct sb_system *system, const struct system_facts *facts)
{
	int status = 0;

	system->processes.kinship.facts = &facts->forks;
	for (size_t i = 0; i < facts->nreuses && status == 0; ++i)
		status = gather(system, &(struct change){.time = facts->reuse[i].time,
		                                         .kind = change_reused,
		                                         .pid = facts->reuse[i].pid,
		                                         .tid = facts->reuse[i].pid});
	return status;
}

/* As system_build(); positive: thrift does not work out. */
static int build(struct sb_system **result, const struct sb_perfdata *perfdata,
                 const struct system_coder *coder, const struct system_facts *facts, int thrifty,
                 struct sb_error *err)
{
	const struct sb_checkpoint *checkpoint = checkpoint_of(perfdata);
	struct sb_system *system = system_new(thrifty);
	int status = 0;

	if (!system)
		return -sbe_nomem;
	system->perfdata = perfdata;
	if (facts)
		status = take_facts(system, facts);
	if (status == 0)
		status = use_checkpoint(system, checkpoint, err);
	if (status == 0 && coder)
		status = system_watch(system, coder);
	if (status == 0)
		status = read_records(system, perfdata);
	system->perfdata = NULL;
	count_all(system, checkpoint);
	if (status == 0)
		status = system_seal(system, system->damaged || sb_perfdata_info(perfdata)->interrupted);
	system->processes.kinship.facts = NULL;
	if (status == 0)
		*result = system;
	else
		sb_system_free(system);
	return status;
}

int system_build(struct sb_system **system, const struct sb_perfdata *perfdata,
                 const struct system_coder *coder, const struct system_facts *facts, struct sb_error *err)
{
	struct sb_error wrong = {0};
	/* Without the ends of rounds, nobody knows what no older record follows. */
	int status = build(system, perfdata, coder, facts, !checkpoint_of(perfdata), &wrong);

	if (status > 0)
		status = build(system, perfdata, coder, facts, 0, &wrong);
	if (status < 0 && wrong.code) {
		if (err)
			*err = wrong;
		return status;
	}
	if (status < 0)
		return sb_error_set(err, status, sb_perfdata_path(perfdata), UINT64_MAX,
		                    "out of memory while reading the sideband");
	return 0;
}

int sb_system_build(struct sb_system **system, const struct sb_perfdata *perfdata, struct sb_error *err)
{
	if (!system || !perfdata)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_system_build: no recording");
	return system_build(system, perfdata, NULL, NULL, err);
}

/* ---- Asking ----------------------------------------------------------------------------------- */

const struct sb_error *sb_system_damage(const struct sb_system *system)
{
	return system->damaged ? &system->damage : NULL;
}

static const struct cpu_schedule *find_cpu(const struct sb_system *system, int32_t cpu)
{
	return cpu >= 0 && (size_t)cpu < system->schedule.ncpus ? &system->schedule.cpu[cpu] : NULL;
}

const struct schedule *system_schedule(const struct sb_system *system)
{
	return &system->schedule;
}

const struct sb_sched *sb_system_schedule(const struct sb_system *system, int32_t cpu, size_t *count)
{
	const struct cpu_schedule *found = find_cpu(system, cpu);

	if (found && !schedule_is_right(&system->schedule, found))
		found = NULL;
	*count = found ? found->nscheds : 0;
	return found ? found->sched : NULL;
}

void system_schedule_release(const struct sb_system *system, int32_t cpu)
{
	const struct cpu_schedule *found = find_cpu(system, cpu);

	if (found)
		spill_array_release(&found->spill, found->sched);
}

const struct sb_space *sb_system_space(const struct sb_system *system, int32_t pid, uint64_t time)
{
	return process_space(&system->processes, pid, time);
}

const char *sb_system_comm(const struct sb_system *system, int32_t pid, int32_t tid, uint64_t time)
{
	return sb_system_comm_until(system, pid, tid, time, NULL);
}

const char *sb_system_comm_until(const struct sb_system *system, int32_t pid, int32_t tid, uint64_t time,
                                 uint64_t *until)
{
	return process_name(&system->processes, pid, tid, time, until);
}

const struct sb_membership *sb_system_membership(const struct sb_system *system, int32_t pid, int32_t tid,
                                                 uint64_t time)
{
	return process_membership(&system->processes, pid, tid, time);
}

const struct sb_membership *sb_system_memberships(const struct sb_system *system, size_t *count)
{
	*count = system->processes.members.nmemberships;
	return system->processes.members.membership;
}

const struct sb_container *const *sb_system_containers(const struct sb_system *system, size_t *count)
{
	*count = system->processes.members.ncontainers;
	return system->processes.members.container;
}

int32_t sb_system_thread_pid(const struct sb_system *system, int32_t tid)
{
	return pid_of_thread(&system->processes, tid);
}

size_t sb_system_nepochs(const struct sb_system *system)
{
	return system->processes.pool.nepochs;
}

uint64_t sb_system_nrecords(const struct sb_system *system, uint64_t *skipped)
{
	if (skipped)
		*skipped = system->nskipped;
	return system->nrecords;
}

const struct sb_aux_flag *sb_system_aux_flags(const struct sb_system *system, int32_t cpu, size_t *count)
{
	const struct cpu_schedule *found = find_cpu(system, cpu);

	*count = found ? found->nflags : 0;
	return found ? found->flag : NULL;
}

const struct sb_aux_flag *sb_system_stream_flags(const struct sb_system *system,
                                                 const struct sb_aux_stream *stream, size_t *count)
{
	if (stream->cpu >= 0)
		return sb_system_aux_flags(system, stream->cpu, count);
	return schedule_thread_flags(&system->schedule, stream->tid, count);
}

const struct sb_lost *sb_system_lost(const struct sb_system *system, size_t *count)
{
	*count = system->schedule.nlost;
	return system->schedule.lost;
}

const struct sb_kernel_map *sb_system_kernel_maps(const struct sb_system *system, size_t *count)
{
	*count = system->kernel.nmaps;
	return system->kernel.map;
}

const struct sb_text_poke *sb_system_text_pokes(const struct sb_system *system, size_t *count)
{
	*count = system->kernel.npokes;
	return system->kernel.poke;
}

const struct sb_kernel_symbol *sb_system_kernel_symbols(const struct sb_system *system, size_t *count)
{
	*count = system->kernel.nsymbols;
	return system->kernel.symbol;
}

const struct sb_bpf_program *sb_system_bpf_programs(const struct sb_system *system, size_t *count)
{
	*count = system->kernel.nprograms;
	return system->kernel.program;
}

int map_walk(const struct sb_system *system, int (*callback)(void *context, const struct sb_map *map),
             void *context)
{
	const struct space_pool *pool = &system->processes.pool;
	int status = 0;

	for (size_t i = 0; i < pool->nepochs && status == 0; ++i)
		status = space_walk_new(&pool->epoch_trees[i], callback, context);
	return status;
}

size_t system_nspaces(const struct sb_system *system)
{
	return system->processes.nspaces;
}

const struct sb_space *system_space_at(const struct sb_system *system, size_t index)
{
	return &system->processes.space[index].space->public;
}

/* Someone who wants to know the epochs, too. */
struct epoch_walk {
	system_map_callback *callback;
	void *context;
	const struct sb_epoch *epoch;
};

static int show_map(void *context, const struct sb_map *map)
{
	const struct epoch_walk *walk = context;

	return walk->callback(walk->context, walk->epoch, map);
}

uint32_t system_space_family(const struct sb_system *system, size_t index)
{
	return system->processes.space[index].space->family;
}

int system_walk_space(const struct sb_system *system, size_t index, system_map_callback *callback,
                      void *context)
{
	const struct space *space = system->processes.space[index].space;
	int status = 0;

	for (size_t i = space->inherits ? 1 : 0; i < space->nepochs && status == 0; ++i) {
		struct epoch_walk walk = {callback, context, &space->epoch[i]};

		status = space_walk_new(&system->processes.pool.epoch_trees[space->epoch[i].id], show_map,
		                        &walk);
	}
	return status;
}

const struct sb_seen *system_seen(const struct sb_system *system, int32_t cpu, size_t *count)
{
	const struct cpu_schedule *found = find_cpu(system, cpu);

	*count = found ? found->nseen : 0;
	return found ? found->seen : NULL;
}

int system_schedule_is_whole(const struct sb_system *system, int32_t cpu)
{
	const struct cpu_schedule *found = find_cpu(system, cpu);

	return found && found->is_whole;
}

enum switch_losses system_switch_losses(const struct sb_system *system, int32_t cpu)
{
	const struct cpu_schedule *found = find_cpu(system, cpu);

	return found ? found->losses : switch_losses_many;
}

int32_t system_only_thread(const struct sb_system *system, int32_t pid)
{
	return process_only_thread(&system->processes, pid);
}

int system_has_other_threads(const struct sb_system *system, int32_t pid, int32_t tid)
{
	return process_has_other_threads(&system->processes, pid, tid);
}

void system_times(const struct sb_system *system, uint64_t *first, uint64_t *last)
{
	*first = system->processes.first_time;
	*last = system->processes.last_time;
}

const struct process_table *system_processes(const struct sb_system *system)
{
	return &system->processes;
}
