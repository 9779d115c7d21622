/* call_flow.c - from one block to the next: what that means for the stack. See call_internal.h. */
#include "replay/call_internal.h"

static int contains(uint64_t low, uint64_t high, uint64_t ip)
{
	return ip >= low && ip < high;
}

static struct sb_call_frame *top_of(struct call_thread *thread)
{
	return sb_calls_top(&thread->public);
}

int call_begins_at(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	const struct call_place *place = call_places_at(calls->places, &thread->public, ip);

	return place ? place->name && place->begin == ip : -sbe_nomem;
}

/* Execution is found at @ip, whoever called that function. */
static int enter_found(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	const struct new_frame new = {
	        .ip = ip,
	        .how = sb_enter_found,
	        .flags = call_is_kernel(ip) && (!thread->public.depth || !call_is_kernel(top_of(thread)->ip))
	                         ? frame_kernel
	                         : 0,
	        .unsure = thread->public.depth || (thread->takes_turns && !call_is_kernel(ip))};

	return call_enter(calls, thread, &new);
}

/* A compiler puts rare parts of a function "f" elsewhere, and names them "f.cold". */
int call_is_cold_part(const struct known_function *part, const struct sb_function *of)
{
	const char *name = part->public.mangled, *whole = of->mangled;

	if (!(part->traits & trait_cold) || !name || !whole || part->public.dso != of->dso)
		return 0;
	while (*whole && *name == *whole) {
		name += 1;
		whole += 1;
	}
	return !*whole && *name == '.';
}

/* The innermost frame goes on at @ip, in the same function or in another one, to which it went without a call
 * or return. */
static int settle(struct sb_calls *calls, struct call_thread *thread, uint64_t ip, enum sb_leave left,
                  enum sb_enter entered)
{
	const struct known_function *function;
	struct call_place *place;
	struct sb_call_frame *top;
	int status;

	if (!thread->public.depth)
		return enter_found(calls, thread, ip);
	if (contains(thread->low, thread->high, ip))
		return 0;
	status = call_look_at_top(calls, thread);
	if (status < 0)
		return status;
	top = top_of(thread);
	place = call_places_at(calls->places, &thread->public, ip);
	function = place ? call_places_function(calls->places, place,
	                                        top->function->name ? 0 : top->function->address)
	                 : NULL;
	if (!function)
		return -sbe_nomem;
	if (&function->public != top->function && !call_is_cold_part(function, top->function))
		return call_replace(calls, thread, ip, left, entered);
	thread->low = place->low;
	thread->high = place->high;
	if (!contains(top->low, top->high, top->ip)) {
		top->low = place->low;
		top->high = place->high;
	}
	return 0;
}

int call_settle(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	return settle(calls, thread, ip, sb_leave_jump, sb_enter_jump);
}

/* Execution went on in a frame below: so many stay. */
static int unwind_to(struct sb_calls *calls, struct call_thread *thread, uint32_t depth, uint64_t ip)
{
	const int status = call_leave_to(calls, thread, depth, sb_leave_unwound);

	call_end_proof(calls, thread);
	calls->doubts.unwound += 1;
	return status == 0 ? call_settle(calls, thread, ip) : status;
}

/* How many frames are below the innermost function when all that it does is to go to one of them; 0: it is
 * not such a function. */
static uint32_t unwinds_to(const struct call_thread *thread)
{
	const uint32_t depth = thread->public.depth;

	for (uint32_t i = depth; i > 1 && depth - i < 2; --i) {
		const uint32_t traits = known_function(thread->public.frame[i - 1].function)->traits;

		if (traits & trait_unwinds)
			return traits & trait_resumes && i > 2 ? i - 2 : i - 1;
	}
	return 0;
}

/* A frame below the innermost one in which execution may go on at @ip: how many stay. */
static uint32_t find_below(struct call_thread *thread, uint64_t ip)
{
	const uint32_t below = unwinds_to(thread);
	uint32_t least, depth = call_find_landing(thread, ip, &least);

	for (uint32_t i = least; i < depth && depth != call_nowhere; ++i)
		thread->public.frame[i].unsure = 1;
	if (depth == call_nowhere)
		depth = call_find_code(thread, below ? below : thread->public.depth - 1, ip);
	return depth;
}

