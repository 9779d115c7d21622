/* tools/sink/script_line.h - one line about an instruction or a branch, laid out as perf-script(1) does it.
 */
#ifndef TOOLS_SINK_SCRIPT_LINE_H
#define TOOLS_SINK_SCRIPT_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "sink/insn_text.h"
#include "sink/sink.h"

/* What a line shows, in this order. */
enum script_field {
	script_comm = 1 << 0,
	script_pid = 1 << 1,
	script_tid = 1 << 2,
	script_cpu = 1 << 3,
	script_time = 1 << 4,
	script_tsc = 1 << 5,
	script_flags = 1 << 6,
	script_indent = 1 << 7,
	script_ip = 1 << 8,
	script_sym = 1 << 9,
	script_symoff = 1 << 10,
	script_dso = 1 << 11,
	script_addr = 1 << 12,
	script_insnlen = 1 << 13,
	script_insn = 1 << 14,
	script_asm = 1 << 15,
	script_srcline = 1 << 16,
};

/* Adds the names in @text, separated by commas, to *fields. Zero, or -1 with the reason. */
int script_fields_parse(const char *text, uint32_t *fields, struct option_error *error);

struct script_place {
	const struct sb_flow *flow; /* whose; its paths are not looked at */
	uint64_t ip;                /* of the instruction; 0: there is none */
	uint8_t length, mode, iclass;
};

struct script_line {
	struct script_place at;
	const char *flags, *more; /* two words, one behind the other */
	bool has_to;
	uint64_t to;
	const struct sb_flow *to_flow; /* who went there; NULL: as at.flow */
	uint32_t depth;                /* for script_indent: of function calls */
	const char *function;          /* likewise: its name, or NULL */
	bool unsure;                   /* likewise: that it is there is a guess */
};

struct script_writer;

struct script_writer_options {
	uint32_t fields; /* enum script_field */
	enum insn_syntax syntax;
	bool nanoseconds;
};

/* @output and @context are borrowed. NULL: out of memory. */
struct script_writer *script_writer_new(struct output *output, const struct sink_context *context,
                                        const struct script_writer_options *options);
void script_writer_free(struct script_writer *writer); /* NULL is fine */

/* "call", "jcc", ... ; "" for what is no branch; NULL: out of memory. */
const char *script_branch(struct script_writer *writer, const struct script_place *place);

/* Zero, or negative: the output is broken, or there is no memory. */
int script_put(struct script_writer *writer, const struct script_line *line);

/* As a comment: from "#" on. */
int script_put_gap(struct script_writer *writer, const struct sb_gap *gap);

#endif
