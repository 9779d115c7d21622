/* call_routines.c - goroutines: stacks that Go's scheduler takes turns with. See call_internal.h.
 *
 * A goroutine gives up its turn by a call of runtime.mcall, which goes to the thread's own stack and calls
 * what decides what is next; runtime.morestack does so when a stack is full. Its turn comes again, maybe on
 * another thread, by a jump of gogo to where that call would have returned to. So the frames of a goroutine
 * lie on top of those that its thread leaves on its own stack for good; they are put aside as soon as
 * somebody else may take them, and those of the scheduler go when it has decided. The functions of Go's
 * runtime are known by their names. */
#include "replay/call_internal.h"

enum { SYSTEM_DEPTH = 256 /* frames of a thread's own stack, at most */ };

static uint32_t traits_at(const struct call_thread *thread, uint32_t index)
{
	return known_function(thread->public.frame[index].function)->traits;
}

/* The traits of the function at @ip, or none. */
static uint32_t traits_of(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	struct call_place *place = call_places_at(calls->places, &thread->public, ip);
	const struct known_function *function =
	        place && place->name ? call_places_function(calls->places, place, 0) : NULL;

	return function ? function->traits : 0;
}

/* The first frame on the thread's own stack that is not there for good; nothing of a goroutine is above it.
 */
static uint32_t find_system(const struct call_thread *thread)
{
	uint32_t at = thread->public.depth;

	for (uint32_t i = 0; at && i < SYSTEM_DEPTH; ++i) {
		at -= 1;
		if (thread->public.frame[at].flags & frame_system || traits_at(thread, at) & trait_starts)
			return at;
		if (thread->public.frame[at].flags & frame_base)
			return at + 1 < thread->public.depth ? at + 1 : at;
	}
	return at;
}

/* The goroutine's first frame. */
static uint32_t find_base(const struct call_thread *thread)
{
	uint32_t at = thread->public.depth;

	while (at && !(thread->public.frame[at - 1].flags & frame_base))
		at -= 1;
	return at ? at - 1 : 0;
}

/* The goroutine that runs waits, or has ended. */
static int park(struct sb_calls *calls, struct call_thread *thread, uint32_t traits)
{
	const uint32_t base = find_base(thread);
	const uint64_t before = calls->time;
	int status;

	thread->parked = 0;
	thread->may_park = 0;
	if (traits & trait_ends) {
		call_end_loan(calls, thread->public.frame[base].loan);
		return call_leave_to(calls, thread, base, sb_leave_unwound);
	}
	status = call_put_aside(calls, thread, base);
	if (calls->time != before)
		thread->parked = calls->time;
	return status;
}

static int enter_system(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	const struct new_frame new = {.ip = ip,
	                              .from_ip = thread->last.end_ip,
	                              .return_ip = thread->last.next_ip,
	                              .how = sb_enter_call,
	                              .flags = frame_system};
	const int status = call_enter(calls, thread, &new);

	return status < 0 ? status : 1;
}

/* The scheduler is called, maybe with a goroutine that was to get a larger stack, and does not go on. */
static int give_up(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	const uint32_t traits = traits_of(calls, thread, ip), system = find_system(thread);
	int status;

	if (!system || !(traits_at(thread, system - 1) & trait_grows)) {
		thread->may_park = 0;
		return 0;
	}
	if (!(traits & (trait_gives_up | trait_ends)))
		return 0;
	status = call_leave_to(calls, thread, system, sb_leave_unwound);
	if (status == 0)
		status = park(calls, thread, traits);
	return status < 0 ? status : enter_system(calls, thread, ip);
}

int call_routine_call(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	const uint32_t traits = traits_at(thread, thread->public.depth - 1);
	int status = 0;

	if (!(traits & (trait_parks | trait_grows)))
		return thread->may_park ? give_up(calls, thread, ip) : 0;
	if (traits & trait_parks)
		status = park(calls, thread, traits_of(calls, thread, ip));
	else
		thread->may_park = 1;
	return status < 0 ? status : enter_system(calls, thread, ip);
}

