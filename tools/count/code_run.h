/* tools/count/code_run.h - the code that ran as stretches without a branch in them, however trace and
 * interrupts cut it into blocks. */
#ifndef TOOLS_COUNT_CODE_RUN_H
#define TOOLS_COUNT_CODE_RUN_H

#include "count/code_view.h"

/* Instructions that stand one behind the other and ran equally often; at most the last one is a branch. */
struct code_run {
	uint64_t first, last; /* offsets of the first and the last one */
	uint64_t count;
	/* How often execution then went straight on although there is no branch: it came together with what
	 * came there from elsewhere. */
	uint64_t onward;
	uint64_t next; /* offset behind it */
};

/* The run that begins with instruction @index of @part, which there is: the index behind it. */
size_t code_part_run(const struct code_part *part, size_t index, struct code_run *run);

#endif
