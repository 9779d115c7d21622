/* job_read.c - a job from its YAML file, sbtrace-job(5).
 *
 * libyaml makes a tree of the document; every mapping is described by a table whose rows know a key
 * and the function that takes its value. Whatever is wrong is told with line and column. */
#include "job/job.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "nearest.h"
#include "strict.h"

enum { job_file_most = 1 << 20 }; /* bytes */

struct reader {
	const char *path;
	size_t directory; /* length of the path up to and with its last slash */
	yaml_document_t document;
	struct job *job;
	struct sb_error *err;
};

/* Of one entry of the list of sinks. */
struct sink_entry {
	const char *name;
	char *file;
	yaml_node_t *with;
};

typedef int key_set(struct reader *reader, yaml_node_t *node, void *target);

struct key_row {
	const char *name;
	bool required;
	key_set *set;
};

struct key_table {
	const char *what; /* "a job" */
	const struct key_row *row;
	size_t nrows;
};

static int fail_at(struct reader *reader, const yaml_mark_t *mark, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
static int fail_at(struct reader *reader, const yaml_mark_t *mark, const char *format, ...)
{
	char text[sizeof(reader->err->text)], place[sizeof(reader->err->file)];
	size_t length = strlen(reader->path);
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* The end of a long path, so that line and column are never cut off. */
	snprintf(place, sizeof(place), "%s:%zu:%zu", reader->path + (length > 200 ? length - 200 : 0),
	         mark->line + 1, mark->column + 1);
	return sb_error_set(reader->err, -sbe_format, place, UINT64_MAX, "%s", text);
}

static const char *kind_of(const yaml_node_t *node)
{
	switch (node->type) {
	case YAML_SEQUENCE_NODE:
		return "a list";
	case YAML_MAPPING_NODE:
		return "a mapping";
	case YAML_SCALAR_NODE:
		return node->data.scalar.length ? "text" : "nothing";
	default:
		return "nothing";
	}
}

static bool is_plain(const yaml_node_t *node)
{
	return node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

/* The text of a scalar, NULL when it is none; @expected is for the complaint. */
static const char *scalar(struct reader *reader, yaml_node_t *node, const char *expected)
{
	const char *text;

	if (node->type != YAML_SCALAR_NODE) {
		fail_at(reader, &node->start_mark, "expected %s, found %s", expected, kind_of(node));
		return NULL;
	}
	text = (const char *)node->data.scalar.value;
	if (strlen(text) != node->data.scalar.length) {
		fail_at(reader, &node->start_mark, "expected %s, found text with a zero byte in it",
		        expected);
		return NULL;
	}
	if (!*text || (is_plain(node) && (!strcmp(text, "~") || !strcmp(text, "null")))) {
		fail_at(reader, &node->start_mark, "expected %s, found nothing", expected);
		return NULL;
	}
	return text;
}

/* A path as the job means it: relative to the job's directory. NULL when out of memory. */
static char *job_path(const struct reader *reader, const char *text)
{
	char *path;

	if (*text == '/')
		return strdup(text);
	if (asprintf(&path, "%.*s%s", (int)reader->directory, reader->path, text) < 0)
		return NULL;
	return path;
}

static int unknown_key(struct reader *reader, const struct key_table *table, const yaml_node_t *key,
                       const char *name)
{
	struct nearest nearest;

	nearest_begin(&nearest, name);
	for (size_t i = 0; i < table->nrows; i++)
		nearest_offer(&nearest, table->row[i].name);
	if (nearest.best)
		return fail_at(reader, &key->start_mark, "%s has no key '%s'; did you mean '%s'?",
		               table->what, name, nearest.best);
	return fail_at(reader, &key->start_mark, "%s has no key '%s'", table->what, name);
}

static int read_pair(struct reader *reader, const struct key_table *table, const yaml_node_pair_t *pair,
                     unsigned int *seen, void *target)
{
	yaml_node_t *key = yaml_document_get_node(&reader->document, pair->key);
	yaml_node_t *value = yaml_document_get_node(&reader->document, pair->value);
	const char *name = scalar(reader, key, "a key");

	if (!name)
		return -sbe_format;
	for (unsigned int i = 0; i < table->nrows; i++) {
		if (strcmp(table->row[i].name, name))
			continue;
		if (*seen & 1U << i)
			return fail_at(reader, &key->start_mark, "the key '%s' is here a second time", name);
		*seen |= 1U << i;
		return table->row[i].set(reader, value, target);
	}
	return unknown_key(reader, table, key, name);
}

static int read_mapping(struct reader *reader, yaml_node_t *node, const struct key_table *table, void *target)
{
	unsigned int seen = 0;
	int code = 0;

	if (node->type != YAML_MAPPING_NODE)
		return fail_at(reader, &node->start_mark, "expected %s (a mapping), found %s", table->what,
		               kind_of(node));
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top && !code; pair++)
		code = read_pair(reader, table, pair, &seen, target);
	for (unsigned int i = 0; i < table->nrows && !code; i++)
		if (table->row[i].required && !(seen & 1U << i))
			code = fail_at(reader, &node->start_mark, "%s needs the key '%s'", table->what,
			               table->row[i].name);
	return code;
}

static int read_list(struct reader *reader, yaml_node_t *node, const char *expected, key_set *item,
                     void *target)
{
	int code = 0;

	if (node->type != YAML_SEQUENCE_NODE)
		return fail_at(reader, &node->start_mark, "expected %s, found %s", expected, kind_of(node));
	if (node->data.sequence.items.start == node->data.sequence.items.top)
		return fail_at(reader, &node->start_mark,
		               "expected %s, found an empty list; to have the default, leave the key out",
		               expected);
	for (yaml_node_item_t *i = node->data.sequence.items.start;
	     i < node->data.sequence.items.top && !code; i++)
		code = item(reader, yaml_document_get_node(&reader->document, *i), target);
	return code;
}

/* The reason of a setter of job.c, with its place. */
static int wrong_value(struct reader *reader, const yaml_node_t *node, const struct option_error *error)
{
	return fail_at(reader, &node->start_mark, "%s", error->why);
}

static int set_version(struct reader *reader, yaml_node_t *node, void *target)
{
	const char *text = scalar(reader, node, "the number 1");

	(void)target;
	if (!text)
		return -sbe_format;
	if (!is_plain(node) || strcmp(text, "1"))
		return fail_at(reader, &node->start_mark, "expected version 1, found '%s'", text);
	return 0;
}

/* A path that is relative to the job; to be freed. NULL: told. */
static char *path_at(struct reader *reader, yaml_node_t *node, const char *expected)
{
	const char *text = scalar(reader, node, expected);
	char *path;

	if (!text)
		return NULL;
	path = job_path(reader, text);
	if (!path)
		fail_at(reader, &node->start_mark, "out of memory");
	return path;
}

/* A path goes to one of job.c's setters. */
static int set_path(struct reader *reader, yaml_node_t *node, const char *expected,
                    int (*set)(struct job *, const char *, struct option_error *))
{
	char *path = path_at(reader, node, expected);
	struct option_error error;
	int result;

	if (!path)
		return -sbe_format;
	result = set(reader->job, path, &error);
	free(path);
	return result ? wrong_value(reader, node, &error) : 0;
}

static int set_recording(struct reader *reader, yaml_node_t *node, void *target)
{
	(void)target;
	return set_path(reader, node, "the name of a recording", job_set_recording);
}

static int add_layer(struct reader *reader, yaml_node_t *node, void *target)
{
	char *path = path_at(reader, node, "the name of a directory");
	struct option_error error;
	int result;

	if (!path)
		return -sbe_format;
	result = job_add_layer(target, path, &error);
	free(path);
	return result ? wrong_value(reader, node, &error) : 0;
}

/* A directory, or a list of layers. */
static int read_root(struct reader *reader, yaml_node_t *node, const char *container)
{
	struct option_error error;
	struct job_root *root = job_add_root(&reader->job->files, container, &error);

	if (!root)
		return wrong_value(reader, node, &error);
	if (node->type == YAML_SEQUENCE_NODE)
		return read_list(reader, node, "a list of layers", add_layer, root);
	return add_layer(reader, node, root);
}

static int set_kcore(struct job *job, const char *path, struct option_error *error)
{
	return job_set_file(job, job_kcore, path, error);
}

static int set_vmlinux(struct job *job, const char *path, struct option_error *error)
{
	return job_set_file(job, job_vmlinux, path, error);
}

static int set_kallsyms(struct job *job, const char *path, struct option_error *error)
{
	return job_set_file(job, job_kallsyms, path, error);
}

static int take_kcore(struct reader *reader, yaml_node_t *node, void *target)
{
	(void)target;
	return set_path(reader, node, "the name of a file", set_kcore);
}

static int take_vmlinux(struct reader *reader, yaml_node_t *node, void *target)
{
	(void)target;
	return set_path(reader, node, "the name of a file", set_vmlinux);
}

static int take_kallsyms(struct reader *reader, yaml_node_t *node, void *target)
{
	(void)target;
	return set_path(reader, node, "the name of a file", set_kallsyms);
}

static int set_kernel(struct reader *reader, yaml_node_t *node, void *target)
{
	static const struct key_row rows[] = {{"kcore", false, take_kcore},
	                                      {"vmlinux", false, take_vmlinux},
	                                      {"kallsyms", false, take_kallsyms}};
	static const struct key_table table = {"files of a kernel", rows, sizeof(rows) / sizeof(rows[0])};

	return read_mapping(reader, node, &table, target);
}

static int add_root(struct reader *reader, yaml_node_t *node, void *target)
{
	(void)target;
	return read_root(reader, node, NULL);
}

static int set_roots(struct reader *reader, yaml_node_t *node, void *target)
{
	return read_list(reader, node, "a list of directories", add_root, target);
}

static int add_jitdump(struct reader *reader, yaml_node_t *node, void *target)
{
	(void)target;
	return set_path(reader, node, "the name of a file", job_add_jitdump);
}

static int set_jitdumps(struct reader *reader, yaml_node_t *node, void *target)
{
	return read_list(reader, node, "a list of files", add_jitdump, target);
}

/* A mapping whose keys are the containers' names. */
static int set_container_roots(struct reader *reader, yaml_node_t *node, void *target)
{
	int code = 0;

	(void)target;
	if (node->type != YAML_MAPPING_NODE)
		return fail_at(reader, &node->start_mark,
		               "expected a mapping of containers to directories, found %s", kind_of(node));
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top && !code; pair++) {
		const char *name = scalar(reader, yaml_document_get_node(&reader->document, pair->key),
		                          "the name of a container");

		code = name ? read_root(reader, yaml_document_get_node(&reader->document, pair->value), name)
		            : -sbe_format;
	}
	return code;
}

