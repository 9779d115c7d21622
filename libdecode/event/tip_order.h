/* tip_order.h - whether TNT and TIP packets come in the order of their branches.
 *
 * A processor may go on filling a TNT packet where an indirect branch comes, and write the TIP only behind
 * it, when the TNT is full, or another packet has to come (Intel SDM vol. 3, "Deferred TIPs"). Whoever
 * follows the flow does not care: a TIP is what the next indirect branch uses. Whoever begins at a TIP does.
 */
#ifndef PT_TIP_ORDER_H
#define PT_TIP_ORDER_H

#include "event/event_decoder.h"

enum pt_tip_order {
	pt_tips_in_order,
	pt_tips_unclear, /* neither shows */
	pt_tips_deferred /* some may be */
};

/* Of the TIPs between the last PSB and the next one. Only the trace nearby tells, so that in the same buffer,
 * whoever begins at any PSB comes to the same. */
enum pt_tip_order pt_tip_order(const struct pt_evd *evd);

/* Whether a TNT is what comes next, but for CYC packets, which come along with it; or nothing. */
int pt_tnt_follows(const struct pt_evd *evd);

#endif