/* To where no frame is, in the place of the innermost one. */
static int go_unknown(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	struct new_frame new = {.ip = ip, .how = sb_enter_found, .unsure = 1};
	int status;

	new.flags = top_of(thread)->flags &(frame_kernel | frame_base);
	new.return_ip = new.flags &frame_kernel ? top_of(thread)->return_ip : 0;
	calls->doubts.found += 1;
	calls->doubts.lost += 1;
	status = call_leave(calls, thread, sb_leave_lost);
	return status == 0 ? call_enter(calls, thread, &new) : status;
}

/* All frames are as they were, as far as anybody knows: from now on, that is a guess. */
void call_doubt(struct call_thread *thread)
{
	for (uint32_t i = 0; i < thread->public.depth; ++i)
		thread->public.frame[i].unsure = 1;
}

/* ---- Calls and returns ------------------------------------------------------------------------- */

static int step_call(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	struct new_frame new = {.ip = ip,
	                        .from_ip = thread->last.end_ip,
	                        .return_ip = thread->last.next_ip,
	                        .how = sb_enter_call};
	int status = call_routine_call(calls, thread, ip);

	if (status)
		return status < 0 ? status : 0;
	if (ip == thread->last.next_ip) /* it only wants to know where it is */
		return call_settle(calls, thread, ip);
	if (contains(thread->low, thread->high, ip) && top_of(thread)->function->name) {
		const int begins = call_begins_at(calls, thread, ip);

		if (begins < 0)
			return begins;
		if (!begins) {
			thread->goes_internal |= !call_knows_top(thread);
			top_of(thread)->flags |= frame_internal;
			return 0;
		}
	}
	status = call_look_at_new(calls, thread, ip, sb_enter_call);
	return status == 0 ? call_enter(calls, thread, &new) : status;
}

/* A signal's handler returns to code that calls sigreturn; a function that a handler made to be called
 * returns to where execution was interrupted. */
static int return_from_handler(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	/* When the other one's code itself was interrupted, it is that. */
	const int in_restorer = thread->public.depth > 1 &&
	                        thread->public.frame[thread->public.depth - 2].flags & frame_restorer;
	int status;

	if ((top_of(thread)->return_ip == ip && !in_restorer) || (top_of(thread)->flags & frame_restorer)) {
		status = call_leave(calls, thread, sb_leave_return);
		return status == 0 ? call_settle(calls, thread, ip) : status;
	}
	status = call_replace(calls, thread, ip, sb_leave_return, sb_enter_jump);
	if (status == 0)
		top_of(thread)->flags |= frame_restorer;
	return status;
}

/* The caller of the innermost frame is not known. */
static int return_from_found(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	int status = call_leave(calls, thread, sb_leave_return);
	uint32_t depth;

	if (status < 0)
		return status;
	depth = call_find_code(thread, thread->public.depth, ip);
	if (depth != call_nowhere) {
		calls->doubts.lost += thread->public.depth - depth;
		status = call_leave_to(calls, thread, depth, sb_leave_lost);
		return status == 0 ? call_settle(calls, thread, ip) : status;
	}
	calls->doubts.found += 1;
	return enter_found(calls, thread, ip);
}

/* A function returned to another stack. */
static void learn_switch(struct sb_calls *calls, const struct sb_call_frame *frame)
{
	calls->confused |= known_function(frame->function)->is_summed;
	if (!(known_function(frame->function)->traits & trait_switches))
		call_places_learn(calls->places, frame->function, trait_switches | trait_learned);
}

/* A frame further below returns. */
static int return_to(struct sb_calls *calls, struct call_thread *thread, uint32_t index, uint64_t ip)
{
	int status;

	if (thread->public.frame[index].flags & frame_base) {
		if (thread->last.iclass == ptic_return && !call_is_kernel(ip))
			learn_switch(calls, top_of(thread));
		calls->doubts.switched += 1;
		status = call_put_aside(calls, thread, index);
		return status == 0 ? call_settle(calls, thread, ip) : status;
	}
	status = call_leave_to(calls, thread, index + 1, sb_leave_unwound);
	calls->doubts.unwound += 1;
	if (status == 0)
		status = call_leave(calls, thread, sb_leave_return);
	return status == 0 ? call_settle(calls, thread, ip) : status;
}

