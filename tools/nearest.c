/* nearest.c - the edit distance with transpositions (optimal string alignment) between short words.
 * Longer words are no names of ours, and are never near to one. */
#include "nearest.h"

#include <stdio.h>
#include <string.h>

enum { max_word = 40 };

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* Three rows of the usual matrix are enough: the last one, and two before for transpositions. */
static unsigned int edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned int rows[3][max_word + 1];
	unsigned int *before = rows[0], *last = rows[1], *now = rows[2];

	for (size_t j = 0; j <= nb; j++)
		last[j] = (unsigned int)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned int *spare = before;

		now[0] = (unsigned int)i;
		for (size_t j = 1; j <= nb; j++) {
			unsigned int differ = a[i - 1] != b[j - 1];

			now[j] = least(last[j - 1] + differ, least(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], before[j - 2] + 1);
		}
		before = last;
		last = now;
		now = spare;
	}
	return last[nb];
}

void nearest_begin(struct nearest *nearest, const char *typed)
{
	size_t length = strlen(typed);

	nearest->typed = typed;
	nearest->best = NULL;
	nearest->all[0] = '\0';
	/* One mistake in short words, two in longer ones, but never as many as there are letters. */
	nearest->distance = length < 2 ? 0 : length < 5 ? 2 : 3;
	if (length > max_word)
		nearest->distance = 0;
}

void nearest_offer(struct nearest *nearest, const char *word)
{
	size_t length = strlen(word), typed_length = strlen(nearest->typed), used = strlen(nearest->all);
	unsigned int distance;

	snprintf(nearest->all + used, sizeof(nearest->all) - used, "%s%s", used ? ", " : "", word);
	if (!nearest->distance || length > max_word)
		return;
	distance = edit_distance(nearest->typed, typed_length, word, length);
	/* An abbreviation ("sum") is one mistake, however much is left out. */
	if (distance > 1 && typed_length >= 3 && !strncmp(nearest->typed, word, typed_length))
		distance = 1;
	if (distance >= nearest->distance)
		return;
	nearest->distance = distance;
	nearest->best = word;
}
