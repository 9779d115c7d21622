/* run_chain.c - see run_chain.h. */
#include "flow/run_chain.h"

/* How many chains may begin at one path. */
enum { max_alike = 4 };

/* Puts @next behind @effect. Zero: that is too much. */
static int add_effect(struct pt_stack_effect *effect, const struct pt_stack_effect *next)
{
	const int height = effect->npush - effect->npop;

	for (uint32_t i = 0; i < next->npop; ++i) {
		if (effect->npush)
			effect->npush -= 1;
		else if (effect->npop < pt_effect_max)
			effect->pop[effect->npop++] = next->pop[i];
		else
			return 0;
	}
	if (effect->npush + next->npush > pt_effect_max)
		return 0;
	memcpy(&effect->push[effect->npush], next->push, next->npush * sizeof(next->push[0]));
	effect->npush = (uint8_t)(effect->npush + next->npush);
	if (height + next->rise > effect->rise)
		effect->rise = (uint8_t)(height + next->rise);
	return 1;
}

static int add_ground(struct pt_run_chain *chain, uint16_t ground)
{
	for (uint32_t i = 0; i < chain->ngrounds; ++i)
		if (chain->ground[i] == ground)
			return 1;
	if (chain->ngrounds == pt_chain_max_grounds)
		return 0;
	chain->ground[chain->ngrounds++] = ground;
	return 1;
}

/* The first address behind which the last IP is @first_last, and the last one behind which it is @last. */
static void add_address(struct pt_run_chain *chain, uint64_t first_last, uint64_t mask, uint64_t last)
{
	if (!(chain->flags & pt_entry_address)) {
		chain->first_last = first_last;
		chain->mask = mask;
	}
	chain->last = last;
}

/* Zero: there is no room for it. */
static int add_event(struct pt_chain_draft *draft, const struct pt_event *event, uint32_t paths)
{
	struct pt_run_chain *chain = &draft->chain;

	if (chain->nevents == pt_chain_max_events)
		return 0;
	draft->event[chain->nevents++] = (struct pt_chain_event){.event = event, .paths = paths};
	return 1;
}

/* Zero: the chain cannot go on with it. */
static int add_entry(struct pt_chain_draft *draft, const struct pt_run_entry *entry)
{
	struct pt_run_chain *chain = &draft->chain;

	if ((entry->flags & pt_entry_crosses) || !add_ground(chain, entry->ground) ||
	    ((entry->flags & pt_entry_effect) && !add_effect(&draft->effect, &entry->extra->effect)))
		return 0;
	if (entry->path.nblocks)
		draft->path[chain->npaths++] = &entry->path;
	if ((entry->flags & pt_entry_event) && !add_event(draft, &entry->extra->event, chain->npaths))
		return 0;
	if (entry->flags & pt_entry_address)
		add_address(chain, entry->last, pt_entry_last_mask(entry->flags), entry->last);
	chain->flags |= entry->flags;
	chain->ninsn += entry->path.ninsn;
	chain->nblocks += entry->path.nblocks;
	chain->place_after = entry->place_after;
	return 1;
}

static int add_chain(struct pt_chain_draft *draft, const struct pt_run_chain *next)
{
	struct pt_run_chain *chain = &draft->chain;

	for (uint32_t i = 0; i < next->ngrounds; ++i)
		if (!add_ground(chain, next->ground[i]))
			return 0;
	if (next->effect && !add_effect(&draft->effect, next->effect))
		return 0;
	for (uint32_t i = 0; i < next->nevents; ++i)
		if (!add_event(draft, next->event[i].event, chain->npaths + next->event[i].paths))
			return 0;
	memcpy(&draft->path[chain->npaths], next->path, next->npaths * sizeof(next->path[0]));
	chain->npaths = (uint8_t)(chain->npaths + next->npaths);
	if (next->flags & pt_entry_address)
		add_address(chain, next->first_last, next->mask, next->last);
	chain->flags |= next->flags;
	chain->ninsn += next->ninsn;
	chain->nblocks += next->nblocks;
	chain->place_after = next->place_after;
	return 1;
}

