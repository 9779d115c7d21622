/* yaml_hint.c - see yaml_hint.h. libyaml says at which rule of its grammar it stopped; what stands there
 * tells which of the usual mistakes it was. */
#include "job/yaml_hint.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Parts of what libyaml says, and what it mostly means; the first row that fits counts. */
static const struct row {
	const char *context, *problem; /* NULL: any */
	const char *hint;
} rows[] = {
        {"an alias", NULL, "a value that begins with * needs quotes"},
        {"an anchor", NULL, "a value that begins with & needs quotes"},
        {NULL, "undefined alias", "a value that begins with * needs quotes"},
        {NULL, "mapping values are not allowed",
         "a value with ': ' in it needs quotes, a key needs ': ' behind it, and keys of one level begin in the "
         "same column; look at the line above as well"},
        {NULL, "could not find expected ':'", "a key needs ': ' behind it"},
        {"a flow mapping", NULL, "each { needs its }, and a value that begins with { needs quotes"},
        {"a flow sequence", NULL, "each [ needs its ], and a value that begins with [ needs quotes"},
        {"a quoted scalar", "unexpected end", "the quotes are not closed"},
        {"a block mapping", "expected key",
         "keys of one level begin in the same column, and each ] and } needs its [ and {"},
        {"a block collection", "expected '-'",
         "entries of one list begin in the same column, and their keys do"},
};

/* The byte at @mark, whose column counts characters; 0: none. */
static unsigned char byte_at(const unsigned char *text, size_t size, const yaml_mark_t *mark)
{
	size_t at = 0;

	for (size_t line = 0; line < mark->line; line++) {
		const unsigned char *end = memchr(text + at, '\n', size - at);

		if (!end)
			return 0;
		at = (size_t)(end - text) + 1;
	}
	for (size_t column = 0; at < size && column < mark->column; column++)
		do
			at++;
		while (at < size && (text[at] & 0xc0) == 0x80);
	return at < size ? text[at] : 0;
}

static bool has(const char *text, const char *part)
{
	return !part || (text && strstr(text, part));
}

static const char *find_row(const yaml_parser_t *parser)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (has(parser->context, rows[i].context) && has(parser->problem, rows[i].problem))
			return rows[i].hint;
	return NULL;
}

void yaml_hint(char *hint, size_t hint_size, const yaml_parser_t *parser, const unsigned char *text,
               size_t size)
{
	const unsigned char byte = byte_at(text, size, &parser->problem_mark);
	const bool elsewhere = parser->context && parser->context_mark.line != parser->problem_mark.line;
	const char *row = find_row(parser);
	char since[48] = "";

	if (elsewhere && parser->context_mark.line)
		snprintf(since, sizeof(since), " (since line %zu)", parser->context_mark.line + 1);
	*hint = '\0';
	if (byte == '\t' || has(parser->problem, "a tab character"))
		snprintf(hint, hint_size, ": tabs do not indent in YAML: write blanks");
	else if (has(parser->problem, "cannot start any token") && byte > ' ' && byte < 0x7f)
		snprintf(hint, hint_size, ": a value that begins with %c needs quotes", byte);
	else if (row)
		snprintf(hint, hint_size, "%s: %s", since, row);
}
