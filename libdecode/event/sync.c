/* sync.c - see sync.h. */
#include "event/sync.h"

#include "packet/packet_read.h"
#include "packet/psb_search.h"

static int start_at(struct pt_evd *evd, const uint8_t *psb, pt_evd_start *start, void *decoder)
{
	const int status = start(decoder, psb);

	evd->started = psb;
	evd->started_to = evd->pos;
	return status;
}

int pt_evd_start_forward(struct pt_evd *evd, pt_evd_start *start, void *decoder)
{
	const uint8_t *pos = evd->pos;

	if (pos == evd->sync)
		pos += pt_psb_size;
	pos = pt_psb_forward(pos, evd->config.end);
	return pos ? start_at(evd, pos, start, decoder) : -pte_eos;
}

/* Where nothing was read since it was synchronised, the way back begins at that PSB: its PSB+ cannot be read,
 * or may reach beyond a later one. */
static const uint8_t *way_back(const struct pt_evd *evd)
{
	if (!evd->sync)
		return evd->config.end;
	return evd->pos == evd->started_to ? evd->started : evd->pos;
}

int pt_evd_start_backward(struct pt_evd *evd, pt_evd_start *start, void *decoder)
{
	const uint8_t *psb = way_back(evd);
	int status;

	do {
		psb = pt_psb_backward(psb, evd->config.begin);
		if (!psb)
			return -pte_eos;
		status = start_at(evd, psb, start, decoder);
	} while (status == -pte_eos);
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
	return status < 0 ? status : start_at(evd, pos, start, decoder);
}

int pt_evd_tell(const struct pt_evd *evd, const uint8_t *pos, uint64_t *offset)
{
	if (!evd->sync)
		return -pte_nosync;
	*offset = (uint64_t)(pos - evd->config.begin);
	return 0;
}
