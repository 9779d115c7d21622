/* sb/shard.h - a replay in parts: on other machines, one after the other, again when a machine was lost.
 *
 * The streams of a recording, one behind the other, are a line, which is cut at PSBs into spans. Each span
 * can be replayed on its own (sb_session_run_span()), which gives bytes for whoever keeps them; and when all
 * are there, sb_session_merge() hands out what sb_session_run() would have handed out, in the same order,
 * without decoding.
 *
 * A span is begun as if nothing had come before it. Whether that was right is found out by whoever replays
 * the span before it: where both would not go on alike, that span goes on into the next one, up to a PSB
 * where they do, and merging leaves out what the next one has up to there. So nothing has to be known of
 * other spans.
 */
#ifndef SB_SHARD_H
#define SB_SHARD_H

#include <stddef.h>
#include <stdint.h>

#include <sb/replay.h>

/* Bytes [from, to) of a stream, as sb_perfdata_streams() counts them; from is zero or the place of a PSB, to
 * is the place where the stream's next span begins, or UINT64_MAX: the stream's end. */
struct sb_span {
	size_t stream; /* index into sb_perfdata_streams() */
	uint64_t from, to;
};

/* All spans of a recording, in order; the first of each stream begins at zero. */
struct sb_line {
	const struct sb_span *span;
	size_t nspans;
	uint64_t step; /* so many bytes apart, or more, a span can be taken up in its middle; not zero */
};

/* Where streams can be cut. @options as for sb_session_open(), of which only the CPUs count: streams of
 * others are not cut. @perfdata and @system are borrowed. Zero or a negative code. */
struct sb_cutter;
sb_export int sb_cutter_new(struct sb_cutter **cutter, const struct sb_perfdata *perfdata,
                            const struct sb_system *system, const struct sb_replay_options *options,
                            struct sb_error *err);
sb_export void sb_cutter_free(struct sb_cutter *cutter); /* NULL is fine */

/* The first place of stream @stream at @from or behind it where it can be cut: 1; 0: there is none, or
 * -sbe_nomem. */
sb_export int sb_cutter_cut(struct sb_cutter *cutter, size_t stream, uint64_t from, uint64_t *position);

/* What tells functions from each other, for sb_sums_calls, where spans are run, and where they are merged:
 * the same that whoever gets the flow takes for its sb_calls. Borrowed; to be set before. */
sb_export void sb_session_set_symbols(struct sb_session *session, struct sb_symbols *symbols);

/* Where a span's bytes go. Returns zero, or a negative code, which ends the replay. */
typedef int sb_span_write(void *context, const void *bytes, size_t size);

/* Replays the span @index of @line. Which of flow, gaps and events are kept is said by which callbacks @sink
 * has; they are not called, but for progress, with the bytes done of the span. The sink that is merged into
 * must want the same, and its session must have the same options. Threads may replay spans of one session at
 * a time. Zero or a negative code; -sbe_invalid: the line does not fit the recording. */
sb_export int sb_session_run_span(const struct sb_session *session, const struct sb_line *line, size_t index,
                                  const struct sb_sink *sink, sb_span_write *write, void *context,
                                  struct sb_account *account, struct sb_error *err);

/* Where spans' bytes come from. */
struct sb_span_source {
	size_t size; /* sizeof(struct sb_span_source) */
	struct sb_line line;
	void *context;
	/* Up to @size bytes of span @index from @offset on: how many, 0 behind the last, or a negative code,
	 * after *err was set. */
	int64_t (*read)(void *context, size_t index, uint64_t offset, void *bytes, size_t size,
	                struct sb_error *err);
	/* Names the span in errors, for example by its file; until the next call. NULL: spans have no names.
	 */
	const char *(*name)(void *context, size_t index);
};

/* As sb_session_run(), but with what the spans hold; once per session. Where spans do not meet, what is
 * between them is decoded here. -sbe_format: a span's bytes are damaged, cut short, or another recording's.
 */
sb_export int sb_session_merge(struct sb_session *session, const struct sb_span_source *source,
                               const struct sb_sink *sink, struct sb_error *err);

#endif
