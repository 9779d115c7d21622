/* system_internal.h - what a model is made of: system.c builds it, system_ask.c answers from it. */
#ifndef SB_SYSTEM_INTERNAL_H
#define SB_SYSTEM_INTERNAL_H

#include "system/guest_records.h"
#include "system/kernel_events.h"
#include "system/process.h"
#include "system/schedule.h"
#include "system/string_table.h"
#include "system/system.h"

struct change;
struct code_source;

struct sb_system {
	const struct sb_perfdata *perfdata; /* for build-ids; NULL: there are none. Only while it is built */
	struct process_table processes;
	struct schedule schedule;
	struct kernel_events kernel;
	struct string_table names;
	struct guest_records guests;
	int thrifty;
	struct change *change; /* not told yet */
	int unsorted;          /* not in the order of their times */
	size_t nchanges, change_capacity;
	const struct system_coder *coder; /* borrowed; NULL: none */
	struct code_source *source;
	size_t nsources, source_capacity;
	struct system_code *code; /* those before next_code have been told */
	int code_unsorted;
	size_t ncodes, next_code, code_capacity;
	uint64_t told; /* a thrifty system told changes up to here */
	uint64_t nrecords, nskipped;
	int damaged;
	struct sb_error damage;
};

#endif
