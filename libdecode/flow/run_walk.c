/* run_walk.c - see run_walk.h.
 *
 * A run is made of strides: along as many windows as the run cache knows; or, where it does not know the next
 * one, along one unit of trace, on foot. Behind a unit that was used up, nothing is fetched: the flow stands
 * there without a unit (pt_flow_no_unit), as it does behind a cached path.
 */
#include "flow/run_walk.h"

#include <stdlib.h>
#include <string.h>

#include "event/event_fetch.h"
#include "flow/flow_count.h"
#include "flow/flow_units.h"
#include "flow/run_stride.h"
#include "packet/bytes.h"
#include "packet/packet_form.h"

/* A run must have so much room left for one more unit. */
enum { least_room = 64 };

/* Runs of blocks that are only counted end, too: whoever wants to stop somewhere must be able to. */
enum { most_counted = 1 << 16 };

/* The environment says it for tests and comparisons. */
static void choose_means(struct pt_run_walk *walk)
{
	const char *text = secure_getenv("SBTRACE_RUN_BY");

	if (!text || !*text)
		return;
	walk->chosen = 1;
	walk->chainless_blocks = strcmp(text, "chains") != 0;
	walk->leapless_blocks = strcmp(text, "leaps") != 0;
}

struct pt_run_walk *pt_run_walk_new(struct pt_flow *flow, struct pt_run_block *block)
{
	struct pt_run_walk *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return NULL;
	walk->wanted = pt_run_cache_wanted();
	walk->flow = flow;
	walk->sink.block = block;
	walk->sink.capacity = pt_run_capacity;
	walk->sink.no_fetch = 1;
	choose_means(walk);
	return walk;
}

/* What there is no need of is not made: it takes longer than to replay a short trace. */
int pt_run_walk_prepare(struct pt_run_walk *walk)
{
	if (!walk->sink.counts)
		return walk->cache.entry ? 0 : pt_run_cache_init(&walk->cache, walk->wanted);
	if (walk->wanted && !walk->sink.ways) {
		if (pt_count_cache_init(&walk->ways, walk->wanted) < 0)
			return -pte_nomem;
		walk->sink.ways = &walk->ways;
	}
	return 0;
}

void pt_run_walk_forget(struct pt_run_walk *walk)
{
	if (walk->cache.entry)
		pt_run_cache_clear(&walk->cache);
}

void pt_run_walk_free(struct pt_run_walk *walk)
{
	if (!walk)
		return;
	pt_run_cache_fini(&walk->cache);
	pt_count_cache_fini(&walk->ways);
	free(walk);
}

/* ---- The run ----------------------------------------------------------------------------------- */

static int is_empty(const struct pt_run_walk *walk)
{
	return !walk->npaths && !walk->nevents && !walk->sink.count;
}

static int has_room(const struct pt_run_walk *walk)
{
	return walk->npaths < pt_run_max_paths && walk->nloose < pt_run_max_loose &&
	       walk->nevents <= pt_run_enough_events && walk->ntimes < pt_run_max_times &&
	       walk->sink.count + least_room <= pt_run_capacity && walk->sink.nblocks < most_counted;
}

/* Whether what follows belongs to another run. */
static int has_ended(struct pt_run_walk *walk)
{
	struct pt_flow *flow = walk->flow;

	if (flow->observers.calls != walk->calls)
		return 1;
	if (pt_flow_crosses(flow)) {
		if (!is_empty(walk))
			return 1;
		pt_flow_cross(flow);
		walk->calls = flow->observers.calls;
		if (flow->observers.errcode)
			return 1;
	}
	if (is_empty(walk)) {
		/* What was read up to an event's address may tell a time behind it: a TSC behind OVF. */
		if (!flow->due)
			pt_run_begin_time(walk);
		/* An empty run ends there, too: whoever counts PSBs knows which one the next blocks follow.
		 */
		return flow->reached != walk->reached;
	}
	if (flow->reached != walk->reached || !has_room(walk))
		return 1;
	if (flow->evd.time.tsc == walk->told)
		return 0;
	if (!walk->times_inside)
		return 1;
	if (walk->sink.counts) {
		/* Who counts learns of the last one; what was read up to an event may be behind it. */
		if (flow->due || flow->evd.time.tsc < walk->told ||
		    flow->evd.time.have_tsc != walk->time.has_tsc)
			return 1;
	}
	pt_run_put_time(walk, walk->npaths);
	return 0;
}

static void put_path(struct pt_run_walk *walk, const struct pt_run_path *path)
{
	walk->path[walk->npaths++] = path;
	walk->nblocks += path->nblocks;
	walk->ninsn += path->ninsn;
}

