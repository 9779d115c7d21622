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

#include "system/record_use.h"
#include "system/schedule_image.h"
#include "system/system_internal.h"

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

/* Whether what is known is more than is at hand anyway. */
static int is_far_away(const struct sb_system *system)
{
	enum { MANY_PROCESSES = 2048 };

	return system->processes.nprocesses >= MANY_PROCESSES;
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
		if (ntold >= nexpected && is_far_away(system))
			nexpected = ntold + expect(system, ntold);
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

static int32_t pid_of_thread(const void *system, int32_t tid)
{
	return sb_system_thread_pid(system, tid);
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
		status = schedule_find_pids(&system->schedule, pid_of_thread, system);
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
	system->processes.lost = facts->lost;
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
	system->processes.lost = (struct lost_times){0};
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