/* For setters of job_files.c that take a path. */
static int set_files_path(struct reader *reader, yaml_node_t *node,
                          int (*set)(struct job_files *, const char *, struct option_error *))
{
	char *path = path_at(reader, node, "the name of a directory");
	struct option_error error;
	int result;

	if (!path)
		return -sbe_format;
	result = set(&reader->job->files, path, &error);
	free(path);
	return result ? wrong_value(reader, node, &error) : 0;
}

static int add_build_id_dir(struct reader *reader, yaml_node_t *node, void *target)
{
	(void)target;
	return set_files_path(reader, node, job_add_build_id_dir);
}

static int set_build_id_dirs(struct reader *reader, yaml_node_t *node, void *target)
{
	return read_list(reader, node, "a list of directories", add_build_id_dir, target);
}

static int set_bundle(struct reader *reader, yaml_node_t *node, void *target)
{
	(void)target;
	return set_files_path(reader, node, job_set_bundle);
}

static int read_bool(struct reader *reader, yaml_node_t *node, bool *value)
{
	const char *text = scalar(reader, node, "true or false");

	if (!text)
		return -sbe_format;
	*value = !strcmp(text, "true");
	if (!is_plain(node) || (!*value && strcmp(text, "false")))
		return fail_at(reader, &node->start_mark, "expected true or false, found '%s'", text);
	return 0;
}

