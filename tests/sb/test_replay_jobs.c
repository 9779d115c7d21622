/* test_replay_jobs.c - replays on several threads, in pieces of several sizes: all give just what one thread
 * gives that decodes each stream from its beginning to its end.
 *
 * Built a second time under ThreadSanitizer, which is the other half of this test. Tiny pieces join at every
 * PSB; all of them would be joined wrong somewhere if anything that counts were not compared there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sb/replay.h>

#include "replay/session.h"
#include "support/spans.h"
#include "support/temp_dir.h"

#ifdef BRIEF /* under ThreadSanitizer, which takes its time */
enum { SEEDS = 2 };
static const char workload[] = "'" RELAY_WORKLOAD "' 50";
#else
#ifdef SANITIZED
enum { SEEDS = 5 };
#else
enum { SEEDS = 10 };
#endif
static const char workload[] = "'" RELAY_WORKLOAD "' 100 /bin/echo a"; /* with shared libraries in the end */
#endif

/* ---- What a replay says ------------------------------------------------------------------------ */

enum { CPUS_MAX = 8 };

struct owner {
	uint32_t epoch; /* its id + 1 */
	const struct sb_membership *membership;
};

/* All of it, as text. */
struct transcript {
	char *text;
	size_t size, room;
	uint64_t nflows, ngaps;
	struct owner owner[CPUS_MAX + 1]; /* of the last flow of each CPU, and of threads */
	uint64_t stop_at;                 /* the sink says stop at that flow; 0: never */
	int status;
};

enum { STOPPED = -4711 };

/* Room for so much more. */
static char *room_for(struct transcript *transcript, size_t size)
{
	while (transcript->room - transcript->size < size) {
		transcript->room = transcript->room ? 2 * transcript->room : 1 << 20;
		transcript->text = realloc(transcript->text, transcript->room);
		assert_non_null(transcript->text);
	}
	return transcript->text + transcript->size;
}

enum { LINE = 512 };

__attribute__((format(printf, 2, 3))) static void say(struct transcript *transcript, const char *format, ...)
{
	char *to = room_for(transcript, LINE);
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(to, LINE, format, args);
	va_end(args);
	assert_in_range(size, 0, LINE - 1);
	transcript->size += (size_t)size;
}

/* Each block has a line of numbers: printf() would take longer than all that is tested. */
static char *number(char *to, uint64_t value, unsigned int base, char behind)
{
	char digits[24];
	size_t size = 0;

	do
		digits[size++] = "0123456789abcdef"[value % base];
	while (value /= base);
	while (size)
		*to++ = digits[--size];
	*to++ = behind;
	return to;
}

static char *id(char *to, int value)
{
	if (value < 0)
		*to++ = '-';
	return number(to, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10, ' ');
}

static void say_block(struct transcript *transcript, const struct sb_flow *flow,
                      const struct pt_run_block *block)
{
	char *const line = room_for(transcript, LINE), *end = line;
	uint64_t lengths = 0;

	for (uint32_t k = 0; k < block->ninsn; ++k)
		lengths = lengths * 31 + block->length[k];
	end = id(id(id(end, flow->cpu), flow->pid), flow->tid);
	end = number(end, flow->tsc, 10, ' ');
	end = number(number(end, block->ip, 16, ' '), block->end_ip, 16, ' ');
	end = number(number(end, block->ninsn, 10, ' '), lengths, 16, '\n');
	*end = '\0';
	transcript->size += (size_t)(end - line);
}

/* Where the flow's code is from and who runs it, when that changes on a CPU. */
static void say_owner(struct transcript *transcript, const struct sb_flow *flow)
{
	struct owner *owner = &transcript->owner[flow->cpu < 0 ? CPUS_MAX : flow->cpu];
	const struct owner now = {flow->epoch ? flow->epoch->id + 1 : 0, flow->membership};

	assert_true(flow->cpu < CPUS_MAX);
	if (owner->epoch == now.epoch && owner->membership == now.membership)
		return;
	*owner = now;
	say(transcript, "now on cpu %d mappings %u, %s\n", flow->cpu, now.epoch,
	    now.membership ? "a member" : "nobody");
}

