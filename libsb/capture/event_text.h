/* event_text.h - the parts of an event's string; see sb/event.h for its forms. */
#ifndef SB_EVENT_TEXT_H
#define SB_EVENT_TEXT_H

#include <stddef.h>

#include <sb/error.h>

enum { event_terms_most = 64 };

struct event_term {
	const char *name, *value; /* value NULL: none was given */
};

struct event_terms {
	struct event_term term[event_terms_most];
	size_t count;
};

struct event_text {
	char *copy;                    /* owned; what all others point into */
	const char *pmu;               /* NULL: the string has no slashes */
	const char *name;              /* of the event, up to the first colon; NULL with a PMU */
	struct event_terms attributes; /* between the slashes */
	struct event_terms modifiers;  /* behind them, or behind colons, where sub-events stand, too */
};

/* The length of the first event in @list. */
size_t event_text_first(const char *list);

/* What is between separators; an empty text holds nothing. Zero or a negative code. */
int event_terms_split(struct event_terms *terms, char *text, const char *separator, struct sb_error *err);

/* Takes @size characters of @text apart. Zero, or a negative enum sb_event_errcode. */
int event_text_parse(struct event_text *parts, const char *text, size_t size, struct sb_error *err);
void event_text_free(struct event_text *parts);

#endif
