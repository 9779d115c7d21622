/* checkpoint_sum.h - a sum that tells damage, made about as fast as memory is read: four lanes of 64 bits.
 *
 * Not against who means to deceive: a plan's hash holds sums of sums, but such a sum can be forged.
 */
#ifndef SB_CHECKPOINT_SUM_H
#define SB_CHECKPOINT_SUM_H

#include <stdint.h>
#include <string.h>

enum { CHECKPOINT_SUM_BLOCK = 32 };

struct checkpoint_sum {
	uint64_t lane[4];
	uint64_t size;
	uint8_t rest[CHECKPOINT_SUM_BLOCK]; /* the last size % CHECKPOINT_SUM_BLOCK bytes */
};

static inline struct checkpoint_sum checkpoint_sum_begin(void)
{
	return (struct checkpoint_sum){
	        .lane = {0x243f6a8885a308d3u, 0x13198a2e03707344u, 0xa4093822299f31d0u, 0x082efa98ec4e6c89u}};
}

/* Odd, so nothing of what came before is lost. */
static inline uint64_t checkpoint_sum_mix(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
	return sum ^ sum >> 32;
}

static inline uint64_t checkpoint_sum_word(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* The lanes stay in registers: in memory, each would wait for itself to be stored. */
static inline void checkpoint_sum_blocks(struct checkpoint_sum *sum, const uint8_t *bytes, uint64_t count)
{
	uint64_t a = sum->lane[0], b = sum->lane[1], c = sum->lane[2], d = sum->lane[3];

	for (; count; --count, bytes += CHECKPOINT_SUM_BLOCK) {
		a = checkpoint_sum_mix(a, checkpoint_sum_word(bytes));
		b = checkpoint_sum_mix(b, checkpoint_sum_word(bytes + 8));
		c = checkpoint_sum_mix(c, checkpoint_sum_word(bytes + 16));
		d = checkpoint_sum_mix(d, checkpoint_sum_word(bytes + 24));
	}
	sum->lane[0] = a;
	sum->lane[1] = b;
	sum->lane[2] = c;
	sum->lane[3] = d;
}

static inline void checkpoint_sum_add(struct checkpoint_sum *sum, const void *begin, uint64_t size)
{
	const uint8_t *bytes = begin;
	const size_t had = sum->size % CHECKPOINT_SUM_BLOCK;

	if (!size)
		return;
	sum->size += size;
	if (had) {
		const size_t more =
		        size < CHECKPOINT_SUM_BLOCK - had ? (size_t)size : CHECKPOINT_SUM_BLOCK - had;

		memcpy(sum->rest + had, bytes, more);
		bytes += more;
		size -= more;
		if (had + more < CHECKPOINT_SUM_BLOCK)
			return;
		checkpoint_sum_blocks(sum, sum->rest, 1);
	}
	checkpoint_sum_blocks(sum, bytes, size / CHECKPOINT_SUM_BLOCK);
	if (size % CHECKPOINT_SUM_BLOCK)
		memcpy(sum->rest, bytes + size / CHECKPOINT_SUM_BLOCK * CHECKPOINT_SUM_BLOCK,
		       size % CHECKPOINT_SUM_BLOCK);
}

static inline uint64_t checkpoint_sum_end(struct checkpoint_sum *sum)
{
	const size_t had = sum->size % CHECKPOINT_SUM_BLOCK;
	uint64_t all = sum->size;

	if (had) {
		memset(sum->rest + had, 0, CHECKPOINT_SUM_BLOCK - had);
		checkpoint_sum_blocks(sum, sum->rest, 1);
	}
	for (int i = 0; i < 4; ++i)
		all = checkpoint_sum_mix(all, sum->lane[i]);
	return all;
}

static inline uint64_t checkpoint_sum_of(const void *bytes, uint64_t size)
{
	struct checkpoint_sum sum = checkpoint_sum_begin();

	checkpoint_sum_add(&sum, bytes, size);
	return checkpoint_sum_end(&sum);
}

#endif
