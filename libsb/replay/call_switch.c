/* call_switch.c - stacks that take turns by one function. See call_internal.h.
 *
 * swapcontext and the like return where execution comes back to the stack that called them. When one function
 * of a library makes all switches, all stacks wait for a return to one address. If one other stack does, it
 * is that one. If several do, nothing tells which, until one returns further: one of them comes back as a
 * guess, to be confirmed, or put right, by where it returns to (call_confirm(), call_routine_correct()).
 *
 * A stack lies on the one that resumed it, until stacks are seen to take turns so that nobody knows who
 * resumed whom: from then on, each is alone when its turn comes. */
#include "replay/call_internal.h"

/* A stack that waits. */
struct waiting {
	uint32_t count; /* how many there are */
	uint32_t above; /* the frame that lies on it; call_nowhere: it was put aside */
	struct call_segment *segment;
};

/* The first frame of user space, where execution is. */
static uint32_t find_bottom(const struct call_thread *thread)
{
	uint32_t at = thread->public.depth - 1;

	while (at && !(thread->public.frame[at - 1].flags & frame_kernel))
		at -= 1;
	return at;
}

/* Whoever resumed the innermost one is first; then the one that waits for longest, as schedulers have it. */
static struct waiting find_waiting(struct sb_calls *calls, const struct call_thread *thread, uint64_t ip)
{
	const uint32_t bottom = find_bottom(thread);
	struct waiting found = {.above = call_nowhere};

	found.segment = call_find_waiting(calls, thread->public.pid, ip, &found.count);
	for (uint32_t i = thread->public.depth; i-- > bottom + 1;) {
		const struct sb_call_frame *frame = &thread->public.frame[i];

		if (!(frame->flags & frame_base) || frame->return_ip != ip)
			continue;
		found.count += 1;
		if (found.above == call_nowhere)
			found.above = i;
	}
	return found;
}

/* Execution is found on a stack that nobody knows, in the place of the innermost frame. */
static int find_unknown(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	const struct new_frame found = {.ip = ip, .how = sb_enter_found, .flags = frame_base, .unsure = 1};
	const int status = call_leave(calls, thread, sb_leave_switched);

	calls->doubts.found += 1;
	return status == 0 ? call_enter(calls, thread, &found) : status;
}

/* A segment by its .used; NULL: it was forgotten meanwhile. */
static struct call_segment *find_used(struct sb_calls *calls, uint64_t used)
{
	for (size_t i = 0; i < call_segments; ++i)
		if (calls->segment[i].depth && calls->segment[i].used == used)
			return &calls->segment[i];
	return NULL;
}

/* When the stack below the frame at @above will have been put aside. */
static uint64_t used_of(const struct sb_calls *calls, const struct call_thread *thread, uint32_t bottom,
                        uint32_t above)
{
	uint64_t used = calls->time + 1;

	for (uint32_t i = bottom + 1; i < above; ++i)
		used += (thread->public.frame[i].flags & frame_base) != 0;
	return used;
}

/* Puts all stacks of user space aside; one frame stays, for another stack to take its place. */
static int clear(struct sb_calls *calls, struct call_thread *thread, uint32_t bottom)
{
	struct sb_call_frame *place;
	int status = call_keep_aside(calls, thread, bottom);

	if (status == 0)
		status = call_leave_to(calls, thread, bottom + 1, sb_leave_switched);
	place = &thread->public.frame[bottom];
	place->return_ip = 0;
	place->loan = 0;
	place->flags &= (uint8_t)~frame_signal;
	return status;
}

/* The frames of a segment come, up to the one at @index, which returns to @ip. */
static int bring_back(struct sb_calls *calls, struct call_thread *thread, struct call_segment *segment,
                      uint32_t index, int guess, uint64_t ip)
{
	int status = call_bring_back(calls, thread, segment, index, guess);

	if (status == 0)
		status = call_leave(calls, thread, sb_leave_return);
	/* Who is below is not who waited for this. */
	if (status == 0 && thread->public.depth && !(ip >= thread->low && ip < thread->high))
		sb_calls_top(&thread->public)->unsure = 1;
	return status == 0 ? call_settle(calls, thread, ip) : status;
}

