/* Code of a recording from its sideband: a raw stream of perf records (.pevent), and the files that ran below
 * a root directory. All processes land in one image, the last mapping on top, so that with several of them
 * the code is partly wrong: both decoders then see the same wrong code. */
#ifndef DIFF_RECORDING_H
#define DIFF_RECORDING_H

#include "case.h"

/* Zero, or -1 with a message on stderr. Files that are not there are left out. */
int recording_add(struct diff_case *c, const char *pevent, const char *root);

#endif
