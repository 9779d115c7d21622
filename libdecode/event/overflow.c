/* overflow.c - how an overflow resolves (Intel SDM vol. 3, "Buffer Overflow").
 *
 * Where tracing goes on, a FUP with the address follows the OVF; timing may stand between. Where anything
 * else follows, tracing was disabled when the overflow resolved, and a TIP.PGE says where it begins again.
 * Three errata break that rule: APL12 adds a FUP, APL11 a TIP.PGD, and SKD010 takes the FUP away. What they
 * make us pass over counts for time, and for nothing else.
 */
#include "event/event_packets.h"

#include "packet/packet_form.h"
#include "packet/packet_read.h"

/* Who passes over a packet when looking for the one that tells. */
enum looker {
	by_rule = 1 << 0, /* the SDM's rule */
	by_skd010 = 1 << 1,
	by_apl12 = 1 << 2,
	by_all = by_rule | by_skd010 | by_apl12
};

static const uint8_t passed[] = {
        [ppt_invalid] = by_all,
        [ppt_unknown] = by_all,
        [ppt_pad] = by_all,
        [ppt_cbr] = by_all,
        [ppt_tsc] = by_all,
        [ppt_tma] = by_all,
        [ppt_mtc] = by_all,
        [ppt_cyc] = by_all,
        [ppt_mnt] = by_all,
        [ppt_mode] = by_skd010 | by_apl12, /* by SKD010 unless it waits for a FUP */
        [ppt_pip] = by_skd010 | by_apl12,
        [ppt_vmcs] = by_skd010 | by_apl12,
        [ppt_pwre] = by_skd010 | by_apl12,
        [ppt_pwrx] = by_skd010 | by_apl12,
        [ppt_exstop] = by_skd010 | by_apl12,
        [ppt_ptw] = by_skd010 | by_apl12,
        [ppt_fup] = by_apl12,
        [ppt_mwait] = by_apl12,
        [ppt_trig] = 0, /* the last one */
};

/* A place in the trace, and the packet there. */
struct ahead {
	const uint8_t *pos;
	struct pt_packet packet;
};

static int waits_for_fup(const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_exstop:
		return packet->payload.exstop.ip;
	case ppt_ptw:
		return packet->payload.ptw.ip;
	case ppt_mode:
		return packet->payload.mode.leaf == pt_mol_tsx;
	default:
		return 0;
	}
}

static int is_passed(const struct pt_packet *packet, enum looker looker)
{
	return (passed[packet->type] & looker) && !(looker == by_skd010 && waits_for_fup(packet));
}

/* Goes to the first packet at or behind ahead->pos that @looker does not pass. Zero or an error code. */
static int look(const struct pt_evd *evd, struct ahead *ahead, enum looker looker)
{
	for (;;) {
		int size;

		ahead->pos = pt_packet_skip_pads(ahead->pos, evd->config.end);
		size = pt_packet_read(&ahead->packet, ahead->pos, &evd->config);
		if (size < 0)
			return size;
		if (!is_passed(&ahead->packet, looker))
			return 0;
		ahead->pos += size;
	}
}

static const uint8_t *behind(const struct ahead *ahead)
{
	return ahead->pos + ahead->packet.size;
}

/* Goes on at @to; what is before it counts for time only. */
static int pass_up_to(struct pt_evd *evd, const uint8_t *to)
{
	while (evd->pos < to) {
		struct pt_packet packet;
		int size = pt_packet_read(&packet, evd->pos, &evd->config), status = 0;

		if (size < 0)
			return size;
		if (pt_evd_is_timing(packet.type))
			status = pt_evd_update_time(evd, &packet);
		if (status < 0)
			return status;
		evd->pos += size;
	}
	return 0;
}

static int resolve_disabled(struct pt_evd *evd, const uint8_t *next)
{
	int status = pass_up_to(evd, next);

	if (status < 0)
		return status;
	evd->enabled = 0;
	pt_evd_push(evd, ptev_overflow)->ip_suppressed = 1;
	return 0;
}

static int resolve_at(struct pt_evd *evd, const uint8_t *next, uint64_t ip)
{
	int status = pass_up_to(evd, next);

	if (status < 0)
		return status;
	evd->enabled = 1;
	pt_evd_push(evd, ptev_overflow)->variant.overflow.ip = ip;
	return 0;
}

/* The address in the PSB+ at ahead->pos, which is passed. Zero: it has none. */
static int psb_address(const struct pt_evd *evd, struct ahead *ahead, uint64_t *ip)
{
	struct pt_last_ip last;

	pt_last_ip_reset(&last);
	do {
		int size = pt_packet_read(&ahead->packet, ahead->pos, &evd->config);

		if (size < 0)
			return size;
		ahead->pos += size;
		if (ahead->packet.type == ppt_fup)
			pt_last_ip_update(&last, &ahead->packet.payload.ip);
	} while (ahead->packet.type != ppt_psbend && ahead->packet.type != ppt_ovf);
	*ip = last.ip;
	return last.valid && !last.suppressed;
}

