/* job.c - filling a job, whoever asks; see job.h. */
#include "job/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "job/job_list.h"

static const uint64_t second = 1000000000;

static void sink_free(struct job_sink *sink)
{
	for (size_t i = 0; i < sink->nsettings; i++)
		free(sink->setting[i].value);
	free(sink->setting);
	free(sink->file);
}

void job_free(struct job *job)
{
	free(job->recording);
	for (int i = 0; i < job_files; i++)
		free(job->file[i]);
	job_files_free(&job->files);
	job_strings_free(job->jitdump, job->njitdumps);
	free(job->cpu.value);
	free(job->pid.value);
	job_strings_free(job->container.value, job->container.count);
	job_strings_free(job->cgroup.value, job->cgroup.count);
	job_strings_free(job->comm.value, job->comm.count);
	for (size_t i = 0; i < job->nsinks; i++)
		sink_free(&job->sink[i]);
	free(job->sink);
	memset(job, 0, sizeof(*job));
}

int job_set_recording(struct job *job, const char *path, struct option_error *error)
{
	if (job->recording)
		return option_fail(error, "one recording is enough: '%s' or '%s'?", job->recording, path);
	if (!*path)
		return option_fail(error, "the recording's name is empty");
	job->recording = job_copy(path, error);
	return job->recording ? 0 : -1;
}

int job_set_file(struct job *job, enum job_file which, const char *path, struct option_error *error)
{
	char *owned;

	if (!*path)
		return option_fail(error, "the file's name is empty");
	owned = job_copy(path, error);
	if (!owned)
		return -1;
	free(job->file[which]);
	job->file[which] = owned;
	return 0;
}

int job_add_text(struct job_texts *texts, const char *text, struct option_error *error)
{
	if (!*text)
		return option_fail(error, "the pattern is empty");
	return job_strings_add(&texts->value, &texts->count, job_items_most, text, error);
}

int job_add_jitdump(struct job *job, const char *path, struct option_error *error)
{
	if (!*path)
		return option_fail(error, "the file's name is empty");
	return job_strings_add(&job->jitdump, &job->njitdumps, job_items_most, path, error);
}

static int list_add_range(struct job_list *list, uint64_t first, uint64_t last, struct option_error *error)
{
	for (uint64_t n = first; n <= last; n++) {
		int32_t *value = job_grow(list->value, list->count, job_list_most, sizeof(*value), error);

		if (!value)
			return -1;
		list->value = value;
		value[list->count++] = (int32_t)n;
	}
	return 0;
}

/* One "3" or "0-3"; @text is changed. */
static int list_add_item(struct job_list *list, char *text, struct option_error *error)
{
	char *dash = strchr(text, '-');
	uint64_t first, last;

	if (dash)
		*dash = '\0';
	if (option_number(text, 0, INT32_MAX, &first, error))
		return -1;
	last = first;
	if (dash && option_number(dash + 1, 0, INT32_MAX, &last, error))
		return -1;
	if (last < first)
		return option_fail(error, "the range %s-%s is upside down", text, dash + 1);
	return list_add_range(list, first, last, error);
}

int job_list_add(struct job_list *list, const char *text, struct option_error *error)
{
	char *items = job_copy(text, error), *rest = items;
	int result = items ? 0 : -1;

	while (!result && rest)
		result = list_add_item(list, strsep(&rest, ","), error);
	free(items);
	return result;
}

/* "483.295" as nanoseconds; @dot is the place of the point. */
static int parse_seconds(const char *text, const char *dot, uint64_t *ns, struct option_error *error)
{
	char whole[24], fraction[10] = "000000000";
	size_t nwhole = (size_t)(dot - text), nfraction = strlen(dot + 1);
	struct option_error ignored;
	uint64_t seconds, rest;

	if (nfraction > 9 || strspn(dot + 1, "0123456789") != nfraction || nwhole >= sizeof(whole) ||
	    strspn(text, "0123456789") != nwhole)
		return option_fail(error, "expected seconds with up to nine decimals, found '%s'", text);
	memcpy(whole, text, nwhole);
	whole[nwhole] = '\0';
	memcpy(fraction, dot + 1, nfraction);
	if (option_number(whole, 0, UINT64_MAX / second - 1, &seconds, &ignored))
		return option_fail(error, "expected seconds, found '%s'", text);
	rest = strtoull(fraction, NULL, 10);
	*ns = seconds * second + rest;
	return 0;
}

int job_time_set(struct job_time *time, const char *text, struct option_error *error)
{
	const char *dot = strchr(text, '.');

	if (!*text) {
		time->unit = job_time_open;
		return 0;
	}
	time->unit = dot ? job_time_ns : job_time_tsc;
	return dot ? parse_seconds(text, dot, &time->value, error)
	           : option_number(text, 0, UINT64_MAX, &time->value, error);
}

int job_set_jobs(struct job *job, const char *text, struct option_error *error)
{
	uint64_t jobs;

	if (option_number(text, 1, job_jobs_most, &jobs, error))
		return -1;
	job->jobs = (unsigned int)jobs;
	return 0;
}

