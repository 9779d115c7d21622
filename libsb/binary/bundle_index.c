/* bundle_index.c - see bundle_index.h. A manifest may come from anywhere: every member is looked at before it
 * is used, and files are opened below the bundle's directory only. */
#include "binary/bundle_index.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bisect.h"
#include "binary/file_fit.h"
#include "binary/sha256.h"

enum { MANIFEST_MAX = 256 << 20, ROWS_MAX = 1 << 20 };

struct bundle_row {
	const char *path;
	json_t *json; /* the manifest's */
};

struct row_list {
	struct bundle_row *row; /* sorted by path, then as in the manifest */
	size_t count;
};

struct bundle_index {
	char *directory; /* owned */
	json_t *manifest;
	struct row_list files, missing;
	const char **container;
	size_t ncontainers;
};

/* ---- Rows -------------------------------------------------------------------------------------- */

static const char *text_of(const json_t *row, const char *name)
{
	return json_string_value(json_object_get(row, name));
}

static uint64_t number_of(const json_t *row, const char *name)
{
	const char *text = text_of(row, name);

	/* All of 64 bits do not fit into what JSON readers make of numbers. */
	if (text)
		return strtoull(text, NULL, 0);
	return (uint64_t)json_integer_value(json_object_get(row, name));
}

static json_t *number(uint64_t value)
{
	char text[24];

	if (value <= 1ull << 53)
		return json_integer((json_int_t)value);
	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_string(text);
}

static uint64_t get_maj(const struct sb_map *map)
{
	return map->maj;
}

static uint64_t get_min(const struct sb_map *map)
{
	return map->min;
}

static uint64_t get_ino(const struct sb_map *map)
{
	return map->ino;
}

static uint64_t get_pgoff(const struct sb_map *map)
{
	return map->pgoff;
}

static uint64_t get_size(const struct sb_map *map)
{
	return map->end - map->begin;
}

static uint64_t get_recorded_pgoff(const struct sb_map *map)
{
	return map->recorded_pgoff;
}

static uint64_t get_recorded_size(const struct sb_map *map)
{
	return map->recorded_size;
}

enum { FILE_NUMBERS = 3, ROW_NUMBERS = 7 };

/* The members that are numbers: those of the file, then those of the range. */
static const struct row_number {
	const char *name;
	uint64_t (*get)(const struct sb_map *map);
} row_numbers[ROW_NUMBERS] = {
        {"maj", get_maj},
        {"min", get_min},
        {"ino", get_ino},
        {"pgoff", get_pgoff},
        {"mapped_size", get_size},
        {"recorded_pgoff", get_recorded_pgoff},
        {"recorded_size", get_recorded_size},
};

