/* survey_scan.c - see survey_scan.h. Whose addresses are is told by their time: where it is only known to lie
 * in a span, they count if nothing changes meanwhile. */
#include "replay/survey_scan.h"

#include <sb/error.h>
#include <stdlib.h>

#include "replay/ip_scan.h"

enum {
	SLOTS = 1 << 18,
	IPS_MAX = SLOTS / 2 /* further addresses are not looked at */
};

/* Who runs, and what they have mapped. */
struct present {
	int32_t pid;
	const struct sb_epoch *epoch; /* NULL: not known */
};

struct scanner {
	const struct sb_system *system;
	const struct sb_sched *sched;
	size_t nscheds, at;
	int32_t pid;       /* of the stream, when it is a thread's; else -1 */
	uint64_t from, to; /* a span of time, and whether nothing changes meanwhile */
	struct present present;
	int is_alike;
	struct survey_ip *slot;
	size_t count;
};

static void add(struct scanner *scanner, struct survey_ip found)
{
	size_t i = (found.ip ^ (uint64_t)found.epoch->id << 32) * 0x9e3779b97f4a7c15ull >> 46;

	while (scanner->slot[i].epoch &&
	       (scanner->slot[i].ip != found.ip || scanner->slot[i].epoch->id != found.epoch->id))
		i = (i + 1) & (SLOTS - 1);
	if (scanner->slot[i].epoch || scanner->count == IPS_MAX)
		return;
	scanner->slot[i] = found;
	scanner->count += 1;
}

/* Who runs at @now; -1: not known. */
static int32_t who(struct scanner *scanner, uint64_t now)
{
	const struct sb_sched *sched = scanner->sched;

	if (scanner->pid >= 0 || !scanner->nscheds)
		return scanner->pid;
	if (sched[scanner->at].time > now)
		scanner->at = 0;
	while (scanner->at + 1 < scanner->nscheds && sched[scanner->at + 1].time <= now)
		scanner->at += 1;
	return sched[scanner->at].time <= now ? sched[scanner->at].pid : -1;
}

static struct present present_at(struct scanner *scanner, uint64_t now)
{
	const int32_t pid = who(scanner, now);
	const struct sb_space *space = pid > 0 ? sb_system_space(scanner->system, pid, now) : NULL;

	return (struct present){pid, space ? sb_space_epoch(space, now) : NULL};
}

static void look_at(struct scanner *scanner, const struct ip_seen *seen)
{
	const struct present *present = &scanner->present;

	if (present->epoch && !sb_epoch_code(present->epoch, seen->ip))
		add(scanner, (struct survey_ip){.epoch = present->epoch,
		                                .ip = seen->ip,
		                                .time = seen->from,
		                                .pid = present->pid,
		                                .tid = present->pid});
}

/* Whether somebody else ran in between, or something was mapped. */
static int has_changed(struct scanner *scanner, const struct ip_seen *seen)
{
	const struct sb_sched *sched = scanner->sched;
	const struct present *present = &scanner->present, later = present_at(scanner, seen->to);

	if (scanner->pid < 0)
		for (size_t i = scanner->at; i && i < scanner->nscheds && sched[i].time > seen->from; --i)
			if (sched[i - 1].pid != present->pid || sched[i].pid != present->pid)
				return 1;
	return later.pid != present->pid || later.epoch != present->epoch;
}

static int on_ip(void *context, const struct ip_seen *seen)
{
	struct scanner *scanner = context;

	if (!seen->ip || !seen->from || seen->to == UINT64_MAX)
		return 0;
	if (seen->from != scanner->from || seen->to != scanner->to) {
		scanner->from = seen->from;
		scanner->to = seen->to;
		scanner->present = present_at(scanner, seen->from);
		scanner->is_alike = seen->from == seen->to || !has_changed(scanner, seen);
	}
	if (scanner->is_alike)
		look_at(scanner, seen);
	return 0;
}

static int scan_stream(struct scanner *scanner, const struct sb_perfdata *perfdata,
                       const struct sb_aux_stream *stream)
{
	const struct ip_sink sink = {scanner, on_ip};

	scanner->pid = stream->cpu < 0 ? sb_system_thread_pid(scanner->system, stream->tid) : -1;
	scanner->at = 0;
	scanner->from = scanner->to = 0;
	scanner->sched = sb_system_schedule(scanner->system, stream->cpu, &scanner->nscheds);
	return ip_scan(perfdata, scanner->system, stream, &sink);
}

static int compare(const void *a, const void *b)
{
	const struct survey_ip *left = a, *right = b;

	if (left->epoch->id != right->epoch->id)
		return left->epoch->id < right->epoch->id ? -1 : 1;
	return left->ip < right->ip ? -1 : left->ip > right->ip;
}

int survey_scan(struct survey_scan *scan, const struct sb_perfdata *perfdata, const struct sb_system *system)
{
	struct scanner scanner = {.system = system, .slot = calloc(SLOTS, sizeof(*scanner.slot))};
	size_t nstreams, count = 0;
	const struct sb_aux_stream *stream = sb_perfdata_streams(perfdata, &nstreams);
	int status = scanner.slot ? 0 : -sbe_nomem;

	*scan = (struct survey_scan){0};
	for (size_t i = 0; i < nstreams && status == 0; ++i)
		status = scan_stream(&scanner, perfdata, &stream[i]);
	if (status < 0) {
		free(scanner.slot);
		return status;
	}
	for (size_t i = 0; i < SLOTS; ++i)
		if (scanner.slot[i].epoch)
			scanner.slot[count++] = scanner.slot[i];
	if (count)
		qsort(scanner.slot, count, sizeof(*scanner.slot), compare);
	*scan = (struct survey_scan){.ip = scanner.slot, .count = count};
	return 0;
}
