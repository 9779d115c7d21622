/* A text case, as tests/cases/README describes it: parsed, with nothing looked up yet. */
#ifndef CASE_FILE_H
#define CASE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <intel-pt.h>

/* One line of a section, cut out of the file's text. */
struct case_line {
	char *text;
	int number;
};

struct case_lines {
	struct case_line *line; /* owned; the texts are the file's */
	size_t count;
};

/* What can be compared. The flow views are those of both decoders in one form. */
enum case_view {
	view_packets,
	view_events,
	view_insn_flow,
	view_block_flow,
	view_insn,
	view_blocks,
	view_query,
	view_count
};

extern const char *const case_view_names[view_count];

/* One view, for "flow" both flows, for "all" all: a bit per view. Zero: no such name. */
uint32_t case_view_bits(const char *name);

struct case_code {
	uint64_t address;
	int bits;
	struct pt_asid asid;
	struct case_lines lines;
};

enum { case_max_code = 16, case_max_filters = 4 };

enum case_sync { case_sync_forward, case_sync_backward, case_sync_set };
enum case_image { case_image_files, case_image_cached, case_image_callback };
enum case_after_error { case_stop, case_sync_again, case_resync };

struct case_file {
	const char *path;
	char *text; /* owned */

	struct pt_config config; /* all but the trace and the address filter */
	struct case_line filter[case_max_filters];
	size_t nfilters;
	uint32_t flag_tick, flag_end_on_call, flag_end_on_jump, flag_keep_tcal, flag_iflags;
	int unknown_size; /* packets that the config's callback describes; zero: no callback */
	int show_time;
	enum case_image image; /* where decoders get the code from */
	enum case_sync sync;
	uint64_t sync_offset;
	enum case_after_error after_error;

	struct case_code code[case_max_code];
	size_t ncode;
	struct case_lines packets;
	struct case_lines expect[view_count];
	uint32_t expected;              /* a bit per view */
	uint32_t xfail, debian_differs; /* a bit per view */
	int debian_not_asked;
	const char *reason_xfail, *reason_debian; /* NULL when there is none */
};

/* Reads @path. Says on stderr what is wrong with it and returns -1. */
int case_file_read(struct case_file *file, const char *path);
void case_file_free(struct case_file *file);

/* Complains about a line of the case; returns -1. */
int case_complain(const struct case_file *file, int line, const char *what, const char *word);

#endif