/* How the flow is parted into calls is nobody's business. */
static int on_flow(void *context, const struct sb_flow *flow)
{
	struct transcript *transcript = context;

	if (++transcript->nflows == transcript->stop_at)
		return STOPPED;
	say_owner(transcript, flow);
	for (uint32_t i = 0; i < flow->npaths; ++i)
		for (uint32_t b = 0; b < flow->path[i]->nblocks; ++b)
			say_block(transcript, flow, &flow->path[i]->block[b]);
	if (flow->left_ip)
		say(transcript, "left cpu %d before %" PRIx64 "\n", flow->cpu, flow->left_ip);
	return 0;
}

static int on_event(void *context, const struct sb_flow_event *event)
{
	say(context, "event cpu %d pid %d tid %d at %" PRIu64 " from %" PRIx64 " to %" PRIx64 ", %d, %s\n",
	    event->cpu, event->pid, event->tid, event->tsc, event->from, event->to, (int)event->kind,
	    event->membership ? "a member" : "nobody");
	return 0;
}

static int on_gap(void *context, const struct sb_gap *gap)
{
	struct transcript *transcript = context;

	transcript->ngaps += 1;
	say(transcript,
	    "gap %s cpu %d pid %d tid %d from %" PRIu64 " to %" PRIu64 " at 0x%" PRIx64 ", %" PRIu64
	    " bytes, ip %" PRIx64 ": %s\n",
	    sb_gap_reason_name(gap->reason), gap->cpu, gap->pid, gap->tid, gap->tsc_from, gap->tsc_to,
	    gap->offset, gap->bytes, gap->ip, gap->detail);
	return 0;
}

static void say_account(struct transcript *transcript, const struct sb_account *account)
{
	uint64_t bytes = account->bytes_decoded;

	say(transcript,
	    "%" PRIu64 " of %" PRIu64 " bytes, %" PRIu64 " insn, %" PRIu64 " blocks, %" PRIu64 "\n",
	    account->bytes_decoded, account->bytes_total, account->ninsn, account->nblocks,
	    account->nswitches);
	for (int i = 0; i < sb_gap_reasons; ++i) {
		say(transcript, "%" PRIu64 " %" PRIu64 "\n", account->gap[i].count, account->gap[i].bytes);
		bytes += account->gap[i].bytes;
	}
	for (size_t i = 0; i < account->nthreads; ++i)
		say(transcript, "%d %d %s %" PRIu64 " %" PRIu64 "\n", account->thread[i].pid,
		    account->thread[i].tid, account->thread[i].comm, account->thread[i].ninsn,
		    account->thread[i].nblocks);
	assert_int_equal(bytes, account->bytes_total);
}

/* ---- Replays ----------------------------------------------------------------------------------- */

/* What is listened to, and in which order. */
enum { ALL, FLOW, ONLY_SUMS, BY_TIME, NLISTENS };

struct way {
	unsigned int jobs;   /* 0: in spans, each on its own, which are then merged */
	uint64_t piece_size; /* or that of spans */
	int listens;
};

static int merge(struct sb_session *session, const struct sb_perfdata *perfdata,
                 const struct sb_replay_options *options, const struct sb_sink *sink, uint64_t size)
{
	struct spans spans;
	int status;

	spans_cut(&spans, perfdata, options, size, size / 3 + 1);
	spans_run(&spans, perfdata, options, sink);
	status = sb_session_merge(session, &spans.source, sink, NULL);
	spans_free(&spans);
	return status;
}

