/* fork_scan.c - see fork_scan.h. System calls by number: asm/unistd_64.h. */
#include "replay/fork_scan.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "replay/address_index.h"
#include "replay/ip_scan.h"
#include "replay/syscall_number.h"
#include "system/address_space.h"
#include "system/arena.h"
#include "system/system.h"

/* Whether fork() may return to a place in a file: of all that have been looked up. */
struct answer {
	uint64_t key; /* first: sorted by it */
	int may_fork;
};

struct search {
	const struct fork_source *source;
	struct fork_sites *sites;
	int32_t cpu;
	struct answer *answer;
	size_t count, capacity;
};

/* ---- Code --------------------------------------------------------------------------------------- */

enum { PIDS_MAX = 16, NEAR_BITS = 21 };

static int makes_process(int number)
{
	return number == SYS_clone || number == SYS_fork || number == SYS_vfork || number == SYS_clone3 ||
	       number == syscall_any;
}

/* The code before @offset. Its size, or zero. */
static size_t read_before(const char *path, uint64_t offset, uint8_t code[SYSCALL_CODE_MAX])
{
	const size_t size = offset < SYSCALL_CODE_MAX ? offset : SYSCALL_CODE_MAX;
	const int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	const ssize_t count = file < 0 ? -1 : pread(file, code, size, (off_t)(offset - size));

	if (file >= 0)
		close(file);
	return count == (ssize_t)size ? size : 0;
}

/* Of code that is not of a file, nobody knows; but the vdso of 64 bits does not fork. */
static int may_return_to(const struct fork_source *source, const struct sb_map *map, uint64_t ip)
{
	const struct sb_binary *binary;
	uint8_t code[SYSCALL_CODE_MAX];
	size_t size;

	if (!strcmp(map->filename, "[vdso]"))
		return !(ip >> 32);
	if (map->origin != sb_map_recorded || map->filename[0] != '/')
		return 1;
	if (sb_resolver_find_in(source->resolver, sb_map_scope(source->resolver, source->system, map), map,
	                        &binary, NULL) < 0 ||
	    binary->missing)
		return 1;
	size = read_before(binary->path, map->pgoff + (ip - map->begin), code);
	return !size || makes_process(syscall_number(code, size));
}

/* What is mapped at a place of a file is the same wherever the file is. */
static int look_up(struct search *search, const struct sb_map *map, uint64_t ip, int *may_fork)
{
	const uint64_t offset = map->pgoff + (ip - map->begin);
	const uint64_t key = (uintptr_t)map * 0x9e3779b97f4a7c15ull ^ offset;
	const size_t at = array_above(search->answer, search->count, sizeof(*search->answer), key);

	if (at && search->answer[at - 1].key == key) {
		*may_fork |= search->answer[at - 1].may_fork;
		return 0;
	}
	if (array_reserve(&search->answer, &search->capacity, search->count, sizeof(*search->answer)) < 0)
		return -sbe_nomem;
	memmove(search->answer + at + 1, search->answer + at, (search->count - at) * sizeof(*search->answer));
	search->answer[at] = (struct answer){key, may_return_to(search->source, map, ip)};
	search->count += 1;
	*may_fork |= search->answer[at].may_fork;
	return 0;
}

static const struct sb_map *map_of(const struct sb_system *system, int32_t pid, uint64_t ip, uint64_t time)
{
	const struct sb_space *space = sb_system_space(system, pid, time);
	const struct sb_epoch *epoch = space ? sb_space_epoch(space, time) : NULL;

	return epoch ? sb_epoch_code(epoch, ip) : NULL;
}

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
	for (int i = 0; i < 2 * count && status == 0 && !*may_fork; ++i) {
		const struct sb_map *map = map_of(source->system, pid[i / 2], seen->ip, times[i % 2]);

		if (!map)
			continue;
		site->is_unknown = 0;
		status = look_up(search, map, seen->ip, may_fork);
	}
	/* Where execution goes on where an interrupt stopped it, there is no system call. */
	*may_fork |= site->is_unknown && !seen->is_resumed;
	return status;
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
	struct search search = {.source = source, .sites = sites};
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
	free(search.answer);
	return status;
}

/* Whether it may be @pid, or whom that was forked from, that came to @site, up to @now: it has not begun to
 * map what it has only later, and it has no other code there. */
static int may_have_forked(const struct fork_source *source, const struct fork_site *site, int32_t pid,
                           uint64_t now)
{
	const uint64_t times[] = {site->from, site->to < now ? site->to : now, now};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); ++i) {
		const struct sb_space *space = sb_system_space(source->system, pid, times[i]);
		const struct sb_map *map = site->ip ? map_of(source->system, pid, site->ip, times[i]) : NULL;

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
