/* remap.c DIR HOW - what is executed at one address changes again and again. Two files in DIR have code of
 * the same branches, but not the same instructions, so that a trace fits either. HOW is files    now the one,
 * now the other is mapped there write    one is mapped there, writable, and the process writes the other's
 * code over it protect  the same, but it is writable only while that is done
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, ROUNDS = 20, CODE_SIZE = 13 };

/* mov ecx, 5; three nops, of one byte each or together; dec ecx; jnz to behind the first or to the nop; ret
 */
static const unsigned char code[2][CODE_SIZE] = {
        {0xb9, 5, 0, 0, 0, 0x90, 0x90, 0x90, 0xff, 0xc9, 0x75, 0xf9, 0xc3},
        {0xb9, 5, 0, 0, 0, 0x0f, 0x1f, 0x00, 0xff, 0xc9, 0x75, 0xf9, 0xc3},
};

static void *const at = (void *)0x7e0000000000;

static int make_file(const char *directory, int which)
{
	unsigned char page[PAGE] = {0};
	char name[4096];
	int fd;

	snprintf(name, sizeof(name), "%s/code%d", directory, which);
	memcpy(page, code[which], CODE_SIZE);
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	return fd < 0 || write(fd, page, PAGE) == PAGE ? fd : -1;
}

static int map_file(int fd)
{
	return mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0) == at ? 0 : -1;
}

static int protect(int more)
{
	return mprotect(at, PAGE, PROT_READ | PROT_EXEC | more);
}

static void run(void)
{
	union {
		void *object;
		void (*function)(void);
	} it = {at};

	it.function();
}

int main(int argc, char **argv)
{
	const int written = argc == 3 && strcmp(argv[2], "files") != 0;
	const int stays_writable = written && strcmp(argv[2], "write") == 0;
	int fd[2], status;

	if (argc != 3 || (fd[0] = make_file(argv[1], 0)) < 0 || (fd[1] = make_file(argv[1], 1)) < 0)
		return 2;
	status = map_file(fd[0]);
	run();
	if (stays_writable && status == 0)
		status = protect(PROT_WRITE);
	for (int i = 1; i <= ROUNDS && status == 0; ++i) {
		if (!written) {
			status = map_file(fd[i % 2]);
		} else if (!stays_writable) {
			status = protect(PROT_WRITE);
		}
		if (written && status == 0)
			memcpy(at, code[i % 2], CODE_SIZE);
		if (written && !stays_writable && status == 0)
			status = protect(0);
		if (status == 0)
			run();
	}
	return status == 0 ? 0 : 1;
}
