/* run_stride.c - see run_stride.h.
 *
 * Where a window leads is mostly what was behind the one before when that came last: it is compared with what
 * is there, and only if it differs, the run cache is asked.
 */
#include "flow/run_stride.h"

#include "event/event_fetch.h"
#include "event/event_packets.h"
#include "packet/bytes.h"

/* What takes part in a stride is inlined, which is kept in registers then. */
#define inlined static inline __attribute__((always_inline))

/* The flags of the next block, as pt_blk_next() would tell them: of events that no block came behind.
 * @before: the paths of the run before the stride. */
static void stride_ended(struct pt_run_walk *walk, uint32_t before, uint32_t events)
{
	struct pt_flow *flow = walk->flow;

	if (walk->npaths != before)
		flow->entry_flags = 0;
	for (uint32_t i = walk->nevents; events && i-- && walk->event[i].path == walk->npaths;) {
		const struct pt_event *event = &walk->event[i].event;

		if (event->type != ptev_enabled || event->status_update)
			continue;
		flow->entry_flags |= pt_flow_enabled;
		if (event->variant.enabled.resumed)
			flow->entry_flags |= pt_flow_resumed;
	}
}

/* Time may have gone on behind the run's first @npaths paths. */
inlined void tell_time(struct pt_run_walk *walk, uint32_t npaths)
{
	if (walk->flow->evd.time.tsc == walk->told)
		return;
	if (npaths || walk->nevents)
		pt_run_put_time(walk, npaths);
	else
		pt_run_begin_time(walk);
}

/* CYCs whose time nobody has asked for yet: see struct pt_run_walk. */
static void end_lump(struct pt_run_walk *walk)
{
	if (!walk->lump.cycles)
		return;
	pt_evd_pass_cycles(&walk->flow->evd, walk->lump.cycles);
	tell_time(walk, walk->lump.npaths);
	walk->lump.cycles = 0;
}

/* An event that is part of a path gets its time from the moment. */
static __attribute__((noinline)) void put_cached_event(struct pt_run_walk *walk, const struct pt_event *event,
                                                       uint32_t npaths)
{
	end_lump(walk);
	pt_run_put_event(walk, event, npaths);
	pt_evd_set_event_time(&walk->flow->evd, &walk->event[walk->nevents - 1].event);
}

/* Nobody listens: time may pass inside of the run, behind its first @npaths paths. Returns how many bytes of
 * such packets and PADs there are at @pos, by @pass. */
static __attribute__((noinline)) size_t pass_time_by(struct pt_run_walk *walk, const uint8_t *pos,
                                                     uint32_t npaths, int (*pass)(struct pt_evd *evd))
{
	struct pt_evd *evd = &walk->flow->evd;

	end_lump(walk);
	evd->pos = pos;
	(void)pass(evd);
	tell_time(walk, npaths);
	return (size_t)(evd->pos - pos);
}

/* An MTC, and what stands before another one that follows soon; the time of the CYCs before it is its own.
 * Zero: something else. */
static __attribute__((noinline)) size_t pass_mtc(struct pt_run_walk *walk, const uint8_t *pos,
                                                 uint32_t npaths)
{
	struct pt_evd *evd = &walk->flow->evd;

	evd->pos = pos;
	if (!pt_evd_pass_due_mtc(evd, walk->lump.cycles))
		return pass_time_by(walk, pos, npaths, pt_evd_pass_mtc);
	walk->lump.cycles = 0;
	tell_time(walk, npaths);
	return (size_t)(evd->pos - pos);
}

/* Behind a CYC, rows of them are looked for in so many strides. */
enum { rows_strides = 16 };

/* Whether CYCs may be summed up, behind the run's first @npaths paths, if only the last time of a run is
 * asked for. Those that are lost are counted, each of them. */
inlined int can_lump(const struct pt_run_walk *walk, uint32_t npaths)
{
	return (npaths || walk->nevents) && walk->flow->evd.time.ratio;
}

