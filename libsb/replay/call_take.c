/* call_take.c - flow that was added up without the stack below it being known (call_sums.h). What was taken
 * for sure of the innermost frame is looked at; what was added up then holds whatever is below. */
#include "replay/call_internal.h"

#include "system/arena.h"

/* Whether execution that comes back to the innermost frame, anywhere in its code at hand, goes on in it. */
static int is_gone_on_with(struct sb_calls *calls, const struct call_thread *thread)
{
	const struct sb_call_frame *top = sb_calls_top(&thread->public);

	if (top->low == thread->low && top->high == thread->high)
		return 1;
	if (top->high > thread->low && top->low < thread->high)
		return 0;
	return top->ip >= top->low && top->ip < top->high && call_stays_in(calls, thread, top, thread->low);
}

/* Whether the innermost frame is what it was taken for, and nothing else is under way. Or a negative code. */
static int is_as_expected(struct sb_calls *calls, const struct call_thread *thread,
                          const struct sb_flow_calls *sums)
{
	const struct sb_call_frame *top = thread->public.depth ? sb_calls_top(&thread->public) : NULL;

	if (!top || thread->public.depth + (uint64_t)sums->deepest >= calls->options.max_depth)
		return 0;
	if (thread->loan.number || thread->may_park || known_function(top->function)->traits & traits_of_go)
		return 0;
	if (thread->low != sums->low || thread->high != sums->high ||
	    (top->function->name != NULL) != (sums->is_named != 0) ||
	    call_is_kernel(top->ip) != call_is_kernel(sums->low) ||
	    (sums->is_plain && top->flags & frame_restorer))
		return 0;
	return is_gone_on_with(calls, thread);
}

/* *function becomes that of a sum, whose number is new. Zero or a negative code. */
static int find_function(struct sb_calls *calls, const struct call_thread *thread,
                         struct call_numbers *numbers, const struct sb_flow_call_sum *sum,
                         struct known_function **function)
{
	struct call_place *place;

	if (sum->function > numbers->count)
		return -sbe_order;
	*function = call_places_entered(calls->places, &thread->public, sum->ip, sum->is_called, &place);
	if (!*function || array_reserve(&numbers->function, &numbers->capacity, numbers->count,
	                                sizeof(*numbers->function)) < 0)
		return -sbe_nomem;
	numbers->function[numbers->count++] = *function;
	return 0;
}

static struct call_numbers *numbers_of(struct sb_calls *calls, const struct sb_flow *flow)
{
	struct call_cpu *cpu = call_find_cpu(calls, flow->cpu);
	struct call_numbers *numbers = cpu ? &cpu->numbers : NULL;

	if (numbers && numbers->numbering != flow->numbering) {
		numbers->numbering = flow->numbering;
		numbers->count = 0;
	}
	return numbers;
}

/* Whether a function that does something to stacks does it as it did where it was added up; others do. */
static int is_as_summed(const struct known_function *function, const struct sb_flow_call_sum *sum)
{
	return call_is_ordinary(function, sum->is_kernel, sum->jumps) &&
	       (!sum->is_learned || function->traits & trait_learned);
}

/* The functions of the sums, and the instructions of all. None may do anything to stacks that is known by
 * now. */
static int find_functions(struct sb_calls *calls, const struct call_thread *thread,
                          const struct sb_flow *flow, uint64_t *ninsn)
{
	const struct sb_flow_call_sum *sum = flow->calls->sum, *end = sum + flow->calls->nsums;
	struct call_numbers *numbers = numbers_of(calls, flow);
	struct known_function **known;
	struct sb_calls_sum *found;
	uint64_t all = sum->ninsn;
	size_t count;

	if (!numbers || array_reserve_more(&calls->sum, &calls->sum_capacity, 0, flow->calls->nsums,
	                                   sizeof(*calls->sum)) < 0)
		return -sbe_nomem;
	found = calls->sum;
	known = numbers->function;
	count = numbers->count;
	*found = (struct sb_calls_sum){.function = sb_calls_top(&thread->public)->function, .ninsn = all};
	while (++sum < end) {
		struct known_function *function;
		int status = 0;

		if (sum->function < count) {
			function = known[sum->function];
		} else {
			status = find_function(calls, thread, numbers, sum, &function);
			known = numbers->function;
			count = numbers->count;
		}
		if (status < 0)
			return status;
		if (function->traits | sum->is_learned && !is_as_summed(function, sum))
			return -sbe_order;
		if (!function->is_summed)
			function->is_summed = sum->jumps | !sum->is_kernel;
		*++found = (struct sb_calls_sum){&function->public, sum->below, sum->is_kernel, sum->ninsn};
		all += sum->ninsn;
	}
	*ninsn = all;
	return 0;
}

