/* overflow_gap.h - when an overflow was over, and whose it is, where it ended while tracing was off.
 *
 * A decoder that tells of it has read on to where tracing is turned on again, by when another thread may run.
 * It is of whoever ran where it ended, as the TSC packet behind the OVF tells (Intel SDM vol. 3, "Overflow
 * packet").
 */
#ifndef SB_OVERFLOW_GAP_H
#define SB_OVERFLOW_GAP_H

#include <intel-pt.h>
#include <sb/replay.h>

#include "replay/sideband_observer.h"

/* Before an event is taken, which may be an overflow. */
struct before_event {
	struct switch_track track; /* who runs */
	uint64_t offset;           /* up to where the decoder has read */
};

/* Fills in the time of @gap, and whose it is. @packets: of the decoder's buffer. Where no packet tells the
 * time before the flow goes on, both stay as they are. */
void overflow_gap_place(struct sb_gap *gap, const struct before_event *before,
                        struct pt_packet_decoder *packets, const struct sideband_observer *observer);

#endif
