/* psb_header.c - PSB+: the header that says where execution stands (Intel SDM vol. 3, "PSB").
 *
 * Everything between PSB and PSBEND describes the state at that point; it becomes status update
 * events, which do not change the flow but let a decoder start there. OVF ends PSB+ early.
 */
#include "event/event_packets.h"

#include <string.h>

#include "event/event_place.h"
#include "packet/packet_form.h"
#include "packet/packet_read.h"

/* What PSB+ holds. */
struct psb_header {
	struct pt_bound_events updates; /* wait for the FUP, which may come after them, and for the time */
	uint8_t have_ip;                /* the address is the last IP */
};

static struct pt_event *add(struct pt_evd *evd, struct psb_header *header, enum pt_event_type type)
{
	struct pt_event *ev = pt_evd_bind(evd, &header->updates, type);

	if (ev)
		ev->status_update = 1;
	return ev;
}

static int take_fup(struct pt_evd *evd, struct psb_header *header, const struct pt_packet *packet)
{
	header->have_ip = packet->payload.ip.ipc != pt_ipc_suppressed;
	return pt_last_ip_update(&evd->last, &packet->payload.ip);
}

/* The interrupt flag is told again with the rest of the state. */
static int take_mode_exec(struct pt_evd *evd, struct psb_header *header,
                          const struct pt_packet_mode_exec *exec)
{
	struct pt_event *ev = add(evd, header, ptev_exec_mode);

	if (!ev)
		return -pte_nomem;
	ev->variant.exec_mode.mode = pt_get_exec_mode(exec);
	evd->iflag = pt_iflag_unknown;
	if (!pt_evd_iflag_changed(evd, exec))
		return 0;
	ev = add(evd, header, ptev_iflags);
	if (!ev)
		return -pte_nomem;
	ev->variant.iflags.iflag = exec->iflag;
	return 0;
}

static int take_mode_tsx(struct pt_evd *evd, struct psb_header *header, const struct pt_packet_mode_tsx *tsx)
{
	struct pt_event *ev = add(evd, header, ptev_tsx);

	if (!ev)
		return -pte_nomem;
	ev->variant.tsx.speculative = tsx->intx;
	ev->variant.tsx.aborted = tsx->abrt;
	return 0;
}

static int take_mode(struct pt_evd *evd, struct psb_header *header, const struct pt_packet *packet)
{
	const struct pt_packet_mode *mode = &packet->payload.mode;

	switch (mode->leaf) {
	case pt_mol_exec:
		return take_mode_exec(evd, header, &mode->bits.exec);
	case pt_mol_tsx:
		return take_mode_tsx(evd, header, &mode->bits.tsx);
	}
	return -pte_bad_packet;
}

static int take_pip(struct pt_evd *evd, struct psb_header *header, const struct pt_packet *packet)
{
	struct pt_event *ev = add(evd, header, ptev_async_paging);

	if (!ev)
		return -pte_nomem;
	ev->variant.async_paging.cr3 = packet->payload.pip.cr3;
	ev->variant.async_paging.non_root = packet->payload.pip.nr;
	return 0;
}

static int take_vmcs(struct pt_evd *evd, struct psb_header *header, const struct pt_packet *packet)
{
	struct pt_event *ev = add(evd, header, ptev_async_vmcs);

	if (!ev)
		return -pte_nomem;
	ev->variant.async_vmcs.base = packet->payload.vmcs.base;
	return 0;
}

static int take_cbr(struct pt_evd *evd, struct psb_header *header, const struct pt_packet *packet)
{
	struct pt_event *ev = add(evd, header, ptev_cbr);

	if (!ev)
		return -pte_nomem;
	ev->variant.cbr.ratio = packet->payload.cbr.ratio;
	return pt_evd_update_time(evd, packet);
}

static int take_mnt(struct pt_evd *evd, struct psb_header *header, const struct pt_packet *packet)
{
	struct pt_event *ev = add(evd, header, ptev_mnt);

	if (!ev)
		return -pte_nomem;
	ev->status_update = 0;
	ev->variant.mnt.payload = packet->payload.mnt.payload;
	return 0;
}

static int belongs_to_header(enum pt_packet_type type)
{
	if (pt_evd_is_timing(type))
		return 1;
	switch (type) {
	case ppt_psbend:
	case ppt_ovf:
	case ppt_fup:
	case ppt_mode:
	case ppt_pip:
	case ppt_vmcs:
	case ppt_mnt:
	case ppt_pad:
	case ppt_unknown:
	case ppt_invalid:
		return 1;
	default:
		return 0;
	}
}