/* NULL: it has no number. */
static const struct sb_function *function_of(const struct call_thread *thread,
                                             const struct call_numbers *numbers, uint32_t number)
{
	if (number == sb_flow_call_base)
		return thread ? sb_calls_top(&thread->public)->function : NULL;
	return number < numbers->count ? &numbers->function[number]->public : NULL;
}

int call_take_edges(struct sb_calls *calls, const struct call_thread *thread, const struct sb_flow *flow)
{
	const struct sb_flow_calls *sums = flow->calls;
	const struct sb_calls_space space = {flow->pid, flow->epoch};
	const struct call_numbers *numbers;

	if (!calls->consumer.edges || !sums->nedges)
		return 0;
	numbers = numbers_of(calls, flow);
	if (!numbers || array_reserve_more(&calls->edge, &calls->edge_capacity, 0, sums->nedges,
	                                   sizeof(*calls->edge)) < 0)
		return -sbe_nomem;
	for (size_t i = 0; i < sums->nedges; ++i) {
		const struct sb_flow_call_edge *edge = &sums->edge[i];

		calls->edge[i] = (struct sb_calls_edge){.caller = function_of(thread, numbers, edge->caller),
		                                        .callee = function_of(NULL, numbers, edge->callee),
		                                        .ip = edge->ip,
		                                        .from_ip = edge->from_ip,
		                                        .calls = edge->calls,
		                                        .ninsn = edge->ninsn};
		if (!calls->edge[i].caller || !calls->edge[i].callee)
			return -sbe_order;
	}
	return calls->consumer.edges(calls->consumer.context, &space, calls->edge, sums->nedges);
}

/* What was entered and stays: at the times, by the thread's instructions, when it was. */
static int enter_frames(struct sb_calls *calls, struct call_thread *thread, const struct sb_flow_calls *sums)
{
	const uint64_t now = thread->public.ninsn;
	int status = 0;

	for (uint32_t i = 0; i < sums->nframes && status == 0; ++i) {
		const struct sb_flow_call_frame *frame = &sums->frame[i];
		const struct new_frame new = {.ip = frame->ip,
		                              .from_ip = frame->from_ip,
		                              .return_ip = frame->return_ip,
		                              .how = (enum sb_enter)frame->how,
		                              .flags = frame->flags};

		thread->public.ninsn = now - frame->ran;
		status = call_enter(calls, thread, &new);
	}
	thread->public.ninsn = now;
	return status;
}

int call_take(struct sb_calls *calls, struct call_thread *thread, const struct sb_flow *flow)
{
	const struct sb_flow_calls *sums = flow->calls;
	uint64_t ninsn;
	int status;

	call_add_credit(thread, sums->more_credit);
	if (!sums->nsums)
		return 0;
	status = calls->consumer.sums ? is_as_expected(calls, thread, sums) : 0;
	if (status <= 0)
		return status < 0 ? status : -sbe_order;
	status = find_functions(calls, thread, flow, &ninsn);
	if (sums->goes_internal)
		sb_calls_top(&thread->public)->flags |= frame_internal;
	if (status == 0)
		status = calls->consumer.sums(calls->consumer.context, &thread->public, calls->sum,
		                              sums->nsums);
	if (status == 0)
		status = call_take_edges(calls, thread, flow);
	if (status < 0)
		return status;
	thread->public.ninsn += ninsn;
	status = enter_frames(calls, thread, sums);
	calls->doubts.returns += sums->returns;
	thread->low = sums->end_low;
	thread->high = sums->end_high;
	thread->last = (struct last_block){sums->end_ip, sums->next_ip, sums->iclass};
	thread->public.tsc = sums->tsc_to;
	return status;
}
