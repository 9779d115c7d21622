/* Searching PSB packets, a block of 64 bytes at a time.
 *
 * A PSB is eight times 02 82. Wherever it begins, it covers one whole word of any grid of 8-byte
 * words, and that word is one of two values: only there the exact place has to be looked for. Whether
 * a block may have such a word is told by comparing its halves of words, four by one instruction.
 *
 * A payload in front of a PSB may happen to end in 02 82. Nothing that may follow a PSB begins
 * so: in a longer row of the pattern, it is the last 16 bytes that are the PSB.
 */
#include "packet/psb_search.h"
#include "packet/bytes.h"

enum { word_size = 8, block_size = 64 };

/* Halves of words. */
typedef uint32_t halves __attribute__((vector_size(16)));

static const uint64_t word_even = 0x8202820282028202; /* 02 first */
static const uint64_t word_odd = 0x0282028202820282;  /* 82 first */

static int is_pattern(uint64_t word)
{
	return word == word_even || word == word_odd;
}

/* Whether half a word of the pattern is in the block, on its grid. */
static int may_have_word(const uint8_t *block)
{
	const uint32_t half_even = htole32((uint32_t)word_even), half_odd = htole32((uint32_t)word_odd);
	halves any = {0}, part;
	uint64_t words[2];

	for (int i = 0; i < block_size; i += (int)sizeof(part)) {
		memcpy(&part, block + i, sizeof(part));
		any |= (halves)(part == half_even) | (halves)(part == half_odd);
	}
	memcpy(words, &any, sizeof(words));
	return (words[0] | words[1]) != 0;
}

int pt_psb_at(const uint8_t *pos, const uint8_t *end)
{
	return end - pos >= pt_psb_size && pt_get64(pos) == word_even &&
	       pt_get64(pos + word_size) == word_even;
}

/* The first, and the last, PSB in [begin, end) that covers the word at @word: it begins up to eight bytes
 * before it. */
static const uint8_t *first_around(const uint8_t *word, const uint8_t *begin, const uint8_t *end)
{
	const uint8_t *pos = word - begin < word_size ? begin : word - word_size;

	for (; pos <= word; pos++) {
		if (pt_psb_at(pos, end))
			return pos;
	}
	return NULL;
}

static const uint8_t *last_around(const uint8_t *word, const uint8_t *begin, const uint8_t *end)
{
	ptrdiff_t back = word - begin < word_size ? word - begin : word_size;

	for (ptrdiff_t i = 0; i <= back; i++) {
		if (pt_psb_at(word - i, end))
			return word - i;
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
	const uint8_t *word = pos;

	while (end - word >= word_size) {
		const uint8_t *const stop = end - word < block_size ? end : word + block_size;

		if (stop - word == block_size && !may_have_word(word)) {
			word = stop;
			continue;
		}
		for (; stop - word >= word_size; word += word_size) {
			const uint8_t *psb = is_pattern(pt_get64(word)) ? first_around(word, pos, end) : NULL;

			if (psb)
				return last_of_row(psb, end);
		}
	}
	return NULL;
}

const uint8_t *pt_psb_backward(const uint8_t *pos, const uint8_t *begin)
{
	const uint8_t *word = pos;

	/* from the back, the last PSB of a row is met first */
	while (word - begin >= word_size) {
		const uint8_t *const stop = word - begin < block_size ? begin : word - block_size;

		if (word - stop == block_size && !may_have_word(stop)) {
			word = stop;
			continue;
		}
		while (word - stop >= word_size) {
			const uint8_t *psb;

			word -= word_size;
			psb = is_pattern(pt_get64(word)) ? last_around(word, begin, pos) : NULL;
			if (psb)
				return psb;
		}
	}
	return NULL;
}
