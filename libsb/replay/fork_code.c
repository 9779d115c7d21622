/* fork_code.c - see fork_code.h. System calls by number: asm/unistd_64.h. */
#include "replay/fork_code.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "replay/syscall_number.h"
#include "system/arena.h"

struct fork_answer {
	uint64_t key; /* first: sorted by it */
	enum fork_call call;
};

void fork_code_fini(struct fork_code *code)
{
	free(code->answer);
	code->answer = NULL;
	code->count = code->capacity = 0;
}

/* Which call there is before the end of @code. */
static enum fork_call call_before(const uint8_t *code, size_t size)
{
	uint32_t flags;

	switch (syscall_number(code, size)) {
	case SYS_fork:
		return fork_call_copies;
	case SYS_vfork:
		return fork_call_shares;
	case SYS_clone:
		if (!syscall_argument(code, size, &flags))
			return fork_call_any;
		return flags & CLONE_VM ? fork_call_shares : fork_call_copies;
	case SYS_clone3: /* its flags are in memory */
	case syscall_any:
		return fork_call_any;
	default:
		return fork_call_none;
	}
}

/* The code before @offset. Its size, or zero. */
static size_t read_before(const char *path, uint64_t offset, uint8_t code[SYSCALL_CODE_MAX])
{
	const size_t size = offset < SYSCALL_CODE_MAX ? offset : SYSCALL_CODE_MAX;
	const int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	const ssize_t count = file < 0 ? -1 : pread(file, code, size, (off_t)(offset - size));

	if (file >= 0)
		close(file);
	return count == (ssize_t)size ? size : 0;
}

/* Of code that is not of a file, nobody knows; but the vdso of 64 bits does not fork. */
enum fork_call fork_code_read(struct sb_resolver *resolver, const struct sb_system *system,
                              const struct sb_map *map, uint64_t ip)
{
	const struct sb_binary *binary;
	uint8_t code[SYSCALL_CODE_MAX];
	size_t size;

	if (!strcmp(map->filename, "[vdso]"))
		return ip >> 32 ? fork_call_none : fork_call_any;
	if (map->origin != sb_map_recorded || map->filename[0] != '/')
		return fork_call_any;
	if (sb_resolver_find_in(resolver, sb_map_scope(resolver, system, map), map, &binary, NULL) < 0 ||
	    binary->missing)
		return fork_call_any;
	size = read_before(binary->path, map->pgoff + (ip - map->begin), code);
	return size ? call_before(code, size) : fork_call_any;
}

int fork_code_look_up(struct fork_code *code, const struct sb_map *map, uint64_t ip)
{
	const uint64_t offset = map->pgoff + (ip - map->begin);
	const uint64_t key = (uintptr_t)map * 0x9e3779b97f4a7c15ull ^ offset;
	const size_t at = array_above(code->answer, code->count, sizeof(*code->answer), key);

	if (at && code->answer[at - 1].key == key)
		return (int)code->answer[at - 1].call;
	if (array_reserve(&code->answer, &code->capacity, code->count, sizeof(*code->answer)) < 0)
		return -sbe_nomem;
	memmove(code->answer + at + 1, code->answer + at, (code->count - at) * sizeof(*code->answer));
	code->answer[at] = (struct fork_answer){key, fork_code_read(code->resolver, code->system, map, ip)};
	code->count += 1;
	return (int)code->answer[at].call;
}

const struct sb_map *fork_code_map(const struct sb_system *system, int32_t pid, uint64_t ip, uint64_t time)
{
	const struct sb_space *space = sb_system_space(system, pid, time);
	const struct sb_epoch *epoch = space ? sb_space_epoch(space, time) : NULL;

	return epoch ? sb_epoch_code(epoch, ip) : NULL;
}
