/* call_sure.c - what depends on no more than the latest frames: for who adds up calls that he does not know
 * the whole stack of. See call_internal.h; nobody else is asked anything. */
#include "replay/call_internal.h"

enum { DEEPEST = 1 << 12 /* frames that are known, at most */ };

int call_look_at_new(struct sb_calls *calls, struct call_thread *thread, uint64_t ip, enum sb_enter how)
{
	const struct known_function *function;
	struct call_place *place;

	if (!calls->cut)
		return 0;
	function = call_places_entered(calls->places, &thread->public, ip, call_is_called(how), &place);
	if (!function)
		return -sbe_nomem;
	if (call_is_ordinary(function, call_is_kernel(ip), 0) && place->from <= thread->since &&
	    thread->public.depth < (uint64_t)thread->base + DEEPEST)
		return 0;
	return call_cut(calls, thread);
}

int call_stays_in(struct sb_calls *calls, const struct call_thread *thread, const struct sb_call_frame *frame,
                  uint64_t ip)
{
	const struct sb_function *is = frame->function;
	struct call_place *place = call_places_at(calls->places, &thread->public, ip);
	const struct known_function *function =
	        place ? call_places_function(calls->places, place, is->name ? 0 : is->address) : NULL;

	if (!function)
		return -sbe_nomem;
	return &function->public == is || call_is_cold_part(function, is);
}

int call_look_below(struct sb_calls *calls, struct call_thread *thread, uint32_t depth, uint64_t ip)
{
	const struct sb_call_frame *frame = thread->public.frame + depth - 1;
	int stays = 0;

	if (!calls->cut)
		return 0;
	if (depth >= thread->base && depth)
		stays = ip >= frame->low && ip < frame->high;
	if (!stays && depth > thread->base)
		stays = call_stays_in(calls, thread, frame, ip);
	return stays > 0 ? 0 : stays < 0 ? stays : call_cut(calls, thread);
}
