/* event_face.c - pt_evt_*: the reader's units handed out as events, TNT and TIP among them. */
#include <stdlib.h>

#include "event/event_fetch.h"
#include "event/event_packets.h"
#include "event/sync.h"
#include "packet/config.h"

struct pt_event_decoder {
	struct pt_evd evd;
	const uint8_t *sync; /* where it was synchronised: the reader goes on to later PSBs */
};

struct pt_event_decoder *pt_evt_alloc_decoder(const struct pt_config *user)
{
	struct pt_event_decoder *decoder;
	struct pt_config config;

	if (pt_config_from_user(&config, user) < 0)
		return NULL;
	decoder = calloc(1, sizeof(*decoder));
	if (decoder)
		pt_evd_init(&decoder->evd, &config,
		            pt_evd_flags(config.flags.variant.event.keep_tcal_on_ovf,
		                         config.flags.variant.event.enable_iflags_events));
	return decoder;
}

void pt_evt_free_decoder(struct pt_event_decoder *decoder)
{
	free(decoder);
}

static int start(void *context, const uint8_t *psb)
{
	struct pt_event_decoder *decoder = context;
	int status = pt_evd_sync(&decoder->evd, psb);

	decoder->evd.sync = psb;
	decoder->sync = psb;
	return status;
}

int pt_evt_sync_forward(struct pt_event_decoder *decoder)
{
	return decoder ? pt_evd_start_forward(&decoder->evd, start, decoder) : -pte_invalid;
}

int pt_evt_sync_backward(struct pt_event_decoder *decoder)
{
	return decoder ? pt_evd_start_backward(&decoder->evd, start, decoder) : -pte_invalid;
}

int pt_evt_sync_set(struct pt_event_decoder *decoder, uint64_t offset)
{
	return decoder ? pt_evd_start_at(&decoder->evd, offset, start, decoder) : -pte_invalid;
}

int pt_evt_get_offset(const struct pt_event_decoder *decoder, uint64_t *offset)
{
	if (!decoder || !offset)
		return -pte_invalid;
	return pt_evd_tell(&decoder->evd, decoder->evd.pos, offset);
}

int pt_evt_get_sync_offset(const struct pt_event_decoder *decoder, uint64_t *offset)
{
	if (!decoder || !offset)
		return -pte_invalid;
	return pt_evd_tell(&decoder->evd, decoder->sync, offset);
}

const struct pt_config *pt_evt_get_config(const struct pt_event_decoder *decoder)
{
	return decoder ? &decoder->evd.config : NULL;
}

static void take_tnt(struct pt_evd *evd, struct pt_event *ev)
{
	pt_evd_new_event(evd, ev, ptev_tnt);
	ev->variant.tnt.bits = evd->tnt;
	ev->variant.tnt.size = (uint8_t)evd->tnt_count;
	evd->tnt_count = 0;
}

static void take_tip(const struct pt_evd *evd, struct pt_event *ev)
{
	pt_evd_new_event(evd, ev, ptev_tip);
	ev->ip_suppressed = evd->tip_suppressed != 0;
	ev->variant.tip.ip = evd->tip_ip;
}

static void take_event(struct pt_evd *evd, struct pt_event *ev, int unit)
{
	switch (unit) {
	case pt_unit_tnt:
		take_tnt(evd, ev);
		return;
	case pt_unit_tip:
		take_tip(evd, ev);
		return;
	default:
		*ev = *pt_evd_event(evd);
		pt_evd_pop(evd);
	}
}

static int status_bits(const struct pt_evd *evd, const struct pt_event *last)
{
	int bits = last->ip_suppressed ? pts_ip_suppressed : 0;

	if (evd->queue_count)
		return bits | pts_event_pending;
	return evd->pos == evd->config.end ? bits | pts_eos : bits;
}

int pt_evt_next(struct pt_event_decoder *decoder, struct pt_event *event, size_t size)
{
	struct pt_event ev;
	int unit;

	if (!decoder || !event || size < offsetof(struct pt_event, variant))
		return -pte_invalid;
	if (!decoder->sync)
		return -pte_nosync;
	unit = pt_evd_fetch_fast(&decoder->evd);
	if (unit < 0)
		return unit;
	if (size == sizeof(*event)) {
		take_event(&decoder->evd, event, unit);
		return status_bits(&decoder->evd, event);
	}
	take_event(&decoder->evd, &ev, unit);
	pt_copy_to_user(event, size, &ev, sizeof(ev));
	return status_bits(&decoder->evd, &ev);
}
