/* tools/job/job_place.h - where in a job file a value stands, for complaints that come after reading. */
#ifndef TOOLS_JOB_PLACE_H
#define TOOLS_JOB_PLACE_H

#include <stddef.h>

#include <sb/error.h>

struct job_place {
	const char *file; /* NULL: it came from the command line */
	size_t line, column;
};

/* Places by the address of what stands there: a string that a job owns, an item of one of its lists. */
struct job_places {
	struct job_place_row {
		const void *value;
		struct job_place place;
	} * row;
	size_t count;
	char **file; /* that were read; owned */
	size_t nfiles;
};

void job_places_free(struct job_places *places);

/* A copy of @path that lasts as long as @places; NULL: out of memory. */
const char *job_places_file(struct job_places *places, const char *path);

/* Zero or -sbe_nomem. */
int job_places_add(struct job_places *places, const void *value, const struct job_place *place);
/* Those of @more come to @places; @more is empty afterwards. Zero or -sbe_nomem. */
int job_places_join(struct job_places *places, struct job_places *more);
struct job_place job_places_find(const struct job_places *places, const void *value);

/* Fills @err with "FILE:LINE:COLUMN: ..." and returns -sbe_format. */
int job_fail_at(struct sb_error *err, const struct job_place *place, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

#endif
