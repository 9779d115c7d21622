/* case_file.c - see case_file.h.
 *
 * A line that begins in the first column is a keyword with its arguments; lines that are indented
 * belong to the section above them. The text is cut in place.
 */
#include "case_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

const char *const case_view_names[view_count] = {
        [view_packets] = "packets",       [view_events] = "events", [view_insn_flow] = "insn-flow",
        [view_block_flow] = "block-flow", [view_insn] = "insn",     [view_blocks] = "blocks",
        [view_query] = "query",
};

uint32_t case_view_bits(const char *name)
{
	if (!strcmp(name, "flow"))
		return 1u << view_insn_flow | 1u << view_block_flow;
	if (!strcmp(name, "all"))
		return (1u << view_count) - 1;
	for (uint32_t view = 0; view < view_count; ++view) {
		if (!strcmp(name, case_view_names[view]))
			return 1u << view;
	}
	return 0;
}

int case_complain(const struct case_file *file, int line, const char *what, const char *word)
{
	fprintf(stderr, "%s:%d: %s: %s\n", file->path, line, what, word ? word : "");
	return -1;
}

/* The section that indented lines go to; NULL: none. */
struct reader {
	struct case_file *file;
	struct case_lines *section;
	uint32_t sections; /* for expectations of several views: a bit per view */
	int line;
};

static int add_line(struct case_lines *lines, char *text, int number)
{
	struct case_line *grown = realloc(lines->line, (lines->count + 1) * sizeof(*grown));

	if (!grown)
		return -1;
	lines->line = grown;
	lines->line[lines->count++] = (struct case_line){.text = text, .number = number};
	return 0;
}

static int read_number(struct reader *reader, const char *word, uint64_t *value)
{
	char *end;

	if (!word)
		return case_complain(reader->file, reader->line, "a number is missing", NULL);
	*value = strtoull(word, &end, 0);
	return *end || end == word ? case_complain(reader->file, reader->line, "not a number", word) : 0;
}

static char *next_word(char **rest)
{
	return strtok_r(NULL, " \t", rest);
}

static int on_cpu(struct reader *reader, char *rest)
{
	struct pt_config *config = &reader->file->config;
	unsigned family, model;

	if (sscanf(rest, "%u/%u", &family, &model) != 2)
		return case_complain(reader->file, reader->line, "cpu FAMILY/MODEL, not", rest);
	config->cpu.vendor = pcv_intel;
	config->cpu.family = (uint16_t)family;
	config->cpu.model = (uint8_t)model;
	return pt_cpu_errata(&config->errata, &config->cpu) < 0
	               ? case_complain(reader->file, reader->line, "unknown cpu", rest)
	               : 0;
}

static int on_errata(struct reader *reader, char *rest)
{
	for (char *save = NULL, *word = strtok_r(rest, " \t", &save); word; word = next_word(&save)) {
		if (erratum_set(&reader->file->config.errata, word) < 0)
			return case_complain(reader->file, reader->line, "no such erratum", word);
	}
	return 0;
}

static int on_flags(struct reader *reader, char *rest)
{
	struct case_file *file = reader->file;
	const struct {
		const char *name;
		uint32_t *flag;
	} flags[] = {
	        {"tick", &file->flag_tick},
	        {"end_on_call", &file->flag_end_on_call},
	        {"end_on_jump", &file->flag_end_on_jump},
	        {"keep_tcal", &file->flag_keep_tcal},
	        {"iflags", &file->flag_iflags},
	};

	for (char *save = NULL, *word = strtok_r(rest, " \t", &save); word; word = next_word(&save)) {
		size_t i = 0;

		while (i < sizeof(flags) / sizeof(*flags) && strcmp(flags[i].name, word))
			i += 1;
		if (i == sizeof(flags) / sizeof(*flags))
			return case_complain(file, reader->line, "no such flag", word);
		*flags[i].flag = 1;
	}
	return 0;
}

static int on_numbers(struct reader *reader, char *rest, uint64_t *value, size_t count)
{
	char *save = NULL, *word = strtok_r(rest, " \t", &save);

	for (size_t i = 0; i < count; ++i, word = next_word(&save)) {
		if (read_number(reader, word, &value[i]) < 0)
			return -1;
	}
	return 0;
}

