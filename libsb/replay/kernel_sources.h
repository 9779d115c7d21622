/* kernel_sources.h - where a recording's kernel code is: the files that the caller names, or what perf record
 * --kcore put beside the recording.
 */
#ifndef SB_KERNEL_SOURCES_H
#define SB_KERNEL_SOURCES_H

#include <sb/perfdata.h>
#include <sb/replay.h>
#include <sb/system.h>

#include "binary/kernel_text.h"

/* Zero or a negative code. A file that is named must be there. Modules are what @resolver finds. */
int kernel_text_open(struct kernel_text *text, const struct sb_perfdata *perfdata,
                     const struct sb_system *system, const struct sb_replay_options *options,
                     struct sb_resolver *resolver, struct sb_error *err);

/* Whether the files that are named are there, needed or not. Zero or a negative code. */
int kernel_files_check(const struct sb_replay_options *options, struct sb_error *err);

#endif
