/* The names of events in cases and tests. */
#ifndef SUPPORT_EVENT_NAMES_H
#define SUPPORT_EVENT_NAMES_H

#include <intel-pt.h>

/* By enum pt_event_type; a hole is NULL, and so is what is behind the last one. */
extern const char *const event_names[];

#endif