static int on_mtc_freq(struct reader *reader, char *rest)
{
	uint64_t value = 0;

	if (on_numbers(reader, rest, &value, 1) < 0)
		return -1;
	reader->file->config.mtc_freq = (uint8_t)value;
	return 0;
}

static int on_nom_freq(struct reader *reader, char *rest)
{
	uint64_t value = 0;

	if (on_numbers(reader, rest, &value, 1) < 0)
		return -1;
	reader->file->config.nom_freq = (uint8_t)value;
	return 0;
}

static int on_cpuid_15h(struct reader *reader, char *rest)
{
	uint64_t value[2] = {0};

	if (on_numbers(reader, rest, value, 2) < 0)
		return -1;
	reader->file->config.cpuid_0x15_eax = (uint32_t)value[0];
	reader->file->config.cpuid_0x15_ebx = (uint32_t)value[1];
	return 0;
}

static int on_unknown_size(struct reader *reader, char *rest)
{
	uint64_t value = 0;

	if (on_numbers(reader, rest, &value, 1) < 0)
		return -1;
	reader->file->unknown_size = (int)value;
	return 0;
}

static int on_filter(struct reader *reader, char *rest)
{
	struct case_file *file = reader->file;

	if (file->nfilters == case_max_filters)
		return case_complain(file, reader->line, "too many filters", NULL);
	file->filter[file->nfilters++] = (struct case_line){.text = rest, .number = reader->line};
	return 0;
}

static int on_sync(struct reader *reader, char *rest)
{
	struct case_file *file = reader->file;

	if (!strcmp(rest, "backward")) {
		file->sync = case_sync_backward;
		return 0;
	}
	file->sync = case_sync_set;
	return on_numbers(reader, rest, &file->sync_offset, 1);
}

static int on_after_error(struct reader *reader, char *rest)
{
	struct case_file *file = reader->file;

	if (!strcmp(rest, "sync"))
		file->after_error = case_sync_again;
	else if (!strcmp(rest, "resync"))
		file->after_error = case_resync;
	else
		return case_complain(file, reader->line, "after-error sync|resync, not", rest);
	return 0;
}

static int on_image(struct reader *reader, char *rest)
{
	if (!strcmp(rest, "cached"))
		reader->file->image = case_image_cached;
	else if (!strcmp(rest, "callback"))
		reader->file->image = case_image_callback;
	else
		return case_complain(reader->file, reader->line, "image cached|callback, not", rest);
	return 0;
}

static int on_show(struct reader *reader, char *rest)
{
	if (strcmp(rest, "time"))
		return case_complain(reader->file, reader->line, "show time, not", rest);
	reader->file->show_time = 1;
	return 0;
}

/* "VIEW reason...": adds to the views in *bits and keeps the reason. */
static int on_reason(struct reader *reader, char *rest, uint32_t *bits, const char **reason)
{
	char *save = NULL, *word = strtok_r(rest, " \t", &save);
	const uint32_t views = word ? case_view_bits(word) : 0;

	if (!views)
		return case_complain(reader->file, reader->line, "no such view", word);
	if (!*save)
		return case_complain(reader->file, reader->line, "the reason is missing", NULL);
	*bits |= views;
	*reason = save;
	return 0;
}

static int on_xfail(struct reader *reader, char *rest)
{
	return on_reason(reader, rest, &reader->file->xfail, &reader->file->reason_xfail);
}

static int on_debian_differs(struct reader *reader, char *rest)
{
	return on_reason(reader, rest, &reader->file->debian_differs, &reader->file->reason_debian);
}

static int on_debian_not_asked(struct reader *reader, char *rest)
{
	if (!*rest)
		return case_complain(reader->file, reader->line, "the reason is missing", NULL);
	reader->file->debian_not_asked = 1;
	return 0;
}

