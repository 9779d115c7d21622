/* user_stretch.h - where the packets of a stream show execution in user space, and in which address space:
 * from packets alone, without any code.
 *
 * PIP packets name the page tables (CR3) that are in force. They come where CR3 is written while tracing is
 * on, and behind each PSB; what was lost with an overflow, or while tracing was off, nobody knows.
 */
#ifndef SB_USER_STRETCH_H
#define SB_USER_STRETCH_H

#include <intel-pt.h>
#include <sb/perfdata.h>
#include <sb/system.h>

#include "replay/look_ahead.h"

/* The page of the page tables: below are the caching bits and the process-context identifier. */
#define CR3_PAGE(cr3) ((cr3) & ~(uint64_t)0xfff)
/* With page-table isolation, a process has two pages next to each other: this bit is set in user space. */
#define CR3_ISOLATED ((uint64_t)0x1000)

struct user_stretch {
	uint64_t cr3;                /* page */
	uint64_t previous;           /* page of the CR3 before, or 0 */
	uint64_t from, to;           /* perf clock, ns: it was not longer, but may have been shorter */
	uint64_t ip[LOOK_AHEAD_MAX]; /* that packets name, one of each page; the first LOOK_AHEAD_MAX */
	size_t nips;                 /* > 0 */
};

/* What is found, in order, as far as CR3 and time are known. Both return zero, or what ends the walk. */
struct user_stretch_sink {
	void *context;
	int (*stretch)(void *context, const struct user_stretch *stretch);
	int (*paging)(void *context, uint64_t cr3, uint64_t from, uint64_t to); /* a page was in force */
};

/* The walk over @stream. Zero, -sbe_nomem, or what a callback returned. */
int user_stretches_walk(const struct sb_perfdata *perfdata, const struct sb_system *system,
                        const struct sb_aux_stream *stream, const struct user_stretch_sink *sink);

/* Where it was asked last, and what the answer was: the next one goes on from there, so that all together
 * read the trace once, and not from the last PSB each. */
struct cr3_place {
	uint64_t offset; /* UINT64_MAX: none in this buffer */
	uint64_t cr3;
};

/* The CR3 page that is in force at @offset of the decoder's buffer, as packets since the last PSB before say;
 * 0: not known. For both, @decoder may be anywhere; NULL: nothing is known. */
uint64_t cr3_before(struct pt_packet_decoder *decoder, uint64_t offset, struct cr3_place *last);

/* Whether tracing is turned on by a packet in [@from, @to), or that is not known. */
int is_entered_within(struct pt_packet_decoder *decoder, uint64_t from, uint64_t to);

#endif
