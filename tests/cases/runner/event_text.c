/* event_text.c - see event_text.h.
 *
 * Every field that counts is written: an address only when it is not suppressed, flags when they are set.
 */
#include "event_text.h"

#include <inttypes.h>

#include "names.h"

struct writer {
	FILE *out;
	const struct program *program;
	int no_ip;
};

static void number(struct writer *w, const char *key, uint64_t value)
{
	fprintf(w->out, " %s=%#" PRIx64, key, value);
}

static void flag(struct writer *w, const char *key, uint32_t value)
{
	if (value)
		fprintf(w->out, " %s", key);
}

static void address(struct writer *w, const char *key, uint64_t value)
{
	fprintf(w->out, " %s=", key);
	program_print_address(w->out, w->program, value);
}

static void ip(struct writer *w, uint64_t value)
{
	if (!w->no_ip)
		address(w, "ip", value);
}

static void flow_fields(struct writer *w, const struct pt_event *ev)
{
	switch (ev->type) {
	case ptev_enabled:
		ip(w, ev->variant.enabled.ip);
		flag(w, "resumed", ev->variant.enabled.resumed);
		break;
	case ptev_disabled:
		ip(w, ev->variant.disabled.ip);
		break;
	case ptev_async_disabled:
		address(w, "at", ev->variant.async_disabled.at);
		ip(w, ev->variant.async_disabled.ip);
		break;
	case ptev_async_branch:
		address(w, "from", ev->variant.async_branch.from);
		if (!w->no_ip)
			address(w, "to", ev->variant.async_branch.to);
		break;
	case ptev_overflow:
		ip(w, ev->variant.overflow.ip);
		break;
	case ptev_exec_mode:
		fprintf(w->out, " %s", exec_mode_name(ev->variant.exec_mode.mode));
		ip(w, ev->variant.exec_mode.ip);
		break;
	case ptev_tsx:
		flag(w, "speculative", ev->variant.tsx.speculative);
		flag(w, "aborted", ev->variant.tsx.aborted);
		ip(w, ev->variant.tsx.ip);
		break;
	case ptev_tip:
		ip(w, ev->variant.tip.ip);
		break;
	case ptev_tnt:
		fputc(' ', w->out);
		for (unsigned i = ev->variant.tnt.size; i-- > 0;)
			fputc(ev->variant.tnt.bits >> i & 1 ? 't' : 'n', w->out);
		break;
	default:
		break;
	}
}

static void state_fields(struct writer *w, const struct pt_event *ev)
{
	switch (ev->type) {
	case ptev_paging:
		number(w, "cr3", ev->variant.paging.cr3);
		flag(w, "non_root", ev->variant.paging.non_root);
		break;
	case ptev_async_paging:
		number(w, "cr3", ev->variant.async_paging.cr3);
		flag(w, "non_root", ev->variant.async_paging.non_root);
		ip(w, ev->variant.async_paging.ip);
		break;
	case ptev_vmcs:
		number(w, "base", ev->variant.vmcs.base);
		break;
	case ptev_async_vmcs:
		number(w, "base", ev->variant.async_vmcs.base);
		ip(w, ev->variant.async_vmcs.ip);
		break;
	case ptev_ptwrite:
		number(w, "size", ev->variant.ptwrite.size);
		number(w, "payload", ev->variant.ptwrite.payload);
		ip(w, ev->variant.ptwrite.ip);
		break;
	case ptev_tick:
		ip(w, ev->variant.tick.ip);
		break;
	case ptev_cbr:
		number(w, "ratio", ev->variant.cbr.ratio);
		break;
	case ptev_mnt:
		number(w, "payload", ev->variant.mnt.payload);
		break;
	case ptev_iflags:
		number(w, "iflag", ev->variant.iflags.iflag);
		ip(w, ev->variant.iflags.ip);
		break;
	case ptev_trig:
		number(w, "trbv", ev->variant.trig.trbv);
		number(w, "icnt", ev->variant.trig.icnt);
		flag(w, "mult", ev->variant.trig.mult);
		ip(w, ev->variant.trig.ip);
		break;
	default:
		break;
	}
}

static void power_fields(struct writer *w, const struct pt_event *ev)
{
	switch (ev->type) {
	case ptev_exstop:
		ip(w, ev->variant.exstop.ip);
		break;
	case ptev_mwait:
		number(w, "hints", ev->variant.mwait.hints);
		number(w, "ext", ev->variant.mwait.ext);
		ip(w, ev->variant.mwait.ip);
		break;
	case ptev_pwre:
		number(w, "state", ev->variant.pwre.state);
		number(w, "sub_state", ev->variant.pwre.sub_state);
		flag(w, "hw", ev->variant.pwre.hw);
		break;
	case ptev_pwrx:
		number(w, "last", ev->variant.pwrx.last);
		number(w, "deepest", ev->variant.pwrx.deepest);
		flag(w, "interrupt", ev->variant.pwrx.interrupt);
		flag(w, "store", ev->variant.pwrx.store);
		flag(w, "autonomous", ev->variant.pwrx.autonomous);
		break;
	default:
		break;
	}
}

static void vmexit_fields(struct writer *w, const struct pt_event *ev)
{
	if (ev->variant.vmexit.has_vector)
		number(w, "vector", ev->variant.vmexit.vector);
	if (ev->variant.vmexit.has_vmxr)
		number(w, "vmxr", ev->variant.vmexit.vmxr);
	if (ev->variant.vmexit.has_vmxq)
		number(w, "vmxq", ev->variant.vmexit.vmxq);
	ip(w, ev->variant.vmexit.ip);
}

/* The events of event tracing. Most have an address only, always at the same place. */
static void control_fields(struct writer *w, const struct pt_event *ev)
{
	switch (ev->type) {
	case ptev_interrupt:
		number(w, "vector", ev->variant.interrupt.vector);
		if (ev->variant.interrupt.has_cr2)
			number(w, "cr2", ev->variant.interrupt.cr2);
		ip(w, ev->variant.interrupt.ip);
		break;
	case ptev_sipi:
		number(w, "vector", ev->variant.sipi.vector);
		break;
	case ptev_uintr:
		number(w, "vector", ev->variant.uintr.vector);
		ip(w, ev->variant.uintr.ip);
		break;
	case ptev_swintr:
		number(w, "vector", ev->variant.swintr.vector);
		ip(w, ev->variant.swintr.ip);
		break;
	case ptev_vmexit:
		vmexit_fields(w, ev);
		break;
	case ptev_iret:
	case ptev_smi:
	case ptev_rsm:
	case ptev_init:
	case ptev_vmentry:
	case ptev_shutdown:
	case ptev_uiret:
	case ptev_syscall:
		ip(w, ev->variant.iret.ip);
		break;
	default:
		break;
	}
}

void event_print(FILE *out, const struct pt_event *event, const struct program *program)
{
	struct writer writer = {.out = out, .program = program, .no_ip = event->ip_suppressed};

	fputs((unsigned)event->type <= ptev_syscall ? event_names[event->type] : "?", out);
	flag(&writer, "status", event->status_update);
	flow_fields(&writer, event);
	state_fields(&writer, event);
	power_fields(&writer, event);
	control_fields(&writer, event);
	flag(&writer, "suppressed", event->ip_suppressed);
	if (event->has_tsc)
		number(&writer, "tsc", event->tsc);
	if (event->lost_mtc)
		number(&writer, "lost_mtc", event->lost_mtc);
	if (event->lost_cyc)
		number(&writer, "lost_cyc", event->lost_cyc);
}
