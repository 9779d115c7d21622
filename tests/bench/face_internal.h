/* face_internal.h - what the block decoder's two faces share. */
#ifndef BENCH_FACE_INTERNAL_H
#define BENCH_FACE_INTERNAL_H

#include "face.h"

int block_open(struct subject *subject);
void block_close(struct subject *subject);
/* Fetches all that are pending behind @status; the last status. */
int block_events(const struct subject *subject, int status);

#endif
