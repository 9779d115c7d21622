/* survey_scan.h - the addresses of user space that a recording's packets name where no mapping is known. */
#ifndef SB_SURVEY_SCAN_H
#define SB_SURVEY_SCAN_H

#include <sb/perfdata.h>
#include <sb/system.h>

/* @epoch of process @pid was in force at @time. */
struct survey_ip {
	const struct sb_epoch *epoch;
	uint64_t ip, time;
	int32_t pid, tid;
};

struct survey_scan {
	struct survey_ip *ip; /* owned; by epoch and address, each once */
	size_t count;
};

/* All streams. Zero or -sbe_nomem. */
int survey_scan(struct survey_scan *scan, const struct sb_perfdata *perfdata, const struct sb_system *system);

#endif
