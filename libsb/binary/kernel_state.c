/* kernel_state.c - see kernel_state.h. */
#include "binary/kernel_state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "binary/kallsyms.h"
#include "record/bytes.h"

enum {
	TEXT_MAX = 256 << 20,
	MANY = 1000, /* jumps to a thunk: a kernel that uses it has tens of thousands, others have a few */
	HALF_LINE = 0x20
};

/* What is looked for in kallsyms; sorted. */
enum { static_return0, indirect_last, indirect_first, return_plain, stext, return_its };

static const char *const names[] = {
        "__static_call_return0",
        "__x86_indirect_thunk_r15",
        "__x86_indirect_thunk_rax",
        "__x86_return_thunk",
        "_stext",
        "its_return_thunk",
        "retbleed_return_thunk",
        "srso_alias_return_thunk",
        "srso_return_thunk",
};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

/* Jumps and calls that were seen. */
struct counts {
	uint64_t to[NAMES];
	uint64_t indirect;
	uint64_t upper; /* jumps to its_return_thunk from the upper half of a cache line */
	uint64_t plain; /* ret, and int3 up to the length of a jump */
};

/* The region's bytes from @begin on. */
static int read_text(struct kernel_code *text, const struct kernel_base *kcore, uint64_t begin)
{
	const struct kernel_regions *regions = &kcore->regions;
	int status = 0;

	for (size_t i = 0; i < regions->count && !text->size; ++i) {
		const struct kernel_region *region = &regions->region[i];
		uint64_t size;

		if (begin < region->begin || begin >= region->end)
			continue;
		size = region->end - begin < TEXT_MAX ? region->end - begin : TEXT_MAX;
		status = kernel_code_init(text, begin, size);
		if (status == 0 && pread(kernel_base_fd(kcore), text->bytes, size,
		                         (off_t)(region->offset + (begin - region->begin))) != (ssize_t)size)
			kernel_code_free(text);
	}
	return status;
}

static void count_branch(struct counts *counts, const struct kallsyms_name *name, uint64_t from, uint64_t to)
{
	if (name[indirect_first].found == 1 && name[indirect_last].found == 1)
		counts->indirect += to >= name[indirect_first].address && to <= name[indirect_last].address;
	for (size_t i = 0; i < NAMES; ++i)
		counts->to[i] += name[i].found == 1 && to == name[i].address;
	counts->upper += name[return_its].found == 1 && to == name[return_its].address && (from & HALF_LINE);
}

static void count(struct counts *counts, const struct kallsyms_name *name, const struct kernel_code *text)
{
	static const uint8_t plain[] = {0xc3, 0xcc, 0xcc, 0xcc, 0xcc};

	for (uint64_t i = 0; i + sizeof(plain) <= text->size; ++i) {
		const uint8_t *bytes = text->bytes + i;
		const uint64_t from = text->begin + i;

		if (bytes[0] == 0xe8 || bytes[0] == 0xe9)
			count_branch(counts, name, from, from + 5 + (uint64_t)(int64_t)load_i32(bytes + 1));
		else
			counts->plain += memcmp(bytes, plain, sizeof(plain)) == 0;
	}
}

/* One thunk takes (nearly) all returns, or none does. */
static void judge(struct kernel_state *state, const struct counts *counts, const struct kallsyms_name *name)
{
	size_t nthunks = 0, thunk = 0;

	for (size_t i = 0; i < NAMES; ++i)
		if ((i == return_plain || i >= return_its) && counts->to[i] >= MANY) {
			nthunks += 1;
			thunk = i;
		}
	state->keeps_indirect = counts->indirect >= MANY;
	if (nthunks > 1 || (!nthunks && counts->plain < MANY))
		return;
	state->return_thunk = nthunks ? name[thunk].address : 0;
	if (!nthunks)
		state->returns = returns_in_place;
	else if (thunk != return_its)
		state->returns = counts->plain < MANY ? returns_thunk : returns_unknown;
	else if (counts->upper * MANY <= counts->to[thunk])
		state->returns = returns_by_half_line;
}

int kernel_state_read(struct kernel_state *state, const struct kernel_base *kcore, const char *kallsyms)
{
	struct kallsyms_name name[NAMES] = {{0}};
	struct counts counts = {0};
	int status;

	*state = (struct kernel_state){0};
	for (size_t i = 0; i < NAMES; ++i)
		name[i].name = names[i];
	if (!kallsyms || kallsyms_find_names(kallsyms, name, NAMES) < 0 || name[stext].found != 1)
		return 0;
	status = read_text(&state->text, kcore, name[stext].address);
	if (status < 0 || !state->text.size)
		return status;
	state->static_return0 = name[static_return0].found == 1 ? name[static_return0].address : 0;
	count(&counts, name, &state->text);
	judge(state, &counts, name);
	return 0;
}

void kernel_state_free(struct kernel_state *state)
{
	kernel_code_free(&state->text);
	*state = (struct kernel_state){0};
}
