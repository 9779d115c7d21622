/* job_fetch.c - see job_fetch.h. */
#include "job/job_fetch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job/job.h"
#include "job/job_keys.h"
#include "nearest.h"

#define FETCH(member) offsetof(struct job_fetch, member)

/* ---- Keys ------------------------------------------------------------------------------------- */

static const char *const size_words[] = {"url", NULL};
static const char *const range_words[] = {"url", "offset", "length", "last", "version", NULL};

static const struct job_key fetch_keys[] = {
        {.name = "size",
         .kind = &job_kind_command,
         .offset = FETCH(size),
         .about = "The command that prints how many bytes {url} has, and perhaps its version behind that.",
         .what = "a command (a list of words)",
         .item = "a word of a command",
         .required = true,
         .word = size_words},
        {.name = "range",
         .kind = &job_kind_command,
         .offset = FETCH(range),
         .about = "The command that prints {length} bytes of {url} from {offset} on, up to {last}.",
         .what = "a command (a list of words)",
         .item = "a word of a command",
         .required = true,
         .word = range_words},
        {.name = "timeout",
         .kind = &job_kind_duration,
         .offset = FETCH(timeout),
         .about = "The most time a command may take: a number with s, m, h or d behind it."},
        {.name = "piece",
         .kind = &job_kind_size,
         .offset = FETCH(piece),
         .about = "The most trace that is fetched at once, in bytes, or with K, M or G behind it."},
};
const struct job_table job_fetch_table = {"what fetches recordings", fetch_keys,
                                          sizeof(fetch_keys) / sizeof(fetch_keys[0])};

void job_fetch_free(struct job_fetch *fetch)
{
	job_texts_free(&fetch->size);
	job_texts_free(&fetch->range);
	*fetch = (struct job_fetch){0};
}

/* ---- Words ------------------------------------------------------------------------------------ */

static const char letters[] = "abcdefghijklmnopqrstuvwxyz";

/* The length of the name in the braces that @text begins with; zero: there is none. */
static size_t name_in_braces(const char *text)
{
	const size_t length = *text == '{' ? strspn(text + 1, letters) : 0;

	return length && text[1 + length] == '}' ? length : 0;
}

static bool is_name(const char *name, const char *text, size_t length)
{
	return strlen(name) == length && !memcmp(name, text, length);
}

static const char *find_name(const char *const *names, const char *text, size_t length)
{
	while (*names && !is_name(*names, text, length))
		names++;
	return *names;
}

/* The next name in braces from *text on, which then is behind it; its length: zero: there is none. */
static size_t next_name(const char **text, const char **name)
{
	for (const char *at = *text; *at; at++) {
		const size_t length = name_in_braces(at);

		if (!strncmp(at, "{{", 2)) {
			at++;
		} else if (length) {
			*name = at + 1;
			*text = at + length + 2;
			return length;
		}
	}
	return 0;
}

static bool names(const struct job_texts *command, const char *wanted)
{
	for (size_t i = 0; i < command->count; i++) {
		const char *at = command->value[i], *name;
		size_t length;

		while ((length = next_name(&at, &name)))
			if (is_name(wanted, name, length))
				return true;
	}
	return false;
}

/* What stands for the name; numbers go to @number. */
static const char *value_of(const struct job_fetch_words *words, const char *name, size_t length,
                            char number[24])
{
	if (is_name("url", name, length))
		return words->url;
	if (is_name("version", name, length))
		return words->version;
	if (is_name("length", name, length))
		snprintf(number, 24, "%" PRIu64, words->length);
	else
		snprintf(number, 24, "%" PRIu64,
		         is_name("offset", name, length) ? words->offset : words->offset + words->length - 1);
	return number;
}

/* @text with what stands in braces filled in, and "{" for "{{". */
static char *fill(const char *text, const struct job_fetch_words *words)
{
	char number[24], *filled = NULL;
	size_t size = 0, length;
	FILE *to = open_memstream(&filled, &size);
	int failed;

	if (!to)
		return NULL;
	while (*text) {
		length = name_in_braces(text);
		if (!strncmp(text, "{{", 2)) {
			fputc('{', to);
			text += 2;
		} else if (length && find_name(range_words, text + 1, length)) {
			fputs(value_of(words, text + 1, length, number), to);
			text += length + 2;
		} else {
			fputc(*text++, to);
		}
	}
	failed = ferror(to);
	if (!fclose(to) && !failed)
		return filled;
	free(filled);
	return NULL;
}

void job_fetch_argv_free(char **argv)
{
	for (size_t i = 0; argv && argv[i]; i++)
		free(argv[i]);
	free(argv);
}

char **job_fetch_argv(const struct job_texts *command, const struct job_fetch_words *words)
{
	char **argv = calloc(command->count + 1, sizeof(*argv));

	for (size_t i = 0; argv && i < command->count; i++) {
		argv[i] = fill(command->value[i], words);
		if (!argv[i]) {
			job_fetch_argv_free(argv);
			return NULL;
		}
	}
	return argv;
}

/* ---- Commands --------------------------------------------------------------------------------- */

