/* event_decoder.c - see event_decoder.h.
 *
 * One handler per packet type. What a packet can queue is bounded: a TIP brings itself and the events
 * bound to it; a FUP the events bound to it; PSB+ that tracing is enabled and its status updates.
 */
#include "event/event_packets.h"

#include <string.h>

#include "event/event_place.h"
#include "packet/packet_read.h"
#include "packet/psb_search.h"

_Static_assert(pt_evd_bound_size + 1 <= pt_evd_queue_size, "a TIP with all that binds to it fits");
_Static_assert(2 * pt_evd_bound_size <= pt_evd_queue_size,
               "a FUP with what binds to it or waited for a TIP fits");

static void forget_bound(struct pt_bound_events *bound)
{
	bound->count = 0;
	bound->branch = 0;
}

/* Forgets what the trace told, and stands at @pos. Events that nobody counts are not wiped out. */
static void begin_at(struct pt_evd *evd, const uint8_t *pos)
{
	const uint8_t flags = evd->flags;

	memset(evd, 0, offsetof(struct pt_evd, queue));
	evd->flags = flags;
	evd->pos = pos;
	evd->packet = pos;
	evd->queue_head = evd->queue_count = 0;
	forget_bound(&evd->fup_bound);
	forget_bound(&evd->tip_bound);
	memset(&evd->evd, 0, sizeof(evd->evd));
}

void pt_evd_init(struct pt_evd *evd, const struct pt_config *config, int flags)
{
	memset(evd, 0, sizeof(*evd));
	evd->config = *config;
	evd->flags = (uint8_t)flags;
	evd->tick_limit = UINT64_MAX;
	begin_at(evd, config->begin);
}

void pt_evd_new_event(const struct pt_evd *evd, struct pt_event *ev, enum pt_event_type type)
{
	memset(ev, 0, sizeof(*ev));
	ev->type = type;
	pt_evd_set_event_time(evd, ev);
}

static struct pt_event *queue_end(struct pt_evd *evd)
{
	evd->no_tnt = 0;
	return &evd->queue[(evd->queue_head + evd->queue_count++) % pt_evd_queue_size];
}

struct pt_event *pt_evd_push(struct pt_evd *evd, enum pt_event_type type)
{
	struct pt_event *ev = queue_end(evd);

	pt_evd_new_event(evd, ev, type);
	return ev;
}

struct pt_event *pt_evd_push_copy(struct pt_evd *evd, const struct pt_event *ev)
{
	struct pt_event *copy = queue_end(evd);

	*copy = *ev;
	return copy;
}

struct pt_event *pt_evd_bind(struct pt_evd *evd, struct pt_bound_events *bound, enum pt_event_type type)
{
	struct pt_event *ev;

	if (bound->count == pt_evd_bound_size)
		return NULL;
	ev = &bound->event[bound->count++];
	pt_evd_new_event(evd, ev, type);
	return ev;
}

struct pt_event *pt_evd_bind_fup(struct pt_evd *evd, enum pt_event_type type)
{
	evd->no_tnt = 1;
	return pt_evd_bind(evd, &evd->fup_bound, type);
}

static struct pt_event *bind_tip(struct pt_evd *evd, enum pt_event_type type)
{
	evd->no_tnt = 1;
	return pt_evd_bind(evd, &evd->tip_bound, type);
}

int pt_evd_update_time(struct pt_evd *evd, const struct pt_packet *packet)
{
	const struct pt_evd_moment before = pt_evd_moment(evd);
	int status = pt_time_update(&evd->time, packet, &evd->config);

	return status < 0 ? status : pt_evd_time_passed(evd, &before);
}

/* Where a bound event's address goes. */
static uint64_t *bound_address(struct pt_event *ev)
{
	switch (ev->type) {
	case ptev_async_branch:
		return &ev->variant.async_branch.to;
	case ptev_async_disabled:
		return &ev->variant.async_disabled.ip;
	case ptev_overflow:
		return &ev->variant.overflow.ip;
	default:
		return pt_event_place(ev);
	}
}