static struct transcript replay(const struct sb_perfdata *perfdata, struct sb_replay_options options,
                                const struct way *way, uint64_t stop_at)
{
	struct transcript transcript = {.stop_at = stop_at};
	struct sb_sink sink = {.context = &transcript, .flow = on_flow, .gap = on_gap, .event = on_event};
	struct sb_session *session = NULL;
	struct sb_error err = {0};

	if (way->listens == ONLY_SUMS)
		sink.flow = NULL;
	/* CPU by CPU, with jobs, an event right behind a seam may come twice. No output shows that: who wants
	 * events wants the order of time. */
	if (way->listens == ONLY_SUMS || way->listens == FLOW)
		sink.event = NULL;
	options.by_time = way->listens == BY_TIME;
	options.jobs = way->jobs;
	assert_int_equal(sb_session_open(&session, perfdata, &options, &err), 0);
	session_set_piece_size(session, way->piece_size);
	if (way->jobs)
		transcript.status = sb_session_run(session, &sink, &err);
	else
		transcript.status = merge(session, perfdata, &options, &sink, way->piece_size);
	if (transcript.status == 0)
		say_account(&transcript, sb_session_account(session));
	sb_session_close(session);
	return transcript;
}

static void assert_equal(const struct transcript *expected, const struct transcript *given,
                         const struct way *way)
{
	size_t same = 0, line = 0;

	assert_int_equal(expected->status, given->status);
	if (expected->size == given->size &&
	    (!given->size || !memcmp(expected->text, given->text, given->size)))
		return;
	while (same < expected->size && same < given->size && expected->text[same] == given->text[same])
		if (expected->text[same++] == '\n')
			line = same;
	if (same < expected->size || same < given->size)
		fail_msg("%u jobs, pieces of %" PRIu64 ", offset %zu: expected %.*s, given %.*s", way->jobs,
		         way->piece_size, same, (int)strcspn(expected->text + line, "\n"),
		         expected->text + line, (int)strcspn(given->text + line, "\n"), given->text + line);
}

/* Whether @line is a block's; then its CPU and time. */
static int is_flow(const char *line, int *cpu, uint64_t *tsc)
{
	uint64_t number[4];

	for (int i = 0; i < 4; ++i) {
		char *end;

		number[i] = (uint64_t)strtoll(line, &end, 10);
		if (end == line || *end != ' ')
			return 0;
		line = end + 1;
	}
	*cpu = (int)number[0];
	*tsc = number[3];
	return 1;
}

/* The CPU that a line of a transcript is about, -1: none or not known; *tsc: the time of flow, else
 * unchanged. */
static int cpu_of(const char *line, uint64_t *tsc)
{
	int cpu = -1;

	if (is_flow(line, &cpu, tsc) || sscanf(line, "gap %*s cpu %d", &cpu) == 1 ||
	    sscanf(line, "now on cpu %d", &cpu) == 1 || sscanf(line, "event cpu %d", &cpu) == 1 ||
	    sscanf(line, "left cpu %d", &cpu) == 1)
		return cpu;
	return -1;
}

static void say_line(struct transcript *transcript, const char *line)
{
	const size_t size = strlen(line);
	char *to = room_for(transcript, size + 2);

	memcpy(to, line, size);
	memcpy(to + size, "\n", 2);
	transcript->size += size + 1;
}

/* Deals out the lines by CPU; time goes on in each, and when @in_order, over all. */
static void deal(const struct transcript *transcript, int in_order, struct transcript dealt[CPUS_MAX + 1])
{
	uint64_t last[CPUS_MAX + 1] = {0}, noted[CPUS_MAX + 1] = {0}, latest = 0;
	char *copy = strndup(transcript->text, transcript->size), *rest = copy, *line;

	while ((line = strsep(&rest, "\n"))) {
		uint64_t tsc = UINT64_MAX;
		const int cpu = cpu_of(line, &tsc), at = cpu < 0 ? CPUS_MAX : cpu;

		assert_true(at <= CPUS_MAX);
		if (*line == 'e')
			sscanf(line, "event cpu %*d pid %*d tid %*d at %" SCNu64, &noted[at]);
		if (tsc != UINT64_MAX) {
			assert_true(tsc >= last[at]);
			/* In damaged trace, an event may have come too late, and all behind it with it. */
			assert_true(!in_order || tsc >= latest || tsc < noted[at]);
			last[at] = latest = tsc;
		}
		say_line(&dealt[at], line);
	}
	free(copy);
}

