/* job_session.c - see job_session.h. Everything is opened in the order in which it can fail cheaply. */
#include "job/job_session.h"

#include <stdlib.h>
#include <string.h>

#include <sb/bundle.h>
#include <sb/kernel.h>
#include <sb/shard.h>
#include <sb/symbols.h>

#include "job/job_decode.h"
#include "tell.h"

const struct sink_type *job_sink_type(const struct job *job, size_t index)
{
	if (!job->nsinks)
		return index ? NULL : &sink_summary;
	return index < job->nsinks ? job->sink[index].type : NULL;
}

bool job_sink_symbols(const struct job *job, size_t index)
{
	return job->symbols || (index < job->nsinks && job->sink[index].symbols);
}

bool job_wants_flow(const struct job *job)
{
	const struct sink_type *type;

	for (size_t i = 0; (type = job_sink_type(job, i)); i++)
		if (sink_type_wants_flow(type, job_sink_symbols(job, i)))
			return true;
	return false;
}

bool job_wants_events(const struct job *job)
{
	const struct sink_type *type;

	for (size_t i = 0; (type = job_sink_type(job, i)); i++)
		if (type->event)
			return true;
	return false;
}

bool job_filters(const struct job_filter *filter)
{
	static const struct job_filter empty;

	return memcmp(filter, &empty, sizeof(empty)) != 0;
}

/* What all sinks that look at flow take added up (enum sb_sums). Filters of their own look at each flow. */
static unsigned int takes_sums(const struct job *job)
{
	const struct sink_type *type;
	unsigned int counts = sb_sums_none, others = sb_sums_none;

	if (job->filter.address.count || job->filter.function.count)
		return sb_sums_none;
	for (size_t i = 0; (type = job_sink_type(job, i)); i++) {
		const struct job_sink *sink = i < job->nsinks ? &job->sink[i] : NULL;
		unsigned int takes = sb_sums_none;

		if (!sink_type_wants_flow(type, job_sink_symbols(job, i)))
			continue;
		if (type->takes_sums && !(sink && job_filters(&sink->filter)))
			takes = type->takes_sums(sink ? sink->setting : NULL, sink ? sink->nsettings : 0);
		if (takes == sb_sums_none)
			return sb_sums_none;
		if ((takes & sb_sums_counts) > counts)
			counts = takes & sb_sums_counts;
		others |= takes & (sb_sums_stacks | sb_sums_threads);
	}
	return counts || others ? counts | others : sb_sums_blocks;
}

static bool wants_order_of_time(const struct job *job)
{
	const struct sink_type *type;

	for (size_t i = 0; (type = job_sink_type(job, i)); i++)
		if (type->by_time)
			return true;
	return false;
}

static void open_checkpoint(struct job_session *opened)
{
	const struct job_checkpoint *checkpoint = &opened->checkpoint;
	struct sb_error failure = {0};

	if (checkpoint->path &&
	    sb_checkpoint_open(&opened->opened_checkpoint, checkpoint->path, checkpoint->offset,
	                       checkpoint->bytes, checkpoint->sum, &failure))
		tell(opened->command, "note: all records of the recording are read: ", &failure);
}

/* From where the recording is. */
static int open_recording(struct job_session *opened, const struct job *job, const char *recording,
                          struct sb_error *err)
{
	int code;

	if (!job_is_url(recording))
		return sb_perfdata_open_at(&opened->perfdata, recording, opened->opened_checkpoint, err);
	code = fetch_open(&opened->fetch, &job->fetch, recording, err);
	/* Of another size, it is no use to fetch more. */
	if (!code && opened->expected)
		code = fetch_compare(opened->fetch, opened->expected, err);
	if (!code)
		code = fetch_open_recording(opened->fetch, opened->opened_checkpoint, &opened->perfdata, err);
	return !code && opened->expected ? fetch_compare(opened->fetch, opened->expected, err) : code;
}

int job_session_check(const struct job_session *opened, struct sb_error *err)
{
	return opened->fetch ? fetch_check(opened->fetch, err) : 0;
}

int job_session_open(struct job_session *opened, const struct job *job, const char *recording,
                     struct sb_error *err)
{
	const struct job_filter *filter = &job->filter;
	struct sb_replay_options options = {
	        .size = sizeof(options),
	        .cpu = filter->cpu.value,
	        .ncpus = filter->cpu.count,
	        .pid = filter->pid.value,
	        .npids = filter->pid.count,
	        .jobs = job->jobs,
	        .kcore = job->file[job_kcore],
	        .vmlinux = job->file[job_vmlinux],
	        .kallsyms = job->file[job_kallsyms],
	        .container = (const char *const *)filter->container.value,
	        .ncontainers = filter->container.count,
	        .cgroup = (const char *const *)filter->cgroup.value,
	        .ncgroups = filter->cgroup.count,
	        .comm = (const char *const *)filter->comm.value,
	        .ncomms = filter->comm.count,
	        .jitdump = (const char *const *)job->jitdump.value,
	        .njitdumps = job->jitdump.count,
	        .by_time = wants_order_of_time(job),
	        .sums = (int)takes_sums(job),
	};
	struct job_decoding decoding;
	int code = job_decoding_of(&job->decode, &decoding, err);

