/* live_clock.c - see live_clock.h. No call tells the time that perf goes by: it is read from a record that we
 * cause, that of our thread taking the name that it has already.
 */
#include "capture/live_clock.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "capture/live_attrs.h"
#include "capture/live_ring.h"

static int64_t raw_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Of the one record there is. */
struct found {
	int64_t time;
};

static void look(void *context, const struct live_ring *ring, uint64_t position,
                 const struct perf_event_header *header)
{
	struct found *found = context;

	/* The trailer holds the time alone. */
	if (header->type == PERF_RECORD_COMM)
		live_ring_copy(ring, position + header->size - 8, &found->time, 8);
}

static int drop(void *context, const uint8_t *bytes, size_t size)
{
	(void)context;
	(void)bytes;
	(void)size;
	return 0;
}

/* How far the record's time is ahead, and within how many nanoseconds that is known. */
struct answer {
	int64_t ahead, within;
};

static int ask(struct answer *answer, struct live_ring *ring)
{
	struct live_tally tally = {0};
	struct found found = {0};
	int64_t before, after;
	char name[16];
	int status;

	if (prctl(PR_GET_NAME, name) < 0)
		return -errno;
	before = raw_now();
	if (prctl(PR_SET_NAME, name) < 0)
		return -errno;
	after = raw_now();
	status = live_ring_drain(ring, &tally, drop, look, &found);
	if (status == 0 && !found.time)
		return -ENODATA;
	*answer = (struct answer){found.time - (before + (after - before) / 2), after - before};
	return status;
}

/* Somebody else may have the CPU in between, for milliseconds: the shortest of some times is the best. */
static int ask_often(struct live_clock *clock, struct live_ring *ring)
{
	enum { times = 10 };
	struct answer best = {.within = INT64_MAX};

	for (int i = 0; i < times; ++i) {
		struct answer answer = {0};
		const int status = ask(&answer, ring);

		if (status < 0)
			return status;
		if (answer.within < best.within)
			best = answer;
	}
	clock->ahead = best.ahead;
	return 0;
}

int live_clock_set(struct live_clock *clock)
{
	struct perf_event_attr attr;
	struct live_ring ring;
	int fd, status;

	memset(&attr, 0, sizeof(attr));
	attr.type = PERF_TYPE_SOFTWARE;
	attr.size = live_attr_size;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.sample_type = PERF_SAMPLE_TIME;
	attr.sample_id_all = 1;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.comm = 1;
	fd = live_event_open(&attr, 0, -1, 0);
	if (fd < 0)
		return fd;
	status = live_ring_map(&ring, fd, (uint64_t)sysconf(_SC_PAGESIZE));
	if (status == 0) {
		status = ask_often(clock, &ring);
		live_ring_unmap(&ring);
	}
	close(fd);
	return status;
}

uint64_t live_clock_now(const struct live_clock *clock)
{
	return (uint64_t)(raw_now() + clock->ahead);
}
