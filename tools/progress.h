/* tools/progress.h - a progress bar on stderr, when that is a terminal: percent, MB/s, time left. Elsewhere,
 * when it is asked for, a line every other second. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool shown;        /* false: every call does nothing */
	bool lines;        /* no terminal: a line each time */
	const char *label; /* before the bar */
	uint64_t start;    /* nanoseconds of the monotonic clock */
	uint64_t drawn;    /* when the bar was last drawn */
};

/* @quiet: never show a bar (standard output scrolls on the same terminal). @asked: show it in any case.
 * @label: before it, such as "2/7 "; borrowed, NULL: none. */
void progress_begin(struct progress *progress, const char *label, bool quiet, bool asked);

/* Draws ten times a second at most, and the end of what comes in lines; fit for sb_sink.progress through a
 * wrapper. Bytes. */
void progress_update(struct progress *progress, uint64_t done, uint64_t total);

/* The same for what has no end that is known: @text says how far it is. */
void progress_say(struct progress *progress, const char *text);

/* Something else is about to be written there: the bar makes room, until it is drawn again. */
void progress_clear(const struct progress *progress);

/* Takes the bar away. */
void progress_end(struct progress *progress);

/* The bar as text, without control characters: what progress_update() draws after @elapsed ns. */
void progress_text(char *text, unsigned int size, uint64_t done, uint64_t total, uint64_t elapsed);

#endif
