/* event_decoder.c - see event_decoder.h.
 *
 * One handler per packet type. What a packet can queue is bounded: a TIP brings an overflow, itself
 * and the events bound to it; a FUP the events bound to it; PSB+ its seven status updates.
 */
#include "event/event_packets.h"

#include <string.h>

#include "event/event_place.h"
#include "packet/packet_read.h"
#include "packet/psb_search.h"

_Static_assert(pt_evd_bound_size + 2 <= pt_evd_queue_size, "a TIP with all that binds to it fits");

/* CFE types (Intel SDM vol. 3, "Control Flow Event (CFE) Packet"). */
enum cfe_type {
	cfe_intr = 0x1,
	cfe_iret = 0x2,
	cfe_smi = 0x3,
	cfe_rsm = 0x4,
	cfe_sipi = 0x5,
	cfe_init = 0x6,
	cfe_vmentry = 0x7,
	cfe_vmexit = 0x8,
	cfe_vmexit_intr = 0x9,
	cfe_shutdown = 0xa,
	cfe_uintr = 0xc,
	cfe_uiret = 0xd,
	cfe_swintr = 0xe,
	cfe_syscall = 0xf
};

void pt_evd_init(struct pt_evd *evd, const struct pt_config *config, int keep_tcal)
{
	memset(evd, 0, sizeof(*evd));
	evd->config = *config;
	evd->keep_tcal = keep_tcal != 0;
	evd->pos = config->begin;
	evd->tick_limit = UINT64_MAX;
	pt_time_init(&evd->time);
}

static void stamp(const struct pt_evd *evd, struct pt_event *ev)
{
	ev->has_tsc = evd->time.have_tsc != 0;
	ev->tsc = evd->time.tsc;
	ev->lost_mtc = evd->time.lost_mtc;
	ev->lost_cyc = evd->time.lost_cyc;
}

struct pt_event *pt_evd_push(struct pt_evd *evd, enum pt_event_type type)
{
	struct pt_event *ev = &evd->queue[(evd->queue_head + evd->queue_count) % pt_evd_queue_size];

	evd->queue_count += 1;
	memset(ev, 0, sizeof(*ev));
	ev->type = type;
	stamp(evd, ev);
	return ev;
}

struct pt_event *pt_evd_bind(struct pt_evd *evd, struct pt_bound_events *bound, enum pt_event_type type)
{
	struct pt_event *ev;

	if (bound->count == pt_evd_bound_size)
		return NULL;
	ev = &bound->event[bound->count++];
	memset(ev, 0, sizeof(*ev));
	ev->type = type;
	stamp(evd, ev);
	return ev;
}

int pt_evd_is_timing(const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_tsc:
	case ppt_tma:
	case ppt_mtc:
	case ppt_cyc:
	case ppt_cbr:
		return 1;
	default:
		return 0;
	}
}

static int time_changed(struct pt_evd *evd)
{
	if (evd->time.tsc < evd->tick_limit || !evd->time.have_tsc)
		return 0;
	return evd->tick(evd->tick_context);
}

int pt_evd_update_time(struct pt_evd *evd, const struct pt_packet *packet)
{
	const uint64_t before = evd->time.tsc;
	const int had_tsc = evd->time.have_tsc;

	pt_time_update(&evd->time, packet, &evd->config);
	if (evd->time.tsc == before && evd->time.have_tsc == had_tsc)
		return 0;
	return time_changed(evd);
}

/* Moves bound events to the queue. */
static void release(struct pt_evd *evd, struct pt_bound_events *bound, uint64_t ip, int suppressed)
{
	for (uint32_t i = 0; i < bound->count; ++i) {
		struct pt_event *ev = pt_evd_push(evd, bound->event[i].type);
		uint64_t *place = pt_event_place(ev);

		ev->variant = bound->event[i].variant;
		ev->ip_suppressed = suppressed != 0;
		if (!suppressed && place)
			*place = ip;
	}
	bound->count = 0;
	bound->branch = 0;
}

/* An event that concerns a FUP when @has_ip says so, else stands alone. */
static struct pt_event *bind_or_push(struct pt_evd *evd, enum pt_event_type type, int has_ip)
{
	struct pt_event *ev;