int job_add_sink(struct job *job, const char *name, const char *file, struct option_error *error)
{
	const char *nearest;
	const struct sink_type *type = sink_type_find(name, &nearest);
	struct job_sink *sink;

	if (!type && nearest)
		return option_fail(error, "unknown sink '%s'; did you mean '%s'?", name, nearest);
	if (!type)
		return option_fail(error, "unknown sink '%s'", name);
	if (file && !*file)
		return option_fail(error, "the file's name is empty");
	sink = job_grow(job->sink, job->nsinks, job_items_most, sizeof(*sink), error);
	if (!sink)
		return -1;
	job->sink = sink;
	sink += job->nsinks;
	*sink = (struct job_sink){.type = type, .file = file ? job_copy(file, error) : NULL};
	if (file && !sink->file)
		return -1;
	job->nsinks++;
	return 0;
}

static int unknown_setting(const struct sink_type *type, const char *name, const char *nearest,
                           struct option_error *error)
{
	if (nearest)
		return option_fail(error, "the sink %s has no option '%s'; did you mean '%s'?", type->name,
		                   name, nearest);
	return option_fail(error, "the sink %s has no %s '%s'", type->name,
	                   type->noptions ? "option" : "options, nor", name);
}

int job_add_setting(struct job *job, const char *name, const char *value, struct option_error *error)
{
	struct job_sink *sink = job->nsinks ? &job->sink[job->nsinks - 1] : NULL;
	const struct sink_option *option;
	struct sink_setting *setting;
	struct option_error why;
	const char *nearest;

	if (!sink)
		return option_fail(error, "which sink's? It belongs to the --sink before it");
	option = sink_option_find(sink->type, name, &nearest);
	if (!option)
		return unknown_setting(sink->type, name, nearest, error);
	if (sink_option_try(sink->type, option, value, &why))
		return option_fail(error, "%s: %.200s", name, why.why);
	setting = job_grow(sink->setting, sink->nsettings, job_items_most, sizeof(*setting), error);
	if (!setting)
		return -1;
	sink->setting = setting;
	setting += sink->nsettings;
	*setting = (struct sink_setting){option, job_copy(value, error)};
	if (!setting->value)
		return -1;
	sink->nsettings++;
	return 0;
}

static void swap_lists(struct job_list *a, struct job_list *b)
{
	struct job_list keep = *a;

	*a = *b;
	*b = keep;
}

static void swap_texts(struct job_texts *a, struct job_texts *b)
{
	struct job_texts keep = *a;

	*a = *b;
	*b = keep;
}

void job_override(struct job *job, struct job *over)
{
	struct job keep = *job;

	/* What is replaced goes to @over, to be freed with it. */
	if (over->recording) {
		job->recording = over->recording;
		over->recording = keep.recording;
	}
	for (int i = 0; i < job_files; i++)
		if (over->file[i]) {
			char *replaced = job->file[i];

			job->file[i] = over->file[i];
			over->file[i] = replaced;
		}
	job_files_override(&job->files, &over->files);
	if (over->njitdumps) {
		job->jitdump = over->jitdump;
		job->njitdumps = over->njitdumps;
		over->jitdump = keep.jitdump;
		over->njitdumps = keep.njitdumps;
	}
	if (over->nsinks) {
		job->sink = over->sink;
		job->nsinks = over->nsinks;
		over->sink = keep.sink;
		over->nsinks = keep.nsinks;
	}
	if (over->cpu.count)
		swap_lists(&job->cpu, &over->cpu);
	if (over->pid.count)
		swap_lists(&job->pid, &over->pid);
	if (over->container.count)
		swap_texts(&job->container, &over->container);
	if (over->cgroup.count)
		swap_texts(&job->cgroup, &over->cgroup);
	if (over->comm.count)
		swap_texts(&job->comm, &over->comm);
	if (over->from.unit != job_time_open || over->to.unit != job_time_open) {
		job->from = over->from;
		job->to = over->to;
	}
	if (over->jobs)
		job->jobs = over->jobs;
	job->symbols |= over->symbols;
	job->no_demangle |= over->no_demangle;
	if (over->strict)
		job->strict = over->strict;
	job_free(over);
}

/* The last count that is not after @ns: one before the first that is. */
static uint64_t last_tsc(const struct sb_clock *clock, uint64_t ns)
{
	uint64_t after = sb_clock_ns_to_tsc(clock, ns + 1);

	return after ? after - 1 : 0;
}

int job_span(const struct job *job, const struct sb_clock *clock, uint64_t *from, uint64_t *to,
             struct sb_error *err)
{
	*from = *to = 0;
	if (job->from.unit == job_time_open && job->to.unit == job_time_open)
		return 0;
	if ((job->from.unit == job_time_ns || job->to.unit == job_time_ns) && !clock->time_mult)
		return sb_error_set(
		        err, -sbe_not_found, job->recording, UINT64_MAX,
		        "does not say how seconds convert to time stamp counts: give the span in counts");
	*to = UINT64_MAX;
	if (job->from.unit != job_time_open)
		*from = job->from.unit == job_time_ns ? sb_clock_ns_to_tsc(clock, job->from.value)
		                                      : job->from.value;
	if (job->to.unit != job_time_open)
		*to = job->to.unit == job_time_ns ? last_tsc(clock, job->to.value) : job->to.value;
	if (!*to || *to < *from)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX,
		                    "the span of time ends before it begins");
	return 0;
}
