/* job_read.c - a job from its YAML file, sbtrace-job(5).
 *
 * What other keys depend on comes first: variables, the environment, and the files that are included. Those
 * are jobs of their own, over which this one is laid. */
#include "job/job_keys.h"

#include <stdlib.h>
#include <string.h>

enum { include_depth_most = 8 };

struct reading {
	struct job_scope *scope;
	struct sb_error *err;
	unsigned int depth;
	const char *text; /* in place of what is in the file; NULL: there is none */
	size_t size;
};

static int read_file(const struct reading *reading, struct job *job, const char *path);

/* The value of @name in the document's mapping, or NULL. */
static yaml_node_t *find_key(struct job_source *source, const char *name)
{
	yaml_node_t *root = yaml_document_get_root_node(&source->document);

	if (!root || root->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *pair = root->data.mapping.pairs.start; pair < root->data.mapping.pairs.top;
	     pair++) {
		const yaml_node_t *key = source_node(source, pair->key);

		if (key->type == YAML_SCALAR_NODE && key->data.scalar.length == strlen(name) &&
		    !memcmp(key->data.scalar.value, name, strlen(name)))
			return source_node(source, pair->value);
	}
	return NULL;
}

static int add_environment(struct job_source *source, yaml_node_t *node, const void *key, void *target)
{
	const char *name = source_text(source, node, "the name of a variable");
	struct option_error error;

	(void)key;
	(void)target;
	if (!name)
		return -sbe_format;
	return job_scope_allow(source->scope, name, &error) ? source_wrong(source, node, &error) : 0;
}

static int declare(struct job_source *source, const yaml_node_pair_t *pair)
{
	yaml_node_t *key = source_node(source, pair->key), *node = source_node(source, pair->value);
	const char *name = source_text(source, key, "the name of a variable"), *value = NULL;
	struct option_error error;

	if (!name)
		return -sbe_format;
	if (node->type != YAML_SCALAR_NODE || node->data.scalar.length) {
		value = source_text(source, node, "the value of a variable");
		if (!value)
			return -sbe_format;
	}
	return job_scope_declare(source->scope, name, value, &error) ? source_wrong(source, key, &error) : 0;
}

static int read_variables(struct job_source *source, yaml_node_t *node)
{
	int code = source_mapping(source, node, "variables (a mapping)");

	if (code)
		return code;
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top && !code; pair++)
		code = declare(source, pair);
	return code;
}

struct including {
	const struct reading *reading;
	struct job *base;
};

static int include(struct job_source *source, yaml_node_t *node, const void *key, void *target)
{
	const struct including *including = target;
	const struct reading deeper = {including->reading->scope, including->reading->err,
	                               including->reading->depth + 1, NULL, 0};
	struct job job = {0};
	char *path;
	int code;

	(void)key;
	if (including->reading->depth == include_depth_most)
		return source_fail(source, node, "files include each other more than %d deep",
		                   include_depth_most);
	path = source_file(source, node, "the name of a job file");
	if (!path)
		return -sbe_format;
	code = read_file(&deeper, &job, path);
	if (code == -sbe_io && !job.path) {
		char why[sizeof(source->err->text)];

		snprintf(why, sizeof(why), "%s", source->err->text);
		source_fail(source, node, "%s: %s", path, why);
	}
	if (code)
		job_free(&job);
	else
		job_override(including->base, &job);
	free(path);
	return code;
}

/* What the other keys need; files that are included are read into @base. */
static int read_first(const struct reading *reading, struct job_source *source, struct job *base)
{
	const struct including including = {reading, base};
	yaml_node_t *environment = find_key(source, "environment"), *node = find_key(source, "variables");
	int code = 0;

	if (environment)
		code = source_list(source, environment, "a list of variables", add_environment, NULL, NULL);
	if (!code && node)
		code = read_variables(source, node);
	node = find_key(source, "include");
	if (!code && node)
		code = source_list(source, node, "a list of job files", include, NULL,
		                   (void *)(uintptr_t)&including);
	return code;
}

static int read_document(const struct reading *reading, struct job_source *source, struct job *base)
{
	static const struct job_place beginning = {NULL, 1, 1};
	yaml_node_t *root = yaml_document_get_root_node(&source->document);
	struct job_place place = beginning;
	int code;

	place.file = source->path;
	if (!root)
		return job_fail_at(source->err, &place, "expected a job (a mapping), found nothing");
	code = read_first(reading, source, base);
	if (!code)
		code = job_read_mapping(source, root, &job_table, source->job);
	return code;
}

/* Whether there is something to replay, and one way to say what. */
static int check_recording(struct job_source *source, const struct job *job)
{
	const yaml_node_t *root = yaml_document_get_root_node(&source->document);

	if (job->recording && job->recordings.count) {
		const struct job_place place = job_places_find(&job->places, &job->recordings);

		return job_fail_at(source->err, &place,
		                   "there is a 'recording' already: name all of them here");
	}
	if (!job->recording && !job->recordings.count && !job->files.bundle)
		return source_fail(source, root, "a job needs the key 'recording', or 'recordings'");
	return 0;
}

static int read_file(const struct reading *reading, struct job *job, const char *path)
{
	struct job_source source = {.scope = reading->scope, .job = job, .err = reading->err};
	struct job base = {0};
	int code = reading->text ? source_parse(&source, path, reading->text, reading->size)
	                         : source_open(&source, path);

	if (code)
		return code;
	job->path = strdup(path);
	code = job->path ? read_document(reading, &source, &base)
	                 : sb_error_set(reading->err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	if (!code && job->recording && job->recordings.count)
		code = check_recording(&source, job);
	if (!code) {
		char *own = job->path;

		job->path = NULL;
		/* Down over what was included, and back: places go by where fields are. */
		job_override(&base, job);
		job_override(job, &base);
		job->path = own;
		if (!reading->depth)
			code = check_recording(&source, job);
	}
	job_free(&base);
	source_close(&source);
	return code;
}

static int read_scoped(struct job *job, const char *path, const struct job_variables *set, const char *text,
                       size_t size, struct sb_error *err)
{
	struct job_scope scope;
	struct sb_error spare;
	struct option_error error;
	const struct reading reading = {&scope, err ? err : &spare, 0, text, size};
	int code;

	memset(job, 0, sizeof(*job));
	if (job_scope_init(&scope, set))
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	code = read_file(&reading, job, path);
	if (!code && job_scope_check(&scope, &error))
		code = sb_error_set(err, -sbe_invalid, path, UINT64_MAX, "%s", error.why);
	job_scope_free(&scope);
	if (code)
		job_free(job);
	return code;
}

int job_read(struct job *job, const char *path, const struct job_variables *set, struct sb_error *err)
{
	return read_scoped(job, path, set, NULL, 0, err);
}

int job_read_text(struct job *job, const char *path, const char *text, size_t size, struct sb_error *err)
{
	return read_scoped(job, path, NULL, text, size, err);
}