/* Bytes that are no UTF-8 are no JSON text either: "\xNN", and "\\" for a backslash. */
static char *escaped(const char *path)
{
	char *text = malloc(4 * strlen(path) + 1), *at = text;

	for (; text && *path; path++) {
		const unsigned char c = (unsigned char)*path;

		if (c < 0x20 || c >= 0x7f)
			at += sprintf(at, "\\x%02x", c);
		else if (c == '\\')
			at += sprintf(at, "\\\\");
		else
			*at++ = *path;
	}
	if (text)
		*at = '\0';
	return text;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What escaped() made it from, as far as there is room. */
static void unescape(const char *text, char *to, size_t size)
{
	char *const end = to + size - 1;

	for (; *text && to < end; text++) {
		if (text[0] != '\\') {
			*to++ = *text;
		} else if (text[1] == 'x' && hex_digit(text[2]) >= 0 && hex_digit(text[3]) >= 0) {
			*to++ = (char)(hex_digit(text[2]) << 4 | hex_digit(text[3]));
			text += 3;
		} else if (text[1]) {
			*to++ = *++text;
		}
	}
	*to = '\0';
}

static json_t *escaped_string(const char *path)
{
	char *text = escaped(path);
	json_t *string = text ? json_string(text) : NULL;

	free(text);
	return string;
}

int bundle_set_escaped(json_t *row, const char *member, const char *text)
{
	return text[0] ? json_object_set_new(row, member, escaped_string(text)) : 0;
}

json_t *bundle_row(const char *container, const struct sb_map *map, int with_range)
{
	json_t *row = json_object();
	char id[41];
	int status = row ? 0 : -1;

	status |= json_object_set_new(row, "path", escaped_string(map->filename));
	if (container)
		status |= json_object_set_new(row, "container", escaped_string(container));
	if (map->build_id_size)
		status |= json_object_set_new(
		        row, "recorded_build_id",
		        json_string(build_id_text(map->build_id, map->build_id_size, id)));
	for (int i = 0; i < (with_range ? ROW_NUMBERS : FILE_NUMBERS); i++) {
		const uint64_t value = row_numbers[i].get(map);

		if (value)
			status |= json_object_set_new(row, row_numbers[i].name, number(value));
	}
	if (status == 0)
		return row;
	json_decref(row);
	return NULL;
}

static int text_is(const json_t *row, const char *name, const char *expected)
{
	const char *text = text_of(row, name);

	return text && expected ? strcmp(text, expected) == 0 : !text && !expected;
}

int bundle_row_is_of(const json_t *row, const char *container, const struct sb_map *map)
{
	const int with_range = text_of(row, "reason") != NULL;
	char *path = escaped(map->filename), *scope = container ? escaped(container) : NULL;
	char id[41];
	int same = path && (scope || !container) && text_is(row, "path", path) &&
	           text_is(row, "container", scope);

	build_id_text(map->build_id, map->build_id_size, id);
	same = same && text_is(row, "recorded_build_id", map->build_id_size ? id : NULL);
	for (int i = 0; i < (with_range ? ROW_NUMBERS : FILE_NUMBERS) && same; i++)
		same = number_of(row, row_numbers[i].name) == row_numbers[i].get(map);
	free(path);
	free(scope);
	return same;
}

/* ---- The manifest ------------------------------------------------------------------------------ */

static int wrong(const char *path, struct sb_error *err, const char *what)
{
	return sb_error_set(err, -sbe_format, path, UINT64_MAX, "not the manifest of a bundle: %s", what);
}

static int check_rows(const json_t *manifest, const char *name, const char *const *members, const char *path,
                      struct sb_error *err)
{
	const json_t *rows = json_object_get(manifest, name);
	size_t i;
	json_t *row;

	if (!json_is_array(rows))
		return sb_error_set(err, -sbe_format, path, UINT64_MAX,
		                    "not the manifest of a bundle: expected a list \"%s\"", name);
	if (json_array_size(rows) > ROWS_MAX)
		return wrong(path, err, "more files than can be");
	json_array_foreach(rows, i, row)
	{
		for (const char *const *member = members; *member; member++)
			if (!text_of(row, *member))
				return sb_error_set(err, -sbe_format, path, UINT64_MAX,
				                    "row %zu of \"%s\": expected text for \"%s\"", i, name,
				                    *member);
	}
	return 0;
}

static int check_manifest(const json_t *manifest, const char *path, struct sb_error *err)
{
	static const char *const file_members[] = {"path", "file", "sha256", NULL};
	static const char *const missing_members[] = {"path", "reason", "detail", NULL};
	const json_t *version = json_object_get(manifest, "version");
	int status;

	if (!json_is_integer(version))
		return wrong(path, err, "it has no version");
	if (json_integer_value(version) != 1)
		return sb_error_set(err, -sbe_unsupported, path, UINT64_MAX,
		                    "expected version 1, found %" JSON_INTEGER_FORMAT,
		                    json_integer_value(version));
	status = check_rows(manifest, "files", file_members, path, err);
	return status ? status : check_rows(manifest, "missing", missing_members, path, err);
}

static int load(json_t **manifest, const char *path, struct sb_error *err)
{
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	json_error_t reason;
	struct stat status;
	int code = 0;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return sb_error_set(err, -sbe_io, path, UINT64_MAX, "cannot be opened: %m");
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size > MANIFEST_MAX)
		code = wrong(path, err, "no regular file, or too large");
	else if (!(*manifest = json_loadfd(fd, JSON_REJECT_DUPLICATES, &reason)))
		code = sb_error_set(err, -sbe_format, path, (uint64_t)reason.position, "not JSON: %s",
		                    reason.text);
	close(fd);
	return code;
}