static int set_host_root(struct reader *reader, yaml_node_t *node, void *target)
{
	bool host = true;
	const int code = read_bool(reader, node, &host);

	(void)target;
	reader->job->files.no_host_root = !host;
	return code;
}

static int set_debuginfod(struct reader *reader, yaml_node_t *node, void *target)
{
	(void)target;
	return read_bool(reader, node, &reader->job->files.debuginfod);
}

static int set_symbols(struct reader *reader, yaml_node_t *node, void *target)
{
	(void)target;
	return read_bool(reader, node, &reader->job->symbols);
}

static int set_demangle(struct reader *reader, yaml_node_t *node, void *target)
{
	bool demangle = true;
	const int code = read_bool(reader, node, &demangle);

	(void)target;
	reader->job->no_demangle = !demangle;
	return code;
}

static int add_number(struct reader *reader, yaml_node_t *node, void *target)
{
	const char *text = scalar(reader, node, "a number or a range");
	struct option_error error;

	if (!text)
		return -sbe_format;
	return job_list_add(target, text, &error) ? wrong_value(reader, node, &error) : 0;
}

static int set_cpu(struct reader *reader, yaml_node_t *node, void *target)
{
	(void)target;
	return read_list(reader, node, "a list of CPU numbers", add_number, &reader->job->cpu);
}

