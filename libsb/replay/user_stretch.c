/* user_stretch.c - see user_stretch.h. */
#include "replay/user_stretch.h"

#include <intel-pt-time.h>
#include <sb/clock.h>
#include <sb/trace.h>

#include "replay/segment.h"
#include "replay/sideband_observer.h"
#include "system/system.h"

/* What packets say, one after the other. */
struct reader {
	const struct sb_clock *clock;
	uint64_t tsc_base;
	struct pt_clock *time;
	const struct user_stretch_sink *sink;

	/* Without MTC packets, time stands still up to the next TSC packet. */
	int is_coarse;
	const struct pt_config *config; /* of the segment */
	uint64_t offset;                /* of the packet */
	uint64_t tsc_offset, tsc;       /* the next TSC packet; before @offset: to be looked for */

	uint64_t last_ip;
	uint64_t cr3, previous; /* 0: not known */
	uint64_t since;         /* of cr3; 0: not known */
	int is_open;            /* user space is being executed */
	int has_time;           /* when it began, at stretch.from */
	struct user_stretch stretch;
};

/* The CR3 that @packet leaves in force. */
static uint64_t cr3_behind(uint64_t cr3, const struct pt_packet *packet)
{
	switch (packet->type) {
	case ppt_pip:
		return packet->payload.pip.nr ? 0 : CR3_PAGE(packet->payload.pip.cr3);
	case ppt_tip_pgd:
	case ppt_ovf:
		return 0;
	default:
		return cr3;
	}
}

static int time_of(const struct reader *reader, uint64_t *ns)
{
	uint64_t tsc;

	if (pt_clock_time(reader->time, &tsc, NULL, NULL) < 0)
		return 0;
	*ns = sb_clock_tsc_to_ns(reader->clock, tsc | reader->tsc_base);
	return 1;
}

/* Looks for the next TSC packet of the segment. */
static void find_next_tsc(struct reader *reader)
{
	struct pt_packet_decoder *packets = pt_pkt_alloc_decoder(reader->config);
	struct pt_packet packet = {.type = ppt_pad};
	int status = packets ? pt_pkt_sync_set(packets, reader->offset) : -pte_nomem;

	reader->tsc_offset = reader->tsc = UINT64_MAX;
	while (status >= 0 && packet.type != ppt_tsc) {
		pt_pkt_get_offset(packets, &reader->tsc_offset);
		status = pt_pkt_next(packets, &packet, sizeof(packet));
	}
	if (status >= 0)
		reader->tsc = packet.payload.tsc.tsc;
	else
		reader->tsc_offset = UINT64_MAX;
	pt_pkt_free_decoder(packets);
}

/* As time_of(); what it is at most. */
static int latest_time_of(struct reader *reader, uint64_t *ns)
{
	if (!reader->is_coarse)
		return time_of(reader, ns);
	if (reader->offset > reader->tsc_offset || !reader->tsc)
		find_next_tsc(reader);
	if (reader->tsc == UINT64_MAX)
		return 0;
	*ns = sb_clock_tsc_to_ns(reader->clock, reader->tsc | reader->tsc_base);
	return 1;
}

static int close_stretch(struct reader *reader)
{
	struct user_stretch *stretch = &reader->stretch;

	if (!reader->is_open)
		return 0;
	reader->is_open = 0;
	stretch->cr3 = reader->cr3;
	stretch->previous = reader->previous;
	if (!reader->cr3 || !reader->has_time || !latest_time_of(reader, &stretch->to))
		return 0;
	return reader->sink->stretch(reader->sink->context, stretch);
}

static void add_ip(struct reader *reader, uint64_t ip)
{
	struct user_stretch *stretch = &reader->stretch;

	if (!reader->is_open) {
		reader->is_open = 1;
		reader->has_time = time_of(reader, &stretch->from);
		stretch->nips = 0;
	}
	if (stretch->nips < LOOK_AHEAD_MAX)
		stretch->nips = look_ahead_add(stretch->ip, stretch->nips, ip);
}

static int take_ip(struct reader *reader, const struct pt_packet *packet)
{
	if (packet->payload.ip.ipc == pt_ipc_suppressed)
		return packet->type == ppt_tip_pgd ? close_stretch(reader) : 0;
	reader->last_ip = sb_last_ip(reader->last_ip, &packet->payload.ip);
	if (packet->type == ppt_tip_pgd || reader->last_ip >> 63)
		return close_stretch(reader);
	add_ip(reader, reader->last_ip);
	return 0;
}

/* Other page tables are in force; 0: nobody knows which. */
static int change_cr3(struct reader *reader, uint64_t cr3)
{
	uint64_t now = 0, latest = 0;
	int status = close_stretch(reader);

	if (!time_of(reader, &now))
		now = 0;
	if (status == 0 && reader->cr3 && reader->since && latest_time_of(reader, &latest))
		status = reader->sink->paging(reader->sink->context, reader->cr3, reader->since, latest);
	reader->previous = cr3 ? reader->cr3 : 0;
	reader->cr3 = cr3;
	reader->since = now;
	return status;
}

static int take_packet(struct reader *reader, const struct pt_packet *packet)
{
	int status = 0;

	pt_clock_packet(reader->time, packet);
	switch (packet->type) {
	case ppt_psb:
		reader->last_ip = 0;
		return 0;
	case ppt_tip:
	case ppt_tip_pge:
	case ppt_tip_pgd:
	case ppt_fup:
		status = take_ip(reader, packet);
		break;
	case ppt_pip:
	case ppt_ovf:
		break;
	default:
		return 0;
	}
	/* Behind a PSB stands what is known already. */
	if (status == 0 && cr3_behind(reader->cr3, packet) != reader->cr3)
		status = change_cr3(reader, cr3_behind(reader->cr3, packet));
	return status;
}

