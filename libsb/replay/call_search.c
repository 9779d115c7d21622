/* call_search.c - where in the stack, or on which other one, execution went on. See call_internal.h. */
#include "replay/call_internal.h"

/* Whether one more frame may be looked at. */
static int may_look(struct call_thread *thread)
{
	if (!thread->credit)
		return 0;
	thread->credit -= 1;
	return 1;
}

/* The kernel does not return to user space by a near return. */
uint32_t call_find_return(struct call_thread *thread, uint64_t ip)
{
	for (uint32_t i = thread->public.depth; i-- && may_look(thread);) {
		const struct sb_call_frame *frame = &thread->public.frame[i];

		if (frame->flags & frame_kernel)
			break;
		if (frame->return_ip == ip && !(frame->flags & frame_signal))
			return i;
	}
	return call_nowhere;
}

uint32_t call_find_code(struct call_thread *thread, uint32_t depth, uint64_t ip)
{
	for (uint32_t i = depth; i-- && may_look(thread);) {
		const struct sb_call_frame *frame = &thread->public.frame[i];

		if (frame->function->name && ip >= frame->low && ip < frame->high)
			return i + 1;
		if (frame->flags & frame_kernel)
			break;
	}
	return call_nowhere;
}

uint32_t call_find_landing(const struct call_thread *thread, uint64_t ip, uint32_t *least)
{
	uint32_t depth = call_nowhere;

	*least = call_nowhere;
	for (size_t i = thread->nlandings; i--;) {
		if (thread->landing[i].ip != ip)
			continue;
		*least = thread->landing[i].depth;
		if (depth == call_nowhere)
			depth = *least;
	}
	return depth;
}

/* The innermost frame of a segment that should return to @ip. */
static uint32_t find_in(const struct call_segment *segment, uint64_t ip)
{
	for (uint32_t i = segment->depth; i--;)
		if (segment->frame[i].return_ip == ip)
			return i;
	return call_nowhere;
}

/* Whether two stacks look the same up to a frame. */
int call_is_equal(const struct call_segment *a, const struct call_segment *b, uint32_t index)
{
	for (uint32_t i = 0; i <= index; ++i)
		if ((a->frame[i].flags | b->frame[i].flags) & frame_doubted ||
		    a->frame[i].function != b->frame[i].function ||
		    (i && a->frame[i].return_ip != b->frame[i].return_ip))
			return 0;
	return 1;
}

uint64_t call_forgotten_bit(uint64_t ip, size_t *word)
{
	const uint64_t hash = ip * 0x9e3779b97f4a7c15;

	*word = hash >> 60;
	return UINT64_C(1) << (hash >> 54 & 63);
}

static int is_forgotten(const struct sb_calls *calls, uint64_t ip)
{
	size_t word;
	const uint64_t bit = call_forgotten_bit(ip, &word);

	return (calls->forgotten[word] & bit) != 0;
}

/* Whether the frame is doubted that would be the one behind the innermost @above. */
static int is_doubted(const struct call_segment *segment, uint32_t above)
{
	const uint32_t index = segment->depth > above ? segment->depth - above - 1 : 0;

	return (segment->frame[index].flags & frame_doubted) != 0;
}

int call_goes_on_like(const struct call_segment *a, const struct call_segment *b, uint32_t above,
                      uint32_t count)
{
	for (uint32_t i = above; i < above + count; ++i) {
		if (is_doubted(a, i) || is_doubted(b, i))
			return 1;
		if (a->depth <= i || b->depth <= i ||
		    a->frame[a->depth - i - 1].return_ip != b->frame[b->depth - i - 1].return_ip)
			return 0;
	}
	return 1;
}

int call_may_return(const struct call_segment *segment, uint32_t above, uint64_t ip)
{
	if (is_doubted(segment, above))
		return 1;
	return segment->depth > above && segment->frame[segment->depth - above - 1].return_ip == ip;
}

int call_find_other(const struct sb_calls *calls, const struct call_segment *segment, uint32_t above,
                    uint32_t index)
{
	const uint32_t end = segment->depth - above;

	if (is_forgotten(calls, segment->frame[end - 1].return_ip))
		return 1;
	for (size_t i = 0; i < call_segments; ++i) {
		const struct call_segment *other = &calls->segment[i];

		if (other != segment && other->depth && other->pid == segment->pid &&
		    call_goes_on_like(other, segment, above, end - index) &&
		    (other->depth != segment->depth || !call_is_equal(other, segment, end - 1)))
			return 1;
	}
	return 0;
}

/* Of those where the innermost frame is the one, the one that waits for longest: as schedulers have it. */
struct call_segment *call_find_segment(struct sb_calls *calls, const struct call_thread *thread, uint64_t ip,
                                       uint32_t *index, int *several)
{
	struct call_segment *best = NULL;
	uint32_t best_above = 0;
	int doubt = 0;

	*several = 0;
	for (size_t i = 0; i < call_segments; ++i) {
		struct call_segment *segment = &calls->segment[i];
		uint32_t at, above;

		if (!segment->depth || segment->pid != thread->public.pid)
			continue;
		at = find_in(segment, ip);
		if (at == call_nowhere)
			continue;
		if (segment->loaned) { /* if that was wrong */
			doubt |= at + 1 == segment->depth;
			continue;
		}
		above = segment->depth - 1 - at;
		if (best && above == best_above && (at != *index || !call_is_equal(segment, best, at)))
			*several = 1;
		if (best && (above > best_above || (above == best_above && segment->used > best->used)))
			continue;
		if (best && above < best_above)
			*several = 0;
		best = segment;
		best_above = above;
		*index = at;
	}
	*several |= doubt || (best_above ? calls->has_forgotten : is_forgotten(calls, ip));
	return best;
}

struct call_segment *call_find_waiting(struct sb_calls *calls, int32_t pid, uint64_t ip, uint32_t *count)
{
	struct call_segment *best = NULL;

	*count = is_forgotten(calls, ip) ? 1 : 0;
	for (size_t i = 0; i < call_segments; ++i) {
		struct call_segment *segment = &calls->segment[i];

		if (!segment->depth || segment->pid != pid || !call_may_return(segment, 0, ip))
			continue;
		if (!best || segment->loaned || best->depth != segment->depth ||
		    !call_is_equal(segment, best, segment->depth - 1))
			*count += 1;
		if (!segment->loaned && segment->frame[segment->depth - 1].return_ip == ip &&
		    (!best || segment->used < best->used))
			best = segment;
	}
	return best;
}
