/* session.c - a replay from a recording to the account; see sb/replay.h.
 *
 * Streams come one after the other, in the order of their CPUs: with one job a walker goes along all of them,
 * with more a crew does, and gives the same. Or they come side by side, in the order of time.
 */
#include <sb/replay.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sb/binary.h>
#include <sb/shard.h>
#include <sb/store.h>

#include "binary/resolver.h"
#include "perfdata/perfdata_internal.h"
#include "replay/crew.h"
#include "replay/fork_memory.h"
#include "replay/fork_paging.h"
#include "replay/kernel_sources.h"
#include "replay/lanes.h"
#include "replay/lost_spans.h"
#include "replay/pid_reuse.h"
#include "replay/session.h"
#include "replay/span_merge.h"
#include "system/process.h"

/* Images and mappings in them: some 200 bytes each. */
enum { IMAGE_PARTS_MAX = 1 << 20 };

struct sb_session {
	const struct sb_perfdata *perfdata;
	struct sb_replay_options options; /* its arrays are owned */
	struct pt_cpu cpu_model;
	struct pt_errata errata;
	int has_cpu_model, has_errata; /* whether they are given */
	struct sb_system *system;
	struct replay_filter filter;
	struct sb_resolver *resolver;
	int owns_resolver;
	struct jit_code *jit;
	struct pt_image_section_cache *sections;
	struct evidence evidence;
	struct kernel_text kernel; /* when the kernel is traced */
	int traces_kernel;
	struct sb_symbols *symbols; /* borrowed; NULL: not given */
	struct ledger ledger;
	uint64_t piece_size;
	const struct sb_span_source
	        *source; /* borrowed; what is replayed was decoded elsewhere; NULL: it was not */
	int ran;
};

/* ---- Opening ---------------------------------------------------------------------------------- */

static int copy_numbers(const int32_t **copy, const int32_t *numbers, size_t count)
{
	int32_t *owned;

	*copy = NULL;
	if (!count)
		return 0;
	owned = reallocarray(NULL, count, sizeof(*owned));
	if (!owned)
		return -sbe_nomem;
	memcpy(owned, numbers, count * sizeof(*owned));
	*copy = owned;
	return 0;
}

static void free_strings(const char *const *strings, size_t count)
{
	for (size_t i = 0; strings && i < count; ++i)
		free((void *)(uintptr_t)strings[i]);
	free((void *)(uintptr_t)strings);
}

static int copy_strings(const char *const **copy, const char *const *strings, size_t count)
{
	char **owned = calloc(count ? count : 1, sizeof(*owned));

	*copy = (const char *const *)owned;
	if (!owned)
		return -sbe_nomem;
	for (size_t i = 0; i < count; ++i) {
		owned[i] = strdup(strings[i]);
		if (!owned[i])
			return -sbe_nomem;
	}
	return 0;
}

/* What the caller's version of the options has. */
static struct sb_replay_options given_options(const struct sb_replay_options *options)
{
	struct sb_replay_options given = {0};

	if (options)
		memcpy(&given, options, options->size < sizeof(given) ? options->size : sizeof(given));
	return given;
}

/* Roots and jitdumps are not kept: resolver and jit_code copy what they need. */
static int take_options(struct sb_session *session, const struct sb_replay_options *options)
{
	const struct sb_replay_options given = given_options(options);
	int status;

	session->options = given;
	session->options.root = session->options.jitdump = NULL;
	session->options.nroots = session->options.njitdumps = 0;
	session->options.kcore = session->options.vmlinux = session->options.kallsyms = NULL;
	session->options.container = session->options.cgroup = session->options.comm = NULL;
	session->options.cpu = NULL;
	session->options.cpu_model = NULL;
	session->options.errata = NULL;
	session->has_cpu_model = given.cpu_model != NULL;
	session->has_errata = given.errata != NULL;
	if (given.cpu_model)
		session->cpu_model = *given.cpu_model;
	if (given.errata)
		session->errata = *given.errata;
	status = copy_numbers(&session->options.pid, given.pid, given.npids);
	if (status == 0)
		status = copy_numbers(&session->options.cpu, given.cpu, given.ncpus);
	if (status == 0)
		status = copy_strings(&session->options.container, given.container, given.ncontainers);
	if (status == 0)
		status = copy_strings(&session->options.cgroup, given.cgroup, given.ncgroups);
	if (status == 0)
		status = copy_strings(&session->options.comm, given.comm, given.ncomms);
	return status;
}

