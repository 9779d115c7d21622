/* kernel_sources.c - see kernel_sources.h. */
#include "replay/kernel_sources.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* perf record --kcore: kcore_dir in the recording's directory. */
static const char *beside(char path[PATH_MAX], const struct sb_perfdata *perfdata, const char *name)
{
	const int length = snprintf(path, PATH_MAX, "%s/kcore_dir/%s", sb_perfdata_path(perfdata), name);

	return length > 0 && length < PATH_MAX && access(path, R_OK) == 0 ? path : NULL;
}

/* Where the kernel stood less where it was linked to: the MMAP record of the kernel has the address of _text,
 * or of _stext, as its offset. */
static uint64_t shift_of(const char *vmlinux, const struct sb_system *system)
{
	static const char prefix[] = "[kernel.kallsyms]";
	size_t count;
	const struct sb_kernel_map *map = sb_system_kernel_maps(system, &count);

	for (size_t i = 0; i < count; ++i) {
		uint64_t linked;

		if (strncmp(map[i].name, prefix, sizeof(prefix) - 1) != 0)
			continue;
		linked = elf_symbol_address(vmlinux, map[i].name + sizeof(prefix) - 1);
		if (linked)
			return map[i].pgoff - linked;
	}
	return 0;
}

int kernel_text_open(struct kernel_text *text, const struct sb_perfdata *perfdata,
                     const struct sb_system *system, const struct sb_replay_options *options,
                     struct sb_error *err)
{
	static const char *const switches[] = {"__switch_to_asm", "__switch_to"};
	struct kernel_sources sources = {
	        .kcore = options->kcore, .vmlinux = options->vmlinux, .kallsyms = options->kallsyms};
	char kcore[PATH_MAX], kallsyms[PATH_MAX];
	size_t npokes;
	const struct sb_text_poke *poke = sb_system_text_pokes(system, &npokes);
	int status;

	if (!sources.kcore && !sources.vmlinux)
		sources.kcore = beside(kcore, perfdata, "kcore");
	if (!sources.kallsyms)
		sources.kallsyms = beside(kallsyms, perfdata, "kallsyms");
	if (sources.vmlinux)
		sources.vmlinux_shift = shift_of(sources.vmlinux, system);
	status = kernel_text_init(text, &sources, poke, npokes, err);
	for (int i = 0; status == 0 && sources.vmlinux && !text->switch_ip && i < 2; ++i) {
		const uint64_t linked = elf_symbol_address(sources.vmlinux, switches[i]);

		text->switch_ip = linked ? linked + sources.vmlinux_shift : 0;
	}
	return status;
}
