/* event_fetch.c - see event_decoder.h and event_fetch.h: unit after unit.
 *
 * Here are the packets that most of a trace consists of, each with the conditions under which it has no
 * other effect than the one here. Whatever does not meet them goes through pt_evd_read_packet().
 */
#include "event/event_fetch.h"

#include "event/event_packets.h"
#include "packet/packet_read.h"

int pt_evd_take_queued_tip(struct pt_evd *evd)
{
	const struct pt_event *ev = pt_evd_event(evd);

	evd->tip_ip = ev->variant.tip.ip;
	evd->tip_suppressed = ev->ip_suppressed;
	pt_evd_pop(evd);
	return pt_unit_tip;
}

static int skip_pads(struct pt_evd *evd)
{
	evd->pos = pt_packet_skip_pads(evd->pos, evd->config.end);
	evd->packet = evd->pos - 1;
	return 0;
}

static int enable(struct pt_evd *evd, const struct pt_packet_form *form)
{
	pt_evd_take_ip(evd, form);
	pt_evd_push(evd, ptev_enabled)->variant.enabled.ip = evd->last.ip;
	evd->enabled = 1;
	return 0;
}

int pt_evd_fetch_enabled(struct pt_evd *evd)
{
	const struct pt_packet_form *form;

	evd->pos = pt_packet_skip_pads(evd->pos, evd->config.end);
	if (!pt_evd_has_room(evd))
		return 0;
	form = &pt_packet_forms[*evd->pos];
	if (form->type != ppt_tip_pge || !pt_evd_can_take_ip(evd, form))
		return 0;
	evd->ahead = 0;
	enable(evd, form);
	return 1;
}

static int disable(struct pt_evd *evd, const struct pt_packet_form *form)
{
	pt_evd_take_ip(evd, form);
	pt_evd_push(evd, ptev_disabled)->variant.disabled.ip = evd->last.ip;
	evd->enabled = 0;
	return 0;
}

static int read_long_tnt(struct pt_evd *evd)
{
	struct pt_packet packet;

	evd->packet = evd->pos;
	evd->pos += pt_packet_fill_tnt_64(&packet, evd->pos);
	evd->tnt = packet.payload.tnt.payload;
	evd->tnt_count = packet.payload.tnt.bit_size;
	return 0;
}

static int move_in_time(struct pt_evd *evd, const struct pt_evd_moment *before, int size)
{
	int status = pt_evd_time_passed(evd, before);

	if (status >= 0)
		evd->pos += size;
	return status;
}

/* While execution is not traced, MTCs come in long rows; where nobody listens to time, only the last one
 * counts. */
static void skip_mtcs(struct pt_evd *evd)
{
	evd->pos = pt_time_skip(&evd->time, evd->pos, &evd->config, &evd->packet);
}

/* Whether what begins at @pos may be such a row: an MTC, behind no more than one short CYC, or PADs. */
static int goes_on(const uint8_t *pos)
{
	const int cyc_size = 1 + (*pos >> 2 & 1);

	return *pos == pt_packet_mtc || !*pos || ((*pos & 3) == 3 && pos[cyc_size] == pt_packet_mtc);
}

static inline int is_at_mtc(const struct pt_evd *evd)
{
	return pt_evd_has_room(evd) && !evd->refused && *evd->pos == pt_packet_mtc;
}

static int read_one_mtc(struct pt_evd *evd)
{
	const struct pt_evd_moment before = pt_evd_moment(evd);

	evd->packet = evd->pos;
	pt_time_update_mtc(&evd->time, evd->pos[1], &evd->config);
	return move_in_time(evd, &before, 2);
}

static int read_mtc(struct pt_evd *evd)
{
	const int status = read_one_mtc(evd);

	if (status >= 0 && evd->tick_limit == UINT64_MAX && pt_evd_has_room(evd) && goes_on(evd->pos))
		skip_mtcs(evd);
	return status;
}

static int read_cyc(struct pt_evd *evd, uint64_t cycles, int size)
{
	const struct pt_evd_moment before = pt_evd_moment(evd);

	evd->packet = evd->pos;
	pt_time_update_cyc(&evd->time, cycles, &evd->config);
	return move_in_time(evd, &before, size);
}

static int read_tsc(struct pt_evd *evd)
{
	const struct pt_evd_moment before = pt_evd_moment(evd);

	evd->packet = evd->pos;
	pt_time_update_tsc(&evd->time, pt_get64(evd->pos) >> 8);
	return move_in_time(evd, &before, 8);
}

static int read_tma(struct pt_evd *evd)
{
	const struct pt_evd_moment before = pt_evd_moment(evd);
	const uint8_t *const pos = evd->pos;
	int status;

	evd->packet = pos;
	status = pt_time_update_tma(&evd->time, pt_get16(pos + 2), pt_get16(pos + 5), &evd->config);
	return status < 0 ? status : move_in_time(evd, &before, 7);
}

