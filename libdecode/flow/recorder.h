/* Recording: what the flow does along a window of trace, so that the run cache can do it the next time; and
 * the places where flow and run cache meet.
 *
 * Whoever records walks the flow himself, and keeps what it hands out; the recorder notes all else.
 */
#ifndef PT_RECORDER_H
#define PT_RECORDER_H

#include "flow/flow.h"
#include "flow/run_cache.h"

struct pt_recorder {
	struct pt_run_record record;      /* all but what is handed out along the way */
	struct pt_return_stack before;    /* the return stack where it begins */
	const uint8_t *until;             /* the window's end, without PADs */
	uint32_t pads;                    /* and how many of them belong to it */
	uint64_t generation;              /* of the image */
	const struct pt_mapping *mapping; /* of the block that was passed last; NULL: none was */
};

/* Begins where the flow stands, at the place with that number, with a window of @size bytes without PADs;
 * recorder->until, and pads if there are any, are for the caller to set. Zero: such a window was not met
 * there often enough. */
int pt_recorder_begin(struct pt_recorder *recorder, struct pt_flow *flow, struct pt_run_cache *cache,
                      uint32_t place, uint64_t window, uint32_t size);

/* The way led through blocks which all have a section. Zero: it cannot be kept: it went through too many
 * mappings, or an observer changed what is mapped. */
int pt_recorder_pass(struct pt_recorder *recorder, const struct pt_flow *flow, struct pt_run_cache *cache,
                     const struct pt_run_block *block, uint32_t count);

/* The flow has come to the window's end; it goes over its PADs. Zero: it did not, or came there in a way that
 * cannot be kept. */
int pt_recorder_end(struct pt_recorder *recorder, struct pt_flow *flow, struct pt_run_cache *cache);

/* Where the TIPs end that the window's TNT may have deferred: at its end, if it is not one. @end: of the
 * trace.
 */
const uint8_t *pt_recorder_deferred(const struct pt_recorder *recorder, const uint8_t *end);

/* What the way so far did to the return stack, which is @after. Zero: too much to be kept. */
int pt_recorder_effect(const struct pt_recorder *recorder, const struct pt_return_stack *after,
                       struct pt_stack_effect *effect);

/* If the unit is ahead of the flow, it will be read again: there is none now. */
void pt_flow_give_unit_back(struct pt_flow *flow);

/* Whether nothing but place, trace, last IP and return stack says how the flow goes on. */
int pt_flow_is_plain(const struct pt_flow *flow);

/* The number of the place where the flow stands, without a unit; negative: there is no room. */
int64_t pt_flow_place(const struct pt_flow *flow, struct pt_run_cache *cache);

/* Puts the flow there. Observers are not told. */
void pt_flow_stand_at(struct pt_flow *flow, const struct pt_run_place *place);

#endif
