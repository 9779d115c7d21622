/* cr3_learn.c - see cr3_map.h: learning.
 *
 * First all stretches of user space are gathered, per CPU and CR3, into uses: as long as somebody has code at
 * all that was executed, and nobody of them has ended, behind whom the page tables may have come to another
 * process. Then those of all CPUs are joined. Last, each use gets its owner: the process that alone can have
 * been it, or that the records name. An owner has the CR3, and no other one, as long as its space lasts; and
 * so it may come out whose another use is: again and again, until nothing new comes out.
 */
#include <stdlib.h>
#include <string.h>

#include "replay/cr3_map.h"
#include "replay/switch_track.h"
#include "replay/user_stretch.h"
#include "system/arena.h"
#include "system/schedule.h"
#include "system/system.h"

/* Records name a process when so many times as many name it as name others. */
enum { VOTES_MORE = 4 };

/* Somebody was seen on a CPU while one of these pages of page tables was in force. */
struct sighting {
	uint64_t time;
	int32_t pid;
	uint32_t ncr3s; /* more than there is room for: too many to tell */
	uint64_t cr3[2];
};

struct sightings {
	struct sighting *of; /* owned */
	size_t count, capacity;
};

/* One stream's stretches. */
struct gathering {
	struct cr3_map *map;
	struct sightings *sightings;
	size_t sighting;              /* the next one */
	const struct sb_sched *sched; /* of the CPU */
	size_t nscheds;
	struct key_table cr3s;
	struct open_use {
		size_t use;         /* of the CR3 with that number; SIZE_MAX: none */
		size_t voted_sched; /* the last entry that counted; SIZE_MAX: none */
	} * open;                   /* owned */
	size_t capacity;
	struct isolation {
		uint64_t stretches, flips, others;
	} isolation;
};

/* ---- Votes ------------------------------------------------------------------------------------ */

static void add_votes(struct cr3_use *use, int32_t pid, uint32_t count)
{
	for (uint32_t i = 0; i < use->nvotes; ++i)
		if (use->vote[i].pid == pid) {
			use->vote[i].count += count;
			return;
		}
	if (use->nvotes < CR3_PIDS_MAX)
		use->vote[use->nvotes++] = (struct cr3_vote){pid, count};
	else
		use->other_votes += count;
}

static const struct cr3_vote *most_votes(const struct cr3_use *use, uint64_t *others)
{
	const struct cr3_vote *most = NULL;
	uint64_t all = use->other_votes;

	for (uint32_t i = 0; i < use->nvotes; ++i) {
		all += use->vote[i].count;
		if (!most || use->vote[i].count > most->count)
			most = &use->vote[i];
	}
	*others = most ? all - most->count : all;
	return most;
}

/* The entry that leaves no doubt who ran all the time in the stretch; SIZE_MAX: there is none. */
static size_t undoubted(const struct gathering *gathering, const struct user_stretch *stretch)
{
	const uint64_t guard = gathering->map->slack + SWITCH_TRACK_DELAY;
	const size_t behind =
	        array_above(gathering->sched, gathering->nscheds, sizeof(*gathering->sched), stretch->from);
	const struct sb_sched *entry, *next;

	if (!behind || behind >= gathering->nscheds)
		return SIZE_MAX;
	entry = &gathering->sched[behind - 1];
	next = &gathering->sched[behind];
	if (entry->pid <= 0 || (entry->time && entry->time + guard > stretch->from) ||
	    stretch->to + guard > next->time || next->prev_pid != entry->pid || next->prev_tid != entry->tid)
		return SIZE_MAX;
	return behind - 1;
}

static void tell(const struct cr3_map *map, int32_t pid, uint64_t cr3, uint64_t time)
{
	if (map->seen)
		map->seen(map->seen_context, pid, cr3, time);
}

static void count_vote(struct gathering *gathering, struct open_use *open, const struct user_stretch *stretch)
{
	const size_t entry = undoubted(gathering, stretch);

	if (entry == SIZE_MAX || entry == open->voted_sched)
		return;
	open->voted_sched = entry;
	tell(gathering->map, gathering->sched[entry].pid, stretch->cr3, stretch->from);
	add_votes(&gathering->map->use[open->use],
	          cr3_memory_of(gathering->map, gathering->sched[entry].pid, stretch->from), 1);
}

