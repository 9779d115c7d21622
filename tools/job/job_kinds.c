/* job_kinds.c - what keys of a job can hold, but for lists of roots and sinks: read, shown, and as a schema.
 */
#include "job/job_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <intel-pt.h>

#include "job/job_decode.h"
#include "job/job_list.h"
#include "nearest.h"
#include "strict.h"

/* ---- Schemas ---------------------------------------------------------------------------------- */

json_t *job_schema_or_variable(json_t *schema)
{
	return json_pack("{s:[o, {s:s, s:s}]}", "anyOf", schema, "type", "string", "pattern", "\\$\\{");
}

static json_t *schema_text(void)
{
	return json_pack("{s:s, s:i}", "type", "string", "minLength", 1);
}

/* Texts that YAML takes for numbers are fine. */
static json_t *schema_scalar(void)
{
	return json_pack("{s:[s, s]}", "type", "string", "number");
}

static json_t *schema_list(json_t *items)
{
	return json_pack("{s:s, s:o, s:i}", "type", "array", "items", items, "minItems", 1);
}

/* ---- Flags, choices, numbers ------------------------------------------------------------------- */

static int read_version(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	const char *text = source_text(source, node, "the number 1");

	(void)key;
	(void)field;
	if (!text)
		return -sbe_format;
	if (!source_is_plain(node) || strcmp(text, "1"))
		return source_fail(source, node, "expected version 1, found '%s'%s", text,
		                   source_is_plain(node) ? "" : " in quotes");
	return 0;
}

static json_t *version_value(const struct job_key *key, const void *field)
{
	(void)key;
	(void)field;
	return json_integer(1);
}

static json_t *version_schema(const struct job_key *key)
{
	(void)key;
	return json_pack("{s:i}", "const", 1);
}

const struct job_kind job_kind_version = {0, read_version, version_value, version_schema};

static int read_flag(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	bool value = false, *flag = field;
	const int code = source_bool(source, node, &value);

	*flag = value != key->inverse;
	return code;
}

static json_t *flag_value(const struct job_key *key, const void *field)
{
	return json_boolean(*(const bool *)field != key->inverse);
}

static json_t *flag_schema(const struct job_key *key)
{
	json_t *schema = job_schema_or_variable(json_pack("{s:s}", "type", "boolean"));

	json_object_set_new(schema, "default", json_boolean(key->inverse));
	return schema;
}

const struct job_kind job_kind_flag = {sizeof(bool), read_flag, flag_value, flag_schema};

static int add_strict(struct job_source *source, yaml_node_t *node, const void *key, void *target)
{
	const char *text = source_text(source, node, "the reason of a gap");
	struct option_error error;

	(void)key;
	if (!text)
		return -sbe_format;
	return strict_list_add(target, text, &error) ? source_wrong(source, node, &error) : 0;
}

/* true, false, or the reasons. */
static int read_strict(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	struct strict_list list = {0};
	struct option_error error;
	bool strict = false;
	const char *text;
	int code;

	if (node->type == YAML_SEQUENCE_NODE) {
		code = source_list(source, node, key->what, add_strict, key, &list);
		if (!code && strict_list_take(&list, field, &error))
			code = source_wrong(source, node, &error);
		return code;
	}
	text = source_text(source, node, "true, false, or a list of reasons");
	if (!text)
		return -sbe_format;
	if (strcmp(text, "true") && strcmp(text, "false"))
		code = source_fail(
		        source, node,
		        "expected true, false, or a list of reasons such as [overflow], found '%s'", text);
	else
		code = source_bool(source, node, &strict);
	*(uint32_t *)field = strict ? strict_all : 0;
	return code;
}

static json_t *strict_value(const struct job_key *key, const void *field)
{
	const uint32_t set = *(const uint32_t *)field;
	json_t *reasons;

	(void)key;
	if (!set || set == strict_all)
		return json_boolean(set);
	reasons = json_array();
	for (unsigned int i = 0; i < sb_gap_reasons; i++)
		if (set >> i & 1)
			json_array_append_new(reasons,
			                      json_string(sb_gap_reason_name((enum sb_gap_reason)i)));
	return reasons;
}

static json_t *strict_schema(const struct job_key *key)
{
	(void)key;
	return job_schema_or_variable(json_pack("{s:[s, s]}", "type", "boolean", "array"));
}

const struct job_kind job_kind_strict = {sizeof(uint32_t), read_strict, strict_value, strict_schema};

