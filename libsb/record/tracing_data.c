/* tracing_data.c - see tracing_data.h.
 *
 * TRACING_DATA is a row of files of the kernel's tracefs, each with its size in front, without an index: a
 *magic and a version, header_page, header_event, formats of ftrace, and then, system by system, the formats
 *of the events. Of those, only the lines that place fields are read; the print format behind them, a piece of
 *C, is not. (libtraceevent reads that, too. But the text comes from a file that nobody vouches for, and of
 *what it says five numbers are needed.)
 *
 *	name: sched_switch
 *	ID: 372
 *	format:
 *		field:char prev_comm[16];	offset:8;	size:16;	signed:0;
 */
#include "record/tracing_data.h"

#include <stdlib.h>
#include <string.h>

#include "record/bytes.h"

/* What is left. */
struct text {
	const char *at;
	uint64_t left;
};

static const char no_memory[] = "there is no memory for its tracepoints";
static const char cut[] = "its formats of tracepoints are cut";

/* ---- The container ---------------------------------------------------------------------------- */

static int take(struct text *text, uint64_t size, struct text *piece)
{
	if (size > text->left)
		return 0;
	*piece = (struct text){text->at, size};
	text->at += size;
	text->left -= size;
	return 1;
}

static int take_u32(struct text *text, uint32_t *value)
{
	struct text piece;

	if (!take(text, 4, &piece))
		return 0;
	*value = load_u32((const uint8_t *)piece.at);
	return 1;
}

/* A file: its size in 64 bits, and its content. */
static int take_file(struct text *text, struct text *file)
{
	struct text size;

	return take(text, 8, &size) && take(text, load_u64((const uint8_t *)size.at), file);
}

/* Up to a NUL. */
static int take_string(struct text *text, struct text *string)
{
	const char *end = memchr(text->at, '\0', text->left);
	struct text nul;

	return end && take(text, (uint64_t)(end - text->at), string) && take(text, 1, &nul);
}

static int is(const struct text *text, const char *word)
{
	return text->left == strlen(word) && !memcmp(text->at, word, text->left);
}

/* Up to the formats of events. */
static const char *take_head(struct text *text)
{
	static const char magic[] = "\x17\x08\x44tracing";
	struct text piece;
	uint32_t nformats;

	if (!take(text, sizeof(magic) - 1, &piece) || memcmp(piece.at, magic, sizeof(magic) - 1) != 0)
		return "it does not begin as tracing data do";
	/* The version; byte order, size of a long, size of a page. */
	if (!take_string(text, &piece) || !take(text, 6, &piece))
		return cut;
	if (piece.at[0])
		return "it is of the other byte order";
	if (!take_string(text, &piece) || !is(&piece, "header_page") || !take_file(text, &piece))
		return "it has no header_page";
	if (!take_string(text, &piece) || !is(&piece, "header_event") || !take_file(text, &piece))
		return "it has no header_event";
	if (!take_u32(text, &nformats))
		return cut;
	while (nformats--)
		if (!take_file(text, &piece))
			return cut;
	return NULL;
}

/* ---- A format --------------------------------------------------------------------------------- */

/* The next line, without blanks in front. */
static int take_line(struct text *text, struct text *line)
{
	const char *end = text->left ? memchr(text->at, '\n', text->left) : NULL;
	struct text newline;

	if (!text->left)
		return 0;
	take(text, end ? (uint64_t)(end - text->at) : text->left, line);
	take(text, end != NULL, &newline);
	while (line->left && (*line->at == ' ' || *line->at == '\t')) {
		line->at++;
		line->left--;
	}
	return 1;
}

/* What stands behind @word, which the line begins with. */
static int skip_word(struct text *line, const char *word)
{
	const size_t size = strlen(word);

	if (line->left < size || memcmp(line->at, word, size) != 0)
		return 0;
	line->at += size;
	line->left -= size;
	return 1;
}

/* A decimal number, blanks in front. */
static int take_number(struct text *line, uint64_t *value)
{
	uint64_t digits = 0;

	*value = 0;
	while (line->left && *line->at == ' ')
		line->at++, line->left--;
	for (; line->left && *line->at >= '0' && *line->at <= '9' && digits < 18; digits++) {
		*value = *value * 10 + (uint64_t)(*line->at - '0');
		line->at++;
		line->left--;
	}
	return digits > 0;
}

