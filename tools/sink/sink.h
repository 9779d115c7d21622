/* tools/sink/sink.h - what to write about a replay: one type of sink per output format, one file each.
 *
 * A sink_set opens the sinks that were asked for and hands the session's flow and gaps to each. All
 * sinks on standard output share one buffer, so that whole lines stay whole. When the reader of one
 * output goes away, that sink is done and the others go on; when none is left, the replay stops.
 */
#ifndef TOOLS_SINK_H
#define TOOLS_SINK_H

#include <stdbool.h>
#include <stddef.h>

#include <sb/perfdata.h>
#include <sb/replay.h>
#include <sb/symbols.h>

#include "output.h"

/* What sinks may use while they write. */
struct sink_context {
	struct sb_symbols *symbols; /* NULL: symbols are not wanted */
	const struct sb_clock *clock;
};

/* Functions return zero, or negative when the output is broken or there is no memory. */
struct sink_type {
	const char *name;
	const char *about;     /* one line, for --help */
	size_t size;           /* of the state: aligned, zeroed, freed by the set */
	bool flow_for_symbols; /* flow is only wanted when symbols are */
	/* @context may be kept. */
	int (*begin)(void *state, struct output *output, const struct sink_context *context);
	int (*flow)(void *state, const struct sb_flow *flow); /* NULL: not wanted */
	int (*gap)(void *state, const struct sb_gap *gap);    /* NULL: not wanted */
	/* After the last flow; NULL: nothing to add. */
	int (*end)(void *state, const struct sb_account *account, const struct sb_perfdata *perfdata);
	void (*free)(void *state); /* what the state owns; NULL: nothing. Not called when begin() failed. */
};

/* Whether a sink of this type looks at flow. */
static inline bool sink_type_wants_flow(const struct sink_type *type, bool symbols)
{
	return type->flow && (symbols || !type->flow_for_symbols);
}

extern const struct sink_type sink_insn, sink_block, sink_gap, sink_summary;

/* The type at @index of all there are, NULL past the last. */
const struct sink_type *sink_type_at(size_t index);
/* NULL when there is none of that name; *nearest (may be NULL) is then the nearest name, or NULL. */
const struct sink_type *sink_type_find(const char *name, const char **nearest);

struct sink_request {
	const struct sink_type *type;
	const char *file; /* NULL: standard output */
};

struct sink_set;

/* @context must outlive the set. */
int sink_set_new(struct sink_set **set, const struct sink_request *request, size_t count,
                 const struct sink_context *context, struct sb_error *err);
/* What the session gives, to all who want it: zero, or negative when there is no point in going on. */
int sink_set_flow(struct sink_set *set, const struct sb_flow *flow);
int sink_set_gap(struct sink_set *set, const struct sb_gap *gap);
/* Nobody listens any more: why sb_session_run() was stopped. */
bool sink_set_all_gone(const struct sink_set *set);
/* The first write that failed, other than by a reader who went away; zero when there is none. */
int sink_set_error(const struct sink_set *set, struct sb_error *err);
/* Writes the ends, and puts files in their places. */
int sink_set_finish(struct sink_set *set, const struct sb_account *account,
                    const struct sb_perfdata *perfdata, struct sb_error *err);
/* Frees @set (may be NULL); files that were not finished vanish. */
void sink_set_free(struct sink_set *set);

#endif
