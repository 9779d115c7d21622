/* late_time.h - who may run where the trace's time is known only now and then.
 *
 * Without CYC packets, time stands still from one TSC or MTC packet to the next: where user space is entered,
 * it is that time or later, up to the next packet's. All switches in between may have come, or not yet. They
 * have if tracing stays on up to that packet, which is the rule where MTCs are frequent; else addresses tell,
 * where only one of those who ran then has code there.
 *
 * A processor does not tell the time where user space is entered; tracers in software do.
 */
#ifndef SB_LATE_TIME_H
#define SB_LATE_TIME_H

#include <intel-pt.h>
#include <sb/system.h>

#include "replay/strangers.h"
#include "replay/switch_track.h"

/* What has been concluded between two TSC packets. */
struct late_time {
	size_t next; /* of the track: the schedule's entries from there on may have come */
	size_t low;  /* those before have come: what ran then came after them */
};

/* A process that may run. */
struct late_suspect {
	int32_t pid, tid; /* tid -1: several of its threads may */
	uint64_t moment;  /* at which it has the code */
	size_t first;     /* of the schedule's entries behind which it may */
};

enum { LATE_SUSPECTS_MAX = 8 };

struct late_verdict {
	int32_t pid, tid; /* -1: several may run */
	uint64_t moment;  /* at which that process has the code */
	struct late_suspect suspect[LATE_SUSPECTS_MAX];
	int nsuspects, is_full; /* there may be more of them */
};

/* Whether @packet may stand between an OVF packet and the TSC packet that tells when the overflow was over.
 */
int overflow_lasts(const struct pt_packet *packet);

/* Whether a TSC packet tells when what comes next comes: tracers in software write one right before tracing
 * is turned on, and whoever lost some behind the OVF packet, for where that ends. */
struct stamp {
	int is_fresh; /* one has just come */
	enum {
		stamp_nothing_lost,
		stamp_lost, /* an overflow has come, and not its time */
		stamp_found /* the last TSC packet is that of an overflow's end */
	} lost;
};

void stamp_take(struct stamp *stamp, const struct pt_packet *packet);
/* Whether tracing is turned on by @packet, or goes on behind an overflow, at the time of the last TSC packet.
 */
int stamp_tells(const struct stamp *stamp, const struct pt_packet *packet);

/* What the next packet of the decoder's buffer is that tells the time: the same from one offset to the other.
 * And where tracing is turned on and off before it for the last time, as far as it is; and where it is turned
 * on right behind a TSC packet, or an overflow ends there, and for the next time after that; UINT64_MAX:
 * nowhere.
 */
struct late_tsc {
	uint64_t from, at, tsc;
	uint64_t on, off;
	uint64_t stamped, next_on;
	uint64_t lost;      /* the first overflow behind the last TSC packet; UINT64_MAX: there is none */
	int by_mtc;         /* @tsc is that of an MTC packet */
	struct stamp stamp; /* at @at */
};

/* Nothing is known of the buffer. */
static const struct late_tsc late_tsc_unknown = {UINT64_MAX, 0,          UINT64_MAX, 0, 0,
                                                 UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, {0, 0}};

/* The time stamp of the next TSC packet behind the place where @decoder stands, or, if @mtc is not zero, of
 * the next MTC packet, which comes at that time; UINT64_MAX: there is none. *next is what was found before,
 * in the same buffer. */
uint64_t late_time_until(const struct pt_block_decoder *decoder, uint64_t mtc, struct late_tsc *next);

/* Whether a TSC packet says when tracing was turned on, or went on behind an overflow, that is on where
 * @decoder stands. *next: late_time_until() was asked there. */
int late_time_is_stamped(const struct pt_block_decoder *decoder, const struct late_tsc *next);

/* Whether an overflow has come where @decoder stands, and no TSC packet since. *next: likewise. */
int late_time_is_lost(const struct pt_block_decoder *decoder, const struct late_tsc *next);

/* Whether tracing, which has just been turned on where @decoder stands, stays on up to that packet. *next:
 * late_time_until() was asked there. */
int late_time_stays_on(const struct pt_block_decoder *decoder, const struct late_tsc *next);

/* User space is entered at @now, or later, but not after @until; it will run the @nips addresses. */
struct late_entry {
	const uint64_t *ip;
	size_t nips;
	uint64_t now, until;
	int stays; /* there is no switch before @until any more */
};

/* Whether there is a doubt, and *verdict says what comes of it; without one, it is as the track says. */
int late_time_judge(struct late_time *late, const struct strangers *strangers,
                    const struct switch_track *track, const struct late_entry *entry,
                    struct late_verdict *verdict);

/* Whether one of those who are switched to up to @until is another thread of the track's process or, unless
 * @process is not zero, of another process that has code at @ip. */
int late_time_others(const struct strangers *strangers, const struct switch_track *track, uint64_t ip,
                     uint64_t until, int process);

/* The first entry of the schedule that may not have come. */
static inline size_t late_time_low(const struct late_time *late, const struct switch_track *track)
{
	return late->next == track->next && late->low > track->next ? late->low : track->next;
}

#endif
