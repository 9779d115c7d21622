/* query.c - pt_qry_*: questions about the next branch, for those who follow the code themselves.
 *
 * Behind each answer, the reader goes on to the next packet that needs a question: what is in between
 * (padding, timing, a PSB+ that brings nothing, a FUP that begins an asynchronous branch) is read at
 * once. The status bits of an answer tell what kind of packet that is, before it is read.
 */
#include <stdlib.h>

#include "event/event_fetch.h"
#include "event/event_packets.h"
#include "event/sync.h"
#include "packet/config.h"
#include "packet/packet_read.h"

struct pt_query_decoder {
	struct pt_evd evd;
	const uint8_t *sync; /* where it was synchronised: the reader goes on to later PSBs */
	uint64_t *ip;        /* while it is being synchronised: the caller's */
	struct pt_time time; /* at the packet that answered the last question */
};

/* Which question the packet at the reader's position belongs to. */
enum question {
	ask_nothing, /* to be read at once */
	ask_cond,
	ask_indirect,
	ask_event
};

struct pt_query_decoder *pt_qry_alloc_decoder(const struct pt_config *user)
{
	struct pt_query_decoder *decoder;
	struct pt_config config;

	if (pt_config_from_user(&config, user) < 0)
		return NULL;
	decoder = calloc(1, sizeof(*decoder));
	if (!decoder)
		return NULL;
	pt_evd_init(&decoder->evd, &config,
	            pt_evd_flags(config.flags.variant.query.keep_tcal_on_ovf,
	                         config.flags.variant.query.enable_iflags_events));
	pt_time_init(&decoder->time);
	return decoder;
}

void pt_qry_free_decoder(struct pt_query_decoder *decoder)
{
	free(decoder);
}

/* The question for the packet ahead; negative: there is no packet. */
static int question(struct pt_evd *evd)
{
	int type;

	if (evd->queue_count)
		return pt_evd_event(evd)->type == ptev_tip ? ask_indirect : ask_event;
	type = pt_packet_type_at(evd->pos, &evd->config);
	switch (type) {
	case ppt_tnt_8:
	case ppt_tnt_64:
		return ask_cond;
	case ppt_tip:
		return evd->tip_bound.count ? ask_event : ask_indirect;
	case ppt_fup:
		return evd->fup_bound.count ? ask_event : ask_nothing;
	case ppt_invalid:
	case ppt_unknown:
	case ppt_pad:
	case ppt_psb:
	case ppt_psbend:
	case ppt_tsc:
	case ppt_tma:
	case ppt_mtc:
	case ppt_cyc:
	case ppt_evd:
		return ask_nothing;
	default:
		return type < 0 ? type : ask_event;
	}
}

/* That tracing is enabled at a PSB+ is no event here: it is told by the address that synchronising gives. */
static void drop_enabled_update(struct pt_evd *evd)
{
	const struct pt_event *ev = pt_evd_event(evd);

	if (ev && ev->type == ptev_enabled && ev->status_update)
		pt_evd_pop(evd);
}

/* What changes at a target comes before the branch that goes there. */
static void move_tip_back(struct pt_evd *evd)
{
	const struct pt_event tip = *pt_evd_event(evd);

	if (tip.type != ptev_tip)
		return;
	pt_evd_pop(evd);
	pt_evd_push_copy(evd, &tip);
}

static int read_packet(struct pt_evd *evd)
{
	const int is_psb = pt_packet_type_at(evd->pos, &evd->config) == ppt_psb;
	int status = pt_evd_read_packet(evd);

	if (is_psb && status == -pte_eos)
		evd->pos = evd->config.end;
	if (status < 0)
		return status;
	drop_enabled_update(evd);
	if (evd->queue_count)
		move_tip_back(evd);
	return 0;
}

/* Goes on to the next packet that needs a question, and says which. */
static int read_ahead(struct pt_evd *evd)
{
	for (;;) {
		int next, status;

		if (!evd->queue_count)
			pt_evd_pass_timing(evd);
		next = question(evd);
		if (next != ask_nothing)
			return next;
		status = read_packet(evd);
		if (status < 0)
			return status;
	}
}

static int status_bits(struct pt_evd *evd)
{
	int next;

	if (evd->tnt_count)
		return 0;
	next = question(evd);
	if (next == -pte_eos)
		return pts_eos;
	return next == ask_event ? pts_event_pending : 0;
}

/* The last packet answered a question. Status bits, or the error that comes next; the end of the trace is
 * none. */
static int answered(struct pt_query_decoder *decoder)
{
	int next;

	decoder->time = decoder->evd.time;
	next = read_ahead(&decoder->evd);
	return next < 0 && next != -pte_eos ? next : status_bits(&decoder->evd);
}

static int is_ready(const struct pt_query_decoder *decoder)
{
	return decoder->sync ? 0 : -pte_nosync;
}

/* The address at a PSB: that of its FUP, or of the one that was read ahead. */
static int give_ip(const struct pt_query_decoder *decoder)
{
	const struct pt_last_ip *last = &decoder->evd.last;
	const int known = last->valid && !last->suppressed;

	if (decoder->ip)
		*decoder->ip = known ? last->ip : 0;
	return known;
}

static int start(void *context, const uint8_t *psb)
{
	struct pt_query_decoder *decoder = context;
	int known, status = pt_evd_sync(&decoder->evd, psb);

	decoder->evd.sync = psb;
	decoder->sync = psb;
	pt_time_init(&decoder->time);
	if (status < 0)
		return status;
	drop_enabled_update(&decoder->evd);
	known = give_ip(decoder);
	status = read_ahead(&decoder->evd);
	if (status < 0)
		return status;
	if (!known)
		known = give_ip(decoder);
	return status_bits(&decoder->evd) | (known ? 0 : pts_ip_suppressed);
}