/* ---- Gathering -------------------------------------------------------------------------------- */

/* Whether @pid lives and has code there, at that time or as close to it as time is exact. */
static int fits(const struct cr3_map *map, int32_t pid, const struct user_stretch *stretch)
{
	const struct strangers *strangers = address_index_strangers(map->addresses);
	const uint64_t slack = map->slack, now = stretch->from;
	const uint64_t moments[] = {now, now + slack, now > slack ? now - slack : 0};

	for (size_t i = 0; i < sizeof(moments) / sizeof(moments[0]); ++i) {
		const struct sb_space *space = sb_system_space(map->system, pid, moments[i]);

		if (space && moments[i] < space->to &&
		    space_has_code(space, stretch->ip, stretch->nips, moments[i]))
			return 1;
	}
	return strangers && strangers_have(strangers, pid, now, slack);
}

/* Leaves those that fit in @use. Returns whether there are any; if not, nothing changes. */
static int narrow(const struct cr3_map *map, struct cr3_use *use, const struct user_stretch *stretch)
{
	int32_t pid[CR3_PIDS_MAX];
	uint32_t npids = 0;

	for (uint32_t i = 0; i < use->npids; ++i)
		if (fits(map, use->pid[i], stretch))
			pid[npids++] = use->pid[i];
	if (!npids)
		return 0;
	memcpy(use->pid, pid, npids * sizeof(pid[0]));
	use->npids = npids;
	return 1;
}

static int space_ended(const struct cr3_map *map, int32_t pid, uint64_t then, uint64_t now)
{
	const struct sb_space *space = sb_system_space(map->system, pid, then);

	return space && space->to <= now;
}

/* Whether somebody who may have had these page tables until @use->to has ended before @now. */
static int may_have_ended(const struct cr3_map *map, const struct cr3_use *use, uint64_t now)
{
	uint64_t others;
	const struct cr3_vote *most = most_votes(use, &others);

	if (use->is_anybody)
		return most && space_ended(map, most->pid, use->to, now);
	for (uint32_t i = 0; i < use->npids; ++i)
		if (space_ended(map, use->pid[i], use->to, now))
			return 1;
	return 0;
}

/* Of those that have one memory, leaves one. How many there are then. */
static int leave_memories(const struct cr3_map *map, uint64_t time, int32_t *pid, int count)
{
	int kept = 0;

	for (int i = 0; i < count; ++i) {
		const int32_t one = cr3_memory_of(map, pid[i], time);
		int k = 0;

		while (k < kept && pid[k] != one)
			k += 1;
		if (k == kept)
			pid[kept++] = one;
	}
	return kept;
}

/* Who has code there: a use that nothing else is known of. Positive: nobody. */
static int begin_use(struct cr3_map *map, const struct user_stretch *stretch, struct cr3_use *use)
{
	int32_t pid[CR3_PIDS_MAX + 1];
	int count = address_index_find(map->addresses, stretch->ip, stretch->nips, stretch->from, map->slack,
	                               pid, CR3_PIDS_MAX + 1);

	if (count <= 0)
		return count < 0 ? count : 1;
	count = address_index_add_strangers(map->addresses, stretch->ip, stretch->nips, stretch->from,
	                                    map->slack, pid, count, CR3_PIDS_MAX + 1);
	if (count < 0)
		return count;
	count = leave_memories(map, stretch->from, pid, count);
	*use = (struct cr3_use){.cr3 = stretch->cr3,
	                        .from = stretch->from,
	                        .to = stretch->to,
	                        .is_anybody = count > CR3_PIDS_MAX,
	                        .owner = cr3_unknown,
	                        .claim = cr3_unknown};
	if (!use->is_anybody) {
		use->npids = (uint32_t)count;
		memcpy(use->pid, pid, use->npids * sizeof(pid[0]));
	}
	return 0;
}

