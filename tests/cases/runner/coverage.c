/* coverage.c - see coverage.h.
 *
 * Every kind has a list of names. A name is covered when a case expects it: the words that count are
 * picked out of the lines of packets and expectations.
 */
#include "coverage.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "case_file.h"
#include "names.h"
#include "packet_text.h"

static const char *const flag_names[] = {"enabled",     "disabled",  "resumed", "interrupted",
                                         "resynced",    "stopped",   "aborted", "committed",
                                         "speculative", "truncated", NULL};
static const char *const status_names[] = {"event", "ip_suppressed", "eos", NULL};
static const char *const mode_names[] = {"16", "32", "64", "unknown-mode", NULL};
static const char *const config_names[] = {"tick",   "end_on_call", "end_on_jump", "keep_tcal",
                                           "iflags", "filter",      "stop",        NULL};

enum kind {
	kind_packet,
	kind_event,
	kind_error,
	kind_class,
	kind_flag,
	kind_status,
	kind_mode,
	kind_config,
	kind_erratum_on,
	kind_erratum_off,
	kind_count
};

static const struct {
	const char *name;
	const char *const *list;
} kinds[kind_count] = {
        [kind_packet] = {"packet", packet_names},
        [kind_event] = {"event", event_names},
        [kind_error] = {"error", error_names},
        [kind_class] = {"class", class_names},
        [kind_flag] = {"flag", flag_names},
        [kind_status] = {"status", status_names},
        [kind_mode] = {"mode", mode_names},
        [kind_config] = {"config", config_names},
        [kind_erratum_on] = {"erratum-on", errata_names},
        [kind_erratum_off] = {"erratum-off", errata_names},
};

enum { max_names = 64 };

struct coverage {
	uint8_t seen[kind_count][max_names];
	uint8_t excused[kind_count][max_names];
};

static int find(enum kind kind, const char *word, size_t size)
{
	for (int i = 0; kinds[kind].list[i]; ++i) {
		if (strlen(kinds[kind].list[i]) == size && !strncmp(kinds[kind].list[i], word, size))
			return i;
	}
	return -1;
}

static void see(struct coverage *coverage, enum kind kind, const char *word, size_t size)
{
	const int i = find(kind, word, size);

	if (i >= 0)
		coverage->seen[kind][i] = 1;
}

static size_t word_size(const char *word)
{
	return strcspn(word, " \t]");
}

static const char *next_word(const char *word)
{
	word += word_size(word);
	return word + strspn(word, " \t]");
}

/* All words of an instruction's or a block's line: behind a brace come status bits. */
static void see_code_line(struct coverage *coverage, const char *line, int with_class)
{
	int in_braces = 0;

	see(coverage, kind_mode, "64", 2);
	for (const char *word = next_word(line); *word; word = next_word(word)) {
		const size_t size = word_size(word);

		in_braces |= *word == '{';
		if (in_braces) {
			see(coverage, kind_status, word, size);
			continue;
		}
		see(coverage, kind_flag, word, size);
		see(coverage, kind_mode, word, size);
		see(coverage, kind_error, word, size); /* the time is not known */
		if (with_class)
			see(coverage, kind_class, word, size);
	}
}

static void see_line(struct coverage *coverage, enum case_view view, const char *line)
{
	const char *second = next_word(line);

	if (view == view_packets) {
		see(coverage, kind_packet, second, word_size(second));
		if (!strncmp(second, "error ", 6))
			see(coverage, kind_error, second + 6, word_size(second + 6));
	} else if (!strncmp(line, "error ", 6) || !strncmp(line, "end ", 4)) {
		see(coverage, kind_error, second, word_size(second));
	} else if (*line == '[') {
		see(coverage, kind_event, line + 1, word_size(line + 1));
	} else if (view == view_events) {
		see(coverage, kind_event, line, word_size(line));
	} else {
		see_code_line(coverage, line, view == view_insn || view == view_blocks);
	}
}

static void see_config(struct coverage *coverage, const struct case_file *file)
{
	const uint32_t flags[] = {file->flag_tick, file->flag_end_on_call, file->flag_end_on_jump,
	                          file->flag_keep_tcal, file->flag_iflags};

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); ++i)
		coverage->seen[kind_config][i] |= flags[i] != 0;
	for (size_t i = 0; i < file->nfilters; ++i) {
		const char *word = next_word(file->filter[i].text);

		see(coverage, kind_config, word, word_size(word));
	}
}

/* errata/NAME-on and errata/NAME-off. */
static void see_path(struct coverage *coverage, const char *path)
{
	const char *name = strstr(path, "/errata/");
	const char *dash = name ? strchr(name, '-') : NULL;

	if (!dash)
		return;
	name += strlen("/errata/");
	if (!strcmp(dash, "-on.case"))
		see(coverage, kind_erratum_on, name, (size_t)(dash - name));
	else if (!strcmp(dash, "-off.case"))
		see(coverage, kind_erratum_off, name, (size_t)(dash - name));
}

static int see_case(struct coverage *coverage, const char *path)
{
	struct case_file file;
	const int status = case_file_read(&file, path);

	if (status == 0) {
		see_path(coverage, path);
		see_config(coverage, &file);
		for (size_t i = 0; i < file.packets.count; ++i)
			see(coverage, kind_packet, file.packets.line[i].text,
			    word_size(file.packets.line[i].text));
		for (enum case_view view = 0; view < view_count; ++view) {
			for (size_t i = 0; i < file.expect[view].count; ++i)
				see_line(coverage, view, file.expect[view].line[i].text);
		}
	}
	case_file_free(&file);
	return status;
}

/* "KIND NAME reason..." */
static void excuse_line(struct coverage *coverage, const char *line)
{
	const char *name = next_word(line);

	for (enum kind kind = 0; kind < kind_count; ++kind) {
		const size_t size = strlen(kinds[kind].name);
		const int i = find(kind, name, word_size(name));

		if (word_size(line) == size && !strncmp(line, kinds[kind].name, size) && i >= 0)
			coverage->excused[kind][i] = 1;
	}
}

static void read_excuses(struct coverage *coverage, const char *folder)
{
	char path[512], line[256];
	FILE *in;

	snprintf(path, sizeof(path), "%s/not-covered", folder);
	in = fopen(path, "r");
	while (in && fgets(line, sizeof(line), in))
		excuse_line(coverage, line);
	if (in)
		fclose(in);
}

static int report(const struct coverage *coverage)
{
	int good = 1;

	for (enum kind kind = 0; kind < kind_count; ++kind) {
		for (int i = 0; kinds[kind].list[i]; ++i) {
			if (coverage->seen[kind][i] != coverage->excused[kind][i])
				continue;
			good = 0;
			printf("%s %s: %s\n", kinds[kind].name, kinds[kind].list[i],
			       coverage->seen[kind][i] ? "has a case: take it out of not-covered"
			                               : "no case expects it");
		}
	}
	return good;
}

int coverage_check(const char *folder)
{
	struct coverage coverage = {0};
	char pattern[512];
	glob_t found;
	int good = 1;

	snprintf(pattern, sizeof(pattern), "%s/*/*.case", folder);
	if (glob(pattern, 0, NULL, &found)) {
		printf("%s: no cases\n", folder);
		return 0;
	}
	for (size_t i = 0; i < found.gl_pathc; ++i)
		good &= see_case(&coverage, found.gl_pathv[i]) == 0;
	printf("%zu cases\n", found.gl_pathc);
	globfree(&found);
	read_excuses(&coverage, folder);
	return report(&coverage) && good;
}