/* Up to where the next segment begins. */
static int read_segment(struct reader *reader, const struct pt_config *given,
                        const struct sb_segment *segment)
{
	struct pt_config config = *given;
	struct pt_packet_decoder *decoder;
	int status = segment->fresh ? change_cr3(reader, 0) : 0, bits;

	config.begin = (uint8_t *)(uintptr_t)segment->begin;
	config.end = (uint8_t *)(uintptr_t)segment->end;
	decoder = pt_pkt_alloc_decoder(&config);
	if (!decoder)
		return -sbe_nomem;
	reader->config = &config;
	reader->tsc = 0;
	bits = pt_pkt_sync_forward(decoder);
	while (status == 0 && bits >= 0) {
		struct pt_packet packet;

		if (pt_pkt_get_offset(decoder, &reader->offset) < 0 || reader->offset >= segment->stop)
			break;
		bits = pt_pkt_next(decoder, &packet, sizeof(packet));
		if (bits >= 0) {
			status = take_packet(reader, &packet);
		} else if (bits != -pte_eos) {
			status = change_cr3(reader, 0);
			bits = pt_pkt_sync_forward(decoder);
		}
	}
	pt_pkt_free_decoder(decoder);
	reader->tsc = reader->tsc_offset = UINT64_MAX;
	return status;
}

static int read_stream(struct reader *reader, const struct sb_system *system, int32_t cpu,
                       const struct pt_config *config, struct segment_cutter *cutter)
{
	struct sb_segment segment;
	int status;

	while ((status = segment_next(cutter, &segment)) > 0) {
		status = read_segment(reader, config, &segment);
		if (status)
			return status;
		sb_perfdata_release(cutter->perfdata, segment.begin, segment.begin + segment.stop);
		system_schedule_release(system, cpu);
	}
	return status < 0 ? status : change_cr3(reader, 0);
}

int user_stretches_walk(const struct sb_perfdata *perfdata, const struct sb_system *system,
                        const struct sb_aux_stream *stream, const struct user_stretch_sink *sink)
{
	const struct sb_perfdata_info *info = sb_perfdata_info(perfdata);
	struct reader reader = {.clock = &info->clock,
	                        .sink = sink,
	                        .is_coarse = !info->pt_mtc,
	                        .tsc = UINT64_MAX,
	                        .tsc_offset = UINT64_MAX};
	uint8_t nothing[1] = {0}; /* the clock reads none, but wants a buffer */
	struct segment_cutter cutter;
	struct pt_config config;
	size_t nflags, nscheds;
	const struct sb_aux_flag *flag = sb_system_stream_flags(system, stream, &nflags);
	const struct sb_sched *sched = sb_system_schedule(system, stream->cpu, &nscheds);
	int status;

	reader.tsc_base = sideband_upper_bits(&info->clock, sched, nscheds);
	sb_trace_config(&config, info);
	config.begin = nothing;
	config.end = nothing + sizeof(nothing);
	reader.time = pt_clock_alloc(&config);
	if (!reader.time)
		return -sbe_nomem;
	status = segment_cutter_init(&cutter, stream, flag, nflags);
	if (status == 0) {
		cutter.perfdata = perfdata;
		status = read_stream(&reader, system, stream->cpu, &config, &cutter);
		segment_cutter_fini(&cutter);
	}
	pt_clock_free(reader.time);
	return status;
}

/* To where @last was, if that is not far before @offset, or to the PSB before. */
static int go_before(struct pt_packet_decoder *decoder, uint64_t offset, struct cr3_place *last)
{
	enum { FAR = 64 * 1024 };
	int status;

	if (last->offset <= offset && offset - last->offset < FAR)
		return pt_pkt_sync_set(decoder, last->offset);
	last->cr3 = 0;
	status = pt_pkt_sync_set(decoder, offset);
	return status < 0 ? status : pt_pkt_sync_backward(decoder);
}

uint64_t cr3_before(struct pt_packet_decoder *decoder, uint64_t offset, struct cr3_place *last)
{
	int status = decoder ? go_before(decoder, offset, last) : -pte_nomem;
	uint64_t cr3 = last->cr3, at = offset;

	while (status >= 0 && pt_pkt_get_offset(decoder, &at) >= 0 && at < offset) {
		struct pt_packet packet;

		status = pt_pkt_next(decoder, &packet, sizeof(packet));
		if (status >= 0)
			cr3 = packet.type == ppt_psb ? 0 : cr3_behind(cr3, &packet);
	}
	*last = (struct cr3_place){status < 0 ? UINT64_MAX : at, cr3};
	return status < 0 && status != -pte_eos ? 0 : cr3;
}

int is_entered_within(struct pt_packet_decoder *decoder, uint64_t from, uint64_t to)
{
	struct pt_packet packet = {.type = ppt_invalid};
	uint64_t at;
	int status = decoder ? pt_pkt_sync_set(decoder, from) : -pte_nomem;

	while (status >= 0 && packet.type != ppt_tip_pge && packet.type != ppt_ovf &&
	       pt_pkt_get_offset(decoder, &at) >= 0 && at < to)
		status = pt_pkt_next(decoder, &packet, sizeof(packet));
	return status < 0 || packet.type == ppt_tip_pge || packet.type == ppt_ovf;
}
