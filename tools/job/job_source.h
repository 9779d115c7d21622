/* tools/job/job_source.h - a job file as a tree of YAML nodes: whatever is wrong is told with its place. */
#ifndef TOOLS_JOB_SOURCE_H
#define TOOLS_JOB_SOURCE_H

#include <stdbool.h>
#include <yaml.h>

#include "job/job.h"
#include "job/job_scope.h"

struct job_source {
	const char *path; /* lasts as long as the job's places */
	size_t directory; /* length of the path up to and with its last slash */
	yaml_document_t document;
	struct job_scope *scope;
	struct job_texts filled; /* texts with variables, filled in */
	struct job *job;
	struct sb_error *err;
};

/* Reads and parses @path, one document; the source is then to be closed. Zero or a negative code. */
int source_open(struct job_source *source, const char *path);
/* The same with the @size bytes of @text, which are not at @path. */
int source_parse(struct job_source *source, const char *path, const char *text, size_t size);
void source_close(struct job_source *source);

struct job_place source_place(const struct job_source *source, const yaml_node_t *node);
int source_fail(struct job_source *source, const yaml_node_t *node, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
/* The reason of a setter of job.c, with its place. */
int source_wrong(struct job_source *source, const yaml_node_t *node, const struct option_error *error);
/* Remembers where what is at @value stands. */
int source_note(struct job_source *source, const yaml_node_t *node, const void *value);

yaml_node_t *source_node(struct job_source *source, int index);
const char *source_kind(const yaml_node_t *node); /* "a list" */
bool source_is_plain(const yaml_node_t *node);

/* The text of a scalar with its variables filled in, which lasts as long as the source; NULL: told. @expected
 * is for the complaint. */
const char *source_text(struct job_source *source, yaml_node_t *node, const char *expected);
/* A path that is relative to the file; to be freed. NULL: told. */
char *source_file(struct job_source *source, yaml_node_t *node, const char *expected);
int source_bool(struct job_source *source, yaml_node_t *node, bool *value);

/* Whether it is a mapping whose keys are there once, for who walks it himself. */
int source_mapping(struct job_source *source, const yaml_node_t *node, const char *expected);

typedef int source_item(struct job_source *source, yaml_node_t *node, const void *key, void *target);

/* Calls @item for each item of a list that is not empty. */
int source_list(struct job_source *source, yaml_node_t *node, const char *expected, source_item *item,
                const void *key, void *target);

#endif
