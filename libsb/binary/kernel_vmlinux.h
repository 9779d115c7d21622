/* kernel_vmlinux.h - the kernel's code from the file that it was built as.
 *
 * vmlinux is not what runs: at boot the kernel patches tens of thousands of places in itself
 * (kernel_sites.h). What of them is not known is left out, so that it is a gap. What it drops after booting
 * is left out, too.
 */
#ifndef SB_KERNEL_VMLINUX_H
#define SB_KERNEL_VMLINUX_H

#include "binary/compressed_file.h"
#include "binary/kernel_regions.h"

/* The code of @vmlinux, moved by @shift: *regions of @code, a file without a name that the caller closes. It
 * is the very file when there is nothing that is patched: *code is -1 then. @kallsyms NULL: not known. Zero
 * or a negative code. */
int kernel_vmlinux_read(struct kernel_regions *regions, int *code, const struct plain_file *vmlinux,
                        const char *name, uint64_t shift, const char *kallsyms, struct sb_error *err);

#endif