	if (has_ip)
		return pt_evd_bind(evd, &evd->fup_bound, type);
	ev = pt_evd_push(evd, type);
	ev->ip_suppressed = 1;
	return ev;
}

static int on_ignored(struct pt_evd *evd, const struct pt_packet *packet)
{
	(void)evd;
	(void)packet;
	return 0;
}

/* PSBEND outside of PSB+. */
static int on_psbend(struct pt_evd *evd, const struct pt_packet *packet)
{
	(void)evd;
	(void)packet;
	return -pte_bad_context;
}

static int on_psb(struct pt_evd *evd, const struct pt_packet *packet)
{
	const uint8_t *psb = evd->pos;
	int status;

	evd->pos += packet->size;
	status = pt_evd_read_psb_header(evd);
	if (status < 0) {
		evd->pos = psb;
		return status;
	}
	evd->sync = psb;
	/* The loop in fetch adds this packet's size. */
	evd->pos -= packet->size;
	return 0;
}

/* A branch outcome is no answer to an overflow, nor to what waits for a FUP or TIP. */
static int may_take_tnt(struct pt_evd *evd)
{
	evd->async = 0;
	return !evd->overflowed && !evd->fup_bound.count && !evd->tip_bound.count;
}

static int on_tnt(struct pt_evd *evd, const struct pt_packet *packet)
{
	if (!may_take_tnt(evd))
		return -pte_bad_context;
	evd->tnt = packet->payload.tnt.payload;
	evd->tnt_count = packet->payload.tnt.bit_size;
	return 0;
}

static int on_fup(struct pt_evd *evd, const struct pt_packet *packet)
{
	int status = pt_last_ip_update(&evd->last, &packet->payload.ip);
	int suppressed = packet->payload.ip.ipc == pt_ipc_suppressed;

	if (status < 0)
		return status;
	if (evd->overflowed) {
		struct pt_event *ev = pt_evd_push(evd, ptev_overflow);

		ev->ip_suppressed = suppressed != 0;
		ev->variant.overflow.ip = evd->last.ip;
		evd->overflowed = 0;
		evd->enabled = 1;
		release(evd, &evd->fup_bound, evd->last.ip, suppressed);
		release(evd, &evd->tip_bound, evd->last.ip, suppressed);
		return 0;
	}
	evd->async_ip = evd->last.ip;
	if (evd->fup_bound.count || evd->tip_bound.count) {
		/* MODE.Exec before a FUP says that only the interrupt flag changed, at that address. */
		evd->async = evd->fup_bound.branch && !suppressed;
		release(evd, &evd->fup_bound, evd->last.ip, suppressed);
		release(evd, &evd->tip_bound, evd->last.ip, suppressed);
		return 0;
	}
	if (suppressed)
		return -pte_bad_packet;
	evd->async = 1;
	return 0;
}

static int on_tip(struct pt_evd *evd, const struct pt_packet *packet)
{
	int status = pt_last_ip_update(&evd->last, &packet->payload.ip);
	int suppressed = packet->payload.ip.ipc == pt_ipc_suppressed;
	struct pt_event *ev;

	if (status < 0)
		return status;
	if (evd->overflowed)
		return -pte_bad_context;
	ev = pt_evd_push(evd, evd->async ? ptev_async_branch : ptev_tip);
	ev->ip_suppressed = suppressed != 0;
	if (evd->async) {
		ev->variant.async_branch.from = evd->async_ip;
		ev->variant.async_branch.to = evd->last.ip;
	} else {
		ev->variant.tip.ip = evd->last.ip;
	}
	evd->async = 0;
	release(evd, &evd->tip_bound, evd->last.ip, suppressed);
	return 0;
}

static void push_suppressed_overflow(struct pt_evd *evd)
{
	if (!evd->overflowed)
		return;
	evd->overflowed = 0;
	pt_evd_push(evd, ptev_overflow)->ip_suppressed = 1;
}