/* Another address than the one that was pushed: as return trampolines do, or a switch to a new stack. */
static int return_to_beginning(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	struct sb_call_frame *top = top_of(thread);

	const int internal = (top->flags & frame_internal) != 0;

	top->flags &= (uint8_t)~frame_internal;
	if (!internal)
		learn_switch(calls, top);
	/* In the kernel it is how it calls through pointers; its stacks are the threads'. */
	if (!internal && !call_is_kernel(ip)) {
		calls->switcher = *top;
		top->flags |= frame_base;
	}
	return call_replace(calls, thread, ip, sb_leave_tail, sb_enter_tail);
}

/* Before a return that does not go to the caller of the innermost frame. */
static int look_at_elsewhere(struct sb_calls *calls, struct call_thread *thread, uint64_t ip, int begins)
{
	const struct sb_call_frame *top = top_of(thread);
	const int internal = (top->flags & frame_internal) != 0,
	          learned = (known_function(top->function)->traits & trait_switches) != 0;

	if (call_knows_top(thread) && internal && (begins || contains(thread->low, thread->high, ip)))
		return 0;
	if (!call_knows_top(thread) || !begins || !learned || !call_is_kernel(ip))
		return call_cut(calls, thread);
	thread->by_learned = 1;
	return 0;
}

/* A return that does not go to the caller of the innermost frame. */
static int return_elsewhere(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	const int begins = call_begins_at(calls, thread, ip);
	const int internal = (top_of(thread)->flags & frame_internal) != 0;
	uint32_t at;
	int status = look_at_elsewhere(calls, thread, ip, begins);

	if (begins < 0 || status < 0)
		return begins < 0 ? begins : status;
	/* Behind a call that never returns, another function may begin. */
	if (begins && (internal || known_function(top_of(thread)->function)->traits & trait_switches))
		return return_to_beginning(calls, thread, ip);
	if (!begins && internal && contains(thread->low, thread->high, ip))
		return 0; /* to where it called itself */
	status = begins ? 0 : call_turn(calls, thread, ip);
	if (status)
		return status < 0 ? status : 0;
	at = call_find_return(thread, ip);
	if (at != call_nowhere)
		return return_to(calls, thread, at, ip);
	if (begins)
		return return_to_beginning(calls, thread, ip);
	status = call_switch_to(calls, thread, ip);
	if (status)
		return status < 0 ? status : 0;
	at = find_below(thread, ip);
	if (at != call_nowhere)
		return unwind_to(calls, thread, at, ip);
	return go_unknown(calls, thread, ip);
}

static int step_return(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	struct sb_call_frame *top = top_of(thread);
	int status = call_look_at_top(calls, thread);

	if (status < 0)
		return status;
	if (top->flags & frame_signal)
		return return_from_handler(calls, thread, ip);
	if (top->return_ip == ip && ip) {
		status = call_look_below(calls, thread, thread->public.depth - 1, ip);
		if (status < 0)
			return status;
		status = known_function(top->function)->traits & trait_switches ? call_turn(calls, thread, ip)
		                                                                : 0;
		if (status)
			return status < 0 ? status : 0;
		calls->doubts.returns += 1;
		status = call_leave(calls, thread, sb_leave_return);
		call_confirm(calls, thread);
		return status == 0 ? call_settle(calls, thread, ip) : status;
	}
	if (!top->return_ip && !(top->flags & frame_internal) &&
	    !(top->flags & frame_kernel && thread->public.depth > 1)) {
		status = call_cut(calls, thread);
		if (!status)
			status = call_routine_return(calls, thread, ip);
		if (!status)
			status = call_routine_correct(calls, thread, ip);
		return !status ? return_from_found(calls, thread, ip) : status < 0 ? status : 0;
	}
	status = call_routine_correct(calls, thread, ip);
	return !status ? return_elsewhere(calls, thread, ip) : status < 0 ? status : 0;
}

