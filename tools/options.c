/* options.c - see options.h. A word of the command line is looked up in the table and its row's
 * function does the rest. getopt_long(3) is not used: it keeps its state in globals, and knows
 * nothing of near misses. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"

struct parser {
	const struct option_table *table;
	int argc;
	char **argv;
	int next; /* the word to be looked at */
	void *target;
};

int option_fail(struct option_error *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->why, sizeof(error->why), format, args);
	va_end(args);
	return -1;
}

int option_choose(const char *const *word, int count, const char *text, struct option_error *error)
{
	char all[128] = "";

	for (int i = 0; i < count; i++) {
		if (!strcmp(word[i], text))
			return i;
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "", word[i]);
	}
	return option_fail(error, "expected one of %s, found '%s'", all, text);
}

int option_pattern(const char **pattern, const char *text, struct option_error *error)
{
	if (!*text)
		return option_fail(error, "the pattern is empty");
	*pattern = text;
	return 0;
}

int option_number(const char *text, uint64_t least, uint64_t most, uint64_t *value,
                  struct option_error *error)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;

	/* strtoull would take a sign and leading blanks, and "0x" as 0 and rest. */
	if (!isdigit((unsigned char)text[0]) || (hex && !isxdigit((unsigned char)text[2])))
		return option_fail(error, "expected a number, found '%s'", text);
	errno = 0;
	*value = strtoull(text, &end, hex ? 16 : 10);
	if (*end)
		return option_fail(error, "expected a number, found '%s'", text);
	if (errno || *value < least || *value > most)
		return option_fail(error, "expected a number from %" PRIu64 " to %" PRIu64 ", found '%s'",
		                   least, most, text);
	return 0;
}

static enum options_result complain(const struct parser *parser, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
static enum options_result complain(const struct parser *parser, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", parser->table->command);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\nTry '%s --help'.\n", parser->table->command);
	return options_wrong;
}

/* Whether a value, if there is one, comes in the same word. */
static bool is_optional(const struct option_row *row)
{
	return row->argument && row->argument[0] == '[';
}

static void help_row(const struct option_row *row)
{
	char left[64];
	int used;

	if (row->letter)
		used = snprintf(left, sizeof(left), "-%c, --%s", row->letter, row->name);
	else
		used = snprintf(left, sizeof(left), "    --%s", row->name);
	if (row->argument && used > 0 && (size_t)used < sizeof(left))
		snprintf(left + used, sizeof(left) - (size_t)used, "%s%s", is_optional(row) ? "" : " ",
		         row->argument);
	printf("  %-26s %s\n", left, row->help);
}

static enum options_result help(const struct option_table *table)
{
	static const struct option_row self = {"help", 'h', NULL, "print this and exit", NULL};

	printf("usage: %s %s\n\n%s\noptions:\n", table->command, table->usage, table->about);
	for (size_t i = 0; i < table->nrows; i++)
		help_row(&table->row[i]);
	help_row(&self);
	if (table->help_more)
		table->help_more();
	return options_help;
}

static const struct option_row *find_name(const struct option_table *table, const char *name, size_t length)
{
	for (size_t i = 0; i < table->nrows; i++)
		if (strlen(table->row[i].name) == length && !memcmp(table->row[i].name, name, length))
			return &table->row[i];
	return NULL;
}

static const struct option_row *find_letter(const struct option_table *table, char letter)
{
	for (size_t i = 0; i < table->nrows; i++)
		if (table->row[i].letter == letter)
			return &table->row[i];
	return NULL;
}

static enum options_result unknown(const struct parser *parser, const char *name, size_t length)
{
	struct nearest nearest;
	char typed[64];

	snprintf(typed, sizeof(typed), "%.*s", (int)(length < sizeof(typed) ? length : sizeof(typed)), name);
	nearest_begin(&nearest, typed);
	for (size_t i = 0; i < parser->table->nrows; i++)
		nearest_offer(&nearest, parser->table->row[i].name);
	if (nearest.best)
		return complain(parser, "unknown option '--%s'; did you mean '--%s'?", typed, nearest.best);
	return complain(parser, "unknown option '--%s'", typed);
}

/* @value: what came in the same word, or NULL. */
static enum options_result apply(struct parser *parser, const struct option_row *row, const char *value)
{
	struct option_error error = {""};

	if (row->argument && !value && !is_optional(row)) {
		if (parser->next == parser->argc)
			return complain(parser, "--%s needs a value: %s", row->name, row->argument);
		value = parser->argv[parser->next++];
	}
	if (row->set(parser->target, row->argument ? value : NULL, &error))
		return complain(parser, "--%s: %s", row->name, error.why);
	return options_done;
}

static enum options_result long_option(struct parser *parser, const char *word)
{
	size_t length = strcspn(word, "=");
	const struct option_row *row = find_name(parser->table, word, length);

	if (!row)
		return !strcmp(word, "help") ? help(parser->table) : unknown(parser, word, length);
	if (word[length] && !row->argument)
		return complain(parser, "--%s takes no value", row->name);
	return apply(parser, row, word[length] ? word + length + 1 : NULL);
}

static enum options_result letters(struct parser *parser, const char *word)
{
	for (; *word; word++) {
		const struct option_row *row = find_letter(parser->table, *word);
		enum options_result result;

		if (!row && *word == 'h')
			return help(parser->table);
		if (!row)
			return complain(parser, "unknown option '-%c'", *word);
		result = apply(parser, row, row->argument && word[1] ? word + 1 : NULL);
		if (result != options_done || row->argument)
			return result;
	}
	return options_done;
}

static enum options_result operand(struct parser *parser, const char *word)
{
	struct option_error error = {""};

	if (!parser->table->operand)
		return complain(parser, "unexpected '%s'", word);
	if (parser->table->operand(parser->target, word, &error))
		return complain(parser, "%s", error.why);
	return options_done;
}

static enum options_result rest_are_operands(struct parser *parser)
{
	enum options_result result = options_done;

	while (result == options_done && parser->next < parser->argc)
		result = operand(parser, parser->argv[parser->next++]);
	return result;
}

enum options_result options_parse(const struct option_table *table, int argc, char **argv, void *target,
                                  int *rest)
{
	struct parser parser = {.table = table, .argc = argc, .argv = argv, .next = 1, .target = target};
	enum options_result result = options_done;

	while (result == options_done && parser.next < argc) {
		const char *word = argv[parser.next];
		bool is_option = word[0] == '-' && word[1];

		if (table->stop_at_operand && !is_option)
			break;
		parser.next++;
		if (!strcmp(word, "--")) {
			if (!table->stop_at_operand && table->operand)
				result = rest_are_operands(&parser);
			break;
		}
		if (!is_option)
			result = operand(&parser, word);
		else
			result = word[1] == '-' ? long_option(&parser, word + 2) : letters(&parser, word + 1);
	}
	if (rest)
		*rest = parser.next;
	return result;
}