static int set_pid(struct reader *reader, yaml_node_t *node, void *target)
{
	(void)target;
	return read_list(reader, node, "a list of process numbers", add_number, &reader->job->pid);
}

static int add_pattern(struct reader *reader, yaml_node_t *node, void *target)
{
	const char *text = scalar(reader, node, "a name or a pattern");
	struct option_error error;

	if (!text)
		return -sbe_format;
	return job_add_text(target, text, &error) ? wrong_value(reader, node, &error) : 0;
}

static int set_container(struct reader *reader, yaml_node_t *node, void *target)
{
	(void)target;
	return read_list(reader, node, "a list of containers", add_pattern, &reader->job->container);
}

static int set_cgroup(struct reader *reader, yaml_node_t *node, void *target)
{
	(void)target;
	return read_list(reader, node, "a list of patterns of cgroups", add_pattern, &reader->job->cgroup);
}

static int set_comm(struct reader *reader, yaml_node_t *node, void *target)
{
	(void)target;
	return read_list(reader, node, "a list of patterns of commands", add_pattern, &reader->job->comm);
}

static int set_moment(struct reader *reader, yaml_node_t *node, struct job_time *time)
{
	const char *text = scalar(reader, node, "a time stamp count, or seconds with a decimal point");
	struct option_error error;

	if (!text)
		return -sbe_format;
	return job_time_set(time, text, &error) ? wrong_value(reader, node, &error) : 0;
}

static int set_from(struct reader *reader, yaml_node_t *node, void *target)
{
	(void)target;
	return set_moment(reader, node, &reader->job->from);
}

static int set_to(struct reader *reader, yaml_node_t *node, void *target)
{
	(void)target;
	return set_moment(reader, node, &reader->job->to);
}

static int set_time(struct reader *reader, yaml_node_t *node, void *target)
{
	static const struct key_row rows[] = {{"from", false, set_from}, {"to", false, set_to}};
	static const struct key_table table = {"a span of time", rows, sizeof(rows) / sizeof(rows[0])};

	return read_mapping(reader, node, &table, target);
}

static int add_strict(struct reader *reader, yaml_node_t *node, void *target)
{
	const char *text = scalar(reader, node, "the reason of a gap");
	struct option_error error;

	(void)target;
	if (!text)
		return -sbe_format;
	return strict_set(&reader->job->strict, text, &error) ? wrong_value(reader, node, &error) : 0;
}

/* true, false, or the reasons. */
static int set_strict(struct reader *reader, yaml_node_t *node, void *target)
{
	bool strict = false;
	int code;

	if (node->type == YAML_SEQUENCE_NODE)
		return read_list(reader, node, "a list of reasons", add_strict, target);
	code = read_bool(reader, node, &strict);
	reader->job->strict = strict ? strict_all : 0;
	return code;
}