inlined int may_lump(const struct pt_run_walk *walk, uint32_t npaths)
{
	return walk->last_time && can_lump(walk, npaths);
}

inlined size_t pass_time(struct pt_run_walk *walk, const uint8_t *pos, uint32_t npaths)
{
	return pass_time_by(walk, pos, npaths, pt_evd_pass_timing);
}

/* The cycles of a short CYC that @word begins with are summed up. Returns its size; zero: it is something
 * else. */
inlined uint32_t lump_cyc(struct pt_run_walk *walk, uint64_t word, uint32_t npaths)
{
	const uint32_t size = pt_cyc_size(word);

	if (!size)
		return 0;
	walk->has_rows = rows_strides;
	walk->lump.cycles += pt_cyc_cycles(word, size);
	walk->lump.npaths = npaths;
	return size;
}

/* As pass_time() where @word begins with one short CYC alone; zero: with something else. */
inlined uint32_t pass_cyc(struct pt_run_walk *walk, uint64_t word, uint32_t npaths)
{
	const uint32_t size = pt_cyc_size(word);
	uint8_t next;

	if (size && may_lump(walk, npaths))
		return lump_cyc(walk, word, npaths);
	next = (uint8_t)(word >> 8 * size);
	if (!size || !next || pt_may_be_timing(next))
		return 0;
	pt_evd_pass_cyc(&walk->flow->evd, word, size);
	tell_time(walk, npaths);
	return size;
}

/* What a stride has come to, until it ends. */
struct stride {
	const uint8_t *pos, *end;
	uint64_t last; /* IP */
	uint64_t ninsn;
	uint32_t place, npaths, nblocks, flags;
};

static void begin_stride(struct stride *stride, const struct pt_run_walk *walk, uint32_t place)
{
	const struct pt_evd *evd = &walk->flow->evd;

	*stride = (struct stride){.pos = evd->pos,
	                          .end = evd->config.end,
	                          .last = evd->last.ip,
	                          .place = place,
	                          .npaths = walk->npaths};
}

/* The flow comes to where the stride ends. */
static void end_stride(struct pt_run_walk *walk, const struct stride *stride, uint32_t start, uint32_t events)
{
	struct pt_flow *flow = walk->flow;
	const uint32_t before = walk->npaths;

	end_lump(walk);
	walk->npaths = stride->npaths;
	walk->nblocks += stride->nblocks;
	walk->ninsn += stride->ninsn;
	flow->evd.packet = flow->evd.pos = stride->pos;
	flow->evd.last.ip = stride->last;
	if (stride->flags & pt_entry_address) {
		flow->named_ip = stride->last;
		flow->evd.last.valid = 1;
		flow->evd.last.suppressed = 0;
	}
	stride_ended(walk, before, events);
	if (stride->place != start)
		pt_flow_stand_at(flow, &walk->cache.place[stride->place]);
	walk->cache.place_here = stride->place;
	if (events)
		flow->observers.state = flow->enabled ? ptds_enabled : ptds_disabled;
}

inlined void go_along(struct pt_run_walk *walk, struct stride *stride, const struct pt_run_entry *entry)
{
	if (entry->flags & pt_entry_effect)
		pt_stack_effect_apply(&entry->extra->effect, &walk->flow->returns);
	stride->pos += entry->size;
	stride->place = entry->place_after;
	stride->last = entry->flags & pt_entry_address ? entry->last : stride->last;
	stride->flags |= entry->flags;
	stride->ninsn += entry->path.ninsn;
	stride->nblocks += entry->path.nblocks;
	walk->path[stride->npaths] = &entry->path;
	stride->npaths += entry->path.nblocks != 0;
	if (entry->flags & pt_entry_event)
		put_cached_event(walk, &entry->extra->event, stride->npaths);
}

/* The chain that begins with @entry and goes on here, and fits into what is left of the run; NULL: there is
 * none.
 */
