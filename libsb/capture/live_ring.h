/* live_ring.h - the buffers that the kernel writes a CPU's records, and its trace, into: perf_event_open(2),
 * "MMAP layout". A ring belongs to the event that it was mapped for; others of the CPU write into it, too
 * (PERF_EVENT_IOC_SET_OUTPUT).
 */
#ifndef SB_LIVE_RING_H
#define SB_LIVE_RING_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

struct live_ring {
	struct perf_event_mmap_page *page; /* NULL: not mapped */
	const uint8_t *data;
	uint64_t size; /* of the data, a power of two */
	uint8_t *aux;  /* NULL: none */
	uint64_t aux_size;
	uint64_t aux_taken; /* bytes of trace that were taken so far */
	int overwrites;     /* the trace's buffer keeps the newest: snapshots */
	int wrapped;        /* and has been filled once */
};

/* What came, by the records' own account. */
struct live_tally {
	uint64_t records, bytes;
	uint64_t lost;     /* records that found no room: LOST, LOST_SAMPLES */
	uint64_t switches; /* SWITCH, SWITCH_CPU_WIDE */
	uint64_t aux_records, aux_truncated, aux_partial, aux_collided, aux_bytes;
	uint64_t throttled;
};

/* Pieces of bytes, in order. Zero, or negative, which ends it and is returned. */
typedef int live_ring_sink(void *context, const uint8_t *bytes, size_t size);
/* Called for each record: where it is, and functions below read it. */
typedef void live_ring_look(void *context, const struct live_ring *ring, uint64_t position,
                            const struct perf_event_header *header);

/* Maps @size bytes (a power of two of pages) for the event @fd. Zero or -errno. */
int live_ring_map(struct live_ring *ring, int fd, uint64_t size);
/* And @size bytes of trace; with @overwrites the newest are kept, else it waits for room. */
int live_ring_map_aux(struct live_ring *ring, int fd, uint64_t size, int overwrites);
void live_ring_unmap(struct live_ring *ring);

/* How full it is, in percent. */
unsigned int live_ring_fill(const struct live_ring *ring);

/* Hands over all records that are there, and makes room. @look may be NULL. */
int live_ring_drain(struct live_ring *ring, struct live_tally *tally, live_ring_sink *sink,
                    live_ring_look *look, void *context);
/* @size bytes at a position that a look was told of. */
void live_ring_copy(const struct live_ring *ring, uint64_t position, void *bytes, size_t size);

/* Trace that is there: where it begins in the stream, and up to two pieces of it. */
struct live_aux {
	uint64_t offset;
	const uint8_t *piece[2];
	uint64_t size[2];
};
/* What has come since the last time; a snapshot when the buffer overwrites, whose event must be at rest then.
 * *aux lasts until it is released. */
void live_ring_aux(struct live_ring *ring, struct live_aux *aux);
void live_ring_aux_release(struct live_ring *ring, const struct live_aux *aux);

#endif
