/* submissions.c - see submissions.h. */
#include "cluster/submissions.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "output.h"

static const char format[] = "sbtrace submissions 1";

static int out_of_memory(struct sb_error *err)
{
	return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

void submissions_free(struct submissions *submissions)
{
	for (size_t i = 0; i < submissions->count; i++) {
		free(submissions->row[i].array);
		free(submissions->row[i].merge);
	}
	free(submissions->row);
	free(submissions->path);
	*submissions = (struct submissions){0};
}

int submissions_add(struct submissions *submissions, const char *array, size_t per_task, struct sb_error *err)
{
	struct submission *row = reallocarray(submissions->row, submissions->count + 1, sizeof(*row));

	if (!row)
		return out_of_memory(err);
	submissions->row = row;
	row += submissions->count;
	*row = (struct submission){.array = array ? strdup(array) : NULL, .per_task = per_task};
	submissions->count++;
	return array && !row->array ? out_of_memory(err) : 0;
}

int submissions_set_merge(struct submissions *submissions, const char *merge, struct sb_error *err)
{
	struct submission *row = &submissions->row[submissions->count - 1];

	free(row->merge);
	row->merge = strdup(merge);
	return row->merge ? 0 : out_of_memory(err);
}

/* ---- The file --------------------------------------------------------------------------------- */

static int read_row(struct submissions *submissions, const json_t *value, struct sb_error *err)
{
	const char *array = json_string_value(json_object_get(value, "array"));
	const char *merge = json_string_value(json_object_get(value, "merge"));
	const json_int_t per_task = json_integer_value(json_object_get(value, "shards_per_task"));
	int code;

	if ((!array && !merge) || per_task < 1 || per_task > INT32_MAX)
		return sb_error_set(
		        err, -sbe_format, submissions->path, UINT64_MAX,
		        "expected submissions with \"array\" and \"shards_per_task\", found another");
	code = submissions_add(submissions, array, (size_t)per_task, err);
	return !code && merge ? submissions_set_merge(submissions, merge, err) : code;
}

int submissions_read(struct submissions *submissions, const char *directory, struct sb_error *err)
{
	json_error_t error;
	json_t *root;
	const json_t *rows;
	const char *is;
	int code = 0;

	*submissions = (struct submissions){0};
	if (asprintf(&submissions->path, "%s/submissions.json", directory) < 0) {
		submissions->path = NULL;
		return out_of_memory(err);
	}
	if (access(submissions->path, F_OK) && errno == ENOENT)
		return 0;
	root = json_load_file(submissions->path, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		return sb_error_set(err, -sbe_format, submissions->path, UINT64_MAX, "line %d: %s",
		                    error.line, error.text);
	is = json_string_value(json_object_get(root, "format"));
	rows = json_object_get(root, "submissions");
	if (!is || strcmp(is, format) != 0)
		code = sb_error_set(err, -sbe_format, submissions->path, UINT64_MAX,
		                    "expected \"format\": \"%s\", found %s", format, is ? is : "none");
	for (size_t i = 0; i < json_array_size(rows) && !code; i++)
		code = read_row(submissions, json_array_get(rows, i), err);
	json_decref(root);
	return code;
}

int submissions_write(const struct submissions *submissions, struct sb_error *err)
{
	json_t *rows = json_array(), *root;
	char *text;
	int code;

	for (size_t i = 0; i < submissions->count; i++) {
		const struct submission *row = &submissions->row[i];

		json_array_append_new(rows,
		                      json_pack("{s:s*, s:s*, s:I}", "array", row->array, "merge", row->merge,
		                                "shards_per_task", (json_int_t)row->per_task));
	}
	root = json_pack("{s:s, s:o}", "format", format, "submissions", rows);
	text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
	json_decref(root);
	if (!text)
		return out_of_memory(err);
	code = output_text(submissions->path, text, err);
	free(text);
	return code;
}
