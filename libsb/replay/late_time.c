/* late_time.c - see late_time.h. */
#include "replay/late_time.h"

#include "replay/address_index.h"

/* More switches than that between two TSC packets: nobody knows. */
enum { RUNS_MAX = 256 };

int overflow_lasts(const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_pad:
	case ppt_psb:
	case ppt_cbr:
	case ppt_mtc:
	case ppt_cyc:
	case ppt_mnt:
		return 1;
	default:
		return 0;
	}
}

/* Between the packets of a stamp. */
static int keeps_stamp(const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_tma:
	case ppt_mode:
	case ppt_pip:
	case ppt_vmcs:
	case ppt_pad:
		return 1;
	default:
		return 0;
	}
}

void stamp_take(struct stamp *stamp, const struct pt_packet *packet)
{
	if (packet->type == ppt_ovf)
		*stamp = (struct stamp){.lost = stamp_lost};
	else if (packet->type == ppt_tsc)
		*stamp = (struct stamp){.is_fresh = 1,
		                        .lost = stamp->lost == stamp_lost ? stamp_found : stamp_nothing_lost};
	else if (!keeps_stamp(packet) && !(stamp->lost == stamp_lost && overflow_lasts(packet)))
		*stamp = (struct stamp){0};
}

/* Whether tracing goes on behind an overflow. */
static int goes_on(const struct stamp *stamp, const struct pt_packet *packet)
{
	return packet->type == ppt_fup && stamp->lost;
}

int stamp_tells(const struct stamp *stamp, const struct pt_packet *packet)
{
	if (packet->type == ppt_tip_pge)
		return stamp->is_fresh && !stamp->lost;
	return stamp->is_fresh && goes_on(stamp, packet);
}

/* Tracing is turned on at @at, or may be, where an overflow begins; @is_fresh: a TSC packet says when. */
static void turn_on(struct late_tsc *next, uint64_t at, int is_fresh)
{
	if (is_fresh) {
		next->stamped = at;
		next->next_on = UINT64_MAX;
	} else if (next->next_on == UINT64_MAX) {
		next->next_on = at;
	}
}

static void tell_by_mtc(struct late_tsc *next, uint64_t mtc)
{
	next->tsc = mtc;
	next->by_mtc = 1;
}

/* Reads on, up to the first packet that tells the time at or behind @offset. */
static void find_time(struct pt_packet_decoder *packets, uint64_t offset, uint64_t mtc, struct late_tsc *next)
{
	struct pt_packet packet;
	uint64_t at;

	while (pt_pkt_get_offset(packets, &at) >= 0 && pt_pkt_next(packets, &packet, sizeof(packet)) >= 0) {
		const int is_told = stamp_tells(&next->stamp, &packet);

		if (at >= offset)
			next->at = at;
		if (is_told || packet.type == ppt_tip_pge || packet.type == ppt_ovf)
			turn_on(next, at, is_told);
		if (packet.type == ppt_tip_pge || goes_on(&next->stamp, &packet))
			next->on = at;
		else if (packet.type == ppt_tip_pgd || packet.type == ppt_ovf)
			next->off = at;
		if (packet.type == ppt_ovf && next->lost == UINT64_MAX)
			next->lost = at;
		else if (packet.type == ppt_tsc && at < offset)
			next->lost = UINT64_MAX;
		if (at >= offset && packet.type == ppt_tsc)
			next->tsc = packet.payload.tsc.tsc;
		else if (at >= offset && packet.type == ppt_mtc && mtc)
			tell_by_mtc(next, mtc);
		if (next->tsc != UINT64_MAX)
			return; /* it is read once more */
		stamp_take(&next->stamp, &packet);
	}
}

uint64_t late_time_until(const struct pt_block_decoder *decoder, uint64_t mtc, struct late_tsc *next)
{
	struct pt_config config = *pt_blk_get_config(decoder);
	struct pt_packet_decoder *packets;
	uint64_t offset, begin, read;

	if (pt_blk_get_offset(decoder, &offset) < 0 || pt_blk_get_psb_offset(decoder, &begin, &read) < 0)
		return UINT64_MAX;
	if (next->from <= offset && offset <= next->at && !(next->by_mtc && !mtc)) {
		/* The decoder reads ahead of its time: another MTC may have been due when this was found. */
		if (next->by_mtc)
			next->tsc = mtc;
		return next->tsc;
	}
	/* What came before is looked at once, not each time. */
	if (next->from != UINT64_MAX && next->at > begin && next->at < offset)
		begin = next->at;
	else
		*next = late_tsc_unknown;
	*next = (struct late_tsc){offset,     offset,     UINT64_MAX, next->on, next->off,
	                          UINT64_MAX, UINT64_MAX, next->lost, 0,        next->stamp};
	packets = pt_pkt_alloc_decoder(&config);
	if (packets && pt_pkt_sync_set(packets, begin) >= 0)
		find_time(packets, offset, mtc, next);
	pt_pkt_free_decoder(packets);
	return next->tsc;
}

int late_time_is_stamped(const struct pt_block_decoder *decoder, const struct late_tsc *next)
{
	uint64_t offset;

	return pt_blk_get_offset(decoder, &offset) >= 0 && next->stamped < offset && offset <= next->next_on;
}

