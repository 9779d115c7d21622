/* walk.c - see walk.h. IP compression: Intel SDM vol. 3, "IP Compression". */
#include "dump/walk.h"

#include <sb/trace.h>

#include "dump/packet_fields.h"

/* One span under way. Offsets are from its beginning. */
struct position {
	struct dump_walk *walk;
	const struct dump_span *span;
	struct pt_packet_decoder *decoder;
	struct pt_packet_decoder *scout; /* looks for the next PSB */
	uint64_t offset;
	uint64_t psb; /* the next PSB behind offset, or the span's size */
};

/* ---- State ------------------------------------------------------------------------------------ */

/* Nothing is known any more: bytes are missing, or were left out. */
static int forget(struct position *at)
{
	struct dump_walk *walk = at->walk;

	pt_clock_free(walk->clock);
	walk->clock = pt_clock_alloc(&walk->config);
	walk->has_base = walk->has_ip = walk->in_psb_header = false;
	return walk->clock ? 0 : -pte_nomem;
}

static void update_ip(struct dump_walk *walk, const struct pt_packet_ip *packet)
{
	if (packet->ipc == pt_ipc_suppressed)
		return;
	walk->ip = sb_last_ip(walk->ip, packet);
	walk->has_base |= packet->ipc == pt_ipc_sext_48 || packet->ipc == pt_ipc_full;
	walk->has_ip = walk->has_base;
}

/* Takes what the packet says about IP, time and the header; returns whether it stands in PSB+. */
static bool update(struct dump_walk *walk, const struct pt_packet *packet)
{
	const bool in_psb_header = walk->in_psb_header && packet_in_psb_header(packet->type);

	walk->in_psb_header = in_psb_header;
	switch (packet->type) {
	case ppt_psb:
		walk->ip = 0;
		walk->has_base = walk->in_psb_header = true;
		walk->has_ip = false;
		break;
	case ppt_fup:
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
		update_ip(walk, &packet->payload.ip);
		break;
	case ppt_tnt_8:
	case ppt_tnt_64:
		break;
	default:
		pt_clock_packet(walk->clock, packet);
		break;
	}
	return in_psb_header;
}

/* ---- What comes out --------------------------------------------------------------------------- */

static bool is_wanted(const struct dump_walk *walk, uint64_t offset)
{
	return offset >= walk->from && offset < walk->to;
}

static int give_packet(struct position *at, const struct pt_packet *packet, unsigned int size)
{
	struct dump_walk *walk = at->walk;
	struct dump_packet dump = {.packet = packet,
	                           .offset = at->span->offset + at->offset,
	                           .bytes = at->span->begin + at->offset,
	                           .size = size};

	dump.in_psb_header = update(walk, packet);
	if (!is_wanted(walk, dump.offset)) {
		walk->account.outside += size;
		return 0;
	}
	walk->account.read += size;
	walk->account.packets += 1;
	if (!walk->form->packet || (walk->no_pad && packet->type == ppt_pad))
		return 0;
	dump.has_ip = walk->has_ip;
	dump.ip = walk->ip;
	dump.has_tsc = pt_clock_time(walk->clock, &dump.tsc, NULL, NULL) == 0;
	return walk->form->packet(walk->writer, &dump);
}

/* Leaves out everything up to @end. */
static int skip_to(struct position *at, uint64_t end, const char *reason, bool damage)
{
	struct dump_walk *walk = at->walk;
	const struct dump_skip skip = {.offset = at->span->offset + at->offset,
	                               .size = end - at->offset,
	                               .bytes = at->span->begin + at->offset,
	                               .damage = damage,
	                               .reason = reason};

	at->offset = end;
	if (skip.offset < walk->from && walk->from - skip.offset >= skip.size) {
		walk->account.outside += skip.size;
		return 0;
	}
	walk->account.skipped += skip.size;
	walk->account.places += 1;
	walk->account.damages += damage;
	return walk->form->skip(walk->writer, &skip);
}

/* ---- Moving ----------------------------------------------------------------------------------- */

static const char *reason_of(int status)
{
	switch (pt_errcode(status)) {
	case pte_bad_opc:
		return "unknown packet";
	case pte_eos:
		return "packet cut off by the end of the trace";
	default:
		return "packet with impossible content";
	}
}

/* Finds the first PSB at or behind @offset; the span's size when there is none. */
static uint64_t find_psb(struct position *at, uint64_t offset)
{
	uint64_t psb;

	/* The scout passes over a PSB that it was put on. */
	if (pt_pkt_sync_set(at->scout, offset) < 0 || pt_pkt_sync_forward(at->scout) < 0 ||
	    pt_pkt_get_offset(at->scout, &psb) < 0)
		return at->span->size;
	return psb;
}