/* ---- Jumps ------------------------------------------------------------------------------------- */

/* To another stack, whose bottom was called by a frame of this one, or which was here before. Positive: it
 * did. */
static int jump_to_stack(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	int status = call_turn(calls, thread, ip);
	uint32_t at;

	if (status)
		return status;
	at = call_find_return(thread, ip);
	if (at == call_nowhere)
		return call_switch_to(calls, thread, ip);
	thread->public.frame[at].flags |= frame_base;
	status = return_to(calls, thread, at, ip);
	return status < 0 ? status : 1;
}

/* To the middle of another function, or of the same one from elsewhere: longjmp, an exception's landing pad,
 * another stack, or hand-written code. */
static int jump_into(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	int status = call_cut(calls, thread);
	uint32_t at;

	if (!status && !unwinds_to(thread))
		status = jump_to_stack(calls, thread, ip);
	if (status)
		return status < 0 ? status : 0;
	at = find_below(thread, ip);
	return at != call_nowhere ? unwind_to(calls, thread, at, ip) : call_settle(calls, thread, ip);
}

static int is_jump(uint8_t iclass)
{
	return iclass == ptic_jump || iclass == ptic_cond_jump || iclass == ptic_indirect ||
	       iclass == ptic_far_jump;
}

static int step_jump(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	const struct call_place *place;
	const struct sb_function *function = top_of(thread)->function;
	int status;

	if (contains(thread->low, thread->high, ip))
		return 0;
	status = call_look_at_top(calls, thread);
	if (!status)
		status = call_routine_jump(calls, thread, ip);
	if (status)
		return status < 0 ? status : 0;
	place = call_places_at(calls->places, &thread->public, ip);
	if (!place)
		return -sbe_nomem;
	if (place->name && place->name == function->name && place->dso == function->dso)
		return call_settle(calls, thread, ip);
	if (place->name && place->begin == ip && known_function(function)->traits & trait_switches) {
		status = call_cut(calls, thread);
		return status == 0 ? return_to_beginning(calls, thread, ip) : status;
	}
	if (place->name && place->begin == ip && is_jump(thread->last.iclass))
		return settle(calls, thread, ip, sb_leave_tail, sb_enter_tail);
	return is_jump(thread->last.iclass) && place->name ? jump_into(calls, thread, ip)
	                                                   : call_settle(calls, thread, ip);
}

/* ---- In and out of the kernel ------------------------------------------------------------------ */

static int enter_kernel(struct sb_calls *calls, struct call_thread *thread, uint64_t ip, uint64_t return_ip,
                        enum sb_enter how)
{
	const struct new_frame new = {.ip = ip,
	                              .from_ip = how == sb_enter_syscall ? thread->last.end_ip : return_ip,
	                              .return_ip = return_ip,
	                              .how = how,
	                              .flags = frame_kernel};
	const int status = call_look_at_new(calls, thread, ip, how);

	return status == 0 ? call_enter(calls, thread, &new) : status;
}

/* How many frames are those of user space. */
static uint32_t user_depth(const struct call_thread *thread)
{
	uint32_t depth = thread->public.depth;

	while (depth && call_is_kernel(thread->public.frame[depth - 1].ip))
		depth -= 1;
	return depth;
}

enum { SYSCALL_SIZE = 2 };

/* Whether execution that comes back from a signal's handler at @ip, and not at @interrupted, is in the next
 * one; or where that handler wanted it to go on. */
static int is_next_handler(struct sb_calls *calls, struct call_thread *thread, uint64_t ip,
                           uint64_t interrupted)
{
	const struct call_place *place = call_places_at(calls->places, &thread->public, ip);

	if (!place)
		return -sbe_nomem;
	return place->name ? place->begin == ip : ip != interrupted - SYSCALL_SIZE;
}

/* Whether execution that comes back from the kernel at @ip, and not where it left, is in a signal's handler:
 * a function's beginning, or code without names in which nobody was. Negative: no memory. */
