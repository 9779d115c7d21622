/* job_list.c - see job_list.h. */
#include "job/job_list.h"

#include <stdlib.h>
#include <string.h>

void *job_grow(void *array, size_t count, size_t most, size_t item_size, struct option_error *error)
{
	void *bigger;

	if (count >= most) {
		option_fail(error, "more than %zu are too many", most);
		return NULL;
	}
	/* At powers of two; between them there is room. */
	if (count & (count - 1))
		return array;
	bigger = realloc(array, (count ? 2 * count : 1) * item_size);
	if (!bigger)
		option_fail(error, "out of memory");
	return bigger;
}

char *job_copy(const char *text, struct option_error *error)
{
	char *result = strdup(text);

	if (!result)
		option_fail(error, "out of memory");
	return result;
}

int job_texts_add(struct job_texts *texts, size_t most, const char *what, const char *text,
                  struct option_error *error)
{
	char **bigger;

	if (!*text)
		return option_fail(error, "%s is empty", what);
	bigger = job_grow(texts->value, texts->count, most, sizeof(*bigger), error);
	if (!bigger)
		return -1;
	texts->value = bigger;
	bigger[texts->count] = job_copy(text, error);
	if (!bigger[texts->count])
		return -1;
	texts->count++;
	return 0;
}

void job_texts_free(struct job_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->value[i]);
	free(texts->value);
	*texts = (struct job_texts){0};
}