/* Whether the stretch belongs to the use that is open for its CR3. */
static int goes_on(struct cr3_map *map, struct cr3_use *use, const struct user_stretch *stretch)
{
	struct cr3_use fewer;

	if (may_have_ended(map, use, stretch->from))
		return 0;
	if (!use->is_anybody)
		return narrow(map, use, stretch);
	/* Here, not so many may have code. */
	if (begin_use(map, stretch, &fewer) == 0 && !fewer.is_anybody) {
		memcpy(use->pid, fewer.pid, sizeof(use->pid));
		use->npids = fewer.npids;
		use->is_anybody = 0;
	}
	return 1;
}

static struct open_use *open_use(struct gathering *gathering, uint64_t cr3)
{
	uint32_t number;
	const int found = key_table_find(&gathering->cr3s, &cr3, &number);

	if (!found) {
		if (key_table_keep(&gathering->cr3s, &cr3, &number) < 0 ||
		    array_reserve(&gathering->open, &gathering->capacity, number, sizeof(*gathering->open)) <
		            0)
			return NULL;
		gathering->open[number] = (struct open_use){SIZE_MAX, SIZE_MAX};
	}
	return &gathering->open[number];
}

/* With isolation, kernel and user space alternate between the two pages of a process. */
static void note_isolation(struct isolation *isolation, const struct user_stretch *stretch)
{
	isolation->stretches += 1;
	isolation->others += !(stretch->cr3 & CR3_ISOLATED);
	isolation->flips += stretch->previous == (stretch->cr3 ^ CR3_ISOLATED);
}

static int gather(void *context, const struct user_stretch *stretch)
{
	struct gathering *gathering = context;
	struct cr3_map *map = gathering->map;
	struct open_use *open;
	struct cr3_use use;
	int status;

	note_isolation(&gathering->isolation, stretch);
	if (map->count >= CR3_USES_MAX)
		return 0;
	open = open_use(gathering, stretch->cr3);
	if (!open)
		return -sbe_nomem;
	if (open->use == SIZE_MAX || !goes_on(map, &map->use[open->use], stretch)) {
		status = begin_use(map, stretch, &use);
		if (status)
			return status < 0 ? status : 0;
		if (array_reserve(&map->use, &map->capacity, map->count, sizeof(*map->use)) < 0)
			return -sbe_nomem;
		*open = (struct open_use){map->count, SIZE_MAX};
		map->use[map->count++] = use;
	}
	map->use[open->use].to = stretch->to;
	count_vote(gathering, open, stretch);
	return 0;
}

/* ---- Sightings -------------------------------------------------------------------------------- */

static int expect(struct gathering *gathering, uint64_t time, int32_t pid)
{
	struct sightings *sightings = gathering->sightings;

	if (array_reserve(&sightings->of, &sightings->capacity, sightings->count, sizeof(*sightings->of)) < 0)
		return -sbe_nomem;
	sightings->of[sightings->count++] = (struct sighting){.time = time, .pid = pid};
	return 0;
}

/* All that were seen on the CPU, by records that are not of switches. */
static int expect_sightings(struct gathering *gathering, int32_t cpu)
{
	const struct cr3_map *map = gathering->map;
	struct sightings *sightings = gathering->sightings;
	size_t nseen;
	const struct sb_seen *seen = system_seen(map->system, cpu, &nseen);
	int status = 0;

	gathering->sighting = sightings->count;
	for (size_t i = 0; i < nseen && status == 0; ++i)
		status = expect(gathering, seen[i].time, seen[i].pid);
	for (size_t i = 0; i < gathering->nscheds && status == 0; ++i)
		if (gathering->sched[i].records == sb_sched_other && gathering->sched[i].pid > 0 &&
		    gathering->sched[i].time)
			status = expect(gathering, gathering->sched[i].time, gathering->sched[i].pid);
	if (status < 0)
		return status;
	if (gathering->sighting == sightings->count)
		return 0;
	return array_sort(sightings->of + gathering->sighting, sightings->count - gathering->sighting,
	                  sizeof(*sightings->of));
}

