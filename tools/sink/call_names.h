/* call_names.h - what functions are called in outputs: equal names are one string.
 *
 * A function whose name is not known is its file's, in brackets. Bytes that do not print are \xNN. */
#ifndef TOOLS_SINK_CALL_NAMES_H
#define TOOLS_SINK_CALL_NAMES_H

#include <stddef.h>

#include <sb/call_stack.h>

struct call_names {
	char **slot; /* owned, and so are the strings; open addressing */
	size_t nslots, count;
	const char **function; /* owned; by index; NULL: not asked for yet */
	size_t nfunctions;
};

void call_names_free(struct call_names *names);

/* A string that is equal to @text, lasts as long as @names and is the only one. NULL: no memory. */
const char *call_names_keep(struct call_names *names, const char *text);

const char *call_names_look_up(struct call_names *names, const struct sb_function *function);

/* NULL: no memory. */
static inline const char *call_names_of(struct call_names *names, const struct sb_function *function)
{
	const uint32_t index = function->index;

	if (index < names->nfunctions && names->function[index])
		return names->function[index];
	return call_names_look_up(names, function);
}

#endif
