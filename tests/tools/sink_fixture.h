/* sink_fixture.h - a flow made by hand, a sink that takes it, and what the file holds then. */
#ifndef SBTRACE_TESTS_SINK_FIXTURE_H
#define SBTRACE_TESTS_SINK_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sink/sink.h"
#include "support/temp_dir.h"

static const uint8_t lengths[] = {3, 5, 1, 2};

static const struct pt_run_block blocks[] = {
        {.ip = 0x401ffc, .end_ip = 0x402005, .length = lengths, .ninsn = 4},
        {.ip = 0x7f12deadbeef, .end_ip = 0x7f12deadbeef, .length = lengths, .ninsn = 1},
};

static const struct pt_run_path two_blocks = {.block = blocks, .nblocks = 2, .ninsn = 5, .id = ptr_no_id};
static const struct pt_run_path *const paths[] = {&two_blocks};

static const struct sb_flow flow = {.cpu = 2,
                                    .pid = 1234,
                                    .tid = 1235,
                                    .tsc = 98765432101234,
                                    .path = paths,
                                    .npaths = 1,
                                    .nblocks = 2,
                                    .ninsn = 5};

static const struct sb_account empty_account;

static const struct sink_context without_symbols;

static inline char *slurp(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text;
	size_t size;

	if (!file)
		return NULL;
	text = calloc(1, 2 << 20);
	assert_non_null(text);
	size = fread(text, 1, (2 << 20) - 1, file);
	text[size] = '\0';
	fclose(file);
	return text;
}

static inline struct sink_set *open_one(const struct sink_type *type, const char *file,
                                        const struct sink_context *context)
{
	const struct sink_request request = {.type = type, .file = file, .symbols = context->symbols != NULL};
	struct sink_set *set = NULL;
	struct sb_error err = {0};

	if (sink_set_new(&set, &request, 1, context, &err))
		fail_msg("%s", err.text);
	return set;
}

#endif
