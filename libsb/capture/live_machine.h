/* live_machine.h - what a recording's header says of the machine, and of its Intel PT. */
#ifndef SB_LIVE_MACHINE_H
#define SB_LIVE_MACHINE_H

#include <stdint.h>

#include <sb/perfdata_write.h>

#include "capture/live_ring.h"

struct live_machine {
	char cpuid[64];    /* "GenuineIntel,6,85,4" */
	char cpudesc[128]; /* "Intel(R) Xeon(R) ..." */
	uint32_t ncpus;    /* one more than the highest number there may be */
	uint32_t pt_type;  /* of the intel_pt PMU; 0: there is none */
	uint32_t tsc_ctc_num, tsc_ctc_den;
	uint8_t max_nonturbo_ratio;
	int event_trace;
};

/* What cannot be found out stays zero, or "unknown". Zero, or -errno of a shortage (shortage.h). */
int live_machine_read(struct live_machine *machine, const char *proc, const char *sysfs);

/* The clock's parameters, as a ring's page has them; zeroes where the kernel does not tell. */
struct sb_clock live_machine_clock(const struct live_ring *ring);

#endif
