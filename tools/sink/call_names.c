/* call_names.c - see call_names.h. */
#include "sink/call_names.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sink/printable.h"
#include "vector.h"

enum { name_most = 512 };

void call_names_free(struct call_names *names)
{
	for (size_t i = 0; i < names->nslots; i++)
		free(names->slot[i]);
	free(names->slot);
	free(names->function);
	*names = (struct call_names){0};
}

static char **slot_of(const struct call_names *names, const char *text)
{
	uint64_t hash = 0xcbf29ce484222325;
	size_t i;

	for (const char *at = text; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 0x100000001b3;
	for (i = (hash ^ hash >> 32) & (names->nslots - 1); names->slot[i] && strcmp(names->slot[i], text);)
		i = (i + 1) & (names->nslots - 1);
	return &names->slot[i];
}

static int grow(struct call_names *names)
{
	struct call_names bigger = *names;

	bigger.nslots = names->nslots ? 2 * names->nslots : 256;
	bigger.slot = calloc(bigger.nslots, sizeof(*bigger.slot));
	if (!bigger.slot)
		return -1;
	for (size_t i = 0; i < names->nslots; i++)
		if (names->slot[i])
			*slot_of(&bigger, names->slot[i]) = names->slot[i];
	free(names->slot);
	*names = bigger;
	return 0;
}

const char *call_names_keep(struct call_names *names, const char *text)
{
	char **slot;

	if (2 * names->count >= names->nslots && grow(names))
		return NULL;
	slot = slot_of(names, text);
	if (!*slot) {
		*slot = strdup(text);
		names->count += *slot != NULL;
	}
	return *slot;
}

static const char *make(struct call_names *names, const struct sb_function *function)
{
	char room[4 * name_most + 3], *at = room;
	const char *dso = function->dso, *base = dso ? strrchr(dso, '/') : NULL;

	if (function->name)
		return call_names_keep(names, printable(room, function->name, name_most));
	if (!dso || *dso == '[')
		return call_names_keep(names, dso ? printable(room, dso, name_most) : "[unknown]");
	*at++ = '[';
	printable(at, base && base[1] ? base + 1 : dso, name_most);
	at += strlen(at);
	*at++ = ']';
	*at = '\0';
	return call_names_keep(names, room);
}

const char *call_names_look_up(struct call_names *names, const struct sb_function *function)
{
	if (vector_reach(&names->function, &names->nfunctions, function->index, sizeof(*names->function)))
		return NULL;
	if (!names->function[function->index])
		names->function[function->index] = make(names, function);
	return names->function[function->index];
}
