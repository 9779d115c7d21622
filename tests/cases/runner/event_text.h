/* Events as text: "async_branch from=start+1 to=handler tsc=0x100". */
#ifndef CASE_EVENT_TEXT_H
#define CASE_EVENT_TEXT_H

#include <stdio.h>

#include "program.h"

void event_print(FILE *out, const struct pt_event *event, const struct program *program);

#endif
