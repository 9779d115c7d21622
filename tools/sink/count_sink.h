/* tools/sink/count_sink.h - what sinks have in common that are written from exact counts, at the end. */
#ifndef TOOLS_SINK_COUNT_SINK_H
#define TOOLS_SINK_COUNT_SINK_H

#include "count/code_view.h"
#include "count/exec_counts.h"
#include "sink/sink.h"

/* The first member of such a sink's state. */
struct count_sink {
	struct output *output;
	const struct sink_context *context;
	struct exec_counts *counts; /* owned */
	const char *file;           /* glob(7) of recorded names: no other files' code; NULL: all */
	bool by_process;            /* each process has parts of its own */
	bool no_edges;              /* what followed on what does not matter */
};

/* For the type: */
int count_sink_begin(void *state, struct output *output, const struct sink_context *context);
int count_sink_flow(void *state, const struct sb_flow *flow);
int count_sink_gap(void *state, const struct sb_gap *gap);
void count_sink_free(void *state);
unsigned int count_sink_takes_sums(const struct sink_setting *setting, size_t nsettings);

/* An option row: "file". */
int count_sink_set_file(void *state, const char *value, struct option_error *error);
#define COUNT_SINK_FILE_OPTION                                                                               \
	{                                                                                                    \
		"file", "GLOB", "only code of files whose name, as recorded, matches", count_sink_set_file   \
	}

/* What was counted, of the files that are wanted. Zero, or negative: out of memory. */
int count_sink_view(struct count_sink *sink, struct code_view *view);

/* For formats of one binary: hands that of those that are wanted to @put which executed the most, if there is
 * one. Zero, or negative: out of memory, or of @put. */
int count_sink_put_binary(struct count_sink *sink,
                          int (*put)(struct output *output, const struct code_view *view,
                                     const struct code_part *part));

enum { count_sink_name_most = 3900 };
/* A name from outside in a format that goes by lines: what would end one is "?". What has more bytes is cut.
 * How many @text has then, without a zero behind them. */
size_t count_sink_name(char *text, const char *name);
/* Likewise, between two texts. */
int count_sink_put_name(struct output *output, const char *before, const char *name, const char *behind);

#endif