static int is_handler(struct sb_calls *calls, struct call_thread *thread, uint64_t ip, uint64_t expected)
{
	const struct call_place *place = call_places_at(calls->places, &thread->public, ip);

	if (!place)
		return -sbe_nomem;
	if (place->name && place->begin == ip)
		return 1;
	if (ip == expected - SYSCALL_SIZE) /* it begins anew */
		return 0;
	if (place->name)
		return !contains(thread->low, thread->high, ip) &&
		       call_find_code(thread, thread->public.depth, ip) == call_nowhere;
	return expected != 0;
}

/* Execution comes back to user space, where it was to go on at @expected (0: not known). @entered: how the
 * kernel was. */
static int go_on_in_user(struct sb_calls *calls, struct call_thread *thread, uint64_t ip, uint64_t expected,
                         enum sb_enter entered)
{
	const struct new_frame handler = {.ip = ip,
	                                  .from_ip = expected,
	                                  .return_ip = expected,
	                                  .how = sb_enter_signal,
	                                  .flags = frame_signal};
	int status = 0, is_signal;

	if (!thread->public.depth)
		return enter_found(calls, thread, ip);
	if (top_of(thread)->flags & frame_restorer && entered != sb_enter_interrupt) {
		const uint64_t interrupted = top_of(thread)->return_ip;
		struct new_frame again = handler;

		again.from_ip = again.return_ip = interrupted;
		status = call_leave(calls, thread, sb_leave_return);
		if (status < 0 || ip == interrupted)
			return status < 0 ? status : call_settle(calls, thread, ip);
		is_signal = is_next_handler(calls, thread, ip, interrupted);
		if (is_signal)
			return is_signal < 0 ? is_signal : call_enter(calls, thread, &again);
		return call_settle(calls, thread, ip);
	}
	if (ip == expected)
		return call_settle(calls, thread, ip);
	is_signal = is_handler(calls, thread, ip, expected);
	if (is_signal)
		return is_signal < 0 ? is_signal : call_enter(calls, thread, &handler);
	return contains(thread->low, thread->high, ip) ? 0 : jump_into(calls, thread, ip);
}

/* So many frames stay when execution comes back to user space at @ip: when that is where it was to go on, it
 * does. */
static int leaves_kernel(struct sb_calls *calls, struct call_thread *thread, uint32_t depth, uint64_t ip)
{
	const struct sb_call_frame *frame = thread->public.frame + depth;

	if (!depth || depth >= thread->public.depth || frame->return_ip != ip ||
	    frame[-1].flags & (frame_restorer | frame_signal))
		return call_cut(calls, thread);
	thread->came_back |= depth <= thread->base && frame->how != sb_enter_interrupt;
	return call_look_below(calls, thread, depth, ip);
}

/* From one half of the address space to the other. */
static int cross(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	const struct last_block *last = &thread->last;
	enum sb_enter entered = sb_enter_found;
	uint64_t expected = 0;
	uint32_t depth;
	int status;

	if (call_is_kernel(ip)) {
		if (last->iclass == ptic_far_call)
			return enter_kernel(calls, thread, ip, last->next_ip, sb_enter_syscall);
		return enter_kernel(calls, thread, ip, last->iclass == ptic_other ? last->next_ip : 0,
		                    sb_enter_interrupt);
	}
	depth = user_depth(thread);
	status = leaves_kernel(calls, thread, depth, ip);
	if (status < 0)
		return status;
	if (depth < thread->public.depth) {
		expected = thread->public.frame[depth].return_ip;
		entered = (enum sb_enter)thread->public.frame[depth].how;
		status = call_leave_to(calls, thread, depth + 1, sb_leave_unwound);
		if (status == 0)
			status = call_leave(calls, thread, sb_leave_return);
		if (status < 0)
			return status;
	}
	return go_on_in_user(calls, thread, ip, expected, entered);
}

