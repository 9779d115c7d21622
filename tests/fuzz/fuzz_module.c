/* fuzz_module.c - code of the kernel from its files: any file as a module (first byte odd), or as vmlinux.
 *
 * What comes out lies where it may, and what is known of it is there.
 */
#include <string.h>
#include <sys/stat.h>

#include "binary/kernel_base.h"
#include "binary/module_code.h"
#include "support/check.h"
#include "support/input.h"
#include "support/memory_file.h"
#include "support/target.h"

static struct memory_file file;

static void read_module(struct fuzz_input *in)
{
	static const uint8_t text[64] = {0xe9, 0xfb};
	struct kernel_state state = {.return_thunk = 0xffffffff81000200};
	const struct kallsyms_index kallsyms = {0};
	struct module_place place = {
	        .kallsyms = &kallsyms, .name = "[fuzz]", .begin = 0xffffffffc0000000, .state = &state};
	struct kernel_code code;
	uint64_t at, size, known = 0;
	char why[128];

	state.returns = (enum kernel_returns)fuzz_below(in, 4);
	state.keeps_indirect = fuzz_u8(in) & 1;
	place.begin += 16u * fuzz_u8(in);
	place.size = (uint64_t)fuzz_u8(in) << (fuzz_u8(in) % 48);
	FUZZ_CHECK(kernel_code_init(&state.text, place.begin - 32, sizeof(text)) == 0, "no memory");
	kernel_code_put(&state.text, state.text.begin, text, sizeof(text));
	memory_file_set(&file, in->pos, (size_t)(in->end - in->pos));
	if (module_code_read(&code, file.fd, &place, why) < 0) {
		FUZZ_CHECK(why[0] && memchr(why, '\0', sizeof(why)), "no reason");
		kernel_state_free(&state);
		return;
	}
	FUZZ_CHECK(code.begin == place.begin && code.size && code.size <= place.size, "code elsewhere");
	for (at = code.begin; (size = kernel_code_next(&code, &at)); at += size) {
		FUZZ_CHECK(kernel_code_has(&code, at, size), "known code elsewhere");
		known += size;
	}
	FUZZ_CHECK(known <= code.size, "more is known than there is");
	kernel_code_free(&code);
	kernel_state_free(&state);
}

static void read_vmlinux(struct fuzz_input *in)
{
	struct plain_file plain;
	struct kernel_base base;
	struct stat stat;

	memory_file_set(&file, in->pos, (size_t)(in->end - in->pos));
	if (open_maybe_compressed(&plain, file.name, 1 << 20, NULL) < 0 ||
	    kernel_base_open_vmlinux(&base, &plain, "vmlinux", 0x200000, NULL, NULL) < 0)
		return;
	FUZZ_CHECK(!base.regions.count || lstat(base.path, &stat) == 0, "a file that is not there");
	for (size_t i = 0; i < base.regions.count; i++)
		FUZZ_CHECK(base.regions.region[i].begin <= base.regions.region[i].end,
		           "region %zu is upside down", i);
	kernel_base_close(&base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, data + size};

	if (!file.name[0])
		memory_file_open(&file);
	if (fuzz_u8(&in) & 1)
		read_module(&in);
	else
		read_vmlinux(&in);
	return 0;
}
