/* job_sinks.c - the kind of key that says what is to be written: a list of sinks, each with its file, its
 * options and a filter of its own. */
#include "job/job_keys.h"

#include <stdlib.h>
#include <string.h>

#include "job/job_list.h"

/* An entry as it stands there. Its options wait until the sink is known, whose name may come later. */
struct entry {
	char *name, *file;
	yaml_node_t *with;
	struct job_sink sink; /* what of it does not depend on the name */
};

_Static_assert(offsetof(struct job, nsinks) == offsetof(struct job, sink) + sizeof(struct job_sink *),
               "a field of two members");

/* ---- Reading ---------------------------------------------------------------------------------- */

static int read_name(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	const char *text = source_text(source, node, "the name of a sink");

	(void)key;
	if (!text)
		return -sbe_format;
	*(char **)field = strdup(text);
	return *(char **)field ? 0 : source_fail(source, node, "out of memory");
}

static int read_file(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	char **file = field;

	(void)key;
	if (node->type == YAML_SCALAR_NODE && !strcmp((const char *)node->data.scalar.value, "-"))
		*file = strdup("-");
	else if (!(*file = source_file(source, node, "the name of a file")))
		return -sbe_format;
	return *file ? 0 : source_fail(source, node, "out of memory");
}

static int read_with(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	const int code = source_mapping(source, node, "options of the sink (a mapping)");

	(void)key;
	if (code)
		return code;
	*(yaml_node_t **)field = node;
	return 0;
}

static json_t *sink_names(const struct job_key *key)
{
	json_t *names = json_array();

	(void)key;
	for (size_t i = 0; sink_type_at(i); i++)
		json_array_append_new(names, json_string(sink_type_at(i)->name));
	return job_schema_or_variable(json_pack("{s:o}", "enum", names));
}

/* What they are is said for each sink. */
static json_t *with_schema(const struct job_key *key)
{
	(void)key;
	return json_pack("{s:s}", "type", "object");
}

static json_t *file_schema(const struct job_key *key)
{
	(void)key;
	return json_pack("{s:s, s:i}", "type", "string", "minLength", 1);
}

static const struct job_kind name_kind = {sizeof(char *), read_name, NULL, sink_names},
                             file_kind = {sizeof(char *), read_file, NULL, file_schema},
                             with_kind = {sizeof(yaml_node_t *), read_with, NULL, with_schema};

extern const struct job_table job_filter_table;

static const struct job_key sink_keys[] = {
        {.name = "name",
         .kind = &name_kind,
         .offset = offsetof(struct entry, name),
         .about = "The form.",
         .required = true},
        {.name = "file",
         .kind = &file_kind,
         .offset = offsetof(struct entry, file),
         .about = "Where to; without it, or with \"-\", to standard output. {recording}, {directory} and "
                  "{number} stand for the recording's name, its directory's, and its number."},
        {.name = "with",
         .kind = &with_kind,
         .offset = offsetof(struct entry, with),
         .about = "Options of the sink."},
        {.name = "symbols",
         .kind = &job_kind_flag,
         .offset = offsetof(struct entry, sink.symbols),
         .about = "Whether this one tells functions and files."},
        {.name = "filter",
         .kind = &job_kind_mapping,
         .offset = offsetof(struct entry, sink.filter),
         .about = "What this one leaves out, besides what the job does.",
         .table = &job_filter_table},
};
static const struct job_table sink_table = {"a sink", sink_keys, sizeof(sink_keys) / sizeof(sink_keys[0])};

static int add_setting(struct job_source *source, yaml_node_t *node, const void *name, void *target)
{
	const char *text = source_text(source, node, "a value");
	struct option_error error;

	(void)target;
	if (!text)
		return -sbe_format;
	return job_add_setting(source->job, name, text, &error) ? source_wrong(source, node, &error) : 0;
}

static int add_settings(struct job_source *source, yaml_node_t *with, const struct sink_type *type)
{
	int code = 0;

	for (yaml_node_pair_t *pair = with->data.mapping.pairs.start;
	     pair < with->data.mapping.pairs.top && !code; pair++) {
		yaml_node_t *key = source_node(source, pair->key), *value = source_node(source, pair->value);
		const char *name = source_text(source, key, "an option of the sink");

		if (!name)
			return -sbe_format;
		/* An unknown name is the key's mistake, not the value's. */
		if (!sink_option_find(type, name, NULL))
			value = key;
		if (value->type == YAML_SEQUENCE_NODE)
			code = source_list(source, value, "a list of values", add_setting, name, NULL);
		else
			code = add_setting(source, value, name, NULL);
	}
	return code;
}

