/* sync.c - see sync.h. */
#include "event/sync.h"

#include "packet/packet_read.h"
#include "packet/psb_search.h"

static int start_at(struct pt_evd *evd, const uint8_t *psb, pt_evd_start *start, void *decoder)
{
	const int status = start(decoder, psb);

	evd->started = psb;
	evd->started_to = pt_evd_place(evd);
	return status;
}

int pt_evd_start_forward(struct pt_evd *evd, pt_evd_start *start, void *decoder)
{
	const uint8_t *pos = evd->pos;

	if (pos == evd->sync)
		pos += 2; /* in a longer row of PSB's pattern, another one may begin within it */
	pos = pt_psb_forward(pos, evd->config.end);
	return pos ? start_at(evd, pos, start, decoder) : -pte_eos;
}

/* Whether who starts at @psb reads on to the PSB at @next. */
static int reads_on(struct pt_evd *evd, const uint8_t *psb, const uint8_t *next, pt_evd_start *start,
                    void *decoder)
{
	uint8_t *const end = evd->config.end;
	int status;

	evd->config.end = (uint8_t *)(uintptr_t)next;
	status = start_at(evd, psb, start, decoder);
	evd->config.end = end;
	return (status >= 0 || status == -pte_eos) && pt_evd_place(evd) == next;
}

/* Where nothing was read since it was synchronised, the way back begins at that PSB: its PSB+ cannot be read,
 * or may reach beyond a later one. Else a PSB that leads to the present place is on the way already; and so
 * is one that leads to it: of a long row, each is read once. */
int pt_evd_start_backward(struct pt_evd *evd, pt_evd_start *start, void *decoder)
{
	const uint8_t *const from = evd->sync ? pt_evd_place(evd) : evd->config.end;
	const int fresh = evd->sync && from == evd->started_to;
	const uint8_t *psb = fresh ? evd->started : from, *passed = NULL;

	while ((psb = pt_psb_backward(psb, evd->config.begin))) {
		if (!passed || !reads_on(evd, psb, passed, start, decoder)) {
			const int status = start_at(evd, psb, start, decoder);

			if (status != -pte_eos && (fresh || status < 0 || pt_evd_place(evd) != from))
				return status;
		}
		if (passed || evd->sync != psb)
			passed = psb;
	}
	if (passed)
		start_at(evd, passed, start, decoder);
	return -pte_eos;
}

int pt_evd_start_at(struct pt_evd *evd, uint64_t offset, pt_evd_start *start, void *decoder)
{
	const uint64_t size = (uint64_t)(evd->config.end - evd->config.begin);
	const uint8_t *pos;
	struct pt_packet packet;
	int status;

	if (size < 2 || offset > size - 2) /* PSB's opcode has two bytes */
		return -pte_eos;
	pos = evd->config.begin + offset;
	status = pt_packet_type_at(pos, &evd->config);
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
