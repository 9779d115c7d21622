/* The common case of the walk: through short TNTs and TIPs, one after the other. */
#ifndef PT_FLOW_UNITS_H
#define PT_FLOW_UNITS_H

#include "flow/flow.h"

/* Walks along the TNTs and TIPs from the flow's place on, which begin before @until, and appends what it
 * passes to
 * @sink, of pt_flow_begin_sink(). The flow is plain (recorder.h), enabled and without a unit, the image was
 * looked at. Returns whether it got anywhere. The flow stands without a unit then, or within one where
 * pt_flow_walk() must go on: it leaves to it whatever is rare, and all errors. */
int pt_flow_walk_units(struct pt_flow *flow, struct pt_flow_sink *sink, const uint8_t *until);

#endif
