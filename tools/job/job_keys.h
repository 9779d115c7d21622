/* tools/job/job_keys.h - the keys of a job file: one table, from which files are read and checked, jobs are
 * shown, options of the command line go on top, and the JSON Schema is made. sbtrace-job(5) has the same
 * keys, as a test sees to.
 */
#ifndef TOOLS_JOB_KEYS_H
#define TOOLS_JOB_KEYS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/job_source.h"

struct job_table;

struct job_key {
	const char *name;
	const struct job_kind *kind;
	size_t offset;     /* of the field, in the struct that the table fills */
	const char *about; /* one sentence */
	const char *what;  /* what it takes, for complaints: "a list of CPU numbers" */
	const char *item;  /* the same of a list's items */
	bool required;
	bool inverse;                  /* the field is true when the key is false */
	bool whole;                    /* of a mapping: given again, it replaces all that was there */
	const struct job_table *table; /* of a mapping, or of a list of them */
	const char *const *word;       /* that it can be, NULL behind the last; "": as if it was not said */
	uint64_t least, most;          /* of a number */
};

struct job_table {
	const char *what; /* "a job" */
	const struct job_key *key;
	size_t nkeys;
};

/* What a key can hold. */
struct job_kind {
	size_t size; /* of the field: all zero when nothing was given; 0: it is not kept */
	int (*read)(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field);
	/* As YAML would have it; NULL: nothing was given. Paths begin at the root. */
	json_t *(*value)(const struct job_key *key, const void *field);
	json_t *(*schema)(const struct job_key *key);
};

extern const struct job_table job_table;

/* The kinds. */
extern const struct job_kind job_kind_version, job_kind_flag, job_kind_path, job_kind_paths, job_kind_texts,
        job_kind_words, job_kind_numbers, job_kind_moment, job_kind_ranges, job_kind_count, job_kind_size,
        job_kind_duration, job_kind_word, job_kind_choice, job_kind_mapping, job_kind_cpu_model,
        job_kind_roots, job_kind_container_roots, job_kind_sinks, job_kind_strict, job_kind_scope_names,
        job_kind_scope_values;

/* A mapping with the keys of @table, into @target. */
int job_read_mapping(struct job_source *source, yaml_node_t *node, const struct job_table *table,
                     void *target);
json_t *job_table_value(const struct job_table *table, const void *target);
json_t *job_table_schema(const struct job_table *table);

/* The value of a scalar in a schema, where "${NAME}" may stand instead. */
json_t *job_schema_or_variable(json_t *schema);
json_t *job_schema_texts(const char *item);

/* @path, made to begin at the root. */
json_t *job_path_value(const char *path);

/* All of @job but what the command line and the files say of how it came to be. */
json_t *job_value(const struct job *job);
json_t *job_schema(void);

#endif
