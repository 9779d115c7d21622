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

/* NULL: no memory. */
const char *call_names_of(struct call_names *names, const struct sb_function *function);

#endif
