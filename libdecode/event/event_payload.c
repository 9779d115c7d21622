/* event_payload.c - packets that bring an event of their own: power, PTWRITE, event trace, triggers.
 *
 * Those whose packet says so concern the instruction at the FUP that follows, and wait for it.
 */
#include "event/event_packets.h"

#include <stddef.h>
#include <string.h>

#include "event/event_place.h"
#include "packet/packet_form.h"
#include "packet/packet_read.h"
#include "packet/timing_pairs.h"

/* An event that concerns a FUP when @has_ip says so, else stands alone. */
static struct pt_event *bind_or_push(struct pt_evd *evd, enum pt_event_type type, int has_ip)
{
	struct pt_event *ev;

	if (has_ip)
		return pt_evd_bind_fup(evd, type);
	ev = pt_evd_push(evd, type);
	ev->ip_suppressed = pt_event_place(ev) != NULL;
	return ev;
}

int pt_evd_on_stop(struct pt_evd *evd, const struct pt_packet *packet)
{
	(void)packet;
	pt_evd_push(evd, ptev_stop);
	return 0;
}

int pt_evd_stop_follows(const struct pt_evd *evd)
{
	const struct pt_config *const config = &evd->config;
	const uint8_t *pos = evd->pos, *behind;

	for (;;) {
		struct pt_packet packet;
		int type, size;

		pos = pt_packet_skip_pads(pos, config->end);
		type = pt_packet_type_at(pos, config);
		if (type < 0 || !pt_evd_is_timing((enum pt_packet_type)type))
			return type == ppt_stop;
		behind = pt_timing_pairs_skip(pos, config->end);
		if (behind == pos) {
			size = pt_packet_read(&packet, pos, config);
			if (size < 0 || !pt_evd_is_timing(packet.type))
				return 0;
			behind += size;
		}
		pos = behind;
	}
}

int pt_evd_on_cbr(struct pt_evd *evd, const struct pt_packet *packet)
{
	struct pt_event *ev = pt_evd_push(evd, ptev_cbr);

	ev->variant.cbr.ratio = packet->payload.cbr.ratio;
	return pt_evd_update_time(evd, packet);
}

int pt_evd_on_mnt(struct pt_evd *evd, const struct pt_packet *packet)
{
	struct pt_event *ev = pt_evd_push(evd, ptev_mnt);

	ev->variant.mnt.payload = packet->payload.mnt.payload;
	return 0;
}

int pt_evd_on_exstop(struct pt_evd *evd, const struct pt_packet *packet)
{
	return bind_or_push(evd, ptev_exstop, packet->payload.exstop.ip) ? 0 : -pte_nomem;
}

int pt_evd_on_mwait(struct pt_evd *evd, const struct pt_packet *packet)
{
	struct pt_event *ev = pt_evd_bind_fup(evd, ptev_mwait);

	if (!ev)
		return -pte_nomem;
	ev->variant.mwait.hints = packet->payload.mwait.hints;
	ev->variant.mwait.ext = packet->payload.mwait.ext;
	return 0;
}

int pt_evd_on_pwre(struct pt_evd *evd, const struct pt_packet *packet)
{
	struct pt_event *ev = pt_evd_push(evd, ptev_pwre);

	ev->variant.pwre.state = packet->payload.pwre.state;
	ev->variant.pwre.sub_state = packet->payload.pwre.sub_state;
	ev->variant.pwre.hw = packet->payload.pwre.hw;
	return 0;
}

int pt_evd_on_pwrx(struct pt_evd *evd, const struct pt_packet *packet)
{
	struct pt_event *ev = pt_evd_push(evd, ptev_pwrx);

	ev->variant.pwrx.last = packet->payload.pwrx.last;
	ev->variant.pwrx.deepest = packet->payload.pwrx.deepest;
	ev->variant.pwrx.interrupt = packet->payload.pwrx.interrupt;
	ev->variant.pwrx.store = packet->payload.pwrx.store;
	ev->variant.pwrx.autonomous = packet->payload.pwrx.autonomous;
	return 0;
}

int pt_evd_on_ptw(struct pt_evd *evd, const struct pt_packet *packet)
{
	const int size = pt_ptw_size(packet->payload.ptw.plc);
	struct pt_event *ev;

	if (size < 0)
		return size;
	ev = bind_or_push(evd, ptev_ptwrite, packet->payload.ptw.ip);
	if (!ev)
		return -pte_nomem;
	ev->variant.ptwrite.size = (uint8_t)size;
	ev->variant.ptwrite.payload = packet->payload.ptw.payload;
	return 0;
}

