/* live_kernel.h - the kernel's own code when a recording begins: where it is, and the modules. */
#ifndef SB_LIVE_KERNEL_H
#define SB_LIVE_KERNEL_H

#include <stdint.h>

#include <sb/perfdata_write.h>

/* Writes where the kernel's code and its modules are, with their build-ids, from @proc/kallsyms,
 * @proc/modules, and @sysfs. What may not be known is not written: *missing is then a sentence, else NULL.
 * Zero or an error: the writer's, or that we are short of memory or files. */
int live_kernel_write(struct sb_perfdata_writer *writer, const char *proc, const char *sysfs,
                      const char **missing, struct sb_error *err);

/* Calls back for each range of code: the kernel's, and the modules'. What the callback returns ends it when
 * it is negative, and is returned, without a word in @err. *missing and errors as above. */
int live_kernel_ranges(const char *proc, int (*take)(void *context, uint64_t begin, uint64_t end),
                       void *context, const char **missing, struct sb_error *err);

#endif
