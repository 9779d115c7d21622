/* remap.c DIR HOW - what is executed at one address changes again and again. Two files in DIR have code of
 * the same branches, but not the same instructions, so that a trace fits either. HOW is files    now the one,
 * now the other is mapped there write    one is mapped there, writable, and the process writes the other's
 * code over it protect  the same, but it is writable only while that is done
 */
#include <sys/mman.h>

#include "two_codes.h"

enum { ROUNDS = 20 };

static int protect(int more)
{
	return mprotect(at, PAGE, PROT_READ | PROT_EXEC | more);
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
