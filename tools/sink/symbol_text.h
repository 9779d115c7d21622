/* tools/sink/symbol_text.h - the columns "SYMBOL+0xOFFSET" and "DSO" of an address, or how to count by them.
 *
 * Answers are kept, each with the addresses and times that it is good for, so that neighbouring lines cost a
 * comparison and a copy. What is not known is "-". Bytes of names that a terminal might obey are \xNN.
 */
#ifndef TOOLS_SINK_SYMBOL_TEXT_H
#define TOOLS_SINK_SYMBOL_TEXT_H

#include <stdbool.h>
#include <string.h>

#include <sb/clock.h>
#include <sb/replay.h>
#include <sb/symbols.h>

#include "sink/text.h"

enum {
	symbol_name_most = 1024,                                         /* bytes of a name that are shown */
	symbol_column_most = 4 * symbol_name_most + 1,                   /* as text: each byte may be \xNN */
	symbol_text_most = 2 * symbol_column_most + 32 + 2 * text_slack, /* of both columns */
};

/* What is known of some addresses, as text. */
struct symbol_text {
	/* What it is good for. */
	const struct sb_epoch *epoch;
	int32_t pid;
	uint64_t low, high, from, to;

	uint64_t begin;         /* of the symbol; 0 without one */
	uint32_t nname, ndso;   /* lengths */
	char *text;             /* owned: the name, then the dso; NULL: not in use */
	const char *name, *dso; /* as sb_symbols gave them: equal ones are one pointer; NULL: not known */
	void *note;             /* the user's; NULL at first */
};

enum { symbol_texts = 8192 };

struct symbol_texts {
	struct sb_symbols *symbols;   /* borrowed */
	const struct sb_clock *clock; /* borrowed */
	uint64_t tsc, now;            /* the last time that was converted */
	struct symbol_text *last;     /* the one asked for last */
	struct symbol_text slot[symbol_texts];
};

/* NULL: out of memory. */
struct symbol_texts *symbol_texts_new(struct sb_symbols *symbols, const struct sb_clock *clock);
void symbol_texts_free(struct symbol_texts *texts); /* NULL is fine */

/* What symbol_text_at() does not find where it looks first; NULL: out of memory. */
struct symbol_text *symbol_text_look_up(struct symbol_texts *texts, const struct sb_flow *flow, uint64_t ip);

static inline bool symbol_text_fits(const struct symbol_text *text, const struct sb_epoch *epoch, int32_t pid,
                                    uint64_t ip, uint64_t now)
{
	return ip >= text->low && ip < text->high && text->epoch == epoch && text->pid == pid &&
	       now >= text->from && now < text->to;
}

/* The text of @ip, which was executed in @flow; it lasts until the next call. NULL: out of memory. */
static inline struct symbol_text *symbol_text_at(struct symbol_texts *texts, const struct sb_flow *flow,
                                                 uint64_t ip)
{
	if (texts->last && texts->tsc == flow->tsc &&
	    symbol_text_fits(texts->last, flow->epoch, flow->pid, ip, texts->now))
		return texts->last;
	return symbol_text_look_up(texts, flow, ip);
}

/* "\tSYMBOL+0xOFFSET\tDSO", at most symbol_text_most bytes. */
static inline char *symbol_text_put(char *at, const struct symbol_text *text, uint64_t ip)
{
	*at++ = '\t';
	memcpy(at, text->text, text->nname);
	at += text->nname;
	if (text->name) {
		memcpy(at, "+0x", 3);
		at = text_hex(at + 3, ip - text->begin);
	}
	*at++ = '\t';
	memcpy(at, text->text + text->nname, text->ndso);
	return at + text->ndso;
}

#endif