inlined const struct pt_run_chain *find_chain(struct pt_run_walk *walk, const struct stride *stride,
                                              const struct pt_run_entry *entry, uint32_t events)
{
	const struct pt_flow *flow = walk->flow;
	const struct pt_run_chain *chain;

	if (!entry->chain)
		return NULL;
	chain = pt_chain_find(&walk->cache, entry, stride->pos, (size_t)(stride->end - stride->pos),
	                      stride->last, &flow->returns);
	if (chain && (events || !chain->nevents) && stride->npaths + chain->npaths <= pt_run_max_paths &&
	    walk->nevents + chain->nevents <= pt_run_max_events) {
		walk->chain_hits += 1;
		return chain;
	}
	walk->chain_misses += 1;
	return NULL;
}

inlined void go_along_chain(struct pt_run_walk *walk, struct stride *stride, const struct pt_run_chain *chain)
{
	if (chain->effect)
		pt_stack_effect_apply(chain->effect, &walk->flow->returns);
	for (uint32_t i = 0; i < chain->nevents; ++i)
		put_cached_event(walk, chain->event[i].event, stride->npaths + chain->event[i].paths);
	for (uint32_t i = 0; i < chain->npaths; ++i)
		walk->path[stride->npaths + i] = chain->path[i];
	stride->pos += chain->size;
	stride->place = chain->place_after;
	stride->last = chain->flags & pt_entry_address ? chain->last : stride->last;
	stride->flags |= chain->flags;
	stride->ninsn += chain->ninsn;
	stride->nblocks += chain->nblocks;
	stride->npaths += chain->npaths;
}

/* Its events, which get their time from the moment. */
static __attribute__((noinline)) void put_leap_events(struct pt_run_walk *walk,
                                                      const struct pt_leap_rest *rest, uint32_t nevents,
                                                      uint32_t npaths)
{
	const union pt_leap_word *const event = rest->word + rest->npop + rest->npush;
	struct pt_run_event *put = &walk->event[walk->nevents];

	end_lump(walk);
	walk->nevents += nevents;
	for (uint32_t i = 0; i < nevents; ++i, ++put) {
		put->path = npaths + rest->paths[i];
		put->reserved = 0;
		memcpy(&put->event, event[i].event, sizeof(put->event));
		pt_evd_set_event_time(&walk->flow->evd, &put->event);
	}
}

inlined void go_along_rest(struct pt_run_walk *walk, const struct pt_leap_rest *rest)
{
	pt_return_stack_change(&walk->flow->returns, rest->npop, &rest->word[rest->npop].ip, rest->npush,
	                       rest->rise);
}

/* All that a leap may have: that is faster than to count. */
inlined void put_paths(const struct pt_run_path **path, const struct pt_run_entry *entry,
                       const uint16_t *number)
{
	_Static_assert(pt_leap_parts == 8, "each by itself: a loop takes twice as long");
#define PUT(i) path[i] = &entry[number[i]].path
	PUT(0), PUT(1), PUT(2), PUT(3), PUT(4), PUT(5), PUT(6), PUT(7);
#undef PUT
}

inlined void go_along_leap(struct pt_run_walk *walk, struct stride *stride, const struct pt_run_leap *leap)
{
	const struct pt_leap_rest *const rest = pt_leap_rest_of(walk->cache.leaps, leap);

	if (leap->rest)
		go_along_rest(walk, rest);
	if (leap->nevents)
		put_leap_events(walk, rest, leap->nevents, stride->npaths);
	put_paths(&walk->path[stride->npaths], walk->cache.entry, leap->path);
	stride->pos += leap->size;
	stride->place = leap->place_after;
	stride->last = leap->flags & pt_entry_address ? leap->last : stride->last;
	stride->flags |= leap->flags;
	stride->ninsn += leap->ninsn;
	stride->nblocks += leap->nblocks;
	stride->npaths += leap->npaths;
}