/* APL12: whether what follows the FUP says that tracing is disabled there. */
static int fup_is_stray(const struct pt_evd *evd, struct ahead ahead)
{
	uint64_t ip;
	int status = look(evd, &ahead, by_apl12);

	if (status >= 0) {
		switch (ahead.packet.type) {
		case ppt_tip_pge:
		case ppt_stop:
			return 1;
		case ppt_psbend:
			return -pte_bad_context;
		case ppt_psb:
			status = psb_address(evd, &ahead, &ip);
			if (status >= 0)
				return !status;
			break;
		default:
			return 0;
		}
	}
	return status == -pte_eos ? 0 : status;
}

static int on_fup_ahead(struct pt_evd *evd, const struct ahead *fup)
{
	if (evd->config.errata.apl12) {
		int stray = fup_is_stray(evd, (struct ahead){.pos = behind(fup)});

		if (stray < 0)
			return stray;
		if (stray)
			return resolve_disabled(evd, behind(fup));
	}
	evd->enabled = 1;
	return pt_evd_bind_fup(evd, ptev_overflow) ? 0 : -pte_internal;
}

static int resolve_at_ip(struct pt_evd *evd, const struct ahead *packet, const uint8_t *next)
{
	struct pt_last_ip last;
	int status;

	pt_last_ip_reset(&last);
	status = pt_last_ip_update(&last, &packet->packet.payload.ip);
	if (status < 0)
		return status;
	if (last.suppressed)
		return -pte_bad_context;
	if (next > packet->pos)
		evd->last = last;
	return resolve_at(evd, next, last.ip);
}

static int resolve_at_psb(struct pt_evd *evd, struct ahead psb)
{
	const uint8_t *pos = psb.pos;
	uint64_t ip;
	int status = psb_address(evd, &psb, &ip);

	if (status <= 0)
		return status == -pte_eos ? 0 : status;
	return resolve_at(evd, pos, ip);
}

/* SKD010: resolves at the first address that is told from @pos on. It belongs to a FUP that must come first
 * when a MODE.TSX, at @tsx, waits for it. Positive: resolved; zero: no address is told. */
static int find_address(struct pt_evd *evd, const uint8_t *pos, const uint8_t *tsx)
{
	struct ahead ahead = {.pos = pos};
	int status = look(evd, &ahead, by_skd010);

	if (status < 0)
		return status == -pte_eos ? 0 : status;
	switch (ahead.packet.type) {
	case ppt_mode:
		return tsx ? 0 : find_address(evd, behind(&ahead), ahead.pos);
	case ppt_fup:
		status = resolve_at_ip(evd, &ahead, tsx ? tsx : ahead.pos);
		break;
	case ppt_tip:
		status = resolve_at_ip(evd, &ahead, behind(&ahead));
		break;
	case ppt_tip_pgd:
		status = resolve_disabled(evd, behind(&ahead));
		break;
	case ppt_psb:
		status = resolve_at_psb(evd, ahead);
		break;
	case ppt_psbend:
		return -pte_bad_context;
	default:
		return 0;
	}
	return status < 0 ? status : evd->queue_count != 0;
}

/* Without a FUP that says where tracing goes on. */
static int resolve_without_fup(struct pt_evd *evd, const struct ahead *ahead)
{
	if (evd->config.errata.skd010) {
		int status = find_address(evd, evd->pos, NULL);

		if (status)
			return status < 0 ? status : 0;
	}
	switch (ahead->packet.type) {
	case ppt_tip_pgd:
		if (evd->config.errata.apl11)
			return resolve_disabled(evd, behind(ahead));
		return -pte_bad_context;
	case ppt_tnt_8:
	case ppt_tnt_64:
	case ppt_tip:
	case ppt_psbend:
		return -pte_bad_context;
	default:
		return resolve_disabled(evd, evd->pos);
	}
}

/* A PSB+ may stand before the FUP, unless it has an address itself. */
static int fup_behind_psb(const struct pt_evd *evd, struct ahead *ahead)
{
	uint64_t ip;
	int status = psb_address(evd, ahead, &ip);

	if (status || ahead->packet.type != ppt_psbend)
		return 0;
	status = look(evd, ahead, by_rule);
	return status >= 0 && ahead->packet.type == ppt_fup;
}

int pt_evd_resolve_overflow(struct pt_evd *evd)
{
	struct ahead ahead = {.pos = evd->pos}, behind_psb;
	int status = look(evd, &ahead, by_rule);

	if (status == -pte_eos)
		return resolve_disabled(evd, evd->pos);
	if (status < 0)
		return status;
	if (ahead.packet.type == ppt_fup)
		return on_fup_ahead(evd, &ahead);
	behind_psb = ahead;
	if (ahead.packet.type == ppt_psb && fup_behind_psb(evd, &behind_psb))
		return on_fup_ahead(evd, &behind_psb);
	return resolve_without_fup(evd, &ahead);
}
