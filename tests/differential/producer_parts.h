/* What the two halves of a producer share; for producer.c and producer_event.c only. PRODUCER_PREFIX is set
 * by the build: ours or debian. */
#ifndef DIFF_PRODUCER_PARTS_H
#define DIFF_PRODUCER_PARTS_H

#include <intel-pt.h>

#include "producer.h"

#define PRODUCER_JOIN(prefix, name) prefix##_##name
#define PRODUCER_NAME(prefix, name) PRODUCER_JOIN(prefix, name)
#define PRODUCER(name)              PRODUCER_NAME(PRODUCER_PREFIX, name)

void PRODUCER(packet)(struct record *record, const struct pt_packet *packet);
void PRODUCER(event)(struct record *record, const struct pt_event *event);

#endif