/* One packet that is no short TNT, or a row of PADs. */
static int read_packet(struct pt_evd *evd, const struct pt_packet_form *form)
{
	switch (evd->refused ? ppt_unknown : form->type) {
	case ppt_pad:
		return skip_pads(evd);
	case ppt_tip_pge:
		return pt_evd_can_take_ip(evd, form) ? enable(evd, form) : pt_evd_read_packet(evd);
	case ppt_tip_pgd:
		return pt_evd_can_take_ip(evd, form) ? disable(evd, form) : pt_evd_read_packet(evd);
	case ppt_tsc:
		return read_tsc(evd);
	case ppt_mtc:
		return read_mtc(evd);
	case ppt_cyc:
		if (form->size)
			return read_cyc(evd, form->word[0], 1);
		if (pt_packet_is_cyc_2(evd->pos))
			return read_cyc(evd, pt_packet_cyc_2(evd->pos), 2);
		return pt_evd_read_packet(evd);
	case ppt_invalid:
		if (!evd->no_tnt && pt_packet_is_tnt_64(evd->pos))
			return read_long_tnt(evd);
		if (pt_packet_is_plain_tma(evd->pos))
			return read_tma(evd);
		return pt_evd_read_packet(evd);
	default:
		return pt_evd_read_packet(evd);
	}
}

int pt_evd_fetch_any(struct pt_evd *evd)
{
	evd->ahead = 0;
	for (;;) {
		const struct pt_packet_form *form;
		int status;

		if (evd->queue_count)
			return pt_evd_event(evd)->type == ptev_tip ? pt_evd_take_queued_tip(evd)
			                                           : pt_unit_event;
		if (evd->pos >= evd->config.end)
			return -pte_eos;
		if (!*evd->pos && !evd->refused) {
			skip_pads(evd);
			continue;
		}
		form = &pt_packet_forms[*evd->pos];
		if (form->type == ppt_tnt_8)
			return evd->no_tnt ? -pte_bad_context : pt_evd_take_tnt(evd, form);
		if (!pt_evd_has_room(evd))
			status = pt_evd_read_packet(evd);
		else if (form->type == ppt_tip && !evd->no_tnt && pt_evd_can_take_ip(evd, form))
			return pt_evd_take_tip(evd, form);
		else
			status = read_packet(evd, form);
		if (status < 0)
			return status;
		if (evd->tnt_count)
			return pt_unit_tnt;
	}
}

/* A packet about time that is no event, or a row of PADs. Zero: something else, or it cannot be read. */
static int read_timing(struct pt_evd *evd)
{
	switch (pt_packet_type_at(evd->pos, &evd->config)) {
	case ppt_pad:
	case ppt_mtc:
	case ppt_cyc:
	case ppt_tsc:
	case ppt_tma:
		break;
	default:
		return 0;
	}
	if (pt_evd_has_room(evd))
		return read_packet(evd, &pt_packet_forms[*evd->pos]) >= 0;
	return pt_evd_read_packet(evd) >= 0;
}

/* The most frequent ones. Zero: something else. */
static int read_mtc_or_cyc(struct pt_evd *evd)
{
	const struct pt_packet_form *form;

	if (!pt_evd_has_room(evd) || evd->refused)
		return 0;
	form = &pt_packet_forms[*evd->pos];
	if (form->type == ppt_mtc)
		return read_mtc(evd) >= 0;
	if (form->type != ppt_cyc)
		return 0;
	if (form->size)
		return read_cyc(evd, form->word[0], 1) >= 0;
	return pt_packet_is_cyc_2(evd->pos) && read_cyc(evd, pt_packet_cyc_2(evd->pos), 2) >= 0;
}

/* Whether a TNT or a TIP comes next, which the most frequent of all is followed by. */
static int is_flow(const struct pt_evd *evd)
{
	return pt_evd_has_room(evd) && pt_is_flow_opcode(*evd->pos);
}

static int pass_lone_cyc(struct pt_evd *evd)
{
	const uint32_t size = pt_evd_lone_cyc(evd);

	if (!size)
		return 0;
	evd->packet = evd->pos;
	pt_evd_pass_cyc(evd, pt_get32(evd->pos), size);
	evd->pos += size;
	return 1;
}

int pt_evd_pass_one_timing(struct pt_evd *evd)
{
	const uint8_t *const pos = pt_packet_skip_pads(evd->pos, evd->config.end);

	evd->pos = pos;
	if (pos == evd->config.end)
		return 0;
	if (is_at_mtc(evd))
		return read_one_mtc(evd) >= 0;
	return read_timing(evd) && evd->pos != pos;
}

int pt_evd_pass_mtc(struct pt_evd *evd)
{
	return is_at_mtc(evd) && read_mtc(evd) >= 0;
}

int pt_evd_pass_due_mtc(struct pt_evd *evd, uint64_t cycles)
{
	const uint8_t *const pos = evd->pos;

	if (!is_at_mtc(evd) || !pt_time_is_due(&evd->time, pos[1]))
		return 0;
	(void)pt_evd_moment(evd);
	evd->packet = pos;
	evd->time.cyc += cycles;
	pt_time_due_mtc(&evd->time, &evd->config);
	evd->pos += 2;
	if (pt_evd_has_room(evd) && goes_on(evd->pos))
		skip_mtcs(evd);
	return 1;
}

int pt_evd_pass_timing(struct pt_evd *evd)
{
	const uint8_t *const begin = evd->pos;

	if (pass_lone_cyc(evd))
		return 1;
	do {
		while (read_mtc_or_cyc(evd))
			continue;
	} while (!is_flow(evd) && read_timing(evd));
	return evd->pos != begin;
}

int pt_evd_fetch(struct pt_evd *evd)
{
	return pt_evd_fetch_fast(evd);
}
