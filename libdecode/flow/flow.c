/* flow.c - synchronising, fetching units, finding code. The walk itself is in flow_walk.c. */
#include "flow/flow.h"

#include <string.h>

#include "event/event_place.h"
#include "packet/config.h"
#include "packet/psb_search.h"

static int on_tick(void *context)
{
	struct pt_flow *flow = context;

	pt_observers_tick(&flow->observers, &flow->evd.time);
	flow->evd.tick_limit = pt_observers_limit(&flow->observers);
	return 0;
}

void pt_flow_notify(struct pt_flow *flow, enum pt_decode_state state)
{
	if (!flow->observers.count) {
		flow->observers.state = state;
		return;
	}
	pt_observers_state(&flow->observers, state, &flow->evd.time);
	flow->evd.tick_limit = pt_observers_limit(&flow->observers);
}

int pt_flow_attach(struct pt_flow *flow, struct pt_observer *obsv)
{
	int status = pt_observers_attach(&flow->observers, obsv, &flow->evd.time);

	flow->evd.tick_limit = pt_observers_limit(&flow->observers);
	return status;
}

void pt_flow_cross(struct pt_flow *flow)
{
	int status;

	flow->crossing.half = (uint8_t)pt_flow_half(flow);
	flow->observers.calling = 1;
	flow->observers.calls += 1;
	status = flow->crossing.callback(flow->crossing.context, flow->ip);
	flow->observers.calling = 0;
	if (status < 0 && !flow->observers.errcode)
		flow->observers.errcode = status;
	pt_flow_look_at_image(flow);
}

static void begin_evd(struct pt_flow *flow, const struct pt_config *config, int evd_flags)
{
	pt_evd_init(&flow->evd, config, evd_flags);
	flow->evd.tick = on_tick;
	flow->evd.tick_context = flow;
}

int pt_flow_init(struct pt_flow *flow, const struct pt_config *config, int evd_flags, int ticks)
{
	memset(flow, 0, sizeof(*flow));
	flow->ticks = ticks != 0;
	flow->mends = config->errata.skd022 | config->errata.bdm64;
	begin_evd(flow, config, evd_flags);
	pt_observers_init(&flow->observers);
	pt_asid_init(&flow->asid);
	flow->own_image = pt_image_alloc(NULL);
	if (!flow->own_image)
		return -pte_nomem;
	flow->status = -pte_nosync;
	return pt_flow_set_image(flow, NULL);
}

void pt_flow_set_buffer(struct pt_flow *flow, const uint8_t *begin, const uint8_t *end)
{
	struct pt_config config = flow->evd.config;

	/* The decoder only reads. */
	config.begin = (uint8_t *)(uintptr_t)begin;
	config.end = (uint8_t *)(uintptr_t)end;
	pt_flow_lose_way(flow);
	begin_evd(flow, &config, flow->evd.flags);
	flow->evd.tick_limit = pt_observers_limit(&flow->observers);
	flow->start = NULL;
	flow->reached = NULL;
	flow->asked_order = NULL;
	flow->at_start = 0;
	flow->synced = 0;
	flow->unit = 0;
	flow->status = -pte_nosync;
}

void pt_flow_fini(struct pt_flow *flow)
{
	pt_observers_fini(&flow->observers);
	for (uint32_t i = 0; i < flow->nheld; ++i)
		pt_section_put(flow->held[i]);
	pt_image_free(flow->own_image);
}

int pt_flow_set_image(struct pt_flow *flow, struct pt_image *image)
{
	flow->image = image ? image : flow->own_image;
	return 0;
}

/* The image may have been changed or exchanged: by the user between calls, or by an observer. */
void pt_flow_look_at_image(struct pt_flow *flow)
{
	const uint64_t generation = pt_image_generation(flow->image);

	if (generation == flow->generation)
		return;
	flow->generation = generation;
	flow->node = NULL;
}

static int event_is_due(struct pt_flow *flow)
{
	uint64_t ip = 0;

	switch (pt_flow_binding(flow, pt_evd_event(&flow->evd), &ip)) {
	case pt_bind_now:
		return 1;
	case pt_bind_ip:
		return ip == flow->ip;
	case pt_bind_error:
		flow->unit = -pte_bad_context;
		return 0;
	default:
		return 0;
	}
}

static void take_unit(struct pt_flow *flow)
{
	flow->unit = pt_evd_fetch(&flow->evd);
	if (flow->ticks && !flow->tick_is_due)
		flow->unit_time = flow->evd.time;
}

