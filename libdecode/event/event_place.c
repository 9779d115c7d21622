/* event_place.c - see event_place.h. */
#include "event/event_place.h"

#include <stddef.h>

uint64_t *pt_event_place(struct pt_event *ev)
{
	switch (ev->type) {
	case ptev_enabled:
		return &ev->variant.enabled.ip;
	case ptev_async_disabled:
		return &ev->variant.async_disabled.at;
	case ptev_async_branch:
		return &ev->variant.async_branch.from;
	case ptev_async_paging:
		return &ev->variant.async_paging.ip;
	case ptev_async_vmcs:
		return &ev->variant.async_vmcs.ip;
	case ptev_exec_mode:
		return &ev->variant.exec_mode.ip;
	case ptev_iflags:
		return &ev->variant.iflags.ip;
	case ptev_tsx:
		return &ev->variant.tsx.ip;
	case ptev_exstop:
		return &ev->variant.exstop.ip;
	case ptev_mwait:
		return &ev->variant.mwait.ip;
	case ptev_ptwrite:
		return &ev->variant.ptwrite.ip;
	case ptev_interrupt:
		return &ev->variant.interrupt.ip;
	case ptev_iret:
		return &ev->variant.iret.ip;
	case ptev_smi:
		return &ev->variant.smi.ip;
	case ptev_rsm:
		return &ev->variant.rsm.ip;
	case ptev_init:
		return &ev->variant.init.ip;
	case ptev_vmentry:
		return &ev->variant.vmentry.ip;
	case ptev_vmexit:
		return &ev->variant.vmexit.ip;
	case ptev_shutdown:
		return &ev->variant.shutdown.ip;
	case ptev_uintr:
		return &ev->variant.uintr.ip;
	case ptev_uiret:
		return &ev->variant.uiret.ip;
	case ptev_trig:
		return &ev->variant.trig.ip;
	case ptev_swintr:
		return &ev->variant.swintr.ip;
	case ptev_syscall:
		return &ev->variant.syscall.ip;
	default:
		return NULL;
	}
}
