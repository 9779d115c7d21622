/* The faces of the flow - instructions, blocks, runs, runs with events - behind one interface: what they say
 * goes to a log. */
#ifndef FUZZ_BLOCKS_FACES_H
#define FUZZ_BLOCKS_FACES_H

#include "blocks_log.h"

struct face {
	const char *name;
	const char *limit; /* of the run cache; NULL: as it is */
	int events_inside; /* next() gives events, too: event() need not be called */
	struct pt_config (*config)(const struct fuzz_config *fc);
	void *(*alloc)(const struct pt_config *config);
	void (*free)(void *decoder);
	int (*sync_forward)(void *decoder);
	int (*sync_backward)(void *decoder);
	int (*sync_set)(void *decoder, uint64_t offset);
	int (*resync)(void *decoder);
	int (*get_offset)(const void *decoder, uint64_t *offset);
	int (*get_sync_offset)(const void *decoder, uint64_t *offset);
	int (*set_image)(void *decoder, struct pt_image *image);
	int (*attach)(void *decoder, struct pt_observer *obsv);
	int (*event)(void *decoder, struct pt_event *event, size_t size);
	int (*time)(void *decoder, uint64_t *time, uint32_t *lost_mtc, uint32_t *lost_cyc);
	int (*asid)(const void *decoder, struct pt_asid *asid, size_t size);
	/* Instructions into the log; what they are is checked against the world. */
	int (*next)(void *decoder, const struct world *world, struct log *log);
};

/* The first face is on foot; then blocks and runs, which are faces of one decoder; the last one is as the
 * first one, on the run cache. */
enum { nfaces = 5, first_of_blocks = 1, last_of_blocks = 3 };

extern const struct face faces[nfaces];

#endif
