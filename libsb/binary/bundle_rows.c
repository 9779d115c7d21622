/* bundle_rows.c - see bundle_rows.h. */
#include "binary/bundle_rows.h"

#include <stdlib.h>
#include <string.h>

#include "binary/bundle_index.h"

int bundle_rows_init(struct bundle_rows *rows, const char *directory, struct sb_error *err)
{
	int status;

	*rows = (struct bundle_rows){0};
	status = bundle_manifest_read(&rows->earlier, directory, err);
	if (status < 0)
		return status;
	rows->files = json_object();
	rows->missing = json_object();
	rows->named = json_object();
	rows->recordings = json_object();
	if (rows->files && rows->missing && rows->named && rows->recordings)
		return 0;
	bundle_rows_fini(rows);
	return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

void bundle_rows_fini(struct bundle_rows *rows)
{
	json_decref(rows->files);
	json_decref(rows->missing);
	json_decref(rows->named);
	json_decref(rows->recordings);
	json_decref(rows->earlier);
	*rows = (struct bundle_rows){0};
}

const char *bundle_rows_known(void *context, const char *name, uint64_t size)
{
	const struct bundle_rows *rows = context;
	json_t *row;
	size_t i;

	json_array_foreach(json_object_get(rows->earlier, "files"), i, row)
	{
		const char *file = json_string_value(json_object_get(row, "file"));

		if (file && strcmp(file, name) == 0 &&
		    (uint64_t)json_integer_value(json_object_get(row, "size")) == size)
			return json_string_value(json_object_get(row, "sha256"));
	}
	return NULL;
}

/* ---- Adding ------------------------------------------------------------------------------------ */

/* A row as a name; to be freed. */
static char *name_of(const json_t *row)
{
	return json_dumps(row, JSON_COMPACT | JSON_SORT_KEYS);
}

/* The part of a row that says which recorded file it is about. */
static json_t *identity_of(const json_t *row)
{
	static const char *const members[] = {"path", "container", "recorded_build_id", "maj", "min", "ino"};
	json_t *identity = json_object();

	for (size_t i = 0; identity && i < sizeof(members) / sizeof(members[0]); i++) {
		json_t *value = json_object_get(row, members[i]);

		if (value)
			json_object_set(identity, members[i], value);
	}
	return identity;
}

static char *identity_name(const json_t *row)
{
	json_t *identity = identity_of(row);
	char *name = identity ? name_of(identity) : NULL;

	json_decref(identity);
	return name;
}

/* Takes @row over. */
static int add(struct bundle_rows *rows, json_t *list, json_t *row)
{
	char *name = row ? name_of(row) : NULL, *identity = row ? identity_name(row) : NULL;
	int status = -sbe_nomem;

	if (name && identity && json_object_set_new(rows->named, identity, json_true()) == 0 &&
	    json_object_set(list, name, row) == 0)
		status = 0;
	free(name);
	free(identity);
	json_decref(row);
	return status;
}

static int set_text(json_t *row, const char *member, const char *text)
{
	return text[0] ? json_object_set_new(row, member, json_string(text)) : 0;
}

int bundle_rows_add_file(struct bundle_rows *rows, const char *container, const struct sb_map *map,
                         const struct sb_binary *binary, const struct stored_file *stored)
{
	json_t *row = bundle_row(container, map, 0);
	int status = row ? 0 : -1;

	status |= set_text(row, "file", stored->name);
	status |= json_object_set_new(row, "size", json_integer((json_int_t)stored->size));
	status |= set_text(row, "sha256", stored->sha256);
	status |= set_text(row, "build_id", stored->build_id);
	status |= bundle_set_escaped(row, "doubt", binary->detail);
	if (status) {
		json_decref(row);
		return -sbe_nomem;
	}
	return add(rows, rows->files, row);
}

int bundle_rows_add_missing(struct bundle_rows *rows, const char *container, const struct sb_map *map,
                            const struct sb_binary *binary)
{
	json_t *row = bundle_row(container, map, 1);
	int status = row ? 0 : -1;

	status |= set_text(row, "reason", sb_gap_reason_name(binary->missing));
	status |= bundle_set_escaped(row, "detail", binary->detail);
	if (status) {
		json_decref(row);
		return -sbe_nomem;
	}
	return add(rows, rows->missing, row);
}

int bundle_rows_add_recording(struct bundle_rows *rows, const char *name)
{
	return json_object_set_new(rows->recordings, name, json_object()) ? -sbe_nomem : 0;
}

/* ---- The manifest ------------------------------------------------------------------------------ */

/* A row, and what to sort it by. */
struct sort_item {
	const char *path, *name;
	json_t *row;
};

static int compare_items(const void *a, const void *b)
{
	const struct sort_item *one = a, *other = b;
	const int order = strcmp(one->path, other->path);

	return order ? order : strcmp(one->name, other->name);
}

json_t *bundle_rows_sorted(const json_t *object)
{
	struct sort_item *item = calloc(json_object_size(object) + 1, sizeof(*item));
	json_t *list = json_array(), *row;
	const char *name;
	size_t count = 0;

	if (!item || !list) {
		free(item);
		json_decref(list);
		return NULL;
	}
	json_object_foreach((json_t *)(uintptr_t)object, name, row) item[count++] =
	        (struct sort_item){json_string_value(json_object_get(row, "path")), name, row};
	qsort(item, count, sizeof(*item), compare_items);
	for (size_t i = 0; i < count; i++)
		json_array_append(list, item[i].row);
	free(item);
	return list;
}

/* Adds the earlier rows of files that this recording does not name. */
static int keep_earlier(const struct bundle_rows *rows, const char *member, json_t *object)
{
	json_t *row;
	size_t i;
	int status = 0;

	json_array_foreach(json_object_get(rows->earlier, member), i, row)
	{
		char *identity = identity_name(row), *name = name_of(row);

		if (!identity || !name)
			status = -1;
		else if (!json_object_get(rows->named, identity))
			status |= json_object_set(object, name, row);
		free(identity);
		free(name);
	}
	return status;
}

json_t *bundle_rows_manifest(const struct bundle_rows *rows)
{
	json_t *recordings = json_deep_copy(rows->recordings), *manifest = NULL;
	int status = recordings ? 0 : -1;

	if (json_is_object(json_object_get(rows->earlier, "recordings")))
		status |=
		        json_object_update_missing(recordings, json_object_get(rows->earlier, "recordings"));
	status |= keep_earlier(rows, "files", rows->files);
	status |= keep_earlier(rows, "missing", rows->missing);
	if (status == 0)
		manifest =
		        json_pack("{s:i,s:o,s:o,s:O}", "version", 1, "files", bundle_rows_sorted(rows->files),
		                  "missing", bundle_rows_sorted(rows->missing), "recordings", recordings);
	json_decref(recordings);
	return manifest;
}
