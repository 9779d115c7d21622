/* truth_line.c - reads a truth of many million lines: that is most of what their tests do, and nothing that
 * they test, so it is optimised, and without sanitizers. */
#include "support/truth_line.h"

FILE *truth_open(const char *directory, int cpu)
{
	enum { PIPE_ROOM = 1 << 16 };
	char command[512];
	FILE *truth;

	snprintf(command, sizeof(command), "zstd -dcq '%s/truth.cpu%d.tsv.zst'", directory, cpu);
	truth = popen(command, "r");
	if (truth)
		setvbuf(truth, NULL, _IOFBF, PIPE_ROOM);
	return truth;
}

/* One more than a digit's value. A table: whether an address' next digit is a letter, no processor foretells.
 */
static const uint8_t digits[256] = {
        ['0'] = 1, ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
        ['8'] = 9, ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

/* *@at: its first character; to be the one behind it. */
static uint64_t number(const char **at, unsigned int base)
{
	const int is_negative = **at == '-';
	uint64_t value = 0;
	unsigned int digit;

	*at += is_negative;
	for (; (digit = digits[(unsigned char)**at] - 1u) < base; ++*at)
		value = value * base + digit;
	return is_negative ? 0 - value : value;
}

/* A column behind a tab, and perhaps behind '~'. */
static int32_t id(const char **at, int *kernel)
{
	*at += **at == '\t';
	*kernel = **at == '~';
	*at += *kernel;
	return (int32_t)number(at, 10);
}

int truth_line_read(FILE *truth, struct truth_line *line)
{
	char text[128];
	const char *at = text;
	int kernel;

	if (!fgets_unlocked(text, sizeof(text), truth))
		return 0;
	line->optional = *at == '?';
	at += line->optional;
	line->cpu = (int)number(&at, 10);
	line->pid = id(&at, &line->kernel);
	line->tid = id(&at, &kernel);
	if (*at++ != '\t' || kernel != line->kernel)
		return 0;
	line->ip = number(&at, 16);
	return *at == '\n';
}