static int on_tip_pge(struct pt_evd *evd, const struct pt_packet *packet)
{
	int status = pt_last_ip_update(&evd->last, &packet->payload.ip);
	struct pt_event *ev;

	if (status < 0)
		return status;
	if (packet->payload.ip.ipc == pt_ipc_suppressed)
		return -pte_bad_packet;
	push_suppressed_overflow(evd);
	ev = pt_evd_push(evd, ptev_enabled);
	ev->variant.enabled.ip = evd->last.ip;
	evd->enabled = 1;
	evd->async = 0;
	release(evd, &evd->tip_bound, evd->last.ip, 0);
	return 0;
}

static int on_tip_pgd(struct pt_evd *evd, const struct pt_packet *packet)
{
	int status = pt_last_ip_update(&evd->last, &packet->payload.ip);
	int suppressed = packet->payload.ip.ipc == pt_ipc_suppressed;
	struct pt_event *ev;

	if (status < 0)
		return status;
	evd->enabled = 0;
	if (evd->overflowed) {
		/* Erratum APL11: OVF may be followed by TIP.PGD. Tracing is off either way. */
		push_suppressed_overflow(evd);
		return 0;
	}
	ev = pt_evd_push(evd, evd->async ? ptev_async_disabled : ptev_disabled);
	ev->ip_suppressed = suppressed != 0;
	if (evd->async) {
		ev->variant.async_disabled.at = evd->async_ip;
		ev->variant.async_disabled.ip = evd->last.ip;
	} else {
		ev->variant.disabled.ip = evd->last.ip;
	}
	evd->async = 0;
	release(evd, &evd->tip_bound, evd->last.ip, suppressed);
	return 0;
}

static int on_mode(struct pt_evd *evd, const struct pt_packet *packet)
{
	const struct pt_packet_mode *mode = &packet->payload.mode;
	struct pt_event *ev;

	switch (mode->leaf) {
	case pt_mol_exec:
		ev = pt_evd_bind(evd, &evd->tip_bound, ptev_exec_mode);
		if (!ev)
			return -pte_bad_context;
		ev->variant.exec_mode.mode = pt_get_exec_mode(&mode->bits.exec);
		return 0;
	case pt_mol_tsx:
		ev = bind_or_push(evd, ptev_tsx, evd->enabled);
		if (!ev)
			return -pte_bad_context;
		ev->variant.tsx.speculative = mode->bits.tsx.intx;
		ev->variant.tsx.aborted = mode->bits.tsx.abrt;
		evd->fup_bound.branch |= mode->bits.tsx.abrt;
		return 0;
	}
	return -pte_bad_packet;
}

static int on_pip(struct pt_evd *evd, const struct pt_packet *packet)
{
	struct pt_event *ev;

	if (evd->async) {
		ev = pt_evd_bind(evd, &evd->tip_bound, ptev_async_paging);
		if (!ev)
			return -pte_bad_context;
		ev->variant.async_paging.cr3 = packet->payload.pip.cr3;
		ev->variant.async_paging.non_root = packet->payload.pip.nr;
		return 0;
	}
	ev = pt_evd_push(evd, ptev_paging);
	ev->ip_suppressed = 1;
	ev->variant.paging.cr3 = packet->payload.pip.cr3;
	ev->variant.paging.non_root = packet->payload.pip.nr;
	return 0;
}

static int on_vmcs(struct pt_evd *evd, const struct pt_packet *packet)
{
	struct pt_event *ev;

	if (evd->async) {
		ev = pt_evd_bind(evd, &evd->tip_bound, ptev_async_vmcs);
		if (!ev)
			return -pte_bad_context;
		ev->variant.async_vmcs.base = packet->payload.vmcs.base;
		return 0;
	}
	ev = pt_evd_push(evd, ptev_vmcs);
	ev->ip_suppressed = 1;
	ev->variant.vmcs.base = packet->payload.vmcs.base;
	return 0;
}

static int on_ovf(struct pt_evd *evd, const struct pt_packet *packet)
{
	(void)packet;
	evd->overflowed = 1;
	evd->async = 0;
	evd->tnt_count = 0;
	evd->fup_bound.count = 0;
	evd->fup_bound.branch = 0;
	evd->tip_bound.count = 0;
	pt_time_overflow(&evd->time, evd->keep_tcal);
	return 0;
}

