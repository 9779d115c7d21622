/* fuzz_encode.c - any struct pt_packet, also one that no decoder made, into a buffer of any size: it is
 * refused and nothing is written, or what was written reads as a packet that is written the same way again.
 */
#include <string.h>

#include <intel-pt.h>

#include "support/check.h"
#include "support/input.h"
#include "support/packet.h"
#include "support/target.h"

enum { room = 24 };

static struct pt_config config_for(uint8_t *bytes, size_t size)
{
	struct pt_config config;

	pt_config_init(&config);
	config.begin = bytes;
	config.end = bytes + size;
	return config;
}

static int encode(uint8_t *bytes, size_t size, const struct pt_packet *packet)
{
	struct pt_config config = config_for(bytes, size);
	struct pt_encoder *encoder = pt_alloc_encoder(&config);
	uint64_t offset = 0;
	int status;

	FUZZ_CHECK(encoder, "no encoder");
	status = pt_enc_next(encoder, packet);
	FUZZ_CHECK(pt_enc_get_offset(encoder, &offset) == 0, "no offset");
	FUZZ_CHECK(offset == (uint64_t)(status > 0 ? status : 0), "offset %d, size %d", (int)offset, status);
	pt_free_encoder(encoder);
	return status;
}

static void decode(struct pt_packet *packet, uint8_t *bytes, size_t size)
{
	struct pt_config config = config_for(bytes, size);
	struct pt_packet_decoder *decoder = pt_pkt_alloc_decoder(&config);
	int status;

	FUZZ_CHECK(decoder, "no decoder");
	FUZZ_CHECK(pt_pkt_sync_set(decoder, 0) == 0, "no position");
	status = pt_pkt_next(decoder, packet, sizeof(*packet));
	FUZZ_CHECK(status == (int)size, "%d bytes written, read as %d", (int)size, status);
	pt_pkt_free_decoder(decoder);
}

static void check_refused(const uint8_t *bytes, int status)
{
	FUZZ_CHECK(status == -pte_bad_opc || status == -pte_bad_packet || status == -pte_eos, "status %d",
	           status);
	for (int i = 0; i < room; i++)
		FUZZ_CHECK(bytes[i] == 0xee, "refused, but written to");
}

static void check_written(uint8_t *bytes, int status, const struct pt_packet *packet)
{
	uint8_t again[room];
	struct pt_packet read;

	memset(&read, 0xff, sizeof(read));
	decode(&read, bytes, (size_t)status);
	FUZZ_CHECK(read.type == packet->type, "type %d, read as %d", packet->type, read.type);
	FUZZ_CHECK(read.size == status, "size %d, not %d", read.size, status);
	FUZZ_CHECK(encode(again, sizeof(again), &read) == status, "not as long again");
	FUZZ_CHECK(!memcmp(again, bytes, (size_t)status), "not the same again");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, data + size};

	while (in.pos < in.end) {
		struct pt_packet packet;
		uint8_t bytes[room], *raw = (uint8_t *)&packet.payload;
		size_t left;
		int status;

		memset(bytes, 0xee, sizeof(bytes));
		memset(&packet, 0, sizeof(packet));
		packet.type = (enum pt_packet_type)(fuzz_u8(&in) & 0x3f);
		packet.size = fuzz_u8(&in);
		left = fuzz_u8(&in) & 0x1f;
		for (size_t i = 0; i < sizeof(packet.payload); i++)
			raw[i] = fuzz_u8(&in);
		/* Enumerations are small more often than by chance. */
		if (left & 1)
			memset(raw + 1, 0, 3);
		status = encode(bytes, left > room ? room : left, &packet);
		if (status > 0)
			check_written(bytes, status, &packet);
		else
			check_refused(bytes, status);
	}
	return 0;
}
