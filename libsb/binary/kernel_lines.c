/* kernel_lines.c - see kernel_lines.h. */
#include "binary/kernel_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sb/kernel.h>

#include "binary/compressed_file.h"
#include "binary/resolver.h"
#include "system/arena.h"

static const uint64_t bottom = (uint64_t)1 << 63;

/* ---- vmlinux ------------------------------------------------------------------------------------ */

/* What cannot be read has no lines. */
static int load_vmlinux(struct dwarf_lines *lines, const char *path)
{
	struct plain_file plain;
	struct elf_image image;
	int status;

	if (open_maybe_compressed(&plain, path, 0, NULL) < 0)
		return 0;
	status = elf_image_map(&image, plain.fd);
	plain_file_close(&plain);
	if (status < 0)
		return status == -sbe_nomem ? status : 0;
	dwarf_lines_fini(lines);
	return dwarf_lines_load(lines, &image);
}

/* The file of that build, or its separate debug file, whichever has lines: *path, which is the resolver's. */
static int load_build(struct dwarf_lines *lines, struct sb_resolver *resolver, const char *name,
                      const uint8_t *id, int size, const char **path)
{
	struct sb_map map = {.end = UINT64_MAX, .filename = name, .build_id_size = (uint8_t)size};
	const struct sb_binary *binary;
	int status;

	memcpy(map.build_id, id, (size_t)size);
	if (sb_resolver_find(resolver, &map, &binary, NULL) < 0)
		return -sbe_nomem;
	*path = binary->missing ? NULL : binary->path;
	status = *path ? load_vmlinux(lines, *path) : 0;
	if (status < 0 || dwarf_lines_any(lines))
		return status;
	if (sb_resolver_find_debug(resolver, binary, path, NULL) < 0 || !*path)
		return 0;
	return load_vmlinux(lines, *path);
}

/* A vmlinux that was named; without DWARF, its separate debug file. */
static int load_named(struct kernel_lines *kernel, struct sb_resolver *resolver)
{
	struct plain_file plain;
	const char *debug;
	uint8_t id[20];
	int size = 0, status = load_vmlinux(&kernel->vmlinux, kernel->path);

	if (status < 0 || dwarf_lines_any(&kernel->vmlinux))
		return status;
	if (open_maybe_compressed(&plain, kernel->path, 0, NULL) == 0) {
		size = sb_elf_build_id(plain.path, id, NULL);
		plain_file_close(&plain);
	}
	return size > 0 ? load_build(&kernel->vmlinux, resolver, "/vmlinux", id, size, &debug) : 0;
}

/* Where distributions have it; NULL: nobody knows, and only the build-id tells. */
static char *usual_name(size_t number, const char *release)
{
	static const char *const before[] = {"/usr/lib/debug/boot/vmlinux-", "/usr/lib/debug/lib/modules/",
	                                     "/lib/modules/", "/boot/vmlinux-"};
	static const char *const behind[] = {"", "/vmlinux", "/build/vmlinux", ""};
	char *name;

	if (number >= sizeof(before) / sizeof(before[0]) ||
	    asprintf(&name, "%s%s%s", before[number], release, behind[number]) < 0)
		return NULL;
	return name;
}

/* Of the build that was recorded. */
static int load_recorded(struct kernel_lines *kernel, struct sb_resolver *resolver)
{
	const char *path = NULL;
	char *name;
	int status = load_build(&kernel->vmlinux, resolver, "/vmlinux", kernel->id, kernel->id_size, &path);

	for (size_t i = 0; status == 0 && !dwarf_lines_any(&kernel->vmlinux) && kernel->release &&
	                   (name = usual_name(i, kernel->release));
	     ++i) {
		status = load_build(&kernel->vmlinux, resolver, name, kernel->id, kernel->id_size, &path);
		free(name);
	}
	if (status == 0 && dwarf_lines_any(&kernel->vmlinux))
		kernel->shift = sb_system_kernel_shift(kernel->system, path);
	return status;
}

/* Its DWARF is long: it is only read when somebody asks for the kernel. */
static int load_kernel(struct kernel_lines *kernel, struct sb_resolver *resolver)
{
	if (kernel->is_tried)
		return 0;
	kernel->is_tried = 1;
	if (kernel->path)
		return load_named(kernel, resolver);
	return kernel->id_size ? load_recorded(kernel, resolver) : 0;
}

/* ---- Life --------------------------------------------------------------------------------------- */

static void modules_fini(struct kernel_lines *kernel)
{
	for (size_t i = 0; kernel->of_module && i < kernel->modules.count; ++i) {
		if (kernel->of_module[i])
			dwarf_lines_fini(kernel->of_module[i]);
		free(kernel->of_module[i]);
	}
	free(kernel->of_module);
	kernel->of_module = NULL;
	module_files_fini(&kernel->modules);
}

int kernel_lines_add_recording(struct kernel_lines *kernel, const struct sb_perfdata *perfdata,
                               const struct sb_system *system, struct sb_resolver *resolver,
                               const char *kcore)
{
	const char *release = sb_perfdata_osrelease(perfdata);
	int status;

	modules_fini(kernel);
	status = module_files_read(&kernel->modules, perfdata, system, resolver, kcore);
	if (status < 0)
		return status;
	free(kernel->release);
	kernel->release = release && !strchr(release, '/') ? strdup(release) : NULL;
	kernel->system = system;
	kernel->id_size = (uint8_t)sb_perfdata_build_id(perfdata, "[kernel.kallsyms]", kernel->id);
	kernel->of_module = calloc(kernel->modules.count + 1, sizeof(struct dwarf_lines *));
	return kernel->of_module ? 0 : -sbe_nomem;
}