static int check_names(struct job_source *source, const yaml_node_t *node, const struct job_key *key,
                       const char *word)
{
	struct nearest nearest;
	const char *name;
	size_t length;

	while ((length = next_name(&word, &name))) {
		char unknown[64];

		if (find_name(key->word, name, length))
			continue;
		snprintf(unknown, sizeof(unknown), "%.*s", (int)length, name);
		nearest_begin(&nearest, unknown);
		for (const char *const *known = key->word; *known; known++)
			nearest_offer(&nearest, *known);
		if (nearest.best)
			return source_fail(source, node, "'%s' cannot name {%s}; did you mean {%s}?",
			                   key->name, unknown, nearest.best);
		return source_fail(source, node, "'%s' cannot name {%s}; for an opening brace, write {{",
		                   key->name, unknown);
	}
	return 0;
}

struct command_reading {
	const struct job_key *key;
	struct job_texts words;
};

/* A program that is a path is relative as other paths are. */
static int read_word(struct job_source *source, yaml_node_t *node, const void *key, void *target)
{
	struct job_texts *words = target;
	const struct job_key *command = key;
	const char *text = source_text(source, node, command->item);
	struct option_error error;
	char *path;
	int code;

	if (!text)
		return -sbe_format;
	code = check_names(source, node, command, text);
	if (code)
		return code;
	path = !words->count && strchr(text, '/') ? source_file(source, node, command->item) : strdup(text);
	if (!path)
		return -sbe_format;
	code = job_texts_add(words, job_items_most, "the word", path, &error)
	               ? source_wrong(source, node, &error)
	               : source_note(source, node, words->value[words->count - 1]);
	free(path);
	return code;
}

static int read_command(struct job_source *source, yaml_node_t *node, const struct job_key *key, void *field)
{
	const struct job_texts *words = field;
	int code = source_list(source, node, key->what, read_word, key, field);

	if (!code && !names(words, "url"))
		code = source_fail(source, node, "'%s' does not name {url}: which recording?", key->name);
	if (!code && key->word == range_words && !names(words, "offset"))
		code = source_fail(source, node, "'%s' does not name {offset}: bytes from where on?",
		                   key->name);
	if (!code && key->word == range_words && !names(words, "length") && !names(words, "last"))
		code = source_fail(source, node, "'%s' names neither {length} nor {last}: bytes up to where?",
		                   key->name);
	return code;
}

static json_t *command_value(const struct job_key *key, const void *field)
{
	const struct job_texts *words = field;
	json_t *value = words->count ? json_array() : NULL;

	(void)key;
	for (size_t i = 0; i < words->count; i++)
		json_array_append_new(value, !i && strchr(words->value[i], '/')
		                                     ? job_path_value(words->value[i])
		                                     : json_string(words->value[i]));
	return value;
}

static json_t *command_schema(const struct job_key *key)
{
	(void)key;
	return json_pack("{s:s, s:{s:[s, s]}, s:i}", "type", "array", "items", "type", "string", "number",
	                 "minItems", 1);
}

const struct job_kind job_kind_command = {sizeof(struct job_texts), read_command, command_value,
                                          command_schema};

/* ---- Checks ----------------------------------------------------------------------------------- */

bool job_is_url(const char *recording)
{
	const size_t scheme =
	        strspn(recording, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+.-");

	return scheme && strspn(recording, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") &&
	       !strncmp(recording + scheme, "://", 3) && recording[scheme + 3];
}

static int check_url(const struct job *job, const char *url, struct sb_error *err)
{
	const struct job_place place = job_places_find(&job->places, url);

	if (!job_is_url(url))
		return 0;
	for (const char *at = url; *at; at++)
		if ((unsigned char)*at <= ' ' || *at == 0x7f)
			return job_fail_at(err, &place, "the URL %s has a blank or a control character in it",
			                   url);
	if (job->fetch.range.count)
		return 0;
	return job_fail_at(err, &place,
	                   "%s is a URL, and the job does not say how to get it: with the key 'fetch'", url);
}

static int check_program(const struct job *job, const struct job_texts *command, struct sb_error *err)
{
	const char *program = command->count ? command->value[0] : NULL;
	const struct job_place place = job_places_find(&job->places, program);

	if (!program || !strchr(program, '/') || !access(program, X_OK))
		return 0;
	return job_fail_at(err, &place, "the command %s cannot be run: %m", program);
}

int job_fetch_check(const struct job *job, struct sb_error *err)
{
	const struct job_fetch *fetch = &job->fetch;
	const struct job_place place = job_places_find(&job->places, &fetch->piece);
	int code = job->recording ? check_url(job, job->recording, err) : 0;

	for (size_t i = 0; i < job->recordings.count && !code; i++)
		code = check_url(job, job->recordings.value[i], err);
	if (!code && fetch->piece &&
	    (fetch->piece < job_fetch_piece_least || fetch->piece > job_fetch_piece_most))
		code = job_fail_at(err, &place, "expected a piece of 4K to 1G, found %" PRIu64 " bytes",
		                   fetch->piece);
	if (!code)
		code = check_program(job, &fetch->size, err);
	return code ? code : check_program(job, &fetch->range, err);
}
