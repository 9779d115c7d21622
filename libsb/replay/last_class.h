/* last_class.h - what the instruction before the one that is looked at can do: for those who try ways. */
#ifndef SB_LAST_CLASS_H
#define SB_LAST_CLASS_H

#include <intel-pt-run.h>

/* What the last instruction of @run does; @before: there is none. */
static inline uint8_t last_class_of(const struct pt_run *run, uint8_t before)
{
	const struct pt_run_path *last = run->npaths ? run->path[run->npaths - 1] : NULL;

	return last ? last->block[last->nblocks - 1].iclass : before;
}

/* Whether an instruction can lead from user space to the kernel, or back. */
static inline int last_class_can_leave(uint8_t iclass)
{
	switch (iclass) {
	case ptic_call:
	case ptic_return:
	case ptic_jump:
	case ptic_cond_jump:
	case ptic_indirect:
		return 0;
	default:
		return 1;
	}
}

#endif