static void forget(struct pt_bound_events *bound)
{
	bound->count = 0;
	bound->branch = 0;
}

/* Moves a bound event to the queue, its address given by @packet. */
static struct pt_event *release(struct pt_evd *evd, const struct pt_event *bound,
                                const struct pt_packet *packet)
{
	const int suppressed = packet->payload.ip.ipc == pt_ipc_suppressed;
	struct pt_event *ev = pt_evd_push_copy(evd, bound);
	uint64_t *address = bound_address(ev);

	ev->ip_suppressed = suppressed != 0;
	if (!suppressed && address)
		*address = evd->last.ip;
	return ev;
}

static void release_all(struct pt_evd *evd, struct pt_bound_events *bound, const struct pt_packet *packet)
{
	for (uint32_t i = 0; i < bound->count; ++i)
		release(evd, &bound->event[i], packet);
	forget(bound);
}

static int on_ignored(struct pt_evd *evd, const struct pt_packet *packet)
{
	(void)evd;
	(void)packet;
	return 0;
}

static int on_tnt(struct pt_evd *evd, const struct pt_packet *packet)
{
	if (evd->no_tnt)
		return -pte_bad_context;
	evd->tnt = packet->payload.tnt.payload;
	evd->tnt_count = packet->payload.tnt.bit_size;
	return 0;
}

/* A FUP without an address, where one is needed. */
static int missing_address(const struct pt_evd *evd)
{
	return evd->last.valid ? -pte_ip_suppressed : -pte_noip;
}

/* Execution goes from the FUP's address to that of the TIP that follows. */
static int bind_async_branch(struct pt_evd *evd, const struct pt_packet *fup)
{
	struct pt_event *ev;

	if (fup->payload.ip.ipc == pt_ipc_suppressed)
		return missing_address(evd);
	ev = pt_evd_bind(evd, &evd->tip_bound, ptev_async_branch);
	if (!ev)
		return -pte_nomem;
	ev->variant.async_branch.from = evd->last.ip;
	evd->tip_bound.branch += 1;
	return 0;
}

static int waits_for_overflow(const struct pt_evd *evd)
{
	return evd->fup_bound.count && evd->fup_bound.event[0].type == ptev_overflow;
}

static int on_fup(struct pt_evd *evd, const struct pt_packet *packet)
{
	int status = pt_last_ip_update(&evd->last, &packet->payload.ip);

	if (status < 0)
		return status;
	if (evd->last.suppressed && waits_for_overflow(evd))
		return -pte_noip;
	/* MODE.Exec before a FUP says that the interrupt flag changed there, without a branch. */
	if (!evd->tip_bound.branch)
		release_all(evd, &evd->tip_bound, packet);
	if (evd->fup_bound.branch || !(evd->fup_bound.count || evd->queue_count))
		status = bind_async_branch(evd, packet);
	if (status < 0)
		return status;
	release_all(evd, &evd->fup_bound, packet);
	return 0;
}

static int on_tip(struct pt_evd *evd, const struct pt_packet *packet)
{
	int status = pt_last_ip_update(&evd->last, &packet->payload.ip);

	if (status < 0)
		return status;
	if (evd->no_tnt && !evd->tip_bound.count)
		return -pte_bad_context;
	if (!evd->tip_bound.branch) {
		struct pt_event *ev = pt_evd_push(evd, ptev_tip);

		ev->ip_suppressed = packet->payload.ip.ipc == pt_ipc_suppressed;
		ev->variant.tip.ip = evd->last.ip;
	}
	release_all(evd, &evd->tip_bound, packet);
	return 0;
}

static int is_of_mode_exec(enum pt_event_type type)
{
	return type == ptev_exec_mode || type == ptev_iflags;
}