/* Whether there is room for what a window brings, if only the last time of a run is asked for. */
inlined int has_room_for_rows(const struct pt_run_walk *walk, const struct stride *stride)
{
	return stride->npaths < pt_run_max_paths && walk->nevents <= pt_run_enough_events;
}

/* The same, with every time. */
inlined int has_room(const struct pt_run_walk *walk, const struct stride *stride)
{
	return has_room_for_rows(walk, stride) && walk->ntimes < pt_run_max_times;
}

/* What is likely to come next, if it does; NULL: something else. */
inlined const struct pt_run_entry *guess(struct pt_run_walk *walk, const struct stride *stride, uint64_t word,
                                         uint32_t events)
{
	const struct pt_run_entry *entry = pt_run_cache_guess(&walk->cache);

	if ((!events && (entry->flags & pt_entry_event)) ||
	    !pt_run_cache_leads(&walk->cache, entry, stride->place, word, stride->pos, stride->last,
	                        &walk->flow->returns, stride->end))
		return NULL;
	pt_run_cache_note(&walk->cache, entry, 1);
	return entry;
}

/* Over what is no part of any window: PADs, and what is about time, if events may be inside of runs. Zero: it
 * must be read on foot. */
inlined size_t pass_none(struct pt_run_walk *walk, uint64_t word, const uint8_t *pos, uint32_t npaths,
                         uint32_t events)
{
	size_t size;

	if (!(word & 0xff))
		return pt_window_pads(word, 0);
	if (!events)
		return 0;
	size = pass_cyc(walk, word, npaths);
	return size ? size : pass_time(walk, pos, npaths);
}

/* Follows what is guessed as long as it is right, without chains. This is where most time goes if they do not
 * help: nothing else is done here. Returns whether the stride must end there. */
inlined int follow(struct pt_run_walk *walk, struct stride *stride, uint32_t events)
{
	enum { room = 16 };
	const uint8_t *const end = stride->end, *last;
	struct stride at = *stride;
	uint32_t hits = 0, crosses = 0;

	if (!walk->cache.npaths || end - at.pos < room)
		return 0;
	last = end - room;
	while (at.pos <= last && at.npaths < pt_run_max_paths) {
		const uint64_t word = pt_get64(at.pos);
		const struct pt_run_entry *entry;

		if (pt_window_packet[word & 0xff] & pt_window_none) {
			const size_t size = pass_none(walk, word, at.pos, at.npaths, events);

			if (!size)
				break;
			at.pos += size;
			if (walk->ntimes == pt_run_max_times)
				break;
			continue;
		}
		entry = guess(walk, &at, word, events);
		if (!entry)
			break;
		hits += 1;
		go_along(walk, &at, entry);
		if (entry->flags & (pt_entry_crosses | pt_entry_event)) {
			crosses = entry->flags & pt_entry_crosses;
			if (crosses || walk->nevents > pt_run_enough_events)
				break;
		}
	}
	walk->hits += hits;
	*stride = at;
	return crosses || !has_room(walk, stride);
}

/* Goes along leaps as long as they are known. Returns whether the stride must end there. */
inlined int follow_leaps(struct pt_run_walk *walk, struct stride *stride, uint32_t events)
{
	const struct pt_flow *flow = walk->flow;
	const uint8_t *const end = stride->end, *last;
	struct stride at = *stride;
	uint32_t count = 0;

	if (walk->noting || end - at.pos < pt_leap_most)
		return 0;
	last = end - pt_leap_most;
	while (at.pos <= last && at.npaths + pt_leap_parts <= pt_run_max_paths &&
	       walk->nevents <= pt_run_enough_events) {
		const struct pt_run_leap *leap;

		if (!*at.pos) {
			at.pos += pt_window_pads(pt_get64(at.pos), 0);
			continue;
		}
		if (!(pt_window_packet[*at.pos] & pt_window_size))
			break;
		leap = pt_leap_find(&walk->cache, at.place, at.pos, at.last, &flow->returns);
		if (!leap) {
			walk->leap_misses += 1;
			walk->noting = 1;
			break;
		}
		if (!events && leap->nevents)
			break;
		count += 1;
		go_along_leap(walk, &at, leap);
	}
	walk->leap_hits += count;
	walk->hits += at.npaths - stride->npaths;
	*stride = at;
	return !has_room(walk, stride);
}

