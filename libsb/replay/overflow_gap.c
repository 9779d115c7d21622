/* overflow_gap.c - see overflow_gap.h. */
#include "replay/overflow_gap.h"

/* Whether it may stand between an OVF and the time. */
static int is_passed(const struct pt_packet *packet)
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

/* 0: no packet tells the time. */
static uint64_t tsc_behind(struct pt_packet_decoder *packets, uint64_t offset)
{
	struct pt_packet packet = {.type = ppt_pad};
	int status = pt_pkt_sync_set(packets, offset);

	while (status >= 0 && is_passed(&packet))
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