/* Only MODE.Exec binds to it: nothing else happens while tracing is disabled. */
static int on_tip_pge(struct pt_evd *evd, const struct pt_packet *packet)
{
	int status = pt_last_ip_update(&evd->last, &packet->payload.ip);

	if (status < 0)
		return status;
	if (packet->payload.ip.ipc == pt_ipc_suppressed)
		return -pte_bad_packet;
	pt_evd_push(evd, ptev_enabled)->variant.enabled.ip = evd->last.ip;
	evd->enabled = 1;
	for (uint32_t i = 0; i < evd->tip_bound.count && !evd->refused; ++i) {
		if (is_of_mode_exec(evd->tip_bound.event[i].type))
			release(evd, &evd->tip_bound.event[i], packet);
		else
			evd->refused = 1;
	}
	forget(&evd->tip_bound);
	return 0;
}

static void push_disabled(struct pt_evd *evd, const struct pt_packet *packet)
{
	struct pt_event *ev = pt_evd_push(evd, ptev_disabled);

	ev->ip_suppressed = packet->payload.ip.ipc == pt_ipc_suppressed;
	ev->variant.disabled.ip = ev->ip_suppressed ? 0 : evd->last.ip;
}

/* What comes with an asynchronous branch that disables tracing has no address: it is not traced. */
static void release_disabled(struct pt_evd *evd, struct pt_event *ev, const struct pt_packet *packet)
{
	if (ev->type == ptev_async_branch) {
		const uint64_t from = ev->variant.async_branch.from;

		ev->type = ptev_async_disabled;
		ev->variant.async_disabled.at = from;
		release(evd, ev, packet);
		return;
	}
	pt_evd_push_copy(evd, ev)->ip_suppressed = 1;
}

static int on_tip_pgd(struct pt_evd *evd, const struct pt_packet *packet)
{
	int status = pt_last_ip_update(&evd->last, &packet->payload.ip);

	if (status < 0)
		return status;
	if (!evd->tip_bound.branch)
		push_disabled(evd, packet);
	for (uint32_t i = 0; i < evd->tip_bound.count; ++i)
		release_disabled(evd, &evd->tip_bound.event[i], packet);
	forget(&evd->tip_bound);
	evd->enabled = 0;
	return 0;
}

int pt_evd_iflag_changed(struct pt_evd *evd, const struct pt_packet_mode_exec *exec)
{
	const uint8_t iflag = exec->iflag ? pt_iflag_set : pt_iflag_clear;
	const int changed = evd->iflag != iflag;

	evd->iflag = iflag;
	return changed && (evd->flags & pt_evd_iflags);
}

static int on_mode_exec(struct pt_evd *evd, const struct pt_packet_mode_exec *exec)
{
	struct pt_event *ev = bind_tip(evd, ptev_exec_mode);

	if (!ev)
		return -pte_nomem;
	ev->variant.exec_mode.mode = pt_get_exec_mode(exec);
	if (!pt_evd_iflag_changed(evd, exec))
		return 0;
	ev = bind_tip(evd, ptev_iflags);
	if (!ev)
		return -pte_nomem;
	ev->variant.iflags.iflag = exec->iflag;
	return 0;
}

static int on_mode_tsx(struct pt_evd *evd, const struct pt_packet_mode_tsx *tsx)
{
	struct pt_event *ev;

	if (evd->enabled) {
		ev = pt_evd_bind_fup(evd, ptev_tsx);
		if (!ev)
			return -pte_nomem;
		/* An abort is an asynchronous branch: a TIP follows the FUP. */
		evd->fup_bound.branch |= tsx->abrt;
	} else {
		ev = pt_evd_push(evd, ptev_tsx);
		ev->ip_suppressed = 1;
	}
	ev->variant.tsx.speculative = tsx->intx;
	ev->variant.tsx.aborted = tsx->abrt;
	return 0;
}