static int set_jobs(struct reader *reader, yaml_node_t *node, void *target)
{
	const char *text = scalar(reader, node, "a number of threads");
	struct option_error error;

	(void)target;
	if (!text)
		return -sbe_format;
	return job_set_jobs(reader->job, text, &error) ? wrong_value(reader, node, &error) : 0;
}

static int set_sink_name(struct reader *reader, yaml_node_t *node, void *target)
{
	struct sink_entry *entry = target;

	entry->name = scalar(reader, node, "the name of a sink");
	return entry->name ? 0 : -sbe_format;
}

static int set_sink_file(struct reader *reader, yaml_node_t *node, void *target)
{
	struct sink_entry *entry = target;
	const char *text = scalar(reader, node, "the name of a file");

	if (!text)
		return -sbe_format;
	entry->file = strcmp(text, "-") ? job_path(reader, text) : strdup(text);
	return entry->file ? 0 : fail_at(reader, &node->start_mark, "out of memory");
}

/* Kept for when the sink is known: its name may come later. */
static int set_sink_with(struct reader *reader, yaml_node_t *node, void *target)
{
	struct sink_entry *entry = target;

	if (node->type != YAML_MAPPING_NODE)
		return fail_at(reader, &node->start_mark,
		               "expected options of the sink (a mapping), found %s", kind_of(node));
	entry->with = node;
	return 0;
}

static int add_setting(struct reader *reader, yaml_node_t *node, void *target)
{
	const char *name = target, *text = scalar(reader, node, "a value");
	struct option_error error;

	if (!text)
		return -sbe_format;
	return job_add_setting(reader->job, name, text, &error) ? wrong_value(reader, node, &error) : 0;
}

static int add_settings(struct reader *reader, yaml_node_t *with)
{
	const struct sink_type *type = reader->job->sink[reader->job->nsinks - 1].type;
	int code = 0;

	for (yaml_node_pair_t *pair = with->data.mapping.pairs.start;
	     pair < with->data.mapping.pairs.top && !code; pair++) {
		yaml_node_t *key = yaml_document_get_node(&reader->document, pair->key);
		yaml_node_t *value = yaml_document_get_node(&reader->document, pair->value);
		const char *name = scalar(reader, key, "an option of the sink");

		if (!name)
			return -sbe_format;
		/* An unknown name is the key's mistake, not the value's. */
		if (!sink_option_find(type, name, NULL))
			value = key;
		if (value->type == YAML_SEQUENCE_NODE)
			code = read_list(reader, value, "a list of values", add_setting,
			                 (void *)(uintptr_t)name);
		else
			code = add_setting(reader, value, (void *)(uintptr_t)name);
	}
	return code;
}

static int add_sink(struct reader *reader, yaml_node_t *node, void *target)
{
	static const struct key_row rows[] = {{"name", true, set_sink_name},
	                                      {"file", false, set_sink_file},
	                                      {"with", false, set_sink_with}};
	static const struct key_table table = {"a sink", rows, sizeof(rows) / sizeof(rows[0])};
	struct sink_entry entry = {NULL, NULL, NULL};
	struct option_error error;
	int code = read_mapping(reader, node, &table, &entry);

	(void)target;
	if (!code && job_add_sink(reader->job, entry.name, entry.file, &error))
		code = wrong_value(reader, node, &error);
	if (!code && entry.with)
		code = add_settings(reader, entry.with);
	free(entry.file);
	return code;
}

static int set_sinks(struct reader *reader, yaml_node_t *node, void *target)
{
	return read_list(reader, node, "a list of sinks", add_sink, target);
}

