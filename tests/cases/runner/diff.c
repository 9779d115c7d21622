/* diff.c - see diff.h. Texts are short: a longest common subsequence by table. */
#include "diff.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct lines {
	const char **line; /* owned; into the text */
	size_t count;
};

static struct lines split(const char *text)
{
	struct lines lines = {0};
	size_t n = 1;

	for (const char *c = text; *c; ++c)
		n += *c == '\n';
	lines.line = calloc(n, sizeof(*lines.line));
	while (*text && lines.line) {
		lines.line[lines.count++] = text;
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return lines;
}

static int same(const char *a, const char *b)
{
	const size_t size = strcspn(a, "\n");

	return size == strcspn(b, "\n") && !memcmp(a, b, size);
}

static void print_line(FILE *out, const char *mark, const char *line)
{
	fprintf(out, "%s%.*s\n", mark, (int)strcspn(line, "\n"), line);
}

/* common[i][j]: the length of what a from i and b from j have in common. */
static uint32_t *common_table(const struct lines *a, const struct lines *b)
{
	const size_t width = b->count + 1;
	uint32_t *common = calloc((a->count + 1) * width, sizeof(*common));

	for (size_t i = a->count; common && i-- > 0;) {
		for (size_t j = b->count; j-- > 0;) {
			const uint32_t down = common[(i + 1) * width + j], right = common[i * width + j + 1];

			if (same(a->line[i], b->line[j]))
				common[i * width + j] = common[(i + 1) * width + j + 1] + 1;
			else
				common[i * width + j] = down > right ? down : right;
		}
	}
	return common;
}

void diff_print(FILE *out, const char *expected, const char *actual)
{
	struct lines a = split(expected), b = split(actual);
	const size_t width = b.count + 1;
	uint32_t *common = common_table(&a, &b);
	size_t i = 0, j = 0;

	while (common && (i < a.count || j < b.count)) {
		if (i < a.count && j < b.count && same(a.line[i], b.line[j])) {
			print_line(out, "  ", a.line[i]);
			i += 1;
			j += 1;
		} else if (j == b.count ||
		           (i < a.count && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
			print_line(out, "- ", a.line[i++]);
		} else {
			print_line(out, "+ ", b.line[j++]);
		}
	}
	free(common);
	free(a.line);
	free(b.line);
}
