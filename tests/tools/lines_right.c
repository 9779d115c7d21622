/* lines_right.c - is the flow of a CPU part of its truth?
 *
 * Where lines are missing, code that runs again and again fits in several places. None of them is chosen: all
 * that are possible are followed, each with the number of stretches that are missing up to there.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"

int flow_among(struct stretch truth, struct stretch flow, uint64_t slack)
{
	size_t i = 0;

	for (size_t j = 0; j < flow.count; j++, i++) {
		const struct line *line = &flow.line[j];

		while (i < truth.count && truth.line[i].tsc <= line->tsc + slack &&
		       (!same_but_time(&truth.line[i], line) || truth.line[i].tsc + slack < line->tsc))
			i++;
		if (i == truth.count || !same_but_time(&truth.line[i], line) ||
		    truth.line[i].tsc > line->tsc + slack) {
			printf("CPU %d: line %zu is not in the truth: ", line->cpu, j + 1);
			return differs("", line);
		}
	}
	return 0;
}

/* Where the next line of the flow may be in the truth, and how many stretches are missing before. Places
 * ascend. */
struct place {
	size_t at;
	uint64_t gaps;
};

struct places {
	struct place *place;
	size_t count, room;
};

/* Whoever is behind another one with no fewer gaps more can do nothing that the other cannot. */
static void add(struct places *places, size_t at, uint64_t gaps, uint64_t *fewest)
{
	if (places->count && *fewest < gaps)
		return;
	*fewest = gaps;
	if (places->count && places->place[places->count - 1].at == at) {
		places->place[places->count - 1].gaps = gaps;
		return;
	}
	if (places->count == places->room)
		places->place =
		        room_for(places->place, places->room = 2 * places->room + 64, sizeof(struct place));
	places->place[places->count++] = (struct place){at, gaps};
}

/* How much later than the flow says a line may have been executed, in ticks, when it is looked for. */
enum { SLACK = 3000 };

/* The places behind @line, given those before it: straight on where it fits; else somewhere behind, and a
 * stretch is missing. */
static void step(struct stretch truth, const struct line *line, const struct places *now, struct places *next,
                 uint64_t gaps)
{
	uint64_t lost = UINT64_MAX,
	         fewest = UINT64_MAX; /* gaps of those that do not fit; of those that are next */
	size_t k = 0, i = now->count ? now->place[0].at : truth.count;

	next->count = 0;
	while (i < truth.count) {
		const int fits = same_but_time(&truth.line[i], line);

		for (; k < now->count && now->place[k].at == i; k++)
			if (fits)
				add(next, i + 1, now->place[k].gaps, &fewest);
			else if (now->place[k].gaps < lost)
				lost = now->place[k].gaps;
		if (fits && lost < gaps && truth.line[i].tsc <= line->tsc + SLACK)
			add(next, i + 1, lost + 1, &fewest);
		/* Nobody else comes, or those who do not fit find nothing that is better. */
		if (lost >= gaps || lost + 1 > fewest || truth.line[i].tsc > line->tsc + SLACK) {
			if (k == now->count)
				break;
			if (now->place[k].at > i) {
				i = now->place[k].at;
				continue;
			}
		}
		i++;
	}
}

int flow_right(struct stretch truth, struct stretch flow, uint64_t gaps)
{
	struct places places[2] = {{0}};
	uint64_t fewest = UINT64_MAX;
	int failed = 0;

	add(&places[0], 0, 0, &fewest);
	for (size_t j = 0; !failed && j < flow.count; j++) {
		step(truth, &flow.line[j], &places[j % 2], &places[(j + 1) % 2], gaps);
		if (places[(j + 1) % 2].count)
			continue;
		printf("CPU %d: with %" PRIu64 " gaps, line %zu is not where it could be in the truth: ",
		       flow.line[j].cpu, gaps, j + 1);
		failed = differs("", &flow.line[j]);
	}
	free(places[0].place);
	free(places[1].place);
	return failed;
}

/* ---- Counting ---------------------------------------------------------------------------------- */

struct text {
	char *text;
	uint64_t count;
};

/* As large as a power of two, at most half full. */
struct table {
	struct text *slot;
	size_t size, count;
};

static struct text *find(struct table *table, const char *text, size_t length)
{
	uint64_t hash = 14695981039346656037u; /* FNV-1a */
	size_t at;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
	at = (hash ^ hash >> 32) & (table->size - 1);
	while (table->slot[at].text &&
	       (strncmp(table->slot[at].text, text, length) || table->slot[at].text[length]))
		at = (at + 1) & (table->size - 1);
	return &table->slot[at];
}

static void grow(struct table *table)
{
	struct table larger = {.size = table->size ? 2 * table->size : 1 << 12, .count = table->count};

	larger.slot = room_for(NULL, larger.size, sizeof(*larger.slot));
	memset(larger.slot, 0, larger.size * sizeof(*larger.slot));
	for (size_t i = 0; i < table->size; i++)
		if (table->slot[i].text)
			*find(&larger, table->slot[i].text, strlen(table->slot[i].text)) = table->slot[i];
	free(table->slot);
	*table = larger;
}

int lines_count(FILE *file, size_t column)
{
	struct table table = {0};
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, file) > 0) {
		const char *at = line;
		struct text *text;
		size_t length;

		for (size_t i = 1; at && i < column; i++)
			at = (at = strchr(at, '\t')) ? at + 1 : NULL;
		if (!at)
			give_up("standard input: expected %zu columns, found %.40s", column, line);
		length = strcspn(at, "\t\n");
		if (2 * table.count >= table.size)
			grow(&table);
		text = find(&table, at, length);
		if (!text->text) {
			text->text = strndup(at, length);
			table.count++;
		}
		text->count++;
	}
	for (size_t i = 0; i < table.size; i++) {
		if (table.slot[i].text)
			printf("%s %" PRIu64 "\n", table.slot[i].text, table.slot[i].count);
		free(table.slot[i].text);
	}
	free(table.slot);
	free(line);
	return ferror(file) || ferror(stdout) || fflush(stdout) ? 2 : 0;
}