static int on_damage(struct position *at, const char *reason)
{
	const int status = skip_to(at, at->psb, reason, true);

	if (status < 0)
		return status;
	return pt_pkt_sync_set(at->decoder, at->offset) < 0 ? -pte_internal : forget(at);
}

static int walk_packets(struct position *at)
{
	struct pt_packet packet;
	int status = 0, size;

	while (status >= 0 && at->offset < at->span->size) {
		if (at->psb <= at->offset) {
			at->psb = find_psb(at, at->offset);
			if (at->walk->progress)
				at->walk->progress(at->walk->progress_context, at->offset);
		}
		size = pt_pkt_next(at->decoder, &packet, sizeof(packet));
		if (size < 0)
			status = on_damage(at, reason_of(size));
		else if ((uint64_t)size > at->psb - at->offset)
			status = on_damage(at, "packet cut off by a PSB");
		else {
			status = give_packet(at, &packet, (unsigned int)size);
			at->offset += (unsigned int)size;
		}
		if (at->span->offset + at->offset >= at->walk->to)
			break;
	}
	return status;
}

/* ---- Where to begin --------------------------------------------------------------------------- */

static bool is_psb(const struct position *at, uint64_t offset)
{
	struct pt_packet packet;

	return pt_pkt_sync_set(at->scout, offset) == 0 &&
	       pt_pkt_next(at->scout, &packet, sizeof(packet)) > 0 && packet.type == ppt_psb;
}

static uint64_t first_psb(struct position *at)
{
	return is_psb(at, 0) ? 0 : find_psb(at, 0);
}

/* The last PSB that ends at or before @from, if any; what is before it need not be read. */
static bool seek(struct position *at, uint64_t from, uint64_t *psb)
{
	if (from > at->span->size)
		from = at->span->size;
	if (pt_pkt_sync_set(at->decoder, from) < 0)
		return false;
	/* A payload may look like the beginning of the PSB behind it. */
	while (pt_pkt_sync_backward(at->decoder) == 0 && pt_pkt_get_offset(at->decoder, psb) == 0) {
		const uint8_t *behind = at->span->begin + *psb + 16;

		if (at->span->size - *psb < 18 || behind[0] != 0x02 || behind[1] != 0x82)
			return true;
	}
	return false;
}

/* Bytes of a span before its first PSB. A recording may begin anywhere; but where no PSB is, nothing is
 * a trace. */
static int skip_to_first_psb(struct position *at)
{
	const uint64_t psb = first_psb(at);

	if (at->walk->began)
		return skip_to(at, psb, "trace is missing here, and up to the next PSB nothing can be read",
		               false);
	if (!psb)
		return 0;
	if (psb == at->span->size)
		return skip_to(at, psb, "no PSB", true);
	return skip_to(at, psb, "before the first PSB", false);
}

/* Moves to where the walk begins. */
static int begin(struct position *at)
{
	struct dump_walk *walk = at->walk;
	const uint64_t from = walk->from > at->span->offset ? walk->from - at->span->offset : 0;
	const bool here = walk->no_sync && !walk->walked;
	int status = 0;

	if (here)
		at->offset = from;
	else if (!from || !seek(at, from, &at->offset))
		at->offset = 0;
	walk->account.outside += at->offset;
	if (at->offset || at->span->fresh || !walk->clock)
		status = forget(at);
	if (status == 0 && !at->offset && at->span->fresh && !here)
		status = skip_to_first_psb(at);
	if (status < 0)
		return status;
	return pt_pkt_sync_set(at->decoder, at->offset) < 0 ? -pte_internal : 0;
}

static int walk_span(struct position *at)
{
	int status = begin(at);

	at->walk->began = at->walk->walked = true;
	if (status == 0)
		status = walk_packets(at);
	if (status == 0)
		at->walk->account.outside += at->span->size - at->offset;
	return status;
}

int dump_walk_span(struct dump_walk *walk, const struct dump_span *span)
{
	struct position at = {.walk = walk, .span = span};
	int status = -pte_nomem;

	if (!span->size || span->offset >= walk->to ||
	    (span->offset < walk->from && walk->from - span->offset >= span->size)) {
		walk->account.outside += span->size;
		walk->began = true;
		dump_walk_fini(walk); /* what was known is no longer true */
		return 0;
	}
	/* A decoder only reads; the field is not const because encoders share the struct. */
	walk->config.begin = (uint8_t *)(uintptr_t)span->begin;
	walk->config.end = walk->config.begin + span->size;
	at.decoder = pt_pkt_alloc_decoder(&walk->config);
	at.scout = pt_pkt_alloc_decoder(&walk->config);
	if (at.decoder && at.scout)
		status = walk_span(&at);
	pt_pkt_free_decoder(at.scout);
	pt_pkt_free_decoder(at.decoder);
	return status;
}

void dump_walk_fini(struct dump_walk *walk)
{
	pt_clock_free(walk->clock);
	walk->clock = NULL;
}