/* The number of @text among the words, or -1: told. */
static int find_word(struct job_source *source, yaml_node_t *node, const struct job_key *key,
                     const char *text)
{
	struct nearest nearest;

	nearest_begin(&nearest, text);
	for (int i = 0; key->word[i]; i++) {
		if (!*key->word[i])
			continue;
		if (!strcmp(key->word[i], text))
			return i;
		nearest_offer(&nearest, key->word[i]);
	}
	if (nearest.best)
		source_fail(source, node, "%s cannot be '%s'; did you mean '%s'?", key->name, text,
		            nearest.best);
	else
		source_fail(source, node, "expected one of %s, found '%s'", nearest.all, text);
	return -1;
}

static int read_choice(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	const char *text = source_text(source, node, "a word");
	const int word = text ? find_word(source, node, key, text) : -1;

	if (word < 0)
		return -sbe_format;
	*(unsigned int *)field = (unsigned int)word;
	return 0;
}

static json_t *choice_value(const struct job_key *key, const void *field)
{
	const char *word = key->word[*(const unsigned int *)field];

	return *word ? json_string(word) : NULL;
}

static json_t *words_of(const struct job_key *key)
{
	json_t *words = json_array();

	for (int i = 0; key->word[i]; i++)
		if (*key->word[i])
			json_array_append_new(words, json_string(key->word[i]));
	return job_schema_or_variable(json_pack("{s:o}", "enum", words));
}

const struct job_kind job_kind_choice = {sizeof(unsigned int), read_choice, choice_value, words_of};

static int read_count(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	const char *text = source_text(source, node, key->what);
	struct option_error error;
	uint64_t number;

	if (!text)
		return -sbe_format;
	if (option_number(text, key->least, key->most, &number, &error))
		return source_wrong(source, node, &error);
	*(unsigned int *)field = (unsigned int)number;
	return 0;
}

static json_t *count_value(const struct job_key *key, const void *field)
{
	const unsigned int number = *(const unsigned int *)field;

	(void)key;
	return number ? json_integer(number) : NULL;
}

static json_t *count_schema(const struct job_key *key)
{
	return job_schema_or_variable(json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum",
	                                        (json_int_t)key->least, "maximum", (json_int_t)key->most));
}

const struct job_kind job_kind_count = {sizeof(unsigned int), read_count, count_value, count_schema};

static int read_size(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	const char *text = source_text(source, node, "a size such as 512M or 4G");
	struct option_error error;

	(void)key;
	if (!text)
		return -sbe_format;
	return job_size_set(field, text, &error) ? source_wrong(source, node, &error) : 0;
}

static json_t *size_value(const struct job_key *key, const void *field)
{
	const uint64_t size = *(const uint64_t *)field;

	(void)key;
	return size ? json_integer((json_int_t)size) : NULL;
}

static json_t *size_schema(const struct job_key *key)
{
	(void)key;
	return json_pack("{s:[{s:s, s:i}, {s:s, s:s}]}", "anyOf", "type", "integer", "minimum", 1, "type",
	                 "string", "pattern", "^[0-9]+[KMGT]?$|\\$\\{");
}

const struct job_kind job_kind_size = {sizeof(uint64_t), read_size, size_value, size_schema};

static int read_duration(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	const char *text = source_text(source, node, "a time such as 30m or 4h");
	struct option_error error;

	(void)key;
	if (!text)
		return -sbe_format;
	return job_duration_set(field, text, &error) ? source_wrong(source, node, &error) : 0;
}

static json_t *duration_value(const struct job_key *key, const void *field)
{
	const uint64_t seconds = *(const uint64_t *)field;

	(void)key;
	return seconds ? json_sprintf("%" PRIu64 "s", seconds) : NULL;
}