/* Who waits comes back, and returns to @ip. */
static int come_back(struct sb_calls *calls, struct call_thread *thread, const struct waiting *waiting,
                     int guess, uint64_t ip)
{
	const uint32_t bottom = find_bottom(thread);
	const uint64_t used = waiting->above != call_nowhere ? used_of(calls, thread, bottom, waiting->above)
	                                                     : waiting->segment->used;
	struct call_segment *segment = waiting->segment;
	int status = 0;

	calls->doubts.switched += 1;
	thread->takes_turns |= guess && waiting->above != call_nowhere;
	if (thread->takes_turns) {
		status = clear(calls, thread, bottom);
		segment = find_used(calls, used);
	}
	if (status == 0 && !segment)
		return find_unknown(calls, thread, ip);
	if (status == 0)
		status = bring_back(calls, thread, segment, segment->depth - 1, guess, ip);
	if (guess)
		thread->loan.kind = loan_turn;
	return status;
}

/* A turn comes back to where the stack was left; nobody else is known to wait there. */
static void doubt_turn(struct sb_calls *calls, struct call_thread *thread, uint32_t traits)
{
	int others = call_has_segments(calls, thread->public.pid) || !(traits & trait_learned);

	for (uint32_t i = 1; i < thread->public.depth; ++i)
		others |= thread->public.frame[i].flags & frame_base;
	if (!others)
		return;
	call_doubt(thread);
	call_doubt_segments(calls, thread->public.pid);
}

int call_turn(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	const struct sb_call_frame *top = sb_calls_top(&thread->public);
	const uint32_t traits = known_function(top->function)->traits;
	const int is_own = top->return_ip == ip;
	struct waiting waiting;
	int status;

	if (!(traits & trait_switches) || call_is_kernel(ip)) /* in the kernel, records say who runs */
		return 0;
	waiting = find_waiting(calls, thread, ip);
	if (waiting.above == call_nowhere && !waiting.segment) {
		if (is_own)
			doubt_turn(calls, thread, traits);
		return 0;
	}
	/* Whether one that is only known by what it did always switches is not known. */
	if (waiting.count > 1 || (is_own && traits & trait_learned)) {
		status = come_back(calls, thread, &waiting, 1, ip);
	} else if (waiting.above != call_nowhere) {
		calls->doubts.switched += 1;
		status = call_put_aside(calls, thread, waiting.above);
		if (status == 0)
			status = call_settle(calls, thread, ip);
	} else {
		status = come_back(calls, thread, &waiting, 0, ip);
	}
	return status < 0 ? status : 1;
}

/* When what was brought back by a guess does not go on as @segment's frame at @index does: takes it back. */
static int correct_guess(struct sb_calls *calls, struct call_thread *thread,
                         const struct call_segment *segment, uint32_t index)
{
	uint32_t base = thread->public.depth;

	if (index + 1 == segment->depth) /* it waits for this: another switch */
		return 0;
	while (base && !(thread->public.frame[base - 1].flags & frame_base))
		base -= 1;
	return base && thread->public.frame[base - 1].loan ? call_take_back(calls, thread, base - 1) : 0;
}

int call_switch_to(struct sb_calls *calls, struct call_thread *thread, uint64_t ip)
{
	struct waiting waiting = {.above = call_nowhere};
	uint32_t index;
	int several, status;

	waiting.segment = call_find_segment(calls, thread, ip, &index, &several);
	if (!waiting.segment)
		return 0;
	if (index + 1 == waiting.segment->depth && !call_is_kernel(ip)) {
		call_find_waiting(calls, thread->public.pid, ip, &waiting.count);
		status = come_back(calls, thread, &waiting, several || waiting.count > 1, ip);
		return status < 0 ? status : 1;
	}
	calls->doubts.switched += 1;
	status = correct_guess(calls, thread, waiting.segment, index);
	if (status == 0)
		status = bring_back(calls, thread, waiting.segment, index, several, ip);
	return status < 0 ? status : 1;
}
