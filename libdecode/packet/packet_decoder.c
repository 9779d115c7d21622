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
	pt_copy_to_user(packet, size, &next, sizeof(next));
	return read;
}

static __attribute__((noinline)) int read_rare(struct pt_packet_decoder *decoder, struct pt_packet *packet)
{
	struct pt_packet next = {0};
	int read = pt_packet_read_other(&next, decoder->pos, &decoder->config);

	if (read < 0)
		return read;
	decoder->pos += read;
	*packet = next;
	return read;
}

/* Where the next packet begins is known only when this one's size was looked up, which takes the longest of
 * all. As long as packets come in sizes that the processor can guess, it need not wait: there is a function
 * for each size, so that the next position depends on a branch, and not on what was loaded.
 */
typedef int read_size_t(struct pt_packet_decoder *decoder, struct pt_packet *packet, const uint8_t *pos);

#define READ_SIZE(count)                                                                                     \
	static int read_##count(struct pt_packet_decoder *decoder, struct pt_packet *packet,                 \
	                        const uint8_t *pos)                                                          \
	{                                                                                                    \
		decoder->pos = pos + (count);                                                                \
		pt_packet_fill(packet, &pt_packet_forms[*pos], pt_get64(pos + 1));                           \
		return count;                                                                                \
	}
READ_SIZE(3)
READ_SIZE(5)
READ_SIZE(7)
READ_SIZE(8)
READ_SIZE(9)

static int read_mtc(struct pt_packet_decoder *decoder, struct pt_packet *packet, const uint8_t *pos)
{
	decoder->pos = pos + 2;
	return pt_packet_fill_mtc(packet, pos);
}

/* Of those that have no form, the frequent ones at once: where CYC or long TNT are on, every other packet is
 * one. */
static int read_other(struct pt_packet_decoder *decoder, struct pt_packet *packet, const uint8_t *pos)
{
	if (!pt_packet_is_tnt_64(pos))
		return read_rare(decoder, packet);
	decoder->pos = pos + 8;
	return pt_packet_fill_tnt_64(packet, pos);
}

static int read_cyc(struct pt_packet_decoder *decoder, struct pt_packet *packet, const uint8_t *pos)
{
	if (!pt_packet_is_cyc_2(pos))
		return read_rare(decoder, packet);
	decoder->pos = pos + 2;
	return pt_packet_fill_cyc_2(packet, pos);
}

/* By first byte; pt_pkt_next() itself reads those of one byte. */
#define READER(byte, type, size, first, second, first_bytes, second_bytes)                                   \
	[byte] = (size) == 2         ? read_mtc                                                              \
	         : (size) == 3       ? read_3                                                                \
	         : (size) == 5       ? read_5                                                                \
	         : (size) == 7       ? read_7                                                                \
	         : (size) == 8       ? read_8                                                                \
	         : (size) == 9       ? read_9                                                                \
	         : (type) == ppt_cyc ? read_cyc                                                              \
	                             : read_other,
static read_size_t *const readers[256] = {FIRST_BYTES(READER)};

/* Aligned: in as few lines of the instruction cache as it fits into. */
__attribute__((aligned(64))) int pt_pkt_next(struct pt_packet_decoder *decoder, struct pt_packet *packet,
                                             size_t size)
{
	const struct pt_packet_form *form;
	const uint8_t *pos;

	if (unlikely(!decoder) || unlikely(!packet) || unlikely(size != sizeof(*packet)) ||
	    unlikely(decoder->pos >= decoder->room))
		return read_any(decoder, packet, size);
	pos = decoder->pos;
	form = &pt_packet_forms[*pos];
	if (likely(form->size == 1)) {
		decoder->pos = pos + 1;
		pt_packet_copy_form(packet, form);
		return 1;
	}
	return readers[*pos](decoder, packet, pos);
}