static int read_job(struct reader *reader)
{
	static const struct key_row rows[] = {
	        {"version", true, set_version},
	        {"recording", true, set_recording},
	        {"roots", false, set_roots},
	        {"host_root", false, set_host_root},
	        {"container_roots", false, set_container_roots},
	        {"build_id_dirs", false, set_build_id_dirs},
	        {"debuginfod", false, set_debuginfod},
	        {"jitdumps", false, set_jitdumps},
	        {"bundle", false, set_bundle},
	        {"cpu", false, set_cpu},
	        {"pid", false, set_pid},
	        {"container", false, set_container},
	        {"cgroup", false, set_cgroup},
	        {"comm", false, set_comm},
	        {"time", false, set_time},
	        {"jobs", false, set_jobs},
	        {"kernel", false, set_kernel},
	        {"symbols", false, set_symbols},
	        {"demangle", false, set_demangle},
	        {"strict", false, set_strict},
	        {"sinks", false, set_sinks},
	};
	static const struct key_table table = {"a job", rows, sizeof(rows) / sizeof(rows[0])};
	yaml_node_t *root = yaml_document_get_root_node(&reader->document);
	static const yaml_mark_t beginning = {0, 0, 0};

	if (!root)
		return fail_at(reader, &beginning, "expected a job (a mapping), found nothing");
	return read_mapping(reader, root, &table, NULL);
}

static int yaml_failure(struct reader *reader, const yaml_parser_t *parser)
{
	const yaml_mark_t *mark = &parser->problem_mark;

	if (parser->error == YAML_MEMORY_ERROR)
		return sb_error_set(reader->err, -sbe_nomem, reader->path, UINT64_MAX, "out of memory");
	/* Bytes that are no text have an offset instead of a mark. */
	if (parser->error == YAML_READER_ERROR)
		return sb_error_set(reader->err, -sbe_format, reader->path, parser->problem_offset,
		                    "expected UTF-8 text: %s", parser->problem);
	if (parser->context)
		return fail_at(reader, mark, "not YAML: %s, %s", parser->context, parser->problem);
	return fail_at(reader, mark, "not YAML: %s", parser->problem ? parser->problem : "unreadable");
}

/* Whether nothing follows the document. */
static int read_end(struct reader *reader, yaml_parser_t *parser)
{
	yaml_document_t next;
	yaml_node_t *root;
	int code = 0;

	if (!yaml_parser_load(parser, &next))
		return yaml_failure(reader, parser);
	root = yaml_document_get_root_node(&next);
	if (root)
		code = fail_at(reader, &root->start_mark, "expected one document, found a second one");
	yaml_document_delete(&next);
	return code;
}

static int parse(struct reader *reader, const unsigned char *text, size_t size)
{
	yaml_parser_t parser;
	int code;

	if (!yaml_parser_initialize(&parser))
		return sb_error_set(reader->err, -sbe_nomem, reader->path, UINT64_MAX, "out of memory");
	yaml_parser_set_input_string(&parser, text, size);
	if (!yaml_parser_load(&parser, &reader->document)) {
		code = yaml_failure(reader, &parser);
	} else {
		code = read_job(reader);
		if (!code)
			code = read_end(reader, &parser);
		yaml_document_delete(&reader->document);
	}
	yaml_parser_delete(&parser);
	return code;
}

static int read_text(const char *path, unsigned char *text, size_t *size, struct sb_error *err)
{
	FILE *file = fopen(path, "re");
	int code = 0;

	if (!file)
		return sb_error_set(err, -sbe_io, path, UINT64_MAX, "cannot be opened: %s", strerror(errno));
	*size = fread(text, 1, job_file_most, file);
	if (ferror(file))
		code = sb_error_set(err, -sbe_io, path, UINT64_MAX, "cannot be read: %s", strerror(errno));
	else if (*size == job_file_most)
		code = sb_error_set(err, -sbe_format, path, UINT64_MAX,
		                    "expected a job, found a file of 1 MiB or more");
	fclose(file);
	return code;
}

int job_read(struct job *job, const char *path, struct sb_error *err)
{
	const char *slash = strrchr(path, '/');
	struct sb_error spare;
	struct reader reader = {.path = path, .job = job, .err = err ? err : &spare};
	unsigned char *text = malloc(job_file_most);
	size_t size = 0;
	int code;

	memset(job, 0, sizeof(*job));
	if (!text)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	reader.directory = slash ? (size_t)(slash - path) + 1 : 0;
	code = read_text(path, text, &size, reader.err);
	if (!code)
		code = parse(&reader, text, size);
	free(text);
	if (code)
		job_free(job);
	return code;
}
