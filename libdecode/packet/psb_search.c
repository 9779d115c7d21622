/* Searching PSB packets, eight bytes at a time.
 *
 * A PSB is eight times 02 82. Wherever it begins, it covers one whole word of any grid of 8-byte
 * words, and that word is one of two values: only there the exact place has to be looked for.
 *
 * A payload in front of a PSB may happen to end in 02 82. Nothing that may follow a PSB begins
 * so: in a longer row of the pattern, it is the last 16 bytes that are the PSB.
 */
#include "packet/psb_search.h"
#include "packet/bytes.h"

enum { word_size = 8 };

static const uint64_t word_even = 0x8202820282028202; /* 02 first */
static const uint64_t word_odd = 0x0282028202820282;  /* 82 first */

static int is_pattern(uint64_t word)
{
	return word == word_even || word == word_odd;
}

int pt_psb_at(const uint8_t *pos, const uint8_t *end)
{
	return end - pos >= pt_psb_size && pt_get64(pos) == word_even &&
	       pt_get64(pos + word_size) == word_even;
}

/* A PSB that covers the word at @word and lies in [begin, end); the first of them. */
static const uint8_t *psb_around(const uint8_t *word, const uint8_t *begin, const uint8_t *end)
{
	const uint8_t *pos = word - begin < word_size ? begin : word - (word_size - 1);

	for (; pos <= word; pos++) {
		if (pt_psb_at(pos, end))
			return pos;
	}
	return NULL;
}

/* The last PSB of the row of 02 82 that begins with the PSB at @psb. */
static const uint8_t *last_of_row(const uint8_t *psb, const uint8_t *end)
{
	const uint8_t *row = psb + pt_psb_size;

	while (end - row >= word_size && pt_get64(row) == word_even)
		row += word_size;
	while (end - row >= 2 && row[0] == 0x02 && row[1] == 0x82)
		row += 2;
	return row - pt_psb_size;
}

const uint8_t *pt_psb_forward(const uint8_t *pos, const uint8_t *end)
{
	const uint8_t *word;

	for (word = pos; end - word >= word_size; word += word_size) {
		const uint8_t *psb;

		if (!is_pattern(pt_get64(word)))
			continue;
		psb = psb_around(word, pos, end);
		if (psb)
			return last_of_row(psb, end);
	}
	return NULL;
}

const uint8_t *pt_psb_backward(const uint8_t *pos, const uint8_t *begin)
{
	const uint8_t *word;

	if (pos - begin < pt_psb_size)
		return NULL;
	/* From the back, a row's last PSB is met first. A word that is part of it is its last whole one on
	 * the grid or the one before, so it begins at most 16 bytes before that word. */
	for (word = pos - word_size;; word -= word_size) {
		if (is_pattern(pt_get64(word))) {
			const uint8_t *psb = word;

			for (; psb >= begin && word - psb <= word_size; psb--) {
				if (pt_psb_at(psb, pos))
					return psb;
				if (psb == begin)
					break;
			}
		}
		if (word - begin < word_size)
			return NULL;
	}
}