/* The target of the far branch that the flow stands in. */
static void finish_branch(struct pt_flow *flow)
{
	if (flow->evd.tip_suppressed) {
		flow->unit = -pte_noip;
		return;
	}
	flow->in_branch = 0;
	pt_flow_tick_at(flow, flow->branch_ip);
	pt_flow_set_ip(flow, flow->evd.tip_ip);
	flow->named_ip = flow->evd.tip_ip;
	take_unit(flow);
}

/* The flow comes to the PSB that was read last. What needed no trace until now was no circle, and it does not
 * matter how long it was: so that whoever begins there goes on alike. */
static void reach_psb(struct pt_flow *flow)
{
	if (flow->reached == flow->evd.sync)
		return;
	flow->reached = flow->evd.sync;
	flow->circle_limit = 0;
	flow->free_steps = 0;
	flow->crossing.half = pt_half_unknown;
}

static void fetch(struct pt_flow *flow)
{
	/* What a PSB+ that was read brought is used up. */
	if (!flow->evd.queue_count)
		reach_psb(flow);
	take_unit(flow);
	flow->due = 0;
	if (flow->in_branch && flow->unit == pt_unit_tip)
		finish_branch(flow);
	flow->fresh_tnt = flow->evd.tnt_count;
	if (!flow->evd.psb_status)
		reach_psb(flow);
	pt_flow_look_at_image(flow);
	if (flow->unit == pt_unit_event) {
		if (flow->mends || flow->at_mov_cr3)
			pt_flow_mend_event(flow);
		flow->due = event_is_due(flow) & 1;
	} else if (!flow->enabled && flow->unit >= 0) {
		flow->unit = -pte_no_enable; /* TNT and TIP need an address to start from */
	}
}

/* That tracing is enabled, PSB+ says between the lines: no event for the user, and no change, either. */
static int is_silent(const struct pt_event *ev)
{
	return ev->type == ptev_enabled && ev->status_update;
}

void pt_flow_arrive(struct pt_flow *flow)
{
	struct pt_event *ev;

	flow->due = 1;
	while (flow->due && (ev = pt_evd_event(&flow->evd), is_silent(ev))) {
		struct pt_event silent = *ev;

		pt_evd_pop(&flow->evd);
		reach_psb(flow);
		pt_flow_apply(flow, &silent);
		fetch(flow);
	}
}

void pt_flow_advance(struct pt_flow *flow)
{
	fetch(flow);
	if (flow->due)
		pt_flow_arrive(flow);
}

int pt_flow_status(const struct pt_flow *flow)
{
	int status = 0;

	if (flow->due || flow->tick_is_due)
		status |= pts_event_pending;
	if (!flow->enabled)
		status |= pts_ip_suppressed;
	if (flow->unit == -pte_eos)
		status |= pts_eos;
	return status;
}

void pt_flow_lose_way(struct pt_flow *flow)
{
	flow->enabled = 0;
	flow->speculative = 0;
	flow->due = 0;
	flow->tick_is_due = 0;
	flow->in_branch = 0;
	flow->at_mov_cr3 = 0;
	flow->have_resume_ip = 0;
	flow->entry_flags = 0;
	flow->crossing.half = pt_half_unknown;
	pt_return_stack_clear(&flow->returns);
	pt_flow_set_ip(flow, 0);
}

/* Where PSB+ says that execution stands, if tracing is enabled: the flow begins there. */
static void begin_at_psb(struct pt_flow *flow)
{
	const struct pt_evd *evd = &flow->evd;

	for (uint32_t i = 0; i < evd->queue_count; ++i) {
		const struct pt_event *ev = &evd->queue[(evd->queue_head + i) % pt_evd_queue_size];

		if (is_silent(ev)) {
			pt_flow_enable(flow, ev->variant.enabled.ip);
			return;
		}
	}
	if (!evd->enabled)
		pt_flow_notify(flow, ptds_disabled);
}

int pt_flow_sync(struct pt_flow *flow, const uint8_t *psb)
{
	int status;

	pt_flow_lose_way(flow);
	flow->synced = 0;
	flow->start = psb;
	flow->at_start = 1;
	flow->mode = ptem_unknown;
	flow->non_root = 0;
	pt_flow_set_asid(flow, pt_asid_no_cr3, pt_asid_no_vmcs);
	pt_flow_notify(flow, ptds_unknown);

	status = pt_evd_sync(&flow->evd, psb);
	if (status < 0) {
		/* A search goes on behind this PSB, whose header is broken. */
		flow->evd.pos = psb + pt_psb_size;
		flow->evd.sync = psb;
		flow->reached = psb;
		flow->unit = -pte_nosync;
		flow->status = -pte_nosync;
		pt_observers_take_error(&flow->observers);
		return status;
	}
	flow->status = 0;
	flow->told = flow->evd.time.tsc;
	flow->synced = 1;
	flow->reached = psb;
	begin_at_psb(flow);
	pt_flow_look_at_image(flow);
	pt_flow_advance(flow);
	status = pt_observers_take_error(&flow->observers);
	return status < 0 ? status : pt_flow_status(flow);
}