static int on_stop(struct pt_evd *evd, const struct pt_packet *packet)
{
	(void)packet;
	pt_evd_push(evd, ptev_stop)->ip_suppressed = 1;
	return 0;
}

static int on_timing(struct pt_evd *evd, const struct pt_packet *packet)
{
	return pt_evd_update_time(evd, packet);
}

static int on_cbr(struct pt_evd *evd, const struct pt_packet *packet)
{
	struct pt_event *ev = pt_evd_push(evd, ptev_cbr);

	ev->ip_suppressed = 1;
	ev->variant.cbr.ratio = packet->payload.cbr.ratio;
	return pt_evd_update_time(evd, packet);
}

static int on_mnt(struct pt_evd *evd, const struct pt_packet *packet)
{
	struct pt_event *ev = pt_evd_push(evd, ptev_mnt);

	ev->ip_suppressed = 1;
	ev->variant.mnt.payload = packet->payload.mnt.payload;
	return 0;
}

static int on_exstop(struct pt_evd *evd, const struct pt_packet *packet)
{
	return bind_or_push(evd, ptev_exstop, packet->payload.exstop.ip) ? 0 : -pte_bad_context;
}

static int on_mwait(struct pt_evd *evd, const struct pt_packet *packet)
{
	struct pt_event *ev = pt_evd_bind(evd, &evd->fup_bound, ptev_mwait);

	if (!ev)
		return -pte_bad_context;
	ev->variant.mwait.hints = packet->payload.mwait.hints;
	ev->variant.mwait.ext = packet->payload.mwait.ext;
	return 0;
}

static int on_pwre(struct pt_evd *evd, const struct pt_packet *packet)
{
	struct pt_event *ev = pt_evd_push(evd, ptev_pwre);

	ev->ip_suppressed = 1;
	ev->variant.pwre.state = packet->payload.pwre.state;
	ev->variant.pwre.sub_state = packet->payload.pwre.sub_state;
	ev->variant.pwre.hw = packet->payload.pwre.hw;
	return 0;
}

static int on_pwrx(struct pt_evd *evd, const struct pt_packet *packet)
{
	struct pt_event *ev = pt_evd_push(evd, ptev_pwrx);

	ev->ip_suppressed = 1;
	ev->variant.pwrx.last = packet->payload.pwrx.last;
	ev->variant.pwrx.deepest = packet->payload.pwrx.deepest;
	ev->variant.pwrx.interrupt = packet->payload.pwrx.interrupt;
	ev->variant.pwrx.store = packet->payload.pwrx.store;
	ev->variant.pwrx.autonomous = packet->payload.pwrx.autonomous;
	return 0;
}

static int on_ptw(struct pt_evd *evd, const struct pt_packet *packet)
{
	const int size = pt_ptw_size(packet->payload.ptw.plc);
	struct pt_event *ev;

	if (size < 0)
		return size;
	ev = bind_or_push(evd, ptev_ptwrite, packet->payload.ptw.ip);
	if (!ev)
		return -pte_bad_context;
	ev->variant.ptwrite.size = (uint8_t)size;
	ev->variant.ptwrite.payload = packet->payload.ptw.payload;
	return 0;
}