static json_t *duration_schema(const struct job_key *key)
{
	(void)key;
	return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[0-9]+[smhd]$|\\$\\{");
}

const struct job_kind job_kind_duration = {sizeof(uint64_t), read_duration, duration_value, duration_schema};

static int read_moment(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	const char *text = source_text(source, node, "a time stamp count, or seconds with a decimal point");
	struct option_error error;

	(void)key;
	if (!text)
		return -sbe_format;
	return job_time_set(field, text, &error) ? source_wrong(source, node, &error) : 0;
}

static json_t *moment_value(const struct job_key *key, const void *field)
{
	const struct job_time *time = field;
	char text[32];

	(void)key;
	if (time->unit == job_time_open)
		return NULL;
	if (time->unit == job_time_tsc)
		snprintf(text, sizeof(text), "%" PRIu64, time->value);
	else
		snprintf(text, sizeof(text), "%" PRIu64 ".%09" PRIu64, time->value / 1000000000,
		         time->value % 1000000000);
	return json_string(text);
}

static json_t *moment_schema(const struct job_key *key)
{
	(void)key;
	return schema_scalar();
}

const struct job_kind job_kind_moment = {sizeof(struct job_time), read_moment, moment_value, moment_schema};

/* ---- Texts ------------------------------------------------------------------------------------ */

json_t *job_path_value(const char *path)
{
	char *directory = *path == '/' || job_is_url(path) ? NULL : getcwd(NULL, 0);
	json_t *value = directory ? json_sprintf("%s/%s", directory, path) : json_string(path);

	free(directory);
	return value;
}

static int read_path(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	char *path = source_file(source, node, key->what);

	if (!path)
		return -sbe_format;
	free(*(char **)field);
	*(char **)field = path;
	return source_note(source, node, path);
}

static json_t *path_value(const struct job_key *key, const void *field)
{
	const char *path = *(char *const *)field;

	(void)key;
	return path ? job_path_value(path) : NULL;
}

static json_t *path_schema(const struct job_key *key)
{
	(void)key;
	return schema_text();
}

const struct job_kind job_kind_path = {sizeof(char *), read_path, path_value, path_schema};

static int add_text(struct job_source *source, yaml_node_t *node, const char *text, struct job_texts *texts)
{
	struct option_error error;

	if (job_texts_add(texts, job_items_most, "the text", text, &error))
		return source_wrong(source, node, &error);
	return source_note(source, node, texts->value[texts->count - 1]);
}

static int add_path(struct job_source *source, yaml_node_t *node, const void *key, void *target)
{
	char *path = source_file(source, node, ((const struct job_key *)key)->item);
	int code;

	if (!path)
		return -sbe_format;
	code = add_text(source, node, path, target);
	free(path);
	return code;
}

static int read_paths(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	return source_list(source, node, key->what, add_path, key, field);
}

static json_t *texts_value_as(const struct job_texts *texts, json_t *value(const char *))
{
	json_t *list = texts->count ? json_array() : NULL;

	for (size_t i = 0; i < texts->count; i++)
		json_array_append_new(list, value(texts->value[i]));
	return list;
}

static json_t *paths_value(const struct job_key *key, const void *field)
{
	(void)key;
	return texts_value_as(field, job_path_value);
}

static json_t *texts_schema(const struct job_key *key)
{
	(void)key;
	return schema_list(schema_scalar());
}

const struct job_kind job_kind_paths = {sizeof(struct job_texts), read_paths, paths_value, texts_schema};

static int add_plain(struct job_source *source, yaml_node_t *node, const void *key, void *target)
{
	const char *text = source_text(source, node, ((const struct job_key *)key)->item);

	return text ? add_text(source, node, text, target) : -sbe_format;
}

static int read_texts(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	return source_list(source, node, key->what, add_plain, key, field);
}

static json_t *texts_value(const struct job_key *key, const void *field)
{
	(void)key;
	return texts_value_as(field, json_string);
}

const struct job_kind job_kind_texts = {sizeof(struct job_texts), read_texts, texts_value, texts_schema};

static int add_word(struct job_source *source, yaml_node_t *node, const void *key, void *target)
{
	const char *text = source_text(source, node, ((const struct job_key *)key)->item);
	struct option_error error;

	if (!text || find_word(source, node, key, text) < 0)
		return -sbe_format;
	return job_decode_check_none(target, text, &error) ? source_wrong(source, node, &error)
	                                                   : add_text(source, node, text, target);
}

static int read_words(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	return source_list(source, node, key->what, add_word, key, field);
}

static json_t *words_schema(const struct job_key *key)
{
	return schema_list(words_of(key));
}

const struct job_kind job_kind_words = {sizeof(struct job_texts), read_words, texts_value, words_schema};

static int read_cpu_model(struct job_source *source, yaml_node_t *node, const struct job_key *key,
                          void *field)
{
	const char *text = source_text(source, node, "a processor's FAMILY/MODEL/STEPPING");
	struct option_error error;
	struct pt_cpu cpu;

	(void)key;
	if (!text)
		return -sbe_format;
	if (job_cpu_model(text, &cpu, &error) || job_set_text(field, "the processor", text, &error))
		return source_wrong(source, node, &error);
	return 0;
}

static json_t *text_value(const struct job_key *key, const void *field)
{
	const char *text = *(char *const *)field;

	(void)key;
	return text ? json_string(text) : NULL;
}

static json_t *cpu_model_schema(const struct job_key *key)
{
	(void)key;
	return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[0-9]+/[0-9]+/[0-9]+$|\\$\\{");
}

const struct job_kind job_kind_cpu_model = {sizeof(char *), read_cpu_model, text_value, cpu_model_schema};

static int read_word(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	const char *text = source_text(source, node, key->what);
	struct option_error error;

	if (!text)
		return -sbe_format;
	if (!job_is_word(text))
		return source_fail(source, node, "expected %s, found '%s'", key->what, text);
	if (job_set_text(field, "the name", text, &error))
		return source_wrong(source, node, &error);
	return source_note(source, node, *(char **)field);
}

static json_t *word_schema(const struct job_key *key)
{
	(void)key;
	return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[A-Za-z0-9._/:@,+=%-]+$|\\$\\{");
}

const struct job_kind job_kind_word = {sizeof(char *), read_word, text_value, word_schema};

/* ---- Lists of numbers -------------------------------------------------------------------------- */

static int add_number(struct job_source *source, yaml_node_t *node, const void *key, void *target)
{
	const char *text = source_text(source, node, "a number or a range");
	struct option_error error;

	(void)key;
	if (!text)
		return -sbe_format;
	return job_list_add(target, text, &error) ? source_wrong(source, node, &error) : 0;
}

static int read_numbers(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	return source_list(source, node, key->what, add_number, key, field);
}

/* Neighbours become ranges again. */
static json_t *numbers_value(const struct job_key *key, const void *field)
{
	const struct job_list *list = field;
	json_t *value = list->count ? json_array() : NULL;
	size_t last;

	(void)key;
	for (size_t first = 0; first < list->count; first = last + 1) {
		last = first;
		while (last + 1 < list->count && list->value[last + 1] - 1 == list->value[last])
			last++;
		if (last == first)
			json_array_append_new(value, json_integer(list->value[first]));
		else
			json_array_append_new(value, json_sprintf("%" PRId32 "-%" PRId32, list->value[first],
			                                          list->value[last]));
	}
	return value;
}

static json_t *numbers_schema(const struct job_key *key)
{
	(void)key;
	return schema_list(json_pack(
	        "{s:[{s:s, s:i}, {s:s, s:s}]}", "anyOf", "type", "integer", "minimum", 0, "type", "string",
	        "pattern",
	        "^(0[xX])?[0-9a-fA-F]+(-(0[xX])?[0-9a-fA-F]+)?(,(0[xX])?[0-9a-fA-F]+(-(0[xX])?[0-9a-fA-F]+)?)*$|\\$\\{"));
}

const struct job_kind job_kind_numbers = {sizeof(struct job_list), read_numbers, numbers_value,
                                          numbers_schema};

static int add_range(struct job_source *source, yaml_node_t *node, const void *key, void *target)
{
	const char *text = source_text(source, node, ((const struct job_key *)key)->item);
	struct option_error error;

	if (!text)
		return -sbe_format;
	return job_range_add(target, text, &error) ? source_wrong(source, node, &error) : 0;
}

static int read_ranges(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	return source_list(source, node, key->what, add_range, key, field);
}

static json_t *ranges_value(const struct job_key *key, const void *field)
{
	const struct job_ranges *ranges = field;
	json_t *value = ranges->count ? json_array() : NULL;

	(void)key;
	for (size_t i = 0; i < ranges->count; i++)
		json_array_append_new(value, json_sprintf("0x%" PRIx64 "-0x%" PRIx64, ranges->value[i].begin,
		                                          ranges->value[i].end));
	return value;
}

static json_t *ranges_schema(const struct job_key *key)
{
	(void)key;
	return schema_list(json_pack("{s:s, s:s}", "type", "string", "pattern",
	                             "^(0[xX])?[0-9a-fA-F]+[-+](0[xX])?[0-9a-fA-F]+$|\\$\\{"));
}

const struct job_kind job_kind_ranges = {sizeof(struct job_ranges), read_ranges, ranges_value, ranges_schema};

/* ---- Mappings --------------------------------------------------------------------------------- */

static int read_mapping(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	return job_read_mapping(source, node, key->table, field);
}

static json_t *mapping_value(const struct job_key *key, const void *field)
{
	json_t *value = job_table_value(key->table, field);

	if (json_object_size(value))
		return value;
	json_decref(value);
	return NULL;
}

static json_t *mapping_schema(const struct job_key *key)
{
	return job_table_schema(key->table);
}

const struct job_kind job_kind_mapping = {0, read_mapping, mapping_value, mapping_schema};

/* ---- What was read before all else, see job_read.c ---------------------------------------------- */

static int read_nothing(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	(void)source;
	(void)node;
	(void)key;
	(void)field;
	return 0;
}

static json_t *scope_values_schema(const struct job_key *key)
{
	(void)key;
	return json_pack("{s:s, s:{s:s}, s:{s:[s, s, s, s]}}", "type", "object", "propertyNames", "pattern",
	                 "^[A-Za-z_][A-Za-z0-9_]*$", "additionalProperties", "type", "string", "number",
	                 "boolean", "null");
}

const struct job_kind job_kind_scope_names = {0, read_nothing, NULL, texts_schema};
const struct job_kind job_kind_scope_values = {0, read_nothing, NULL, scope_values_schema};
