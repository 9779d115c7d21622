/* ip_scan.c - see ip_scan.h. */
#include "replay/ip_scan.h"

#include <intel-pt-time.h>
#include <sb/error.h>
#include <sb/trace.h>

#include "replay/late_time.h"
#include "replay/sideband_observer.h"
#include "system/system.h"

enum { WAITING_MAX = 1024 }; /* addresses between two times */

struct scanner {
	const struct sb_clock *clock;
	const struct ip_sink *sink;
	uint64_t tsc_base;
	struct pt_clock *time;
	struct stamp stamp;
	int is_stamped; /* tracing was turned on right behind one, and nobody else came since */
	uint64_t since; /* ns; 0: not known */
	struct ip_seen waiting[WAITING_MAX];
	size_t nwaiting;
	uint64_t fup, stopped; /* the last packet was one; where an interrupt turned tracing off last */
	int is_full;           /* some were not kept, or not seen */
	int status;
};

static void tell(struct scanner *scanner, const struct ip_seen *seen)
{
	if (scanner->status == 0)
		scanner->status = scanner->sink->seen(scanner->sink->context, seen);
}

/* It is @now: what came since the time before came in between. */
static void pass_time(struct scanner *scanner, uint64_t now)
{
	for (size_t i = 0; i < scanner->nwaiting; ++i) {
		struct ip_seen seen = scanner->waiting[i];

		seen.from = scanner->since;
		seen.to = now;
		tell(scanner, &seen);
	}
	if (scanner->is_full)
		tell(scanner, &(struct ip_seen){0, scanner->since, now, 1, 0});
	scanner->nwaiting = 0;
	scanner->is_full = 0;
	scanner->since = now;
}

static void take_ip(struct scanner *scanner, struct ip_seen seen)
{
	seen.from = seen.to = scanner->since;
	if (scanner->is_stamped)
		tell(scanner, &seen);
	else if (scanner->nwaiting < WAITING_MAX)
		scanner->waiting[scanner->nwaiting++] = seen;
	else
		scanner->is_full = 1;
}

/* The time at the last packet. */
static uint64_t time_now(const struct scanner *scanner)
{
	uint64_t tsc;

	if (pt_clock_time(scanner->time, &tsc, NULL, NULL) < 0)
		return 0;
	return sb_clock_tsc_to_ns(scanner->clock, tsc | scanner->tsc_base);
}

static void take_time(struct scanner *scanner, const struct pt_packet *packet)
{
	const int is_told = stamp_tells(&scanner->stamp, packet);

	if (packet->type == ppt_ovf)
		scanner->is_full = 1;
	if (pt_clock_packet(scanner->time, packet) > 0 && packet->type != ppt_ovf) {
		const uint64_t now = time_now(scanner);

		if (now > scanner->since || !scanner->since)
			pass_time(scanner, now);
	}
	if (is_told)
		scanner->is_stamped = 1;
	else if (packet->type == ppt_tip_pge || packet->type == ppt_tip_pgd || packet->type == ppt_ovf)
		scanner->is_stamped = 0;
	stamp_take(&scanner->stamp, packet);
}

static int is_target(const struct pt_packet *packet)
{
	return (packet->type == ppt_tip || packet->type == ppt_tip_pge) &&
	       packet->payload.ip.ipc != pt_ipc_suppressed;
}

static int has_ip(const struct pt_packet *packet)
{
	return packet->type == ppt_fup || packet->type == ppt_tip || packet->type == ppt_tip_pge ||
	       packet->type == ppt_tip_pgd;
}

/* Keeps where an interrupt turns tracing off, as a FUP right before tells. */
static void note_interrupt(struct scanner *scanner, const struct pt_packet *packet, uint64_t last)
{
	if (packet->type == ppt_fup)
		scanner->fup = last;
	else if (packet->type == ppt_tip_pgd)
		scanner->stopped = scanner->fup;
	if (packet->type != ppt_fup)
		scanner->fup = 0;
}

/* @is_kernel: the address before was the kernel's. */
static struct ip_seen seen_at(const struct scanner *scanner, const struct pt_packet *packet, uint64_t ip,
                              int is_kernel)
{
	const int is_on = packet->type == ppt_tip_pge;

	return (struct ip_seen){
	        .ip = ip, .is_entry = is_on || is_kernel, .is_resumed = is_on && ip == scanner->stopped};
}

static void scan_packets(struct scanner *scanner, struct pt_packet_decoder *packets, uint64_t stop)
{
	uint64_t last = 0, offset;
	int status = pt_pkt_sync_forward(packets), is_kernel;

	while (status >= 0 && scanner->status == 0) {
		struct pt_packet packet;

		if (pt_pkt_get_offset(packets, &offset) < 0 || offset >= stop)
			return;
		status = pt_pkt_next(packets, &packet, sizeof(packet));
		if (status < 0) {
			scanner->is_full = 1;
			status = pt_pkt_sync_forward(packets);
			continue;
		}
		take_time(scanner, &packet);
		if (packet.type == ppt_psb)
			last = scanner->fup = 0;
		if (!has_ip(&packet))
			continue;
		is_kernel = last >> 63 != 0;
		last = sb_last_ip(last, &packet.payload.ip);
		note_interrupt(scanner, &packet, last);
		if (is_target(&packet) && last && !(last >> 63))
			take_ip(scanner, seen_at(scanner, &packet, last, is_kernel));
	}
}

static int scan_segment(struct scanner *scanner, const struct sb_perfdata *perfdata,
                        const struct sb_segment *segment)
{
	struct pt_packet_decoder *packets;
	struct pt_config config;

	sb_trace_config(&config, sb_perfdata_info(perfdata));
	/* The decoder only reads. */
	config.begin = (uint8_t *)(uintptr_t)segment->begin;
	config.end = (uint8_t *)(uintptr_t)segment->end;
	packets = pt_pkt_alloc_decoder(&config);
	scanner->time = pt_clock_alloc(&config);
	scanner->stamp = (struct stamp){0};
	scanner->is_stamped = 0;
	scanner->is_full |= segment->fresh;
	if (packets && scanner->time)
		scan_packets(scanner, packets, segment->stop);
	else
		scanner->status = -sbe_nomem;
	pt_pkt_free_decoder(packets);
	pt_clock_free(scanner->time);
	sb_perfdata_release(perfdata, segment->begin, segment->begin + segment->stop);
	return scanner->status;
}

int ip_scan(const struct sb_perfdata *perfdata, const struct sb_system *system,
            const struct sb_aux_stream *stream, const struct ip_sink *sink)
{
	struct scanner scanner = {.clock = &sb_perfdata_info(perfdata)->clock, .sink = sink};
	struct sb_segment segment;
	struct sb_trace *trace;
	size_t nflags, nscheds;
	const struct sb_aux_flag *flag = sb_system_stream_flags(system, stream, &nflags);
	const struct sb_sched *sched = sb_system_schedule(system, stream->cpu, &nscheds);
	int status = sb_trace_open(&trace, stream, flag, nflags);

	if (status < 0)
		return status;
	scanner.tsc_base = sideband_upper_bits(scanner.clock, sched, nscheds);
	while ((status = sb_trace_next(trace, &segment)) > 0 && scanner.status == 0) {
		scan_segment(&scanner, perfdata, &segment);
		system_schedule_release(system, stream->cpu);
	}
	pass_time(&scanner, UINT64_MAX);
	sb_trace_close(trace);
	return scanner.status ? scanner.status : status;
}
