/* How well a decoding makes use of the run cache; asserts what pt_blk_run() promises of paths. */
#ifndef TEST_RUN_USE_H
#define TEST_RUN_USE_H

#include <intel-pt-run.h>

struct run_use {
	uint32_t numbered; /* paths with a number that came */
	uint32_t numbers;  /* how many there are, those before the cache was emptied counted again */
	uint32_t emptied;
	uint32_t runs;
	int status; /* the last */
};

/* Decodes from the first PSB to the end or the first error. A path with a number must be the same one, and
 * say the same, whenever it comes, until the cache is emptied. */
struct run_use run_use(const struct pt_config *config, struct pt_image *image, int events_inside);

#endif