/* Whether the run's last path is made of the sink's blocks right before @first, with no event or time behind
 * it. */
static int goes_on(const struct pt_run_walk *walk, uint32_t first)
{
	const struct pt_run_path *last = walk->nloose ? &walk->loose[walk->nloose - 1] : NULL;

	return last && walk->path[walk->npaths - 1] == last &&
	       last->block + last->nblocks == &walk->sink.block[first] &&
	       !(walk->nevents && walk->event[walk->nevents - 1].path == walk->npaths) &&
	       !(walk->ntimes && walk->times[walk->ntimes - 1].path == walk->npaths);
}

/* Hands out the sink's blocks from @first on as they are, before which it had @before instructions: as a
 * path, or the rest of one. */
static void put_loose(struct pt_run_walk *walk, uint32_t first, uint64_t before)
{
	const uint32_t nblocks = walk->sink.count - first, ninsn = (uint32_t)(walk->sink.ninsn - before);

	if (!nblocks || walk->sink.counts)
		return;
	if (goes_on(walk, first)) {
		walk->loose[walk->nloose - 1].nblocks += nblocks;
		walk->loose[walk->nloose - 1].ninsn += ninsn;
		walk->nblocks += nblocks;
		walk->ninsn += ninsn;
		return;
	}
	walk->loose[walk->nloose] = (struct pt_run_path){
	        .block = &walk->sink.block[first], .nblocks = nblocks, .ninsn = ninsn, .id = ptr_no_id};
	put_path(walk, &walk->loose[walk->nloose++]);
}

/* Whether events may be part of cached paths. */
static uint32_t events_are_plain(const struct pt_run_walk *walk)
{
	return walk->events_inside && !walk->flow->observers.count;
}

/* ---- Recording ---------------------------------------------------------------------------------- */

/* The flow stands before a window that the cache does not know: if it was met often enough, it is recorded
 * now.
 */
static void begin_record(struct pt_run_walk *walk, uint32_t events)
{
	struct pt_flow *flow = walk->flow;
	const uint8_t *pos = flow->evd.pos;
	uint32_t size;
	int64_t place;

	if (flow->evd.config.end - pos < pt_window_max)
		return;
	size = pt_window_of(pt_get64(pos), events);
	place = size ? pt_flow_place(flow, &walk->cache) : -1;
	if (place < 0 || !pt_recorder_begin(&walk->recorder, flow, &walk->cache, (uint32_t)place,
	                                    pt_window_bytes(pt_get64(pos), size), size))
		return;
	walk->recorder.until = pos + size;
	walk->recorder.pads = pt_window_pads(pt_get64(pos), size);
	walk->recording = 1;
	walk->first_block = walk->sink.count;
	walk->first_insn = walk->sink.ninsn;
}

/* The way that was recorded ends here, before @event, if there is one. Returns its path; NULL: it is not one
 * that can be kept. */
static const struct pt_run_entry *end_record(struct pt_run_walk *walk, const struct pt_event *event)
{
	struct pt_run_record *record = &walk->recorder.record;
	struct pt_run_path *path = &record->entry.path;

	walk->recording = 0;
	if ((walk->sink.count > walk->first_block && !walk->sink.section) ||
	    !pt_recorder_pass(&walk->recorder, walk->flow, &walk->cache, &walk->sink.block[walk->first_block],
	                      walk->sink.count - walk->first_block) ||
	    !pt_recorder_end(&walk->recorder, walk->flow, &walk->cache))
		return NULL;
	record->block = &walk->sink.block[walk->first_block];
	record->event = event;
	path->nblocks = walk->sink.count - walk->first_block;
	path->ninsn = (uint32_t)(walk->sink.ninsn - walk->first_insn);
	return pt_run_cache_add(&walk->cache, record, &walk->recorder.before);
}

/* Hands out what was walked since the recording began: as its path, if it became one. */
static void close_record(struct pt_run_walk *walk, const struct pt_event *event)
{
	const uint32_t first = walk->first_block;
	const struct pt_run_entry *entry = end_record(walk, event);

	if (!entry)
		put_loose(walk, first, walk->first_insn);
	else if (entry->path.nblocks)
		put_path(walk, &entry->path);
	if (entry)
		walk->sink.count = first;
}

/* The way is none that can be recorded: what was walked is handed out as it is. */
static void stop_record(struct pt_run_walk *walk)
{
	if (!walk->recording)
		return;
	walk->recording = 0;
	put_loose(walk, walk->first_block, walk->first_insn);
}

