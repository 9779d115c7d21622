/* tools/sink/function_counts.h - how many instructions each function executed. */
#ifndef TOOLS_SINK_FUNCTION_COUNTS_H
#define TOOLS_SINK_FUNCTION_COUNTS_H

#include <sb/replay.h>
#include <sb/symbols.h>

#include "output.h"

struct function_counts;

/* NULL: out of memory. */
struct function_counts *function_counts_new(struct sb_symbols *symbols, const struct sb_clock *clock);
void function_counts_free(struct function_counts *counts); /* NULL is fine */

/* Zero, or negative: out of memory. */
int function_counts_add(struct function_counts *counts, const struct sb_flow *flow);

/* A table of the @most functions with the most instructions. Zero, or negative: out of memory. */
int function_counts_put(struct function_counts *counts, size_t most, struct output *output);

#endif
