/* job_roots.c - kinds of keys: roots, and what is to be written. */
#include "job/job_keys.h"

#include <stdlib.h>
#include <string.h>

#include "job/job_list.h"

/* ---- Roots ------------------------------------------------------------------------------------ */

static int add_layer(struct job_source *source, yaml_node_t *node, const void *key, void *target)
{
	char *path = source_file(source, node, "the name of a directory");
	struct job_root *root = target;
	struct option_error error;
	int result;

	(void)key;
	if (!path)
		return -sbe_format;
	result = job_add_layer(root, path, &error);
	free(path);
	return result ? source_wrong(source, node, &error)
	              : source_note(source, node, root->layer.value[root->layer.count - 1]);
}

/* A directory, or a list of layers. */
static int read_root(struct job_source *source, yaml_node_t *node, const char *container)
{
	struct option_error error;
	struct job_root *root = job_add_root(&source->job->files, container, &error);

	if (!root)
		return source_wrong(source, node, &error);
	if (node->type == YAML_SEQUENCE_NODE)
		return source_list(source, node, "a list of layers", add_layer, NULL, root);
	return add_layer(source, node, NULL, root);
}

static int add_root(struct job_source *source, yaml_node_t *node, const void *key, void *target)
{
	(void)key;
	(void)target;
	return read_root(source, node, NULL);
}

static int read_roots(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	return source_list(source, node, key->what, add_root, key, field);
}

static json_t *root_value(const struct job_root *root)
{
	json_t *layers;

	if (root->layer.count == 1)
		return job_path_value(root->layer.value[0]);
	layers = json_array();
	for (size_t i = 0; i < root->layer.count; i++)
		json_array_append_new(layers, job_path_value(root->layer.value[i]));
	return layers;
}

static json_t *roots_value(const struct job_key *key, const void *field)
{
	const struct job_roots *roots = field;
	json_t *value = roots->count ? json_array() : NULL;

	(void)key;
	for (size_t i = 0; i < roots->count; i++)
		json_array_append_new(value, root_value(&roots->root[i]));
	return value;
}

static json_t *root_schema(void)
{
	return json_pack("{s:[{s:s, s:i}, {s:s, s:{s:s, s:i}, s:i}]}", "anyOf", "type", "string", "minLength",
	                 1, "type", "array", "items", "type", "string", "minLength", 1, "minItems", 1);
}

static json_t *roots_schema(const struct job_key *key)
{
	(void)key;
	return json_pack("{s:s, s:o, s:i}", "type", "array", "items", root_schema(), "minItems", 1);
}

const struct job_kind job_kind_roots = {sizeof(struct job_roots), read_roots, roots_value, roots_schema};

/* A mapping whose keys are the containers' names. */
static int read_container_roots(struct job_source *source, yaml_node_t *node, const struct job_key *key,
                                void *field)
{
	int code = source_mapping(source, node, key->what);

	(void)field;
	if (code)
		return code;
	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top && !code; pair++) {
		const char *name =
		        source_text(source, source_node(source, pair->key), "the name of a container");

		code = name ? read_root(source, source_node(source, pair->value), name) : -sbe_format;
	}
	return code;
}

static json_t *container_roots_value(const struct job_key *key, const void *field)
{
	const struct job_roots *roots = field;
	json_t *value = roots->count ? json_object() : NULL;

	(void)key;
	for (size_t i = 0; i < roots->count; i++)
		json_object_set_new(value, roots->root[i].container, root_value(&roots->root[i]));
	return value;
}

static json_t *container_roots_schema(const struct job_key *key)
{
	(void)key;
	return json_pack("{s:s, s:o}", "type", "object", "additionalProperties", root_schema());
}

const struct job_kind job_kind_container_roots = {sizeof(struct job_roots), read_container_roots,
                                                  container_roots_value, container_roots_schema};
