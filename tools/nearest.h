/* tools/nearest.h - "did you mean": the known word that is nearest to a mistyped one.
 *
 * The caller walks its own table, of whatever rows, and offers each word:
 *
 *   struct nearest nearest;
 *   nearest_begin(&nearest, typed);
 *   for (each row) nearest_offer(&nearest, row->name);
 *   nearest.best is a word of the table, or NULL when none is near enough; nearest.all is what there is.
 */
#ifndef TOOLS_NEAREST_H
#define TOOLS_NEAREST_H

struct nearest {
	const char *typed;
	const char *best;
	unsigned int distance; /* a word must be nearer than this to be taken */
	char all[256];         /* the words that were offered: "a, b, c", as far as they have room */
};

void nearest_begin(struct nearest *nearest, const char *typed);
void nearest_offer(struct nearest *nearest, const char *word);

#endif