int bundle_manifest_read(json_t **manifest, const char *directory, struct sb_error *err)
{
	char *path;
	int status;

	*manifest = NULL;
	if (asprintf(&path, "%s/" BUNDLE_MANIFEST, directory) < 0)
		return sb_error_set(err, -sbe_nomem, directory, UINT64_MAX, "out of memory");
	status = load(manifest, path, err);
	if (status == 0 && *manifest)
		status = check_manifest(*manifest, path, err);
	if (status < 0) {
		json_decref(*manifest);
		*manifest = NULL;
	}
	free(path);
	return status;
}

/* ---- The index --------------------------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
	const struct bundle_row *one = a, *other = b;
	const int order = strcmp(one->path, other->path);

	return order ? order : (one->json > other->json) - (one->json < other->json);
}

static int list_rows(struct row_list *list, const json_t *rows)
{
	size_t i;
	json_t *row;

	list->row = calloc(json_array_size(rows) + 1, sizeof(*list->row));
	if (!list->row)
		return -sbe_nomem;
	json_array_foreach(rows, i, row) list->row[list->count++] =
	        (struct bundle_row){text_of(row, "path"), row};
	qsort(list->row, list->count, sizeof(*list->row), compare_rows);
	return 0;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Each container once. */
static int list_containers(struct bundle_index *index)
{
	const struct row_list *lists[] = {&index->files, &index->missing};
	size_t count = 0;

	index->container = calloc(index->files.count + index->missing.count + 1, sizeof(*index->container));
	if (!index->container)
		return -sbe_nomem;
	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < lists[k]->count; i++)
			if (text_of(lists[k]->row[i].json, "container"))
				index->container[count++] = text_of(lists[k]->row[i].json, "container");
	qsort(index->container, count, sizeof(*index->container), compare_texts);
	for (size_t i = 0; i < count; i++)
		if (!i || strcmp(index->container[i], index->container[i - 1]) != 0)
			index->container[index->ncontainers++] = index->container[i];
	index->container[index->ncontainers] = NULL;
	return 0;
}

static int fill_index(struct bundle_index *index, const char *directory, struct sb_error *err)
{
	int status = bundle_manifest_read(&index->manifest, directory, err);

	if (status < 0)
		return status;
	if (!index->manifest)
		return sb_error_set(err, -sbe_not_found, directory, UINT64_MAX,
		                    "expected a bundle, found no " BUNDLE_MANIFEST " in it");
	index->directory = realpath(directory, NULL);
	status = list_rows(&index->files, json_object_get(index->manifest, "files"));
	if (status == 0)
		status = list_rows(&index->missing, json_object_get(index->manifest, "missing"));
	if (status == 0)
		status = list_containers(index);
	if (status < 0 || !index->directory)
		return sb_error_set(err, -sbe_nomem, directory, UINT64_MAX, "out of memory");
	return 0;
}

int bundle_index_open(struct bundle_index **result, const char *directory, struct sb_error *err)
{
	struct bundle_index *index = calloc(1, sizeof(*index));
	int status;

	if (!index)
		return sb_error_set(err, -sbe_nomem, directory, UINT64_MAX, "out of memory");
	status = fill_index(index, directory, err);
	if (status < 0) {
		bundle_index_close(index);
		return status;
	}
	*result = index;
	return 0;
}

void bundle_index_close(struct bundle_index *index)
{
	if (!index)
		return;
	free(index->container);
	free(index->files.row);
	free(index->missing.row);
	json_decref(index->manifest);
	free(index->directory);
	free(index);
}

