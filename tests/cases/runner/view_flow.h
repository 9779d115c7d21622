/* The flow of a case, as the instruction and the block decoder give it. */
#ifndef CASE_VIEW_FLOW_H
#define CASE_VIEW_FLOW_H

#include "view.h"

void print_flow(FILE *out, const struct view *view, enum case_view which);

#endif