/* Makes what is needed for leaps. Zero: there is no memory. */
static int have_leaps(struct pt_run_cache *cache)
{
	if (!cache->leaps)
		cache->leaps = pt_leaps_new(cache->limit < UINT16_MAX ? cache->limit : UINT16_MAX);
	return cache->leaps != NULL;
}

/* What helps beside single windows. */
enum stride_by { by_chains, by_leaps, by_windows, by_rows };

/* What was found so far does not go on. */
inlined void end_list(struct pt_run_walk *walk, enum stride_by by)
{
	if (by == by_chains)
		pt_chain_close(&walk->cache, &walk->list);
	else if (by == by_leaps)
		walk->list.count = walk->noting = 0;
}

/* Whether the stride must end where those end that need not go through go_along_next(). */
inlined int follow_others(struct pt_run_walk *walk, struct stride *stride, uint32_t events, enum stride_by by)
{
	return by == by_leaps     ? follow_leaps(walk, stride, events)
	       : by == by_windows ? follow(walk, stride, events)
	                          : 0;
}

/* The path along the window of @size bytes; NULL: it is not known. */
inlined const struct pt_run_entry *look_up(struct pt_run_walk *walk, const struct stride *stride,
                                           uint32_t size)
{
	const struct pt_run_entry *entry = pt_run_cache_find(&walk->cache, stride->place, stride->pos, size,
	                                                     stride->last, &walk->flow->returns, stride->end);

	if (entry)
		pt_run_cache_note(&walk->cache, entry, 0);
	return entry;
}

/* The same; @size may be zero: there is no window. */
inlined const struct pt_run_entry *find_entry(struct pt_run_walk *walk, const struct stride *stride,
                                              uint32_t size)
{
	const struct pt_run_entry *entry = size ? look_up(walk, stride, size) : NULL;

	walk->misses += size && !entry;
	return entry;
}

/* Along @entry, or what begins with it. */
inlined void go_along_any(struct pt_run_walk *walk, struct stride *stride, const struct pt_run_entry *entry,
                          uint32_t events, enum stride_by by)
{
	const struct pt_run_chain *chain = by == by_chains ? find_chain(walk, stride, entry, events) : NULL;

	walk->hits += 1;
	if (chain) {
		pt_chain_note(&walk->cache, &walk->list, entry, chain, stride->pos);
		walk->hits += chain->npaths;
		go_along_chain(walk, stride, chain);
		return;
	}
	if (by == by_chains) {
		pt_chain_note(&walk->cache, &walk->list, entry, NULL, stride->pos);
		walk->lone += 1;
	} else if (walk->noting) {
		walk->noting = pt_leap_note(&walk->cache, &walk->list, entry, stride->pos, stride->end);
	}
	go_along(walk, stride, entry);
}

/* Along @row, TNT by TNT; the list tells how far its paths are known. */
static __attribute__((noinline)) void follow_row(struct pt_run_walk *walk, struct stride *stride,
                                                 const struct pt_cyc_row *row)
{
	const uint8_t *const pos = stride->pos, *const end = stride->end;
	uint8_t byte[2 * pt_window_max];

	/* No window goes on with an MTC. */
	memset(byte, pt_packet_mtc, sizeof(byte));
	pt_put(byte, row->bytes, row->count);
	stride->pos = byte;
	stride->end = byte + sizeof(byte);
	while (walk->list.count < row->count && has_room(walk, stride)) {
		/* One that is not known is asked for again, and counted then. */
		const struct pt_run_entry *entry = look_up(walk, stride, 1);

		if (!entry)
			break;
		pt_chain_append(&walk->list, entry, NULL, stride->pos, stride->pos + 1);
		go_along(walk, stride, entry);
		if (entry->flags & pt_entry_crosses)
			break;
	}
	stride->pos = pos;
	stride->end = end;
}