/* IRET and the like, in the kernel: an interrupt of the kernel is over. */
static int step_far_return(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	uint32_t at = thread->public.depth;
	int status;

	if (!call_is_kernel(ip))
		return step_jump(calls, thread, ip);
	while (at && !(thread->public.frame[at - 1].flags & frame_kernel))
		at -= 1;
	status = at > thread->base ? 0 : call_cut(calls, thread);
	if (status < 0)
		return status;
	if (contains(thread->low, thread->high, ip) && (!at || thread->public.frame[at - 1].return_ip != ip))
		return 0; /* to the next instruction, to synchronise */
	if (!at || (at == 1 && thread->public.frame[0].how == sb_enter_found) ||
	    !call_is_kernel(at > 1 ? thread->public.frame[at - 2].ip : ip))
		return jump_into(calls, thread, ip); /* it is not its end */
	status = call_look_below(calls, thread, at - 1, ip);
	if (status == 0)
		status = call_leave_to(calls, thread, at, sb_leave_unwound);
	if (status == 0)
		status = call_leave(calls, thread, sb_leave_return);
	return status == 0 ? call_settle(calls, thread, ip) : status;
}

static int step_far_call(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	const int goes_on = !call_is_kernel(ip) && ip == thread->last.next_ip &&
	                    contains(thread->low, thread->high, ip) &&
	                    !(top_of(thread)->flags & frame_restorer);
	const int status = goes_on ? 0 : call_cut(calls, thread);

	if (status < 0)
		return status;
	thread->came_back |= goes_on && !call_knows_top(thread);
	if (!call_is_kernel(ip))
		return go_on_in_user(calls, thread, ip, thread->last.next_ip, sb_enter_syscall);
	if (ip == thread->last.next_ip)
		return call_settle(calls, thread, ip);
	return enter_kernel(calls, thread, ip, thread->last.next_ip, sb_enter_interrupt);
}

/* ---- Where something is missing ---------------------------------------------------------------- */

/* Frames that were found behind another gap are worth less than those that were entered. */
static int leave_found(struct sb_calls *calls, struct call_thread *thread)
{
	uint32_t depth = thread->public.depth;

	while (depth && thread->public.frame[depth - 1].how != sb_enter_found)
		depth -= 1;
	if (!depth)
		return 0;
	calls->doubts.lost += thread->public.depth - (depth - 1);
	return call_leave_to(calls, thread, depth - 1, sb_leave_lost);
}

static int find_again(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	uint32_t depth = call_is_kernel(ip) ? thread->public.depth : user_depth(thread);
	int status;

	calls->doubts.lost += thread->public.depth - depth;
	status = call_leave_to(calls, thread, depth, sb_leave_lost);
	if (status < 0)
		return status;
	call_doubt(thread);
	depth = call_find_code(thread, thread->public.depth, ip);
	if (depth != call_nowhere) {
		calls->doubts.lost += thread->public.depth - depth;
		status = call_leave_to(calls, thread, depth, sb_leave_lost);
		return status == 0 ? call_settle(calls, thread, ip) : status;
	}
	status = leave_found(calls, thread);
	calls->doubts.found += 1;
	return status == 0 ? enter_found(calls, thread, ip) : status;
}

/* ---- Blocks ------------------------------------------------------------------------------------ */

/* Between blocks that follow each other. */
static int step(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	if (!thread->public.depth || !thread->last.end_ip) {
		const int status = call_cut(calls, thread);

		return status == 0 ? find_again(calls, thread, ip) : status;
	}
	if (call_is_kernel(thread->last.end_ip) != call_is_kernel(ip))
		return cross(calls, thread, ip);
	switch (thread->last.iclass) {
	case ptic_call:
		return step_call(calls, thread, ip);
	case ptic_return:
		return step_return(calls, thread, ip);
	case ptic_far_call:
		return step_far_call(calls, thread, ip);
	case ptic_far_return:
		return step_far_return(calls, thread, ip);
	default:
		return step_jump(calls, thread, ip);
	}
}

/* What goes on in the innermost frame, as most blocks do, without more ado. */
static int stays(const struct call_thread *thread, uint64_t ip)
{
	if (!contains(thread->low, thread->high, ip))
		return 0;
	switch (thread->last.iclass) {
	case ptic_jump:
	case ptic_cond_jump:
		return 1;
	case ptic_call:
	case ptic_return:
	case ptic_far_call:
	case ptic_far_return:
		return 0;
	default:
		return ip == thread->last.next_ip;
	}
}

