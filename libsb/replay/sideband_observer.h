/* sideband_observer.h - moves along the system model with a decoder's time, and gives the decoder the code
 * of whoever runs.
 *
 * Who runs changes only while tracing is off: in traces of user space the kernel, which switches, is
 * not seen. So a switch or an exec that comes due while tracing is on - time is an estimate - waits until
 * it is off, or until nobody knows, as after an overflow. Another thread may change the mappings at any
 * time: a new epoch counts at once.
 */
#ifndef SB_SIDEBAND_OBSERVER_H
#define SB_SIDEBAND_OBSERVER_H

#include <intel-pt.h>
#include <sb/clock.h>
#include <sb/system.h>

#include "replay/image_build.h"

struct sideband_observer {
	struct pt_observer base;
	const struct sb_system *system;
	const struct sb_clock *clock;
	struct image_builder *images;
	struct pt_block_decoder *decoder; /* attached to */

	const struct sb_sched *sched; /* of the CPU */
	size_t nscheds, next;         /* what is yet to come */
	uint64_t tsc_base;            /* the bits of the counter that the trace does not have */

	enum pt_decode_state state;
	int32_t pid, tid;             /* who runs; -1: not known */
	const struct sb_space *space; /* theirs, or NULL */
	const struct sb_epoch *epoch; /* in force, or NULL */
	struct pt_image *image;       /* in use */
	uint64_t nswitches;
	int jump; /* what came before the first moment was not walked along, nor is it counted */
};

/* For one CPU, from the start of its trace on. */
void sideband_observer_init(struct sideband_observer *observer, const struct sb_system *system,
                            const struct sb_clock *clock, struct image_builder *images,
                            const struct sb_sched *sched, size_t nscheds);

/* For another CPU; the watched decoder stays. Zero or a negative pt_error_code. */
int sideband_observer_move(struct sideband_observer *observer, const struct sb_sched *sched, size_t nscheds);

/* Watches @decoder, which is new; the decoder watched before has been freed. Zero or a negative
 * pt_error_code. */
int sideband_observer_watch(struct sideband_observer *observer, struct pt_block_decoder *decoder);

/* Begins anew, in the middle of the trace, before the watched decoder is synchronised there. Zero or a
 * negative pt_error_code. */
int sideband_observer_jump(struct sideband_observer *observer);

/* What an observer goes on by. */
struct sideband_state {
	enum pt_decode_state state;
	int32_t pid, tid;
	const struct sb_space *space;
	const struct sb_epoch *epoch;
	size_t next;
	uint64_t limit;
};

struct sideband_state sideband_observer_state(const struct sideband_observer *observer);
int sideband_state_equal(const struct sideband_state *a, const struct sideband_state *b);

/* The time of the observed decoder in perf's clock; 0 when it is not known. */
uint64_t sideband_observer_now(const struct sideband_observer *observer);

#endif