int call_routine_return(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	const struct sb_call_frame *top = sb_calls_top(&thread->public);
	const struct new_frame found = {.ip = ip, .how = sb_enter_found, .flags = frame_base, .unsure = 1};
	int status;

	if (!(top->flags & frame_base) || top->return_ip)
		return 0;
	if (traits_of(calls, thread, ip) & trait_outermost) {
		status = call_replace(calls, thread, ip, sb_leave_return, sb_enter_jump);
		return status < 0 ? status : 1;
	}
	if (top->loan || call_find_code(thread, thread->public.depth - 1, ip) != call_nowhere)
		return 0;
	/* It was not seen when it began, or was forgotten. */
	calls->doubts.found += 1;
	status = call_leave(calls, thread, sb_leave_return);
	if (status == 0)
		status = call_enter(calls, thread, &found);
	return status < 0 ? status : 1;
}

/* ---- Going on ---------------------------------------------------------------------------------- */

static int begin_routine(struct sb_calls *calls, struct call_thread *thread, uint32_t system, uint64_t ip,
                         enum sb_enter how)
{
	const struct new_frame new = {.ip = ip,
	                              .from_ip = thread->last.end_ip,
	                              .how = how,
	                              .flags = frame_base,
	                              .unsure = how == sb_enter_found};
	const int status = call_leave_to(calls, thread, system, sb_leave_unwound);

	return status < 0 ? status : call_enter(calls, thread, &new);
}

/* A goroutine comes in the place of the scheduler, to go on in its innermost frame's caller or, when that is
 * not where @ip is, in the innermost frame that has it. */
static int go_on(struct sb_calls *calls, struct call_thread *thread, uint32_t system,
                 struct call_segment *segment, int guess, uint64_t ip)
{
	int status = call_leave_to(calls, thread, system + 1, sb_leave_unwound);
	uint32_t depth;

	if (status < 0)
		return status;
	sb_calls_top(&thread->public)->return_ip = 0;
	status = call_bring_back(calls, thread, segment, segment->depth - 1, guess);
	if (status < 0)
		return status;
	thread->loan.kind = loan_routine;
	if (sb_calls_top(&thread->public)->return_ip == ip) {
		status = call_leave(calls, thread, sb_leave_return);
	} else { /* from a panic */
		depth = call_find_code(thread, thread->public.depth, ip);
		if (depth != call_nowhere)
			status = call_leave_to(calls, thread, depth, sb_leave_unwound);
	}
	return status < 0 ? status : call_settle(calls, thread, ip);
}

static struct call_segment *find_parked(struct sb_calls *calls, const struct call_thread *thread)
{
	for (size_t i = 0; thread->parked && i < call_segments; ++i)
		if (calls->segment[i].depth && calls->segment[i].used == thread->parked)
			return &calls->segment[i];
	return NULL;
}

/* The one whose turn it is. NULL: it was not seen before. */
static struct call_segment *find_next(struct sb_calls *calls, const struct call_thread *thread, uint64_t ip,
                                      int *guess)
{
	uint32_t index;
	struct call_segment *segment = call_find_segment(calls, thread, ip, &index, guess);

	return segment && index + 1 == segment->depth ? segment : NULL;
}

static int go(struct sb_calls *calls, struct call_thread *thread, uint32_t system, int is_chosen, uint64_t ip)
{
	struct call_segment *segment;
	int guess = 0, begins;

	/* It got a larger stack. */
	if (!is_chosen && system && traits_at(thread, system - 1) & trait_grows) {
		int status = call_leave_to(calls, thread, system, sb_leave_unwound);

		if (status == 0)
			status = call_leave(calls, thread, sb_leave_return);
		return status == 0 ? call_settle(calls, thread, ip) : status;
	}
	begins = is_chosen ? call_begins_at(calls, thread, ip) : 0;
	if (begins)
		return begins < 0 ? begins : begin_routine(calls, thread, system, ip, sb_enter_tail);
	segment = is_chosen ? find_next(calls, thread, ip, &guess) : find_parked(calls, thread);
	if (segment) {
		calls->doubts.switched += 1;
		return go_on(calls, thread, system, segment, guess, ip);
	}
	calls->doubts.found += 1;
	return begin_routine(calls, thread, system, ip, sb_enter_found);
}

