/* map_watch.c - mappings of code: what the kernel tells perf of them, and what our breakpoints have
 * to know. The kernel reports executable mappings when they are made (mmap, mprotect, mremap, exec)
 * and never that they are gone. */
#include "tracer.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "capture/exec_map_file.h"
#include "capture/shortage.h"

enum { PAGE = 4096 };

struct call_range {
	uint64_t begin, size;
};

/* The ranges of memory that a system call changes; what it has not is empty. */
static void changed_ranges(const struct user_regs_struct *call, struct call_range range[2])
{
	memset(range, 0, 2 * sizeof(*range));
	switch (call->orig_rax) {
	case SYS_mmap:
		if (call->r10 & MAP_FIXED)
			range[0] = (struct call_range){call->rdi, call->rsi};
		break;
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_munmap:
	case SYS_madvise:
		range[0] = (struct call_range){call->rdi, call->rsi};
		break;
	case SYS_mremap:
		range[0] = (struct call_range){call->rdi, call->rsi};
		if (call->r10 & MREMAP_FIXED)
			range[1] = (struct call_range){call->r8, call->rdx};
		break;
	default:
		break;
	}
}

static uint64_t range_end(const struct call_range *range)
{
	uint64_t end = range->begin + range->size;

	return end < range->begin ? UINT64_MAX : (end + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

void maps_before_call(struct tracee *t)
{
	struct call_range range[2];

	changed_ranges(&t->call, range);
	for (int i = 0; i < 2; i++) {
		if (range[i].size)
			tracee_mm_release(t->process->mm, t->tid, range[i].begin, range_end(&range[i]));
	}
}

/* Whether executable mappings can have changed. */
static int worth_reading(const struct tracee *t)
{
	const struct user_regs_struct *call = &t->call;
	struct call_range range[2];

	switch (call->orig_rax) {
	case SYS_mmap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
		if (call->rdx & PROT_EXEC)
			return 1;
		break;
	case SYS_shmat:
	case SYS_remap_file_pages:
		return 1;
	default:
		break;
	}
	changed_ranges(call, range);
	for (int i = 0; i < 2; i++) {
		if (range[i].size &&
		    exec_maps_touch(&t->process->mm->maps, range[i].begin, range_end(&range[i])))
			return 1;
	}
	return 0;
}

static int report_map(struct tracer *tracer, struct vcpu *cpu, const struct exec_map *map)
{
	const struct tracee *t = cpu->current;
	const struct sb_write_sample sample = vcpu_sample(tracer, cpu, t);
	struct file_id id;
	int status = exec_map_build_id(t->tid, map, &id);

	if (status < 0)
		return fail_short(-status, map->name, tracer->err);
	status = exec_map_write(tracer->writer, &sample, t->process->pid, t->tid, map, &id, tracer->err);
	if (status < 0 || !tracer->copies)
		return status;
	return copy_root_add(tracer->copies, t->tid, map, tracer->err);
}

static int is_same_mm(const struct tracee *a, const struct tracee *b)
{
	return a && b && a->process && b->process && a->process->mm == b->process->mm;
}

/* Other CPUs that run the same program stop, as for a TLB shootdown, so that what they do with the
 * new mapping comes behind its record whatever is known of time. */
static void stop_others(struct tracer *tracer, struct vcpu *cpu)
{
	for (uint32_t i = 0; i < tracer->config->ncpus; i++) {
		struct vcpu *other = &tracer->cpu[i];

		if (other == cpu || !is_same_mm(other->current, cpu->current))
			continue;
		if (other->gen.enabled)
			vcpu_interrupt(other, other->current->regs.rip);
		if (other->clock > cpu->clock)
			cpu->clock = other->clock;
	}
}

static void release_others(struct tracer *tracer, struct vcpu *cpu)
{
	for (uint32_t i = 0; i < tracer->config->ncpus; i++) {
		struct vcpu *other = &tracer->cpu[i];

		if (is_same_mm(other->current, cpu->current) && other->clock < cpu->clock)
			other->clock = cpu->clock;
	}
	for (struct tracee *t = tracer->threads; t; t = t->next) {
		if (is_same_mm(t, cpu->current) && t->tsc < cpu->clock)
			t->tsc = cpu->clock;
	}
}

/* Forgets the code of what is in @maps and not in @others. */
static void release_difference(struct tracee *t, const struct exec_maps *maps, const struct exec_maps *others)
{
	for (size_t i = 0; i < maps->nmaps; i++) {
		if (!exec_maps_has(others, &maps->map[i]))
			tracee_mm_release(t->process->mm, t->tid, maps->map[i].begin, maps->map[i].end);
	}
}

static int report_new(struct tracer *tracer, struct vcpu *cpu, const struct exec_maps *old)
{
	const struct exec_maps *maps = &cpu->current->process->mm->maps;
	int stopped = 0;

	for (size_t i = 0; i < maps->nmaps; i++) {
		int status;

		/* The kernel does not tell of what is left of a mapping. */
		if (exec_maps_cover(old, &maps->map[i]))
			continue;
		if (!stopped++)
			stop_others(tracer, cpu);
		status = report_map(tracer, cpu, &maps->map[i]);
		if (status < 0)
			return status;
	}
	if (stopped)
		release_others(tracer, cpu);
	return 0;
}

/* /proc shows nothing of the process's first thread when that has ended; so it is asked by the thread itself.
 */
static int update(struct tracer *tracer, struct vcpu *cpu)
{
	struct tracee *t = cpu->current;
	struct exec_maps fresh = {NULL, 0}, old = t->process->mm->maps;
	int status = exec_maps_read(&fresh, t->tid, tracer->err);

	if (status >= 0) {
		release_difference(t, &old, &fresh);
		release_difference(t, &fresh, &old);
		t->process->mm->maps = fresh;
		status = report_new(tracer, cpu, &old);
		exec_maps_fini(&old);
	} else {
		exec_maps_fini(&fresh);
	}
	return status;
}

int maps_after_call(struct tracer *tracer, struct vcpu *cpu)
{
	return worth_reading(cpu->current) ? update(tracer, cpu) : 0;
}

int maps_after_exec(struct tracer *tracer, struct vcpu *cpu)
{
	struct tracee_process *process = cpu->current->process;

	tracee_mm_unref(process->mm);
	process->mm = tracee_mm_new();
	if (!process->mm)
		return out_of_memory(tracer);
	return update(tracer, cpu);
}
