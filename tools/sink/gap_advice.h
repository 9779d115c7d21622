/* tools/sink/gap_advice.h - what would have avoided a gap, by its reason: a clause for people. */
#ifndef TOOLS_SINK_GAP_ADVICE_H
#define TOOLS_SINK_GAP_ADVICE_H

#include <sb/perfdata.h>
#include <sb/replay.h>

/* Printable ASCII without tabs; "-" for what is no gap. sbtrace-sideband(7) says more. @perfdata: the
 * recording that has it, which may not be whole; NULL: not known. */
const char *gap_advice(enum sb_gap_reason reason, const struct sb_perfdata *perfdata);

#endif
