/* Finding the PSB to synchronise a reader at: what the event and the query decoder share. */
#ifndef PT_EVENT_SYNC_H
#define PT_EVENT_SYNC_H

#include "event/event_decoder.h"

/* A decoder's own way to start at a PSB. */
typedef int pt_evd_start(void *decoder, const uint8_t *psb);

/* Start at the next PSB from the reader's position on; or behind the one that could not be read. */
int pt_evd_start_forward(struct pt_evd *evd, pt_evd_start *start, void *decoder);

/* Starts at the last PSB before the present position, or before the PSB that was started at when nothing was
 * read since. One whose PSB+ is cut off does not count. */
int pt_evd_start_backward(struct pt_evd *evd, pt_evd_start *start, void *decoder);

/* Starts at the PSB at @offset. -pte_nosync: something else is there. */
int pt_evd_start_at(struct pt_evd *evd, uint64_t offset, pt_evd_start *start, void *decoder);

/* @pos as an offset; -pte_nosync when the reader was never synchronised. */
int pt_evd_tell(const struct pt_evd *evd, const uint8_t *pos, uint64_t *offset);

#endif
