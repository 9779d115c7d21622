/* job_show.c - see job_show.h. A job's value as JSON, written by libyaml, which knows what has to be quoted.
 */
#include "job/job_show.h"

#include <string.h>
#include <yaml.h>

#include "job/job_keys.h"

static int put(yaml_document_t *document, const json_t *value);

static int put_text(yaml_document_t *document, const char *text, yaml_scalar_style_t style)
{
	return yaml_document_add_scalar(document, NULL, (const yaml_char_t *)text, (int)strlen(text), style);
}

/* What a reader would take for a variable is to be itself: "${" becomes "$${". */
static int put_string(yaml_document_t *document, const char *text)
{
	char *escaped = NULL;
	size_t size;
	FILE *to;
	int node;

	if (!strstr(text, "${"))
		return put_text(document, text,
		                *text ? YAML_ANY_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
	to = open_memstream(&escaped, &size);
	if (!to)
		return 0;
	for (; *text; text++) {
		if (text[0] == '$' && text[1] == '{')
			fputc('$', to);
		fputc(*text, to);
	}
	node = fclose(to) ? 0 : put_text(document, escaped, YAML_ANY_SCALAR_STYLE);
	free(escaped);
	return node;
}

static int put_list(yaml_document_t *document, const json_t *list)
{
	const int node = yaml_document_add_sequence(document, NULL, YAML_ANY_SEQUENCE_STYLE);

	for (size_t i = 0; node && i < json_array_size(list); i++) {
		const int item = put(document, json_array_get(list, i));

		if (!item || !yaml_document_append_sequence_item(document, node, item))
			return 0;
	}
	return node;
}

static int put_object(yaml_document_t *document, const json_t *object)
{
	const int node = yaml_document_add_mapping(document, NULL, YAML_BLOCK_MAPPING_STYLE);
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)object, key, value)
	{
		const int name = put_string(document, key), item = name ? put(document, value) : 0;

		if (!node || !item || !yaml_document_append_mapping_pair(document, node, name, item))
			return 0;
	}
	return node;
}

/* The number of the node, 0: out of memory. */
static int put(yaml_document_t *document, const json_t *value)
{
	char number[32];

	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return put_object(document, value);
	case JSON_ARRAY:
		return put_list(document, value);
	case JSON_STRING:
		return put_string(document, json_string_value(value));
	case JSON_INTEGER:
		snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
		return put_text(document, number, YAML_PLAIN_SCALAR_STYLE);
	default:
		return put_text(document, json_is_true(value) ? "true" : "false", YAML_PLAIN_SCALAR_STYLE);
	}
}

int job_show_value(const json_t *value, FILE *to)
{
	yaml_document_t document;
	yaml_emitter_t emitter;
	int fine;

	if (!yaml_emitter_initialize(&emitter))
		return -1;
	yaml_emitter_set_output_file(&emitter, to);
	yaml_emitter_set_unicode(&emitter, 1);
	yaml_emitter_set_width(&emitter, -1);
	fine = yaml_document_initialize(&document, NULL, NULL, NULL, 1, 1);
	if (fine && !put(&document, value)) {
		yaml_document_delete(&document);
		fine = 0;
	}
	/* Takes the document over, even when it fails. */
	fine = fine && yaml_emitter_dump(&emitter, &document) && yaml_emitter_close(&emitter);
	yaml_emitter_delete(&emitter);
	return fine && !fflush(to) ? 0 : -1;
}

int job_show(const struct job *job, FILE *to)
{
	json_t *value = job_value(job);
	const int result = value ? job_show_value(value, to) : -1;

	json_decref(value);
	return result;
}