/* In the order of time there is the same as CPU after CPU. */
static void assert_same_by_cpu(const struct transcript *by_cpu, const struct transcript *by_time)
{
	struct transcript expected[CPUS_MAX + 1] = {{0}}, given[CPUS_MAX + 1] = {{0}};
	const struct way way = {1, 0, BY_TIME};

	deal(by_cpu, 0, expected);
	deal(by_time, 1, given);
	for (int i = 0; i <= CPUS_MAX; ++i) {
		assert_equal(&expected[i], &given[i], &way);
		free(expected[i].text);
		free(given[i].text);
	}
}

/* One thread is the measure. Returns what it gave. */
static struct transcript assert_all_ways(const struct sb_perfdata *perfdata,
                                         const struct sb_replay_options *options, const struct way *way,
                                         size_t nways)
{
	struct transcript expected[NLISTENS];

	for (int listens = ALL; listens < NLISTENS; ++listens)
		expected[listens] = replay(perfdata, *options, &(struct way){1, UINT64_MAX, listens}, 0);
	assert_int_equal(expected[ALL].status, 0);
	for (size_t i = 0; i < nways; ++i) {
		struct transcript given = replay(perfdata, *options, &way[i], 0);

		assert_equal(&expected[way[i].listens], &given, &way[i]);
		free(given.text);
	}
	assert_same_by_cpu(&expected[ALL], &expected[BY_TIME]);
	free(expected[FLOW].text);
	free(expected[ONLY_SUMS].text);
	free(expected[BY_TIME].text);
	return expected[ALL];
}

#ifdef BRIEF
static const struct way all_ways[] = {
        {2, 1, FLOW}, {3, 3000, FLOW}, {4, 1, ONLY_SUMS}, {3, 1, BY_TIME}, {0, 9000, ALL}};
#else
static const struct way all_ways[] = {
        {2, 64 * 1024, FLOW}, {2, 64 * 1024, ONLY_SUMS},
        {2, 1, FLOW},         {2, 1, ONLY_SUMS},
        {3, 1, FLOW},         {3, 1000, ONLY_SUMS},
        {3, 5000, FLOW},      {8, 1, FLOW},
        {8, 1, ONLY_SUMS},    {8, 3000, FLOW},
        {8, 3000, ONLY_SUMS}, {2, 1, BY_TIME},
        {8, 1, BY_TIME},      {0, 1, ALL},
        {0, 5000, ALL},       {0, 100000, ALL},
        {0, 3000, ONLY_SUMS}, {0, 3000, BY_TIME},
};
#endif
static const struct way some_ways[] = {{2, 1, FLOW}, {3, 1, ONLY_SUMS}, {3, 2000, FLOW},   {2, 1, BY_TIME},
                                       {0, 1, ALL},  {0, 4000, ALL},    {0, 2000, BY_TIME}};

enum { NALL = sizeof(all_ways) / sizeof(all_ways[0]), NSOME = sizeof(some_ways) / sizeof(some_ways[0]) };

/* ---- Recordings -------------------------------------------------------------------------------- */

struct recording {
	struct temp_dir dir;
	char *path, *root;
	const char *roots[1];
	struct sb_perfdata *perfdata; /* NULL: cannot be recorded here */
	struct sb_replay_options options;
};

/* The packets that tell the time; without any but TSC, it stands still for long. */
static const char *timing = "--mtc --cyc";

static int record(void **state)
{
	struct recording *recording = calloc(1, sizeof(*recording));
	char command[1024];
	int status;

	assert_non_null(recording);
	*state = recording;
	temp_dir_make(&recording->dir);
	recording->path = temp_dir_path(&recording->dir, "perf.data");
	recording->root = temp_dir_path(&recording->dir, "root");
	snprintf(
	        command, sizeof(command),
	        "exec env -i LC_ALL=C '%s' record --software -q -c 2 %s --psb-period 512 --overflow-every 20000 -o '%s' "
	        "--copy-root '%s' -- %s >/dev/null 2>&1",
	        SBTRACE_EXE, timing, recording->path, recording->root, workload);
	status = system(command);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return 0;
	recording->roots[0] = recording->root;
	recording->options = (struct sb_replay_options){
	        .size = sizeof(recording->options), .root = recording->roots, .nroots = 1, .no_host_root = 1};
	return sb_perfdata_open(&recording->perfdata, recording->path, NULL);
}