/* What stands before the next @end, which is passed. */
static int take_until(struct text *line, char end, struct text *piece)
{
	const char *at = line->left ? memchr(line->at, end, line->left) : NULL;
	struct text passed;

	return at && take(line, (uint64_t)(at - line->at), piece) && take(line, 1, &passed);
}

static int is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static int contains(const struct text *text, const char *word)
{
	return memmem(text->at, text->left, word, strlen(word)) != NULL;
}

/* "unsigned short common_type", "char prev_comm[16]", "__data_loc char[] name": the name is the last word
 * that is not in brackets. */
static int split_declaration(const struct text *declaration, struct text *name, int *is_array)
{
	const char *bracket = memchr(declaration->at, '[', declaration->left);
	const char *end = declaration->at + declaration->left, *at;

	*is_array = bracket != NULL;
	if (end > declaration->at && end[-1] == ']')
		end = bracket;
	for (at = end; at && at > declaration->at && is_letter(at[-1]);)
		at--;
	*name = (struct text){at, end ? (uint64_t)(end - at) : 0};
	return name->left > 0;
}

static enum sb_tracepoint_kind kind_of(const struct text *declaration, int is_array, uint64_t size)
{
	if (contains(declaration, "__data_loc") || contains(declaration, "__rel_loc"))
		return sb_tracepoint_other;
	if (is_array)
		return contains(declaration, "char ") ? sb_tracepoint_text : sb_tracepoint_other;
	return size == 1 || size == 2 || size == 4 || size == 8 ? sb_tracepoint_number : sb_tracepoint_other;
}

/* "offset:8;	size:16;	signed:0;" behind the declaration. Lines that are not so are left out: -1. */
static int read_place(struct text *line, struct sb_tracepoint_field *field)
{
	uint64_t offset, size, is_signed;
	struct text blank;

	if (!take_until(line, 'o', &blank) || !skip_word(line, "ffset:") || !take_number(line, &offset) ||
	    !take_until(line, 's', &blank) || !skip_word(line, "ize:") || !take_number(line, &size) ||
	    !take_until(line, 's', &blank) || !skip_word(line, "igned:") || !take_number(line, &is_signed))
		return -1;
	if (offset > UINT16_MAX || size > UINT16_MAX)
		return -1;
	field->offset = (uint32_t)offset;
	field->size = (uint32_t)size;
	field->is_signed = is_signed != 0;
	return 0;
}

/* Doubles an array when it is full; NULL when there is no memory. */
static void *room(void *array, size_t count, size_t size)
{
	return count & (count - 1) ? array : reallocarray(array, count ? 2 * count : 1, size);
}

static const char *add_field(struct sb_tracepoint *tracepoint, const struct sb_tracepoint_field *field,
                             const struct text *name)
{
	struct sb_tracepoint_field *fields = (struct sb_tracepoint_field *)(uintptr_t)tracepoint->field;
	struct sb_tracepoint_field *grown = room(fields, tracepoint->nfields, sizeof(*grown));
	char *copy = strndup(name->at, name->left);

	if (grown)
		tracepoint->field = grown;
	if (!grown || !copy) {
		free(copy);
		return no_memory;
	}
	grown[tracepoint->nfields] = *field;
	grown[tracepoint->nfields++].name = copy;
	return NULL;
}

static const char *read_field(struct sb_tracepoint *tracepoint, struct text *line)
{
	struct sb_tracepoint_field field = {0};
	struct text declaration, name;
	int is_array;

	if (!take_until(line, ';', &declaration) || !split_declaration(&declaration, &name, &is_array) ||
	    read_place(line, &field) < 0)
		return NULL;
	field.kind = kind_of(&declaration, is_array, field.size);
	return add_field(tracepoint, &field, &name);
}

static const char *read_line(struct sb_tracepoint *tracepoint, struct text *line)
{
	if (skip_word(line, "field:"))
		return read_field(tracepoint, line);
	if (skip_word(line, "name: ") && !tracepoint->name) {
		tracepoint->name = strndup(line->at, line->left);
		return tracepoint->name ? NULL : no_memory;
	}
	if (skip_word(line, "ID:"))
		take_number(line, &tracepoint->id);
	return NULL;
}

