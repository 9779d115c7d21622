/* live_ring.c - see live_ring.h. The kernel moves data_head after it has written, we move data_tail after we
 * have read; both count bytes since the beginning.
 */
#include "capture/live_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int live_ring_map(struct live_ring *ring, int fd, uint64_t size)
{
	void *base = mmap(NULL, page_size() + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (base == MAP_FAILED)
		return -errno;
	*ring = (struct live_ring){.page = base, .data = (uint8_t *)base + page_size(), .size = size};
	return 0;
}

int live_ring_map_aux(struct live_ring *ring, int fd, uint64_t size, int overwrites)
{
	void *aux;

	ring->page->aux_offset = page_size() + ring->size;
	ring->page->aux_size = size;
	/* Who cannot write to it cannot say what was read: the kernel then overwrites. */
	aux = mmap(NULL, size, overwrites ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd,
	           (off_t)ring->page->aux_offset);
	if (aux == MAP_FAILED)
		return -errno;
	ring->aux = aux;
	ring->aux_size = size;
	ring->overwrites = overwrites;
	return 0;
}

void live_ring_unmap(struct live_ring *ring)
{
	if (ring->aux)
		munmap(ring->aux, ring->aux_size);
	if (ring->page)
		munmap(ring->page, page_size() + ring->size);
	*ring = (struct live_ring){0};
}

static uint64_t head_of(const struct live_ring *ring)
{
	return __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

unsigned int live_ring_fill(const struct live_ring *ring)
{
	return (unsigned int)((head_of(ring) - ring->page->data_tail) * 100 / ring->size);
}

void live_ring_copy(const struct live_ring *ring, uint64_t position, void *bytes, size_t size)
{
	const uint64_t at = position & (ring->size - 1);
	const size_t first = size < ring->size - at ? size : (size_t)(ring->size - at);

	memcpy(bytes, ring->data + at, first);
	memcpy((uint8_t *)bytes + first, ring->data, size - first);
}

static uint64_t u64_at(const struct live_ring *ring, uint64_t position)
{
	uint64_t value;

	live_ring_copy(ring, position, &value, sizeof(value));
	return value;
}

static void count_aux(struct live_tally *tally, uint64_t flags)
{
	tally->aux_records += 1;
	tally->aux_truncated += (flags & PERF_AUX_FLAG_TRUNCATED) != 0;
	tally->aux_partial += (flags & PERF_AUX_FLAG_PARTIAL) != 0;
	tally->aux_collided += (flags & PERF_AUX_FLAG_COLLISION) != 0;
}

static void count(struct live_tally *tally, const struct live_ring *ring, uint64_t position,
                  const struct perf_event_header *header)
{
	tally->records += 1;
	switch (header->type) {
	case PERF_RECORD_LOST: /* u64 id, lost */
		tally->lost += u64_at(ring, position + 16);
		break;
	case PERF_RECORD_LOST_SAMPLES: /* u64 lost */
		tally->lost += u64_at(ring, position + 8);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		tally->switches += 1;
		break;
	case PERF_RECORD_AUX: /* u64 offset, size, flags */
		count_aux(tally, u64_at(ring, position + 24));
		break;
	case PERF_RECORD_THROTTLE:
		tally->throttled += 1;
		break;
	default:
		break;
	}
}

static int hand_over(const struct live_ring *ring, uint64_t from, uint64_t to, live_ring_sink *sink,
                     void *context)
{
	const uint64_t at = from & (ring->size - 1), size = to - from;
	const uint64_t first = size < ring->size - at ? size : ring->size - at;
	int status = first ? sink(context, ring->data + at, first) : 0;

	if (status >= 0 && size > first)
		status = sink(context, ring->data, size - first);
	return status;
}

int live_ring_drain(struct live_ring *ring, struct live_tally *tally, live_ring_sink *sink,
                    live_ring_look *look, void *context)
{
	const uint64_t head = head_of(ring), tail = ring->page->data_tail;
	int status;

	for (uint64_t at = tail; at < head;) {
		struct perf_event_header header;

		live_ring_copy(ring, at, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - at)
			return -EPROTO; /* not what the kernel writes */
		count(tally, ring, at, &header);
		if (look)
			look(context, ring, at, &header);
		at += header.size;
	}
	status = hand_over(ring, tail, head, sink, context);
	tally->bytes += head - tail;
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
	return status;
}

/* ---- Trace ------------------------------------------------------------------------------------ */

static int is_blank(const uint8_t *bytes, uint64_t size)
{
	return !size || (!bytes[0] && !memcmp(bytes, bytes + 1, size - 1));
}

/* The buffer's head says where the next byte goes. It was empty at first, so that what lies behind it tells
 * whether it has come round. */
static void take_snapshot(struct live_ring *ring, uint64_t head, struct live_aux *aux)
{
	const uint64_t at = head & (ring->aux_size - 1);

	if (!ring->wrapped)
		ring->wrapped = head > ring->aux_size || !is_blank(ring->aux + at, ring->aux_size - at);
	if (ring->wrapped) {
		aux->piece[0] = ring->aux + at;
		aux->size[0] = ring->aux_size - at;
	}
	aux->piece[1] = ring->aux;
	aux->size[1] = at;
}

void live_ring_aux(struct live_ring *ring, struct live_aux *aux)
{
	const uint64_t head = __atomic_load_n(&ring->page->aux_head, __ATOMIC_ACQUIRE);
	const uint64_t tail = ring->page->aux_tail, at = tail & (ring->aux_size - 1);
	uint64_t size = head - tail;

	*aux = (struct live_aux){.offset = ring->aux_taken};
	if (ring->overwrites) {
		take_snapshot(ring, head, aux);
		return;
	}
	aux->offset = tail;
	aux->piece[0] = ring->aux + at;
	aux->size[0] = size < ring->aux_size - at ? size : ring->aux_size - at;
	aux->piece[1] = ring->aux;
	aux->size[1] = size - aux->size[0];
}

void live_ring_aux_release(struct live_ring *ring, const struct live_aux *aux)
{
	const uint64_t size = aux->size[0] + aux->size[1];

	ring->aux_taken += size;
	if (!ring->overwrites)
		__atomic_store_n(&ring->page->aux_tail, ring->page->aux_tail + size, __ATOMIC_RELEASE);
}
