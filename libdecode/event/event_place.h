/* The field of an event that says at which address it holds. */
#ifndef PT_EVENT_PLACE_H
#define PT_EVENT_PLACE_H

#include "intel-pt.h"

/* The address in @ev, or NULL for a kind of event that has none: those hold where the trace brings them,
 * or at the next instruction of their kind. For asynchronous branches it is the source. */
uint64_t *pt_event_place(struct pt_event *ev);

#endif
