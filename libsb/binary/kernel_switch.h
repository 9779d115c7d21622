/* kernel_switch.h - where the kernel changes from one thread to another, when no symbols say it: its code
 * does. __switch_to_asm() saves the registers that a function may not change, its stack in the one thread's
 * task_struct, and takes the other's from the same place in the other's.
 */
#ifndef SB_KERNEL_SWITCH_H
#define SB_KERNEL_SWITCH_H

#include "binary/kernel_base.h"

/* The address of __switch_to_asm(); zero: it is not found, or what looks like it is there more than once. */
uint64_t kernel_switch_find(const struct kernel_base *base);

#endif
