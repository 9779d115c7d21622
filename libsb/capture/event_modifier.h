/* event_modifier.h - when an event counts and how it is sampled: what is said of any event alike. */
#ifndef SB_EVENT_MODIFIER_H
#define SB_EVENT_MODIFIER_H

#include <stdint.h>
#include <stdio.h>

#include <sb/event.h>

#include "capture/event_text.h"

enum event_modifier {
	event_user,
	event_kernel,
	event_hypervisor,
	event_guest,
	event_host,
	event_precise,
	event_pinned,
	event_exclusive,
	event_period,
	event_freq,
	event_cpu,
	event_modifiers_count
};

struct event_modifiers {
	uint32_t said; /* bits of enum event_modifier */
	uint64_t value[event_modifiers_count];
};

/* Takes "uk", "u", "period=1000". @ext: those of the perf interface, too. Zero or a negative code. */
int event_modifier_take(struct event_modifiers *modifiers, const struct event_term *term, int ext,
                        struct sb_error *err);
/* What excludes each other. */
int event_modifiers_check(const struct event_modifiers *modifiers, struct sb_error *err);

/* Sets what was said in *attr, and the levels of @privileges when none was; *cpu: or -1. */
void event_modifiers_apply(const struct event_modifiers *modifiers, unsigned int privileges,
                           struct perf_event_attr *attr, int *cpu);
/* The same as text, each behind a colon. */
void event_modifiers_print(const struct event_modifiers *modifiers, unsigned int privileges, FILE *file);

#endif