/* The one that waited for longest of those that would have gone on as the loaned one did, and then return to
 * @ip. */
static struct call_segment *find_instead(struct sb_calls *calls, const struct call_thread *thread,
                                         const struct call_segment *loaned, int is_end, uint64_t ip,
                                         int *guess)
{
	const uint32_t above = thread->loan.above, left = thread->public.depth - thread->loan.at,
	               count = loaned->depth - above - left;
	struct call_segment *best = NULL, *last_resort = NULL;

	*guess = calls->has_forgotten;
	for (struct call_segment *at = calls->segment; at < calls->segment + call_segments; ++at) {
		const uint32_t index = at->depth - above - count - 1;

		if (at == loaned || !at->depth || at->pid != loaned->pid ||
		    !call_goes_on_like(at, loaned, above, count))
			continue;
		if (at->depth <= above + count ||
		    !(index || !is_end ? at->frame[index].return_ip == ip : !at->frame[0].return_ip)) {
			*guess |= call_may_return(at, above + count, ip);
			continue;
		}
		*guess |= at->loaned || at->frame[index].flags & frame_doubted ||
		          (best && (at->depth != best->depth || !call_is_equal(at, best, index)));
		if (at->loaned)
			last_resort = at;
		else if (!best || at->used < best->used)
			best = at;
	}
	return best ? best : last_resort;
}

/* Another stack was meant than the one that was guessed, which has got so far. */
static int correct(struct sb_calls *calls, struct call_thread *thread, const struct call_segment *loaned,
                   uint64_t ip)
{
	const struct new_frame found = {.ip = ip, .how = sb_enter_found, .flags = frame_base, .unsure = 1};
	const int is_end = (traits_of(calls, thread, ip) & trait_outermost) != 0;
	const uint32_t gone = loaned->depth - (thread->public.depth - thread->loan.at);
	const enum call_loan kind = thread->loan.kind;
	int guess, status;
	struct call_segment *segment = find_instead(calls, thread, loaned, is_end, ip, &guess);

	status = call_take_back(calls, thread, thread->loan.at);
	if (status < 0)
		return status;
	thread->loan.number = 0;
	sb_calls_top(&thread->public)->loan = 0;
	calls->doubts.switched += 1;
	if (!segment) {
		calls->doubts.found += 1;
		status = call_leave(calls, thread, sb_leave_lost);
		return status == 0 ? call_enter(calls, thread, &found) : status;
	}
	status = call_bring_back(calls, thread, segment, segment->depth - gone - 1, guess);
	thread->loan.kind = kind;
	if (status == 0 && is_end)
		return call_replace(calls, thread, ip, sb_leave_return, sb_enter_jump);
	if (status == 0)
		status = call_leave(calls, thread, sb_leave_return);
	return status == 0 ? call_settle(calls, thread, ip) : status;
}

int call_routine_correct(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	const uint32_t depth = thread->public.depth, at = thread->loan.at;
	const struct call_segment *loaned;
	int status;

	if (!thread->loan.number || thread->loan.kind == loan_plain || depth <= at ||
	    depth - at > thread->loan.left || thread->public.frame[at].loan != thread->loan.number)
		return 0;
	loaned = call_find_loan(calls, thread->loan.number);
	if (!loaned)
		return 0;
	status = correct(calls, thread, loaned, ip);
	return status < 0 ? status : 1;
}

int call_routine_jump(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	uint32_t system;
	int is_chosen = 0, status;

	if (!(traits_at(thread, thread->public.depth - 1) & trait_goes) || thread->last.iclass != ptic_jump ||
	    traits_of(calls, thread, ip) & trait_goes)
		return 0;
	system = find_system(thread);
	for (uint32_t i = system; i < thread->public.depth; ++i)
		is_chosen |= (traits_at(thread, i) & trait_chooses) != 0;
	status = go(calls, thread, system, is_chosen, ip);
	thread->parked = 0;
	thread->may_park = 0;
	return status < 0 ? status : 1;
}
