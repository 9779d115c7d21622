/* code_history.h - pieces of code that come and go: which one ends which. */
#ifndef SB_CODE_HISTORY_H
#define SB_CODE_HISTORY_H

#include <stddef.h>

#include "binary/jitdump.h"

/* Sorts by time. What comes over a part of older code of the same process ends it; what was moved takes its
 * bytes and its name along, if code with its index and its size stood where it is said to come from. Zero or
 * -sbe_nomem. */
int code_history(struct jitdump_code *code, size_t count);

#endif