static int on_paging(void *context, uint64_t cr3, uint64_t from, uint64_t to)
{
	struct gathering *gathering = context;
	struct sightings *sightings = gathering->sightings;
	const uint64_t slack = gathering->map->slack;

	while (gathering->sighting < sightings->count &&
	       sightings->of[gathering->sighting].time + slack < from)
		gathering->sighting += 1;
	for (size_t i = gathering->sighting; i < sightings->count && sightings->of[i].time <= to + slack;
	     ++i) {
		struct sighting *sighting = &sightings->of[i];
		uint32_t k = 0;

		while (k < sighting->ncr3s && k < 2 && sighting->cr3[k] != cr3)
			k += 1;
		if (k < 2)
			sighting->cr3[k] = cr3;
		if (k == sighting->ncr3s)
			sighting->ncr3s += 1;
	}
	return 0;
}

/* The page in user space; 0: there was more than one process. */
static uint64_t cr3_of(const struct cr3_map *map, const struct sighting *sighting)
{
	const uint64_t bit = map->is_isolated ? CR3_ISOLATED : 0, cr3 = sighting->cr3[0] | bit;

	if (!sighting->ncr3s || sighting->ncr3s > 2 ||
	    (sighting->ncr3s == 2 && (sighting->cr3[1] | bit) != cr3))
		return 0;
	return cr3;
}

/* Threads of the kernel have none, and borrow those of whoever ran before. */
static int has_page_tables(const struct cr3_map *map, int32_t pid, uint64_t time)
{
	const struct sb_space *space = sb_system_space(map->system, pid, time);
	const struct sb_epoch *epoch = space ? sb_space_epoch(space, time) : NULL;

	return epoch && sb_epoch_map(epoch, 0);
}

/* Who was seen has those page tables as long as the space lasts. */
static void vote_by_sighting(struct cr3_map *map, const struct sighting *sighting)
{
	const struct cr3_use seen = {
	        .cr3 = cr3_of(map, sighting), .from = sighting->time, .to = sighting->time};
	size_t at;

	if (!seen.cr3 || !has_page_tables(map, sighting->pid, sighting->time))
		return;
	tell(map, sighting->pid, seen.cr3, sighting->time);
	at = array_above(map->use, map->count, sizeof(*map->use), seen.cr3 - 1);
	for (; at < map->count && map->use[at].cr3 == seen.cr3; ++at)
		if (cr3_same_space(map, &map->use[at], &seen, sighting->pid))
			add_votes(&map->use[at], cr3_memory_of(map, sighting->pid, sighting->time), 1);
}

/* ---- Streams ---------------------------------------------------------------------------------- */

static int gather_stream(struct cr3_map *map, const struct sb_aux_stream *stream, struct isolation *isolation,
                         struct sightings *sightings)
{
	struct gathering gathering = {.map = map, .sightings = sightings};
	const struct user_stretch_sink sink = {.context = &gathering, .stretch = gather, .paging = on_paging};
	int status;

	gathering.sched = sb_system_schedule(map->system, stream->cpu, &gathering.nscheds);
	key_table_init(&gathering.cr3s, sizeof(uint64_t), 0);
	status = expect_sightings(&gathering, stream->cpu);
	if (status == 0)
		status = user_stretches_walk(map->perfdata, map->system, stream, &sink);
	isolation->stretches += gathering.isolation.stretches;
	isolation->flips += gathering.isolation.flips;
	isolation->others += gathering.isolation.others;
	key_table_free(&gathering.cr3s);
	free(gathering.open);
	return status;
}

/* ---- Joining ---------------------------------------------------------------------------------- */

/* Whether @use can be of whom @first is; then *first stands for both. */
static int join(struct cr3_use *first, const struct cr3_use *use)
{
	struct cr3_use joined = *first;

	if (first->is_anybody) {
		memcpy(joined.pid, use->pid, sizeof(joined.pid));
		joined.npids = use->npids;
		joined.is_anybody = use->is_anybody;
	} else if (!use->is_anybody) {
		joined.npids = 0;
		for (uint32_t i = 0; i < first->npids; ++i)
			for (uint32_t k = 0; k < use->npids; ++k)
				if (first->pid[i] == use->pid[k])
					joined.pid[joined.npids++] = first->pid[i];
		if (!joined.npids)
			return 0;
	}
	for (uint32_t i = 0; i < use->nvotes; ++i)
		add_votes(&joined, use->vote[i].pid, use->vote[i].count);
	joined.other_votes += use->other_votes;
	if (joined.to < use->to)
		joined.to = use->to;
	*first = joined;
	return 1;
}

