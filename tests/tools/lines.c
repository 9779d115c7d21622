/* lines.c - holds lines of executed instructions against others, for scripts: there are millions of them.
 *
 *   lines columns FILE            cpu, pid, tid and ip of each line, the CPUs one after the other
 *   lines equal TRUTH FLOW        equal but for the time, which never goes back on a CPU; how far off is it?
 *   lines among SLACK TRUTH FLOW  is FLOW part of TRUTH, each line at its time but for SLACK ticks?
 *   lines right GAPS TRUTH FLOW   is FLOW TRUTH, but for what is missing at up to GAPS places of each CPU?
 *   lines count COLUMN            how often each text is in that column of standard input, in any order
 *
 * Files have lines of cpu, pid, tid, tsc, ip (hexadecimal) and maybe more, between tabs. "-" is stdin.
 * No is status 1, and a sentence on stdout about the first line that is not so; 2 is anything else.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"

/* ---- Files ------------------------------------------------------------------------------------- */

__attribute__((format(printf, 1, 2), noreturn)) void give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("lines: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

void *room_for(void *items, size_t count, size_t size)
{
	items = reallocarray(items, count ? count : 1, size);
	if (!items)
		give_up("out of memory");
	return items;
}

/* The whole file, and a zero behind it. */
static char *read_all(const char *path, size_t *size)
{
	FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rbe");
	size_t room = 1 << 20, got;
	char *text = room_for(NULL, room, 1);

	if (!file)
		give_up("%s: cannot be opened", path);
	*size = 0;
	while ((got = fread(text + *size, 1, room - 1 - *size, file))) {
		*size += got;
		if (room - 1 - *size < room / 2)
			text = room_for(text, room *= 2, 1);
	}
	if (ferror(file))
		give_up("%s: cannot be read", path);
	if (file != stdin)
		fclose(file);
	text[*size] = '\0';
	return text;
}

/* A number of this base, and the tab, or the end of the line, behind it. */
static uint64_t number(char **at, int base, const char *path, size_t line)
{
	char *end;
	const uint64_t value = strtoull(*at, &end, base);

	if (end == *at || (*end != '\t' && *end != '\n' && *end != '\0'))
		give_up("%s: line %zu: expected a number, found '%.20s'", path, line, *at);
	*at = *end == '\t' ? end + 1 : end;
	return value;
}

static void parse(struct line *line, char *at, const char *path, size_t count)
{
	line->text = at;
	line->cpu = (int32_t)number(&at, 10, path, count);
	line->pid = (int32_t)number(&at, 10, path, count);
	line->tid = (int32_t)number(&at, 10, path, count);
	line->time_at = (uint16_t)(at - line->text);
	line->tsc = number(&at, 10, path, count);
	line->ip_at = (uint16_t)(at - line->text);
	line->ip = number(&at, 16, path, count);
	line->ip_end = (uint16_t)(at - line->text - (at[-1] == '\t'));
}

void lines_read(struct lines *lines, const char *path)
{
	size_t size, room = 0;
	char *text = read_all(path, &size), *at = text, *end;

	*lines = (struct lines){.path = path, .text = text};
	while (*at) {
		if (lines->count == room)
			lines->line =
			        room_for(lines->line, room = room ? 2 * room : 1 << 16, sizeof(*lines->line));
		parse(&lines->line[lines->count], at, path, lines->count + 1);
		lines->count++;
		end = strchr(at, '\n');
		if (!end)
			break;
		at = end + 1;
	}
}

void lines_free(struct lines *lines)
{
	free(lines->line);
	free(lines->text);
}

/* ---- CPU by CPU -------------------------------------------------------------------------------- */

static int by_number(const void *one, const void *other)
{
	const int32_t a = *(const int32_t *)one, b = *(const int32_t *)other;

	return (a > b) - (a < b);
}

/* The CPUs that there are, in order; returns how many. */
static size_t cpus_of(const struct lines *lines, int32_t *cpu)
{
	size_t count = 0, i, k;

	for (i = 0; i < lines->count; i++) {
		for (k = 0; k < count && cpu[k] != lines->line[i].cpu; k++)
			;
		if (k < count)
			continue;
		if (count == CPUS_MAX)
			give_up("%s: more than %d CPUs", lines->path, CPUS_MAX);
		cpu[count++] = lines->line[i].cpu;
	}
	qsort(cpu, count, sizeof(*cpu), by_number);
	return count;
}

void lines_by_cpu(struct lines *lines, struct by_cpu *by)
{
	struct line *sorted = room_for(NULL, lines->count, sizeof(*sorted));
	size_t to = 0;

	*by = (struct by_cpu){0};
	by->count = cpus_of(lines, by->cpu);
	for (size_t k = 0; k < by->count; k++) {
		by->from[k] = to;
		for (size_t i = 0; i < lines->count; i++)
			if (lines->line[i].cpu == by->cpu[k])
				sorted[to++] = lines->line[i];
	}
	by->from[by->count] = to;
	free(lines->line);
	lines->line = sorted;
}

int same_but_time(const struct line *one, const struct line *other)
{
	return one->ip == other->ip && one->tid == other->tid && one->pid == other->pid &&
	       one->cpu == other->cpu;
}

int differs(const char *what, const struct line *line)
{
	printf("%s%.*s\n", what, (int)line->ip_end, line->text);
	return 1;
}

/* ---- What can be asked ------------------------------------------------------------------------- */

static int columns(const char *path)
{
	struct by_cpu by;
	struct lines lines;

	lines_read(&lines, path);
	lines_by_cpu(&lines, &by);
	for (size_t i = 0; i < lines.count; i++) {
		const struct line *line = &lines.line[i];

		fwrite(line->text, 1, line->time_at, stdout);
		fwrite(line->text + line->ip_at, 1, (size_t)(line->ip_end - line->ip_at), stdout);
		putchar('\n');
	}
	lines_free(&lines);
	return ferror(stdout) || fflush(stdout) ? 2 : 0;
}

/* On each CPU, time goes on from line to line. */
static int time_goes_on(const struct lines *flow)
{
	size_t back = 0, first = 0;

	for (size_t i = 1; i < flow->count; i++)
		if (flow->line[i].cpu == flow->line[i - 1].cpu && flow->line[i].tsc < flow->line[i - 1].tsc &&
		    !back++)
			first = i;
	if (!back)
		return 0;
	printf("time goes back %zu times, first at ", back);
	return differs("", &flow->line[first]);
}

static int equal(const char *truth_path, const char *flow_path)
{
	struct lines truth, flow;
	struct by_cpu by;
	double sum = 0, worst = 0;
	size_t i;
	int failed;

	lines_read(&truth, truth_path);
	lines_read(&flow, flow_path);
	lines_by_cpu(&truth, &by);
	lines_by_cpu(&flow, &by);
	for (i = 0; i < truth.count && i < flow.count && same_but_time(&truth.line[i], &flow.line[i]); i++) {
		const double d = (double)(int64_t)(flow.line[i].tsc - truth.line[i].tsc),
		             off = d < 0 ? -d : d;

		sum += off;
		worst = off > worst ? off : worst;
	}
	failed = i < truth.count || i < flow.count;
	if (failed) {
		printf("the flow is not the truth: %zu lines, %zu in the flow\n", truth.count, flow.count);
		for (size_t k = i; k < i + 3 && k < truth.count; k++)
			differs("< ", &truth.line[k]);
		for (size_t k = i; k < i + 3 && k < flow.count; k++)
			differs("> ", &flow.line[k]);
	} else {
		failed = time_goes_on(&flow);
	}
	if (!failed)
		printf("%zu instructions equal, time off by %.0f ticks in the mean, %.0f at worst\n", i,
		       i ? sum / (double)i : 0, worst);
	lines_free(&truth);
	lines_free(&flow);
	return failed;
}

/* Holds the flow of each CPU that has some against the truth of that CPU. */
static int by_cpu(const char *truth_path, const char *flow_path, uint64_t number,
                  int (*ask)(struct stretch truth, struct stretch flow, uint64_t number))
{
	struct lines truth, flow;
	struct by_cpu in_truth, in_flow;
	int failed = 0;

	lines_read(&truth, truth_path);
	lines_read(&flow, flow_path);
	lines_by_cpu(&truth, &in_truth);
	lines_by_cpu(&flow, &in_flow);
	for (size_t k = 0; !failed && k < in_flow.count; k++) {
		struct stretch of_truth = {NULL, 0};

		for (size_t t = 0; t < in_truth.count; t++)
			if (in_truth.cpu[t] == in_flow.cpu[k])
				of_truth = (struct stretch){truth.line + in_truth.from[t],
				                            in_truth.from[t + 1] - in_truth.from[t]};
		failed = ask(
		        of_truth,
		        (struct stretch){flow.line + in_flow.from[k], in_flow.from[k + 1] - in_flow.from[k]},
		        number);
	}
	lines_free(&truth);
	lines_free(&flow);
	return failed;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc == 3 && strcmp(what, "columns") == 0)
		return columns(argv[2]);
	if (argc == 3 && strcmp(what, "count") == 0)
		return lines_count(stdin, strtoul(argv[2], NULL, 10));
	if (argc == 4 && strcmp(what, "equal") == 0)
		return equal(argv[2], argv[3]);
	if (argc == 5 && strcmp(what, "among") == 0)
		return by_cpu(argv[3], argv[4], strtoull(argv[2], NULL, 10), flow_among);
	if (argc == 5 && strcmp(what, "right") == 0)
		return by_cpu(argv[3], argv[4], strtoull(argv[2], NULL, 10), flow_right);
	fprintf(stderr,
	        "usage: lines columns FILE | equal TRUTH FLOW | among SLACK TRUTH FLOW | right GAPS TRUTH FLOW | "
	        "count COLUMN\n");
	return 2;
}