/* Along as much of @row as is known, TNT by TNT. Returns how much that is; *last: how many paths the last one
 * brought. */
static __attribute__((noinline)) uint32_t learn_row(struct pt_run_walk *walk, struct stride *stride,
                                                    const struct pt_cyc_row *row, uint32_t *last)
{
	uint32_t known;

	follow_row(walk, stride, row);
	known = walk->list.count;
	if (!known)
		return 0;
	*last = walk->list.item[known - 1].entry->path.nblocks != 0;
	pt_leap_note_row(&walk->cache, &walk->list, row);
	return known;
}

/* Over a row, whose CYCs are summed up. Zero: there is none, or it is not known. */
inlined int pass_row(struct pt_run_walk *walk, struct stride *stride)
{
	const uint32_t npaths = stride->npaths;
	const struct pt_run_leap *leap;
	struct pt_cyc_row row;
	uint32_t last = 1;

	if (npaths + pt_leap_parts > pt_run_max_paths)
		return 0;
	leap = pt_leap_guess_row(&walk->cache, stride->place, stride->pos, stride->end, &walk->flow->returns,
	                         &row);
	if (!leap) {
		row = pt_cyc_row_at(stride->pos, stride->end);
		if (row.count < 2)
			return 0;
		leap = pt_leap_find_row(&walk->cache, stride->place, &row, &walk->flow->returns);
	}
	if (leap) {
		go_along_leap(walk, stride, leap);
	} else {
		const uint32_t known = learn_row(walk, stride, &row, &last);

		if (!known)
			return 0;
		if (known < row.count)
			row = pt_cyc_row_first(stride->pos, known);
	}
	stride->pos = row.end;
	walk->hits += stride->npaths - npaths;
	walk->has_rows = rows_strides;
	walk->lump.cycles += row.cycles;
	walk->lump.npaths = stride->npaths - last;
	return 1;
}

/* Over what is about time; zero: it must be read on foot. */
inlined int step_time(struct pt_run_walk *walk, struct stride *stride, uint64_t word, enum stride_by by)
{
	size_t size;

	if (pt_cyc_size(word) && may_lump(walk, stride->npaths))
		walk->has_rows = rows_strides;
	size = pass_time(walk, stride->pos, stride->npaths);
	if (size)
		end_list(walk, by);
	stride->pos += size;
	return size != 0;
}

/* Along the window that @word begins with; zero: the stride ends. */
inlined int step_window(struct pt_run_walk *walk, struct stride *stride, uint64_t word, uint32_t events,
                        enum stride_by by)
{
	const struct pt_run_entry *entry =
	        by != by_windows && walk->cache.npaths ? guess(walk, stride, word, events) : NULL;

	if (!entry && !(word & 0xff)) {
		stride->pos += pt_window_pads(word, 0);
		return 1;
	}
	if (!entry)
		entry = find_entry(walk, stride, pt_window_of(word, events));
	if (!entry)
		return 0;
	go_along_any(walk, stride, entry, events, by);
	return !(entry->flags & pt_entry_crosses);
}

/* One step; zero: the stride ends. */
inlined int step(struct pt_run_walk *walk, struct stride *stride, uint32_t events, enum stride_by by)
{
	uint64_t word;

	if (follow_others(walk, stride, events, by) || stride->end - stride->pos < pt_window_max)
		return 0;
	word = pt_get64(stride->pos);
	return events && pt_may_be_timing((uint8_t)word) ? step_time(walk, stride, word, by)
	                                                 : step_window(walk, stride, word, events, by);
}

/* What is about time but no CYC, where these are summed up. Zero: it must be read on foot, or the ratio of
 * their cycles to time is lost with it. */
