/* tools/job/job_list.h - growing arrays of a job, with the reason in words when they do not grow. */
#ifndef TOOLS_JOB_LIST_H
#define TOOLS_JOB_LIST_H

#include <stddef.h>

#include "options.h"

/* Room for one more item: @count of @most are used in @array. NULL: the reason is in @error. */
void *job_grow(void *array, size_t count, size_t most, size_t item_size, struct option_error *error);

char *job_copy(const char *text, struct option_error *error);

/* A copy of @path, which may not be empty, at the end. */
int job_strings_add(char ***strings, size_t *count, size_t most, const char *path,
                    struct option_error *error);
void job_strings_free(char **strings, size_t count);

#endif
