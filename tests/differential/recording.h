/* Recordings: their code from the sideband, and their trace. All processes land in one image, the last
 * mapping on top, so that with several of them the code is partly wrong: both decoders then see the same
 * wrong code. */
#ifndef DIFF_RECORDING_H
#define DIFF_RECORDING_H

#include "case.h"

/* Code from a raw stream of perf records (.pevent), and the files that ran below a root directory. Zero, or
 * -1 with a message on stderr. Files that are not there are left out. */
int recording_add(struct diff_case *c, const char *pevent, const char *root);

/* Trace of one CPU and code of a perf.data file as `sbtrace record --software` writes it. Zero, or -1: no
 * such file, or no trace of such a CPU. */
int recording_open(struct diff_case *c, const char *perf_data, const char *root, unsigned cpu);

#endif