inlined int step_over_time(struct pt_run_walk *walk, struct stride *stride, uint64_t word)
{
	size_t size;

	if ((uint8_t)word != pt_packet_mtc)
		return step_time(walk, stride, word, by_rows) && walk->flow->evd.time.ratio;
	/* CYCs behind it may be the row's. */
	size = pass_mtc(walk, stride->pos, stride->npaths);
	stride->pos += size;
	return size && walk->flow->evd.time.ratio;
}

/* The same where CYCs are summed up: over rows, one behind the other; and a CYC, with what it stands before.
 */
inlined int step_by_rows(struct pt_run_walk *walk, struct stride *stride)
{
	uint64_t word = pt_get64(stride->pos);

	while (pt_cyc_row_may_begin(word) && pass_row(walk, stride)) {
		if (stride->flags & pt_entry_crosses || !has_room_for_rows(walk, stride) ||
		    stride->end - stride->pos < pt_window_max)
			return 0;
		word = pt_get64(stride->pos);
	}
	if (pt_is_cyc((uint32_t)word)) {
		const uint32_t size = lump_cyc(walk, word, stride->npaths);

		stride->pos += size;
		if (!size || stride->end - stride->pos < pt_window_max)
			return size || step_time(walk, stride, word, by_rows);
		word = pt_get64(stride->pos);
	}
	return pt_may_be_timing((uint8_t)word) ? step_over_time(walk, stride, word)
	                                       : step_window(walk, stride, word, 1, by_rows);
}

inlined void go_along_all(struct pt_run_walk *walk, struct stride *stride, uint32_t events, enum stride_by by)
{
	while (by != by_rows || !can_lump(walk, stride->npaths))
		if (!has_room(walk, stride) || !step(walk, stride, events, by))
			return;
	while (has_room_for_rows(walk, stride) && stride->end - stride->pos >= pt_window_max &&
	       step_by_rows(walk, stride))
		continue;
}

/* Goes along what is known from @start on, by the means given. Returns whether there was anything. */
inlined int stride_by(struct pt_run_walk *walk, uint32_t start, uint32_t events, enum stride_by by)
{
	struct pt_flow *flow = walk->flow;
	const uint8_t *const begin = flow->evd.pos;
	struct stride stride;

	begin_stride(&stride, walk, start);
	go_along_all(walk, &stride, events, by);
	end_list(walk, by);
	if (stride.pos == begin && flow->evd.pos == begin)
		return 0;
	end_stride(walk, &stride, start, events);
	return 1;
}

/* Functions of their own: each keeps what it needs in registers. */

static int stride_by_chains(struct pt_run_walk *walk, uint32_t start, uint32_t events)
{
	return stride_by(walk, start, events, by_chains);
}

static __attribute__((noinline)) int stride_by_leaps(struct pt_run_walk *walk, uint32_t start,
                                                     uint32_t events)
{
	return stride_by(walk, start, events, by_leaps);
}

static __attribute__((noinline)) int stride_by_windows(struct pt_run_walk *walk, uint32_t start,
                                                       uint32_t events)
{
	return stride_by(walk, start, events, by_windows);
}

static __attribute__((noinline)) int stride_by_rows(struct pt_run_walk *walk, uint32_t start)
{
	walk->has_rows -= 1; /* unless there are */
	return stride_by(walk, start, 1, by_rows);
}

int pt_run_stride(struct pt_run_walk *walk, uint32_t events)
{
	const int64_t start = pt_flow_place(walk->flow, &walk->cache);

	if (start < 0)
		return 0;
	if (events && walk->has_rows && walk->last_time && have_leaps(&walk->cache))
		return stride_by_rows(walk, (uint32_t)start);
	if (!walk->chainless_blocks)
		return stride_by_chains(walk, (uint32_t)start, events);
	if (!walk->leapless_blocks && have_leaps(&walk->cache))
		return stride_by_leaps(walk, (uint32_t)start, events);
	return stride_by_windows(walk, (uint32_t)start, events);
}
