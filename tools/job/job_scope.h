/* tools/job/job_scope.h - what ${name} stands for in a job: the command line's --set, then the file's own
 * `variables`, then those variables of the environment that the file allows. */
#ifndef TOOLS_JOB_SCOPE_H
#define TOOLS_JOB_SCOPE_H

#include <stdbool.h>

#include "job/job.h"

enum { job_text_most = 64 * 1024 }; /* bytes of a text with its variables filled in */

struct job_scope {
	const struct job_variables *set; /* borrowed; NULL: none */
	bool *used;                      /* owned: which of them */
	struct job_variables declared;   /* value NULL: has none of its own */
	struct job_texts environment;    /* names */
};

/* Zero or -1: out of memory. */
int job_scope_init(struct job_scope *scope, const struct job_variables *set);
void job_scope_free(struct job_scope *scope);

/* A variable that is there already keeps its value: who includes a file knows better. @value may be NULL. */
int job_scope_declare(struct job_scope *scope, const char *name, const char *value,
                      struct option_error *error);
int job_scope_allow(struct job_scope *scope, const char *name, struct option_error *error);

/* @text with its variables filled in, to be freed; NULL: the reason is in @error. "$${" is "${". */
char *job_scope_fill(struct job_scope *scope, const char *text, struct option_error *error);

/* Whether all of --set was of use: zero, or -1 with the reason. */
int job_scope_check(const struct job_scope *scope, struct option_error *error);

#endif