/* ---- On foot ------------------------------------------------------------------------------------ */

/* Takes the event that is due, and leaves the flow behind it, without a unit if it was the last of its
 * packet.
 */
static int take_event(struct pt_run_walk *walk)
{
	struct pt_flow *flow = walk->flow;
	struct pt_event event;
	int status = pt_flow_take_event(flow, &event);

	if (status < 0) {
		stop_record(walk);
		return status;
	}
	if (event.type == ptev_enabled || event.type == ptev_disabled) {
		if (walk->recording)
			close_record(walk, &event);
	} else {
		stop_record(walk);
	}
	pt_run_put_event(walk, &event, walk->npaths);
	return 0;
}

/* Goes on foot until the unit is used up, an event is due, or the run must end. Positive: it must. */
static int walk_unit(struct pt_run_walk *walk)
{
	struct pt_flow *flow = walk->flow;
	struct pt_flow_sink *sink = &walk->sink;
	const uint32_t before = sink->count;
	const uint64_t ninsn = sink->ninsn;
	int status;

	flow->at_mov_cr3 = 0;
	sink->started = walk->npaths || walk->nevents;
	status = pt_flow_walk(flow, sink);
	if (sink->count != before)
		flow->entry_flags = 0;
	if (!walk->recording)
		put_loose(walk, before, ninsn);
	else if (status < 0 || (flow->unit != pt_flow_no_unit && !flow->due))
		stop_record(walk);
	else if (!flow->due && flow->evd.pos >= walk->recorder.until)
		close_record(walk, NULL);
	if (status < 0)
		return status;
	/* Blocks of a scratch node come last in a run; so do those before a section too many. */
	return flow->unit != pt_flow_no_unit && !flow->due && !flow->tick_is_due;
}

/* Reads what stands before the next unit, and is no event, as far as the run lasts. Returns whether there was
 * something. */
static int read_timing(struct pt_run_walk *walk)
{
	struct pt_evd *evd = &walk->flow->evd;
	const uint8_t *const begin = evd->pos;

	if (!walk->flow->observers.count && is_empty(walk))
		return pt_evd_pass_timing(evd);
	/* What cannot be read is left to whoever fetches the next unit. */
	while (pt_evd_pass_one_timing(evd) && !has_ended(walk))
		;
	return evd->pos != begin;
}

/* Through the units that begin before @until, as far as they are common ones. Returns whether there were any.
 */
static int walk_units(struct pt_run_walk *walk, const uint8_t *until)
{
	const uint32_t before = walk->sink.count;
	const uint64_t ninsn = walk->sink.ninsn;

	if (!walk->flow->enabled)
		return 0;
	if (walk->sink.counts)
		return pt_flow_count_units(walk->flow, &walk->sink, until);
	if (!pt_flow_walk_units(walk->flow, &walk->sink, until))
		return 0;
	put_loose(walk, before, ninsn);
	return 1;
}

/* Whether the packet at @pos is neither part of a window nor about time: FUP, MODE, and the like. */
static int is_other_at(const uint8_t *pos, const uint8_t *end)
{
	return pos < end && !pt_window_packet[*pos] && *pos != pt_packet_extended;
}

/* Without a unit: along cached paths, or the next units are walked, or the next one is fetched. */
static void go_on(struct pt_run_walk *walk)
{
	struct pt_flow *flow = walk->flow;

	if (!walk->recording && !is_other_at(flow->evd.pos, flow->evd.config.end) && pt_flow_is_plain(flow)) {
		const uint32_t events = events_are_plain(walk);

		pt_flow_look_at_image(flow);
		if (walk->asks_cache ? pt_run_stride(walk, events) : walk_units(walk, flow->evd.config.end))
			return;
		/* Where runs end because time goes on does not depend on the cache. */
		if (read_timing(walk))
			return;
		if (walk->asks_cache)
			begin_record(walk, events);
	}
	pt_flow_advance(flow);
}

static int fill(struct pt_run_walk *walk)
{
	struct pt_flow *flow = walk->flow;

	while (!has_ended(walk)) {
		int status = 0;

		if (flow->due || flow->tick_is_due) {
			if (!walk->events_inside) {
				stop_record(walk);
				break;
			}
			status = take_event(walk);
		} else if (flow->unit == pt_flow_no_unit) {
			go_on(walk);
		} else {
			status = walk_unit(walk);
		}
		if (status)
			return status < 0 ? status : 0;
	}
	return 0;
}

/* Whether the cache is asked in the next run. Where code is not run again and again, or images come and go,
 * asking costs more than it saves: then it is left alone for a while. */