static int on_mode(struct pt_evd *evd, const struct pt_packet *packet)
{
	const struct pt_packet_mode *mode = &packet->payload.mode;

	switch (mode->leaf) {
	case pt_mol_exec:
		return on_mode_exec(evd, &mode->bits.exec);
	case pt_mol_tsx:
		return on_mode_tsx(evd, &mode->bits.tsx);
	}
	return -pte_bad_packet;
}

/* With an asynchronous branch, CR3 changes at its target; else at the next instruction that does it. */
static int on_pip(struct pt_evd *evd, const struct pt_packet *packet)
{
	struct pt_event *ev;

	if (evd->tip_bound.branch) {
		ev = bind_tip(evd, ptev_async_paging);
		if (!ev)
			return -pte_nomem;
		ev->variant.async_paging.cr3 = packet->payload.pip.cr3;
		ev->variant.async_paging.non_root = packet->payload.pip.nr;
		return 0;
	}
	ev = pt_evd_push(evd, ptev_paging);
	ev->variant.paging.cr3 = packet->payload.pip.cr3;
	ev->variant.paging.non_root = packet->payload.pip.nr;
	return 0;
}

/* Moves the last bound event before the first one of @type: at one address, the VMCS changes first. */
static struct pt_event *move_before(struct pt_bound_events *bound, enum pt_event_type type)
{
	const uint32_t last = bound->count - 1;
	const struct pt_event moved = bound->event[last];
	uint32_t at = 0;

	while (at < last && bound->event[at].type != type)
		at += 1;
	memmove(&bound->event[at + 1], &bound->event[at], (last - at) * sizeof(moved));
	bound->event[at] = moved;
	return &bound->event[at];
}

static int on_vmcs(struct pt_evd *evd, const struct pt_packet *packet)
{
	struct pt_event *ev;

	if (evd->tip_bound.branch) {
		if (!bind_tip(evd, ptev_async_vmcs))
			return -pte_nomem;
		ev = move_before(&evd->tip_bound, ptev_async_paging);
		ev->variant.async_vmcs.base = packet->payload.vmcs.base;
		return 0;
	}
	ev = pt_evd_push(evd, ptev_vmcs);
	ev->variant.vmcs.base = packet->payload.vmcs.base;
	return 0;
}

static int on_timing(struct pt_evd *evd, const struct pt_packet *packet)
{
	return pt_evd_update_time(evd, packet);
}

/* PSB and OVF are not among them: they are read together with what follows. */
static pt_packet_handler *const handlers[] = {
        [ppt_invalid] = on_ignored,
        [ppt_unknown] = on_ignored,
        [ppt_pad] = on_ignored,
        [ppt_psbend] = on_ignored,
        [ppt_fup] = on_fup,
        [ppt_tip] = on_tip,
        [ppt_tip_pge] = on_tip_pge,
        [ppt_tip_pgd] = on_tip_pgd,
        [ppt_tnt_8] = on_tnt,
        [ppt_tnt_64] = on_tnt,
        [ppt_mode] = on_mode,
        [ppt_pip] = on_pip,
        [ppt_vmcs] = on_vmcs,
        [ppt_cbr] = pt_evd_on_cbr,
        [ppt_tsc] = on_timing,
        [ppt_tma] = on_timing,
        [ppt_mtc] = on_timing,
        [ppt_cyc] = on_timing,
        [ppt_stop] = pt_evd_on_stop,

        [ppt_mnt] = pt_evd_on_mnt,
        [ppt_exstop] = pt_evd_on_exstop,
        [ppt_mwait] = pt_evd_on_mwait,
        [ppt_pwre] = pt_evd_on_pwre,
        [ppt_pwrx] = pt_evd_on_pwrx,
        [ppt_ptw] = pt_evd_on_ptw,
        [ppt_cfe] = pt_evd_on_cfe,
        [ppt_evd] = pt_evd_on_evd,
        [ppt_trig] = pt_evd_on_trig,
};

