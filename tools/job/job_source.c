/* job_source.c - see job_source.h. */
#include "job/job_source.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/job_list.h"
#include "job/yaml_hint.h"

enum {
	job_file_most = 1 << 20, /* bytes */
	filled_most = 1 << 16,   /* texts with variables in a file */
};

/* ---- Places ----------------------------------------------------------------------------------- */

static struct job_place place_of(const struct job_source *source, const yaml_mark_t *mark)
{
	return (struct job_place){source->path, mark->line + 1, mark->column + 1};
}

struct job_place source_place(const struct job_source *source, const yaml_node_t *node)
{
	return place_of(source, &node->start_mark);
}

int source_fail(struct job_source *source, const yaml_node_t *node, const char *format, ...)
{
	const struct job_place place = source_place(source, node);
	char text[sizeof(source->err->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return job_fail_at(source->err, &place, "%s", text);
}

int source_wrong(struct job_source *source, const yaml_node_t *node, const struct option_error *error)
{
	return source_fail(source, node, "%s", error->why);
}

int source_note(struct job_source *source, const yaml_node_t *node, const void *value)
{
	const struct job_place place = source_place(source, node);

	if (job_places_add(&source->job->places, value, &place))
		return sb_error_set(source->err, -sbe_nomem, source->path, UINT64_MAX, "out of memory");
	return 0;
}

/* ---- Nodes ------------------------------------------------------------------------------------ */

yaml_node_t *source_node(struct job_source *source, int index)
{
	return yaml_document_get_node(&source->document, index);
}

const char *source_kind(const yaml_node_t *node)
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

bool source_is_plain(const yaml_node_t *node)
{
	return node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static const char *fill(struct job_source *source, yaml_node_t *node, const char *text)
{
	struct option_error error;
	char *filled, **bigger;

	filled = job_scope_fill(source->scope, text, &error);
	if (!filled) {
		source_wrong(source, node, &error);
		return NULL;
	}
	bigger = job_grow(source->filled.value, source->filled.count, filled_most, sizeof(*bigger), &error);
	if (!bigger) {
		free(filled);
		source_wrong(source, node, &error);
		return NULL;
	}
	source->filled.value = bigger;
	return bigger[source->filled.count++] = filled;
}

const char *source_text(struct job_source *source, yaml_node_t *node, const char *expected)
{
	const char *text;

	if (node->type != YAML_SCALAR_NODE) {
		source_fail(source, node, "expected %s, found %s", expected, source_kind(node));
		return NULL;
	}
	text = (const char *)node->data.scalar.value;
	if (strlen(text) != node->data.scalar.length) {
		source_fail(source, node, "expected %s, found text with a zero byte in it", expected);
		return NULL;
	}
	if (strstr(text, "${") && !(text = fill(source, node, text)))
		return NULL;
	if (!*text || (source_is_plain(node) && (!strcmp(text, "~") || !strcmp(text, "null")))) {
		source_fail(source, node, "expected %s, found nothing", expected);
		return NULL;
	}
	return text;
}

char *source_file(struct job_source *source, yaml_node_t *node, const char *expected)
{
	const char *text = source_text(source, node, expected);
	char *path;

	if (!text)
		return NULL;
	if (*text == '/' || job_is_url(text))
		path = strdup(text);
	else if (asprintf(&path, "%.*s%s", (int)source->directory, source->path, text) < 0)
		path = NULL;
	if (!path)
		source_fail(source, node, "out of memory");
	return path;
}

int source_bool(struct job_source *source, yaml_node_t *node, bool *value)
{
	const char *text = source_text(source, node, "true or false");

	if (!text)
		return -sbe_format;
	*value = !strcmp(text, "true");
	if (!source_is_plain(node) || (!*value && strcmp(text, "false")))
		return source_fail(source, node, "expected true or false, found '%s'%s", text,
		                   source_is_plain(node) ? "" : " in quotes");
	return 0;
}

/* Whether @key is not among those that were @seen; scalars only. */
static int check_once(struct job_source *source, const yaml_node_t *key, json_t *seen)
{
	const char *text = key->type == YAML_SCALAR_NODE ? (const char *)key->data.scalar.value : NULL;

	if (text && json_object_get(seen, text))
		return source_fail(source, key, "the key '%s' is here a second time", text);
	if (text && json_object_set_new_nocheck(seen, text, json_true()))
		return source_fail(source, key, "out of memory");
	return 0;
}

int source_mapping(struct job_source *source, const yaml_node_t *node, const char *expected)
{
	json_t *seen;
	int code = 0;

	if (node->type != YAML_MAPPING_NODE)
		return source_fail(source, node, "expected %s, found %s", expected, source_kind(node));
	seen = json_object();
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     pair < node->data.mapping.pairs.top && !code; pair++)
		code = check_once(source, source_node(source, pair->key), seen);
	json_decref(seen);
	return code;
}

/* A word is likely to be meant as the only one of the list. */
static int no_list(struct job_source *source, const yaml_node_t *node, const char *expected)
{
	const char *text = node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : "";
	const size_t length = strlen(text);
	const char *quote = strpbrk(text, ",[]*&!|>%@#:") ? "\"" : "";

	if (!length || length > 60 || strpbrk(text, " {}\"'\\"))
		return source_fail(source, node, "expected %s, found %s", expected, source_kind(node));
	return source_fail(source, node, "expected %s, found text: write [%s%s%s]", expected, quote, text,
	                   quote);
}

int source_list(struct job_source *source, yaml_node_t *node, const char *expected, source_item *item,
                const void *key, void *target)
{
	int code = 0;

	if (node->type != YAML_SEQUENCE_NODE)
		return no_list(source, node, expected);
	if (node->data.sequence.items.start == node->data.sequence.items.top)
		return source_fail(source, node,
		                   "expected %s, found an empty list; to have the default, leave the key out",
		                   expected);
	for (yaml_node_item_t *i = node->data.sequence.items.start;
	     i < node->data.sequence.items.top && !code; i++)
		code = item(source, source_node(source, *i), key, target);
	return code;
}

/* ---- The file --------------------------------------------------------------------------------- */

static int yaml_failure(struct job_source *source, const yaml_parser_t *parser, const unsigned char *text,
                        size_t size)
{
	const struct job_place place = place_of(source, &parser->problem_mark);
	char hint[256];

	if (parser->error == YAML_MEMORY_ERROR)
		return sb_error_set(source->err, -sbe_nomem, source->path, UINT64_MAX, "out of memory");
	/* Bytes that are no text have an offset instead of a mark. */
	if (parser->error == YAML_READER_ERROR)
		return sb_error_set(source->err, -sbe_format, source->path, parser->problem_offset,
		                    "expected UTF-8 text: %s", parser->problem);
	yaml_hint(hint, sizeof(hint), parser, text, size);
	return job_fail_at(source->err, &place, "not YAML: %s%s%s%s", parser->context ? parser->context : "",
	                   parser->context ? ", " : "", parser->problem ? parser->problem : "unreadable",
	                   hint);
}

/* Whether nothing follows the document. */
static int read_end(struct job_source *source, yaml_parser_t *parser, const unsigned char *text, size_t size)
{
	yaml_document_t next;
	yaml_node_t *root;
	int code = 0;

	if (!yaml_parser_load(parser, &next))
		return yaml_failure(source, parser, text, size);
	root = yaml_document_get_root_node(&next);
	if (root)
		code = source_fail(source, root, "expected one document, found a second one");
	yaml_document_delete(&next);
	return code;
}

static int parse(struct job_source *source, const unsigned char *text, size_t size)
{
	yaml_parser_t parser;
	int code;

	if (!yaml_parser_initialize(&parser))
		return sb_error_set(source->err, -sbe_nomem, source->path, UINT64_MAX, "out of memory");
	yaml_parser_set_input_string(&parser, text, size);
	if (!yaml_parser_load(&parser, &source->document)) {
		code = yaml_failure(source, &parser, text, size);
	} else {
		code = read_end(source, &parser, text, size);
		if (code)
			yaml_document_delete(&source->document);
	}
	yaml_parser_delete(&parser);
	return code;
}

static int read_text(const char *path, unsigned char *text, size_t *size, struct sb_error *err)
{
	/* What is included may be anything: a pipe shall not keep us waiting. */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t n = 1;
	int code = 0;

	if (fd < 0 || fstat(fd, &st))
		code = sb_error_set(err, -sbe_io, path, UINT64_MAX, "cannot be opened: %s", strerror(errno));
	else if (!S_ISREG(st.st_mode))
		code = sb_error_set(err, -sbe_io, path, UINT64_MAX, "expected a job, found no regular file");
	*size = 0;
	while (!code && n > 0 && *size < job_file_most) {
		n = read(fd, text + *size, job_file_most - *size);
		if (n >= 0)
			*size += (size_t)n;
		else
			code = sb_error_set(err, -sbe_io, path, UINT64_MAX, "cannot be read: %s",
			                    strerror(errno));
	}
	if (!code && *size == job_file_most)
		code = sb_error_set(err, -sbe_format, path, UINT64_MAX,
		                    "expected a job, found a file of 1 MiB or more");
	if (fd >= 0)
		close(fd);
	return code;
}

/* Zero or -sbe_nomem. */
static int keep_path(struct job_source *source, const char *path)
{
	const char *slash;

	source->path = job_places_file(&source->job->places, path);
	if (!source->path)
		return sb_error_set(source->err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	slash = strrchr(source->path, '/');
	source->directory = slash ? (size_t)(slash - source->path) + 1 : 0;
	return 0;
}

int source_parse(struct job_source *source, const char *path, const char *text, size_t size)
{
	const int code = keep_path(source, path);

	return code ? code : parse(source, (const unsigned char *)text, size);
}

int source_open(struct job_source *source, const char *path)
{
	unsigned char *text = malloc(job_file_most);
	size_t size = 0;
	int code = text ? keep_path(source, path)
	                : sb_error_set(source->err, -sbe_nomem, path, UINT64_MAX, "out of memory");

	if (!code)
		code = read_text(source->path, text, &size, source->err);
	if (!code)
		code = parse(source, text, size);
	free(text);
	return code;
}

void source_close(struct job_source *source)
{
	yaml_document_delete(&source->document);
	job_texts_free(&source->filled);
}
