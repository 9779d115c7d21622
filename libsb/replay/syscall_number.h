/* syscall_number.h - which system call stands before an address, as the code there says by itself.
 */
#ifndef SB_SYSCALL_NUMBER_H
#define SB_SYSCALL_NUMBER_H

#include <stddef.h>
#include <stdint.h>

enum {
	SYSCALL_CODE_MAX = 48, /* so much code before an address is enough */
	syscall_none = -1,     /* there is no system call */
	syscall_any = -2       /* there is one, but the code does not say which */
};

/* @code: what stands before the address, up to it. */
int syscall_number(const uint8_t *code, size_t size);

/* The low half of its first argument. Whether the code says it. */
int syscall_argument(const uint8_t *code, size_t size, uint32_t *argument);

#endif
