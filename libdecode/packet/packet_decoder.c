/* The public packet decoder (pt_pkt_*): a position in the trace and the packet there. */
#include <stdlib.h>

#include "packet/config.h"
#include "packet/packet_form.h"
#include "packet/packet_read.h"
#include "packet/packet_rows.h"
#include "packet/psb_search.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

struct pt_packet_decoder {
	const uint8_t *pos;  /* the next packet; NULL until synchronised */
	const uint8_t *room; /* before it, a packet may be read by its form; NULL until synchronised */
	const uint8_t *sync; /* where it was synchronised last */
	struct pt_config config;
};

struct pt_packet_decoder *pt_pkt_alloc_decoder(const struct pt_config *config)
{
	struct pt_packet_decoder *decoder = calloc(1, sizeof(*decoder));

	if (decoder && pt_config_from_user(&decoder->config, config) < 0) {
		free(decoder);
		return NULL;
	}
	return decoder;
}

void pt_pkt_free_decoder(struct pt_packet_decoder *decoder)
{
	free(decoder);
}

static int move_to(struct pt_packet_decoder *decoder, const uint8_t *psb)
{
	if (!psb)
		return -pte_eos;
	decoder->pos = psb;
	decoder->sync = psb;
	if (decoder->config.end - decoder->config.begin >= pt_packet_form_room)
		decoder->room = decoder->config.end - (pt_packet_form_room - 1);
	return 0;
}

int pt_pkt_sync_forward(struct pt_packet_decoder *decoder)
{
	const uint8_t *pos;

	if (!decoder)
		return -pte_invalid;
	pos = decoder->pos ? decoder->pos : decoder->config.begin;
	/* on the PSB that was found last, go on to the next */
	if (decoder->pos == decoder->sync && decoder->pos && pt_psb_at(pos, decoder->config.end))
		pos += pt_psb_size;
	return move_to(decoder, pt_psb_forward(pos, decoder->config.end));
}

int pt_pkt_sync_backward(struct pt_packet_decoder *decoder)
{
	const uint8_t *pos;

	if (!decoder)
		return -pte_invalid;
	pos = decoder->pos ? decoder->pos : decoder->config.end;
	return move_to(decoder, pt_psb_backward(pos, decoder->config.begin));
}

int pt_pkt_sync_set(struct pt_packet_decoder *decoder, uint64_t offset)
{
	if (!decoder)
		return -pte_invalid;
	if (offset > (uint64_t)(decoder->config.end - decoder->config.begin))
		return -pte_eos;
	return move_to(decoder, decoder->config.begin + offset);
}

static int tell_offset(const struct pt_packet_decoder *decoder, const uint8_t *pos, uint64_t *offset)
{
	if (!pos)
		return -pte_nosync;
	*offset = (uint64_t)(pos - decoder->config.begin);
	return 0;
}

int pt_pkt_get_offset(const struct pt_packet_decoder *decoder, uint64_t *offset)
{
	if (!decoder || !offset)
		return -pte_invalid;
	return tell_offset(decoder, decoder->pos, offset);
}

int pt_pkt_get_sync_offset(const struct pt_packet_decoder *decoder, uint64_t *offset)
{
	if (!decoder || !offset)
		return -pte_invalid;
	return tell_offset(decoder, decoder->sync, offset);
}

const struct pt_config *pt_pkt_get_config(const struct pt_packet_decoder *decoder)
{
	return decoder ? &decoder->config : NULL;
}

/* Any packet, for any size of the user's struct. */
static __attribute__((noinline)) int read_any(struct pt_packet_decoder *decoder, struct pt_packet *packet,
                                              size_t size)
{
	struct pt_packet next = {0};
	int read;

	if (!decoder || !packet)
		return -pte_invalid;
	if (!decoder->pos)
		return -pte_nosync;
	read = pt_packet_read(&next, decoder->pos, &decoder->config);
	if (read < 0)
		return read;
	decoder->pos += read;
	if (size == sizeof(next))
		*packet = next;
	else
		pt_copy_to_user(packet, size, &next, sizeof(next));
	return read;
}

static __attribute__((noinline)) int read_rare(struct pt_packet_decoder *decoder, struct pt_packet *packet)
{
	struct pt_packet next = {0};
	int read = pt_packet_read(&next, decoder->pos, &decoder->config);

	if (read < 0)
		return read;
	decoder->pos += read;
	*packet = next;
	return read;
}

static int read_mode(struct pt_packet_decoder *decoder, struct pt_packet *packet, const uint8_t *pos)
{
	if (!pt_packet_is_mode(pos))
		return read_rare(decoder, packet);
	decoder->pos = pos + 2;
	return pt_packet_fill_mode(packet, pos);
}

