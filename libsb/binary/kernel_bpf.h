/* kernel_bpf.h - BPF programs as code of the kernel: the images that perf found (BPF_PROG_INFO), each for as
 * long as the sideband says that its program was loaded.
 *
 * BPF_EVENT says it by the program's id; where it is silent, KSYMBOL does by the address. Programs of which
 * neither was heard were there all the time, unless another program was announced in their place. Where a
 * program was announced whose image nobody has, nothing is known: kcore's bytes are from another time.
 */
#ifndef SB_KERNEL_BPF_H
#define SB_KERNEL_BPF_H

#include <sb/perfdata.h>
#include <sb/system.h>

#include "binary/kernel_bodies.h"

/* Zero or a negative code: see kernel_bodies_add(). The bytes are the recording's. */
int kernel_bpf_add(struct kernel_bodies *bodies, const struct sb_bpf_image *image, size_t nimages,
                   const struct sb_system *system);

#endif
