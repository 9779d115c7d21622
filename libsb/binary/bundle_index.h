/* bundle_index.h - what a bundle says about the files of its recordings.
 *
 * A bundle is a directory: manifest.json, which this reads; files with a build-id as .build-id/xx/yyyy/elf,
 * so that other tools find them, too; and other files by their SHA-256, as sha256/xx/yyyy. The manifest:
 *
 *   {"version": 1,
 *    "files": [{"path": "/usr/bin/ls", "file": ".build-id/xx/yyyy/elf", "size": 151344, "sha256": "...",
 *               "build_id": "...", ...}, ...],
 *    "missing": [{"path": "/usr/bin/old", "reason": "no-binary", "detail": "...", "pgoff": 4096, ...}, ...],
 *    "recordings": {"perf.data": {}}}
 *
 * Both kinds of rows name what was recorded: path, and where there are such, container, recorded_build_id,
 * maj, min and ino. Rows of missing files name the range that was asked for, as what is wrong can depend on
 * it.
 */
#ifndef SB_BUNDLE_INDEX_H
#define SB_BUNDLE_INDEX_H

#include <jansson.h>
#include <stddef.h>

#include "binary/answer.h"

#define BUNDLE_MANIFEST "manifest.json"

struct bundle_index;

int bundle_index_open(struct bundle_index **index, const char *directory, struct sb_error *err);
void bundle_index_close(struct bundle_index *index);

/* Containers that have rows of their own; NULL behind the last. */
const char *bundle_container(const struct bundle_index *index, size_t number);
size_t bundle_ncontainers(const struct bundle_index *index);

/* Where it is; NULL for NULL. */
const char *bundle_directory(const struct bundle_index *index);

/* The name by which a bundle knows a recording: the last part of its real path; to be freed, NULL: no memory,
 * or no such path. */
char *bundle_base_name(const char *path);

/* Takes the file that a row names for what was asked. Returns whether there is one, and it fits. */
int bundle_take(const struct bundle_index *index, const char *container, struct answer *answer);

/* Nothing was found: says why, in the words that were used where the bundle was made. */
void bundle_explain(const struct bundle_index *index, const char *container, struct answer *answer);

/* ---- The manifest itself, which bundle_write.c makes --------------------------------------------- */

/* The manifest of a directory, checked; *manifest is NULL when there is none. */
int bundle_manifest_read(json_t **manifest, const char *directory, struct sb_error *err);

/* What was recorded, as members of a row; NULL: out of memory. With the range for a missing file. */
json_t *bundle_row(const char *container, const struct sb_map *map, int with_range);

/* Text that may be any bytes, as a member; nothing for "". Zero or -1. */
int bundle_set_escaped(json_t *row, const char *member, const char *text);

/* Whether @row is about the same file, and the same range if it has one. */
int bundle_row_is_of(const json_t *row, const char *container, const struct sb_map *map);

#endif
