/* trace.c - see sb/trace.h: the public face of segment.h, and of what AUXTRACE_INFO and CPUID say. */
#include <sb/trace.h>

#include <stdlib.h>

#include "replay/segment.h"

struct sb_trace {
	struct segment_cutter cutter;
};

void sb_trace_config(struct pt_config *config, const struct sb_perfdata_info *info)
{
	pt_config_init(config);
	if (info->vendor_intel) {
		config->cpu.vendor = pcv_intel;
		config->cpu.family = info->family;
		config->cpu.model = info->model;
		config->cpu.stepping = info->stepping;
	}
	/* Nobody says which errata an unknown processor has. Most have BDM70, and where one has it not,
	 * what is done about it does not occur. */
	if (pt_cpu_errata(&config->errata, &config->cpu) < 0)
		config->errata.bdm70 = 1;
	config->mtc_freq = info->pt_mtc_freq;
	config->nom_freq = info->max_nonturbo_ratio;
	config->cpuid_0x15_eax = info->tsc_ctc_den;
	config->cpuid_0x15_ebx = info->tsc_ctc_num;
}

int sb_trace_open(struct sb_trace **result, const struct sb_aux_stream *stream,
                  const struct sb_aux_flag *flag, size_t nflags)
{
	struct sb_trace *trace;

	if (!result || !stream || (nflags && !flag))
		return -sbe_invalid;
	trace = calloc(1, sizeof(*trace));
	if (!trace || segment_cutter_init(&trace->cutter, stream, flag, nflags) < 0) {
		free(trace);
		return -sbe_nomem;
	}
	*result = trace;
	return 0;
}

void sb_trace_close(struct sb_trace *trace)
{
	if (!trace)
		return;
	segment_cutter_fini(&trace->cutter);
	free(trace);
}

int sb_trace_next(struct sb_trace *trace, struct sb_segment *segment)
{
	return trace && segment ? segment_next(&trace->cutter, segment) : -sbe_invalid;
}

uint64_t sb_trace_duplicate(const struct sb_trace *trace)
{
	return trace ? trace->cutter.duplicate : 0;
}

uint64_t sb_last_ip(uint64_t last, const struct pt_packet_ip *packet)
{
	static const uint8_t kept_from[] = {
	        [pt_ipc_update_16] = 16, [pt_ipc_update_32] = 32, [pt_ipc_update_48] = 48};

	switch (packet->ipc) {
	case pt_ipc_suppressed:
		return last;
	case pt_ipc_update_16:
	case pt_ipc_update_32:
	case pt_ipc_update_48:
		return last >> kept_from[packet->ipc] << kept_from[packet->ipc] | packet->ip;
	case pt_ipc_sext_48:
		return (uint64_t)((int64_t)(packet->ip << 16) >> 16);
	default:
		return packet->ip;
	}
}
