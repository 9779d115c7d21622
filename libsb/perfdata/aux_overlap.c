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
	const uint8_t *found = memmem(piece->bytes, piece->size, psb, PSB_SIZE);

	if (!found)
		return 0;
	*at = (uint64_t)(found - piece->bytes);
	*mark = (struct span){found, mark_size(found, piece->size - *at)};
	return 1;
}

/* A piece that has bytes in common with the end of the one before, which may be filled up with zeros. */
struct overlap {
	int64_t distance; /* of its beginning from that of the one before; negative: it goes back further */
	uint64_t padding;
};

/* Whether @left is what @right begins with, or the other way round, less than eight zeros at the end of @left
 * aside. */
static int is_common(struct overlap *overlap, const struct span *left, const struct span *right)
{
	uint64_t size = left->size < right->size ? left->size : right->size;

	overlap->padding = 0;
	while (memcmp(left->bytes, right->bytes, size) != 0) {
		if (left->size > right->size || overlap->padding == 7 || size <= PSB_SIZE ||
		    left->bytes[size - 1])
			return 0;
		size--;
		overlap->padding++;
	}
	return 1;
}

/* With @piece @distance bytes behind the beginning of @before. */
static int is_overlap(struct overlap *overlap, const struct span *before, const struct span *piece,
                      int64_t distance)
{
	const uint64_t skip_before = distance > 0 ? (uint64_t)distance : 0;
	const uint64_t skip_piece = distance < 0 ? (uint64_t)-distance : 0;

	overlap->distance = distance;
	return is_common(overlap, &(struct span){before->bytes + skip_before, before->size - skip_before},
	                 &(struct span){piece->bytes + skip_piece, piece->size - skip_piece});
}

/* Looks for the first PSB of @one in the @other; @one is the @piece, or what is @before it. */
static int find_by_mark(struct overlap *overlap, const struct span *before, const struct span *piece,
                        int one_is_piece)
{
	const struct span *one = one_is_piece ? piece : before, *other = one_is_piece ? before : piece;
	uint64_t at, from = 0;
	struct span mark;

	if (!find_mark(one, &mark, &at))
		return 0;
	for (int i = 0; i < CANDIDATES_MAX && from < other->size; i++) {
		const uint8_t *found = memmem(other->bytes + from, other->size - from, mark.bytes, mark.size);
		int64_t distance;

		if (!found)
			return 0;
		from = (uint64_t)(found - other->bytes);
		distance = (int64_t)from - (int64_t)at;
		if (is_overlap(overlap, before, piece, one_is_piece ? distance : -distance))
			return 1;
		from++;
	}
	return 0;
}

/* The piece may begin in the one before, or before it. */
static int find_overlap(struct overlap *overlap, const struct span *before, const struct span *piece)
{
	return before->size && piece->size &&
	       (find_by_mark(overlap, before, piece, 1) || find_by_mark(overlap, before, piece, 0));
}

/* Where @chunk is that comes after @before. */
static uint64_t place(struct sb_aux_chunk *before, const struct sb_aux_chunk *chunk)
{
	const struct span left = {before->bytes, before->size}, right = {chunk->bytes, chunk->size};
	struct overlap overlap;

	if (!find_overlap(&overlap, &left, &right))
		return (before->aux_offset + before->size + BREAK) & ~(uint64_t)(BREAK - 1);
	before->size -= overlap.padding;
	return before->aux_offset + (uint64_t)overlap.distance;
}

void sb_aux_place(struct sb_aux_chunk *chunk, size_t nchunks)
{
	struct sb_aux_chunk *before = chunk;
	uint64_t sum = 0;

	/* Later ones may go back further, but not by more than there is. */
	for (size_t i = 0; i < nchunks; i++)
		sum += chunk[i].size;
	chunk[0].aux_offset = (sum + BREAK) & ~(uint64_t)(BREAK - 1);
	for (size_t i = 1; i < nchunks; i++) {
		chunk[i].aux_offset = place(before, &chunk[i]);
		/* One that says nothing new is not where the next one goes on. */
		if (chunk[i].aux_offset + chunk[i].size > before->aux_offset + before->size)
			before = &chunk[i];
	}
	sum = chunk[0].aux_offset;
	for (size_t i = 1; i < nchunks; i++)
		sum = chunk[i].aux_offset < sum ? chunk[i].aux_offset : sum;
	for (size_t i = 0; i < nchunks; i++)
		chunk[i].aux_offset -= sum;
}
