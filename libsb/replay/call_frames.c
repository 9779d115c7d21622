/* call_frames.c - frames come and go, and the consumer is told. See call_internal.h. */
#include <stdlib.h>
#include <string.h>

#include "replay/call_internal.h"

enum {
	FRAMES_ASIDE = 1 << 16, /* at most, in all segments */
	SEGMENT_DEPTH = 1 << 14 /* what is deeper is not put aside */
};

int call_tell_run(struct sb_calls *calls, struct call_thread *thread)
{
	const uint64_t ran = thread->ran, counted = thread->counted;

	thread->ran = thread->counted = 0;
	if (!ran || !calls->consumer.run)
		return 0;
	return calls->consumer.run(calls->consumer.context, &thread->public, counted);
}

static int tell_enter(struct sb_calls *calls, struct call_thread *thread)
{
	return calls->consumer.enter ? calls->consumer.enter(calls->consumer.context, &thread->public) : 0;
}

static int push(struct call_thread *thread, const struct sb_call_frame *frame)
{
	struct sb_call_thread *public = &thread->public;

	if (array_reserve(&public->frame, &thread->frame_capacity, public->depth, sizeof(*frame)) < 0)
		return -sbe_nomem;
	public->frame[public->depth++] = *frame;
	thread->low = frame->low;
	thread->high = frame->high;
	return 0;
}

/* What is known of the function at @ip goes into @frame. */
static int find_function(struct sb_calls *calls, struct call_thread *thread, struct sb_call_frame *frame)
{
	struct call_place *place;
	const struct known_function *function = call_places_entered(
	        calls->places, &thread->public, frame->ip, call_is_called((enum sb_enter)frame->how), &place);

	if (!function)
		return -sbe_nomem;
	frame->function = &function->public;
	frame->begin = place->begin;
	frame->low = place->low;
	frame->high = place->high;
	return 0;
}

/* setjmp returns to its caller more than once. */
static int note_landing(struct call_thread *thread)
{
	const struct sb_call_frame *top = sb_calls_top(&thread->public);

	if (!(known_function(top->function)->traits & trait_sets_jump) || !top->return_ip ||
	    thread->public.depth < 2)
		return 0;
	for (size_t i = thread->nlandings; i-- && thread->landing[i].depth == thread->public.depth - 1;)
		if (thread->landing[i].ip == top->return_ip)
			return 0;
	if (array_reserve(&thread->landing, &thread->landing_capacity, thread->nlandings,
	                  sizeof(*thread->landing)) < 0)
		return -sbe_nomem;
	thread->landing[thread->nlandings++] =
	        (struct call_landing){.ip = top->return_ip, .depth = thread->public.depth - 1};
	return 0;
}

int call_enter(struct sb_calls *calls, struct call_thread *thread, const struct new_frame *new)
{
	struct sb_call_frame frame = {.ip = new->ip,
	                              .from_ip = new->from_ip,
	                              .return_ip = new->return_ip,
	                              .tsc = thread->public.tsc,
	                              .how = (uint8_t) new->how,
	                              .unsure = new->unsure || calls->options.holes,
	                              .flags = new->flags};
	int status;

	if (thread->public.depth >= calls->options.max_depth) {
		frame.unsure = 1;
		calls->doubts.lost += thread->public.depth;
		status = call_leave_to(calls, thread, 0, sb_leave_lost);
	} else {
		status = call_tell_run(calls, thread);
	}
	if (status == 0)
		status = find_function(calls, thread, &frame);
	frame.ninsn = thread->public.ninsn;
	if (status == 0)
		status = push(thread, &frame);
	if (status == 0)
		status = note_landing(thread);
	return status == 0 ? tell_enter(calls, thread) : status;
}

int call_leave(struct sb_calls *calls, struct call_thread *thread, enum sb_leave how)
{
	struct sb_call_thread *public = &thread->public;
	int status = call_tell_run(calls, thread);

	if (status == 0 && calls->consumer.leave)
		status = calls->consumer.leave(calls->consumer.context, public, how);
	public->depth -= 1;
	while (thread->nlandings && thread->landing[thread->nlandings - 1].depth > public->depth)
		thread->nlandings -= 1;
	thread->low = public->depth ? sb_calls_top(public)->low : 0;
	thread->high = public->depth ? sb_calls_top(public)->high : 0;
	return status;
}

int call_leave_to(struct sb_calls *calls, struct call_thread *thread, uint32_t depth, enum sb_leave how)
{
	int status = 0;

	while (status == 0 && thread->public.depth > depth)
		status = call_leave(calls, thread, how);
	return status;
}

int call_replace(struct sb_calls *calls, struct call_thread *thread, uint64_t ip, enum sb_leave left,
                 enum sb_enter entered)
{
	const struct sb_call_frame old = *sb_calls_top(&thread->public);
	const struct new_frame new = {.ip = ip,
	                              .from_ip = thread->last.end_ip,
	                              .return_ip = old.return_ip,
	                              .how = entered,
	                              .flags = old.flags & (uint8_t)~frame_internal,
	                              .unsure = old.unsure};
	int status = call_look_at_new(calls, thread, ip, entered);

