/* A producer runs one layer of one library over a case and gives record after record.
 *
 * producer.c is compiled twice, once with our intel-pt.h and once with Debian's, so that each library is
 * called with the layouts its own users have; both are loaded with dlopen. */
#ifndef DIFF_PRODUCER_H
#define DIFF_PRODUCER_H

#include "case.h"
#include "record.h"

enum layer {
	layer_packet,
	layer_query,
	layer_insn,
	layer_block,    /* blocks expanded to instructions */
	layer_psb,      /* where sync_forward and sync_set go */
	layer_psb_back, /* where sync_backward goes */
	layer_count
};

extern const char *const layer_names[layer_count];

struct producer;
struct library;

struct producer_ops {
	/* NULL with a message on stderr. */
	struct library *(*load)(const char *path);
	void (*unload)(struct library *library);

	/* NULL: the library has no such layer, or refuses the case. */
	struct producer *(*open)(const struct library *library, const struct diff_case *c, enum layer layer);

	/* One, or zero at the end. */
	int (*next)(struct producer *producer, struct record *record);
	uint64_t (*tell)(struct producer *producer); /* where it stands in the trace */
	void (*close)(struct producer *producer);
};

extern const struct producer_ops ours_ops, debian_ops;

#endif
