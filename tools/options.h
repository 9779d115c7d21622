/* tools/options.h - command-line options as a table: parsing and --help both come from its rows.
 *
 * Accepted: --name VALUE, --name=VALUE, -x VALUE, -xVALUE, several flags in one word (-ab), and
 * "--" as the end of the options; a value that may be left out stands in the same word. Operands may stand
 * between options, unless the command runs another command, whose options are not ours (stop_at_operand).
 */
#ifndef TOOLS_OPTIONS_H
#define TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes an option or an operand. @value is NULL for an option without argument. Returns zero, or
 * -1 with the reason, without the option's name, in @why. */
struct option_error {
	char why[256];
};
typedef int option_set(void *target, const char *value, struct option_error *error);

struct option_row {
	const char *name;     /* without "--" */
	char letter;          /* 'c' for -c, 0 for none */
	const char *argument; /* its name in the help; NULL: takes none; "[=NAME]": may be left out */
	const char *help;
	option_set *set;
};

struct option_table {
	const char *command; /* "sbtrace replay" */
	const char *usage;   /* what follows it: "[OPTIONS] RECORDING|JOB.yaml" */
	const char *about;   /* one or more lines, each ending in a newline */
	const struct option_row *row;
	size_t nrows;
	bool stop_at_operand;
	option_set *operand;     /* NULL: operands are left to the caller, from options_parse's *rest on */
	void (*help_more)(void); /* prints what --help has behind the options; NULL: nothing */
};

enum options_result {
	options_done,  /* go on */
	options_help,  /* help was asked for and printed: exit_fine */
	options_wrong, /* stderr has the reason: exit_usage */
};

/* --help (-h) need not be in the table. *rest (may be NULL) is the index in @argv of the first word
 * that was not parsed; only with stop_at_operand or after "--" is it below @argc. */
enum options_result options_parse(const struct option_table *table, int argc, char **argv, void *target,
                                  int *rest);

/* A whole decimal (or 0x hexadecimal) number from @least to @most: 0 or -1 with the reason. */
int option_number(const char *text, uint64_t least, uint64_t most, uint64_t *value,
                  struct option_error *error);

/* The index of @text among @count words, or -1 with the reason. */
int option_choose(const char *const *word, int count, const char *text, struct option_error *error);

/* A pattern, which is kept as it is: zero, or -1 when it is empty. */
int option_pattern(const char **pattern, const char *text, struct option_error *error);

int option_fail(struct option_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
