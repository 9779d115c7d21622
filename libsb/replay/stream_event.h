/* stream_event.h - what an event of the trace is to those who look on while a stream is replayed: the sink,
 * who runs, and which page tables are in force.
 */
#ifndef SB_STREAM_EVENT_H
#define SB_STREAM_EVENT_H

#include "replay/stream_replay.h"

/* Holds it for the sink, if it is anything to it: of whoever runs now where tracing begins, else of whoever
 * ran before. Zero or a negative code. */
int stream_event_tell(struct stream_replay *replay, const struct pt_event *event);

/* What breaks the flow off: from outside, to the kernel, or by an overflow. */
void stream_event_interrupts(struct stream_replay *replay, const struct pt_event *event);

/* What it says of the page tables in force. */
void stream_event_paging(struct stream_replay *replay, const struct pt_event *event);

#endif
