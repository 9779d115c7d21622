/* lanes.c - see lanes.h. */
#include "replay/lanes.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "replay/packer.h"

enum {
	LINE_MAX_SIZE = 512 * 1024, /* bytes of parcels in a line: then its thread waits ... */
	LINE_LOW_SIZE = 256 * 1024, /* ... until so few are left */
	IMAGE_PARTS_MAX = 1 << 20,  /* of all lanes: images, and mappings in them, of some 200 bytes */
	IMAGE_PARTS_LEAST = 1 << 12,
};

/* What a lane's thread does. */
enum lane_state { lane_ready, lane_runs, lane_is_full, lane_done };

struct lane {
	struct lanes *lanes;
	const struct sb_aux_stream *stream;
	pthread_t thread;
	pthread_cond_t may_run;
	struct packer packer;

	/* Guarded by the lock. */
	enum lane_state state;
	struct parcel *first, **last; /* the line; owned */
	size_t size;                  /* of it, in bytes */
	struct ledger_part part;      /* when it is done */
	int status;

	/* The calling thread's: what comes next of the lane. */
	struct parcel *open; /* owned; NULL: nothing more */
	size_t item;
	uint64_t tsc;
};

struct lanes {
	const struct replay_world *world;
	struct ledger *ledger; /* of the calling thread */
	struct lane *lane;
	size_t count;
	struct lane **heap; /* those that have something, the one that comes next first */
	size_t nheap;

	pthread_mutex_t lock;
	pthread_cond_t arrived; /* something, in the line that is waited for */
	struct lane *awaited;   /* NULL: none */
	unsigned int jobs, nrunning;
	struct parcel *spare;
	int stop;
};

/* ---- Who runs --------------------------------------------------------------------------------- */

/* The one that the caller waits for, or the one that has least in line. NULL: nobody wants to run. */
static struct lane *choose_locked(const struct lanes *lanes)
{
	struct lane *chosen = lanes->awaited;

	if (chosen && chosen->state == lane_ready)
		return chosen;
	chosen = NULL;
	for (size_t i = 0; i < lanes->count; ++i) {
		struct lane *lane = &lanes->lane[i];

		if (lane->state == lane_ready && (!chosen || lane->size < chosen->size))
			chosen = lane;
	}
	return chosen;
}

static void dispatch_locked(struct lanes *lanes)
{
	struct lane *lane;

	while (lanes->nrunning < lanes->jobs && (lane = choose_locked(lanes))) {
		lane->state = lane_runs;
		lanes->nrunning += 1;
		pthread_cond_signal(&lane->may_run);
	}
}

/* The lane's thread runs no more, but for what @state says. */
static void rest_locked(struct lane *lane, enum lane_state state)
{
	lane->state = state;
	lane->lanes->nrunning -= 1;
	dispatch_locked(lane->lanes);
}

/* Zero, or negative when nobody wants more. */
static int wait_to_run_locked(struct lane *lane)
{
	struct lanes *lanes = lane->lanes;

	while (lane->state != lane_runs && !lanes->stop)
		pthread_cond_wait(&lane->may_run, &lanes->lock);
	return lanes->stop ? -sbe_stop : 0;
}

/* ---- A lane's thread -------------------------------------------------------------------------- */

static struct parcel *get_parcel(void *context)
{
	struct lanes *lanes = ((struct lane *)context)->lanes;
	struct parcel *parcel;

	pthread_mutex_lock(&lanes->lock);
	parcel = lanes->spare;
	if (parcel)
		lanes->spare = parcel->next;
	pthread_mutex_unlock(&lanes->lock);
	if (!parcel)
		return parcel_new();
	parcel->next = NULL;
	return parcel;
}

static int send_parcel(void *context, struct parcel *parcel)
{
	struct lane *lane = context;
	struct lanes *lanes = lane->lanes;
	int status = 0;

	pthread_mutex_lock(&lanes->lock);
	*lane->last = parcel;
	lane->last = &parcel->next;
	lane->size += parcel_size(parcel);
	if (lanes->awaited == lane)
		pthread_cond_signal(&lanes->arrived);
	if (lanes->stop) {
		status = -sbe_stop;
	} else if (lane->size >= LINE_MAX_SIZE) {
		rest_locked(lane, lane_is_full);
		status = wait_to_run_locked(lane);
	}
	pthread_mutex_unlock(&lanes->lock);
	return status;
}

