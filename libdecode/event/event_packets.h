/* Inside the event room: what event_decoder.c and psb_header.c share. */
#ifndef PT_EVENT_PACKETS_H
#define PT_EVENT_PACKETS_H

#include "event/event_decoder.h"

/* A new event at the end of the queue, stamped with the current time. Never fails: the queue is empty
 * when a packet is read, and has room for all that one packet can bring (see event_decoder.c). */
struct pt_event *pt_evd_push(struct pt_evd *evd, enum pt_event_type type);

/* A new event that waits for a FUP or TIP; NULL when there are too many. */
struct pt_event *pt_evd_bind(struct pt_evd *evd, struct pt_bound_events *bound, enum pt_event_type type);

/* Whether @packet is about time only: TSC, TMA, MTC, CYC, CBR. */
int pt_evd_is_timing(const struct pt_packet *packet);

/* Updates the time by a timing packet (others change nothing) and calls the tick callback when due. */
int pt_evd_update_time(struct pt_evd *evd, const struct pt_packet *packet);

/* Reads PSB+ at evd->pos and queues its status updates. */
int pt_evd_read_psb_header(struct pt_evd *evd);

#endif