static int open_resolver(struct sb_session *session, const struct sb_replay_options *given,
                         struct sb_error *err)
{
	int status = 0;

	session->resolver = given->resolver;
	session->owns_resolver = !session->resolver;
	if (session->owns_resolver)
		status = sb_resolver_new(&session->resolver, given->root, given->nroots, given->no_host_root,
		                         err);
	if (status == 0) {
		resolver_recorded_on(session->resolver, sb_perfdata_osrelease(session->perfdata));
		resolver_recorded_until(session->resolver, perfdata_written(session->perfdata));
	}
	return status;
}

/* Builds the system again, with what is known by now, and what the first one says of containers. */
static int build_again(struct sb_session *session, const struct system_facts *facts, struct sb_error *err)
{
	struct sb_system *first = session->system;
	int status;

	session->system = NULL;
	if (jit_code_needs_containers(session->jit))
		jit_code_use_containers(session->jit, first);
	status = system_build(&session->system, session->perfdata, jit_code_coder(session->jit), facts, err);
	jit_code_use_containers(session->jit, NULL);
	sb_system_free(first);
	return status;
}

/* What no record says, but other records and the trace do. */
struct found_facts {
	struct fork_fact *fork; /* how processes were forked, where it matters; owned */
	size_t nforks;
	struct pid_reuse *reuse; /* whose number may be another's; owned */
	size_t nreuses;
	struct lost_spans lost;
};

static int find_forks(const struct sb_session *session, struct found_facts *found)
{
	const struct sb_perfdata_info *info = sb_perfdata_info(session->perfdata);
	const uint64_t slack = stream_replay_slack_ns(info);
	int status = kinship_doubts(&system_processes(session->system)->kinship, !info->user_only,
	                            &found->fork, &found->nforks);

	if (status == 0 && found->nforks)
		status = fork_memory_find(session->perfdata, session->system, session->resolver, slack,
		                          found->fork, found->nforks);
	if (status == 0 && found->nforks && !info->user_only)
		status = fork_paging_find(session->perfdata, session->system, slack, found->fork,
		                          found->nforks);
	return status;
}

static int find_facts(const struct sb_session *session, struct found_facts *found)
{
	int status = find_forks(session, found);

	if (status == 0)
		status = pid_reuse_find(session->system, &found->reuse, &found->nreuses);
	return status < 0 ? status : lost_spans_init(&found->lost, session->system, session->perfdata);
}

static int build_with_facts(struct sb_session *session, struct sb_error *err)
{
	struct found_facts found = {0};
	int status = find_facts(session, &found);
	const struct system_facts facts = {
	        {found.fork, found.nforks}, found.reuse, found.nreuses, found.lost.any};

	if (status < 0)
		sb_error_set(err, status, NULL, UINT64_MAX, "out of memory");
	else if (found.nforks || found.nreuses || found.lost.any.count)
		status = build_again(session, &facts, err);
	free(found.fork);
	free(found.reuse);
	lost_spans_fini(&found.lost);
	return status;
}

static int build_system(struct sb_session *session, struct sb_error *err)
{
	static const struct system_facts nothing;
	int status = system_build(&session->system, session->perfdata, jit_code_coder(session->jit), &nothing,
	                          err);
	uint64_t first, last;

	if (status == 0 && jit_code_needs_containers(session->jit))
		status = build_again(session, &nothing, err);
	if (status == 0)
		status = build_with_facts(session, err);
	if (status == 0) {
		system_times(session->system, &first, &last);
		resolver_recorded_from_to(session->resolver, first, last);
	}
	return status;
}

