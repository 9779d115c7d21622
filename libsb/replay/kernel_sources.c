/* kernel_sources.c - see kernel_sources.h. */
#include "replay/kernel_sources.h"

#include <sb/bundle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "binary/kernel_bpf.h"

/* Files that were found; owned. */
struct found {
	char *kcore, *vmlinux, *kallsyms;
};

/* What perf record --kcore left with the recording, or the bundle has of it. */
static char *recorded(const struct sb_perfdata *perfdata, const struct sb_resolver *resolver,
                      const char *name)
{
	const char *directory = sb_perfdata_kcore_dir(perfdata);
	char *path = NULL;

	if (directory && asprintf(&path, "%s/%s", directory, name) < 0)
		return NULL;
	if (path && access(path, R_OK) == 0)
		return path;
	free(path);
	return sb_bundle_recorded_kernel(resolver, sb_perfdata_path(perfdata), name);
}

/* What the options do not name. A bundle's files that were named when it was made count as if they were named
 * again. */
static void find_sources(struct kernel_sources *sources, struct found *found,
                         const struct sb_perfdata *perfdata, const struct sb_resolver *resolver)
{
	const char *recording = sb_perfdata_path(perfdata);

	if (!sources->kcore && !sources->vmlinux) {
		sources->kcore = found->kcore = sb_bundle_named_kernel(resolver, recording, "kcore");
		sources->vmlinux = found->vmlinux = sb_bundle_named_kernel(resolver, recording, "vmlinux");
	}
	if (!sources->kcore && !sources->vmlinux)
		sources->kcore = found->kcore = recorded(perfdata, resolver, "kcore");
	if (!sources->kallsyms)
		sources->kallsyms = found->kallsyms = sb_bundle_named_kernel(resolver, recording, "kallsyms");
	if (!sources->kallsyms)
		sources->kallsyms = found->kallsyms = recorded(perfdata, resolver, "kallsyms");
}

/* The MMAP record of the kernel has the address of _text, or of _stext, as its offset. */
uint64_t sb_system_kernel_shift(const struct sb_system *system, const char *vmlinux)
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

/* Code that comes and goes. */
static int find_bodies(struct kernel_bodies *bodies, const struct sb_perfdata *perfdata,
                       const struct sb_system *system, struct sb_error *err)
{
	size_t nimages;
	const struct sb_bpf_image *image = sb_perfdata_bpf_images(perfdata, &nimages);

	if (kernel_bpf_add(bodies, image, nimages, system) < 0)
		return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	return 0;
}

int kernel_text_open(struct kernel_text *text, const struct sb_perfdata *perfdata,
                     const struct sb_system *system, const struct sb_replay_options *options,
                     struct sb_error *err)
{
	static const char *const switches[] = {"__switch_to_asm", "__switch_to"};
	struct kernel_sources sources = {
	        .kcore = options->kcore, .vmlinux = options->vmlinux, .kallsyms = options->kallsyms};
	struct found found = {0};
	struct kernel_bodies bodies = {0};
	size_t npokes;
	const struct sb_text_poke *poke = sb_system_text_pokes(system, &npokes);
	int status = find_bodies(&bodies, perfdata, system, err);

	sources.body = bodies.body;
	sources.nbodies = bodies.count;
	find_sources(&sources, &found, perfdata, options->resolver);
	if (sources.vmlinux)
		sources.vmlinux_shift = sb_system_kernel_shift(system, sources.vmlinux);
	if (status == 0)
		status = kernel_text_init(text, &sources, poke, npokes, err);
	for (int i = 0; status == 0 && sources.vmlinux && !text->switch_ip && i < 2; ++i) {
		const uint64_t linked = elf_symbol_address(sources.vmlinux, switches[i]);

		text->switch_ip = linked ? linked + sources.vmlinux_shift : 0;
	}
	free(bodies.body);
	free(found.kcore);
	free(found.vmlinux);
	free(found.kallsyms);
	return status;
}
