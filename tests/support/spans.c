/* spans.c - see spans.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "support/spans.h"

static int64_t read_span(void *context, size_t index, uint64_t offset, void *bytes, size_t size,
                         struct sb_error *err)
{
	const struct span_bytes *of = &((const struct spans *)context)->of[index];
	const size_t left = offset < of->size ? of->size - (size_t)offset : 0;

	(void)err;
	size = size < left ? size : left;
	/* In bits and pieces, as from a pipe. */
	size = size > 1000 ? 1000 : size;
	if (size)
		memcpy(bytes, of->bytes + offset, size);
	return (int64_t)size;
}

static const char *name_span(void *context, size_t index)
{
	(void)context;
	(void)index;
	return "a span";
}

static void add(struct sb_span **span, size_t *count, struct sb_span one)
{
	*span = reallocarray(*span, *count + 1, sizeof(**span));
	assert_non_null(*span);
	(*span)[(*count)++] = one;
}

void spans_cut(struct spans *spans, const struct sb_perfdata *perfdata,
               const struct sb_replay_options *options, uint64_t size, uint64_t step)
{
	struct sb_cutter *cutter = NULL;
	struct sb_system *system = NULL;
	struct sb_span *span = NULL;
	size_t nstreams, count = 0;

	*spans = (struct spans){
	        .source = {.size = sizeof(spans->source), .read = read_span, .name = name_span}};
	sb_perfdata_streams(perfdata, &nstreams);
	assert_int_equal(sb_system_build(&system, perfdata, NULL), 0);
	assert_int_equal(sb_cutter_new(&cutter, perfdata, system, options, NULL), 0);
	for (size_t i = 0; i < nstreams; ++i) {
		uint64_t from = 0, next;

		while (sb_cutter_cut(cutter, i, from + size, &next) > 0) {
			assert_true(next >= from + size);
			add(&span, &count, (struct sb_span){i, from, next});
			from = next;
		}
		add(&span, &count, (struct sb_span){i, from, UINT64_MAX});
	}
	sb_cutter_free(cutter);
	sb_system_free(system);
	spans->line = (struct sb_line){span, count, step};
	spans->of = calloc(count ? count : 1, sizeof(*spans->of));
	assert_non_null(spans->of);
}

static int write_span(void *context, const void *bytes, size_t size)
{
	struct span_bytes *of = context;

	if (of->room - of->size < size) {
		of->room = 2 * of->room + size;
		of->bytes = realloc(of->bytes, of->room);
		assert_non_null(of->bytes);
	}
	memcpy(of->bytes + of->size, bytes, size);
	of->size += size;
	return 0;
}

void spans_run(struct spans *spans, const struct sb_perfdata *perfdata,
               const struct sb_replay_options *options, const struct sb_sink *sink)
{
	/* A few sessions, the last spans first: nothing may depend on that. */
	enum { A_SESSION = 16 };
	struct sb_session *session = NULL;
	struct sb_error err = {0};

	for (size_t i = spans->line.nspans; i-- > 0;) {
		if (!session)
			assert_int_equal(sb_session_open(&session, perfdata, options, &err), 0);
		assert_int_equal(
		        sb_session_run_span(session, &spans->line, i, sink, write_span, &spans->of[i], NULL, &err),
		        0);
		if (i % A_SESSION && i > 1)
			continue;
		sb_session_close(session);
		session = NULL;
	}
	sb_session_close(session);
	spans->source.line = spans->line;
	spans->source.context = spans;
}

void spans_free(struct spans *spans)
{
	for (size_t i = 0; i < spans->line.nspans; ++i)
		free(spans->of[i].bytes);
	free(spans->of);
	free((void *)(uintptr_t)spans->line.span);
	*spans = (struct spans){0};
}
