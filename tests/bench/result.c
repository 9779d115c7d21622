/* result.c - see result.h. */
#include "result.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

struct results {
	const char *path;
	json_t *root, *rows;
	int marked;
};

static const char *const goal_names[] = {[goal_none] = "none",
                                         [goal_times] = "times as fast",
                                         [goal_within] = "times the other",
                                         [goal_value] = "value",
                                         [goal_rate] = "items per second"};

static void set_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, json_string_nocheck(text ? text : ""));
}

/* "model name : Intel ..." of /proc/cpuinfo. */
static void set_cpu(json_t *machine)
{
	FILE *file = fopen("/proc/cpuinfo", "r");
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strstr(line, ": ");

		if (strncmp(line, "model name", 10) || !colon)
			continue;
		line[strcspn(line, "\n")] = 0;
		set_text(machine, "cpu", colon + 2);
		break;
	}
	if (file)
		fclose(file);
}

static json_t *describe_machine(void)
{
	json_t *machine = json_object();
	struct utsname name;
	double load = 0;

	set_cpu(machine);
	if (!uname(&name))
		set_text(machine, "kernel", name.release);
	json_object_set_new(machine, "cpus", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
	if (getloadavg(&load, 1) == 1)
		json_object_set_new(machine, "load_at_start", json_real(load));
	set_text(machine, "fastest", getenv("BENCH_CPUS"));
	return machine;
}

static json_t *begin(void)
{
	json_t *root = json_object();
	time_t seconds = time(NULL);
	struct tm utc;
	char text[32];

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
	set_text(root, "date", text);
	set_text(root, "command", getenv("BENCH_COMMAND"));
	set_text(root, "commit", getenv("BENCH_COMMIT"));
	json_object_set_new(root, "machine", describe_machine());
	json_object_set_new(root, "rows", json_array());
	return root;
}

struct results *results_open(const char *path)
{
	struct results *results = calloc(1, sizeof(*results));
	json_error_t error = {.text = "out of memory"};

	if (!results)
		return NULL;
	results->path = path;
	results->root = access(path, F_OK) ? begin() : json_load_file(path, 0, &error);
	results->rows = json_object_get(results->root, "rows");
	if (json_is_array(results->rows))
		return results;
	fprintf(stderr, "bench: %s: %s\n", path, results->root ? "no results of a benchmark" : error.text);
	json_decref(results->root);
	free(results);
	return NULL;
}

static json_t *side_json(const struct result_side *side)
{
	json_t *object = json_object(), *values = json_array();
	const struct tally *tally = &side->samples.tally;

	set_text(object, "name", side->name);
	json_object_set_new(object, "median", json_real(samples_median(&side->samples)));
	json_object_set_new(object, "min", json_real(samples_least(&side->samples)));
	for (unsigned i = 0; i < side->samples.n; ++i)
		json_array_append_new(values, json_real(side->samples.value[i]));
	json_object_set_new(object, "samples", values);
	json_object_set_new(object, "items", json_integer((json_int_t)tally->items));
	json_object_set_new(object, "insns", json_integer((json_int_t)tally->insns));
	if (side->mb_per_s > 0)
		json_object_set_new(object, "mb_per_s", json_real(side->mb_per_s));
	if (side->items_per_s > 0)
		json_object_set_new(object, "items_per_s", json_real(side->items_per_s));
	if (tally->peak_kib)
		json_object_set_new(object, "peak_kib", json_integer((json_int_t)tally->peak_kib));
	return object;
}

/* The figure that the goal is about; zero when there is none. */
static double figure(const struct result *result)
{
	const struct samples *const ours = &result->ours.samples, *const other = &result->other.samples;

	switch (result->goal) {
	case goal_within:
		return samples_ratio(ours, other);
	case goal_rate:
		return result->ours.items_per_s;
	case goal_value:
		return samples_median(ours);
	default:
		return samples_ratio(other, ours);
	}
}

static int agree(const struct result *result)
{
	const struct tally *ours = &result->ours.samples.tally, *other = &result->other.samples.tally;

	if (result->ours.samples.unsteady || result->other.samples.unsteady)
		return 0;
	return ours->insns == other->insns && (!ours->sum || !other->sum || ours->sum == other->sum);
}

static void set_goal(json_t *row, const struct result *result)
{
	set_text(row, "goal", goal_names[result->goal]);
	json_object_set_new(row, "figure", json_real(figure(result)));
	if (result->goal == goal_none)
		return;
	json_object_set_new(row, "at_least", json_real(result->at_least));
	if (result->aim > 0)
		json_object_set_new(row, "aim", json_real(result->aim));
}

void results_add(struct results *results, const struct result *result, int must_agree)
{
	json_t *row = json_object();
	int differ = must_agree && !agree(result);

	set_text(row, "measure", result->measure);
	set_text(row, "input", result->input);
	set_text(row, "unit", result->unit);
	if (result->other.samples.n)
		json_object_set_new(row, "other", side_json(&result->other));
	json_object_set_new(row, "ours", side_json(&result->ours));
	set_goal(row, result);
	if (result->note[0])
		set_text(row, "note", result->note);
	if (must_agree)
		json_object_set_new(row, "counts_agree", json_boolean(!differ));
	results->marked |= differ;
	json_array_append_new(results->rows, row);
	fprintf(stderr, "%s, %s: %s %.4g, %s %.4g %s, figure %.4g%s\n", result->measure, result->input,
	        result->other.samples.n ? result->other.name : "-", samples_median(&result->other.samples),
	        result->ours.name, samples_median(&result->ours.samples), result->unit, figure(result),
	        differ ? ", COUNTS DIFFER" : "");
}

void results_skip(struct results *results, const char *measure, const char *input, const char *why)
{
	json_t *row = json_object();

	set_text(row, "measure", measure);
	set_text(row, "input", input);
	set_text(row, "skipped", why);
	json_array_append_new(results->rows, row);
	fprintf(stderr, "%s, %s: skipped: %s\n", measure, input, why);
}

int results_close(struct results *results)
{
	int status = results->marked;

	if (json_array_size(results->rows) && json_dump_file(results->root, results->path, JSON_INDENT(1)))
		status = -1;
	if (status < 0)
		perror(results->path);
	json_decref(results->root);
	free(results);
	return status;
}

int result_chosen(const char *only, const char *measure, const char *input)
{
	char name[256], pattern[256];

	if (!only)
		return 1;
	snprintf(name, sizeof(name), "%s %s", measure, input);
	snprintf(pattern, sizeof(pattern), "*%s*", only);
	return !fnmatch(pattern, name, 0);
}
