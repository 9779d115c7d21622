/* tools/progress.h - a progress bar on stderr, when that is a terminal: percent, MB/s, time left. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool shown;     /* false: every call does nothing */
	uint64_t start; /* nanoseconds of the monotonic clock */
	uint64_t drawn; /* when the bar was last drawn */
};

/* @quiet: never show one (standard output scrolls on the same terminal). */
void progress_begin(struct progress *progress, bool quiet);

/* Draws ten times a second at most; fit for sb_sink.progress through a wrapper. Bytes. */
void progress_update(struct progress *progress, uint64_t done, uint64_t total);

/* Takes the bar away. */
void progress_end(struct progress *progress);

/* The bar as text, without control characters: what progress_update() draws after @elapsed ns. */
void progress_text(char *text, unsigned int size, uint64_t done, uint64_t total, uint64_t elapsed);

#endif