static int walk(struct lane *lane, struct ledger_part *part)
{
	struct packer *packer = &lane->packer;
	int status = packer_init(packer, lane->lanes->world, lane->lanes->ledger,
	                         IMAGE_PARTS_MAX / lane->lanes->count > IMAGE_PARTS_LEAST
	                                 ? IMAGE_PARTS_MAX / lane->lanes->count
	                                 : IMAGE_PARTS_LEAST,
	                         0, (uint32_t)(lane - lane->lanes->lane) + 1);

	if (status == 0)
		status = walker_open(&packer->walker, lane->stream);
	if (status == 0)
		status = walker_run(&packer->walker);
	if (status >= 0)
		status = packer_finish(packer, part);
	else
		ledger_take_part(&packer->ledger, part);
	return status;
}

static void *lane_main(void *context)
{
	struct lane *lane = context;
	struct lanes *lanes = lane->lanes;
	struct ledger_part part = {0};
	int status;

	pthread_mutex_lock(&lanes->lock);
	status = wait_to_run_locked(lane);
	pthread_mutex_unlock(&lanes->lock);
	if (status == 0)
		status = walk(lane, &part);
	/* What it learnt is not needed any more. */
	packer_fini(&lane->packer);
	pthread_mutex_lock(&lanes->lock);
	lane->part = part;
	lane->status = status;
	if (lane->state == lane_runs)
		rest_locked(lane, lane_done);
	lane->state = lane_done;
	pthread_cond_signal(&lanes->arrived);
	pthread_mutex_unlock(&lanes->lock);
	return NULL;
}

/* ---- Handing out ------------------------------------------------------------------------------ */

static void put_spare_locked(struct lanes *lanes, struct parcel *parcel)
{
	parcel_clear(parcel);
	parcel->next = lanes->spare;
	lanes->spare = parcel;
}

/* The first in line; waits for it. NULL: there will be none. */
static struct parcel *take_parcel_locked(struct lane *lane)
{
	struct lanes *lanes = lane->lanes;
	struct parcel *parcel;

	lanes->awaited = lane;
	dispatch_locked(lanes);
	while (!lane->first && lane->state != lane_done)
		pthread_cond_wait(&lanes->arrived, &lanes->lock);
	lanes->awaited = NULL;
	parcel = lane->first;
	if (!parcel)
		return NULL;
	lane->first = parcel->next;
	if (!lane->first)
		lane->last = &lane->first;
	lane->size -= parcel_size(parcel);
	if (lane->state == lane_is_full && lane->size <= LINE_LOW_SIZE) {
		lane->state = lane_ready;
		dispatch_locked(lanes);
	}
	return parcel;
}

/* To the lane's next item, in another parcel if need be. Positive: there is one, zero: there is none any
 * more, or a negative code. */
static int advance(struct lane *lane, struct sb_error *err)
{
	struct lanes *lanes = lane->lanes;
	int status = 0;

	while (!lane->open || lane->item >= lane->open->nitems) {
		if (lane->open)
			status = ledger_progress(lanes->ledger, lane->open->bytes);
		pthread_mutex_lock(&lanes->lock);
		if (lane->open)
			put_spare_locked(lanes, lane->open);
		lane->item = 0;
		lane->open = status < 0 ? NULL : take_parcel_locked(lane);
		if (status >= 0 && !lane->open)
			status = lane->status;
		pthread_mutex_unlock(&lanes->lock);
		if (status < 0 && err && lane->packer.error.code)
			*err = lane->packer.error;
		if (!lane->open)
			return status < 0 ? status : 0;
	}
	if (parcel_item_tsc(lane->open, lane->item) > lane->tsc)
		lane->tsc = parcel_item_tsc(lane->open, lane->item);
	return 1;
}

static int comes_before(const struct lane *a, const struct lane *b)
{
	return a->tsc != b->tsc ? a->tsc < b->tsc : a < b;
}

/* The lane at @at of the heap may come later than those below it. */
static void sink_down(struct lanes *lanes, size_t at)
{
	struct lane *lane = lanes->heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < lanes->nheap && comes_before(lanes->heap[child + 1], lanes->heap[child]))
			child += 1;
		if (child >= lanes->nheap || !comes_before(lanes->heap[child], lane))
			break;
		lanes->heap[at] = lanes->heap[child];
		at = child;
	}
	lanes->heap[at] = lane;
}

/* Every lane that has something is in the heap. Zero or a negative code. */
static int fill_heap(struct lanes *lanes, struct sb_error *err)
{
	for (size_t i = 0; i < lanes->count; ++i) {
		const int status = advance(&lanes->lane[i], err);

		if (status < 0)
			return status;
		if (status > 0)
			lanes->heap[lanes->nheap++] = &lanes->lane[i];
	}
	for (size_t i = lanes->nheap / 2; i-- > 0;)
		sink_down(lanes, i);
	return 0;
}

