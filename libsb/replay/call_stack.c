/* call_stack.c - threads, and what the public functions do. See call_internal.h. */
#include <stdlib.h>
#include <string.h>

#include "replay/call_internal.h"

enum { MAX_DEPTH = 1 << 16 };

struct thread_key {
	int32_t pid, tid, cpu;
};

const char *sb_enter_name(enum sb_enter how)
{
	static const char *const name[sb_enters] = {"call",      "tail",   "jump",  "syscall",
	                                            "interrupt", "signal", "found", "again"};

	return (unsigned int)how < sb_enters ? name[how] : "?";
}

const char *sb_leave_name(enum sb_leave how)
{
	static const char *const name[sb_leaves] = {"return",   "tail", "jump", "unwound",
	                                            "switched", "lost", "end"};

	return (unsigned int)how < sb_leaves ? name[how] : "?";
}

int sb_calls_new(struct sb_calls **result, const struct sb_calls_options *options,
                 const struct sb_calls_consumer *consumer, struct sb_error *err)
{
	struct sb_calls *calls;

	if (!options || options->size != sizeof(*options) || !consumer)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "options of another version");
	calls = calloc(1, sizeof(*calls));
	if (!calls)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	calls->options = *options;
	if (!calls->options.max_depth)
		calls->options.max_depth = MAX_DEPTH;
	calls->consumer = *consumer;
	key_table_init(&calls->thread_keys, sizeof(struct thread_key), (uintptr_t)calls);
	calls->places = call_places_new(options);
	if (!calls->places) {
		sb_calls_free(calls);
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	}
	*result = calls;
	return 0;
}

void sb_calls_free(struct sb_calls *calls)
{
	if (!calls)
		return;
	for (size_t i = 0; i < calls->thread_keys.count && calls->thread; ++i) {
		if (!calls->thread[i])
			continue;
		free(calls->thread[i]->public.frame);
		free(calls->thread[i]->landing);
		free(calls->thread[i]);
	}
	free(calls->thread);
	key_table_free(&calls->thread_keys);
	for (size_t i = 0; i < calls->ncpus; ++i)
		free(calls->cpu[i].numbers.function);
	free(calls->cpu);
	free(calls->sum);
	free(calls->edge);
	call_segments_free(calls);
	call_places_free(calls->places);
	free(calls);
}

/* ---- Threads ----------------------------------------------------------------------------------- */

/* The idle threads of all CPUs have one number, and so have all that nobody knows. */
static struct thread_key key_of(const struct sb_flow *flow)
{
	return (struct thread_key){.pid = flow->pid, .tid = flow->tid, .cpu = flow->tid > 0 ? -1 : flow->cpu};
}

static struct call_thread *find_thread(struct sb_calls *calls, const struct sb_flow *flow)
{
	const struct thread_key key = key_of(flow);
	struct call_thread *made;
	uint32_t index;
	int status;

	if (array_reserve(&calls->thread, &calls->thread_capacity, calls->thread_keys.count,
	                  sizeof(struct call_thread *)) < 0)
		return NULL;
	status = key_table_keep(&calls->thread_keys, &key, &index);
	if (status < 0)
		return NULL;
	if (!status)
		return calls->thread[index];
	made = calls->thread[index] = calloc(1, sizeof(*made));
	if (made)
		made->public = (struct sb_call_thread){
		        .pid = flow->pid, .tid = flow->tid, .cpu = flow->cpu, .index = index};
	return made;
}

struct call_cpu *call_find_cpu(struct sb_calls *calls, int32_t cpu)
{
	if (calls->last_cpu < calls->ncpus && calls->cpu[calls->last_cpu].cpu == cpu)
		return &calls->cpu[calls->last_cpu];
	for (size_t i = 0; i < calls->ncpus; ++i)
		if (calls->cpu[i].cpu == cpu) {
			calls->last_cpu = i;
			return &calls->cpu[i];
		}
	if (array_reserve(&calls->cpu, &calls->cpu_capacity, calls->ncpus, sizeof(*calls->cpu)) < 0)
		return NULL;
	calls->cpu[calls->ncpus] = (struct call_cpu){.cpu = cpu};
	return &calls->cpu[calls->ncpus++];
}

/* ---- Flow and gaps ------------------------------------------------------------------------------ */

int sb_calls_flow(struct sb_calls *calls, const struct sb_flow *flow)
{
	struct call_thread *thread;
	struct call_cpu *cpu;
	int status;

	if (!flow->npaths && (!flow->calls || flow->calls->nedges))
		return flow->calls ? call_take_edges(calls, NULL, flow) : 0;
	cpu = call_find_cpu(calls, flow->cpu);
	thread = cpu && cpu->thread && cpu->thread->public.tid == flow->tid &&
	                         cpu->thread->public.pid == flow->pid
	                 ? cpu->thread
	                 : find_thread(calls, flow);
	if (!cpu || !thread)
		return -sbe_nomem;
	cpu->thread = thread;
	if (!flow->npaths) /* that is all */
		return 0;
	thread->public.cpu = flow->cpu;
	thread->public.tsc = flow->tsc;
	thread->public.membership = flow->membership;
	status = call_flow_add(calls, thread, flow);
	return status == 0 && calls->confused ? -sbe_order : status;
}

int sb_calls_gap(struct sb_calls *calls, const struct sb_gap *gap)
{
	struct call_cpu *cpu = call_find_cpu(calls, gap->cpu);

	if (!cpu)
		return -sbe_nomem;
	if (cpu->thread)
		cpu->thread->lost = 1;
	return 0;
}

int sb_calls_finish(struct sb_calls *calls)
{
	int status = 0;

	for (uint32_t i = 0; status == 0 && i < calls->thread_keys.count; ++i)
		status = call_leave_to(calls, calls->thread[i], 0, sb_leave_end);
	return status;
}

struct sb_calls_doubts sb_calls_doubts(const struct sb_calls *calls)
{
	return calls->doubts;
}