/* The thread's program was replaced: none of its functions is there any more. */
static int replace_program(struct sb_calls *calls, struct call_thread *thread, const struct sb_flow *flow)
{
	const struct sb_calls_options *options = &calls->options;
	const struct sb_space *space;
	uint64_t now;

	if (thread->public.epoch == flow->epoch)
		return 0;
	thread->public.epoch = flow->epoch;
	thread->low = thread->high = 0;
	if (!options->system || !options->clock || !flow->epoch)
		return 0;
	now = sb_clock_tsc_to_ns(options->clock, flow->tsc);
	if (now < flow->epoch->from)
		now = flow->epoch->from;
	space = sb_system_space(options->system, flow->pid, now);
	if (thread->space && space && space != thread->space) {
		const int status = call_leave_to(calls, thread, 0, sb_leave_end);

		thread->last = (struct last_block){0};
		thread->space = space;
		return status;
	}
	if (space)
		thread->space = space;
	return 0;
}

/* Something came between the thread's last instruction and the first one of the flow. Positive: the first
 * block needs nothing else. */
static int begin_flow(struct sb_calls *calls, struct call_thread *thread, const struct sb_flow *flow)
{
	const uint64_t ip = flow->path[0]->block[0].ip;
	int status = 0, goes_on;

	if (thread->lost) {
		thread->lost = 0;
		thread->last = (struct last_block){0};
		call_doubt_segments(calls, thread->public.pid);
	}
	if (!thread->public.depth || !thread->last.end_ip || !thread->left_ip)
		return 0;
	goes_on = stays(thread, thread->left_ip) || thread->left_ip == thread->last.next_ip;
	if (!goes_on ||
	    (!call_is_kernel(ip) && (ip != thread->left_ip || !contains(thread->low, thread->high, ip))))
		status = call_cut(calls, thread);
	if (status == 0 && !goes_on)
		status = step(calls, thread, thread->left_ip);
	if (status == 0 && call_is_kernel(ip))
		status = enter_kernel(calls, thread, ip, thread->left_ip, sb_enter_interrupt);
	else if (status == 0)
		status = go_on_in_user(calls, thread, ip, thread->left_ip, sb_enter_interrupt);
	return status < 0 ? status : 1;
}

static int add_block(struct sb_calls *calls, struct call_thread *thread, const struct sb_flow *flow,
                     const struct pt_run_block *block, int placed)
{
	uint64_t ninsn = block->ninsn;
	int status = 0;

	if (!placed && !stays(thread, block->ip))
		status = step(calls, thread, block->ip);
	if (calls->consumer.counts && status == 0)
		ninsn = calls->consumer.counts(calls->consumer.context, &thread->public, flow, block);
	thread->ran += block->ninsn;
	thread->counted += ninsn;
	thread->public.ninsn += ninsn;
	thread->last = (struct last_block){.end_ip = block->end_ip,
	                                   .next_ip = block->end_ip + block->length[block->ninsn - 1],
	                                   .iclass = block->iclass};
	return status;
}

void call_add_credit(struct call_thread *thread, uint64_t credit)
{
	enum { MOST = 1 << 20 };

	thread->credit = credit < MOST - thread->credit ? thread->credit + credit : MOST;
}

int call_flow_add(struct sb_calls *calls, struct call_thread *thread, const struct sb_flow *flow)
{
	int status = replace_program(calls, thread, flow), placed;

	call_add_credit(thread, flow->calls ? flow->calls->credit : call_credit(flow->ninsn));
	placed = status < 0 ? status : begin_flow(calls, thread, flow);
	thread->left_ip = flow->left_ip;
	if (placed < 0)
		return placed;
	for (uint32_t i = 0; i < flow->npaths; ++i)
		for (uint32_t k = 0; k < flow->path[i]->nblocks; ++k) {
			status = add_block(calls, thread, flow, &flow->path[i]->block[k], placed);
			if (status < 0)
				return status;
			placed = 0;
		}
	status = call_tell_run(calls, thread);
	return status == 0 && flow->calls ? call_take(calls, thread, flow) : status;
}