static int deliver_all(struct lanes *lanes, struct sb_error *err)
{
	const struct parcel_target target = {.ledger = lanes->ledger};
	int status = fill_heap(lanes, err);

	while (status >= 0 && lanes->nheap) {
		struct lane *lane = lanes->heap[0];

		status = parcel_deliver_item(lane->open, lane->item++, &target);
		if (status < 0)
			break;
		status = advance(lane, err);
		if (status == 0)
			lanes->heap[0] = lanes->heap[--lanes->nheap];
		if (status >= 0 && lanes->nheap)
			sink_down(lanes, 0);
	}
	return status < 0 ? status : 0;
}

/* ---- The lanes -------------------------------------------------------------------------------- */

static void lane_init(struct lane *lane, struct lanes *lanes, const struct sb_aux_stream *stream)
{
	*lane = (struct lane){.lanes = lanes, .stream = stream, .last = &lane->first};
	lane->packer.context = lane;
	lane->packer.get = get_parcel;
	lane->packer.send = send_parcel;
}

static void free_parcels(struct parcel *parcel)
{
	while (parcel) {
		struct parcel *next = parcel->next;

		parcel_free(parcel);
		parcel = next;
	}
}

static int start(struct lanes *lanes, const struct sb_aux_stream *stream, struct sb_error *err)
{
	for (; lanes->nheap < lanes->count; ++lanes->nheap) {
		struct lane *lane = &lanes->lane[lanes->nheap];

		lane_init(lane, lanes, &stream[lanes->nheap]);
		if (pthread_cond_init(&lane->may_run, NULL))
			break;
		if (pthread_create(&lane->thread, NULL, lane_main, lane) == 0)
			continue;
		pthread_cond_destroy(&lane->may_run);
		break;
	}
	if (lanes->nheap == lanes->count)
		return 0;
	return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "no thread for stream %zu of %zu",
	                    lanes->nheap, lanes->count);
}

/* The @count lanes that were started end. */
static void stop(struct lanes *lanes, size_t count)
{
	pthread_mutex_lock(&lanes->lock);
	lanes->stop = 1;
	for (size_t i = 0; i < count; ++i)
		pthread_cond_signal(&lanes->lane[i].may_run);
	pthread_mutex_unlock(&lanes->lock);
	for (size_t i = 0; i < count; ++i) {
		struct lane *lane = &lanes->lane[i];

		pthread_join(lane->thread, NULL);
		pthread_cond_destroy(&lane->may_run);
		free_parcels(lane->first);
		parcel_free(lane->open);
	}
	free_parcels(lanes->spare);
}

static int add_parts(struct lanes *lanes, size_t count)
{
	int status = 0;

	for (size_t i = 0; i < count; ++i) {
		if (status == 0)
			status = ledger_add_part(lanes->ledger, &lanes->lane[i].part);
		ledger_part_fini(&lanes->lane[i].part);
	}
	return status;
}

static int replay(struct lanes *lanes, const struct sb_aux_stream *stream, struct sb_error *err)
{
	int status = start(lanes, stream, err), added;
	const size_t started = lanes->nheap;

	lanes->nheap = 0;
	if (status == 0)
		status = deliver_all(lanes, err);
	stop(lanes, started);
	added = add_parts(lanes, started);
	return status < 0 ? status : added;
}

int lanes_replay(const struct replay_world *world, const struct sb_aux_stream *stream, size_t count,
                 struct ledger *ledger, unsigned int jobs, struct sb_error *err)
{
	struct lanes lanes = {.world = world, .ledger = ledger, .count = count, .jobs = jobs ? jobs : 1};
	int status = -sbe_nomem;

	if (count > LANES_MAX)
		return sb_error_set(err, -sbe_unsupported, NULL, UINT64_MAX,
		                    "%zu CPUs are too many to put in the order of time: at most %d", count,
		                    LANES_MAX);
	if (pthread_mutex_init(&lanes.lock, NULL))
		return -sbe_nomem;
	if (pthread_cond_init(&lanes.arrived, NULL) == 0) {
		lanes.lane = calloc(count, sizeof(*lanes.lane));
		lanes.heap = calloc(count, sizeof(struct lane *));
		if (lanes.lane && lanes.heap)
			status = replay(&lanes, stream, err);
		free(lanes.heap);
		free(lanes.lane);
		pthread_cond_destroy(&lanes.arrived);
	}
	pthread_mutex_destroy(&lanes.lock);
	return status;
}
