/* event_text.c - see event_text.h. */
#include "capture/event_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "capture/event_error.h"

size_t event_text_first(const char *list)
{
	int inside = 0;
	size_t size = 0;

	for (; list[size] && (inside || list[size] != ','); ++size)
		inside ^= list[size] == '/';
	return size;
}

static int add_term(struct event_terms *terms, char *text, struct sb_error *err)
{
	char *value = strchr(text, '=');

	if (value)
		*value++ = '\0';
	if (!*text)
		return event_fail(err, sb_event_bad_attr, "an attribute without a name");
	if (terms->count == event_terms_most)
		return event_fail(err, sb_event_bad_attr, "more than %d attributes", event_terms_most);
	terms->term[terms->count++] = (struct event_term){text, value};
	return 0;
}

int event_terms_split(struct event_terms *terms, char *text, const char *separator, struct sb_error *err)
{
	char *rest = *text ? text : NULL, *one;
	int status = 0;

	terms->count = 0;
	while (status == 0 && (one = strsep(&rest, separator)))
		status = add_term(terms, one, err);
	return status;
}

static int parse_pmu(struct event_text *parts, char *slash, struct sb_error *err)
{
	char *end;
	int status;

	*slash++ = '\0';
	parts->pmu = parts->copy;
	end = strchr(slash, '/');
	if (!end)
		return event_fail(err, sb_event_invalid, "no second slash behind %s/%s", parts->pmu, slash);
	*end++ = '\0';
	status = event_terms_split(&parts->attributes, slash, ",", err);
	return status < 0 ? status
	                  : event_terms_split(&parts->modifiers, *end == ':' ? end + 1 : end, ":", err);
}

/* libpfm4's names of events stand behind "PMU::". */
static int parse_named(struct event_text *parts, struct sb_error *err)
{
	char *scope = strstr(parts->copy, "::"), *colon = strchr(scope ? scope + 2 : parts->copy, ':');

	parts->name = parts->copy;
	if (!colon)
		return 0;
	*colon++ = '\0';
	if (!*colon)
		return event_fail(err, sb_event_bad_attr, "nothing behind the colon of %s:", parts->name);
	return event_terms_split(&parts->modifiers, colon, ":", err);
}

static int check(const char *text, struct sb_error *err)
{
	if (!*text)
		return event_fail(err, sb_event_invalid, "no event: the string is empty");
	for (const char *at = text; *at; ++at) {
		if (*at == '{' || *at == '}' || isspace((unsigned char)*at))
			return event_fail(err, sb_event_invalid,
			                  "one event is expected, not a group or a list: %s", text);
		if (!isprint((unsigned char)*at))
			return event_fail(err, sb_event_invalid, "byte 0x%02x in an event's name",
			                  (unsigned char)*at);
	}
	return 0;
}

int event_text_parse(struct event_text *parts, const char *text, size_t size, struct sb_error *err)
{
	char *slash;
	int status;

	*parts = (struct event_text){0};
	parts->copy = strndup(text, size);
	if (!parts->copy)
		return event_fail(err, sb_event_nomem, "out of memory");
	status = check(parts->copy, err);
	slash = strchr(parts->copy, '/');
	if (status == 0)
		status = slash ? parse_pmu(parts, slash, err) : parse_named(parts, err);
	if (status < 0)
		event_text_free(parts);
	return status;
}

void event_text_free(struct event_text *parts)
{
	free(parts->copy);
	parts->copy = NULL;
}
