/* system_ask.c - what a model that was built says, see sb/system.h and system.h. */
#include "system/map_walk.h"
#include "system/schedule_image.h"
#include "system/system_internal.h"

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

const struct sb_sched *system_schedule_in_use(const struct sb_system *system, int32_t cpu, size_t *count,
                                              struct schedule_use *use)
{
	const struct cpu_schedule *found = find_cpu(system, cpu);

	*count = found ? found->nscheds : 0;
	*use = found ? schedule_use_of(&system->schedule, found) : (struct schedule_use){0};
	return found ? found->sched : NULL;
}

void system_schedules_check(const struct sb_system *system)
{
	schedule_check_used(&system->schedule);
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
	const char *name = process_name(&system->processes, pid, tid, time, until);

	/* No record names the thread that a CPU runs when there is no other. */
	return *name || pid || tid ? name : "swapper";
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
	const struct thread *thread = process_thread(&system->processes, tid);

	return thread ? thread->pid : -1;
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