static int read_psb(struct pt_evd *evd, int size)
{
	const uint8_t *psb = evd->pos;
	int status;

	evd->pos += size;
	pt_time_psb(&evd->time, &evd->config);
	status = pt_evd_read_psb_header(evd);
	if (status < 0) {
		evd->pos = psb;
		return status;
	}
	evd->sync = psb;
	return 0;
}

/* What was bound is lost. */
static int read_ovf(struct pt_evd *evd, int size)
{
	evd->pos += size;
	forget(&evd->fup_bound);
	forget(&evd->tip_bound);
	evd->no_tnt = 0;
	memset(&evd->evd, 0, sizeof(evd->evd));
	evd->iflag = pt_iflag_unknown;
	pt_last_ip_reset(&evd->last);
	pt_time_overflow(&evd->time, evd->flags & pt_evd_keep_tcal);
	return pt_evd_resolve_overflow(evd);
}

int pt_evd_read_packet(struct pt_evd *evd)
{
	struct pt_packet packet;
	int status, size;

	evd->packet = evd->pos;
	if (evd->refused)
		return -pte_bad_context;
	size = pt_packet_read(&packet, evd->pos, &evd->config);
	if (size < 0)
		return size;
	if (packet.type == ppt_psb)
		return read_psb(evd, size);
	if (packet.type == ppt_ovf)
		return read_ovf(evd, size);
	status = handlers[packet.type](evd, &packet);
	if (status < 0)
		return status;
	if (!evd->refused)
		evd->pos += size;
	return 0;
}

/* How many CBRs between deferred TIPs become events; of more, the last one counts. */
enum { max_deferred_cbr = 4 };

static struct pt_event *queued(struct pt_evd *evd, uint32_t i)
{
	return &evd->queue[(evd->queue_head + i) % pt_evd_queue_size];
}

/* A CBR before a deferred TIP: its event comes when the TNT bits are used up. */
static int keep_cbr(struct pt_evd *evd, const struct pt_packet *packet)
{
	if (evd->queue_count < max_deferred_cbr)
		return handlers[ppt_cbr](evd, packet);
	queued(evd, evd->queue_count - 1)->variant.cbr.ratio = packet->payload.cbr.ratio;
	return pt_evd_update_time(evd, packet);
}

/* Takes a TIP out of the queue from behind the CBRs that were kept. Positive when there is nothing but these.
 */
static int take_queued_tip(struct pt_evd *evd)
{
	struct pt_event tip;
	uint32_t i = 0;

	while (i < evd->queue_count && queued(evd, i)->type == ptev_cbr)
		++i;
	if (i == evd->queue_count)
		return 1;
	if (queued(evd, i)->type != ptev_tip)
		return -pte_bad_query;
	tip = *queued(evd, i);
	for (; i; --i)
		*queued(evd, i) = *queued(evd, i - 1);
	*pt_evd_event(evd) = tip;
	pt_evd_take_queued_tip(evd);
	return 0;
}

int pt_evd_fetch_deferred_tip(struct pt_evd *evd)
{
	for (;;) {
		struct pt_packet packet;
		int status = take_queued_tip(evd), size;

		if (status <= 0)
			return status < 0 ? status : pt_unit_tip;
		size = pt_packet_read(&packet, evd->pos, &evd->config);
		if (size < 0)
			return size;
		if (packet.type != ppt_tip && packet.type != ppt_pad && !pt_evd_is_timing(packet.type))
			return -pte_bad_query;
		evd->packet = evd->pos;
		if (packet.type == ppt_cbr)
			status = keep_cbr(evd, &packet);
		else
			status = handlers[packet.type](evd, &packet);
		if (status < 0)
			return status;
		evd->pos += size;
	}
}

int pt_evd_sync(struct pt_evd *evd, const uint8_t *psb)
{
	if (!pt_psb_at(psb, evd->config.end))
		return -pte_nosync;
	begin_at(evd, psb);
	return pt_evd_read_packet(evd);
}