int kernel_lines_add_vmlinux(struct kernel_lines *kernel, const char *path, uint64_t shift)
{
	char *copy = strdup(path);

	if (!copy)
		return -sbe_nomem;
	free(kernel->path);
	dwarf_lines_fini(&kernel->vmlinux);
	kernel->path = copy;
	kernel->shift = shift;
	kernel->is_tried = 0;
	return 0;
}

void kernel_lines_fini(struct kernel_lines *kernel)
{
	modules_fini(kernel);
	dwarf_lines_fini(&kernel->vmlinux);
	free(kernel->path);
	free(kernel->release);
	*kernel = (struct kernel_lines){0};
}

/* ---- Modules ------------------------------------------------------------------------------------ */

/* What cannot be read has no lines. */
static int load_file(const char *path, uint64_t base, struct dwarf_lines *lines)
{
	struct plain_file plain;
	int status;

	if (open_maybe_compressed(&plain, path, 0, NULL) < 0)
		return 0;
	dwarf_lines_fini(lines);
	status = dwarf_lines_load_module(lines, plain.fd, base);
	plain_file_close(&plain);
	return status;
}

static int load_module(const struct module_file *module, struct sb_resolver *resolver,
                       struct dwarf_lines *lines)
{
	const char *debug;
	int status = load_file(module->binary->path, module->begin, lines);

	if (status < 0 || dwarf_lines_any(lines) ||
	    sb_resolver_find_debug(resolver, module->binary, &debug, NULL) < 0 || !debug)
		return status;
	return load_file(debug, module->begin, lines);
}

/* The lines of the module that holds @ip, NULL: none; *bounds are narrowed to where that is the answer. */
static int module_at(struct kernel_lines *kernel, struct sb_resolver *resolver, uint64_t ip,
                     struct dwarf_lines **lines, struct symbol_bounds *bounds)
{
	struct module_file *module = module_files_at(&kernel->modules, ip, bounds);
	struct dwarf_lines **kept = module ? &kernel->of_module[module - kernel->modules.file] : NULL;
	int status;

	*lines = NULL;
	if (!module)
		return 0;
	if (!*kept) {
		status = module_file_find(&kernel->modules, module);
		if (status < 0)
			return status;
		*kept = calloc(1, sizeof(**kept));
		if (!*kept)
			return -sbe_nomem;
		status = module->binary ? load_module(module, resolver, *kept) : 0;
		if (status < 0)
			return status;
	}
	*lines = *kept;
	return 0;
}

/* ---- Finding ---------------------------------------------------------------------------------- */

/* Who has lines for @ip, and how far it is from where they are told of. */
static int lines_at(struct kernel_lines *kernel, struct sb_resolver *resolver, uint64_t ip,
                    struct dwarf_lines **lines, uint64_t *shift, struct symbol_bounds *bounds)
{
	int status = module_at(kernel, resolver, ip, lines, bounds);

	*shift = 0;
	if (status == 0 && !*lines)
		status = load_kernel(kernel, resolver);
	if (status < 0 || *lines)
		return status;
	*lines = &kernel->vmlinux;
	*shift = kernel->shift;
	return 0;
}

int kernel_lines_find(struct kernel_lines *kernel, struct sb_resolver *resolver, struct string_table *strings,
                      uint64_t ip, struct sb_source_line *line)
{
	struct symbol_bounds bounds = {.low = bottom, .high = UINT64_MAX};
	struct dwarf_lines *lines;
	uint64_t shift, before, behind;
	int status = lines_at(kernel, resolver, ip, &lines, &shift, &bounds);

	if (status == 0)
		status = dwarf_lines_find(lines, strings, ip - shift, line);
	if (status < 0)
		return status;
	/* It holds around @ip as far as around the address that was asked for. */
	before = ip - shift - line->low;
	behind = line->high - (ip - shift);
	line->low = before < ip - bounds.low ? ip - before : bounds.low;
	line->high = behind < bounds.high - ip ? ip + behind : bounds.high;
	return 0;
}

/* ---- Walking ---------------------------------------------------------------------------------- */

struct shifted_walk {
	const struct sb_source_walk *walk;
	uint64_t shift;
};

static int tell_line(void *context, const struct sb_source_line *line)
{
	const struct shifted_walk *shifted = context;
	struct sb_source_line moved = *line;

	moved.low += shifted->shift;
	moved.high += shifted->shift;
	/* What the kernel drops has no address. */
	return moved.low < bottom || moved.high < moved.low
	               ? 0
	               : shifted->walk->line(shifted->walk->context, &moved);
}

static int tell_function(void *context, const struct sb_source_function *function)
{
	const struct shifted_walk *shifted = context;
	struct sb_source_function moved = *function;

	moved.entry += shifted->shift;
	return moved.entry < bottom ? 0 : shifted->walk->function(shifted->walk->context, &moved);
}

int kernel_lines_walk(struct kernel_lines *kernel, struct sb_resolver *resolver, struct string_table *strings,
                      const uint64_t *ip, size_t count, const struct sb_source_walk *walk)
{
	struct shifted_walk shifted = {.walk = walk};
	const struct sb_source_walk inner = {&shifted, walk->line ? tell_line : NULL,
	                                     walk->function ? tell_function : NULL};
	int status = 0;

	kernel->round += 1;
	for (size_t i = 0; i < count && status == 0; ++i) {
		struct dwarf_lines *lines;

		if (ip[i] < bottom)
			continue;
		status = lines_at(kernel, resolver, ip[i], &lines, &shifted.shift, NULL);
		if (status == 0)
			status = dwarf_lines_walk_unit(lines, strings, ip[i] - shifted.shift, kernel->round,
			                               &inner);
	}
	return status;
}