static int open_parts(struct sb_session *session, const struct sb_replay_options *options,
                      struct sb_error *err)
{
	const struct sb_replay_options given = given_options(options);
	const struct sb_perfdata_info *info = sb_perfdata_info(session->perfdata);
	int status;

	/* Who ran where is told by time; nothing may be told that is wrong. */
	if (info->foreign_clock)
		return sb_error_set(err, -sbe_unsupported, sb_perfdata_path(session->perfdata), UINT64_MAX,
		                    "its times are of another clock (perf record -k), which no time stamp "
		                    "counter converts to");
	status = kernel_files_check(&given, err);
	if (status == 0)
		status = open_resolver(session, &given, err);
	if (status == 0)
		status = jit_code_new(&session->jit, session->resolver, info, given.jitdump, given.njitdumps,
		                      err);
	if (status == 0)
		status = build_system(session, err);
	if (status < 0)
		return status;
	evidence_init(&session->evidence, session->perfdata, session->system, stream_replay_slack_ns(info));
	session->evidence.addresses.resolver = session->resolver;
	/* Where time stands still for long, what is not mapped was another process's as likely as not. */
	if (info->pt_mtc)
		lost_maps_survey(&session->evidence.maps, session->perfdata, session->resolver);
	session->traces_kernel = !info->user_only;
	if (session->traces_kernel)
		status = kernel_text_open(&session->kernel, session->perfdata, session->system, &given,
		                          session->resolver, err);
	if (status < 0)
		return status;
	if (filter_init(&session->filter, &session->options, session->system) < 0)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	session->sections = pt_iscache_alloc("sbtrace");
	return session->sections ? 0 : sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

int sb_session_open(struct sb_session **result, const struct sb_perfdata *perfdata,
                    const struct sb_replay_options *options, struct sb_error *err)
{
	struct sb_session *session;
	int status;

	if (!result || !perfdata || (options && options->size < sizeof(options->size)))
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_session_open: no recording");
	session = calloc(1, sizeof(*session));
	if (!session)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	session->perfdata = perfdata;
	session->piece_size = PLAN_PIECE_SIZE;
	session->kernel = (struct kernel_text){.patches = -1, .base = kernel_base_none()};
	status = take_options(session, options);
	if (status < 0)
		status = sb_error_set(err, status, NULL, UINT64_MAX, "out of memory");
	else
		status = open_parts(session, options, err);
	if (status < 0) {
		sb_session_close(session);
		return status;
	}
	*result = session;
	return 0;
}

void sb_session_close(struct sb_session *session)
{
	if (!session)
		return;
	ledger_fini(&session->ledger);
	kernel_text_fini(&session->kernel);
	if (session->evidence.system)
		evidence_fini(&session->evidence);
	pt_iscache_free(session->sections);
	jit_code_free(session->jit);
	if (session->owns_resolver)
		sb_resolver_free(session->resolver);
	sb_system_free(session->system);
	free((void *)(uintptr_t)session->options.pid);
	free((void *)(uintptr_t)session->options.cpu);
	free_strings(session->options.container, session->options.ncontainers);
	free_strings(session->options.cgroup, session->options.ncgroups);
	free_strings(session->options.comm, session->options.ncomms);
	filter_fini(&session->filter);
	free(session);
}

/* ---- Running ---------------------------------------------------------------------------------- */

/* A recording that ends too early may lack whole chunks and sideband: that, too, is a gap. */
static int report_damage(struct sb_session *session)
{
	const struct sb_error *damage = sb_system_damage(session->system);
	struct sb_gap gap = {.reason = sb_gap_truncated, .cpu = -1, .pid = -1, .tid = -1};

	if (!damage)
		damage = sb_perfdata_damage(session->perfdata);
	if (damage)
		sb_error_string(damage, gap.detail, sizeof(gap.detail));
	else if (sb_perfdata_info(session->perfdata)->interrupted)
		snprintf(gap.detail, sizeof(gap.detail), "the recording was interrupted");
	else
		return 0;
	return ledger_gap(&session->ledger, &gap);
}

static int walk(struct sb_session *session, const struct replay_world *world,
                const struct sb_aux_stream *stream, size_t count, struct sb_error *err)
{
	/* On the stack, it would be the first to touch eight pages. */
	struct walker *walker = malloc(sizeof(*walker));
	int status = walker ? walker_init(walker, world, &session->ledger, IMAGE_PARTS_MAX, err)
	                    : sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");

	if (status < 0) {
		free(walker);
		return status;
	}
	for (size_t i = 0; i < count && status == 0; ++i) {
		status = walker_open(walker, &stream[i]);
		if (status == 0)
			status = walker_run(walker);
	}
	walker_fini(walker);
	free(walker);
	return status;
}

/* Whether it was asked for, and is not so anyway. */
static int in_order_of_time(const struct sb_session *session, const struct sb_aux_stream *stream,
                            size_t count)
{
	const struct sb_sink *sink = session->ledger.sink;

	return session->options.by_time && (sink->flow || sink->gap) && count > 1 &&
	       stream[count - 1].cpu >= 0 && stream[count - 2].cpu >= 0;
}

/* What was recorded by thread comes first. */
static size_t first_cpu(const struct sb_aux_stream *stream, size_t count)
{
	size_t first = 0;

	while (first < count && stream[first].cpu < 0)
		first += 1;
	return first;
}

static int replay_by_time(struct sb_session *session, const struct replay_world *world,
                          const struct sb_aux_stream *stream, size_t count, unsigned int jobs,
                          struct sb_error *err)
{
	const size_t first = first_cpu(stream, count);
	int status;