/* What is at each PSB, by its first two bytes. */
enum {
	bytes_cbr = 0x0302,
	bytes_psbend = 0x2302,
	bytes_pip = 0x4302,
	bytes_psb = 0x8202,
	bytes_vmcs = 0xc802
};
enum { opcode_mode = 0x99 };

/* What has no row: long TNT, which are every other packet where they are on, and what is at each PSB, before
 * the rest. */
static __attribute__((noinline)) int read_other(struct pt_packet_decoder *decoder, struct pt_packet *packet,
                                                const uint8_t *pos)
{
	if (pt_packet_is_tnt_64(pos)) {
		decoder->pos = pos + 8;
		return pt_packet_fill_tnt_64(packet, pos);
	}
	if (*pos == opcode_mode)
		return read_mode(decoder, packet, pos);
	switch (pt_get16(pos)) {
	case bytes_psb:
		if (!pt_psb_at(pos, decoder->config.end))
			break;
		decoder->pos = pos + pt_psb_size;
		return pt_packet_fill_bare(packet, ppt_psb, pt_psb_size);
	case bytes_psbend:
		decoder->pos = pos + 2;
		return pt_packet_fill_bare(packet, ppt_psbend, 2);
	case bytes_cbr:
		decoder->pos = pos + 4;
		return pt_packet_fill_cbr(packet, pos);
	case bytes_pip:
		decoder->pos = pos + 8;
		return pt_packet_fill_pip(packet, pos);
	case bytes_vmcs:
		decoder->pos = pos + 7;
		return pt_packet_fill_vmcs(packet, pos);
	}
	return read_rare(decoder, packet);
}

/* What the first byte tells of most packets; the rest is made of what stands behind it. No branch depends on
 * which packet it is: the processor would guess it wrong too often.
 */
struct row {
	struct pt_packet_form form; /* with a CYC of two bytes, too */
	uint8_t more;               /* bits of the second byte that tell that a third one follows */
	uint8_t factor;             /* what stands behind, times this, belongs to the first word */
} __attribute__((aligned(64)));
enum { cyc_more = 1, cyc_factor = 1 << 4, cyc_mask = 0xff << 4 };

#define IS_CYC_2(type, size) ((type) == ppt_cyc && !(size))
#define SIZE(type, size)     (IS_CYC_2(type, size) ? 2 : (size))
#define ROW(byte, type, size, first, second, first_bytes, second_bytes)                                      \
	[byte] = {{type,                                                                                     \
	           SIZE(type, size),                                                                         \
	           {first, second},                                                                          \
	           {IS_CYC_2(type, size) ? cyc_mask : BYTES(first_bytes), BYTES(second_bytes)}},             \
	          IS_CYC_2(type, size) ? cyc_more : 0,                                                       \
	          IS_CYC_2(type, size) ? cyc_factor : 1},

/* Sizes by themselves, too; zero when read_other() is to read it. Where the next packet begins is waited for
 * all the time, and a byte is found sooner than a row. */
#define ROW_SIZE(byte, type, size, first, second, first_bytes, second_bytes) [byte] = SIZE(type, size),

/* All behind one address. */
static const struct {
	uint8_t size[256];
	struct row row[256];
} by_first = {{FIRST_BYTES(ROW_SIZE)}, {FIRST_BYTES(ROW)}};

/* Aligned: in as few lines of the instruction cache as it fits into, which are two. Who shares a core with
 * somebody else's virtual CPU waits for its instructions rather than for its data. */
__attribute__((aligned(64))) int pt_pkt_next(struct pt_packet_decoder *decoder, struct pt_packet *packet,
                                             size_t size)
{
	const struct row *row;
	const uint8_t *pos;
	uint64_t behind, head;
	size_t byte, read;

	if (unlikely(!decoder) || unlikely(!packet))
		return read_any(decoder, packet, size);
	pos = decoder->pos;
	if (unlikely(pos >= decoder->room) || unlikely(size != sizeof(*packet)))
		return read_any(decoder, packet, size);
	byte = *pos;
	read = by_first.size[byte];
	row = &by_first.row[byte];
	__asm__("" : "+r"(row)); /* or its address would be computed twice */
	behind = pt_get64(pos + 1);
	if (unlikely(!read))
		return read_other(decoder, packet, pos);
	if (unlikely((uint8_t)behind & row->more) || unlikely((uint16_t)behind == pt_packet_ovf))
		return read_rare(decoder, packet);
	decoder->pos = pos + read;
	memcpy(&head, &row->form, sizeof(head));
	pt_packet_set_words(packet, le64toh(head),
	                    row->form.word[0] | (behind * row->factor & row->form.mask[0]),
	                    row->form.word[1] | (behind & row->form.mask[1]));
	return (int)read;
}
