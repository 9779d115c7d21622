/* draw.h - numbers that look random, and are the same for the same seed. */
#ifndef TEST_DRAW_H
#define TEST_DRAW_H

#include <stdint.h>

static uint64_t random_state; /* the seed */

static inline uint32_t draw(uint32_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((random_state >> 33) % below);
}

#endif
