/* overflow_gap.c - see overflow_gap.h. */
#include "replay/overflow_gap.h"

#include "replay/late_time.h"

/* 0: no packet tells the time. */
static uint64_t tsc_behind(struct pt_packet_decoder *packets, uint64_t offset)
{
	struct pt_packet packet = {.type = ppt_pad};
	int status = pt_pkt_sync_set(packets, offset);

	while (status >= 0 && overflow_lasts(&packet))
		status = pt_pkt_next(packets, &packet, sizeof(packet));
	return status >= 0 && packet.type == ppt_tsc ? packet.payload.tsc.tsc : 0;
}

void overflow_gap_place(struct sb_gap *gap, const struct before_event *before,
                        struct pt_packet_decoder *packets, const struct sideband_observer *observer)
{
	struct switch_track track = before->track;
	uint64_t tsc = tsc_behind(packets, before->offset);

	if (!tsc)
		return;
	tsc |= observer->tsc_base;
	switch_track_go_to(&track, sb_clock_tsc_to_ns(observer->clock, tsc));
	gap->pid = track.pid;
	gap->tid = track.tid;
	gap->tsc_from = tsc;
}