/* Keeps the draft, whose bytes begin at @byte. NULL: there is no room. */
static struct pt_run_chain *keep(struct pt_run_cache *cache, const struct pt_chain_draft *draft,
                                 const uint8_t *byte)
{
	const struct pt_run_chain *from = &draft->chain;
	const struct pt_stack_effect *effect = &draft->effect;
	const size_t effect_size = !pt_effect_is_none(effect) ? sizeof(*effect) : 0;
	const size_t path_size = from->npaths * sizeof(draft->path[0]);
	const size_t event_size = from->nevents * sizeof(draft->event[0]);
	struct pt_run_chain *chain =
	        pt_run_cache_take(cache, sizeof(*chain) + effect_size + path_size + event_size + from->size);
	uint8_t *memory = (uint8_t *)(chain + 1);

	if (!chain)
		return NULL;
	*chain = *from;
	chain->effect = effect_size ? memcpy(memory, effect, effect_size) : NULL;
	memory += effect_size;
	chain->path = memcpy(memory, draft->path, path_size);
	memory += path_size;
	chain->event = memcpy(memory, draft->event, event_size);
	memory += event_size;
	chain->byte = memcpy(memory, byte, from->size);
	return chain;
}

/* Of too many with one anchor, the oldest one is not found any more. */
static void forget_oldest(struct pt_run_cache *cache, struct pt_run_entry *anchor)
{
	uint16_t *number = &anchor->chain;

	for (uint32_t alike = 1; *number; ++alike) {
		if (alike == max_alike)
			*number = 0;
		else
			number = &cache->chains[*number]->next;
	}
}

int pt_chain_draw(struct pt_chain_draft *draft, const struct pt_chain_list *list)
{
	struct pt_chain_draft next = {0};
	uint32_t count = 0;

	*draft = next;
	while (count < list->count && (list->item[count].chain ? add_chain(&next, list->item[count].chain)
	                                                       : add_entry(&next, list->item[count].entry))) {
		*draft = next;
		count += 1;
	}
	/* Each item of a list brings a path: of events alone, more than it has room for would fit into its
	 * bytes. */
	if (count < 2 || !draft->chain.npaths)
		return 0;
	draft->chain.size = (uint8_t)(list->item[count - 1].end - list->begin);
	return 1;
}

static void make_chain(struct pt_run_cache *cache, const struct pt_chain_list *list)
{
	struct pt_run_entry *anchor = &cache->entry[list->item[0].entry->path.id];
	struct pt_chain_draft draft;
	struct pt_run_chain *chain;

	if (cache->nchains == cache->max_chains || !pt_chain_draw(&draft, list))
		return;
	chain = keep(cache, &draft, list->begin);
	if (!chain)
		return;
	forget_oldest(cache, anchor);
	chain->next = anchor->chain;
	cache->nchains += 1;
	cache->chains[cache->nchains] = chain;
	anchor->chain = (uint16_t)cache->nchains;
}

uint16_t pt_chain_tag(const struct pt_chain_list *list)
{
	const uint8_t *end = list->item[list->count - 1].end;
	const uint64_t size = (uint64_t)(end - list->begin);
	const uint64_t bytes =
	        size < 8 ? pt_window_bytes(pt_get64(list->begin), (uint32_t)size) : pt_get64(end - 8);

	return (uint16_t)(((bytes ^ size) * 0x9e3779b97f4a7c15u) >> 48 & ~1u);
}

void pt_chain_close(struct pt_run_cache *cache, struct pt_chain_list *list)
{
	if (list->count > 1) {
		struct pt_run_entry *anchor = &cache->entry[list->item[0].entry->path.id];
		const uint16_t tag = pt_chain_tag(list);

		/* Odd: it was tried. */
		if (anchor->tag == tag)
			make_chain(cache, list);
		if ((anchor->tag | 1) == (tag | 1))
			anchor->tag |= 1;
		else
			anchor->tag = tag;
	}
	list->count = list->npaths = 0;
}