	if (status == 0)
		status = call_leave(calls, thread, left);
	return status == 0 ? call_enter(calls, thread, &new) : status;
}

/* ---- Other stacks ------------------------------------------------------------------------------ */

static void drop(struct call_segment *segment)
{
	free(segment->frame);
	*segment = (struct call_segment){0};
}

void call_segments_free(struct sb_calls *calls)
{
	for (size_t i = 0; i < call_segments; ++i)
		drop(&calls->segment[i]);
}

static void forget(struct sb_calls *calls, struct call_segment *segment)
{
	size_t word;
	const uint64_t bit = call_forgotten_bit(segment->frame[segment->depth - 1].return_ip, &word);

	calls->forgotten[word] |= bit;
	calls->has_forgotten = 1;
	drop(segment);
}

/* A free one; those that were not used for longest make room. */
static struct call_segment *free_segment(struct sb_calls *calls, uint32_t depth)
{
	for (;;) {
		struct call_segment *unused = NULL, *oldest = NULL;
		uint64_t frames = depth;

		for (size_t i = 0; i < call_segments; ++i) {
			struct call_segment *segment = &calls->segment[i];

			frames += segment->depth;
			if (!segment->depth)
				unused = segment;
			else if (!oldest || segment->used < oldest->used)
				oldest = segment;
		}
		if (unused && frames <= FRAMES_ASIDE)
			return unused;
		forget(calls, oldest);
	}
}

struct call_segment *call_find_loan(struct sb_calls *calls, uint32_t loan)
{
	for (size_t i = 0; loan && i < call_segments; ++i)
		if (calls->segment[i].loaned && calls->segment[i].loan == loan)
			return &calls->segment[i];
	return NULL;
}

/* The outermost @count frames may be those of another stack. */
static void doubt_frames(struct sb_call_frame *frame, uint32_t count)
{
	for (uint32_t i = 0; i < count; ++i) {
		frame[i].unsure = 1;
		frame[i].flags |= frame_doubted;
	}
}

/* Stacks that would have gone on as this one did up to now may be what really ran; then it waits in their
 * place. */
static void doubt_others(struct sb_calls *calls, const struct call_segment *loaned, uint32_t above,
                         uint32_t count)
{
	for (size_t i = 0; i < call_segments; ++i) {
		struct call_segment *other = &calls->segment[i];

		if (other == loaned || !other->depth || other->pid != loaned->pid ||
		    !call_goes_on_like(other, loaned, above, count))
			continue;
		for (uint32_t k = 0; k < other->depth; ++k)
			other->frame[k].unsure = 1;
		doubt_frames(other->frame, other->depth > above + count ? other->depth - above - count : 0);
	}
}

/* A stack is put aside that came back as a guess, and begins at @index: what it was then is done with. Not so
 * of a goroutine: while it is not known whether it was that one, it may wait still. */
static void end_guess(struct sb_calls *calls, const struct call_thread *thread, uint32_t index)
{
	struct sb_call_frame *frame = thread->public.frame + index;
	struct call_segment *segment = call_find_loan(calls, frame->loan);
	const int is_last = segment && thread->loan.number == segment->loan;
	const uint32_t depth = thread->public.depth - index;
	uint32_t above = 0, count = 0, left = 0;

	if (!segment || (is_last && thread->loan.kind == loan_routine))
		return;
	if (is_last) {
		above = thread->loan.above;
		count = segment->depth - above - thread->loan.left;
		left = thread->loan.left < depth ? thread->loan.left : depth;
	}
	while (!is_last && left < depth && frame[left].unsure)
		left += 1;
	doubt_frames(frame, left);
	doubt_others(calls, segment, above, count ? count : 1);
	drop(segment);
}

/* A copy of the frames from @index up to @end. On the stack that they are waits whoever is below another one:
 * in the function that went there. */
static int keep_segment(struct sb_calls *calls, const struct call_thread *thread, uint32_t index,
                        uint32_t end)
{
	const struct sb_call_frame *frame = thread->public.frame;
	const uint32_t waits = end < thread->public.depth && frame[end].return_ip,
	               depth = end - index + waits;
	struct call_segment *segment;

	end_guess(calls, thread, index);
	calls->time += 1;
	if (depth > SEGMENT_DEPTH)
		return 0;
	segment = free_segment(calls, depth);
	segment->frame = calloc(depth, sizeof(*segment->frame));
	if (!segment->frame)
		return -sbe_nomem;
	memcpy(segment->frame, frame + index, (end - index) * sizeof(*frame));
	if (waits) {
		segment->frame[depth - 1] = calls->switcher.function ? calls->switcher : frame[end];
		segment->frame[depth - 1].return_ip = frame[end].return_ip;
		segment->frame[depth - 1].unsure = frame[end].unsure;
	}
	segment->frame[0].flags |= frame_base;
	segment->frame[0].loan = 0;
	segment->depth = depth;
	segment->pid = thread->public.pid;
	segment->used = calls->time;
	return 0;
}

