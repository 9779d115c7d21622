/* two_codes.h - two files whose code has the same branches, but not the same instructions: a trace fits
 * either.
 */
#ifndef TWO_CODES_H
#define TWO_CODES_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, CODE_SIZE = 13 };

/* mov ecx, 5; three nops, of one byte each or together; dec ecx; jnz to behind the first or to the nop; ret
 */
static const unsigned char code[2][CODE_SIZE] = {
        {0xb9, 5, 0, 0, 0, 0x90, 0x90, 0x90, 0xff, 0xc9, 0x75, 0xf9, 0xc3},
        {0xb9, 5, 0, 0, 0, 0x0f, 0x1f, 0x00, 0xff, 0xc9, 0x75, 0xf9, 0xc3},
};

static void *const at = (void *)0x7e0000000000;

static inline int make_file(const char *directory, int which)
{
	unsigned char page[PAGE] = {0};
	char name[4096];
	int fd;

	snprintf(name, sizeof(name), "%s/code%d", directory, which);
	memcpy(page, code[which], CODE_SIZE);
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	return fd < 0 || write(fd, page, PAGE) == PAGE ? fd : -1;
}

static inline int map_file(int fd)
{
	return mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) == at ? 0 : -1;
}

static inline void run(void)
{
	union {
		void *object;
		void (*function)(void);
	} it = {at};

	it.function();
}

#endif
