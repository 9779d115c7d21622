/* perf_tool.c - see perf_tool.h. */
#include "support/perf_tool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

int perf_is_installed(void)
{
	return system("perf --version >/dev/null 2>&1") == 0;
}

static unsigned int *count_of(struct perf_count *counts, size_t *used, size_t max, const char *name)
{
	for (size_t i = 0; i < *used; i++) {
		if (!strcmp(counts[i].name, name))
			return &counts[i].count;
	}
	assert_true(*used < max);
	snprintf(counts[*used].name, sizeof(counts[*used].name), "%s", name);
	counts[*used].count = 0;
	return &counts[(*used)++].count;
}

size_t perf_count_records(const char *path, struct perf_count *counts, size_t max)
{
	char *output = perf_run("script -D --no-itrace", path, NULL, NULL);
	const char *mark = "]: PERF_RECORD_";
	char *rest = output, *line;
	size_t used = 0;

	/* Line by line: sanitizers look at all that is left whenever something is searched in it. */
	while ((line = strsep(&rest, "\n"))) {
		const char *at = strstr(line, mark);
		char name[32];

		if (!at)
			continue;
		at += strlen(mark);
		snprintf(name, sizeof(name), "%.*s", (int)strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"),
		         at);
		(*count_of(counts, &used, max, name))++;
	}
	free(output);
	return used;
}

static char *read_all(FILE *in)
{
	size_t size = 0, room = 1 << 16;
	char *text = malloc(room);

	assert_non_null(text);
	for (;;) {
		size_t got = fread(text + size, 1, room - 1 - size, in);

		size += got;
		if (!got)
			break;
		if (size == room - 1)
			text = realloc(text, room *= 2);
		assert_non_null(text);
	}
	text[size] = '\0';
	return text;
}

char *perf_run(const char *command, const char *path, char **complaints, int *status)
{
	char errors[] = "/tmp/sbtrace-perf-XXXXXX", *line, *output;
	int fd = mkstemp(errors), exit_status;
	FILE *pipe, *from;

	assert_true(fd >= 0);
	assert_true(asprintf(&line, "perf %s -i '%s' 2>%s", command, path, errors) > 0);
	pipe = popen(line, "r");
	assert_non_null(pipe);
	output = read_all(pipe);
	exit_status = pclose(pipe);
	if (status)
		*status = exit_status;
	from = fdopen(fd, "r");
	assert_non_null(from);
	if (complaints)
		*complaints = read_all(from);
	fclose(from);
	unlink(errors);
	free(line);
	return output;
}
