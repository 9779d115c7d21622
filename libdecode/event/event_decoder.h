/* From packets to what the flow needs: TNT bits, TIP targets and events, one unit at a time.
 *
 * pt_evd_fetch() reads packets until the next unit is known. Packets that belong together are
 * joined (Intel SDM vol. 3, "Compound Packet Events"): what comes before a FUP or a TIP and binds
 * to it waits in `fup_bound` or `tip_bound` until that packet gives the address; a FUP with
 * nothing bound to it is itself an asynchronous branch that waits for its TIP. An event has the
 * time of the packet that brought it. Timing packets advance `time` and call `tick` when the new
 * time is at or past `tick_limit`.
 */
#ifndef PT_EVENT_DECODER_H
#define PT_EVENT_DECODER_H

#include "intel-pt.h"
#include "event/time.h"
#include "packet/last_ip.h"

/* What pt_evd_fetch() found. */
enum pt_unit {
	pt_unit_tnt,  /* tnt_count > 0 bits in tnt */
	pt_unit_tip,  /* a branch target in tip_ip */
	pt_unit_event /* the event at the head of the queue */
};

/* How a decoder's configuration flags concern events. */
enum pt_evd_flag {
	pt_evd_keep_tcal = 1 << 0, /* calibration of cycles outlives an overflow */
	pt_evd_iflags = 1 << 1     /* give ptev_iflags */
};

enum pt_evd_iflag { pt_iflag_unknown, pt_iflag_clear, pt_iflag_set };

static inline int pt_evd_flags(uint32_t keep_tcal_on_ovf, uint32_t enable_iflags_events)
{
	return (keep_tcal_on_ovf ? pt_evd_keep_tcal : 0) | (enable_iflags_events ? pt_evd_iflags : 0);
}

enum { pt_evd_queue_size = 16, pt_evd_bound_size = 8 };

/* Events that wait for the packet that they bind to. */
struct pt_bound_events {
	struct pt_event event[pt_evd_bound_size];
	uint32_t count;
	uint8_t branch; /* an asynchronous branch: waits for its TIP, or follows the FUP */
};

struct pt_evd {
	const uint8_t *pos;    /* the next packet */
	const uint8_t *packet; /* the last one that was read; of a PSB+, its last */
	const uint8_t *sync;   /* the last PSB; NULL when not synchronised */
	/* Of sync.h: the PSB that it was synchronised at, and how far that read. */
	const uint8_t *started, *started_to;

	uint64_t tnt; /* the oldest bit is bit tnt_count - 1 */
	uint32_t tnt_count;
	uint8_t tip_suppressed; /* the target in tip_ip was suppressed */
	uint8_t enabled;        /* packet generation is enabled, as far as read */
	uint8_t no_tnt;         /* an event was announced: no TNT before there is one */
	uint8_t refused;        /* the events in the queue are followed by an error */
	uint8_t psb_status;     /* the PSB+ at sync brought status updates */
	uint8_t flags;          /* enum pt_evd_flag */
	uint8_t iflag;          /* RFLAGS.IF as MODE.Exec told it last: enum pt_evd_iflag */
	uint64_t tip_ip;

	struct pt_last_ip last;
	struct pt_time time;
	struct pt_time before; /* the time when the last unit was asked for, if it came later */
	uint8_t ahead;         /* it did */
	/* Cycles that do not count yet, and those of the last CYC among them: see pt_evd_owe_cyc(). */
	uint64_t owed, owed_last;

	/* Events in order; a TIP among events that wait is queued as ptev_tip. */
	struct pt_event queue[pt_evd_queue_size];
	uint32_t queue_head, queue_count;

	struct pt_bound_events fup_bound, tip_bound;

	/* EVD payloads that wait for their CFE. */
	struct {
		uint64_t cr2, vmxq, vmxr;
		uint8_t have_cr2, have_vmxq, have_vmxr;
	} evd;

	/* Observers: called from within pt_evd_fetch(); a negative value ends it. */
	int (*tick)(void *context);
	void *tick_context;
	uint64_t tick_limit; /* UINT64_MAX: nobody listens */

	struct pt_config config;
};

/* @config was checked by pt_config_from_user(); @flags: enum pt_evd_flag. */
void pt_evd_init(struct pt_evd *evd, const struct pt_config *config, int flags);

/* Starts at the PSB at @psb: forgets all state and reads PSB+, whose status updates are queued.
 * Zero; -pte_nosync when there is no PSB; -pte_eos when PSB+ is cut off. */
int pt_evd_sync(struct pt_evd *evd, const uint8_t *psb);

/* The next unit: enum pt_unit, or a negative pt_error_code. Must be called only when the last one
 * was used up: no TNT bits left, the event queue popped. */
int pt_evd_fetch(struct pt_evd *evd);

/* Reads one packet at pos. Zero, and tnt, the queue, or what is bound is changed; or a negative
 * pt_error_code, and pos stays. */
int pt_evd_read_packet(struct pt_evd *evd);

/* A TIP that was deferred behind TNT bits that are still to be used (Intel SDM vol. 3, "Deferred
 * TIPs"): reads up to it, leaves the bits, and gives pt_unit_tip; -pte_bad_query when none follows. */
int pt_evd_fetch_deferred_tip(struct pt_evd *evd);

/* Whether a TraceStop is what comes next, timing aside. */
int pt_evd_stop_follows(const struct pt_evd *evd);

static inline struct pt_event *pt_evd_event(struct pt_evd *evd)
{
	return evd->queue_count ? &evd->queue[evd->queue_head] : 0;
}

static inline void pt_evd_pop(struct pt_evd *evd)
{
	evd->queue_head = (evd->queue_head + 1) % pt_evd_queue_size;
	evd->queue_count -= 1;
}

/* Where decoding stands: while events of a packet are left, at that packet. */
static inline const uint8_t *pt_evd_place(const struct pt_evd *evd)
{
	return evd->queue_count ? evd->packet : evd->pos;
}

#endif
