/* sync.c - see sync.h. */
#include "event/sync.h"

#include "packet/packet_read.h"
#include "packet/psb_search.h"

int pt_evd_start_forward(struct pt_evd *evd, pt_evd_start *start, void *decoder)
{
	const uint8_t *pos = evd->pos;

	if (pos == evd->sync)
		pos += pt_psb_size;
	pos = pt_psb_forward(pos, evd->config.end);
	return pos ? start(decoder, pos) : -pte_eos;
}

int pt_evd_start_backward(struct pt_evd *evd, pt_evd_start *start, void *decoder)
{
	const uint8_t *const from = evd->sync ? evd->pos : evd->config.end;
	const uint8_t *psb = from;
	int status;

	do {
		psb = pt_psb_backward(psb, evd->config.begin);
		if (!psb)
			return -pte_eos;
		status = start(decoder, psb);
	} while (status == -pte_eos || (status >= 0 && evd->pos == from));
	return status;
}

int pt_evd_start_at(struct pt_evd *evd, uint64_t offset, pt_evd_start *start, void *decoder)
{
	const uint8_t *pos = evd->config.begin + offset;
	struct pt_packet packet;
	int status;

	if (offset > (uint64_t)(evd->config.end - evd->config.begin))
		return -pte_eos;
	status = pt_packet_type_at(pos, &evd->config);
	if (status == -pte_eos)
		return status;
	if (status != ppt_psb)
		return -pte_nosync;
	status = pt_packet_read(&packet, pos, &evd->config);
	return status < 0 ? status : start(decoder, pos);
}

int pt_evd_tell(const struct pt_evd *evd, const uint8_t *pos, uint64_t *offset)
{
	if (!evd->sync)
		return -pte_nosync;
	*offset = (uint64_t)(pos - evd->config.begin);
	return 0;
}