/* Takes over what @entry has. */
static int add_entry(struct job_source *source, yaml_node_t *node, struct entry *entry)
{
	struct job *job = source->job;
	struct option_error error;
	struct job_sink *sink;

	if (job_add_sink(job, entry->name, entry->file, &error))
		return source_wrong(source, node, &error);
	sink = &job->sink[job->nsinks - 1];
	sink->symbols = entry->sink.symbols;
	sink->filter = entry->sink.filter;
	entry->sink.filter = (struct job_filter){0};
	sink->place = source_place(source, node);
	return entry->with ? add_settings(source, entry->with, sink->type) : 0;
}

static int add_sink(struct job_source *source, yaml_node_t *node, const void *key, void *target)
{
	struct entry entry = {0};
	int code;

	(void)key;
	(void)target;
	if (node->type == YAML_SCALAR_NODE && node->data.scalar.length)
		return source_fail(source, node,
		                   "expected a sink (a mapping), found text: write {name: ...}");
	code = job_read_mapping(source, node, &sink_table, &entry);
	if (!code)
		code = add_entry(source, node, &entry);
	job_filter_free(&entry.sink.filter);
	free(entry.name);
	free(entry.file);
	return code;
}

static int read_sinks(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	if (node->type == YAML_MAPPING_NODE)
		return source_fail(
		        source, node,
		        "expected %s, found a mapping: a sink begins with '- ' before its first key",
		        key->what);
	if (node->type == YAML_SCALAR_NODE && node->data.scalar.length)
		return source_fail(source, node, "expected %s, found text: write [{name: ...}]", key->what);
	return source_list(source, node, key->what, add_sink, key, field);
}

/* ---- Showing ---------------------------------------------------------------------------------- */

/* An option that was given several times is a list. */
static json_t *settings_value(const struct job_sink *sink)
{
	json_t *with = json_object();

	for (size_t i = 0; i < sink->nsettings; i++) {
		const char *name = sink->setting[i].option->name;
		json_t *value = json_string(sink->setting[i].value), *before = json_object_get(with, name);

		if (json_is_array(before))
			json_array_append_new(before, value);
		else if (before)
			json_object_set_new(with, name, json_pack("[O, o]", before, value));
		else
			json_object_set_new(with, name, value);
	}
	return with;
}

static void set_unless_empty(json_t *object, const char *name, json_t *value)
{
	if (json_object_size(value))
		json_object_set(object, name, value);
	json_decref(value);
}

static json_t *sink_value(const struct job_sink *sink)
{
	json_t *value = json_pack("{s:s}", "name", sink->type->name);

	if (sink->file && strcmp(sink->file, "-"))
		json_object_set_new(value, "file", job_path_value(sink->file));
	if (sink->symbols)
		json_object_set_new(value, "symbols", json_true());
	set_unless_empty(value, "with", settings_value(sink));
	set_unless_empty(value, "filter", job_table_value(&job_filter_table, &sink->filter));
	return value;
}

static json_t *sinks_value(const struct job_key *key, const void *field)
{
	const struct {
		const struct job_sink *sink;
		size_t count;
	} *sinks = field;
	json_t *list = sinks->count ? json_array() : NULL;

	(void)key;
	for (size_t i = 0; i < sinks->count; i++)
		json_array_append_new(list, sink_value(&sinks->sink[i]));
	return list;
}

/* The options that a sink of one type takes. */
static json_t *options_schema(const struct sink_type *type)
{
	json_t *properties = json_object();

	for (size_t i = 0; i < type->noptions; i++)
		json_object_set_new(properties, type->option[i].name,
		                    json_pack("{s:s, s:[s, s, s, s]}", "description", type->option[i].about,
		                              "type", "string", "number", "boolean", "array"));
	return json_pack("{s:{s:{s:{s:s}}}, s:{s:{s:{s:o, s:b}}}}", "if", "properties", "name", "const",
	                 type->name, "then", "properties", "with", "properties", properties,
	                 "additionalProperties", 0);
}

static json_t *sinks_schema(const struct job_key *key)
{
	json_t *items = job_table_schema(&sink_table), *by_type = json_array();

	(void)key;
	for (size_t i = 0; sink_type_at(i); i++)
		json_array_append_new(by_type, options_schema(sink_type_at(i)));
	json_object_set_new(items, "allOf", by_type);
	return json_pack("{s:s, s:o, s:i}", "type", "array", "items", items, "minItems", 1);
}

const struct job_kind job_kind_sinks = {sizeof(struct job_sink *) + sizeof(size_t), read_sinks, sinks_value,
                                        sinks_schema};
