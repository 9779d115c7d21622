/* truth_line.c - reads a truth of many million lines: that is most of what their tests do, and nothing that
 * they test, so it is optimised, and without sanitizers. */
#include "support/truth_line.h"

static unsigned int digit_of(int c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)c - '0';
	return c >= 'a' && c <= 'f' ? (unsigned int)c - 'a' + 10 : 16;
}

/* @c: its first character; to be the one behind it. */
static uint64_t number(FILE *truth, int *c, unsigned int base)
{
	const int is_negative = *c == '-';
	uint64_t value = 0;
	unsigned int digit;

	if (is_negative)
		*c = getc_unlocked(truth);
	for (; (digit = digit_of(*c)) < base; *c = getc_unlocked(truth))
		value = value * base + digit;
	return is_negative ? 0 - value : value;
}

/* A column behind a tab, and perhaps behind '~'. */
static int32_t id(FILE *truth, int *c, int *kernel)
{
	if (*c == '\t')
		*c = getc_unlocked(truth);
	*kernel = *c == '~';
	if (*kernel)
		*c = getc_unlocked(truth);
	return (int32_t)number(truth, c, 10);
}

int truth_line_read(FILE *truth, struct truth_line *line)
{
	int c = getc_unlocked(truth), kernel;

	line->optional = c == '?';
	if (line->optional)
		c = getc_unlocked(truth);
	line->cpu = (int)number(truth, &c, 10);
	line->pid = id(truth, &c, &line->kernel);
	line->tid = id(truth, &c, &kernel);
	if (c != '\t' || kernel != line->kernel)
		return 0;
	c = getc_unlocked(truth);
	line->ip = number(truth, &c, 16);
	return c == '\n';
}
