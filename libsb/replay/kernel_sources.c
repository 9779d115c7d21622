/* kernel_sources.c - see kernel_sources.h. */
#include "replay/kernel_sources.h"

#include <errno.h>
#include <sb/bundle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binary/kallsyms.h"
#include "binary/kernel_bpf.h"
#include "binary/kernel_modules.h"
#include "binary/kernel_switch.h"
#include "binary/resolver.h"
#include "replay/lost_spans.h"

/* Files that are named; and those that were found, which are owned. NULL: there is none. */
struct kernel_sources {
	const char *kcore, *vmlinux, *kallsyms;
	int is_named; /* the kallsyms, by who replays */
};
struct found {
	char *kcore, *vmlinux, *kallsyms;
};

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
		sources->kcore = found->kcore = kernel_file_recorded(resolver, perfdata, "kcore");
	if (!sources->kallsyms)
		sources->kallsyms = found->kallsyms = sb_bundle_named_kernel(resolver, recording, "kallsyms");
	if (!sources->kallsyms)
		sources->kallsyms = found->kallsyms = kernel_file_recorded(resolver, perfdata, "kallsyms");
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
		if (!linked) /* it has no symbols; there, its code begins */
			linked = elf_section_address(vmlinux, ".text");
		if (linked)
			return map[i].pgoff - linked;
	}
	return 0;
}

static void id_text(char text[41], const uint8_t *id, int size)
{
	text[0] = '\0';
	for (int i = 0; i < size; ++i)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
}

/* A vmlinux of another build is no kernel of this recording. */
static int check_build_id(const struct sb_perfdata *perfdata, const char *name, const char *path,
                          struct sb_error *err)
{
	uint8_t recorded[20], found[20];
	char recorded_text[41], found_text[41];
	const int size = sb_perfdata_build_id(perfdata, "[kernel.kallsyms]", recorded);
	const int found_size = size ? sb_elf_build_id(path, found, NULL) : 0;

	if (found_size <= 0 || (found_size == size && memcmp(recorded, found, (size_t)size) == 0))
		return 0;
	id_text(recorded_text, recorded, size);
	id_text(found_text, found, found_size);
	return sb_error_set(err, -sbe_invalid, name, UINT64_MAX,
	                    "is not the kernel that was recorded: its build-id is %s, expected %s",
	                    found_text, recorded_text);
}

static int open_vmlinux(struct kernel_base *base, uint64_t *switch_ip, const struct kernel_sources *sources,
                        const struct sb_perfdata *perfdata, const struct sb_system *system,
                        struct sb_error *err)
{
	static const char *const switches[] = {"__switch_to_asm", "__switch_to"};
	struct plain_file plain;
	uint64_t shift;
	int status = open_maybe_compressed(&plain, sources->vmlinux, 0, err);

	if (status < 0)
		return status;
	status = check_build_id(perfdata, sources->vmlinux, plain.path, err);
	shift = sb_system_kernel_shift(system, plain.path);
	for (int i = 0; status == 0 && !*switch_ip && i < 2; ++i) {
		const uint64_t linked = elf_symbol_address(plain.path, switches[i]);

		*switch_ip = linked ? linked + shift : 0;
	}
	if (status < 0)
		plain_file_close(&plain);
	else
		status = kernel_base_open_vmlinux(base, &plain, sources->vmlinux, shift, sources->kallsyms,
		                                  err);
	return status;
}

/* Code that comes and goes. */
static int find_bodies(struct kernel_bodies *bodies, const struct kernel_base *base,
                       const struct kernel_sources *sources, const struct sb_perfdata *perfdata,
                       const struct sb_system *system, struct sb_resolver *resolver)
{
	size_t nimages;
	const struct sb_bpf_image *image = sb_perfdata_bpf_images(perfdata, &nimages);
	struct kernel_state state = {0};
	const struct kernel_modules modules = {.perfdata = perfdata,
	                                       .system = system,
	                                       .resolver = resolver,
	                                       .regions = &base->regions,
	                                       .kallsyms = sources->kallsyms,
	                                       .state = &state};
	int status = 0;

	if (sources->kcore && kernel_modules_any(&modules))
		status = kernel_state_read(&state, base, sources->kallsyms);
	if (status == 0)
		status = kernel_modules_add(bodies, &modules);
	kernel_state_free(&state);
	return status < 0 ? status : kernel_bpf_add(bodies, image, nimages, system);
}

