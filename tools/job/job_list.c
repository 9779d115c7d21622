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

int job_strings_add(char ***strings, size_t *count, size_t most, const char *path, struct option_error *error)
{
	char **bigger;

	if (!*path)
		return option_fail(error, "a directory's name is empty");
	bigger = job_grow(*strings, *count, most, sizeof(*bigger), error);
	if (!bigger)
		return -1;
	*strings = bigger;
	bigger[*count] = job_copy(path, error);
	if (!bigger[*count])
		return -1;
	*count += 1;
	return 0;
}

void job_strings_free(char **strings, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(strings[i]);
	free(strings);
}
