/* symbol_text.c - see symbol_text.h. */
#include "sink/symbol_text.h"

#include <stdlib.h>

#include "sink/printable.h"

struct symbol_texts *symbol_texts_new(struct sb_symbols *symbols, const struct sb_clock *clock)
{
	struct symbol_texts *texts = calloc(1, sizeof(*texts));

	if (!texts)
		return NULL;
	texts->symbols = symbols;
	texts->clock = clock;
	texts->tsc = UINT64_MAX;
	return texts;
}

void symbol_texts_free(struct symbol_texts *texts)
{
	for (size_t i = 0; texts && i < symbol_texts; i++)
		free(texts->slot[i].text);
	free(texts);
}

static const char *column(char *room, const char *string)
{
	return string ? printable(room, string, symbol_name_most) : "-";
}

static int fill(struct symbol_texts *texts, struct symbol_text *text, const struct sb_symbols_place *place)
{
	char name_room[symbol_column_most], dso_room[symbol_column_most];
	const char *name, *dso;
	struct sb_symbol symbol;

	free(text->text);
	*text = (struct symbol_text){0};
	if (sb_symbols_find(texts->symbols, place, &symbol, NULL) < 0)
		return -1;
	name = column(name_room, symbol.name);
	dso = column(dso_room, symbol.dso);
	*text = (struct symbol_text){.epoch = place->epoch,
	                             .pid = place->pid,
	                             .low = symbol.low,
	                             .high = symbol.high,
	                             .from = symbol.from,
	                             .to = symbol.to,
	                             .begin = symbol.begin,
	                             .nname = (uint32_t)strlen(name),
	                             .ndso = (uint32_t)strlen(dso),
	                             .name = symbol.name,
	                             .dso = symbol.dso};
	text->text = malloc(text->nname + text->ndso + 1);
	if (!text->text) {
		*text = (struct symbol_text){0};
		return -1;
	}
	memcpy(text->text, name, text->nname);
	memcpy(text->text + text->nname, dso, text->ndso);
	return 0;
}

/* Without a clock, what was announced last holds. */
static void set_time(struct symbol_texts *texts, uint64_t tsc)
{
	const bool known = texts->clock && texts->clock->time_mult;

	if (texts->tsc == tsc)
		return;
	texts->tsc = tsc;
	texts->now = known ? sb_clock_tsc_to_ns(texts->clock, tsc) : UINT64_MAX - 1;
}

static struct symbol_text *slot_of(struct symbol_texts *texts, const struct sb_symbols_place *place)
{
	const uint64_t key = place->ip ^ (uintptr_t)place->epoch << 4 ^ (uint64_t)(uint32_t)place->pid << 32;

	_Static_assert(symbol_texts == 1 << 13, "a slot for each number of 13 bits");
	return &texts->slot[key * 0x9e3779b97f4a7c15 >> 51];
}

struct symbol_text *symbol_text_look_up(struct symbol_texts *texts, const struct sb_flow *flow, uint64_t ip)
{
	struct sb_symbols_place place = {.epoch = flow->epoch, .pid = flow->pid, .ip = ip};
	struct symbol_text *text = slot_of(texts, &place);

	set_time(texts, flow->tsc);
	place.time = texts->now;
	texts->last = NULL;
	if (!text->text || !symbol_text_fits(text, flow->epoch, flow->pid, ip, texts->now))
		if (fill(texts, text, &place) < 0)
			return NULL;
	texts->last = text;
	return text;
}
