/* The frequent packets read in place: a TNT and a TIP need neither a struct pt_packet nor an event.
 *
 * They are taken by their row of pt_packet_forms, at evd->pos, when nothing stands in the way; all else is
 * left to event_decoder.c, which knows every rule.
 */
#ifndef PT_EVENT_FETCH_H
#define PT_EVENT_FETCH_H

#include "event/event_decoder.h"
#include "packet/packet_form.h"

static inline int pt_evd_has_room(const struct pt_evd *evd)
{
	return evd->config.end - evd->pos >= pt_packet_form_room;
}

/* Whether a TNT may come. */
static inline int pt_evd_can_take_tnt(const struct pt_evd *evd)
{
	return !(evd->queue_count | evd->no_tnt);
}

static inline int pt_evd_take_tnt(struct pt_evd *evd, const struct pt_packet_form *form)
{
	evd->packet = evd->pos++;
	evd->tnt_count = (uint32_t)form->word[0];
	evd->tnt = form->word[1];
	return pt_unit_tnt;
}

/* Whether a FUP, TIP, TIP.PGE or TIP.PGD has an address, and no event waits for it. */
static inline int pt_evd_can_take_ip(const struct pt_evd *evd, const struct pt_packet_form *form)
{
	return form->word[0] && !(evd->refused | evd->tip_bound.count);
}

/* Takes the address of such a packet at @pos; returns where it ends. */
static inline const uint8_t *pt_last_ip_read(struct pt_last_ip *last, const struct pt_packet_form *form,
                                             const uint8_t *pos)
{
	pt_last_ip_tell(last, (enum pt_ip_compression)form->word[0], pt_get64(pos + 1) & form->mask[1],
	                form->mask[1]);
	return pos + form->size;
}

/* Takes the address and moves behind the packet. */
static inline void pt_evd_take_ip(struct pt_evd *evd, const struct pt_packet_form *form)
{
	evd->packet = evd->pos;
	evd->pos = pt_last_ip_read(&evd->last, form, evd->pos);
}

static inline int pt_evd_take_tip(struct pt_evd *evd, const struct pt_packet_form *form)
{
	pt_evd_take_ip(evd, form);
	evd->tip_ip = evd->last.ip;
	evd->tip_suppressed = 0;
	return pt_unit_tip;
}

/* pt_evd_fetch() where the next packet is probably something else. */
int pt_evd_fetch_any(struct pt_evd *evd);

/* The same where nothing but a TIP.PGE is wanted, whose event is queued. Zero: something else comes. The
 * queue must be empty. */
int pt_evd_fetch_enabled(struct pt_evd *evd);

/* Reads PADs, TSC, TMA, MTC and CYC as far as there are such, and stops before anything else or what cannot
 * be read. Returns whether there was something. The event queue must be empty. */
int pt_evd_pass_timing(struct pt_evd *evd);

/* The same for PADs and one packet behind them, without which it returns zero. */
int pt_evd_pass_one_timing(struct pt_evd *evd);

/* The same for an MTC, and for what stands before another one that follows soon. Zero: something else. */
int pt_evd_pass_mtc(struct pt_evd *evd);

/* The same for the MTC that is due, behind CYCs of so many cycles that did not count yet; their ratio must be
 * known. Nobody may listen to time. Zero: something else, and they do not count. */
int pt_evd_pass_due_mtc(struct pt_evd *evd, uint64_t cycles);

/* The size of a CYC of one or two bytes that @word begins with; zero: it is something else. */
static inline uint32_t pt_cyc_size(uint64_t word)
{
	if ((word & 7) == 3)
		return 1;
	/* As pt_packet_is_cyc_2(). */
	return (word & 0x107) == 7 && (word >> 8 & 0xffff) != 0xf302 ? 2 : 0;
}

/* Its cycles. */
static inline uint64_t pt_cyc_cycles(uint64_t word, uint32_t size)
{
	return (word >> 3 & 0x1f) | (size == 2 ? (word >> 8 & 0xfe) << 4 : 0);
}

/* What pt_evd_pass_timing() does with a CYC of so many cycles, but that evd->pos stays. */
static inline void pt_evd_pass_cycles(struct pt_evd *evd, uint64_t cycles)
{
	if (!evd->ahead) {
		evd->before = evd->time;
		evd->ahead = 1;
	}
	pt_time_pass_cyc(&evd->time, cycles, &evd->config);
}

static inline int pt_is_flow_opcode(uint32_t opcode)
{
	return (opcode > 2 && !(opcode & 1)) || (opcode & 0x1f) == 0x0d;
}

/* What a trace with CYC is full of: one of up to two bytes, and then a TNT or TIP. Returns the CYC's size;
 * zero: something else, or somebody listens to time. */
static inline uint32_t pt_evd_lone_cyc(const struct pt_evd *evd)
{
	uint32_t word, size;

	if (!pt_evd_has_room(evd) || evd->refused || evd->tick_limit != UINT64_MAX)
		return 0;
	word = pt_get32(evd->pos);
	size = pt_cyc_size(word);
	return size && pt_is_flow_opcode(word >> (8 * size) & 0xff) ? size : 0;
}

/* The same CYC does not count yet: one estimate of time by the cycles of several is the same as one by each
 * of them, unless they are lost. Zero: it must count. */
static inline int pt_evd_owe_cyc(struct pt_evd *evd)
{
	const uint32_t size = evd->time.ratio ? pt_evd_lone_cyc(evd) : 0;
	const uint64_t cycles = size ? pt_cyc_cycles(pt_get32(evd->pos), size) : 0;

	if (!cycles)
		return 0;
	evd->owed_last = cycles;
	evd->owed += cycles;
	evd->pos += size;
	return 1;
}

/* Cycles that are owed count. @ahead: the last ones came ahead of what they belong to. */
static inline void pt_evd_count_owed(struct pt_evd *evd, int ahead)
{
	if (!evd->owed)
		return;
	if (ahead) {
		if (evd->owed != evd->owed_last)
			pt_time_pass_cyc(&evd->time, evd->owed - evd->owed_last, &evd->config);
		evd->before = evd->time;
		evd->owed = evd->owed_last;
	}
	pt_time_pass_cyc(&evd->time, evd->owed, &evd->config);
	evd->owed = 0;
}

static inline void pt_evd_pass_cyc(struct pt_evd *evd, uint64_t word, uint32_t size)
{
	pt_evd_pass_cycles(evd, pt_cyc_cycles(word, size));
}

/* pt_evd_fetch(), to be inlined where the next packet is probably a TNT or a TIP. */
static inline int pt_evd_fetch_fast(struct pt_evd *evd)
{
	if (pt_evd_can_take_tnt(evd) && pt_evd_has_room(evd)) {
		const struct pt_packet_form *const form = &pt_packet_forms[*evd->pos];

		evd->ahead = 0;
		if (form->type == ppt_tnt_8)
			return pt_evd_take_tnt(evd, form);
		if (form->type == ppt_tip && pt_evd_can_take_ip(evd, form))
			return pt_evd_take_tip(evd, form);
	}
	return pt_evd_fetch_any(evd);
}

#endif
