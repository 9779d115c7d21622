/* live_kernel.h - the kernel's own code when a recording begins: where it is, and the modules. */
#ifndef SB_LIVE_KERNEL_H
#define SB_LIVE_KERNEL_H

#include <sb/perfdata_write.h>

/* Writes where the kernel's code and its modules are, with their build-ids, from @proc/kallsyms,
 * @proc/modules, and @sysfs. What may not be known is not written: *missing is then a sentence, else NULL.
 * Zero or an error of the writer. */
int live_kernel_write(struct sb_perfdata_writer *writer, const char *proc, const char *sysfs,
                      const char **missing, struct sb_error *err);

#endif
