/* psb_header.c - PSB+: the header that says where execution stands (Intel SDM vol. 3, "PSB").
 *
 * Everything between PSB and PSBEND describes the state at that point; it becomes status update
 * events, which do not change the flow but let a decoder start there. OVF ends PSB+ early.
 */
#include "event/event_packets.h"

#include <string.h>

#include "packet/packet_read.h"

/* What PSB+ holds. */
struct psb_header {
	uint64_t ip;
	uint8_t have_ip, have_exec, have_tsx, have_pip, have_vmcs, have_cbr, overflow;
	struct pt_packet_mode_exec exec;
	struct pt_packet_mode_tsx tsx;
	struct pt_packet_pip pip;
	uint64_t vmcs;
	uint8_t cbr;
};

static int take_mode(struct psb_header *header, const struct pt_packet_mode *mode)
{
	switch (mode->leaf) {
	case pt_mol_exec:
		header->exec = mode->bits.exec;
		header->have_exec = 1;
		return 0;
	case pt_mol_tsx:
		header->tsx = mode->bits.tsx;
		header->have_tsx = 1;
		return 0;
	}
	return -pte_bad_packet;
}

/* One packet of PSB+. Positive when it ended the header. */
static int take_packet(struct pt_evd *evd, struct psb_header *header, const struct pt_packet *packet)
{
	int status;

	switch (packet->type) {
	case ppt_psbend:
		return 1;
	case ppt_ovf:
		header->overflow = 1;
		return 1;
	case ppt_fup:
		status = pt_last_ip_update(&evd->last, &packet->payload.ip);
		if (status < 0)
			return status;
		header->ip = evd->last.ip;
		header->have_ip = packet->payload.ip.ipc != pt_ipc_suppressed;
		return 0;
	case ppt_mode:
		return take_mode(header, &packet->payload.mode);
	case ppt_pip:
		header->pip = packet->payload.pip;
		header->have_pip = 1;
		return 0;
	case ppt_vmcs:
		header->vmcs = packet->payload.vmcs.base;
		header->have_vmcs = 1;
		return 0;
	case ppt_cbr:
		header->cbr = packet->payload.cbr.ratio;
		header->have_cbr = 1;
		return pt_evd_update_time(evd, packet);
	case ppt_tsc:
	case ppt_tma:
	case ppt_mtc:
	case ppt_cyc:
		return pt_evd_update_time(evd, packet);
	case ppt_pad:
	case ppt_psb:
	case ppt_mnt:
	case ppt_unknown:
		return 0;
	default:
		return -pte_bad_context;
	}
}

/* Errata (BDM70 and others): PSB+ has a FUP although tracing is just being enabled; the TIP.PGE that
 * follows at once gives the truth. On a CPU without the erratum that order cannot happen. */
static int enabled_by_next_packet(const struct pt_evd *evd)
{
	const uint8_t *pos = evd->pos;
	struct pt_packet packet;

	for (;;) {
		int size = pt_packet_read(&packet, pos, &evd->config);

		if (size < 0)
			return 0;
		if (packet.type == ppt_tip_pge)
			return 1;
		if (packet.type != ppt_pad && !pt_evd_is_timing(&packet) && packet.type != ppt_mode)
			return 0;
		pos += size;
	}
}

static struct pt_event *push_status(struct pt_evd *evd, const struct psb_header *header,
                                    enum pt_event_type type)
{
	struct pt_event *ev = pt_evd_push(evd, type);

	ev->status_update = 1;
	ev->ip_suppressed = !header->have_ip;
	return ev;
}

static void queue_status_updates(struct pt_evd *evd, const struct psb_header *header)
{
	const uint32_t before = evd->queue_count;
	struct pt_event *ev;

	if (header->have_ip) {
		ev = push_status(evd, header, ptev_enabled);
		ev->variant.enabled.ip = header->ip;
	}
	if (header->have_exec) {
		ev = push_status(evd, header, ptev_exec_mode);
		ev->variant.exec_mode.mode = pt_get_exec_mode(&header->exec);
		ev->variant.exec_mode.ip = header->ip;
	}
	if (header->have_tsx) {
		ev = push_status(evd, header, ptev_tsx);
		ev->variant.tsx.ip = header->ip;
		ev->variant.tsx.speculative = header->tsx.intx;
		ev->variant.tsx.aborted = header->tsx.abrt;
	}
	if (header->have_pip) {
		ev = push_status(evd, header, ptev_async_paging);
		ev->variant.async_paging.cr3 = header->pip.cr3;
		ev->variant.async_paging.non_root = header->pip.nr;
		ev->variant.async_paging.ip = header->ip;
	}
	if (header->have_vmcs) {
		ev = push_status(evd, header, ptev_async_vmcs);
		ev->variant.async_vmcs.base = header->vmcs;
		ev->variant.async_vmcs.ip = header->ip;
	}
	if (header->have_cbr) {
		ev = push_status(evd, header, ptev_cbr);
		ev->ip_suppressed = 1;
		ev->variant.cbr.ratio = header->cbr;
	}
	evd->psb_status = evd->queue_count != before;
}

int pt_evd_read_psb_header(struct pt_evd *evd)
{
	struct psb_header header;
	struct pt_packet packet;
	int status;

	memset(&header, 0, sizeof(header));
	pt_last_ip_reset(&evd->last);
	do {
		int size = pt_packet_read(&packet, evd->pos, &evd->config);

		if (size < 0)
			return size;
		status = take_packet(evd, &header, &packet);
		if (status < 0)
			return status;
		evd->pos += size;
	} while (!status);

	if (header.overflow) {
		/* The OVF ends PSB+ and is read like any other. */
		evd->pos -= packet.size;
		queue_status_updates(evd, &header);
		return 0;
	}
	if (header.have_ip && enabled_by_next_packet(evd))
		header.have_ip = 0;
	if (evd->overflowed) {
		struct pt_event *ev = pt_evd_push(evd, ptev_overflow);

		evd->overflowed = 0;
		ev->ip_suppressed = !header.have_ip;
		ev->variant.overflow.ip = header.ip;
	}
	evd->enabled = header.have_ip;
	queue_status_updates(evd, &header);
	return 0;
}
