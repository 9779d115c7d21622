/* Inside the event room: what event_decoder.c, event_payload.c and psb_header.c share. */
#ifndef PT_EVENT_PACKETS_H
#define PT_EVENT_PACKETS_H

#include "event/event_decoder.h"

/* What a packet means. Zero or a negative pt_error_code. */
typedef int pt_packet_handler(struct pt_evd *evd, const struct pt_packet *packet);

/* Packets that bring an event of their own (event_payload.c). */
pt_packet_handler pt_evd_on_stop, pt_evd_on_cbr, pt_evd_on_mnt, pt_evd_on_exstop, pt_evd_on_mwait,
        pt_evd_on_pwre, pt_evd_on_pwrx, pt_evd_on_ptw, pt_evd_on_cfe, pt_evd_on_evd, pt_evd_on_trig;

/* Makes *@ev a new event, stamped with the current time. */
void pt_evd_new_event(const struct pt_evd *evd, struct pt_event *ev, enum pt_event_type type);

/* The present time is the event's. */
static inline void pt_evd_set_event_time(const struct pt_evd *evd, struct pt_event *ev)
{
	ev->has_tsc = (evd->time.have_tsc != 0) & 1;
	ev->tsc = evd->time.tsc;
	ev->lost_mtc = evd->time.lost_mtc;
	ev->lost_cyc = evd->time.lost_cyc;
}

/* Adds a new event to the end of the queue. Never fails: the queue is empty
 * when a packet is read, and has room for all that one packet can bring (see event_decoder.c). */
struct pt_event *pt_evd_push(struct pt_evd *evd, enum pt_event_type type);

/* Moves @ev, with its time, to the end of the queue, likewise. */
struct pt_event *pt_evd_push_copy(struct pt_evd *evd, const struct pt_event *ev);

/* A new event that waits for a FUP or TIP; NULL when there are too many. */
struct pt_event *pt_evd_bind(struct pt_evd *evd, struct pt_bound_events *bound, enum pt_event_type type);

/* An event that waits for the FUP that follows. */
struct pt_event *pt_evd_bind_fup(struct pt_evd *evd, enum pt_event_type type);

/* Takes note of MODE.Exec's interrupt flag. Positive when it changed, and events about it are wanted. */
int pt_evd_iflag_changed(struct pt_evd *evd, const struct pt_packet_mode_exec *exec);

/* Whether @type is about time only: TSC, TMA, MTC, CYC, CBR. */
static inline int pt_evd_is_timing(enum pt_packet_type type)
{
	switch (type) {
	case ppt_tsc:
	case ppt_tma:
	case ppt_mtc:
	case ppt_cyc:
	case ppt_cbr:
		return 1;
	default:
		return 0;
	}
}

/* The time before it is changed. */
struct pt_evd_moment {
	uint64_t tsc;
	int have_tsc;
};

/* To be called before a timing packet counts. */
static inline struct pt_evd_moment pt_evd_moment(struct pt_evd *evd)
{
	if (!evd->ahead) {
		evd->before = evd->time;
		evd->ahead = 1;
	}
	return (struct pt_evd_moment){evd->time.tsc, evd->time.have_tsc};
}

/* And behind: calls the tick callback when due. */
static inline int pt_evd_time_passed(struct pt_evd *evd, const struct pt_evd_moment *before)
{
	if (evd->time.tsc == before->tsc && evd->time.have_tsc == before->have_tsc)
		return 0;
	if (evd->time.tsc < evd->tick_limit || !evd->time.have_tsc)
		return 0;
	return evd->tick(evd->tick_context);
}

/* Takes the TIP at the head of the queue: pt_unit_tip. */
int pt_evd_take_queued_tip(struct pt_evd *evd);

/* Updates the time by a timing packet (others change nothing) and calls the tick callback when due. */
int pt_evd_update_time(struct pt_evd *evd, const struct pt_packet *packet);

/* Reads PSB+ at evd->pos and queues its status updates. */
int pt_evd_read_psb_header(struct pt_evd *evd);

/* Tells by what follows at evd->pos how an overflow resolves (overflow.c). */
int pt_evd_resolve_overflow(struct pt_evd *evd);

#endif
