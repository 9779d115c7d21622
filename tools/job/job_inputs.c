/* job_inputs.c - see job_inputs.h. */
#include "job/job_inputs.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sb/bundle.h>

bool job_is_file(const char *file)
{
	return file && strcmp(file, "-") != 0;
}

static int out_of_memory(struct sb_error *err)
{
	return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

static int add(struct job_inputs *inputs, const char *path, struct sb_error *err)
{
	char **bigger;

	for (size_t i = 0; i < inputs->count; i++)
		if (!strcmp(inputs->path[i], path))
			return 0;
	bigger = reallocarray(inputs->path, inputs->count + 1, sizeof(*bigger));
	if (!bigger)
		return out_of_memory(err);
	inputs->path = bigger;
	bigger[inputs->count] = strdup(path);
	return bigger[inputs->count] ? (inputs->count++, 0) : out_of_memory(err);
}

static int add_matches(const struct job *job, struct job_inputs *inputs, const char *pattern,
                       struct sb_error *err)
{
	const struct job_place place = job_places_find(&job->places, pattern);
	glob_t found;
	int code = 0;

	switch (glob(pattern, 0, NULL, &found)) {
	case 0:
		for (size_t i = 0; i < found.gl_pathc && !code; i++)
			code = add(inputs, found.gl_pathv[i], err);
		globfree(&found);
		return code;
	case GLOB_NOMATCH:
		return job_fail_at(err, &place, "no file matches %s", pattern);
	case GLOB_NOSPACE:
		return out_of_memory(err);
	default:
		return job_fail_at(err, &place, "a directory of %s cannot be read", pattern);
	}
}

/* Patterns may overlap; but who names one twice meant another one. */
static int add_named(const struct job *job, struct job_inputs *inputs, size_t index, struct sb_error *err)
{
	char *const *path = job->recordings.value;
	const struct job_place place = job_places_find(&job->places, path[index]);

	for (size_t i = 0; i < index; i++)
		if (!strcmp(path[i], path[index]))
			return job_fail_at(err, &place, "the recording %s is here a second time",
			                   path[index]);
	return add(inputs, path[index], err);
}

int job_inputs_find(const struct job *job, struct job_inputs *inputs, struct sb_error *err)
{
	char *bundled = NULL;
	int code = 0;

	*inputs = (struct job_inputs){0};
	if (job->recording) {
		code = add(inputs, job->recording, err);
	} else if (!job->recordings.count) {
		code = sb_bundle_recording(job->files.bundle, NULL, &bundled, err);
		if (!code)
			code = add(inputs, bundled, err);
		free(bundled);
	}
	for (size_t i = 0; i < job->recordings.count && !code; i++) {
		const char *path = job->recordings.value[i];
		const bool is_pattern = strpbrk(path, "*?[") && !job_is_url(path);

		/* What is there under just this name is no pattern. */
		code = is_pattern && access(path, F_OK) ? add_matches(job, inputs, path, err)
		                                        : add_named(job, inputs, i, err);
	}
	if (code)
		job_inputs_free(inputs);
	return code;
}

void job_inputs_free(struct job_inputs *inputs)
{
	for (size_t i = 0; i < inputs->count; i++)
		free(inputs->path[i]);
	free(inputs->path);
	*inputs = (struct job_inputs){0};
}

/* The last component of the first *length bytes of @path, without slashes at its end. */
static const char *last_component(const char *path, size_t *length)
{
	size_t end = *length, begin;

	while (end && path[end - 1] == '/')
		end--;
	begin = end;
	while (begin && path[begin - 1] != '/')
		begin--;
	*length = end - begin;
	return path + begin;
}

/* What stands for the word in braces at @text, or NULL. */
static const char *fill(const char *text, const char *path, char *number, size_t *length)
{
	const char *last;

	*length = strlen(path);
	last = last_component(path, length);
	if (!strncmp(text, "{recording}", 11)) {
		if (*length > 5 && !memcmp(last + *length - 5, ".data", 5))
			*length -= 5;
		return last;
	}
	if (!strncmp(text, "{directory}", 11)) {
		*length = (size_t)(last - path);
		last = last_component(path, length);
		return *length ? last : (*length = 1, ".");
	}
	if (!strncmp(text, "{number}", 8)) {
		*length = strlen(number);
		return number;
	}
	return NULL;
}

char *job_output_name(const char *name, const struct job_inputs *inputs, size_t index)
{
	char number[24], *result = NULL;
	size_t size = 0, length;
	FILE *to = open_memstream(&result, &size);
	int failed;

	if (!to)
		return NULL;
	snprintf(number, sizeof(number), "%zu", index + 1);
	while (*name) {
		const char *value = *name == '{' ? fill(name, inputs->path[index], number, &length) : NULL;

		if (value) {
			fwrite(value, 1, length, to);
			name = strchr(name, '}') + 1;
		} else {
			fputc(*name++, to);
		}
	}
	failed = ferror(to);
	if (fclose(to) || failed) {
		free(result);
		return NULL;
	}
	return result;
}

char **job_outputs(const struct job *job, const struct job_inputs *inputs, size_t index)
{
	char **file = calloc(job->nsinks + 1, sizeof(*file));

	for (size_t i = 0; file && i < job->nsinks; i++) {
		if (!job_is_file(job->sink[i].file))
			continue;
		file[i] = job_output_name(job->sink[i].file, inputs, index);
		if (!file[i]) {
			job_outputs_free(file, i);
			return NULL;
		}
	}
	return file;
}

void job_outputs_free(char **file, size_t count)
{
	for (size_t i = 0; file && i < count; i++)
		free(file[i]);
	free(file);
}