	status = walk(session, world, stream, first, err);
	if (status < 0 || first == count)
		return status;
	return lanes_replay(world, stream + first, count - first, &session->ledger, jobs, err);
}

/* What the caller knows better than the recording. */
static void configure(const struct sb_session *session, struct pt_config *config)
{
	sb_trace_config(config, sb_perfdata_info(session->perfdata));
	if (session->has_cpu_model) {
		config->cpu = session->cpu_model;
		pt_cpu_errata(&config->errata, &config->cpu);
	}
	if (session->has_errata)
		config->errata = session->errata;
}

void sb_session_set_symbols(struct sb_session *session, struct sb_symbols *symbols)
{
	session->symbols = symbols;
}

struct replay_world session_world(const struct sb_session *session)
{
	struct replay_world world = {.perfdata = session->perfdata,
	                             .options = &session->options,
	                             .system = session->system,
	                             .filter = &session->filter,
	                             .resolver = session->resolver,
	                             .sections = session->sections,
	                             /* It takes care of threads. */
	                             .evidence = (struct evidence *)(uintptr_t)&session->evidence,
	                             .jit = session->jit,
	                             .symbols = session->symbols,
	                             .traces_kernel = session->traces_kernel,
	                             .kernel = session->traces_kernel ? &session->kernel : NULL};

	configure(session, &world.config);
	return world;
}

/* @sums: how flow comes that was added up. */
static int replay_all(struct sb_session *session, unsigned int sums, struct sb_error *err)
{
	const struct replay_world world = session_world(session);
	const unsigned int jobs =
	        crew_size(session->options.jobs, session->ledger.account.bytes_total, session->piece_size);
	const struct sb_aux_stream *stream;
	size_t count;
	int status = 1;

	stream = sb_perfdata_streams(session->perfdata, &count);
	if (session->source)
		return span_merge(&world, session->source, &session->ledger,
		                  (struct span_merge_order){in_order_of_time(session, stream, count),
		                                            first_cpu(stream, count)},
		                  sums, err);
	if (in_order_of_time(session, stream, count))
		return replay_by_time(session, &world, stream, count, jobs, err);
	if (jobs > 1)
		status = crew_replay(&world, &session->ledger, jobs, session->piece_size, err);
	return status > 0 ? walk(session, &world, stream, count, err) : status;
}

static int run(struct sb_session *session, unsigned int sums, struct sb_error *err)
{
	const struct sb_aux_stream *stream;
	size_t count;
	int status;

	stream = sb_perfdata_streams(session->perfdata, &count);
	for (size_t i = 0; i < count; ++i)
		session->ledger.account.bytes_total += stream[i].size + stream_missing_bytes(&stream[i]);
	status = report_damage(session);
	if (status == 0)
		status = replay_all(session, sums, err);
	return status < 0 ? status : ledger_complete(&session->ledger);
}

static void begin_ledger(struct sb_session *session, const struct sb_sink *sink)
{
	static const struct sb_sink nobody;

	ledger_init(&session->ledger, sink ? sink : &nobody, &session->options);
	session->ledger.account.nrecords =
	        sb_system_nrecords(session->system, &session->ledger.account.nrecords_skipped);
}

static int merge_as(struct sb_session *session, const struct sb_sink *sink, unsigned int sums,
                    struct sb_error *err)
{
	const int status = sink && sink->sums ? sink->sums(sink->context, sums) : 0;

