/* survey_scan.c - see survey_scan.h. Packets alone are read: whose they are is told by their time. */
#include "replay/survey_scan.h"

#include <intel-pt-time.h>
#include <sb/error.h>
#include <sb/trace.h>
#include <stdlib.h>

#include "replay/sideband_observer.h"

enum { SLOTS = 1 << 18, IPS_MAX = SLOTS / 2 }; /* further addresses are not looked at */

struct scanner {
	const struct sb_system *system;
	const struct sb_clock *clock;
	const struct sb_sched *sched;
	size_t nscheds, at;
	uint64_t tsc_base;
	int32_t pid; /* of the stream, when it is a thread's; else -1 */
	struct survey_ip *slot;
	size_t count;
};

static void add(struct scanner *scanner, struct survey_ip found)
{
	size_t i = (found.ip ^ (uint64_t)found.epoch->id << 32) * 0x9e3779b97f4a7c15ull >> 46;

	while (scanner->slot[i].epoch &&
	       (scanner->slot[i].ip != found.ip || scanner->slot[i].epoch->id != found.epoch->id))
		i = (i + 1) & (SLOTS - 1);
	if (scanner->slot[i].epoch || scanner->count == IPS_MAX)
		return;
	scanner->slot[i] = found;
	scanner->count += 1;
}

/* Who runs at @now; -1: not known. */
static int32_t who(struct scanner *scanner, uint64_t now)
{
	const struct sb_sched *sched = scanner->sched;

	if (scanner->pid >= 0 || !scanner->nscheds)
		return scanner->pid;
	if (sched[scanner->at].time > now)
		scanner->at = 0;
	while (scanner->at + 1 < scanner->nscheds && sched[scanner->at + 1].time <= now)
		scanner->at += 1;
	return sched[scanner->at].time <= now ? sched[scanner->at].pid : -1;
}

static void look_at(struct scanner *scanner, uint64_t ip, uint64_t tsc)
{
	const uint64_t now = sb_clock_tsc_to_ns(scanner->clock, tsc | scanner->tsc_base);
	const int32_t pid = who(scanner, now);
	const struct sb_space *space = pid > 0 ? sb_system_space(scanner->system, pid, now) : NULL;
	const struct sb_epoch *epoch = space ? sb_space_epoch(space, now) : NULL;

	if (epoch && !sb_epoch_code(epoch, ip))
		add(scanner,
		    (struct survey_ip){.epoch = epoch, .ip = ip, .time = now, .pid = pid, .tid = pid});
}

static int is_target(const struct pt_packet *packet)
{
	return (packet->type == ppt_tip || packet->type == ppt_tip_pge) &&
	       packet->payload.ip.ipc != pt_ipc_suppressed;
}

static void scan_packets(struct scanner *scanner, struct pt_packet_decoder *packets, struct pt_clock *clock,
                         uint64_t stop)
{
	uint64_t last = 0, offset, tsc;
	int status = pt_pkt_sync_forward(packets);

	while (status >= 0) {
		struct pt_packet packet;

		if (pt_pkt_get_offset(packets, &offset) < 0 || offset >= stop)
			return;
		status = pt_pkt_next(packets, &packet, sizeof(packet));
		if (status < 0) {
			status = pt_pkt_sync_forward(packets);
			continue;
		}
		pt_clock_packet(clock, &packet);
		if (packet.type == ppt_psb)
			last = 0;
		if (packet.type != ppt_fup && packet.type != ppt_tip && packet.type != ppt_tip_pge &&
		    packet.type != ppt_tip_pgd)
			continue;
		last = sb_last_ip(last, &packet.payload.ip);
		if (is_target(&packet) && last && !(last >> 63) &&
		    pt_clock_time(clock, &tsc, NULL, NULL) >= 0)
			look_at(scanner, last, tsc);
	}
}

static int scan_segment(struct scanner *scanner, const struct sb_perfdata *perfdata,
                        const struct sb_segment *segment)
{
	struct pt_packet_decoder *packets;
	struct pt_clock *clock;
	struct pt_config config;
	int status = 0;

	sb_trace_config(&config, sb_perfdata_info(perfdata));
	/* The decoder only reads. */
	config.begin = (uint8_t *)(uintptr_t)segment->begin;
	config.end = (uint8_t *)(uintptr_t)segment->end;
	packets = pt_pkt_alloc_decoder(&config);
	clock = pt_clock_alloc(&config);
	if (packets && clock)
		scan_packets(scanner, packets, clock, segment->stop);
	else
		status = -sbe_nomem;
	pt_pkt_free_decoder(packets);
	pt_clock_free(clock);
	sb_perfdata_release(perfdata, segment->begin, segment->begin + segment->stop);
	return status;
}

static int scan_stream(struct scanner *scanner, const struct sb_perfdata *perfdata,
                       const struct sb_aux_stream *stream)
{
	struct sb_segment segment;
	struct sb_trace *trace;
	size_t nflags;
	const struct sb_aux_flag *flag = sb_system_stream_flags(scanner->system, stream, &nflags);
	int status = sb_trace_open(&trace, stream, flag, nflags);

	if (status < 0)
		return status;
	scanner->pid = stream->cpu < 0 ? sb_system_thread_pid(scanner->system, stream->tid) : -1;
	scanner->at = 0;
	scanner->sched = sb_system_schedule(scanner->system, stream->cpu, &scanner->nscheds);
	scanner->tsc_base = sideband_upper_bits(scanner->clock, scanner->sched, scanner->nscheds);
	for (;;) {
		status = sb_trace_next(trace, &segment);
		if (status > 0)
			status = scan_segment(scanner, perfdata, &segment);
		else
			break;
		if (status < 0)
			break;
	}
	sb_trace_close(trace);
	return status;
}

static int compare(const void *a, const void *b)
{
	const struct survey_ip *left = a, *right = b;

	if (left->epoch->id != right->epoch->id)
		return left->epoch->id < right->epoch->id ? -1 : 1;
	return left->ip < right->ip ? -1 : left->ip > right->ip;
}

int survey_scan(struct survey_scan *scan, const struct sb_perfdata *perfdata, const struct sb_system *system)
{
	struct scanner scanner = {.system = system,
	                          .clock = &sb_perfdata_info(perfdata)->clock,
	                          .slot = calloc(SLOTS, sizeof(*scanner.slot))};
	size_t nstreams, count = 0;
	const struct sb_aux_stream *stream = sb_perfdata_streams(perfdata, &nstreams);
	int status = scanner.slot ? 0 : -sbe_nomem;

	*scan = (struct survey_scan){0};
	for (size_t i = 0; i < nstreams && status == 0; ++i)
		status = scan_stream(&scanner, perfdata, &stream[i]);
	if (status < 0) {
		free(scanner.slot);
		return status;
	}
	for (size_t i = 0; i < SLOTS; ++i)
		if (scanner.slot[i].epoch)
			scanner.slot[count++] = scanner.slot[i];
	if (count)
		qsort(scanner.slot, count, sizeof(*scanner.slot), compare);
	*scan = (struct survey_scan){.ip = scanner.slot, .count = count};
	return 0;
}