static int teardown(void **state)
{
	struct recording *recording = *state;

	sb_perfdata_close(recording->perfdata);
	temp_dir_remove(&recording->dir);
	free(recording->path);
	free(recording->root);
	free(recording);
	return 0;
}

static void any_way_gives_the_same(void **state)
{
	const struct recording *recording = *state;
	struct transcript transcript;

	if (!recording->perfdata)
		skip();
	transcript = assert_all_ways(recording->perfdata, &recording->options, all_ways, NALL);
	assert_true(transcript.nflows > 100);
	assert_null(strstr(transcript.text, "gap bad-trace"));
	free(transcript.text);
}

static void with_filters(void **state)
{
	const struct recording *recording = *state;
	struct sb_replay_options options;
	struct transcript transcript;
	int32_t cpu = 1, pid;
	uint64_t tsc;

	if (!recording->perfdata)
		skip();
	options = recording->options;
	transcript = replay(recording->perfdata, options, &(struct way){1, UINT64_MAX, ALL}, 0);
	assert_non_null(strstr(transcript.text, "\n0 "));
	assert_int_equal(sscanf(strstr(transcript.text, "\n0 "), "%*d %d %*d %" SCNu64, &pid, &tsc), 2);
	free(transcript.text);

	options.cpu = &cpu;
	options.ncpus = 1;
	free(assert_all_ways(recording->perfdata, &options, some_ways, NSOME).text);
	options.ncpus = 0;
	options.pid = &pid;
	options.npids = 1;
	free(assert_all_ways(recording->perfdata, &options, some_ways, NSOME).text);
	options.npids = 0;
	options.tsc_from = tsc + 100000;
	options.tsc_to = tsc + 500000;
	free(assert_all_ways(recording->perfdata, &options, some_ways, NSOME).text);
}

/* Wherever the sink says stop, the same was given before, and its word is handed through. */
/* ---- Flow that is added up --------------------------------------------------------------------- */

enum { PLACES = 1 << 16 };

/* Places of files, and addresses of nobody's, at which blocks ran: in the order in which they first did. */
struct places {
	struct {
		char *name; /* owned */
		uint64_t count, tsc;
	} place[PLACES];
	size_t order[PLACES], nplaces;
	uint64_t last_tsc, nsums;
	int by_time;
};

static size_t place_slot(struct places *places, const char *name, uint64_t tsc)
{
	size_t slot = 5381;

	for (const char *c = name; *c; ++c)
		slot = slot * 33 + (unsigned char)*c;
	for (slot %= PLACES; places->place[slot].name; slot = (slot + 1) % PLACES)
		if (!strcmp(places->place[slot].name, name))
			return slot;
	assert_true(places->nplaces < PLACES / 2);
	places->order[places->nplaces++] = slot;
	places->place[slot].name = strdup(name);
	places->place[slot].tsc = tsc;
	return slot;
}

static void count_block(struct places *places, const struct sb_flow *flow, const struct pt_run_block *block,
                        uint64_t times)
{
	const struct sb_map *map = flow->epoch ? sb_epoch_code(flow->epoch, block->ip) : NULL;
	char name[600];

	if (map)
		snprintf(name, sizeof(name), "%s %" PRIx64 " %" PRIx64 " %u", map->filename,
		         block->ip - map->begin + map->pgoff, block->end_ip - block->ip, block->ninsn);
	else
		snprintf(name, sizeof(name), "%d %" PRIx64 " %" PRIx64 " %u", flow->pid, block->ip,
		         block->end_ip - block->ip, block->ninsn);
	places->place[place_slot(places, name, flow->tsc)].count += times;
}

static int count_flow(void *context, const struct sb_flow *flow)
{
	struct places *places = context;
	const uint64_t *times = flow->times;

	places->nsums += times != NULL;
	assert_true(!places->by_time || flow->tsc >= places->last_tsc);
	places->last_tsc = flow->tsc;
	for (uint32_t i = 0; i < flow->npaths; ++i)
		for (uint32_t k = 0; k < flow->path[i]->nblocks; ++k)
			count_block(places, flow, &flow->path[i]->block[k], times ? *times++ : 1);
	return 0;
}

