/* module_files.c - see module_files.h. */
#include "binary/module_files.h"

#include <sb/kernel.h>
#include <stdlib.h>
#include <string.h>

#include "binary/elf_file.h"
#include "binary/kernel_base.h"
#include "binary/module_code.h"
#include "binary/resolver.h"
#include "system/arena.h"

enum { MODULE_FILE_MOST = 1 << 30 };

/* ---- What the recording names ------------------------------------------------------------------- */

static int add(struct module_files *files, const struct sb_perfdata *perfdata,
               const struct sb_kernel_map *map)
{
	struct module_file *file;

	if (!(map->begin >> 63) || map->end <= map->begin || !module_is_named(map->name))
		return 0;
	if (array_reserve(&files->file, &files->capacity, files->count, sizeof(*files->file)) < 0)
		return -sbe_nomem;
	file = &files->file[files->count];
	*file = (struct module_file){.begin = map->begin, .end = map->end, .recorded = strdup(map->name)};
	if (!file->recorded)
		return -sbe_nomem;
	module_name(file->name, map->name);
	file->id_size = (uint8_t)sb_perfdata_build_id(perfdata, map->name, file->id);
	files->count += 1;
	return 0;
}

/* One of each; what overlaps is unsure. */
static void unite(struct module_files *files)
{
	size_t n = 0, highest = 0; /* the one that ends last */

	for (size_t i = 0; i < files->count; ++i) {
		struct module_file *file = &files->file[i], *other = n ? &files->file[highest] : NULL;

		if (other && other->begin == file->begin && other->end == file->end &&
		    strcmp(other->recorded, file->recorded) == 0) {
			free(file->recorded);
			continue;
		}
		if (other && file->begin < other->end)
			file->is_unsure = other->is_unsure = 1;
		files->file[n] = *file;
		if (!other || file->end > other->end)
			highest = n;
		n += 1;
	}
	files->count = n;
}

int module_files_read(struct module_files *files, const struct sb_perfdata *perfdata,
                      const struct sb_system *system, struct sb_resolver *resolver, const char *kcore)
{
	size_t count;
	const struct sb_kernel_map *map = sb_system_kernel_maps(system, &count);
	int status;

	module_files_fini(files);
	for (size_t i = 0; i < count; ++i)
		if (add(files, perfdata, &map[i]) < 0)
			return -sbe_nomem;
	if (array_sort(files->file, files->count, sizeof(*files->file)) < 0)
		return -sbe_nomem;
	unite(files);
	status = module_finder_init(&files->finder, resolver, sb_perfdata_osrelease(perfdata));
	files->kcore = kcore ? strdup(kcore) : kernel_file_recorded(resolver, perfdata, "kcore");
	return kcore && !files->kcore ? -sbe_nomem : status;
}

void module_files_fini(struct module_files *files)
{
	for (size_t i = 0; i < files->count; ++i)
		free(files->file[i].recorded);
	free(files->file);
	free(files->kcore);
	module_finder_fini(&files->finder);
	*files = (struct module_files){0};
}

/* ---- What proves a file --------------------------------------------------------------------------- */

/* What the kernel's memory says: 1: it is the one; 0: it is not, or nobody knows; -sbe_nomem. */
static int is_in_memory(const struct module_files *files, const struct module_file *file, int fd)
{
	const struct module_place place = {
	        .name = file->name, .begin = file->begin, .size = file->end - file->begin};
	struct kernel_base kcore;
	int status;

	if (!files->kcore)
		return 0;
	status = kernel_base_open_kcore(&kcore, files->kcore, NULL);
	if (status < 0)
		return status == -sbe_nomem ? status : 0;
	status = module_code_compare(fd, &place, &kcore);
	kernel_base_close(&kcore);
	return status;
}

/* The same, of all that is known. */
static int is_proved(const struct module_files *files, const struct module_file *file, int fd)
{
	uint8_t id[20];

	if (file->id_size)
		return elf_file_build_id(fd, id) == file->id_size && memcmp(id, file->id, file->id_size) == 0;
	return is_in_memory(files, file, fd);
}

int module_file_find(const struct module_files *files, struct module_file *file)
{
	const struct sb_binary *binary;
	struct plain_file plain;
	int status;

	if (file->is_tried || file->is_unsure)
		return 0;
	file->is_tried = 1;
	free(module_find(&files->finder, file->recorded, &binary));
	if (!binary || open_maybe_compressed(&plain, binary->path, MODULE_FILE_MOST, NULL) < 0)
		return 0;
	status = is_proved(files, file, plain.fd);
	plain_file_close(&plain);
	if (status > 0)
		file->binary = binary;
	return status < 0 ? status : 0;
}

/* ------------------------------------------------------------------------------------------------- */

struct module_file *module_files_at(const struct module_files *files, uint64_t ip,
                                    struct symbol_bounds *bounds)
{
	const size_t above = array_above(files->file, files->count, sizeof(*files->file), ip);
	struct module_file *file = above ? &files->file[above - 1] : NULL;
	const int is_in = file && ip < file->end;

	if (bounds)
		symbol_bounds_narrow(bounds,
		                     !file   ? 0
		                     : is_in ? file->begin
		                             : file->end,
		                     is_in                  ? file->end
		                     : above < files->count ? files->file[above].begin
		                                            : UINT64_MAX);
	/* What is covered by two has several entries around it. */
	if (bounds && above < files->count && files->file[above].begin < bounds->high)
		bounds->high = files->file[above].begin;
	return is_in && !file->is_unsure ? file : NULL;
}