int pt_evd_on_evd(struct pt_evd *evd, const struct pt_packet *packet)
{
	switch (packet->payload.evd.type) {
	case pt_evd_cr2:
		evd->evd.cr2 = packet->payload.evd.payload;
		evd->evd.have_cr2 = 1;
		return 0;
	case pt_evd_vmxq:
		evd->evd.vmxq = packet->payload.evd.payload;
		evd->evd.have_vmxq = 1;
		return 0;
	case pt_evd_vmxr:
		evd->evd.vmxr = packet->payload.evd.payload;
		evd->evd.have_vmxr = 1;
		return 0;
	}
	return -pte_bad_packet;
}

/* Fills the event of a CFE from it and from the EVDs before it. */
static void fill_cfe(struct pt_evd *evd, struct pt_event *ev, const struct pt_packet_cfe *cfe)
{
	switch (ev->type) {
	case ptev_interrupt:
		ev->variant.interrupt.vector = cfe->vector;
		ev->variant.interrupt.has_cr2 = evd->evd.have_cr2 != 0;
		ev->variant.interrupt.cr2 = evd->evd.cr2;
		break;
	case ptev_sipi:
		ev->variant.sipi.vector = cfe->vector;
		break;
	case ptev_vmexit:
		ev->variant.vmexit.has_vector = cfe->type == pt_cfe_vmexit_intr;
		ev->variant.vmexit.vector = cfe->vector;
		ev->variant.vmexit.has_vmxr = evd->evd.have_vmxr != 0;
		ev->variant.vmexit.has_vmxq = evd->evd.have_vmxq != 0;
		ev->variant.vmexit.vmxr = evd->evd.vmxr;
		ev->variant.vmexit.vmxq = evd->evd.vmxq;
		break;
	case ptev_uintr:
		ev->variant.uintr.vector = cfe->vector;
		break;
	case ptev_swintr:
		ev->variant.swintr.vector = cfe->vector;
		break;
	default:
		break;
	}
	memset(&evd->evd, 0, sizeof(evd->evd));
}

int pt_evd_on_cfe(struct pt_evd *evd, const struct pt_packet *packet)
{
	static const struct {
		uint8_t known;
		uint8_t branch; /* control is transferred asynchronously: a TIP follows the FUP */
		enum pt_event_type event;
	} row[] = {
	        [pt_cfe_intr] = {1, 1, ptev_interrupt},
	        [pt_cfe_iret] = {1, 0, ptev_iret},
	        [pt_cfe_smi] = {1, 1, ptev_smi},
	        [pt_cfe_rsm] = {1, 0, ptev_rsm},
	        [pt_cfe_sipi] = {1, 0, ptev_sipi},
	        [pt_cfe_init] = {1, 1, ptev_init},
	        [pt_cfe_vmentry] = {1, 0, ptev_vmentry},
	        [pt_cfe_vmexit] = {1, 1, ptev_vmexit},
	        [pt_cfe_vmexit_intr] = {1, 1, ptev_vmexit},
	        [pt_cfe_shutdown] = {1, 1, ptev_shutdown},
	        [pt_cfe_uintr] = {1, 1, ptev_uintr},
	        [pt_cfe_uiret] = {1, 0, ptev_uiret},
	        [pt_cfe_swintr] = {1, 0, ptev_swintr},
	        [pt_cfe_syscall] = {1, 0, ptev_syscall},
	};
	const struct pt_packet_cfe *cfe = &packet->payload.cfe;
	struct pt_event *ev;

	if ((size_t)cfe->type >= sizeof(row) / sizeof(row[0]) || !row[cfe->type].known)
		return -pte_bad_packet;
	ev = bind_or_push(evd, row[cfe->type].event, cfe->ip);
	if (!ev)
		return -pte_nomem;
	if (cfe->ip)
		evd->fup_bound.branch |= row[cfe->type].branch;
	fill_cfe(evd, ev, cfe);
	return 0;
}

int pt_evd_on_trig(struct pt_evd *evd, const struct pt_packet *packet)
{
	struct pt_event *ev = bind_or_push(evd, ptev_trig, packet->payload.trig.ip);

	if (!ev)
		return -pte_nomem;
	ev->variant.trig.trbv = packet->payload.trig.trbv;
	ev->variant.trig.icnt = packet->payload.trig.icntv ? packet->payload.trig.icnt : 0;
	ev->variant.trig.mult = packet->payload.trig.mult;
	return 0;
}
