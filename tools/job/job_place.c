/* job_place.c - see job_place.h. Jobs are short: a list that is walked is enough. */
#include "job/job_place.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void job_places_free(struct job_places *places)
{
	for (size_t i = 0; i < places->nfiles; i++)
		free(places->file[i]);
	free(places->file);
	free(places->row);
	*places = (struct job_places){0};
}

const char *job_places_file(struct job_places *places, const char *path)
{
	char **file = reallocarray(places->file, places->nfiles + 1, sizeof(*file));

	if (!file)
		return NULL;
	places->file = file;
	file[places->nfiles] = strdup(path);
	return file[places->nfiles] ? file[places->nfiles++] : NULL;
}

static int reserve(struct job_places *places, size_t more)
{
	struct job_place_row *row = reallocarray(places->row, places->count + more, sizeof(*row));

	if (!row)
		return -sbe_nomem;
	places->row = row;
	return 0;
}

int job_places_add(struct job_places *places, const void *value, const struct job_place *place)
{
	/* At powers of two; between them there is room. */
	if (!(places->count & (places->count - 1)) && reserve(places, places->count ? places->count : 1))
		return -sbe_nomem;
	places->row[places->count++] = (struct job_place_row){value, *place};
	return 0;
}

int job_places_join(struct job_places *places, struct job_places *more)
{
	char **file = reallocarray(places->file, places->nfiles + more->nfiles + 1, sizeof(*file));

	if (!file)
		return -sbe_nomem;
	places->file = file;
	for (size_t i = 0; i < more->count; i++)
		if (job_places_add(places, more->row[i].value, &more->row[i].place))
			return -sbe_nomem;
	for (size_t i = 0; i < more->nfiles; i++)
		file[places->nfiles++] = more->file[i];
	more->nfiles = 0;
	job_places_free(more);
	return 0;
}

struct job_place job_places_find(const struct job_places *places, const void *value)
{
	for (size_t i = places->count; i-- > 0;)
		if (places->row[i].value == value)
			return places->row[i].place;
	return (struct job_place){0};
}

int job_fail_at(struct sb_error *err, const struct job_place *place, const char *format, ...)
{
	char text[sizeof(err->text)], where[sizeof(err->file)];
	va_list args;
	size_t length;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!place->file)
		return sb_error_set(err, -sbe_format, NULL, UINT64_MAX, "%s", text);
	/* The end of a long path, so that line and column are never cut off. */
	length = strlen(place->file);
	snprintf(where, sizeof(where), "%s:%zu:%zu", place->file + (length > 200 ? length - 200 : 0),
	         place->line, place->column);
	return sb_error_set(err, -sbe_format, where, UINT64_MAX, "%s", text);
}