static int on_code(struct reader *reader, char *rest)
{
	struct case_file *file = reader->file;
	char *save = NULL, *word = strtok_r(rest, " \t", &save);
	struct case_code *code = &file->code[file->ncode];

	if (file->ncode == case_max_code)
		return case_complain(file, reader->line, "too many code sections", NULL);
	file->ncode += 1;
	code->bits = 64;
	pt_asid_init(&code->asid);
	if (read_number(reader, word, &code->address) < 0)
		return -1;
	while ((word = next_word(&save))) {
		uint64_t value = 0;

		if (read_number(reader, next_word(&save), &value) < 0)
			return -1;
		if (!strcmp(word, "bits"))
			code->bits = (int)value;
		else if (!strcmp(word, "cr3"))
			code->asid.cr3 = value;
		else if (!strcmp(word, "vmcs"))
			code->asid.vmcs = value;
		else
			return case_complain(file, reader->line, "not a property of code", word);
	}
	reader->section = &code->lines;
	return 0;
}

static int on_packets(struct reader *reader, char *rest)
{
	(void)rest;
	reader->section = &reader->file->packets;
	return 0;
}

static int on_expect(struct reader *reader, char *rest)
{
	reader->sections = case_view_bits(rest);
	if (!reader->sections)
		return case_complain(reader->file, reader->line, "no such view", rest);
	reader->file->expected |= reader->sections;
	return 0;
}

static const struct {
	const char *name;
	int (*read)(struct reader *reader, char *rest);
} keywords[] = {
        {"cpu", on_cpu},
        {"errata", on_errata},
        {"flags", on_flags},
        {"mtc_freq", on_mtc_freq},
        {"nom_freq", on_nom_freq},
        {"cpuid_15h", on_cpuid_15h},
        {"unknown-size", on_unknown_size},
        {"filter", on_filter},
        {"sync", on_sync},
        {"after-error", on_after_error},
        {"image", on_image},
        {"show", on_show},
        {"xfail", on_xfail},
        {"debian-differs", on_debian_differs},
        {"debian-not-asked", on_debian_not_asked},
        {"code", on_code},
        {"packets", on_packets},
        {"expect", on_expect},
};

static int on_keyword(struct reader *reader, char *text)
{
	char *rest = text + strcspn(text, " \t");

	if (*rest)
		*rest++ = '\0';
	rest += strspn(rest, " \t");
	reader->section = NULL;
	reader->sections = 0;
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); ++i) {
		if (!strcmp(keywords[i].name, text))
			return keywords[i].read(reader, rest);
	}
	return case_complain(reader->file, reader->line, "no such keyword", text);
}

static int on_indented(struct reader *reader, char *text)
{
	text += strspn(text, " \t");
	if (reader->section)
		return add_line(reader->section, text, reader->line);
	if (!reader->sections)
		return case_complain(reader->file, reader->line, "no section for", text);
	for (uint32_t view = 0; view < view_count; ++view) {
		if ((reader->sections >> view & 1) &&
		    add_line(&reader->file->expect[view], text, reader->line) < 0)
			return -1;
	}
	return 0;
}

/* Cuts off a comment and the space before it. */
static void trim(char *text)
{
	size_t size = strcspn(text, "#");

	while (size && isspace((unsigned char)text[size - 1]))
		size -= 1;
	text[size] = '\0';
}

static int read_lines(struct case_file *file)
{
	struct reader reader = {.file = file};
	char *next = file->text;

	while (next && *next) {
		char *text = next, *end = strchr(text, '\n');

		next = end ? end + 1 : NULL;
		if (end)
			*end = '\0';
		reader.line += 1;
		trim(text);
		if (!*text)
			continue;
		if ((isspace((unsigned char)*text) ? on_indented(&reader, text) : on_keyword(&reader, text)) <
		    0)
			return -1;
	}
	return 0;
}

static char *read_text(const char *path)
{
	FILE *stream = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!stream)
		return NULL;
	if (getdelim(&text, &size, '\0', stream) < 0) {
		free(text);
		text = NULL;
	}
	fclose(stream);
	return text;
}

int case_file_read(struct case_file *file, const char *path)
{
	memset(file, 0, sizeof(*file));
	file->path = path;
	pt_config_init(&file->config);
	file->text = read_text(path);
	if (!file->text)
		return case_complain(file, 0, "cannot read", path);
	return read_lines(file);
}

void case_file_free(struct case_file *file)
{
	for (size_t i = 0; i < file->ncode; ++i)
		free(file->code[i].lines.line);
	for (size_t view = 0; view < view_count; ++view)
		free(file->expect[view].line);
	free(file->packets.line);
	free(file->text);
}