static void free_tracepoint(struct sb_tracepoint *tracepoint)
{
	for (size_t i = 0; i < tracepoint->nfields; i++)
		free((void *)(uintptr_t)tracepoint->field[i].name);
	free((void *)(uintptr_t)tracepoint->field);
	free((void *)(uintptr_t)tracepoint->system);
	free((void *)(uintptr_t)tracepoint->name);
}

static const char *read_format(struct tracing_data *data, const struct text *system, struct text format)
{
	struct sb_tracepoint tracepoint = {.system = strndup(system->at, system->left)};
	struct sb_tracepoint *grown = room(data->tracepoint, data->ntracepoints, sizeof(*grown));
	const char *wrong = grown && tracepoint.system ? NULL : no_memory;
	struct text line;

	if (grown)
		data->tracepoint = grown;
	while (!wrong && take_line(&format, &line) && !skip_word(&line, "print fmt:"))
		wrong = read_line(&tracepoint, &line);
	if (wrong || !tracepoint.name) {
		free_tracepoint(&tracepoint);
		return wrong;
	}
	grown[data->ntracepoints++] = tracepoint;
	return NULL;
}

/* ---- All of them ------------------------------------------------------------------------------ */

static const char *read_systems(struct tracing_data *data, struct text *text)
{
	uint32_t nsystems, nformats;
	struct text system, format;
	const char *wrong = NULL;

	if (!take_u32(text, &nsystems))
		return cut;
	while (nsystems--) {
		if (!take_string(text, &system) || !take_u32(text, &nformats))
			return cut;
		while (nformats--) {
			if (!take_file(text, &format))
				return cut;
			wrong = read_format(data, &system, format);
			if (wrong)
				return wrong;
		}
	}
	return NULL;
}

static int by_id(const void *a, const void *b)
{
	const struct sb_tracepoint *left = a, *right = b;

	return left->id < right->id ? -1 : left->id > right->id;
}

const char *tracing_data_read(struct tracing_data *data, const uint8_t *bytes, uint64_t size)
{
	struct text text = {(const char *)bytes, size};
	const char *wrong = take_head(&text);

	if (!wrong)
		wrong = read_systems(data, &text);
	if (data->ntracepoints)
		qsort(data->tracepoint, data->ntracepoints, sizeof(*data->tracepoint), by_id);
	return wrong;
}

void tracing_data_free(struct tracing_data *data)
{
	for (size_t i = 0; i < data->ntracepoints; i++)
		free_tracepoint(&data->tracepoint[i]);
	free(data->tracepoint);
	*data = (struct tracing_data){0};
}

const struct sb_tracepoint *tracing_data_by_id(const struct tracing_data *data, uint64_t id)
{
	const struct sb_tracepoint key = {.id = id};

	return data->ntracepoints ? bsearch(&key, data->tracepoint, data->ntracepoints, sizeof(key), by_id)
	                          : NULL;
}

const struct sb_tracepoint *tracing_data_by_name(const struct tracing_data *data, const char *system,
                                                 const char *name)
{
	for (size_t i = 0; i < data->ntracepoints; i++)
		if (!strcmp(data->tracepoint[i].system, system) && !strcmp(data->tracepoint[i].name, name))
			return &data->tracepoint[i];
	return NULL;
}

const struct sb_tracepoint_field *sb_tracepoint_find(const struct sb_tracepoint *tracepoint, const char *name)
{
	for (size_t i = 0; i < tracepoint->nfields; i++)
		if (!strcmp(tracepoint->field[i].name, name))
			return &tracepoint->field[i];
	return NULL;
}

static uint64_t extend(uint64_t value, uint32_t size)
{
	const unsigned int unused = 64 - 8 * size;

	return (uint64_t)((int64_t)(value << unused) >> unused);
}

int sb_tracepoint_value(const struct sb_tracepoint_field *field, const uint8_t *raw, uint64_t raw_size,
                        uint64_t *value)
{
	if (field->kind != sb_tracepoint_number || raw_size < field->size ||
	    field->offset > raw_size - field->size)
		return 0;
	*value = 0;
	for (uint32_t i = field->size; i-- > 0;)
		*value = *value << 8 | raw[field->offset + i];
	if (field->is_signed)
		*value = extend(*value, field->size);
	return 1;
}