static struct places *count_all(const struct recording *recording, int by_time, uint64_t span_size)
{
	struct places *places = calloc(1, sizeof(*places));
	const struct sb_sink sink = {.context = places, .flow = count_flow};
	struct sb_replay_options options = recording->options;
	struct sb_session *session = NULL;

	assert_non_null(places);
	places->by_time = by_time;
	options.by_time = by_time;
	options.sums = span_size != 0;
	options.jobs = 1;
	assert_int_equal(sb_session_open(&session, recording->perfdata, &options, NULL), 0);
	if (span_size)
		assert_int_equal(merge(session, recording->perfdata, &options, &sink, span_size), 0);
	else
		assert_int_equal(sb_session_run(session, &sink, NULL), 0);
	sb_session_close(session);
	return places;
}

static void places_free(struct places *places)
{
	for (size_t i = 0; i < PLACES; ++i)
		free(places->place[i].name);
	free(places);
}

static void assert_same_places(const struct places *flow, const struct places *sums)
{
	assert_int_equal(flow->nsums, 0);
	assert_true(sums->nsums > 0);
	assert_int_equal(flow->nplaces, sums->nplaces);
	for (size_t i = 0; i < flow->nplaces; ++i) {
		const size_t a = flow->order[i], b = sums->order[i];

		assert_string_equal(flow->place[a].name, sums->place[b].name);
		assert_int_equal(flow->place[a].count, sums->place[b].count);
		assert_int_equal(flow->place[a].tsc, sums->place[b].tsc);
	}
}

static void added_up(void **state)
{
	const struct recording *recording = *state;

	if (!recording->perfdata)
		skip();
	for (int by_time = 0; by_time < 2; ++by_time) {
		struct places *flow = count_all(recording, by_time, 0);

		assert_true(flow->nplaces > 100);
		for (uint64_t size = 1; size < 1 << 20; size *= 60) {
			struct places *sums = count_all(recording, by_time, size);

			assert_same_places(flow, sums);
			places_free(sums);
		}
		places_free(flow);
	}
}

static void a_sink_may_stop(void **state)
{
	const struct recording *recording = *state;
	static const uint64_t stops[] = {1, 77, 500};

	if (!recording->perfdata)
		skip();
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); ++i) {
		struct transcript one = replay(recording->perfdata, recording->options,
		                               &(struct way){1, UINT64_MAX, ALL}, stops[i]);

		assert_int_equal(one.status, STOPPED);
		for (unsigned int jobs = 2; jobs <= 8; jobs *= 2) {
			struct way way = {jobs, jobs == 2 ? 64 * 1024 : 1, ALL};
			struct transcript given =
			        replay(recording->perfdata, recording->options, &way, stops[i]);

			assert_equal(&one, &given, &way);
			free(given.text);
		}
		free(one.text);
		one = replay(recording->perfdata, recording->options, &(struct way){2, 1, BY_TIME}, stops[i]);
		assert_int_equal(one.status, STOPPED);
		free(one.text);
	}
}

