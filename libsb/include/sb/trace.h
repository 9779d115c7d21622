/* sb/trace.h - from a recording to what a decoder of Intel PT wants: a config, and bytes without seams.
 *
 * A stream of AUX data lies in pieces all over the file, and packets may be cut anywhere between two
 * of them. A walk over a stream hands out spans that decode on their own: each is contiguous, and begins
 * at a PSB or where something is missing before it. For those who read packets themselves; a session
 * (<sb/replay.h>) does all this on its own.
 */
#ifndef SB_TRACE_H
#define SB_TRACE_H

#include <stdint.h>

#include <intel-pt.h>
#include <sb/perfdata.h>
#include <sb/system.h>

/* How the trace was recorded: processor and errata, frequencies. begin and end are left to the caller. */
sb_export void sb_trace_config(struct pt_config *config, const struct sb_perfdata_info *info);

/* The address that @packet names, which may hold only a part of it (Intel SDM vol. 3, "IP Compression"): the
 * rest is that of @last, the last one that a packet named, zero behind a PSB. @last when it is suppressed. */
sb_export uint64_t sb_last_ip(uint64_t last, const struct pt_packet_ip *packet);

struct sb_segment {
	const uint8_t *begin, *end; /* what the decoder may read */
	uint64_t stop;              /* offset of the PSB at which the next segment begins, or the size */
	uint64_t position;          /* of @begin: bytes of the stream before it */
	uint64_t aux_offset;        /* of @begin, as the kernel counts */
	int fresh;                  /* it does not continue the segment before it */
};

struct sb_trace;

/* @flag: the spans of this stream that the kernel flagged (sb_system_aux_flags()), behind which data are
 * missing. @stream and its recording must stay open; @flag is not kept. Zero or -sbe_nomem. */
sb_export int sb_trace_open(struct sb_trace **trace, const struct sb_aux_stream *stream,
                            const struct sb_aux_flag *flag, size_t nflags);
sb_export void sb_trace_close(struct sb_trace *trace); /* NULL is fine */

/* The next segment: 1, or 0 when there is none, or a negative code. It lasts until the next call. */
sb_export int sb_trace_next(struct sb_trace *trace, struct sb_segment *segment);

/* Bytes of the stream that are in no segment: recorded twice (snapshots), or perf's padding in the middle. */
sb_export uint64_t sb_trace_duplicate(const struct sb_trace *trace);

#endif