int call_keep_aside(struct sb_calls *calls, struct call_thread *thread, uint32_t depth)
{
	int status = 0;

	for (uint32_t index = depth, end; status == 0 && index < thread->public.depth; index = end) {
		end = index + 1;
		while (end < thread->public.depth && !(thread->public.frame[end].flags & frame_base))
			end += 1;
		status = keep_segment(calls, thread, index, end);
	}
	return status;
}

int call_put_aside(struct sb_calls *calls, struct call_thread *thread, uint32_t depth)
{
	const int status = call_keep_aside(calls, thread, depth);

	return status == 0 ? call_leave_to(calls, thread, depth, sb_leave_switched) : status;
}

static int bring_frame(struct sb_calls *calls, struct call_thread *thread, struct sb_call_frame frame)
{
	int status;

	frame.how = sb_enter_again;
	frame.tsc = thread->public.tsc;
	frame.ninsn = thread->public.ninsn;
	frame.note = (union sb_calls_note){0};
	status = push(thread, &frame);
	return status == 0 ? tell_enter(calls, thread) : status;
}

int call_take_back(struct sb_calls *calls, struct call_thread *thread, uint32_t index)
{
	struct call_segment *segment = call_find_loan(calls, thread->public.frame[index].loan);

	if (segment)
		segment->loaned = 0;
	calls->doubts.lost += thread->public.depth - index;
	return call_leave_to(calls, thread, index + 1, sb_leave_lost);
}

int call_bring_back(struct sb_calls *calls, struct call_thread *thread, struct call_segment *segment,
                    uint32_t index, int guess)
{
	const struct sb_call_frame old = *sb_calls_top(&thread->public);
	struct sb_call_frame *const frame = segment->frame;
	int status = call_leave(calls, thread, sb_leave_switched);

	thread->loan.number = 0;
	thread->loan.kind = loan_plain;
	if (guess) {
		segment->loaned = 1;
		segment->loan = thread->loan.number = ++calls->loans;
		thread->loan.at = thread->public.depth;
		thread->loan.left = index + 1;
		thread->loan.above = segment->depth - 1 - index;
	}
	for (uint32_t i = 0; status == 0 && i <= index; ++i) {
		struct sb_call_frame again = frame[i];

		/* Whoever switches back returns as the one would have that stood here. */
		if (!i) {
			again.return_ip = old.return_ip;
			again.flags |= old.flags & (frame_kernel | frame_signal);
			again.loan = guess ? segment->loan : 0;
		}
		again.unsure |= (uint8_t)guess;
		if (thread->public.depth >= calls->options.max_depth)
			status = call_leave_to(calls, thread, 0, sb_leave_lost);
		if (status == 0)
			status = bring_frame(calls, thread, again);
	}
	if (!guess)
		drop(segment);
	return status;
}

/* What was only a guess because of the loan is none any more. */
static void confirm(struct call_thread *thread, struct call_segment *segment)
{
	struct sb_call_frame *frame = thread->public.frame + thread->loan.at;

	frame->loan = 0;
	for (uint32_t i = 0; i < thread->loan.left; ++i)
		frame[i].unsure = segment->frame[i].unsure;
	thread->loan.number = 0;
	drop(segment);
}

void call_confirm(struct sb_calls *calls, struct call_thread *thread)
{
	const uint32_t depth = thread->public.depth, at = thread->loan.at;
	struct call_segment *segment;

	if (!thread->loan.number || depth >= at + thread->loan.left)
		return;
	segment = depth > at && thread->public.frame[at].loan == thread->loan.number
	                  ? call_find_loan(calls, thread->loan.number)
	                  : NULL;
	thread->loan.left = depth - at;
	if (!segment)
		thread->loan.number = 0;
	else if (!call_find_other(calls, segment, thread->loan.above, thread->loan.left))
		confirm(thread, segment);
}

void call_end_loan(struct sb_calls *calls, uint32_t loan)
{
	struct call_segment *segment = call_find_loan(calls, loan);

	if (segment)
		drop(segment);
}

void call_end_proof(struct sb_calls *calls, struct call_thread *thread)
{
	struct call_segment *segment;

	if (!thread->loan.number || thread->public.depth >= thread->loan.at + thread->loan.left)
		return;
	segment = call_find_loan(calls, thread->loan.number);
	if (segment)
		doubt_others(calls, segment, 0, 1);
	for (uint32_t i = thread->loan.at; segment && i < thread->public.depth; ++i)
		doubt_frames(&thread->public.frame[i], 1);
	thread->loan.number = 0;
}

int call_has_segments(const struct sb_calls *calls, int32_t pid)
{
	int has = 0;

	for (size_t i = 0; !has && i < call_segments; ++i)
		has = calls->segment[i].depth && calls->segment[i].pid == pid;
	return has;
}

void call_doubt_segments(struct sb_calls *calls, int32_t pid)
{
	for (size_t i = 0; i < call_segments; ++i)
		if (calls->segment[i].pid == pid)
			doubt_frames(calls->segment[i].frame, calls->segment[i].depth);
}
