/* tip_order.c - see tip_order.h.
 *
 * Only processors that write TNT-64 packets are known to defer TIPs: one nearby tells. Where there is none, a
 * TIP that made a TNT go that was not full, and has a TNT behind it, came in order. So does what a processor
 * that defers TIPs writes for a RET that is not compressed; but it does not get far without a TNT-64.
 */
#include "event/tip_order.h"

#include <string.h>

#include "packet/packet_read.h"
#include "packet/psb_search.h"

enum {
	NEAR = 16384, /* bytes before and behind a PSB in which TNT-64 packets are looked for */
	TNT_8_BITS = 6
};

/* Whether @at is where a packet begins. */
static int is_packet(const struct pt_evd *evd, const uint8_t *at)
{
	const uint8_t *pos = pt_psb_backward(at, evd->config.begin);
	struct pt_packet packet;
	int size = pos ? 1 : 0;

	while (size > 0 && pos < at) {
		size = pt_packet_read(&packet, pos, &evd->config);
		pos += size > 0 ? size : 0;
	}
	return pos == at;
}

static int has_long_tnt_nearby(const struct pt_evd *evd)
{
	static const uint8_t opcode[] = {0x02, 0xa3};
	const struct pt_config *config = &evd->config;
	const uint8_t *at = evd->sync - config->begin > NEAR ? evd->sync - NEAR : config->begin;
	const uint8_t *const end = config->end - evd->sync > NEAR ? evd->sync + NEAR : config->end;

	for (; (at = memmem(at, (size_t)(end - at), opcode, sizeof(opcode))); ++at)
		if (is_packet(evd, at))
			return 1;
	return 0;
}

/* What came last, CYC and PAD packets aside. */
enum last { last_other, last_part, last_part_and_tip };

struct look {
	enum last last;
	int has_tnt, is_in_order;
};

static void look_at(struct look *look, const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_tnt_8:
		look->has_tnt = 1;
		look->is_in_order = look->last == last_part_and_tip;
		look->last = packet->payload.tnt.bit_size < TNT_8_BITS ? last_part : last_other;
		break;
	case ppt_tip:
		look->last = look->last == last_other ? last_other : last_part_and_tip;
		break;
	case ppt_pad:
	case ppt_cyc:
		break;
	default:
		look->last = last_other;
		break;
	}
}

enum pt_tip_order pt_tip_order(const struct pt_evd *evd)
{
	const uint8_t *at = evd->sync;
	struct look look = {0};
	struct pt_packet packet;
	int size;

	if (has_long_tnt_nearby(evd))
		return pt_tips_deferred;
	while (!look.is_in_order && (size = pt_packet_read(&packet, at, &evd->config)) > 0) {
		if (packet.type == ppt_psb && at != evd->sync)
			break;
		look_at(&look, &packet);
		at += size;
	}
	return look.is_in_order || !look.has_tnt ? pt_tips_in_order : pt_tips_unclear;
}

int pt_tnt_follows(const struct pt_evd *evd)
{
	const uint8_t *at = evd->pos;
	struct pt_packet packet;
	int size;

	while ((size = pt_packet_read(&packet, at, &evd->config)) > 0) {
		if (packet.type != ppt_pad && packet.type != ppt_cyc)
			return packet.type == ppt_tnt_8 || packet.type == ppt_tnt_64;
		at += size;
	}
	return size == -pte_eos;
}
