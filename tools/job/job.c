/* job.c - filling a job, whoever asks; see job.h. */
#include "job/job.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <intel-pt.h>

#include "job/job_list.h"

static const uint64_t second = 1000000000;

void job_filter_free(struct job_filter *filter)
{
	free(filter->cpu.value);
	free(filter->pid.value);
	job_texts_free(&filter->container);
	job_texts_free(&filter->cgroup);
	job_texts_free(&filter->comm);
	free(filter->address.value);
	job_texts_free(&filter->function);
	*filter = (struct job_filter){0};
}

void job_sinks_free(struct job_sink *sink, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < sink[i].nsettings; j++)
			free(sink[i].setting[j].value);
		free(sink[i].setting);
		free(sink[i].file);
		job_filter_free(&sink[i].filter);
	}
	free(sink);
}

void job_free(struct job *job)
{
	free(job->recording);
	job_texts_free(&job->recordings);
	for (int i = 0; i < job_files; i++)
		free(job->file[i]);
	job_files_free(&job->files);
	job_texts_free(&job->jitdump);
	job_filter_free(&job->filter);
	free(job->decode.cpu_model);
	job_texts_free(&job->decode.errata);
	job_texts_free(&job->decode.switch_evidence);
	job_sinks_free(job->sink, job->nsinks);
	job_cluster_free(&job->cluster);
	job_fetch_free(&job->fetch);
	free(job->run_record);
	free(job->parts.directory);
	free(job->path);
	job_places_free(&job->places);
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

int job_set_text(char **field, const char *what, const char *text, struct option_error *error)
{
	char *owned;

	if (!*text)
		return option_fail(error, "%s is empty", what);
	owned = job_copy(text, error);
	if (!owned)
		return -1;
	free(*field);
	*field = owned;
	return 0;
}

int job_add_text(struct job_texts *texts, const char *text, struct option_error *error)
{
	return job_texts_add(texts, job_items_most, "the pattern", text, error);
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

	if (dash && (dash == text || !dash[1]))
		return option_fail(error, "expected a number or a range such as 0-3, found '%s'", text);
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
	if (!dot && (!isdigit((unsigned char)*text) || strchr(text, ':')))
		return option_fail(
		        error, "expected a time stamp count, or seconds such as 483.295, found '%s'", text);
	return dot ? parse_seconds(text, dot, &time->value, error)
	           : option_number(text, 0, UINT64_MAX, &time->value, error);
}

bool job_time_is_before(const struct job_time *a, const struct job_time *b)
{
	return a->unit == b->unit && a->unit != job_time_open && a->value < b->value;
}

int job_range_add(struct job_ranges *ranges, const char *text, struct option_error *error)
{
	const size_t at = strcspn(text, "-+");
	char *first;
	struct sink_range *value;
	uint64_t begin, end;
	int result;

	if (!text[at] || !isdigit((unsigned char)*text))
		return option_fail(
		        error, "expected FROM-TO or FROM+SIZE such as 0x401000-0x402000, found '%s'", text);
	first = strndup(text, at);
	if (!first)
		return option_fail(error, "out of memory");
	result = option_number(first, 0, UINT64_MAX, &begin, error);
	free(first);
	if (result)
		return -1;
	if (option_number(text + at + 1, 0, text[at] == '+' ? UINT64_MAX - begin : UINT64_MAX, &end, error))
		return -1;
	if (text[at] == '+')
		end += begin;
	if (end <= begin)
		return option_fail(error, "the range %s is %s", text, end < begin ? "upside down" : "empty");
	value = job_grow(ranges->value, ranges->count, job_items_most, sizeof(*value), error);
	if (!value)
		return -1;
	ranges->value = value;
	value[ranges->count++] = (struct sink_range){begin, end};
	return 0;
}

/* A number, with one of the @units behind it that stand for @factor, or with none if that is allowed.
 * @expected is for complaints. */
static int set_with_unit(uint64_t *value, const char *text, const char *units, const uint64_t *factor,
                         bool plain, const char *expected, struct option_error *error)
{
	const size_t length = strspn(text, "0123456789");
	const char *unit = text[length] ? strchr(units, text[length]) : NULL;
	const uint64_t times = unit ? factor[unit - units] : 1;
	uint64_t number;
	char *digits;
	int result;

	if (!length || (unit ? text[length + 1] : text[length] || !plain))
		return option_fail(error, "expected %s, found '%s'", expected, text);
	digits = strndup(text, length);
	if (!digits)
		return option_fail(error, "out of memory");
	result = option_number(digits, 1, UINT64_MAX / times, &number, error);
	free(digits);
	if (!result)
		*value = number * times;
	return result;
}

int job_size_set(uint64_t *size, const char *text, struct option_error *error)
{
	static const uint64_t factor[] = {UINT64_C(1) << 10, UINT64_C(1) << 20, UINT64_C(1) << 30,
	                                  UINT64_C(1) << 40};

	return set_with_unit(size, text, "KMGT", factor, true, "a size such as 512M or 4G", error);
}

int job_duration_set(uint64_t *seconds, const char *text, struct option_error *error)
{
	static const uint64_t factor[] = {1, 60, 60 * 60, 24 * 60 * 60};

	return set_with_unit(seconds, text, "smhd", factor, false, "a time such as 30m or 4h", error);
}

bool job_is_word(const char *text)
{
	return *text &&
	       !text[strspn(text,
	                    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/:@,+=%-")];
}

int job_cpu_model(const char *text, struct pt_cpu *cpu, struct option_error *error)
{
	unsigned int family, model, stepping;
	int length = 0;

	if (sscanf(text, "%5u/%3u/%3u%n", &family, &model, &stepping, &length) != 3 || text[length] ||
	    strspn(text, "0123456789/") != (size_t)length || family > UINT16_MAX || model > UINT8_MAX ||
	    stepping > UINT8_MAX)
		return option_fail(error, "expected FAMILY/MODEL/STEPPING such as 6/85/4, found '%s'", text);
	*cpu = (struct pt_cpu){.vendor = pcv_intel,
	                       .family = (uint16_t)family,
	                       .model = (uint8_t)model,
	                       .stepping = (uint8_t)stepping};
	return 0;
}

int job_set_jobs(struct job *job, const char *text, struct option_error *error)
{
	uint64_t jobs;

	if (option_number(text, 1, job_jobs_most, &jobs, error))
		return -1;
	job->jobs = (unsigned int)jobs;
	return 0;
}

/* Nothing is near: all there are. */
static int fail_unknown(const char *name, struct option_error *error)
{
	char all[256] = "";
	const struct sink_type *type;

	for (size_t i = 0; (type = sink_type_at(i)); i++) {
		const size_t used = strlen(all);

		snprintf(all + used, sizeof(all) - used, "%s%s", used ? ", " : "", type->name);
	}
	return option_fail(error, "unknown sink '%s'; there are %s", name, all);
}

int job_add_sink(struct job *job, const char *name, const char *file, struct option_error *error)
{
	const char *nearest;
	const struct sink_type *type = sink_type_find(name, &nearest);
	struct job_sink *sink;

	if (!type && nearest)
		return option_fail(error, "unknown sink '%s'; did you mean '%s'?", name, nearest);
	if (!type)
		return fail_unknown(name, error);
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

/* The last count that is not after @ns: one before the first that is. */
static uint64_t last_tsc(const struct sb_clock *clock, uint64_t ns)
{
	uint64_t after = sb_clock_ns_to_tsc(clock, ns + 1);

	return after ? after - 1 : 0;
}

/* It ends before any time stamp. */
static int too_early(const struct sb_clock *clock, const char *recording, struct sb_error *err)
{
	const uint64_t ns = clock->time_mult ? sb_clock_tsc_to_ns(clock, 1) : 0;

	if (!ns)
		return sb_error_set(err, -sbe_invalid, recording, UINT64_MAX,
		                    "the span of time ends before the time stamp count 1, the first one");
	return sb_error_set(err, -sbe_invalid, recording, UINT64_MAX,
	                    "the span of time ends before the time stamp count 1, the first one, which is at "
	                    "%" PRIu64 ".%09" PRIu64 " seconds",
	                    ns / 1000000000, ns % 1000000000);
}

int job_span(const struct job_filter *filter, const struct sb_clock *clock, const char *recording,
             uint64_t *from, uint64_t *to, struct sb_error *err)
{
	const struct job_time *first = &filter->from, *last = &filter->to;

	*from = *to = 0;
	if (first->unit == job_time_open && last->unit == job_time_open)
		return 0;
	if ((first->unit == job_time_ns || last->unit == job_time_ns) && !clock->time_mult)
		return sb_error_set(
		        err, -sbe_not_found, recording, UINT64_MAX,
		        "does not say how seconds convert to time stamp counts: give the span in counts");
	*to = UINT64_MAX;
	if (first->unit != job_time_open)
		*from = first->unit == job_time_ns ? sb_clock_ns_to_tsc(clock, first->value) : first->value;
	if (last->unit != job_time_open)
		*to = last->unit == job_time_ns ? last_tsc(clock, last->value) : last->value;
	if (!*to)
		return too_early(clock, recording, err);
	if (*to < *from)
		return sb_error_set(
		        err, -sbe_invalid, recording, UINT64_MAX,
		        "the span of time ends before it begins: from the time stamp count %" PRIu64
		        " to %" PRIu64,
		        *from, *to);
	return 0;
}
