/* fuzz_packets.c - pt_pkt_*: finding PSBs, reading packets and writing them again.
 *
 * PSBs must be those that a naive search finds. From every start, packets follow each other without a gap;
 * each, written by the encoder, is the same packet again, in as many bytes. */
#include <string.h>

#include <intel-pt.h>

#include "support/check.h"
#include "support/config.h"
#include "support/guarded.h"
#include "support/packet.h"
#include "support/target.h"

enum { psb_size = 16 };

static const struct pt_config *config_of(struct pt_packet_decoder *decoder)
{
	return pt_pkt_get_config(decoder);
}

static uint64_t offset_of(const struct pt_packet_decoder *decoder)
{
	uint64_t offset = UINT64_MAX;

	FUZZ_CHECK(pt_pkt_get_offset(decoder, &offset) == 0, "no offset");
	return offset;
}

/* ---- PSBs, naively ---- */

static int psb_at(const struct pt_config *config, size_t at)
{
	const size_t size = (size_t)(config->end - config->begin);

	for (size_t i = 0; i < psb_size; i++)
		if (at + i >= size || config->begin[at + i] != (i % 2 ? 0x82 : 0x02))
			return 0;
	return 1;
}

static uint64_t next_psb(const struct pt_config *config, size_t from)
{
	const size_t size = (size_t)(config->end - config->begin);

	for (size_t at = from; at < size; at++) {
		if (!psb_at(config, at))
			continue;
		while (psb_at(config, at + 2)) /* of a longer row, the last bytes are the PSB */
			at += 2;
		return at;
	}
	return UINT64_MAX;
}

static uint64_t previous_psb(const struct pt_config *config, size_t from)
{
	for (size_t at = from; at-- > 0;)
		if (at + psb_size <= from && psb_at(config, at))
			return at;
	return UINT64_MAX;
}

static void check_sync(struct pt_packet_decoder *decoder, int status, uint64_t expected)
{
	uint64_t sync = 0;

	if (expected == UINT64_MAX) {
		FUZZ_CHECK(status == -pte_eos, "status %d, but there is no PSB", status);
		return;
	}
	FUZZ_CHECK(status == 0, "status %d, but there is a PSB at %d", status, (int)expected);
	FUZZ_CHECK(offset_of(decoder) == expected, "at %d, not %d", (int)offset_of(decoder), (int)expected);
	FUZZ_CHECK(pt_pkt_get_sync_offset(decoder, &sync) == 0 && sync == expected, "bad sync offset");
}

static void check_forward(const struct pt_config *config)
{
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(config);
	uint64_t psb = next_psb(config, 0);

	for (;; psb = next_psb(config, psb + psb_size)) {
		check_sync(decoder, pt_pkt_sync_forward(decoder), psb);
		if (psb == UINT64_MAX)
			break;
	}
	pt_pkt_free_decoder(decoder);
}

static void check_backward(const struct pt_config *config)
{
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(config);
	uint64_t psb = (uint64_t)(config->end - config->begin);

	for (;;) {
		psb = previous_psb(config, psb);
		check_sync(decoder, pt_pkt_sync_backward(decoder), psb);
		if (psb == UINT64_MAX)
			break;
	}
	pt_pkt_free_decoder(decoder);
}

/* ---- Packets ---- */

/* These have no one form that an encoder could write. */
static int cannot_be_written(enum pt_packet_type type)
{
	return type == ppt_unknown || type == ppt_invalid || type == ppt_trig;
}

/* All of whose bits mean something, in one way only. */
static int has_one_form(enum pt_packet_type type)
{
	switch (type) {
	case ppt_cyc:
	case ppt_mode:
	case ppt_cbr:
	case ppt_pwre:
	case ppt_pwrx:
	case ppt_cfe:
	case ppt_evd:
		return 0;
	default:
		return 1;
	}
}

static void check_rewritten(const struct pt_packet *packet, const uint8_t *original,
                            const struct pt_config *config)
{
	uint8_t bytes[16];
	struct pt_packet again;
	struct pt_packet_decoder *decoder;
	struct pt_encoder *encoder;
	struct pt_config own;
	int size;

	pt_config_init(&own);
	own.begin = bytes;
	own.end = bytes + sizeof(bytes);
	own.errata = config->errata;
	encoder = pt_alloc_encoder(&own);
	size = pt_enc_next(encoder, packet);
	pt_free_encoder(encoder);
	if (cannot_be_written(packet->type)) {
		FUZZ_CHECK(size == -pte_bad_opc, "type %d gives %d", packet->type, size);
		return;
	}
	/* CYC may have had leading zeros. */
	FUZZ_CHECK(packet->type == ppt_cyc ? size > 0 && size <= packet->size : size == packet->size,
	           "type %d of %d bytes is written as %d", packet->type, packet->size, size);
	FUZZ_CHECK(!has_one_form(packet->type) || !memcmp(bytes, original, (size_t)size),
	           "type %d has other bytes", packet->type);
	own.end = bytes + size;
	decoder = pt_pkt_alloc_decoder(&own);
	FUZZ_CHECK(pt_pkt_sync_set(decoder, 0) == 0, "no position");
	FUZZ_CHECK(pt_pkt_next(decoder, &again, sizeof(again)) == size, "type %d cannot be read again",
	           packet->type);
	FUZZ_CHECK(fuzz_packets_equal(packet, &again), "type %d is not the same again", packet->type);
	pt_pkt_free_decoder(decoder);
}