static int by_cr3_and_time(const void *left, const void *right)
{
	const struct cr3_use *a = left, *b = right;

	if (a->cr3 != b->cr3)
		return a->cr3 < b->cr3 ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return a->to < b->to ? -1 : a->to > b->to;
}

static void join_all(struct cr3_map *map)
{
	size_t kept = 0;

	if (map->count)
		qsort(map->use, map->count, sizeof(*map->use), by_cr3_and_time);
	for (size_t i = 0; i < map->count; ++i) {
		struct cr3_use *last = kept ? &map->use[kept - 1] : NULL;
		const struct cr3_use *use = &map->use[i];

		if (!last || last->cr3 != use->cr3 ||
		    (last->to < use->from && may_have_ended(map, last, use->from)) || !join(last, use))
			map->use[kept++] = *use;
	}
	map->count = kept;
}

/* ---- Owners ----------------------------------------------------------------------------------- */

static int can_be(const struct cr3_map *map, const struct cr3_use *use, int32_t pid)
{
	int is_among = use->is_anybody;

	for (uint32_t i = 0; i < use->npids && !is_among; ++i)
		is_among = use->pid[i] == pid;
	return is_among && !cr3_owns_another(map, pid, use);
}

/* Whose @use should be: records count more than that nobody else has code there, and must not speak against
 * it. */
static int32_t claim_of(const struct cr3_map *map, const struct cr3_use *use)
{
	uint64_t others;
	const struct cr3_vote *most = most_votes(use, &others);
	int32_t found = cr3_unknown;

	if (most)
		return most->count >= VOTES_MORE * others && can_be(map, use, most->pid) ? most->pid
		                                                                         : cr3_contradictory;
	for (uint32_t i = 0; i < use->npids; ++i) {
		if (!can_be(map, use, use->pid[i]))
			continue;
		if (found >= 0)
			return cr3_unknown;
		found = use->pid[i];
	}
	/* Somebody whom no record tells of. */
	return found == STRANGER_UNSEEN || (found < 0 && use->npids) ? cr3_contradictory : found;
}

/* How surely @use is its claimant's, beside another one of the same: by votes. */
static uint64_t weight(const struct cr3_use *use)
{
	uint64_t others;
	const struct cr3_vote *most = most_votes(use, &others);

	return most ? most->count : 0;
}

/* Claims of one process, @count from @claim on, for several CR3 in one space: only one with by far the most
 * votes can be right. */
static int is_contested(const struct cr3_map *map, const struct cr3_owned *claim, size_t count,
                        const struct cr3_use *use)
{
	for (size_t i = 0; i < count; ++i) {
		const struct cr3_use *rival = &map->use[claim[i].use];

		/* With votes for both, one after the other: there was an exec without a record. */
		if (weight(use) && weight(rival) && (use->to < rival->from || rival->to < use->from))
			continue;
		if (rival->cr3 != use->cr3 && cr3_same_space(map, use, rival, use->claim) &&
		    (!weight(use) || weight(use) < VOTES_MORE * weight(rival)))
			return 1;
	}
	return 0;
}

/* Grants the claims of one process that nothing contradicts. Returns whether there are any. */
static int grant(struct cr3_map *map, const struct cr3_owned *claim, size_t count)
{
	int granted = 0;

	for (size_t i = 0; i < count; ++i) {
		struct cr3_use *use = &map->use[claim[i].use];

		use->owner = is_contested(map, claim, count, use) ? cr3_contradictory : use->claim;
		granted |= use->owner >= 0;
	}
	return granted;
}

static int list(struct cr3_map *map, int32_t owner, size_t use)
{
	if (array_reserve(&map->owned, &map->owned_capacity, map->nowned, sizeof(*map->owned)) < 0)
		return -sbe_nomem;
	map->owned[map->nowned++] = (struct cr3_owned){(uint64_t)(uint32_t)owner, (uint32_t)use};
	return 0;
}

