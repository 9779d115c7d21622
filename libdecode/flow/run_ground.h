/* What paths of the run cache stand on: that certain sections are mapped at certain addresses.
 *
 * A path is right wherever that is so, whatever else is mapped: in another image, after a change of this one,
 * in another address space. So whatever stands in every image, like a kernel, keeps its paths from process to
 * process. Whether the mappings of a ground are there is looked up once for each view, an image's generation
 * with an address space, and is one load from then on. Only the last views are remembered.
 *
 * No filler is asked: what is not mapped yet, the flow has to come to first.
 */
#ifndef PT_RUN_GROUND_H
#define PT_RUN_GROUND_H

#include "code/image.h"

enum { pt_ground_max = 4, pt_run_views = 64 };

/* A section belongs to one section cache at most: where it stands tells its isid, too. */
struct pt_run_mapping {
	uint64_t section; /* its number */
	uint64_t begin;
};

struct pt_run_ground {
	struct pt_run_mapping mapping[pt_ground_max];
	uint32_t count;
};

/* What addresses mean. */
struct pt_run_view {
	uint64_t generation, cr3, vmcs;
	bool is_sure; /* see pt_image_is_sure() */
};

enum pt_ground_state { pt_ground_unknown, pt_ground_stands, pt_ground_differs };

struct pt_run_grounds {
	struct pt_run_ground *ground; /* owned; by number */
	uint16_t *slot;               /* owned; open addressing: numbers, plus one; half of them free */
	uint32_t count, capacity;

	struct pt_run_view view[pt_run_views];
	uint8_t *state; /* owned: enum pt_ground_state, of capacity grounds for each view */

	/* The present view, and its states. */
	const struct pt_run_view *present;
	uint8_t *present_state;
	uint64_t turn;                /* counts changes of the view; not zero */
	const struct pt_image *image; /* borrowed */
};

/* Zero or -pte_nomem. */
int pt_grounds_init(struct pt_run_grounds *grounds);
void pt_grounds_fini(struct pt_run_grounds *grounds);
void pt_grounds_clear(struct pt_run_grounds *grounds);

/* Takes the mapping that holds @ip in the present view into @ground. NULL: there is none, or no room. */
const struct pt_mapping *pt_ground_take(struct pt_run_ground *ground, const struct pt_run_grounds *grounds,
                                        uint64_t ip);

/* The number of @ground; made at first use. Negative: there is no room. */
int pt_grounds_number(struct pt_run_grounds *grounds, const struct pt_run_ground *ground);

/* ---- Between run_ground.c and the following ------------------------------------------------------- */

bool pt_grounds_change_view(struct pt_run_grounds *grounds, const struct pt_image *image,
                            const struct pt_asid *asid);
bool pt_grounds_look(const struct pt_run_grounds *grounds, uint32_t number);

/* From now on, @asid in @image, as it is now, is looked at; both stay as long. False: what paths stand on
 * cannot be told there. */
static inline bool pt_grounds_view(struct pt_run_grounds *grounds, const struct pt_image *image,
                                   const struct pt_asid *asid)
{
	const struct pt_run_view *view = grounds->present;

	if (view->generation == pt_image_generation(image) && view->cr3 == asid->cr3 &&
	    view->vmcs == asid->vmcs)
		return view->is_sure;
	return pt_grounds_change_view(grounds, image, asid);
}

/* Whether the ground with that number stands in the present view. */
static inline bool pt_ground_stands_here(const struct pt_run_grounds *grounds, uint32_t number)
{
	const uint8_t state = grounds->present_state[number];

	return __builtin_expect(state == pt_ground_stands, 1) ||
	       (state == pt_ground_unknown && pt_grounds_look(grounds, number));
}

#endif
