/* tools/job/recording_files.h - whether a recording is still what it was, found out without reading all of
 * it. */
#ifndef TOOLS_JOB_RECORDING_FILES_H
#define TOOLS_JOB_RECORDING_FILES_H

#include <jansson.h>

#include <sb/error.h>

/* For each of its files, by name: its size, and the SHA-256 of samples all over it. NULL: *err has the
 * reason. */
json_t *recording_files(const char *path, struct sb_error *err);

/* Zero; or -sbe_mismatch, and *err says which file is not the same. */
int recording_files_check(const char *path, const json_t *files, struct sb_error *err);

#endif
