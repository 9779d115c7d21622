/* Rows: TNTs, each behind a CYC of one or two bytes, as far as there are such.
 *
 * With CYC packets on, one stands before each TNT, and their cycles are never the same: neither windows nor
 * chains (run_chain.h) go on over them. If nobody asks for the time in between, the CYCs of a row can be
 * summed up, and the TNTs looked up at once.
 */
#ifndef PT_CYC_ROW_H
#define PT_CYC_ROW_H

#include "flow/run_cache.h"

enum { pt_cyc_row_most = 8 };

struct pt_cyc_row {
	const uint8_t *end; /* in the trace */
	uint64_t bytes;     /* of the TNTs, the first one's in the lowest byte */
	uint64_t cycles;    /* of the CYCs */
	uint32_t count;
};

static inline int pt_is_cyc(uint32_t bytes)
{
	return (bytes & 3) == 3;
}

/* Whether such a row may begin with @word: not with a TNT that is alone. */
static inline int pt_cyc_row_may_begin(uint64_t word)
{
	const uint64_t behind = word >> (8 + (word << 1 & 8));

	return pt_is_cyc((uint32_t)word) && !(behind & 1) && pt_is_cyc((uint32_t)(behind >> 8));
}

/* The row that begins at @pos. A TNT that is in one window with the packet behind it does not belong to it.
 */
struct pt_cyc_row pt_cyc_row_at(const uint8_t *pos, const uint8_t *end);

/* What a row is compared with: its TNTs, each behind a CYC of two bytes, which most have. */
enum { pt_cyc_row_pair = 3, pt_cyc_row_form_size = pt_cyc_row_most * pt_cyc_row_pair + 2 };
void pt_cyc_row_form(uint8_t *form, uint64_t bytes);

/* The row at @pos, if it is @count TNTs, those of @form: in less time than it takes to find it. Zero: it is
 * not, or the trace is about to end. */
int pt_cyc_row_is(const uint8_t *form, uint32_t count, const uint8_t *pos, const uint8_t *end,
                  struct pt_cyc_row *row);

/* The first @count TNTs of that row, which has as many. */
struct pt_cyc_row pt_cyc_row_first(const uint8_t *pos, uint32_t count);

#endif
