/* faces_code.c - the images that a face decodes with. */
#include <stdlib.h>
#include <string.h>

#include <intel-pt-filler.h>

#include "faces.h"

static int add_section(const struct client *client, struct pt_image *image, size_t which, size_t number)
{
	const struct case_section *section = &client->plan->c[which].section[number];

	if (client->cache)
		return pt_image_add_cached(image, client->cache, client->isid[which][number], NULL);
	return pt_image_add_file(image, section->path, section->offset, section->size, NULL, section->vaddr);
}

static void add_code(const struct client *client, struct pt_image *image, size_t which)
{
	for (size_t i = 0; i < client->plan->c[which].nsections; ++i)
		if (add_section(client, image, which, i) < 0)
			abort();
}

/* Whether images are filled while they are used. */
static int fills(const struct client *client)
{
	return client->plan->flags & plan_fills && !client->way->limit;
}

/* Gives the image in use the other code: over what is there, or in place of it. */
static void change_image(struct client *client, size_t which, int over)
{
	if (!over)
		pt_image_remove_by_asid(client->image[0], NULL);
	client->filling[0].which = which;
	/* A filler adds the rest when it is asked. */
	if (over || !fills(client))
		add_code(client, client->image[0], which);
}

void face_use_code(struct client *client, size_t which)
{
	const size_t image = client->plan->flags & plan_changes ? 0 : which;

	if (client->plan->flags & plan_changes && client->code != &client->plan->c[which])
		change_image(client, which, face_choose(client, 5, 2) != 0);
	client->code = &client->plan->c[which];
	if (client->insn)
		pt_insn_set_image(client->insn, client->image[image]);
	else
		pt_blk_set_image(client->block, client->image[image]);
}

/* Other code every now and then: an error may come with an instruction or behind it, so calls do not count.
 */
void face_swap(struct client *client)
{
	const unsigned other = client->given / 37 & 1;

	if (client->plan->flags & plan_swaps && client->code != &client->plan->c[other])
		face_use_code(client, other);
}

static int holds(const struct case_section *section, uint64_t ip)
{
	return ip - section->vaddr < section->size;
}

static int fill(struct pt_image *image, const struct pt_asid *asid, uint64_t ip, void *context)
{
	const struct filling *filling = context;
	const struct diff_case *c = &filling->client->plan->c[filling->which];

	(void)asid;
	for (size_t i = 0; i < c->nsections; ++i)
		if (holds(&c->section[i], ip))
			return add_section(filling->client, image, filling->which, i) == 0;
	return 0;
}

int face_sections_overlap(const struct diff_case *c)
{
	for (size_t i = 0; i < c->nsections; ++i)
		for (size_t j = 0; j < c->nsections; ++j)
			if (i != j && holds(&c->section[i], c->section[j].vaddr))
				return 1;
	return 0;
}

/* Numbers for all sections, the same in whatever order images use them. */
void face_make_cache(struct client *client)
{
	const struct plan *plan = client->plan;

	if (!(plan->flags & plan_shares))
		return;
	client->cache = pt_iscache_alloc(NULL);
	for (size_t which = 0; which < 2; ++which)
		for (size_t i = 0; i < plan->c[which].nsections; ++i) {
			const struct case_section *section = &plan->c[which].section[i];
			const struct case_section *first = &plan->c[0].section[i];

			if (section->size == first->size &&
			    !memcmp(section->bytes, first->bytes, section->size))
				section = first;
			client->isid[which][i] = pt_iscache_add_file(
			        client->cache, section->path, section->offset, section->size, section->vaddr);
			if (client->isid[which][i] < 0)
				abort();
		}
}

void face_make_images(struct client *client)
{
	for (size_t i = 0; i < 2; ++i) {
		client->image[i] = pt_image_alloc(NULL);
		client->filling[i] = (struct filling){client, i};
		if (fills(client))
			pt_image_set_filler(client->image[i], fill, &client->filling[i]);
		else
			add_code(client, client->image[i], i);
	}
}
