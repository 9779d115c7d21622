/* tools/job/job_list.h - growing arrays of a job, with the reason in words when they do not grow. */
#ifndef TOOLS_JOB_LIST_H
#define TOOLS_JOB_LIST_H

#include <stddef.h>

#include "options.h"

/* Patterns, names or paths. */
struct job_texts {
	char **value;
	size_t count;
};

/* Room for one more item: @count of @most are used in @array. NULL: the reason is in @error. */
void *job_grow(void *array, size_t count, size_t most, size_t item_size, struct option_error *error);

char *job_copy(const char *text, struct option_error *error);

/* A copy of @text, which may not be empty, at the end; @what is for the complaint: "the file's name". */
int job_texts_add(struct job_texts *texts, size_t most, const char *what, const char *text,
                  struct option_error *error);
void job_texts_free(struct job_texts *texts);

#endif
