/* look_ahead.c - see look_ahead.h. */
#include "replay/look_ahead.h"

#include <sb/trace.h>

enum { PACKETS_MAX = 256, PAGE_BITS = 12 };

size_t look_ahead_add(uint64_t found[LOOK_AHEAD_MAX], size_t count, uint64_t ip)
{
	for (size_t i = 0; i < count; ++i)
		if (found[i] >> PAGE_BITS == ip >> PAGE_BITS)
			return count;
	found[count] = ip;
	return count + 1;
}

/* Whether user space is left with @packet, or may have been before it. */
static int is_end(const struct pt_packet *packet, uint64_t ip)
{
	switch (packet->type) {
	case ppt_tip_pgd:
	case ppt_tip_pge:
	case ppt_ovf:
	case ppt_psb:
	case ppt_pip:
		return 1;
	default:
		return ip >> 63 != 0;
	}
}

static size_t read_packets(struct pt_packet_decoder *packets, uint64_t found[LOOK_AHEAD_MAX], size_t count)
{
	uint64_t last = found[0];

	for (int n = 0; n < PACKETS_MAX && count < LOOK_AHEAD_MAX; ++n) {
		struct pt_packet packet;
		uint64_t ip = 0;

		if (pt_pkt_next(packets, &packet, sizeof(packet)) < 0)
			break;
		if ((packet.type == ppt_tip || packet.type == ppt_fup) &&
		    packet.payload.ip.ipc != pt_ipc_suppressed)
			ip = last = sb_last_ip(last, &packet.payload.ip);
		if (is_end(&packet, ip))
			break;
		if (ip)
			count = look_ahead_add(found, count, ip);
	}
	return count;
}

size_t look_ahead(const struct pt_block_decoder *decoder, uint64_t ip, uint64_t found[LOOK_AHEAD_MAX])
{
	struct pt_config config = *pt_blk_get_config(decoder);
	struct pt_packet_decoder *packets;
	uint64_t offset;
	size_t count = 1;

	found[0] = ip;
	if (pt_blk_get_offset(decoder, &offset) < 0)
		return count;
	packets = pt_pkt_alloc_decoder(&config);
	if (packets && pt_pkt_sync_set(packets, offset) >= 0)
		count = read_packets(packets, found, count);
	pt_pkt_free_decoder(packets);
	return count;
}
