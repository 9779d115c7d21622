/* aux_overlap.c - pieces of trace that repeat what the ones before them held.
 *
 * A snapshot is what a ring buffer holds when it is asked for, a sample of the trace the last bytes of it:
 * when less was written since than that, the older bytes come again, and no record says how many. The bytes
 * themselves do: a PSB has a TSC behind it, which no other PSB has. Where that PSB is in the piece before,
 * the piece begins there at the same distance before it, and all bytes up to the end have to agree. Packets:
 * Intel SDM, volume 3, "PSB+".
 */
#include "perfdata/perfdata_internal.h"

#include <string.h>

#include <intel-pt.h>

enum {
	PSB_SIZE = 16,
	PSB_HEADER_MAX = 256,
	CANDIDATES_MAX = 64, /* without a TSC, PSBs are all alike */
	BREAK = 4096         /* between pieces of which nobody knows how far apart they are; a power of two */
};

static const uint8_t psb[PSB_SIZE] = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
                                      0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82};

struct span {
	const uint8_t *bytes;
	uint64_t size;
};

/* Bytes from the PSB at @bytes to behind its TSC; the PSB's when it has none. */
static uint64_t mark_size(const uint8_t *bytes, uint64_t size)
{
	struct pt_packet_decoder *decoder;
	struct pt_config config;
	uint64_t found = PSB_SIZE;
	int status;

	pt_config_init(&config);
	config.begin = (uint8_t *)(uintptr_t)bytes;
	config.end = config.begin + (size < PSB_HEADER_MAX ? size : PSB_HEADER_MAX);
	decoder = pt_pkt_alloc_decoder(&config);
	if (!decoder)
		return found;
	status = pt_pkt_sync_set(decoder, 0);
	while (status >= 0) {
		struct pt_packet packet;
		uint64_t offset;

		status = pt_pkt_next(decoder, &packet, sizeof(packet));
		if (status < 0 || packet.type == ppt_psbend)
			break;
		if (packet.type == ppt_tsc && pt_pkt_get_offset(decoder, &offset) >= 0) {
			found = offset + packet.size;
			break;
		}
	}
	pt_pkt_free_decoder(decoder);
	return found;
}

/* The first PSB of @piece, and what makes it different from others. */
static int find_mark(const struct span *piece, struct span *mark, uint64_t *at)
{
	const uint8_t *found = piece->size ? memmem(piece->bytes, piece->size, psb, PSB_SIZE) : NULL;

	if (!found)
		return 0;
	*at = (uint64_t)(found - piece->bytes);
	*mark = (struct span){found, mark_size(found, piece->size - *at)};
	return 1;
}

/* The bytes that a piece has in common with the end of the one before, which may be filled up with zeros. */
struct overlap {
	uint64_t size, padding;
};

/* Whether @before, from @from on, is what @piece begins with, less than eight zeros at its end aside. */
static int is_overlap(struct overlap *overlap, const struct span *before, uint64_t from,
                      const struct span *piece)
{
	const uint64_t left = before->size - from;

	*overlap = (struct overlap){.size = left < piece->size ? left : piece->size};
	while (memcmp(before->bytes + from, piece->bytes, overlap->size) != 0) {
		if (left > piece->size || overlap->padding == 7 || overlap->size <= PSB_SIZE ||
		    before->bytes[from + overlap->size - 1])
			return 0;
		overlap->size--;
		overlap->padding++;
	}
	return 1;
}

static int find_overlap(struct overlap *overlap, const struct span *before, const struct span *piece)
{
	uint64_t at, from = 0;
	struct span mark;

	if (!before->size || !find_mark(piece, &mark, &at))
		return 0;
	for (int i = 0; i < CANDIDATES_MAX && from < before->size; i++) {
		const uint8_t *found =
		        memmem(before->bytes + from, before->size - from, mark.bytes, mark.size);
		uint64_t place;

		if (!found)
			return 0;
		place = (uint64_t)(found - before->bytes);
		if (place >= at && is_overlap(overlap, before, place - at, piece))
			return 1;
		from = place + 1;
	}
	return 0;
}

void sb_aux_place(struct sb_aux_chunk *chunk, size_t nchunks)
{
	struct sb_aux_chunk *before = chunk;

	for (size_t i = 1; i < nchunks; i++) {
		const struct span last = {before->bytes, before->size},
		                  piece = {chunk[i].bytes, chunk[i].size};
		struct overlap overlap;
		uint64_t end;

		if (find_overlap(&overlap, &last, &piece)) {
			before->size -= overlap.padding;
			chunk[i].aux_offset = before->aux_offset + before->size - overlap.size;
		} else {
			end = before->aux_offset + before->size;
			overlap.size = 0;
			chunk[i].aux_offset = (end + BREAK) & ~(uint64_t)(BREAK - 1);
		}
		/* One that says nothing new is not where the next one goes on. */
		if (overlap.size < chunk[i].size)
			before = &chunk[i];
	}
}