/* Whether the unit was read ahead, and not used yet. */
static int unit_is_ahead(const struct pt_flow *flow)
{
	switch (flow->unit) {
	case pt_unit_tnt:
		return flow->evd.tnt_count == flow->fresh_tnt;
	case pt_unit_tip:
	case -pte_no_enable:
		return 1;
	default:
		return 0;
	}
}

const uint8_t *pt_flow_pos(const struct pt_flow *flow)
{
	/* Where it failed to synchronise, so that the caller can tell. */
	if (flow->unit == -pte_nosync)
		return flow->start;
	return unit_is_ahead(flow) ? flow->evd.packet : flow->evd.pos;
}

const struct pt_time *pt_flow_time(const struct pt_flow *flow)
{
	const int ahead = flow->evd.ahead && !flow->observers.calling && unit_is_ahead(flow);

	return ahead ? &flow->evd.before : &flow->evd.time;
}

/* Where a search for another PSB begins. One that was read ahead, but not reached because of an error, is the
 * next one. */
static const uint8_t *reached_pos(const struct pt_flow *flow)
{
	return flow->evd.sync && flow->evd.sync != flow->reached ? flow->evd.sync : flow->evd.pos;
}

int pt_flow_sync_forward(struct pt_flow *flow)
{
	const struct pt_config *config = &flow->evd.config;
	const uint8_t *pos = pt_psb_forward(reached_pos(flow), config->end);

	if (!pos) {
		pt_flow_lose_way(flow);
		flow->evd.pos = config->end;
		flow->at_start = 0;
		flow->unit = -pte_eos;
		flow->status = -pte_nosync;
		return -pte_eos;
	}
	return pt_flow_sync(flow, pos);
}

int pt_flow_sync_backward(struct pt_flow *flow)
{
	const struct pt_config *config = &flow->evd.config;
	const uint8_t *pos = flow->start ? reached_pos(flow) : config->end;

	/* Synchronising reads ahead: before anything was decoded, it is the PSB before that is wanted. */
	if (flow->at_start)
		pos = flow->start;
	for (;;) {
		int status;

		pos = pt_psb_backward(pos, config->begin);
		if (!pos)
			return -pte_eos;
		status = pt_flow_sync(flow, pos);
		/* A PSB+ that is cut off does not count. */
		if (status != -pte_eos)
			return status;
	}
}

int pt_flow_sync_set(struct pt_flow *flow, uint64_t offset)
{
	const struct pt_config *config = &flow->evd.config;

	if (offset > (uint64_t)(config->end - config->begin))
		return -pte_eos;
	if (!pt_psb_at(config->begin + offset, config->end))
		return -pte_nosync;
	return pt_flow_sync(flow, config->begin + offset);
}

void pt_flow_set_asid(struct pt_flow *flow, uint64_t cr3, uint64_t vmcs)
{
	if (flow->asid.cr3 == cr3 && flow->asid.vmcs == vmcs)
		return;
	flow->asid.cr3 = cr3;
	flow->asid.vmcs = vmcs;
	flow->node = NULL;
	flow->spaces += 1;
	if (!flow->spaces) /* what was remembered at the very first might come again */
		memset(flow->cache, 0, sizeof(flow->cache));
}

static void take_place(struct pt_flow *flow, const struct pt_flow_place *place)
{
	flow->node = place->node;
	flow->section = place->section;
	flow->base = place->base;
	flow->isid = place->isid;
}

/* How many bytes of code may stand at ip: addresses of 16 and 32 bits go on at zero. */
static uint64_t room_at_ip(const struct pt_flow *flow)
{
	const uint8_t bits = pt_mode_ip_bits(flow->mode);

	return bits < 64 && flow->ip >> bits == 0 ? (1ull << bits) - flow->ip : UINT64_MAX;
}

/* Code that cannot be remembered: it comes from the image's callback, or its first instruction
 * begins in one section and ends in another, or addresses wrap inside of its section. */
static int locate_uncached(struct pt_flow *flow)
{
	uint8_t *bytes = flow->scratch_bytes;
	struct pt_node *node = (struct pt_node *)flow->scratch;
	const uint64_t room = room_at_ip(flow);
	const uint16_t wanted = room < pt_flow_read_size ? (uint16_t)room : pt_flow_read_size;
	int isid = 0, size, status;

	size = pt_image_read(flow->image, &isid, bytes, wanted, &flow->asid, flow->ip);
	if (size < 0)
		return size;
	status = pt_node_decode(node, bytes, (uint64_t)size, 0, flow->mode);
	if (status < 0)
		return status;
	if (node->kind == pt_kind_split)
		return -pte_nomap;
	flow->node = node;
	flow->section = NULL;
	flow->base = flow->ip;
	flow->isid = isid;
	flow->truncated = 0;
	return 0;
}