/* One packet of PSB+. Positive when it ended the header. */
static int take_packet(struct pt_evd *evd, struct psb_header *header, const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_psbend:
	case ppt_ovf:
		return 1;
	case ppt_fup:
		return take_fup(evd, header, packet);
	case ppt_mode:
		return take_mode(evd, header, packet);
	case ppt_pip:
		return take_pip(evd, header, packet);
	case ppt_vmcs:
		return take_vmcs(evd, header, packet);
	case ppt_cbr:
		return take_cbr(evd, header, packet);
	case ppt_mnt:
		return take_mnt(evd, header, packet);
	default:
		return pt_evd_update_time(evd, packet);
	}
}

static int may_precede_enabling(enum pt_packet_type type)
{
	if (pt_evd_is_timing(type))
		return 1;
	switch (type) {
	case ppt_pad:
	case ppt_psbend:
	case ppt_mnt:
	case ppt_mode:
	case ppt_pip:
	case ppt_vmcs:
	case ppt_unknown:
		return 1;
	default:
		return 0;
	}
}

/* Erratum BDM70: PSB+ may have a FUP although tracing is just being enabled; the TIP.PGE that follows gives
 * the truth. Positive when it does. */
static int enabled_by_next_packet(const struct pt_evd *evd)
{
	const uint8_t *pos = evd->pos;
	struct pt_packet packet;

	for (;;) {
		int size;

		pos = pt_packet_skip_pads(pos, evd->config.end);
		size = pt_packet_read(&packet, pos, &evd->config);
		if (size < 0)
			return size == -pte_eos ? 0 : size;
		if (packet.type == ppt_tip_pge)
			return 1;
		if (!may_precede_enabling(packet.type))
			return 0;
		pos += size;
	}
}

/* Whether the header's address counts. */
static int check_address(struct pt_evd *evd, struct psb_header *header, enum pt_packet_type end)
{
	int status;

	if (!header->have_ip || end == ppt_ovf || evd->enabled || !evd->config.errata.bdm70)
		return 0;
	status = enabled_by_next_packet(evd);
	if (status > 0) {
		header->have_ip = 0;
		pt_last_ip_reset(&evd->last);
	}
	return status;
}

static void push_enabled(struct pt_evd *evd)
{
	struct pt_event *ev = pt_evd_push(evd, ptev_enabled);

	ev->status_update = 1;
	ev->variant.enabled.ip = evd->last.ip;
}

static void push_update(struct pt_evd *evd, const struct pt_event *update, int have_ip)
{
	struct pt_event *ev = pt_evd_push(evd, update->type);
	uint64_t *place;

	ev->status_update = update->status_update;
	ev->variant = update->variant;
	place = pt_event_place(ev);
	if (!place)
		return;
	ev->ip_suppressed = !have_ip;
	*place = have_ip ? evd->last.ip : 0;
}

/* In their order. From the first one that has a place, they hold at the header's address. */
static void queue_updates(struct pt_evd *evd, struct psb_header *header)
{
	const uint32_t count = header->updates.count;
	uint32_t i = 0;

	for (; i < count && !pt_event_place(&header->updates.event[i]); ++i)
		push_update(evd, &header->updates.event[i], header->have_ip);
	if (header->have_ip)
		push_enabled(evd);
	for (; i < count; ++i)
		push_update(evd, &header->updates.event[i], header->have_ip);
	evd->psb_status = evd->queue_count != 0;
}

/* What does not belong here is out of place, whatever its content. */
static int read_header_packet(const struct pt_evd *evd, struct pt_packet *packet)
{
	const int size = pt_packet_read(packet, evd->pos, &evd->config);
	const int type = size < 0 ? pt_packet_type_at(evd->pos, &evd->config) : (int)packet->type;

	return type < 0 || belongs_to_header((enum pt_packet_type)type) ? size : -pte_bad_context;
}

static void skip_pads(struct pt_evd *evd)
{
	const uint8_t *const pos = pt_packet_skip_pads(evd->pos, evd->config.end);

	if (pos == evd->pos)
		return;
	(void)pt_evd_moment(evd);
	evd->packet = pos - 1;
	evd->pos = pos;
}

int pt_evd_read_psb_header(struct pt_evd *evd)
{
	struct psb_header header;
	struct pt_packet packet;
	int status;

	header.updates.count = 0;
	header.have_ip = 0;
	pt_last_ip_reset(&evd->last);
	do {
		int size;

		skip_pads(evd);
		size = read_header_packet(evd, &packet);
		if (size < 0)
			return size;
		status = take_packet(evd, &header, &packet);
		if (status < 0)
			return status;
		evd->packet = evd->pos;
		evd->pos += size;
	} while (!status);

	if (packet.type == ppt_ovf)
		evd->pos = evd->packet; /* it is read like any other */
	status = check_address(evd, &header, packet.type);
	if (status < 0)
		return status;
	if (header.have_ip)
		evd->enabled = 1;
	queue_updates(evd, &header);
	return 0;
}