static int on_evd(struct pt_evd *evd, const struct pt_packet *packet)
{
	switch (packet->payload.evd.type) {
	case pt_evd_cr2:
		evd->cr2 = packet->payload.evd.payload;
		evd->have_cr2 = 1;
		return 0;
	case pt_evd_vmxq:
		evd->vmxq = packet->payload.evd.payload;
		evd->have_vmxq = 1;
		return 0;
	case pt_evd_vmxr:
		evd->vmxr = packet->payload.evd.payload;
		evd->have_vmxr = 1;
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
		ev->variant.interrupt.has_cr2 = evd->have_cr2 != 0;
		ev->variant.interrupt.cr2 = evd->cr2;
		break;
	case ptev_sipi:
		ev->variant.sipi.vector = cfe->vector;
		break;
	case ptev_vmexit:
		ev->variant.vmexit.has_vector = cfe->type == (uint8_t)cfe_vmexit_intr;
		ev->variant.vmexit.vector = cfe->vector;
		ev->variant.vmexit.has_vmxr = evd->have_vmxr != 0;
		ev->variant.vmexit.has_vmxq = evd->have_vmxq != 0;
		ev->variant.vmexit.vmxr = evd->vmxr;
		ev->variant.vmexit.vmxq = evd->vmxq;
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
	evd->have_cr2 = 0;
	evd->have_vmxq = 0;
	evd->have_vmxr = 0;
}

static int on_cfe(struct pt_evd *evd, const struct pt_packet *packet)
{
	static const struct {
		uint8_t known;
		uint8_t branch; /* control is transferred asynchronously: a TIP follows the FUP */
		enum pt_event_type event;
	} row[] = {
	        [cfe_intr] = {1, 1, ptev_interrupt},
	        [cfe_iret] = {1, 0, ptev_iret},
	        [cfe_smi] = {1, 1, ptev_smi},
	        [cfe_rsm] = {1, 0, ptev_rsm},
	        [cfe_sipi] = {1, 0, ptev_sipi},
	        [cfe_init] = {1, 1, ptev_init},
	        [cfe_vmentry] = {1, 0, ptev_vmentry},
	        [cfe_vmexit] = {1, 1, ptev_vmexit},
	        [cfe_vmexit_intr] = {1, 1, ptev_vmexit},
	        [cfe_shutdown] = {1, 1, ptev_shutdown},
	        [cfe_uintr] = {1, 1, ptev_uintr},
	        [cfe_uiret] = {1, 0, ptev_uiret},
	        [cfe_swintr] = {1, 0, ptev_swintr},
	        [cfe_syscall] = {1, 0, ptev_syscall},
	};
	const struct pt_packet_cfe *cfe = &packet->payload.cfe;
	struct pt_event *ev;

	if ((size_t)cfe->type >= sizeof(row) / sizeof(row[0]) || !row[cfe->type].known)
		return -pte_bad_packet;
	ev = bind_or_push(evd, row[cfe->type].event, cfe->ip);
	if (!ev)
		return -pte_bad_context;
	if (cfe->ip)
		evd->fup_bound.branch |= row[cfe->type].branch;
	fill_cfe(evd, ev, cfe);
	return 0;
}

static int on_trig(struct pt_evd *evd, const struct pt_packet *packet)
{
	struct pt_event *ev = bind_or_push(evd, ptev_trig, packet->payload.trig.ip);

	if (!ev)
		return -pte_bad_context;
	ev->variant.trig.trbv = packet->payload.trig.trbv;
	ev->variant.trig.icnt = packet->payload.trig.icnt;
	ev->variant.trig.mult = packet->payload.trig.mult;
	return 0;
}

typedef int (*packet_handler)(struct pt_evd *evd, const struct pt_packet *packet);

static const packet_handler handlers[] = {
        [ppt_invalid] = on_ignored, [ppt_unknown] = on_ignored, [ppt_pad] = on_ignored,
        [ppt_psb] = on_psb,         [ppt_psbend] = on_psbend,   [ppt_fup] = on_fup,
        [ppt_tip] = on_tip,         [ppt_tip_pge] = on_tip_pge, [ppt_tip_pgd] = on_tip_pgd,
        [ppt_tnt_8] = on_tnt,       [ppt_tnt_64] = on_tnt,      [ppt_mode] = on_mode,
        [ppt_pip] = on_pip,         [ppt_vmcs] = on_vmcs,       [ppt_cbr] = on_cbr,
        [ppt_tsc] = on_timing,      [ppt_tma] = on_timing,      [ppt_mtc] = on_timing,
        [ppt_cyc] = on_timing,      [ppt_stop] = on_stop,       [ppt_ovf] = on_ovf,
        [ppt_mnt] = on_mnt,         [ppt_exstop] = on_exstop,   [ppt_mwait] = on_mwait,
        [ppt_pwre] = on_pwre,       [ppt_pwrx] = on_pwrx,       [ppt_ptw] = on_ptw,
        [ppt_cfe] = on_cfe,         [ppt_evd] = on_evd,         [ppt_trig] = on_trig,
};

/* What may stand between an OVF and the FUP, TIP.PGE or PSB that resolves it. Anything else says that
 * tracing did not go on. */
static int leaves_overflow_open(enum pt_packet_type type)
{
	switch (type) {
	case ppt_pad:
	case ppt_unknown:
	case ppt_invalid:
	case ppt_ovf:
	case ppt_psb:
	case ppt_fup:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
	case ppt_tnt_8:
	case ppt_tnt_64:
	case ppt_mode:
	case ppt_tsc:
	case ppt_tma:
	case ppt_mtc:
	case ppt_cyc:
	case ppt_cbr:
		return 1;
	default:
		return 0;
	}
}

static int read_packet(struct pt_evd *evd)
{
	struct pt_packet packet;
	int status, size;

	evd->packet = evd->pos;
	size = pt_packet_read(&packet, evd->pos, &evd->config);
	if (size < 0)
		return size;
	if (evd->overflowed && !leaves_overflow_open(packet.type)) {
		push_suppressed_overflow(evd);
		evd->enabled = 0;
	}
	status = handlers[packet.type](evd, &packet);
	if (status < 0)
		return status;
	evd->pos += size;
	return 0;
}

/* A short TNT is one byte: an even value other than PAD (0) and the extension opcode (2); below the
 * highest bit stand the outcomes, the oldest first, above bit 0. */
static int read_short_tnt(struct pt_evd *evd, uint8_t byte)
{
	const uint32_t value = byte >> 1;
	const uint32_t count = 31 - (uint32_t)__builtin_clz(value);

	if (!may_take_tnt(evd))
		return -pte_bad_context;
	evd->packet = evd->pos++;
	evd->tnt = value & ((1u << count) - 1);
	evd->tnt_count = count;
	return pt_unit_tnt;
}

static int pop_tip(struct pt_evd *evd)
{
	const struct pt_event *ev = pt_evd_event(evd);

	evd->tip_ip = ev->variant.tip.ip;
	evd->tip_suppressed = ev->ip_suppressed;
	pt_evd_pop(evd);
	return pt_unit_tip;
}

int pt_evd_fetch(struct pt_evd *evd)
{
	const uint8_t *end = evd->config.end;

	for (;;) {
		int status;

		if (evd->queue_count)
			return pt_evd_event(evd)->type == ptev_tip ? pop_tip(evd) : pt_unit_event;
		if (evd->pos >= end) {
			if (!evd->overflowed)
				return -pte_eos;
			push_suppressed_overflow(evd);
			continue;
		}
		if (!(*evd->pos & 1) && *evd->pos > 2)
			return read_short_tnt(evd, *evd->pos);
		status = read_packet(evd);
		if (status < 0)
			return status;
		if (evd->tnt_count)
			return pt_unit_tnt;
	}
}

int pt_evd_fetch_deferred_tip(struct pt_evd *evd)
{
	for (;;) {
		struct pt_packet packet;
		int status, size;

		if (evd->queue_count)
			return pt_evd_event(evd)->type == ptev_tip ? pop_tip(evd) : -pte_bad_query;
		size = pt_packet_read(&packet, evd->pos, &evd->config);
		if (size < 0)
			return size;
		if (packet.type != ppt_tip && packet.type != ppt_pad && !pt_evd_is_timing(&packet))
			return -pte_bad_query;
		if (packet.type == ppt_cbr)
			status = pt_evd_update_time(evd, &packet);
		else
			status = handlers[packet.type](evd, &packet);
		if (status < 0)
			return status;
		evd->pos += size;
	}
}

int pt_evd_sync(struct pt_evd *evd, const uint8_t *psb)
{
	const struct pt_config config = evd->config;
	int (*const tick)(void *context) = evd->tick;
	void *const tick_context = evd->tick_context;
	const uint64_t tick_limit = evd->tick_limit;

	if (!pt_psb_at(psb, config.end))
		return -pte_nosync;
	pt_evd_init(evd, &config, evd->keep_tcal);
	evd->tick = tick;
	evd->tick_context = tick_context;
	evd->tick_limit = tick_limit;
	evd->pos = psb;
	return read_packet(evd);
}
