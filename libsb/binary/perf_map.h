/* perf_map.h - /tmp/perf-PID.map, in which a just-in-time compiler tells the names of its functions.
 *
 * Lines of "START SIZE NAME", hexadecimal but for the name, without times: what comes later holds. Format:
 * tools/perf/Documentation/jit-interface.txt of Linux.
 */
#ifndef SB_PERF_MAP_H
#define SB_PERF_MAP_H

#include <inttypes.h>

#include "binary/symbol_ranges.h"

enum {
	PERF_MAP_MOST = 128 << 20,     /* bytes */
	PERF_MAP_LINES_MOST = 1 << 21, /* what comes behind them is left out */
};

/* Where it is, by the process's number; for printf. */
#define PERF_MAP_NAME "/tmp/perf-%" PRId32 ".map"

/* Adds what is in @text, which ends with a zero, is changed, and must stay: names point into it. Lines that
 * are something else are left out. Zero or -sbe_nomem. */
int perf_map_parse(char *text, const char *dso, struct symbol_ranges *ranges);

#endif
