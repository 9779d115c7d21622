/* overflow.c - how an overflow resolves (Intel SDM vol. 3, "Buffer Overflow").
 *
 * Where tracing goes on, a FUP with the address follows the OVF; timing may stand between. Where anything
 * else follows, tracing was disabled when the overflow resolved, and a TIP.PGE says where it begins again.
 */
#include "event/event_packets.h"

#include "packet/packet_read.h"

/* What a packet behind an OVF says. */
enum verdict {
	says_nothing,
	goes_on,     /* tracing is enabled, here */
	is_disabled, /* it is not */
	must_not_be
};

static enum verdict verdict(enum pt_packet_type type)
{
	if (pt_evd_is_timing(type))
		return says_nothing;
	switch (type) {
	case ppt_pad:
	case ppt_mnt:
	case ppt_unknown:
	case ppt_invalid:
		return says_nothing;
	case ppt_fup:
		return goes_on;
	case ppt_tnt_8:
	case ppt_tnt_64:
	case ppt_tip:
	case ppt_tip_pgd:
	case ppt_psbend:
		return must_not_be;
	default:
		return is_disabled;
	}
}

/* Looks for the first packet that says something. Its verdict, or a negative pt_error_code. */
static int look_ahead(const struct pt_evd *evd, const uint8_t *pos, struct pt_packet *packet)
{
	for (;;) {
		int size = pt_packet_read(packet, pos, &evd->config);

		if (size == -pte_eos)
			return is_disabled;
		if (size < 0)
			return size;
		if (verdict(packet->type) != says_nothing)
			return (int)verdict(packet->type);
		pos += size;
	}
}

static int resume_at_fup(struct pt_evd *evd, const struct pt_packet *fup)
{
	if (fup->payload.ip.ipc == pt_ipc_suppressed)
		return -pte_noip;
	evd->enabled = 1;
	return pt_evd_bind_fup(evd, ptev_overflow) ? 0 : -pte_internal;
}

int pt_evd_resolve_overflow(struct pt_evd *evd, const uint8_t *next)
{
	struct pt_packet packet;
	int status = look_ahead(evd, next, &packet);

	if (status == goes_on)
		status = resume_at_fup(evd, &packet);
	else if (status == must_not_be)
		status = -pte_bad_context;
	else if (status == is_disabled) {
		evd->enabled = 0;
		pt_evd_push(evd, ptev_overflow)->ip_suppressed = 1;
		status = 0;
	}
	if (status < 0)
		evd->pos = next;
	return status;
}