static uint8_t cache_is_asked(struct pt_run_walk *walk)
{
	enum { enough_misses = 2048, hits_per_miss = 4, idle_blocks = 1 << 16, most_idles = 8 };

	if (walk->idle_blocks > walk->nblocks) {
		walk->idle_blocks -= walk->nblocks;
		return 0;
	}
	walk->idle_blocks = 0;
	if (walk->misses >= enough_misses) {
		/* What comes again will soon be known. */
		const uint32_t again = walk->cache.seen_again;
		const uint32_t news = walk->misses > again ? walk->misses - again : 0;

		if (walk->hits < hits_per_miss * news) {
			walk->idle_blocks = (uint32_t)idle_blocks << walk->idles;
			walk->idles += walk->idles < most_idles;
		} else {
			walk->idles = 0;
		}
		walk->hits = walk->misses = walk->cache.seen_again = 0;
	}
	return walk->cache.limit && !walk->idle_blocks;
}

/* Chains, too, are left alone for a while where most do not go on as they did, or hardly any come about. Then
 * leaps are tried, and if these do not help, either, nothing but single windows. */
static void look_at_chains(struct pt_run_walk *walk)
{
	enum {
		enough = 4096,
		misses_per_hit = 2,
		enough_lone = 1 << 15,
		lone_per_chain = 16,
		chainless_blocks = 1 << 22
	};
	const uint32_t met = walk->chain_hits + walk->chain_misses;

	if (walk->chainless_blocks > walk->nblocks) {
		walk->chainless_blocks -= walk->nblocks;
		return;
	}
	walk->chainless_blocks = 0;
	if (met < enough && walk->lone < enough_lone)
		return;
	if (walk->chain_misses > misses_per_hit * walk->chain_hits || lone_per_chain * met < walk->lone)
		walk->chainless_blocks = chainless_blocks;
	walk->chain_hits = walk->chain_misses = walk->lone = 0;
}

static void look_at_leaps(struct pt_run_walk *walk)
{
	enum { enough = 4096, misses_per_leap = 16, other_blocks = 1 << 22 };
	const uint32_t count = walk->cache.leaps ? walk->cache.leaps->count : 0;
	const uint32_t news = count > walk->leaps_before ? count - walk->leaps_before : 0;

	if (walk->leapless_blocks > walk->nblocks) {
		walk->leapless_blocks -= walk->nblocks;
		return;
	}
	walk->leapless_blocks = 0;
	if (walk->leap_hits + walk->leap_misses < enough)
		return;
	/* What was met twice will be known. */
	if (walk->leap_misses > walk->leap_hits + misses_per_leap * news)
		walk->leapless_blocks = other_blocks;
	else
		walk->chainless_blocks = other_blocks;
	walk->leap_hits = walk->leap_misses = 0;
	walk->leaps_before = count;
}

/* A new run begins. */
static void begin_run(struct pt_run_walk *walk)
{
	struct pt_flow *flow = walk->flow;

	if (!walk->chosen) {
		look_at_chains(walk);
		look_at_leaps(walk);
	}
	walk->asks_cache = !walk->sink.counts && cache_is_asked(walk);
	if (walk->cache.full)
		pt_run_cache_clear(&walk->cache);
	walk->npaths = walk->nloose = walk->nevents = walk->ntimes = 0;
	walk->nblocks = 0;
	walk->ninsn = 0;
	pt_run_begin_time(walk);
	walk->calls = flow->observers.calls;
	walk->reached = flow->reached;
	walk->recording = 0;
	pt_flow_begin_sink(flow, &walk->sink);
}

int pt_run_walk_next(struct pt_run_walk *walk)
{
	struct pt_flow *flow = walk->flow;
	int status, errcode;

	begin_run(walk);
	if (flow->status < 0)
		return flow->status;
	if ((flow->due || flow->tick_is_due) && !walk->events_inside)
		return -pte_bad_query;
	if (!flow->due)
		flow->at_mov_cr3 = 0;
	flow->at_start = 0;
	pt_flow_look_at_image(flow);
	pt_flow_give_unit_back(flow);
	status = fill(walk);
	if (walk->recording)
		stop_record(walk);
	errcode = pt_observers_take_error(&flow->observers);
	if (status < 0) {
		flow->status = status;
		return status;
	}
	if (errcode < 0)
		return errcode;
	/* What comes next may be fetched only when the one has been told who is to be told first. */
	return pt_flow_crosses(flow) && !flow->due && !flow->tick_is_due ? 0 : pt_flow_status(flow);
}