/* Only the first instruction of a scratch node that begins in a section: what follows it has a
 * section, and so a node, of its own. */
static int locate_split(struct pt_flow *flow, int isid)
{
	int status = locate_uncached(flow);
	struct pt_node *node = (struct pt_node *)flow->scratch;

	if (status < 0)
		return status;
	flow->isid = isid;
	flow->truncated = 1;
	if (node->ninsn > 1) {
		node->ninsn = 1;
		node->size = node->length[0];
		node->last = 0;
		node->kind = pt_kind_fall;
		node->iclass = ptic_other;
	}
	return 0;
}

int pt_flow_locate(struct pt_flow *flow)
{
	struct pt_flow_place *place = pt_flow_place_of(flow, flow->ip);
	const struct pt_mapping *mapping;
	const struct pt_node *node;
	int status;

	if (pt_flow_place_is(flow, place, flow->ip)) {
		take_place(flow, place);
		return 0;
	}
	mapping = pt_image_lookup(flow->image, &flow->asid, flow->ip);
	if (!mapping || mapping->end - flow->ip - 1 >= room_at_ip(flow))
		return locate_uncached(flow);
	status = pt_graph_node(&node, mapping->section, flow->ip - mapping->begin, flow->mode);
	if (status < 0)
		return status;
	if (node->kind == pt_kind_split)
		return locate_split(flow, mapping->isid);
	*place = (struct pt_flow_place){
	        .ip = flow->ip,
	        .generation = flow->generation,
	        .node = node,
	        .section = mapping->section,
	        .base = mapping->begin,
	        .isid = mapping->isid,
	        .spaces = flow->spaces,
	};
	take_place(flow, place);
	return 0;
}

static void take_tick(struct pt_flow *flow, struct pt_event *tick)
{
	memset(tick, 0, sizeof(*tick)); /* with the bits that have no name */
	tick->type = ptev_tick;
	tick->has_tsc = 1;
	tick->tsc = flow->unit_time.tsc;
	tick->lost_mtc = flow->unit_time.lost_mtc;
	tick->lost_cyc = flow->unit_time.lost_cyc;
	tick->variant.tick.ip = flow->tick_ip;
	flow->tick_is_due = 0;
	flow->unit_time = flow->evd.time;
}

int pt_flow_use_event(struct pt_flow *flow, struct pt_event *event)
{
	int status;

	flow->at_start = 0;
	*event = *pt_evd_event(&flow->evd);
	flow->told = event->tsc;
	pt_evd_pop(&flow->evd);
	if (event->status_update && pt_event_place(event))
		reach_psb(flow);
	status = pt_flow_apply(flow, event);
	if (status < 0) {
		pt_observers_take_error(&flow->observers);
		flow->due = 0;
		flow->unit = status; /* the event was used up */
		flow->status = status;
		return status;
	}
	pt_flow_look_at_image(flow);
	return 0;
}

int pt_flow_take_event(struct pt_flow *flow, struct pt_event *event)
{
	int status;

	if (flow->tick_is_due) {
		take_tick(flow, event);
		return 0;
	}
	status = pt_flow_use_event(flow, event);
	if (status < 0)
		return status;
	if (flow->evd.queue_count || flow->at_mov_cr3 || flow->in_branch) {
		pt_flow_advance(flow);
		return 0;
	}
	flow->due = 0;
	reach_psb(flow);
	flow->unit = pt_flow_no_unit;
	return 0;
}

int pt_flow_event(struct pt_flow *flow, struct pt_event *event, size_t size)
{
	struct pt_event applied;
	int status;

	if (!flow->tick_is_due && !flow->due)
		return flow->status < 0 ? flow->status : -pte_bad_query;
	if (flow->tick_is_due) {
		take_tick(flow, &applied);
		pt_copy_to_user(event, size, &applied, sizeof(applied));
		return flow->status < 0 ? flow->status : pt_flow_status(flow);
	}
	status = pt_flow_use_event(flow, &applied);
	if (status < 0)
		return status;
	pt_flow_advance(flow);
	if (size == sizeof(applied))
		*event = applied;
	else
		pt_copy_to_user(event, size, &applied, sizeof(applied));
	status = pt_observers_take_error(&flow->observers);
	return status < 0 ? status : pt_flow_status(flow);
}
