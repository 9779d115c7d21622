/* fork_scan.c - see fork_scan.h. */
#include "replay/fork_scan.h"

#include "replay/address_index.h"
#include "replay/fork_code.h"
#include "replay/ip_scan.h"
#include "system/address_space.h"
#include "system/system.h"

struct search {
	const struct fork_source *source;
	struct fork_sites *sites;
	int32_t cpu;
	struct fork_code code;
};

/* ---- Code --------------------------------------------------------------------------------------- */

enum { PIDS_MAX = 16, NEAR_BITS = 21 };

/* Whether fork() may return to an address, in whatever is mapped there at that time. */
static int look_at(struct search *search, const struct ip_seen *seen, struct fork_site *site, int *may_fork)
{
	const struct fork_source *source = search->source;
	const struct index_span when = {site->from, site->to};
	const uint64_t times[] = {site->from, site->to};
	int32_t pid[PIDS_MAX];
	const int count = address_index_find_within(source->addresses, &seen->ip, 1, &when, 0, pid, PIDS_MAX);
	int status = 0;

	if (count < 0)
		return count;
	site->is_unknown = 1;
	for (int i = 0; i < 2 * count && status >= 0 && !*may_fork; ++i) {
		const struct sb_map *map = fork_code_map(source->system, pid[i / 2], seen->ip, times[i % 2]);

		if (!map)
			continue;
		site->is_unknown = 0;
		status = fork_code_look_up(&search->code, map, seen->ip);
		*may_fork |= status > fork_call_none;
	}
	/* Where execution goes on where an interrupt stopped it, there is no system call. */
	*may_fork |= site->is_unknown && !seen->is_resumed;
	return status < 0 ? status : 0;
}

/* ---- Packets ------------------------------------------------------------------------------------ */

/* Where code is not known, those that are close together are one. */
static int are_one(const struct fork_site *a, const struct fork_site *b)
{
	const int bits = a->is_unknown ? NEAR_BITS : 0;

	return a->is_unknown == b->is_unknown && a->ip >> bits == b->ip >> bits;
}

/* Of those that come to one address, the first and the last time count; of too many addresses, any may be. */
static void add_site(struct fork_sites *sites, struct fork_site site)
{
	size_t i = 0;

	while (i < sites->count && !are_one(&sites->of[i], &site))
		i += 1;
	if (i == FORK_SITES_MAX) {
		i -= 1;
		sites->of[i].ip = 0;
		sites->of[i].is_unknown = 1;
	} else if (i == sites->count) {
		sites->of[sites->count++] = site;
	}
	if (site.from < sites->of[i].from)
		sites->of[i].from = site.from;
	if (site.to > sites->of[i].to)
		sites->of[i].to = site.to;
}

static int on_ip(void *context, const struct ip_seen *seen)
{
	struct search *search = context;
	const uint64_t slack = search->source->slack;
	struct fork_site site = {
	        .ip = seen->ip,
	        .from = seen->from > slack ? seen->from - slack : 0,
	        .to = seen->to < UINT64_MAX - slack ? seen->to + slack : UINT64_MAX,
	        .is_unknown = !seen->ip,
	};
	int may_fork = !seen->ip, status = 0;

	if (!seen->is_entry || !lost_spans_hide(search->source->lost, search->cpu, site.from, site.to))
		return 0;
	if (seen->ip)
		status = look_at(search, seen, &site, &may_fork);
	if (status == 0 && may_fork)
		add_site(search->sites, site);
	return status;
}

static int is_any_hidden(const struct lost_spans *lost)
{
	for (size_t i = 0; i < lost->count; ++i)
		if (lost->of[i].hides_switch)
			return 1;
	return 0;
}

int fork_scan(const struct fork_source *source, struct fork_sites *sites)
{
	struct search search = {.source = source,
	                        .sites = sites,
	                        .code = {.resolver = source->resolver, .system = source->system}};
	const struct ip_sink sink = {&search, on_ip};
	const struct sb_aux_stream *stream;
	size_t nstreams;
	int status = 0;

	sites->count = 0;
	if (!is_any_hidden(source->lost))
		return 0;
	if (!source->perfdata || !source->resolver) {
		add_site(sites, (struct fork_site){0, source->lost->of[0].from, UINT64_MAX, 1});
		return 0;
	}
	stream = sb_perfdata_streams(source->perfdata, &nstreams);
	for (size_t i = 0; i < nstreams && status == 0; ++i) {
		search.cpu = stream[i].cpu;
		status = ip_scan(source->perfdata, source->system, &stream[i], &sink);
	}
	fork_code_fini(&search.code);
	return status;
}

static int may_return_to(const struct fork_source *source, const struct sb_map *map, uint64_t ip)
{
	return fork_code_read(source->resolver, source->system, map, ip) != fork_call_none;
}

/* Whether it may be @pid, or whom that was forked from, that came to @site, up to @now: it has not begun to
 * map what it has only later, and it has no other code there. */
static int may_have_forked(const struct fork_source *source, const struct fork_site *site, int32_t pid,
                           uint64_t now)
{
	const uint64_t times[] = {site->from, site->to < now ? site->to : now, now};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); ++i) {
		const struct sb_space *space = sb_system_space(source->system, pid, times[i]);
		const struct sb_map *map =
		        site->ip ? fork_code_map(source->system, pid, site->ip, times[i]) : NULL;

		if (!space || site->to < space_since(space))
			continue;
		if (site->is_unknown ? !map : map && may_return_to(source, map, site->ip))
			return 1;
	}
	return 0;
}

int fork_sites_may_run(const struct fork_sites *sites, const struct fork_source *source, const uint64_t *ip,
                       size_t nips, uint64_t now)
{
	for (size_t i = 0; i < sites->count; ++i) {
		const struct index_span when = {sites->of[i].from, now};
		int32_t pid[PIDS_MAX];
		int count;

		if (sites->of[i].from > now)
			continue;
		count = address_index_find_within(source->addresses, ip, nips, &when, source->slack, pid,
		                                  PIDS_MAX);
		if (count < 0 || count == PIDS_MAX)
			return count < 0 ? count : 1;
		for (int k = 0; k < count; ++k)
			if (may_have_forked(source, &sites->of[i], pid[k], now))
				return 1;
	}
	return 0;
}