int late_time_is_lost(const struct pt_block_decoder *decoder, const struct late_tsc *next)
{
	uint64_t offset;

	return pt_blk_get_offset(decoder, &offset) >= 0 && next->lost < offset;
}

int late_time_stays_on(const struct pt_block_decoder *decoder, const struct late_tsc *next)
{
	uint64_t offset;

	/* The decoder may have read the packet that turns tracing off. */
	return next->tsc != UINT64_MAX && next->off < next->on && pt_blk_get_offset(decoder, &offset) >= 0 &&
	       offset > next->on;
}

/* From entry @i - 1 of the schedule to entry @i: who ran, and whether that process had the code in the
 * beginning, or in the end. */
struct stretch {
	int32_t pid, tid;
	uint64_t from, to;
};

static struct stretch stretch_at(const struct switch_track *track, size_t i, uint64_t now, uint64_t until)
{
	const struct sb_sched *entry = i ? &track->sched[i - 1] : NULL;
	struct stretch stretch = {.pid = entry ? entry->pid : -1,
	                          .tid = entry ? entry->tid : -1,
	                          .from = entry && entry->time > now ? entry->time : now,
	                          .to = until};

	if (i < track->nscheds && track->sched[i].time < until)
		stretch.to = track->sched[i].time;
	return stretch;
}

static int has_code(const struct strangers *strangers, const struct stretch *stretch, const uint64_t *ip,
                    size_t nips, uint64_t *moment)
{
	const uint64_t moments[] = {stretch->from, stretch->to};

	for (size_t i = 0; i < 2; ++i) {
		*moment = moments[i];
		if (strangers_have(strangers, stretch->pid, *moment, 0) ||
		    space_has_code(sb_system_space(strangers->system, stretch->pid, *moment), ip, nips,
		                   *moment))
			return 1;
	}
	return 0;
}

/* Execution may be that of the schedule's entry @i - 1. */
static void add_suspect(struct late_verdict *verdict, size_t i, const struct stretch *stretch,
                        uint64_t moment)
{
	struct late_suspect *suspect = verdict->suspect;

	while (suspect < verdict->suspect + verdict->nsuspects && suspect->pid != stretch->pid)
		suspect += 1;
	if (suspect == verdict->suspect + LATE_SUSPECTS_MAX) {
		verdict->is_full = 1;
	} else if (suspect == verdict->suspect + verdict->nsuspects) {
		*suspect = (struct late_suspect){stretch->pid, stretch->tid, moment, i};
		verdict->nsuspects += 1;
	} else if (suspect->tid != stretch->tid) {
		suspect->tid = -1;
	}
}

/* Who it is, if there is only one. */
static void decide(struct late_verdict *verdict)
{
	const struct late_suspect *only = verdict->suspect;

	verdict->pid = verdict->tid = -1;
	if (verdict->nsuspects != 1)
		return;
	verdict->pid = only->pid;
	verdict->tid = only->tid;
	verdict->moment = only->moment;
}

/* Where the entries end that may have come. */
static size_t end_of(const struct switch_track *track, uint64_t until)
{
	size_t end = track->next;

	while (end < track->nscheds && track->sched[end].time <= until && end - track->next < RUNS_MAX)
		end += 1;
	schedule_use_note(&track->use, track->next, end + 1);
	return end;
}

int late_time_others(const struct strangers *strangers, const struct switch_track *track, uint64_t ip,
                     uint64_t until, int process)
{
	const size_t end = end_of(track, until);

	if (end - track->next == RUNS_MAX)
		return 1;
	for (size_t i = track->next; i < end; ++i) {
		const struct stretch stretch = stretch_at(track, i + 1, track->sched[i].time, until);
		uint64_t moment;

		if (stretch.pid == track->pid
		            ? stretch.tid != track->tid
		            : !process && stretch.pid > 0 && has_code(strangers, &stretch, &ip, 1, &moment))
			return 1;
	}
	return 0;
}

int late_time_judge(struct late_time *late, const struct strangers *strangers,
                    const struct switch_track *track, const struct late_entry *entry,
                    struct late_verdict *verdict)
{
	const uint64_t now = entry->now, until = entry->until;
	const size_t end = end_of(track, until);

	if (end == track->next)
		return 0;
	*late = (struct late_time){track->next, late_time_low(late, track)};
	*verdict = (struct late_verdict){.pid = -1, .tid = -1, .moment = now};
	if (end - track->next == RUNS_MAX)
		return 1;
	schedule_use_note(&track->use, late->low ? late->low - 1 : 0, end);
	for (size_t i = entry->stays ? end : late->low; i <= end; ++i) {
		const struct stretch stretch = stretch_at(track, i, now, until);
		uint64_t moment = now;

		if (stretch.pid == 0 ||
		    (stretch.pid > 0 && !has_code(strangers, &stretch, entry->ip, entry->nips, &moment)))
			continue;
		add_suspect(verdict, i, &stretch, moment);
	}
	if (verdict->nsuspects)
		late->low = verdict->suspect[0].first;
	decide(verdict);
	return 1;
}