/* Lists all uses that have owners. */
static int list_owned(struct cr3_map *map)
{
	map->nowned = 0;
	for (size_t i = 0; i < map->count; ++i)
		if (map->use[i].owner >= 0 && list(map, map->use[i].owner, i) < 0)
			return -sbe_nomem;
	return array_sort(map->owned, map->nowned, sizeof(*map->owned));
}

/* Whoever has a CR3 in one use has it in those before and behind, as long as the space lasts; unless there
 * was an exec without a record: then they may be another one's. Returns whether that settled anything. */
static int spread_to(struct cr3_map *map, struct cr3_use *use, const struct cr3_use *from)
{
	if (use->cr3 != from->cr3 || use->owner >= 0 || from->owner < 0 ||
	    !cr3_same_space(map, use, from, from->owner) || cr3_owns_another(map, from->owner, from))
		return 0;
	use->owner = from->owner;
	return 1;
}

static int spread(struct cr3_map *map)
{
	int changed = 0;

	for (size_t i = 1; i < map->count; ++i)
		changed |= spread_to(map, &map->use[i], &map->use[i - 1]);
	for (size_t i = map->count; i-- > 1;)
		changed |= spread_to(map, &map->use[i - 1], &map->use[i]);
	return changed;
}

/* Every use without an owner claims one; claims that nothing contradicts are granted. Positive: some were. */
static int settle_round(struct cr3_map *map)
{
	const size_t settled = map->nowned;
	int changed = 0;

	for (size_t i = 0; i < map->count; ++i)
		map->use[i].claim = map->use[i].owner < 0 ? claim_of(map, &map->use[i]) : cr3_unknown;
	for (size_t i = 0; i < map->count; ++i)
		if (map->use[i].claim >= 0 && list(map, map->use[i].claim, i) < 0)
			return -sbe_nomem;
	if (map->nowned > settled &&
	    array_sort(map->owned + settled, map->nowned - settled, sizeof(*map->owned)) < 0)
		return -sbe_nomem;
	for (size_t first = settled, end; first < map->nowned; first = end) {
		for (end = first; end < map->nowned && map->owned[end].owner == map->owned[first].owner;)
			end += 1;
		changed |= grant(map, map->owned + first, end - first);
	}
	if (list_owned(map) < 0)
		return -sbe_nomem;
	if (!spread(map))
		return changed;
	return list_owned(map) < 0 ? -sbe_nomem : 1;
}

/* Neighbours of one owner are one. */
static void unite(struct cr3_map *map)
{
	size_t kept = 0;

	for (size_t i = 0; i < map->count; ++i) {
		struct cr3_use *last = kept ? &map->use[kept - 1] : NULL;
		struct cr3_use *use = &map->use[i];

		if (last && last->cr3 == use->cr3 && use->owner >= 0 && last->owner == use->owner &&
		    cr3_same_space(map, last, use, use->owner))
			last->to = last->to > use->to ? last->to : use->to;
		else
			map->use[kept++] = *use;
	}
	map->count = kept;
}

static int settle(struct cr3_map *map)
{
	enum { ROUNDS_MAX = 64 }; /* each one a fork deeper */
	int status = 1;

	for (int i = 0; i < ROUNDS_MAX && status > 0; ++i)
		status = settle_round(map);
	if (status < 0)
		return status;
	for (size_t i = 0; i < map->count; ++i)
		if (map->use[i].owner < 0 && map->use[i].claim == cr3_contradictory)
			map->use[i].owner = cr3_contradictory;
	unite(map);
	return list_owned(map);
}

int cr3_learn(struct cr3_map *map)
{
	const struct sb_aux_stream *stream;
	struct isolation isolation = {0};
	struct sightings sightings = {0};
	size_t count;
	int status = 0;

	stream = sb_perfdata_streams(map->perfdata, &count);
	for (size_t i = 0; i < count && status == 0; ++i)
		if (stream[i].cpu >= 0)
			status = gather_stream(map, &stream[i], &isolation, &sightings);
	map->is_isolated = !isolation.others && 2 * isolation.flips > isolation.stretches;
	join_all(map);
	for (size_t i = 0; i < sightings.count; ++i)
		vote_by_sighting(map, &sightings.of[i]);
	free(sightings.of);
	return status < 0 ? status : settle(map);
}