static int begin_start(struct pt_query_decoder *decoder, uint64_t *ip)
{
	if (!decoder)
		return -pte_invalid;
	decoder->ip = ip;
	return 0;
}

int pt_qry_sync_forward(struct pt_query_decoder *decoder, uint64_t *ip)
{
	int status = begin_start(decoder, ip);

	return status < 0 ? status : pt_evd_start_forward(&decoder->evd, start, decoder);
}

int pt_qry_sync_backward(struct pt_query_decoder *decoder, uint64_t *ip)
{
	int status = begin_start(decoder, ip);

	return status < 0 ? status : pt_evd_start_backward(&decoder->evd, start, decoder);
}

int pt_qry_sync_set(struct pt_query_decoder *decoder, uint64_t *ip, uint64_t offset)
{
	int status = begin_start(decoder, ip);

	return status < 0 ? status : pt_evd_start_at(&decoder->evd, offset, start, decoder);
}

int pt_qry_get_offset(const struct pt_query_decoder *decoder, uint64_t *offset)
{
	if (!decoder || !offset)
		return -pte_invalid;
	return pt_evd_tell(&decoder->evd, pt_evd_place(&decoder->evd), offset);
}

int pt_qry_get_sync_offset(const struct pt_query_decoder *decoder, uint64_t *offset)
{
	if (!decoder || !offset)
		return -pte_invalid;
	return pt_evd_tell(&decoder->evd, decoder->sync, offset);
}

const struct pt_config *pt_qry_get_config(const struct pt_query_decoder *decoder)
{
	return decoder ? &decoder->evd.config : NULL;
}

/* Reads the next TNT. */
static int fetch_tnt(struct pt_query_decoder *decoder)
{
	int status = read_ahead(&decoder->evd);

	if (status < 0)
		return status;
	if (status != ask_cond)
		return -pte_bad_query;
	status = read_packet(&decoder->evd);
	return status < 0 ? status : answered(decoder);
}

int pt_qry_cond_branch(struct pt_query_decoder *decoder, int *taken)
{
	struct pt_evd *evd;
	int status;

	if (!decoder || !taken)
		return -pte_invalid;
	status = is_ready(decoder);
	if (status < 0)
		return status;
	evd = &decoder->evd;
	if (!evd->tnt_count) {
		status = fetch_tnt(decoder);
		if (status < 0)
			return status;
	}
	evd->tnt_count -= 1;
	*taken = (int)(evd->tnt >> evd->tnt_count & 1);
	return status_bits(evd);
}

/* Reads up to and with the next TIP; it may be deferred behind one TNT, whose bits are kept. */
static int fetch_tip(struct pt_evd *evd)
{
	int status = read_ahead(evd);

	if (status == ask_cond && !evd->tnt_count) {
		status = read_packet(evd);
		if (status >= 0)
			status = read_ahead(evd);
	}
	if (status < 0)
		return status;
	if (status != ask_indirect)
		return -pte_bad_query;
	return evd->queue_count ? 0 : read_packet(evd);
}

int pt_qry_indirect_branch(struct pt_query_decoder *decoder, uint64_t *ip)
{
	const struct pt_event *tip;
	int status, suppressed;

	if (!decoder || !ip)
		return -pte_invalid;
	status = is_ready(decoder);
	if (status < 0)
		return status;
	status = fetch_tip(&decoder->evd);
	if (status < 0)
		return status;
	tip = pt_evd_event(&decoder->evd);
	suppressed = tip->ip_suppressed;
	if (!suppressed)
		*ip = tip->variant.tip.ip;
	pt_evd_pop(&decoder->evd);
	status = answered(decoder);
	return status < 0 || !suppressed ? status : status | pts_ip_suppressed;
}

/* Reads packets until they make an event. */
static int fetch_event(struct pt_evd *evd)
{
	for (;;) {
		int status = read_ahead(evd);

		if (status < 0)
			return status;
		if (status != ask_event)
			return -pte_bad_query;
		if (evd->queue_count)
			return 0;
		status = read_packet(evd);
		if (status < 0)
			return status;
	}
}

int pt_qry_event(struct pt_query_decoder *decoder, struct pt_event *event, size_t size)
{
	struct pt_evd *evd;
	int status;

	if (!decoder || !event || size < offsetof(struct pt_event, variant))
		return -pte_invalid;
	status = is_ready(decoder);
	if (status < 0)
		return status;
	evd = &decoder->evd;
	if (evd->tnt_count)
		return -pte_bad_query;
	status = fetch_event(evd);
	if (status == -pte_bad_query)
		evd->no_tnt = 0; /* what was announced is given up */
	if (status < 0)
		return status;
	pt_copy_to_user(event, size, pt_evd_event(evd), sizeof(*event));
	pt_evd_pop(evd);
	drop_enabled_update(evd);
	return answered(decoder);
}

int pt_qry_time(struct pt_query_decoder *decoder, uint64_t *time, uint32_t *lost_mtc, uint32_t *lost_cyc)
{
	if (!decoder || !time)
		return -pte_invalid;
	return pt_time_query(&decoder->time, time, lost_mtc, lost_cyc);
}

int pt_qry_core_bus_ratio(struct pt_query_decoder *decoder, uint32_t *cbr)
{
	if (!decoder || !cbr)
		return -pte_invalid;
	if (!decoder->time.have_cbr)
		return -pte_no_cbr;
	*cbr = decoder->time.cbr;
	return 0;
}
