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

#include <sb/binary.h>
#include <sb/perfdata.h>
#include <sb/replay.h>
#include <sb/source_lines.h>
#include <sb/symbols.h>

#include "options.h"
#include "output.h"

struct flow_part;
struct sink_filter;
struct sink_setting;

/* What sinks may use while they write; all of it outlives them. */
struct sink_context {
	struct sb_symbols *symbols;    /* NULL: symbols are not wanted */
	struct sb_source_lines *lines; /* NULL: none are known */
	const struct sb_clock *clock;
	const struct sb_system *system;
	const struct sb_perfdata *perfdata;
	struct sb_resolver *resolver;
	const struct sb_session *session;   /* for sb_code_new() */
	const struct sink_filter *replayed; /* what the session leaves in; NULL: all */
	bool cut; /* flow has holes: instructions that a filter of addresses or functions leaves out */
	/* Of a sink that takes whole flow: what of it counts; NULL: all. Then, flow has no holes. */
	const struct flow_part *part;
};

/* One option of a sink: `--with NAME=VALUE` behind its `--sink`, or `with: {NAME: VALUE}` in a job. Given
 * twice, or as a list, it is set twice. */
struct sink_option {
	const char *name;
	const char *value; /* what it takes, for the help: "N", "thread|process" */
	const char *about; /* one line */
	/* Into the state, which was only zeroed before, and with no need to be freed: settings are tried on a
	 * state that is then thrown away. @value outlives the state. Returns zero, or -1 with the reason. */
	int (*set)(void *state, const char *value, struct option_error *error);
};

/* Whether a sink uses symbols. */
enum sink_symbols {
	sink_symbols_never,
	sink_symbols_asked, /* when --symbols asks for them */
	sink_symbols_always
};

/* Functions return zero, or negative when the output is broken or there is no memory. */
struct sink_type {
	const char *name;
	const char *about; /* one line, for --help */
	size_t size;       /* of the state: aligned, zeroed, freed by the set */
	const struct sink_option *option;
	size_t noptions;
	enum sink_symbols symbols;
	bool flow_for_symbols; /* flow is only wanted when symbols are */
	bool by_time;          /* flow of all CPUs in the order of time, not CPU after CPU */
	bool whole_flow;       /* filters leave it the flow, and say by the context what counts of it */
	bool file_only;        /* cannot be written to standard output */
	bool of_all;           /* tells of the whole replay: it takes no filter of its own */
	/* Which flow that was added up (struct sb_replay_options, sums) it takes as well with these settings,
	 * and writes the same; what has more will do, too. Counts and calls together: one after the other.
	 * NULL: none. */
	unsigned int (*takes_sums)(const struct sink_setting *setting, size_t nsettings);
	/* After the options were set. @context may be kept. */
	int (*begin)(void *state, struct output *output, const struct sink_context *context);
	/* -sbe_order, too: flow was added up that is not what it was taken for. NULL: not wanted */
	int (*flow)(void *state, const struct sb_flow *flow);
	int (*gap)(void *state, const struct sb_gap *gap);            /* NULL: not wanted */
	int (*event)(void *state, const struct sb_flow_event *event); /* NULL: not wanted */
	/* How flow comes from now on: again, when it came before (enum sb_sums). NULL: it makes no difference
	 */
	void (*sums)(void *state, unsigned int sums);
	/* See struct sb_sink. NULL: each flow is wanted by itself. */
	uint64_t (*turns_until)(void *state, int32_t cpu);
	/* After the last flow; NULL: nothing to add. Zero; -sbe_io with errno: what it had put aside cannot
	 * be read again; or another negative code: no memory. */
	int (*end)(void *state, const struct sb_account *account, const struct sb_perfdata *perfdata);
	void (*free)(void *state); /* what the state owns; NULL: nothing. Not called when begin() failed. */
};

/* Whether a sink of this type uses symbols; @asked: they were asked for. */
static inline bool sink_type_wants_symbols(const struct sink_type *type, bool asked)
{
	return type->symbols == sink_symbols_always || (type->symbols == sink_symbols_asked && asked);
}

/* Whether it looks at flow. */
static inline bool sink_type_wants_flow(const struct sink_type *type, bool asked)
{
	return type->flow && (sink_type_wants_symbols(type, asked) || !type->flow_for_symbols);
}

extern const struct sink_type sink_insn, sink_block, sink_gap, sink_summary, sink_script, sink_html,
        sink_counts, sink_lcov, sink_bolt, sink_autofdo, sink_tally, sink_callgrind, sink_pprof, sink_jsonl;
extern const struct sink_type sink_folded, sink_flame, sink_chrome, sink_perfetto, sink_sqlite;

/* The type at @index of all there are, NULL past the last. */
const struct sink_type *sink_type_at(size_t index);
/* NULL when there is none of that name; *nearest (may be NULL) is then the nearest name, or NULL. */
const struct sink_type *sink_type_find(const char *name, const char **nearest);

/* NULL when there is none of that name; *nearest as above. */
const struct sink_option *sink_option_find(const struct sink_type *type, const char *name,
                                           const char **nearest);

/* Addresses, the end exclusive. */
struct sink_range {
	uint64_t begin, end;
};

/* Who and what a sink is given; what is empty leaves nothing out. Borrowed. */
struct sink_filter {
	const int32_t *cpu, *pid;
	size_t ncpus, npids;
	const char *const *container, *const *cgroup, *const *comm; /* as in struct sb_replay_options */
	size_t ncontainers, ncgroups, ncomms;
	uint64_t tsc_from, tsc_to; /* inclusive; 0, 0: all */
	/* Instructions at these addresses, in functions whose name matches one of these patterns. */
	const struct sink_range *address;
	size_t naddresses;
	const char *const *function; /* needs symbols in the context */
	size_t nfunctions;
};

struct sink_setting {
	const struct sink_option *option;
	char *value;
};

/* Whether @option of @type takes @value: zero, or -1 with the reason. */
int sink_option_try(const struct sink_type *type, const struct sink_option *option, const char *value,
                    struct option_error *error);

/* Prints all types with their options, for --help. */
void sink_types_help(void);

struct sink_request {
	const struct sink_type *type;
	const char *file; /* NULL: standard output */
	bool symbols;     /* they were asked for */
	const struct sink_setting *setting;
	size_t nsettings;
	const struct sink_filter *filter; /* NULL: all */
};

struct sink_set;

/* @context and the settings must outlive the set. */
int sink_set_new(struct sink_set **set, const struct sink_request *request, size_t count,
                 const struct sink_context *context, struct sb_error *err);
/* What all of them are given, before their own filters. To be called before there is flow; zero or
 * -sbe_nomem. */
int sink_set_filter(struct sink_set *set, const struct sink_filter *filter);
/* What they may write to files, together; @limit must outlive the set. NULL: no limit. */
void sink_set_limit(struct sink_set *set, struct output_limit *limit);
/* As struct sb_sink has it: what is given from now on is only for those who take flow that comes so. */
int sink_set_sums(struct sink_set *set, unsigned int sums);
/* What the session gives, to all who want it: zero, or negative when there is no point in going on. */
int sink_set_flow(struct sink_set *set, const struct sb_flow *flow);
/* See struct sb_sink: of all sinks whose turn it is, the earliest. */
uint64_t sink_set_turns_until(const struct sink_set *set, int32_t cpu);
int sink_set_gap(struct sink_set *set, const struct sb_gap *gap);
int sink_set_event(struct sink_set *set, const struct sb_flow_event *event);
bool sink_set_wants_events(const struct sink_set *set);
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
