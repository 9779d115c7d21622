/* psb_left.c - see psb_left.h. */
#include "replay/psb_left.h"

#include <sb/trace.h>

/* What has been read. */
struct reader {
	enum { before_psb, in_psb, behind_psb, behind_fup, decided } place;
	uint64_t last_ip;
	uint64_t psb_ip; /* of the FUP that belongs to the PSB; 0: tracing is off */
	uint64_t left;
};

static void take_fup(struct reader *reader, const struct pt_packet_ip *packet)
{
	const int is_known = packet->ipc != pt_ipc_suppressed;

	reader->last_ip = sb_last_ip(reader->last_ip, packet);
	if (reader->place == in_psb)
		reader->psb_ip = is_known ? reader->last_ip : 0;
	else if (reader->place == behind_psb && is_known && reader->last_ip == reader->psb_ip)
		reader->place = behind_fup;
	else
		reader->place = decided;
}

static void take(struct reader *reader, const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_psb:
		reader->place = reader->place == before_psb ? in_psb : decided;
		break;
	case ppt_psbend:
		reader->place = reader->place == in_psb && reader->psb_ip ? behind_psb : decided;
		break;
	case ppt_fup:
		take_fup(reader, &packet->payload.ip);
		break;
	case ppt_tip:
	case ppt_tip_pgd:
		reader->left = reader->place == behind_fup ? reader->psb_ip : 0;
		reader->place = decided;
		break;
	case ppt_pad:
	case ppt_tsc:
	case ppt_tma:
	case ppt_mtc:
	case ppt_cyc:
	case ppt_cbr:
	case ppt_mnt:
		break;
	case ppt_mode:
	case ppt_pip:
	case ppt_vmcs:
		/* In front of a FUP, it is the packet's own. */
		reader->place = reader->place == behind_psb ? decided : reader->place;
		break;
	default:
		reader->place = decided;
		break;
	}
}

uint64_t psb_left(struct pt_packet_decoder *decoder, uint64_t offset)
{
	struct reader reader = {.place = before_psb};
	int status = pt_pkt_sync_set(decoder, offset);

	while (status >= 0 && reader.place != decided) {
		struct pt_packet packet;

		status = pt_pkt_next(decoder, &packet, sizeof(packet));
		if (status >= 0)
			take(&reader, &packet);
	}
	return reader.left;
}
