/* event_internal.h - what event_encode.c has others do: events of sysfs, those that are built in, and
 * libpfm4's.
 */
#ifndef SB_EVENT_INTERNAL_H
#define SB_EVENT_INTERNAL_H

#include "capture/event_error.h"
#include "capture/event_modifier.h"
#include "capture/event_text.h"
#include "capture/sysfs_pmu.h"

/* An event that is not libpfm4's. */
struct event_code {
	uint32_t type; /* PERF_TYPE_* or the PMU's number */
	uint64_t config[sysfs_configs];
	int idx;
};

/* What idx is made of; the rest is libpfm4's. */
enum { event_idx_sysfs = 1 << 30, event_idx_software = 1 << 29, event_idx_mask = (1 << 29) - 1 };

/* "PMU/.../": *text is the same with all attributes and their values, to be freed. Zero or a negative code.
 */
int event_sysfs_encode(const struct event_text *parts, const char *sysfs, struct event_code *code,
                       char **text, struct sb_error *err);
int event_sysfs_list(const char *sysfs, sb_event_callback *callback, void *context);

/* 1: @name is built in; 0: it is not. *name: as it is spelled first. */
int event_software_encode(const char **name, struct event_code *code);
int event_software_find(int idx, struct sb_event_info *info);
int event_software_list(sb_event_callback *callback, void *context);

/* @list's first event, of @size characters. Zero or a negative code. */
int event_pfm_encode(const char *text, unsigned int privileges, enum sb_event_target target, void *arg);
int event_pfm_find(int idx, struct sb_event_info *info);
int event_pfm_list(sb_event_callback *callback, void *context);

#endif
