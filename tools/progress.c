/* progress.c - see progress.h. */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { bar_width = 30 };

static const uint64_t second = 1000000000;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * second + (uint64_t)now.tv_nsec;
}

void progress_begin(struct progress *progress, const char *label, bool quiet, bool asked)
{
	const bool terminal = isatty(STDERR_FILENO);

	progress->shown = asked || (!quiet && terminal);
	progress->lines = !terminal;
	progress->label = label ? label : "";
	progress->start = progress->drawn = progress->shown ? now_ns() : 0;
}

void progress_text(char *text, unsigned int size, uint64_t done, uint64_t total, uint64_t elapsed)
{
	double part = total ? (double)done / (double)total : 0;
	double seconds = (double)elapsed / (double)second;
	double rate = seconds > 0 ? (double)done / seconds : 0;
	char bar[bar_width + 1], left[32] = "--:--";

	if (part > 1)
		part = 1;
	for (int i = 0; i < bar_width; i++)
		bar[i] = i < (int)(part * bar_width) ? '=' : ' ';
	bar[bar_width] = '\0';
	if (rate > 0 && total >= done) {
		double remaining = (double)(total - done) / rate;

		if (remaining < 360000)
			snprintf(left, sizeof(left), "%02u:%02u", (unsigned int)remaining / 60,
			         (unsigned int)remaining % 60);
	}
	snprintf(text, size, "%3d%% [%s] %.1f MB/s, %s left", (int)(part * 100), bar, rate / 1e6, left);
}

/* Whether to draw now; then *now is when. */
static bool is_due(struct progress *progress, bool is_end, uint64_t *now)
{
	if (!progress->shown)
		return false;
	*now = now_ns();
	if (*now - progress->drawn < (progress->lines ? 2 * second : second / 10) &&
	    !(progress->lines && is_end))
		return false;
	progress->drawn = *now;
	return true;
}

static void draw(const struct progress *progress, const char *text)
{
	if (progress->lines)
		fprintf(stderr, "%s%s\n", progress->label, text);
	else
		fprintf(stderr, "\r%s%s\x1b[K", progress->label, text);
	fflush(stderr);
}

void progress_update(struct progress *progress, uint64_t done, uint64_t total)
{
	char text[128];
	uint64_t now;

	if (!is_due(progress, done == total, &now))
		return;
	progress_text(text, sizeof(text), done, total, now - progress->start);
	draw(progress, text);
}

void progress_say(struct progress *progress, const char *text)
{
	uint64_t now;

	if (is_due(progress, false, &now))
		draw(progress, text);
}

void progress_clear(const struct progress *progress)
{
	if (progress->shown && !progress->lines && progress->drawn != progress->start)
		fputs("\r\x1b[K", stderr);
}

void progress_end(struct progress *progress)
{
	progress_clear(progress);
	progress->shown = false;
}