	return status == 0 ? run(session, sums, err) : status;
}

/* Each of the ways in which flow was added up by itself, as they have nothing to do with each other; each
 * comes to the same account. */
static int merge(struct sb_session *session, const struct sb_sink *sink, struct sb_error *err)
{
	const unsigned int sums = span_adds_up(&session->options);
	const unsigned int way[] = {sums & sb_sums_counts, sums & sb_sums_stacks, sums & sb_sums_threads};
	int status = 0, nmerged = 0;

	for (size_t i = 0; i < sizeof(way) / sizeof(way[0]) && status == 0; ++i) {
		if (!way[i])
			continue;
		if (nmerged++) {
			ledger_fini(&session->ledger);
			begin_ledger(session, sink);
		}
		status = merge_as(session, sink, way[i], err);
	}
	return nmerged ? status : merge_as(session, sink, sb_sums_none, err);
}

struct session_code session_code(const struct sb_session *session)
{
	return (struct session_code){
	        .system = session->system,
	        .clock = &sb_perfdata_info(session->perfdata)->clock,
	        .resolver = session->resolver,
	        .sections = session->sections,
	        /* Answers that are kept; they take care of threads. */
	        .lost = (struct lost_maps *)(uintptr_t)&session->evidence.maps,
	        .kernel = session->traces_kernel ? &session->kernel : NULL,
	};
}

int session_status(const struct sb_session *session, int status, struct sb_error *err)
{
	int failure;

	system_schedules_check(session->system);
	failure = sb_perfdata_failure(session->perfdata, err);
	return failure ? failure : status;
}

void session_set_piece_size(struct sb_session *session, uint64_t size)
{
	session->piece_size = size;
}

int sb_session_run(struct sb_session *session, const struct sb_sink *sink, struct sb_error *err)
{
	int status, finished;

	if (!session || session->ran)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX,
		                    "sb_session_run: a session runs once");
	session->ran = 1;
	begin_ledger(session, sink);
	if (err)
		*err = (struct sb_error){0};
	status = session->source ? merge(session, sink, err) : run(session, sb_sums_none, err);
	finished = ledger_finish(&session->ledger, session->system);
	session->ledger.account.map = session->evidence.maps.survey.list;
	session->ledger.account.nmaps = session->evidence.maps.survey.nfound;
	if (status == 0)
		status = finished;
	status = session_status(session, status, err);
	if (status == -sbe_nomem && err && !err->code)
		sb_error_set(err, status, NULL, UINT64_MAX, "out of memory");
	return status;
}

int sb_session_merge(struct sb_session *session, const struct sb_span_source *source,
                     const struct sb_sink *sink, struct sb_error *err)
{
	if (!session || !source || source->size < sizeof(*source) || !source->read)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_session_merge: no spans");
	session->source = source;
	return sb_session_run(session, sink, err);
}

const struct sb_system *sb_session_system(const struct sb_session *session)
{
	return session ? session->system : NULL;
}

const struct sb_account *sb_session_account(const struct sb_session *session)
{
	return session ? &session->ledger.account : NULL;
}
