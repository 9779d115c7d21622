/* tools/sink/insn_text.h - an instruction that was executed, as bytes, as assembly, and what kind of branch
 * it is.
 *
 * Bytes come from where the replay took them (<sb/code.h>). What was made of them is kept, and made anew only
 * when other bytes stand there.
 */
#ifndef TOOLS_SINK_INSN_TEXT_H
#define TOOLS_SINK_INSN_TEXT_H

#include <stdint.h>

#include <sb/code.h>
#include <sb/replay.h>

enum insn_syntax { insn_syntax_none, insn_syntax_intel, insn_syntax_att };

enum { insn_text_most = 160 };

struct insn_text {
	uint64_t ip;
	uint8_t bytes[pt_max_insn_size];
	uint8_t length; /* of it; 0: the slot is free */
	uint8_t known;  /* how many bytes are known: length or less */
	uint8_t mode;
	const char *branch;        /* "call", "jcc", "syscall", ...; "": it is none */
	char text[insn_text_most]; /* assembly; "" without a syntax, or when it is not known */
};

struct insn_texts;

/* @code is borrowed. NULL: out of memory. */
struct insn_texts *insn_texts_new(struct sb_code *code, enum insn_syntax syntax);
void insn_texts_free(struct insn_texts *texts); /* NULL is fine */

/* The instruction of @length bytes that was executed at @ip in @flow. It lasts until the next call; NULL: out
 * of memory. */
const struct insn_text *insn_text_at(struct insn_texts *texts, const struct sb_flow *flow, uint64_t ip,
                                     uint8_t length, uint8_t mode, uint8_t iclass);

#endif