/* Takes @base. */
static int make_history(struct kernel_text *text, struct kernel_base *base,
                        const struct kernel_bodies *bodies, const struct sb_system *system,
                        const struct sb_perfdata *perfdata, struct sb_error *err)
{
	struct kernel_history history = {.body = bodies->body, .nbodies = bodies->count};
	struct lost_spans spans = {0};
	int status = 0;

	history.poke = sb_system_text_pokes(system, &history.npokes);
	if (history.npokes)
		status = lost_spans_init(&spans, system, perfdata);
	history.losses = spans.any;
	if (status == 0)
		status = kernel_text_init(text, base, &history, err);
	else
		sb_error_set(err, status, NULL, UINT64_MAX, "out of memory");
	lost_spans_fini(&spans);
	return status;
}

/* Kallsyms that were named have to be there, and to be that. */
static int find_switch(uint64_t *switch_ip, const struct kernel_sources *sources, struct sb_error *err)
{
	static const char *const switches[] = {"__switch_to_asm", "__switch_to", NULL};
	int status;

	if (!sources->kallsyms)
		return 0;
	status = kallsyms_find(sources->kallsyms, switches, switch_ip, sources->is_named ? err : NULL);
	return sources->is_named ? status : 0;
}

static int make_text(struct kernel_text *text, const struct kernel_sources *sources,
                     const struct sb_perfdata *perfdata, const struct sb_system *system,
                     struct sb_resolver *resolver, struct sb_error *err)
{
	struct kernel_base base = kernel_base_none();
	struct kernel_bodies bodies = {0};
	uint64_t switch_ip = 0;
	int status = find_switch(&switch_ip, sources, err);

	if (status < 0)
		return status;
	if (sources->kcore)
		status = kernel_base_open_kcore(&base, sources->kcore, err);
	else if (sources->vmlinux)
		status = open_vmlinux(&base, &switch_ip, sources, perfdata, system, err);
	if (status < 0)
		return status;
	if (!switch_ip)
		switch_ip = kernel_switch_find(&base);
	status = find_bodies(&bodies, &base, sources, perfdata, system, resolver);
	if (status == -sbe_nomem)
		status = sb_error_set(err, status, NULL, UINT64_MAX, "out of memory");
	else if (status < 0)
		status = sb_error_set(err, status, sb_perfdata_path(perfdata), UINT64_MAX,
		                      "its BPF programs and modules came and went millions of times");
	if (status == 0)
		status = make_history(text, &base, &bodies, system, perfdata, err);
	if (status == 0)
		text->switch_ip = switch_ip;
	kernel_base_close(&base);
	kernel_bodies_free(&bodies);
	return status;
}

int kernel_text_open(struct kernel_text *text, const struct sb_perfdata *perfdata,
                     const struct sb_system *system, const struct sb_replay_options *options,
                     struct sb_resolver *resolver, struct sb_error *err)
{
	struct kernel_sources sources = {.kcore = options->kcore,
	                                 .vmlinux = options->vmlinux,
	                                 .kallsyms = options->kallsyms,
	                                 .is_named = options->kallsyms != NULL};
	struct found found = {0};
	int status;

	find_sources(&sources, &found, perfdata, resolver);
	status = make_text(text, &sources, perfdata, system, resolver, err);
	free(found.kcore);
	free(found.vmlinux);
	free(found.kallsyms);
	return status;
}

int kernel_files_check(const struct sb_replay_options *options, struct sb_error *err)
{
	const char *const named[] = {options->kcore, options->vmlinux, options->kallsyms};
	struct stat st;

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); ++i) {
		if (!named[i])
			continue;
		if (stat(named[i], &st) < 0 || access(named[i], R_OK) < 0)
			return sb_error_set(err,
			                    errno == ENOENT || errno == ENOTDIR ? -sbe_not_found : -sbe_io,
			                    named[i], UINT64_MAX, "cannot be opened: %m");
		if (!S_ISREG(st.st_mode))
			return sb_error_set(err, -sbe_io, named[i], UINT64_MAX, "expected a regular file");
	}
	return 0;
}
