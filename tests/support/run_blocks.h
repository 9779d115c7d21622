/* The blocks of a run, or of replayed flow, by number: for tests that look at a few. */
#ifndef RUN_BLOCKS_H
#define RUN_BLOCKS_H

#include <stddef.h>

#include <intel-pt-run.h>

static inline const struct pt_run_block *run_block(const struct pt_run *run, uint32_t number)
{
	for (uint32_t p = 0; p < run->npaths; ++p) {
		if (number < run->path[p]->nblocks)
			return &run->path[p]->block[number];
		number -= run->path[p]->nblocks;
	}
	return NULL;
}

#endif