const char *bundle_container(const struct bundle_index *index, size_t number)
{
	return index && number < index->ncontainers ? index->container[number] : NULL;
}

size_t bundle_ncontainers(const struct bundle_index *index)
{
	return index ? index->ncontainers : 0;
}

const char *bundle_directory(const struct bundle_index *index)
{
	return index ? index->directory : NULL;
}

/* ---- Finding ----------------------------------------------------------------------------------- */

/* The first row of that path; NULL: none. */
static const struct bundle_row *first_row(const struct row_list *list, const char *filename)
{
	char *path = escaped(filename);
	struct bisect at = {.high = list->count};
	const struct bundle_row *first;

	if (!path)
		return NULL;
	while (bisect_more(&at))
		bisect_go(&at, strcmp(list->row[at.middle].path, path) < 0);
	first = at.low < list->count && strcmp(list->row[at.low].path, path) == 0 ? &list->row[at.low] : NULL;
	free(path);
	return first;
}

/* The next row from @row on that is about what was asked for; NULL: none. */
static const struct bundle_row *row_of(const struct row_list *list, const struct bundle_row *row,
                                       const char *container, const struct sb_map *map)
{
	const char *path = row ? row->path : NULL;

	for (; row && row < list->row + list->count && strcmp(row->path, path) == 0; row++)
		if (bundle_row_is_of(row->json, container, map))
			return row;
	return NULL;
}

/* A file without a build-id has nothing else that says that it is whole. */
static int is_intact(const struct rooted_file *file, const json_t *row)
{
	char sha256[65];

	if (file->size != number_of(row, "size"))
		return 0;
	if (text_of(row, "build_id"))
		return 1;
	return sha256_of_file(file->fd, sha256) == 0 && text_is(row, "sha256", sha256);
}

/* How the file was found where the bundle was made, and what was doubtful about it. */
static void take_story(struct answer *answer, const json_t *row)
{
	const char *doubt = text_of(row, "doubt");

	answer->binary.how = sb_how_bundle;
	if (doubt)
		unescape(doubt, answer->binary.detail, sizeof(answer->binary.detail));
}

static int take_row(const struct bundle_index *index, const json_t *row, struct answer *answer)
{
	const struct sb_binary before = answer->binary;
	struct rooted_file file;
	char *name;
	int taken = 0;

	if (asprintf(&name, "/%s", text_of(row, "file")) < 0)
		return 0;
	if (rooted_open(&file, index->directory, name) == rooted_found) {
		if (is_intact(&file, row))
			taken = file_take(answer, &file,
			                  answer->map.filename[0] == '[' ? fit_vdso : fit_mapping);
		rooted_close(&file);
	}
	free(name);
	if (taken)
		take_story(answer, row);
	else
		answer->binary = before;
	return taken;
}

int bundle_take(const struct bundle_index *index, const char *container, struct answer *answer)
{
	const struct row_list *list = &index->files;
	const struct bundle_row *row = first_row(list, answer->map.filename);

	for (row = row_of(list, row, container, &answer->map); row;
	     row = row_of(list, row + 1, container, &answer->map)) {
		if (take_row(index, row->json, answer))
			return 1;
	}
	return 0;
}

void bundle_explain(const struct bundle_index *index, const char *container, struct answer *answer)
{
	const struct row_list *list = &index->missing;
	const struct bundle_row *row =
	        row_of(list, first_row(list, answer->map.filename), container, &answer->map);
	const char *reason = row ? text_of(row->json, "reason") : NULL;
	char detail[sizeof(answer->binary.detail)];

	if (!reason)
		return;
	unescape(text_of(row->json, "detail"), detail, sizeof(detail));
	for (enum sb_gap_reason i = sb_gap_no_binary; i <= sb_gap_binary_mismatch; i++)
		if (strcmp(reason, sb_gap_reason_name(i)) == 0)
			answer_say(answer, i, "%s", detail);
}
