/* IP compression: the last IP and its update by FUP, TIP, TIP.PGE and TIP.PGD payloads
 * (Intel SDM vol. 3, "IP Compression"). Small enough to be inlined into the event decoder. */
#ifndef PT_LAST_IP_H
#define PT_LAST_IP_H

#include "intel-pt.h"

struct pt_last_ip {
	uint64_t ip;
	uint8_t valid;      /* an IP was seen since the last PSB (or assumed zero there) */
	uint8_t suppressed; /* the last packet's payload was suppressed */
};

static inline void pt_last_ip_reset(struct pt_last_ip *last)
{
	*last = (struct pt_last_ip){0};
}

/* Applies an address of which the bits of @mask are told, by a compression that is neither suppressed nor
 * unknown. */
static inline void pt_last_ip_tell(struct pt_last_ip *last, enum pt_ip_compression ipc, uint64_t ip,
                                   uint64_t mask)
{
	if (ipc == pt_ipc_sext_48)
		ip = (uint64_t)((int64_t)(ip << 16) >> 16);
	else
		ip |= last->ip & ~mask;
	last->ip = ip;
	last->valid = 1;
	last->suppressed = 0;
}

/* Applies @packet. Zero; -pte_bad_packet for an unknown compression. A suppressed payload leaves the IP. */
static inline int pt_last_ip_update(struct pt_last_ip *last, const struct pt_packet_ip *packet)
{
	uint64_t ip = packet->ip;

	switch (packet->ipc) {
	case pt_ipc_suppressed:
		last->suppressed = 1;
		return 0;
	case pt_ipc_update_16:
		ip = (last->ip & ~0xffffull) | (ip & 0xffffull);
		break;
	case pt_ipc_update_32:
		ip = (last->ip & ~0xffffffffull) | (ip & 0xffffffffull);
		break;
	case pt_ipc_update_48:
		ip = (last->ip & ~0xffffffffffffull) | (ip & 0xffffffffffffull);
		break;
	case pt_ipc_sext_48:
		ip = (uint64_t)((int64_t)(ip << 16) >> 16);
		break;
	case pt_ipc_full:
		break;
	default:
		return -pte_bad_packet;
	}
	last->ip = ip;
	last->valid = 1;
	last->suppressed = 0;
	return 0;
}

#endif
