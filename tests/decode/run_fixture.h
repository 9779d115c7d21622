/* What the tests of the run cache share: a program, a trace of it, and the cache's limit as the test was
 * started. */
#ifndef RUN_FIXTURE_H
#define RUN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/flow_text.h"
#include "support/run_use.h"
#include "support/stream.h"

struct fixture {
	struct stream stream;
	struct program program, other;
	struct pt_image *image;
	struct flow_text flow;
	const char *limit; /* of the run cache; owned; NULL: none was given */
};

static inline int setup(void **state)
{
	static struct fixture fixture;

	memset(&fixture, 0, sizeof(fixture));
	fixture.limit = getenv("SBTRACE_RUN_CACHE");
	fixture.limit = fixture.limit ? strdup(fixture.limit) : NULL;
	stream_write(&fixture.stream, "psb exec:64 psbend");
	*state = &fixture;
	return 0;
}

/* Decoders that are made from now on have the cache that the test was started with. */
static inline void restore_limit(const struct fixture *fixture)
{
	if (fixture->limit)
		setenv("SBTRACE_RUN_CACHE", fixture->limit, 1);
	else
		unsetenv("SBTRACE_RUN_CACHE");
}

static inline int teardown(void **state)
{
	struct fixture *fixture = *state;

	restore_limit(fixture);
	free((char *)(uintptr_t)fixture->limit);
	pt_image_free(fixture->image);
	if (fixture->program.path)
		program_remove(&fixture->program);
	if (fixture->other.path)
		program_remove(&fixture->other);
	return 0;
}

static inline void load(struct fixture *fixture, const void *code, size_t size)
{
	program_write(&fixture->program, code, size);
	fixture->image = program_image(&fixture->program, 0x1000);
}

static inline void repeat(struct fixture *fixture, int times, const char *text)
{
	while (times--)
		stream_write(&fixture->stream, text);
}

#endif
