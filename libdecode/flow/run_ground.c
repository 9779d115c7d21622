/* run_ground.c - see run_ground.h. */
#include "flow/run_ground.h"

#include <stdlib.h>
#include <string.h>

enum { first_capacity = 32, max_grounds = 4096 };

/* Gives @grounds room for @capacity; what is known of views is forgotten. */
static int make_room(struct pt_run_grounds *grounds, uint32_t capacity)
{
	struct pt_run_ground *ground = realloc(grounds->ground, capacity * sizeof(*ground));
	uint16_t *slot = calloc(2 * (size_t)capacity, sizeof(*slot));
	uint8_t *state = calloc(pt_run_views, capacity);

	if (ground)
		grounds->ground = ground;
	if (!ground || !slot || !state) {
		free(slot);
		free(state);
		return -pte_nomem;
	}
	free(grounds->slot);
	free(grounds->state);
	grounds->slot = slot;
	grounds->state = state;
	grounds->capacity = capacity;
	grounds->present_state = state + (size_t)(grounds->present - grounds->view) * capacity;
	return 0;
}

int pt_grounds_init(struct pt_run_grounds *grounds)
{
	memset(grounds, 0, sizeof(*grounds));
	grounds->present = grounds->view;
	grounds->turn = 1;
	if (make_room(grounds, first_capacity) == 0)
		return 0;
	pt_grounds_fini(grounds);
	return -pte_nomem;
}

void pt_grounds_fini(struct pt_run_grounds *grounds)
{
	free(grounds->ground);
	free(grounds->slot);
	free(grounds->state);
	memset(grounds, 0, sizeof(*grounds));
}

void pt_grounds_clear(struct pt_run_grounds *grounds)
{
	memset(grounds->slot, 0, 2 * (size_t)grounds->capacity * sizeof(*grounds->slot));
	memset(grounds->state, 0, (size_t)pt_run_views * grounds->capacity);
	grounds->count = 0;
}

/* ---- Grounds ----------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * 0x9e3779b97f4a7c15u;
}

static bool same_mapping(const struct pt_run_mapping *a, const struct pt_run_mapping *b)
{
	return a->section == b->section && a->begin == b->begin;
}

const struct pt_mapping *pt_ground_take(struct pt_run_ground *ground, const struct pt_run_grounds *grounds,
                                        uint64_t ip)
{
	const struct pt_run_view *view = grounds->present;
	const struct pt_asid asid = {.size = sizeof(asid), .cr3 = view->cr3, .vmcs = view->vmcs};
	const struct pt_mapping *mapping = pt_image_find(grounds->image, &asid, ip);
	struct pt_run_mapping taken;

	if (!mapping)
		return NULL;
	taken = (struct pt_run_mapping){.section = mapping->section->number, .begin = mapping->begin};
	for (uint32_t i = 0; i < ground->count; ++i)
		if (same_mapping(&ground->mapping[i], &taken))
			return mapping;
	if (ground->count == pt_ground_max)
		return NULL;
	ground->mapping[ground->count++] = taken;
	return mapping;
}

static bool same_ground(const struct pt_run_ground *a, const struct pt_run_ground *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; ++i)
		if (!same_mapping(&a->mapping[i], &b->mapping[i]))
			return false;
	return true;
}

static uint16_t *ground_slot(const struct pt_run_grounds *grounds, const struct pt_run_ground *ground)
{
	uint64_t hash = 1;

	for (uint32_t i = 0; i < ground->count; ++i)
		hash = mix(mix(hash, ground->mapping[i].section), ground->mapping[i].begin);
	for (uint64_t i = hash >> 32;; ++i) {
		uint16_t *slot = &grounds->slot[i % (2 * grounds->capacity)];

		if (!*slot || same_ground(&grounds->ground[*slot - 1], ground))
			return slot;
	}
}

static int grow(struct pt_run_grounds *grounds)
{
	if (grounds->capacity == max_grounds || make_room(grounds, 2 * grounds->capacity) < 0)
		return -1;
	for (uint32_t i = 0; i < grounds->count; ++i)
		*ground_slot(grounds, &grounds->ground[i]) = (uint16_t)(i + 1);
	return 0;
}

int pt_grounds_number(struct pt_run_grounds *grounds, const struct pt_run_ground *ground)
{
	uint16_t *slot = ground_slot(grounds, ground);

	if (*slot)
		return *slot - 1;
	if (grounds->count == grounds->capacity) {
		if (grow(grounds) < 0)
			return -1;
		slot = ground_slot(grounds, ground);
	}
	grounds->ground[grounds->count] = *ground;
	*slot = (uint16_t)++grounds->count;
	return *slot - 1;
}

/* ---- Views ------------------------------------------------------------------------------------- */

bool pt_grounds_change_view(struct pt_run_grounds *grounds, const struct pt_image *image,
                            const struct pt_asid *asid)
{
	const struct pt_run_view wanted = {
	        .generation = pt_image_generation(image), .cr3 = asid->cr3, .vmcs = asid->vmcs};
	const uint64_t hash = mix(mix(mix(1, wanted.generation), wanted.cr3), wanted.vmcs);
	struct pt_run_view *view = &grounds->view[(hash >> 32) % pt_run_views];
	bool is_known;

	grounds->image = image;
	grounds->turn += 1;
	grounds->present = view;
	grounds->present_state = grounds->state + (size_t)(view - grounds->view) * grounds->capacity;
	is_known =
	        view->generation == wanted.generation && view->cr3 == wanted.cr3 && view->vmcs == wanted.vmcs;
	if (!is_known) {
		memset(grounds->present_state, pt_ground_unknown, grounds->capacity);
		*view = wanted;
	}
	/* A filler may have added to other spaces since. */
	if (!is_known || image->filler)
		view->is_sure = pt_image_is_sure(image, asid);
	return view->is_sure;
}

static enum pt_ground_state look_at(const struct pt_run_grounds *grounds, const struct pt_run_mapping *wanted)
{
	const struct pt_run_view *view = grounds->present;
	const struct pt_asid asid = {.size = sizeof(asid), .cr3 = view->cr3, .vmcs = view->vmcs};
	const struct pt_mapping *mapping = pt_image_find(grounds->image, &asid, wanted->begin);
	int errcode;

	if (!mapping)
		return grounds->image->filler ? pt_ground_unknown : pt_ground_differs;
	if (mapping->section->number != wanted->section || mapping->begin != wanted->begin)
		return pt_ground_differs;
	/* Its file may have gone since the path was walked. */
	return pt_section_bytes(mapping->section, &errcode) ? pt_ground_stands : pt_ground_differs;
}

bool pt_grounds_look(const struct pt_run_grounds *grounds, uint32_t number)
{
	const struct pt_run_ground *ground = &grounds->ground[number];
	enum pt_ground_state state = pt_ground_stands;

	for (uint32_t i = 0; i < ground->count && state == pt_ground_stands; ++i)
		state = look_at(grounds, &ground->mapping[i]);
	grounds->present_state[number] = (uint8_t)state;
	return state == pt_ground_stands;
}
