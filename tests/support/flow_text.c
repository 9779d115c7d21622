/* flow_text.c - see flow_text.h. */
#include "support/flow_text.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <intel-pt-run.h>

static void add(struct flow_text *flow, const char *format, ...)
{
	size_t used = strlen(flow->text);
	va_list args;

	va_start(args, format);
	vsnprintf(flow->text + used, sizeof(flow->text) - used, format, args);
	va_end(args);
	assert_true(strlen(flow->text) + 1 < sizeof(flow->text));
}

static const char *event_name(const struct pt_event *event)
{
	switch (event->type) {
	case ptev_enabled:
		return event->variant.enabled.resumed ? "resumed" : "enabled";
	case ptev_disabled:
		return "disabled";
	case ptev_async_disabled:
		return "async_disabled";
	case ptev_async_branch:
		return "async_branch";
	case ptev_paging:
	case ptev_async_paging:
		return "paging";
	case ptev_overflow:
		return "overflow";
	case ptev_exec_mode:
		return "exec_mode";
	case ptev_tsx:
		return event->variant.tsx.aborted       ? "abort"
		       : event->variant.tsx.speculative ? "begin"
		                                        : "commit";
	case ptev_stop:
		return "stop";
	case ptev_ptwrite:
		return "ptwrite";
	default:
		return "other";
	}
}

static void add_event(struct flow_text *flow, const struct pt_event *event)
{
	if (!event->status_update)
		add(flow, "[%s] ", event_name(event));
}

static const char *error_name(int status)
{
	switch (-status) {
	case pte_eos:
		return "eos";
	case pte_bad_query:
		return "bad_query";
	case pte_bad_retcomp:
		return "bad_retcomp";
	case pte_retstack_empty:
		return "retstack_empty";
	case pte_nomap:
		return "nomap";
	case pte_bad_insn:
		return "bad_insn";
	case pte_bad_context:
		return "bad_context";
	case pte_no_enable:
		return "no_enable";
	case pte_bad_status_update:
		return "bad_status_update";
	case pte_bad_opc:
		return "bad_opc";
	default:
		return "error";
	}
}

static void decode_insn(struct flow_text *flow, const struct pt_config *config, struct pt_image *image)
{
	struct pt_insn_decoder *decoder = pt_insn_alloc_decoder(config);
	int status;

	assert_non_null(decoder);
	pt_insn_set_image(decoder, image);
	status = pt_insn_sync_forward(decoder);
	while (status >= 0) {
		struct pt_event event;
		struct pt_insn insn;

		if (status & pts_event_pending) {
			status = pt_insn_event(decoder, &event, sizeof(event));
			add_event(flow, &event);
			continue;
		}
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (insn.size)
			add(flow, "%" PRIx64 " ", insn.ip);
	}
	add(flow, "%s", error_name(status));
	pt_insn_free_decoder(decoder);
}

static void add_path(struct flow_text *flow, const struct pt_run_path *path)
{
	for (uint32_t b = 0; b < path->nblocks; ++b) {
		uint64_t ip = path->block[b].ip;

		for (uint32_t i = 0; i < path->block[b].ninsn; ++i) {
			add(flow, "%" PRIx64 " ", ip);
			ip += path->block[b].length[i];
		}
	}
}

/* With the events that came inside of it. */
static void add_run(struct flow_text *flow, const struct pt_run *run)
{
	uint32_t event = 0;

	for (uint32_t p = 0; p <= run->npaths; ++p) {
		for (; event < run->nevents && run->event[event].path == p; ++event)
			add_event(flow, &run->event[event].event);
		if (p < run->npaths)
			add_path(flow, run->path[p]);
	}
	assert_int_equal(event, run->nevents);
}

static void decode_run(struct flow_text *flow, const struct pt_config *config, struct pt_image *image,
                       int events_inside)
{
	struct pt_block_decoder *decoder = pt_blk_alloc_decoder(config);
	int status;

	assert_non_null(decoder);
	pt_blk_set_image(decoder, image);
	assert_int_equal(pt_blk_set_run_events(decoder, events_inside), 0);
	status = pt_blk_sync_forward(decoder);
	while (status >= 0) {
		struct pt_event event;
		struct pt_run run;

		if (!events_inside && (status & pts_event_pending)) {
			status = pt_blk_event(decoder, &event, sizeof(event));
			add_event(flow, &event);
			continue;
		}
		status = pt_blk_run(decoder, &run, sizeof(run));
		add_run(flow, &run);
	}
	add(flow, "%s", error_name(status));
	pt_blk_free_decoder(decoder);
}

/* Blocks are compared by number of instructions and by the addresses of first and last ones. */
static void check_blocks(const char *text, const struct pt_config *config, struct pt_image *image)
{
	struct pt_block_decoder *decoder = pt_blk_alloc_decoder(config);
	char *copy = strdup(text), *save = NULL, *word = strtok_r(copy, " ", &save);
	int status;

	assert_non_null(decoder);
	pt_blk_set_image(decoder, image);
	status = pt_blk_sync_forward(decoder);
	while (status >= 0) {
		struct pt_event event;
		struct pt_block block;

		if (status & pts_event_pending) {
			status = pt_blk_event(decoder, &event, sizeof(event));
			continue;
		}
		status = pt_blk_next(decoder, &block, sizeof(block));
		for (uint32_t i = 0; i < block.ninsn; ++i) {
			uint64_t ip;

			while (word && word[0] == '[')
				word = strtok_r(NULL, " ", &save);
			assert_non_null(word);
			ip = strtoull(word, NULL, 16);
			if (i == 0)
				assert_int_equal(ip, block.ip);
			if (i + 1 == block.ninsn)
				assert_int_equal(ip, block.end_ip);
			word = strtok_r(NULL, " ", &save);
		}
	}
	while (word && word[0] == '[')
		word = strtok_r(NULL, " ", &save);
	assert_non_null(word);
	assert_string_equal(word, error_name(status));
	free(copy);
	pt_blk_free_decoder(decoder);
}

void flow_text(struct flow_text *flow, const struct pt_config *config, struct pt_image *image)
{
	memset(flow, 0, sizeof(*flow));
	decode_insn(flow, config, image);
	for (int events_inside = 0; events_inside < 2; ++events_inside) {
		struct flow_text by_run = {0};

		decode_run(&by_run, config, image, events_inside);
		assert_string_equal(by_run.text, flow->text);
	}
	check_blocks(flow->text, config, image);
}
