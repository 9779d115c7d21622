/* fuzz_job.c - job_read(): any bytes give a job, or an error with its place. A job that was read is shown,
 * read again, and then shows the same. */
#include <stdlib.h>
#include <string.h>

#include "job/job.h"
#include "job/job_show.h"
#include "support/check.h"
#include "support/memory_file.h"
#include "support/target.h"

/* To be freed. */
static char *show(const struct job *job, size_t *size)
{
	char *text = NULL;
	FILE *to = open_memstream(&text, size);

	FUZZ_CHECK(to, "no memory");
	FUZZ_CHECK(job_show(job, to) == 0, "cannot be shown");
	fclose(to);
	return text;
}

/* Most inputs have no variable v: to set it then is an error of its own. */
static int read_bytes(struct memory_file *file, const void *bytes, size_t size, int with_v, struct job *job,
                      struct sb_error *err)
{
	static char variable[] = "v", value[] = "value";
	static struct job_variable variables[] = {{variable, value}};
	const struct job_variables set = {variables, with_v ? 1 : 0};

	memory_file_set(file, bytes, size);
	return job_read(job, file->name, &set, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory_file file = {.fd = -1};
	struct sb_error err = {0};
	struct job job, again, empty = {0};
	char *first, *second;
	size_t first_size, second_size;

	if (file.fd < 0)
		memory_file_open(&file);
	if (read_bytes(&file, data, size, memmem(data, size, "${v}", 4) != NULL, &job, &err)) {
		FUZZ_CHECK(err.code && err.file[0] && err.text[0], "an error without a place");
		FUZZ_CHECK(!memcmp(&job, &empty, sizeof(job)), "something is left of a job that is none");
		return 0;
	}
	first = show(&job, &first_size);
	FUZZ_CHECK(!read_bytes(&file, first, first_size, 0, &again, &err), "cannot be read again: %s: %s\n%s",
	           err.file, err.text, first);
	second = show(&again, &second_size);
	FUZZ_CHECK(!strcmp(first, second), "shown:\n%sand then:\n%s", first, second);
	free(first);
	free(second);
	job_free(&job);
	job_free(&again);
	return 0;
}
