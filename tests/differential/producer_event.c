/* producer_event.c - packets and events of the intel-pt.h in use as records. Compiled twice, see producer.h.
 */
#include "producer_parts.h"

void PRODUCER(packet)(struct record *record, const struct pt_packet *packet)
{
	uint64_t *field = record->field;

	record->kind = rec_packet;
	record->type = packet->type;
	switch (packet->type) {
	case ppt_fup:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
		field[0] = packet->payload.ip.ipc;
		field[1] = packet->payload.ip.ip;
		break;
	case ppt_tnt_8:
	case ppt_tnt_64:
		field[0] = packet->payload.tnt.bit_size;
		field[1] = packet->payload.tnt.payload;
		break;
	case ppt_mode:
		field[0] = packet->payload.mode.leaf;
		if (packet->payload.mode.leaf == pt_mol_exec) {
			field[1] = packet->payload.mode.bits.exec.csl;
			field[2] = packet->payload.mode.bits.exec.csd;
#if LIBIPT_VERSION >= 0x201
			field[3] = packet->payload.mode.bits.exec.iflag;
#endif
		} else {
			field[1] = packet->payload.mode.bits.tsx.intx;
			field[2] = packet->payload.mode.bits.tsx.abrt;
		}
		break;
	case ppt_pip:
		field[0] = packet->payload.pip.cr3;
		field[1] = packet->payload.pip.nr;
		break;
	case ppt_vmcs:
		field[0] = packet->payload.vmcs.base;
		break;
	case ppt_cbr:
		field[0] = packet->payload.cbr.ratio;
		break;
	case ppt_tsc:
		field[0] = packet->payload.tsc.tsc;
		break;
	case ppt_tma:
		field[0] = packet->payload.tma.ctc;
		field[1] = packet->payload.tma.fc;
		break;
	case ppt_mtc:
		field[0] = packet->payload.mtc.ctc;
		break;
	case ppt_cyc:
		field[0] = packet->payload.cyc.value;
		break;
	case ppt_mnt:
		field[0] = packet->payload.mnt.payload;
		break;
	case ppt_exstop:
		field[0] = packet->payload.exstop.ip;
		break;
	case ppt_mwait:
		field[0] = packet->payload.mwait.hints;
		field[1] = packet->payload.mwait.ext;
		break;
	case ppt_pwre:
		field[0] = packet->payload.pwre.state;
		field[1] = packet->payload.pwre.sub_state;
		field[2] = packet->payload.pwre.hw;
		break;
	case ppt_pwrx:
		field[0] = packet->payload.pwrx.last;
		field[1] = packet->payload.pwrx.deepest;
		field[2] = packet->payload.pwrx.interrupt;
		field[3] = packet->payload.pwrx.store;
		field[4] = packet->payload.pwrx.autonomous;
		break;
	case ppt_ptw:
		field[0] = packet->payload.ptw.plc;
		field[1] = packet->payload.ptw.ip;
		field[2] = packet->payload.ptw.payload;
		break;
	default:
		break;
	}
}

static void event_fields(uint64_t *field, const struct pt_event *event)
{
	uint64_t valid = event->ip_suppressed ? 0 : ~0ull;

	switch (event->type) {
	case ptev_enabled:
		field[0] = event->variant.enabled.ip & valid;
		field[1] = event->variant.enabled.resumed;
		break;
	case ptev_disabled:
		field[0] = event->variant.disabled.ip & valid;
		break;
	case ptev_async_disabled:
		field[0] = event->variant.async_disabled.ip & valid;
		field[1] = event->variant.async_disabled.at;
		break;
	case ptev_async_branch:
		field[0] = event->variant.async_branch.to & valid;
		field[1] = event->variant.async_branch.from;
		break;
	case ptev_paging:
		field[0] = event->variant.paging.cr3;
		field[1] = event->variant.paging.non_root;
		break;
	case ptev_async_paging:
		field[0] = event->variant.async_paging.ip & valid;
		field[1] = event->variant.async_paging.cr3;
		field[2] = event->variant.async_paging.non_root;
		break;
	case ptev_overflow:
		field[0] = event->variant.overflow.ip & valid;
		break;
	case ptev_exec_mode:
		field[0] = event->variant.exec_mode.ip & valid;
		field[1] = event->variant.exec_mode.mode;
		break;
	case ptev_tsx:
		field[0] = event->variant.tsx.ip & valid;
		field[1] = event->variant.tsx.speculative;
		field[2] = event->variant.tsx.aborted;
		break;
	case ptev_vmcs:
		field[0] = event->variant.vmcs.base;
		break;
	case ptev_async_vmcs:
		field[0] = event->variant.async_vmcs.ip & valid;
		field[1] = event->variant.async_vmcs.base;
		break;
	case ptev_exstop:
		field[0] = event->variant.exstop.ip & valid;
		break;
	case ptev_mwait:
		field[0] = event->variant.mwait.ip & valid;
		field[1] = event->variant.mwait.hints;
		field[2] = event->variant.mwait.ext;
		break;
	case ptev_pwre:
		field[0] = event->variant.pwre.state;
		field[1] = event->variant.pwre.sub_state;
		field[2] = event->variant.pwre.hw;
		break;
	case ptev_pwrx:
		field[0] = event->variant.pwrx.last;
		field[1] = event->variant.pwrx.deepest;
		field[2] = event->variant.pwrx.interrupt;
		field[3] = event->variant.pwrx.store;
		field[4] = event->variant.pwrx.autonomous;
		break;
	case ptev_ptwrite:
		field[0] = event->variant.ptwrite.ip & valid;
		field[1] = event->variant.ptwrite.size;
		field[2] = event->variant.ptwrite.payload;
		break;
	case ptev_tick:
		field[0] = event->variant.tick.ip & valid;
		break;
	case ptev_cbr:
		field[0] = event->variant.cbr.ratio;
		break;
	case ptev_mnt:
		field[0] = event->variant.mnt.payload;
		break;
	default:
		break;
	}
}

void PRODUCER(event)(struct record *record, const struct pt_event *event)
{
	record->kind = rec_event;
	record->type = event->type;
	record->flags =
	        event->ip_suppressed | (uint32_t)event->status_update << 1 | (uint32_t)event->has_tsc << 2;
	record->tsc = event->has_tsc ? event->tsc : 0;
	record->lost_mtc = event->lost_mtc;
	record->lost_cyc = event->lost_cyc;
	event_fields(record->field, event);
}