/* A packet as a caller of another version gets it. */
static void check_sizes(struct pt_packet_decoder *decoder, uint64_t offset, const struct pt_packet *packet)
{
	static const uint8_t sizes[] = {0, 1, 5, 8, sizeof(*packet) - 1, sizeof(*packet) + 8, 100};
	const size_t size = sizes[offset % sizeof(sizes)];
	struct guarded result;
	int status;

	FUZZ_CHECK(pt_pkt_sync_set(decoder, offset) == 0, "no way back");
	status = pt_pkt_next(decoder, guarded_begin(&result), size);
	FUZZ_CHECK(status == packet->size, "size %d, now %d", packet->size, status);
	guarded_check(&result, size, sizeof(*packet), 1);
	FUZZ_CHECK(!memcmp(result.bytes, packet, size < 5 ? size : 5), "type and size differ");
}

static int is_error_of_next(int status)
{
	return status == -pte_bad_opc || status == -pte_bad_packet || status == -pte_eos;
}

/* From @offset to the first error. Returns the offset behind it, where the next start is. */
static uint64_t check_packets(struct pt_packet_decoder *decoder, uint64_t offset, int own_answers)
{
	const struct pt_config *config = config_of(decoder);

	FUZZ_CHECK(pt_pkt_sync_set(decoder, offset) == 0, "cannot be set to %d", (int)offset);
	for (;;) {
		struct pt_packet packet;
		int status;

		memset(&packet, 0x77, sizeof(packet));
		status = pt_pkt_next(decoder, &packet, sizeof(packet));
		if (status < 0) {
			FUZZ_CHECK(own_answers || is_error_of_next(status), "status %d", status);
			FUZZ_CHECK(offset_of(decoder) == offset, "moved by an error");
			return offset + 1;
		}
		FUZZ_CHECK(status > 0 && status == packet.size, "size %d, result %d", packet.size, status);
		FUZZ_CHECK(offset_of(decoder) == offset + packet.size, "moved by something else");
		FUZZ_CHECK(offset + packet.size <= (uint64_t)(config->end - config->begin), "beyond the end");
		check_sizes(decoder, offset, &packet);
		check_rewritten(&packet, config->begin + offset, config);
		offset += packet.size;
	}
}

static void check_beyond_end(struct pt_packet_decoder *decoder, uint64_t size)
{
	struct pt_packet packet;

	FUZZ_CHECK(pt_pkt_sync_set(decoder, size + 1) == -pte_eos, "set behind the end");
	FUZZ_CHECK(pt_pkt_sync_set(decoder, UINT64_MAX) == -pte_eos, "set behind the end");
	FUZZ_CHECK(pt_pkt_sync_set(decoder, size) == 0, "cannot be set to the end");
	FUZZ_CHECK(pt_pkt_next(decoder, &packet, sizeof(packet)) == -pte_eos, "a packet behind the end");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, data + size};
	struct fuzz_config fc;
	struct pt_packet_decoder *decoder;
	uint64_t left;

	fuzz_config_init(&fc, &in, 0);
	fuzz_config_trace(&fc, &in, 1);
	decoder = pt_pkt_alloc_decoder(&fc.config);
	FUZZ_CHECK(decoder, "no decoder");
	left = (uint64_t)(fc.config.end - fc.config.begin);
	check_forward(&fc.config);
	check_backward(&fc.config);
	for (uint64_t offset = 0; offset < left;)
		offset = check_packets(decoder, offset, fc.answer >> 4 == 5);
	check_beyond_end(decoder, left);
	pt_pkt_free_decoder(decoder);
	fuzz_config_fini(&fc);
	return 0;
}

size_t fuzz_trace_begin(const uint8_t *data, size_t size)
{
	(void)data;
	return size < fuzz_config_bytes ? size : fuzz_config_bytes;
}

uint64_t fuzz_code_address(const uint8_t *data, size_t size)
{
	(void)data, (void)size;
	return 0x401000;
}
