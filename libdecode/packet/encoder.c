/* The public packet encoder (pt_enc_*): a position in the buffer, and packets written there. */
#include <stdlib.h>

#include "packet/config.h"
#include "packet/packet_write.h"

struct pt_encoder {
	struct pt_config config;
	uint8_t *pos; /* where the next packet goes; in [config.begin, config.end] */
};

struct pt_encoder *pt_alloc_encoder(const struct pt_config *config)
{
	struct pt_encoder *encoder = calloc(1, sizeof(*encoder));

	if (!encoder)
		return NULL;
	if (pt_config_from_user(&encoder->config, config) < 0) {
		free(encoder);
		return NULL;
	}
	encoder->pos = encoder->config.begin;
	return encoder;
}

void pt_free_encoder(struct pt_encoder *encoder)
{
	free(encoder);
}

int pt_enc_sync_set(struct pt_encoder *encoder, uint64_t offset)
{
	if (!encoder)
		return -pte_invalid;
	if (offset > (uint64_t)(encoder->config.end - encoder->config.begin))
		return -pte_eos;
	encoder->pos = encoder->config.begin + offset;
	return 0;
}

int pt_enc_get_offset(const struct pt_encoder *encoder, uint64_t *offset)
{
	if (!encoder || !offset)
		return -pte_invalid;
	*offset = (uint64_t)(encoder->pos - encoder->config.begin);
	return 0;
}

const struct pt_config *pt_enc_get_config(const struct pt_encoder *encoder)
{
	return encoder ? &encoder->config : NULL;
}

int pt_enc_next(struct pt_encoder *encoder, const struct pt_packet *packet)
{
	int size;

	if (!encoder || !packet)
		return -pte_invalid;
	size = pt_packet_write(encoder->pos, packet, &encoder->config);
	if (size > 0)
		encoder->pos += size;
	return size;
}
