/* kernel_modules.c - see kernel_modules.h. */
#include "binary/kernel_modules.h"

#include <stdlib.h>
#include <string.h>

#include "binary/compressed_file.h"
#include "binary/elf_file.h"
#include "binary/kallsyms.h"
#include "binary/module_code.h"
#include "binary/module_find.h"

enum { FILE_MAX_SIZE = 1 << 30, MODULES_MAX = 1 << 13 };

static int is_covered(const struct kernel_regions *regions, const struct sb_kernel_map *map)
{
	for (size_t i = 0; i < regions->count; ++i)
		if (regions->region[i].begin < map->end && map->begin < regions->region[i].end)
			return 1;
	return 0;
}

/* Whether the build-ids of the recording and of the file do not contradict each other. */
static int is_recorded_build(const struct kernel_modules *modules, const char *recorded, int fd)
{
	uint8_t id[20], found[20];
	const int size = sb_perfdata_build_id(modules->perfdata, recorded, id);

	return !size || (elf_file_build_id(fd, found) == size && memcmp(id, found, (size_t)size) == 0);
}

static int add_file(struct kernel_bodies *bodies, const struct kernel_modules *modules,
                    const struct kallsyms_index *kallsyms, const struct sb_kernel_map *map,
                    const struct plain_file *file)
{
	char name[72], why[128];
	const struct module_place place = {.name = name,
	                                   .begin = map->begin,
	                                   .size = map->end - map->begin,
	                                   .kallsyms = kallsyms,
	                                   .state = modules->state};
	struct kernel_code code;
	int status;

	module_name(name, map->name);
	if (!is_recorded_build(modules, map->name, file->fd))
		return 0;
	status = module_code_read(&code, file->fd, &place, why);
	if (status < 0)
		return status == -sbe_nomem ? status : 0;
	return kernel_bodies_add_code(bodies, map->time, &code);
}

/* A module that only its file may know. */
static int is_wanted(const struct kernel_modules *modules, const struct sb_kernel_map *map)
{
	return map->begin >> 63 && map->end > map->begin && module_is_named(map->name) &&
	       !is_covered(modules->regions, map);
}

static int add_module(struct kernel_bodies *bodies, const struct kernel_modules *modules,
                      const struct module_finder *finder, const struct kallsyms_index *kallsyms,
                      const struct sb_kernel_map *map)
{
	const struct sb_binary *binary;
	struct plain_file file;
	int status;
	char *path;

	if (!is_wanted(modules, map))
		return 0;
	path = module_find(finder, map->name, &binary);
	free(path);
	if (!binary || open_maybe_compressed(&file, binary->path, FILE_MAX_SIZE, NULL) < 0)
		return 0;
	status = add_file(bodies, modules, kallsyms, map, &file);
	plain_file_close(&file);
	return status;
}

int kernel_modules_any(const struct kernel_modules *modules)
{
	size_t count;
	const struct sb_kernel_map *map = sb_system_kernel_maps(modules->system, &count);

	for (size_t i = 0; i < count; ++i)
		if (is_wanted(modules, &map[i]))
			return 1;
	return 0;
}

static int add_all(struct kernel_bodies *bodies, const struct kernel_modules *modules,
                   const struct kallsyms_index *kallsyms)
{
	struct module_finder finder;
	size_t count;
	const struct sb_kernel_map *map = sb_system_kernel_maps(modules->system, &count);
	int status = module_finder_init(&finder, modules->resolver, sb_perfdata_osrelease(modules->perfdata));

	if (status < 0)
		return status;
	for (size_t i = 0; i < count && i < MODULES_MAX && status == 0; ++i)
		status = add_module(bodies, modules, &finder, kallsyms, &map[i]);
	module_finder_fini(&finder);
	return status;
}

int kernel_modules_add(struct kernel_bodies *bodies, const struct kernel_modules *modules)
{
	struct kallsyms_index kallsyms = {0};
	int status = 0;

	if (!modules->resolver || !kernel_modules_any(modules))
		return 0;
	if (modules->kallsyms && kallsyms_index_init(&kallsyms, modules->kallsyms) == -sbe_nomem)
		return -sbe_nomem;
	status = add_all(bodies, modules, &kallsyms);
	kallsyms_index_fini(&kallsyms);
	return status;
}
