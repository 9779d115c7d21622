/* load_bpf.c - loads a BPF program, which does nothing, and keeps it loaded while a command runs.
 *
 *   load_bpf FILE NAME COMMAND [ARGUMENTS]
 *
 * The program is called sbt_NAME. Appends its number to FILE. 77 when programs cannot be loaded here.
 */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { not_here = 77 };

static int load(const char *name)
{
	/* r0 = 0; exit */
	const struct bpf_insn insns[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = 2;
	attr.license = (uintptr_t) "GPL";
	/* Others may run the same test at this time. */
	snprintf(attr.prog_name, sizeof(attr.prog_name), "sbt_%s", name);
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

/* Its number; 0: it is not compiled. */
static unsigned int number_of(int fd)
{
	struct bpf_prog_info info;
	union bpf_attr attr;

	memset(&info, 0, sizeof(info));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	if (syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) < 0 || !info.jited_prog_len)
		return 0;
	return info.id;
}

int main(int argc, char **argv)
{
	const int fd = argc > 3 ? load(argv[2]) : -1;
	const unsigned int number = fd >= 0 ? number_of(fd) : 0;
	int status;
	FILE *file;
	pid_t pid;

	if (!number)
		return not_here;
	file = fopen(argv[1], "ae");
	if (!file || fprintf(file, "%u\n", number) < 0 || fclose(file))
		return 1;
	pid = fork();
	if (!pid) {
		execvp(argv[3], argv + 3);
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