/* A linear congruential generator; the same sequence everywhere. */
static uint32_t draw(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

static void spoil(const struct recording *recording, const char *path, uint64_t seed)
{
	size_t nstreams;
	const struct sb_aux_stream *stream = sb_perfdata_streams(recording->perfdata, &nstreams);
	FILE *file = fopen(path, "r+b");

	assert_non_null(file);
	for (int i = 0; i < 6; ++i) {
		const struct sb_aux_stream *one = &stream[draw(&seed) % nstreams];
		const struct sb_aux_chunk *chunk = &one->chunk[draw(&seed) % one->nchunks];

		assert_int_equal(
		        fseek(file, (long)(chunk->file_offset + draw(&seed) % chunk->size), SEEK_SET), 0);
		fputc((int)(draw(&seed) & 0xff), file);
	}
	fclose(file);
}

static void damaged(void **state)
{
	const struct recording *recording = *state;
	uint64_t ngaps = 0;
	char *copy, *command;

	if (!recording->perfdata)
		skip();
	copy = temp_dir_path(&recording->dir, "damaged.data");
	assert_true(asprintf(&command, "cp '%s' '%s'", recording->path, copy) > 0);
	for (uint64_t seed = 1; seed <= SEEDS; ++seed) {
		struct sb_perfdata *perfdata = NULL;
		struct transcript transcript;

		assert_int_equal(system(command), 0);
		spoil(recording, copy, seed);
		assert_int_equal(sb_perfdata_open(&perfdata, copy, NULL), 0);
		transcript = assert_all_ways(perfdata, &recording->options, some_ways, NSOME);
		ngaps += transcript.ngaps;
		free(transcript.text);
		sb_perfdata_close(perfdata);
	}
	assert_true(ngaps > 0);
	free(command);
	free(copy);
}

/* ---- The corpus -------------------------------------------------------------------------------- */

static void corpus(void **state)
{
	const char *name = *state, *roots[1];
	struct sb_replay_options options = {
	        .size = sizeof(options), .root = roots, .nroots = 1, .no_host_root = 1};
	struct sb_perfdata *perfdata = NULL;
	char path[256], root[256];

	snprintf(path, sizeof(path), CORPUS_DIR "/%s/perf.data", name);
	snprintf(root, sizeof(root), CORPUS_DIR "/%s/root", name);
	if (access(path, R_OK) < 0)
		skip();
	roots[0] = root;
	assert_int_equal(sb_perfdata_open(&perfdata, path, NULL), 0);
	free(assert_all_ways(perfdata, &options, some_ways, NSOME).text);
	sb_perfdata_close(perfdata);
}

/* Time stands still between PSBs: who runs is concluded from what is executed, which must not depend on where
 * decoding began. */
static void corpus_late(void **state)
{
	const char *roots[] = {CORPUS_DIR "/user-pipe/root"};
	struct sb_replay_options options = {
	        .size = sizeof(options), .root = roots, .nroots = 1, .no_host_root = 1};
	struct sb_perfdata *perfdata = NULL;
	struct temp_dir dir;
	char command[1024], *path;

	(void)state;
	if (access(roots[0], R_OK) < 0)
		skip();
	temp_dir_make(&dir);
	path = temp_dir_path(&dir, "late.data");
	snprintf(command, sizeof(command),
	         "python3 '" SOURCE_DIR "/tests/degraded/degrade.py' '" CORPUS_DIR
	         "/user-pipe/perf.data' '%s' strip=mtc,cyc,tsc 2>/dev/null",
	         path);
	assert_int_equal(system(command), 0);
	assert_int_equal(sb_perfdata_open(&perfdata, path, NULL), 0);
	free(assert_all_ways(perfdata, &options, some_ways, NSOME).text);
	sb_perfdata_close(perfdata);
	temp_dir_remove(&dir);
	free(path);
}

static char user_true[] = "user-true", user_cyc[] = "user-true-cyc", user_threads[] = "user-threads",
            user_overflow[] = "user-threads-overflow", user_pipe[] = "user-pipe";

int main(void)
{
	const struct CMUnitTest recorded[] = {
	        cmocka_unit_test(any_way_gives_the_same),
	        cmocka_unit_test(with_filters),
	        cmocka_unit_test(added_up),
	        cmocka_unit_test(a_sink_may_stop),
	        cmocka_unit_test(damaged),
	};
	const struct CMUnitTest in_corpus[] = {
	        cmocka_unit_test_prestate(corpus, user_true),
	        cmocka_unit_test_prestate(corpus, user_cyc),
	        cmocka_unit_test_prestate(corpus, user_threads),
	        cmocka_unit_test_prestate(corpus, user_overflow),
	        cmocka_unit_test_prestate(corpus, user_pipe),
	        cmocka_unit_test(corpus_late),
	};
	const struct CMUnitTest recorded_late[] = {cmocka_unit_test(any_way_gives_the_same),
	                                           cmocka_unit_test(added_up)};
	int failed = cmocka_run_group_tests(recorded, record, teardown);

	timing = "";
	failed += cmocka_run_group_tests(recorded_late, record, teardown);
	return cmocka_run_group_tests(in_corpus, NULL, NULL) + failed;
}
