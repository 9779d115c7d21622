/* tools/job/job_fetch.h - recordings that are named by URLs: what a job says of the commands that fetch them.
 *
 * A command is a list of words, of which the first is the program. No shell sees them: what stands in braces
 * is filled in, and each word becomes one argument, whatever characters are in it.
 */
#ifndef TOOLS_JOB_JOB_FETCH_H
#define TOOLS_JOB_JOB_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "job/job_list.h"

/* Zero and empty: nothing was said. */
struct job_fetch {
	struct job_texts size;  /* prints the size, and perhaps the version */
	struct job_texts range; /* prints so many bytes from there on */
	uint64_t timeout;       /* seconds that a command may take */
	uint64_t piece;         /* the most trace that is fetched at once */
};

enum {
	job_fetch_timeout_default = 10 * 60,
	job_fetch_piece_least = 4 << 10,
	job_fetch_piece_most = 1 << 30,
};

/* What words in braces stand for. */
struct job_fetch_words {
	const char *url, *version; /* "" when there is no version */
	uint64_t offset, length;
};

extern const struct job_table job_fetch_table;
extern const struct job_kind job_kind_command;

struct job;
struct sb_error;

void job_fetch_free(struct job_fetch *fetch);

/* SCHEME://SOMETHING: not the name of a file. */
bool job_is_url(const char *recording);

/* The arguments of a command, NULL behind the last; NULL: no memory. */
char **job_fetch_argv(const struct job_texts *command, const struct job_fetch_words *words);
void job_fetch_argv_free(char **argv);

/* Whether URLs among the recordings can be fetched. */
int job_fetch_check(const struct job *job, struct sb_error *err);

#endif