	options.cpu_model = decoding.has_cpu ? &decoding.cpu : NULL;
	options.errata = decoding.has_errata ? &decoding.errata : NULL;
	options.without_evidence = decoding.without_evidence;
	if (!code) {
		open_checkpoint(opened);
		code = open_recording(opened, job, recording, err);
	}
	if (!code && decoding.tsc_alone)
		sb_perfdata_trust_tsc_alone(opened->perfdata);
	if (!code)
		code = job_open_resolver(&job->files, &opened->resolver, err);
	options.resolver = opened->resolver;
	if (!code)
		code = job_span(filter, &sb_perfdata_info(opened->perfdata)->clock, recording,
		                &options.tsc_from, &options.tsc_to, err);
	if (!code)
		code = sb_session_open(&opened->session, opened->perfdata, &options, err);
	return code;
}

/* ---- Symbols ---------------------------------------------------------------------------------- */

static bool wants_symbols(const struct job *job)
{
	const struct sink_type *type;
	size_t functions = job->filter.function.count;

	for (size_t i = 0; i < job->nsinks; i++)
		functions += job->sink[i].filter.function.count;
	for (size_t i = 0; (type = job_sink_type(job, i)); i++)
		if (sink_type_wants_symbols(type, job_sink_symbols(job, i)))
			return true;
	return functions != 0;
}

/* Files of the kernel that were named, now or when the bundle was made, besides what the recording brings
 * along. */
static int add_kernel_symbols(struct job_session *opened, const struct job *job, struct sb_error *err)
{
	const struct sb_system *system = sb_session_system(opened->session);
	char *const *file = job->file;
	const char *recording = sb_perfdata_path(opened->perfdata);
	char *vmlinux = NULL, *kallsyms = NULL;
	const char *named;
	int code = 0;

	if (!file[job_vmlinux] && !file[job_kcore])
		vmlinux = sb_bundle_named_kernel(opened->resolver, recording, "vmlinux");
	if (!file[job_kallsyms])
		kallsyms = sb_bundle_named_kernel(opened->resolver, recording, "kallsyms");
	named = file[job_vmlinux] ? file[job_vmlinux] : vmlinux;
	if (named)
		code = sb_symbols_add_vmlinux(opened->symbols, named, sb_system_kernel_shift(system, named),
		                              err);
	named = file[job_kallsyms] ? file[job_kallsyms] : kallsyms;
	if (!code && named)
		code = sb_symbols_add_kallsyms(opened->symbols, named, err);
	free(vmlinux);
	free(kallsyms);
	return code;
}

static int open_symbols(struct job_session *opened, const struct job *job, struct sb_error *err)
{
	const struct sb_symbols_options wanted = {
	        .size = sizeof(wanted), .no_demangle = job->no_demangle, .kcore = job->file[job_kcore]};
	int code = sb_symbols_new(&opened->symbols, opened->resolver, &wanted, err);

	if (!code)
		code = sb_symbols_add_recording(opened->symbols, opened->perfdata,
		                                sb_session_system(opened->session), err);
	if (!code)
		code = add_kernel_symbols(opened, job, err);
	sb_session_set_symbols(opened->session, opened->symbols);
	return code;
}

int job_session_add_symbols(struct job_session *opened, const struct job *job, struct sb_error *err)
{
	return wants_symbols(job) ? open_symbols(opened, job, err) : 0;
}

int job_session_add_shard_symbols(struct job_session *opened, const struct job *job, struct sb_error *err)
{
	return takes_sums(job) & sb_sums_stacks ? job_session_add_symbols(opened, job, err) : 0;
}

void job_session_close(struct job_session *opened)
{
	sb_symbols_free(opened->symbols);
	sb_session_close(opened->session);
	sb_resolver_free(opened->resolver);
	sb_perfdata_close(opened->perfdata);
	sb_checkpoint_close(opened->opened_checkpoint);
	fetch_close(opened->fetch);
	*opened = (struct job_session){0};
}

void job_session_leave(struct job_session *opened)
{
	/* Known until then: no leak to who looks for some. The rest has files to remove and commands to end.
	 */
	static struct {
		struct sb_session *session;
		struct sb_symbols *symbols;
	} left __attribute__((used));

	left.session = opened->session;
	left.symbols = opened->symbols;
	opened->session = NULL;
	opened->symbols = NULL;
	job_session_close(opened);
}
