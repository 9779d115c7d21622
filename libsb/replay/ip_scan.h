/* ip_scan.h - the addresses of user space that a stream's packets name, and when.
 *
 * Packets alone are read, not any code. Between two packets that tell the time it is not known.
 */
#ifndef SB_IP_SCAN_H
#define SB_IP_SCAN_H

#include <sb/perfdata.h>
#include <sb/system.h>

/* Where execution came, by a TIP or TIP.PGE packet. */
struct ip_seen {
	uint64_t ip;       /* 0: there may be others that are not told */
	uint64_t from, to; /* perf clock, ns: it was then, or in between; @to is UINT64_MAX: no later time is
	                      known */
	int is_entry;      /* it came there from the kernel, */
	int is_resumed;    /* an interrupt had stopped it there, the last time on that CPU */
};

/* Zero, or what ends the scan. */
struct ip_sink {
	void *context;
	int (*seen)(void *context, const struct ip_seen *seen);
};

/* Zero, -sbe_nomem, or what the callback returned. */
int ip_scan(const struct sb_perfdata *perfdata, const struct sb_system *system,
            const struct sb_aux_stream *stream, const struct ip_sink *sink);

#endif
