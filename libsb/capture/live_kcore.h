/* live_kcore.h - a copy of the kernel's code as it is in memory, beside a recording: kcore_dir, as
 * perf record --kcore makes it.
 */
#ifndef SB_LIVE_KCORE_H
#define SB_LIVE_KCORE_H

#include <sb/error.h>

/* Makes @directory with kcore - the kernel's code and the modules' alone -, kallsyms and modules, from @proc.
 * Zero, or an error that says why not. */
int live_kcore_copy(const char *directory, const char *proc, struct sb_error *err);

#endif
