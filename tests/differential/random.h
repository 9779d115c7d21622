/* A small generator of pseudo-random numbers (splitmix64): the same seed gives the same case everywhere. */
#ifndef DIFF_RANDOM_H
#define DIFF_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state;
};

static inline uint64_t random_next(struct random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* A number in [0, end). */
static inline uint32_t random_below(struct random *random, uint32_t end)
{
	return end ? (uint32_t)(random_next(random) % end) : 0;
}

/* True in @per_mille of 1000 cases. */
static inline int random_hit(struct random *random, uint32_t per_mille)
{
	return random_below(random, 1000) < per_mille;
}

#endif
