/* psb_left.h - flow that comes to a PSB and goes no further: what breaks it off is told behind the PSB, when
 * the flow before it is no longer at hand.
 */
#ifndef SB_PSB_LEFT_H
#define SB_PSB_LEFT_H

#include <intel-pt.h>

/* The address before which an interrupt or the like comes, as the first thing behind the PSB at @offset of
 * the decoder's buffer and what belongs to it: a FUP for the same address, and a TIP or TIP.PGD (Intel SDM
 * vol. 3, "PSB+" and "FUP"). 0: there is none, or the trace does not say it so plainly. */
uint64_t psb_left(struct pt_packet_decoder *decoder, uint64_t offset);

#endif
