/* bundle_write.c - collecting a bundle; see sb/bundle.h.
 *
 * Every mapping of the recording is asked for just as a replay would ask, and the answer is written down,
 * also when there is none: so a replay from the bundle gets the same answers, and says the same where code is
 * missing.
 */
#include <sb/bundle.h>

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "binary/bundle_index.h"
#include "binary/bundle_rows.h"
#include "binary/bundle_store.h"
#include "binary/file_fit.h"
#include "binary/module_find.h"
#include "binary/perf_map.h"
#include "binary/resolver.h"
#include "perfdata/perfdata_internal.h"
#include "system/map_walk.h"
#include "system/system.h"

/* Answers are told apart by their addresses; open addressing, at most half full. */
struct answer_set {
	const struct sb_binary **slot;
	size_t nslots, count;
};

struct bundling {
	const struct sb_perfdata *perfdata;
	const struct sb_system *system;
	struct sb_resolver *resolver;
	struct sb_bundle_options options;
	struct sb_bundle_result result;
	struct bundle_store store;
	struct bundle_rows rows;
	struct answer_set seen;
	struct sb_error *err;
};

static int no_memory(struct bundling *bundling)
{
	return sb_error_set(bundling->err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

static int check_stop(struct bundling *bundling)
{
	if (bundling->options.stop && bundling->options.stop(bundling->options.context))
		return sb_error_set(bundling->err, -sbe_stop, bundling->options.directory, UINT64_MAX,
		                    "given up: nothing was written");
	return 0;
}

/* ---- What was seen ----------------------------------------------------------------------------- */

static const struct sb_binary **find_slot(const struct answer_set *set, const struct sb_binary *binary)
{
	const uint64_t hash = (uintptr_t)binary * 0x9e3779b97f4a7c15ull;
	size_t i = (hash ^ hash >> 32) & (set->nslots - 1);

	while (set->slot[i] && set->slot[i] != binary)
		i = (i + 1) & (set->nslots - 1);
	return &set->slot[i];
}

static int grow_set(struct answer_set *set)
{
	struct answer_set bigger = {.nslots = set->nslots ? 2 * set->nslots : 256, .count = set->count};

	bigger.slot = calloc(bigger.nslots, sizeof(*bigger.slot));
	if (!bigger.slot)
		return -sbe_nomem;
	for (size_t i = 0; i < set->nslots; i++)
		if (set->slot[i])
			*find_slot(&bigger, set->slot[i]) = set->slot[i];
	free(set->slot);
	*set = bigger;
	return 0;
}

/* Positive: it is new. */
static int see(struct answer_set *set, const struct sb_binary *binary)
{
	const struct sb_binary **slot;

	if (2 * (set->count + 1) > set->nslots && grow_set(set) < 0)
		return -sbe_nomem;
	slot = find_slot(set, binary);
	if (*slot)
		return 0;
	*slot = binary;
	set->count++;
	return 1;
}

/* ---- Files of mappings ------------------------------------------------------------------------- */

static void count_copy(struct bundling *bundling, const struct stored_file *stored)
{
	bundling->result.ncopied += (uint64_t)stored->copied;
	bundling->result.ncopied_bytes += stored->copied ? stored->size : 0;
}

static int copy_file(struct bundling *bundling, const char *from, const char *to)
{
	struct stored_file stored;
	int status = check_stop(bundling);

	if (status == 0)
		status = bundle_store_copy(&bundling->store, from, to, &stored, bundling->err);
	if (status == 0)
		count_copy(bundling, &stored);
	return status;
}

/* Symbols and lines of a stripped file are in another one; where gdb looks for it, too. */
static int add_debug_file(struct bundling *bundling, const struct sb_binary *binary,
                          const struct stored_file *stored)
{
	const char *path = NULL;
	uint8_t id[20];
	char text[41], name[64];
	int size;

	if (!stored->build_id[0] || sb_resolver_find_debug(bundling->resolver, binary, &path, NULL) < 0 ||
	    !path)
		return 0;
	size = sb_elf_build_id(path, id, NULL);
	if (size <= 0)
		return 0;
	build_id_text(id, size, text);
	if (strcmp(text, stored->build_id) != 0)
		return 0;
	snprintf(name, sizeof(name), ".build-id/%.2s/%s.debug", text, text + 2);
	return faccessat(bundling->store.lock, name, F_OK, 0) == 0 ? 0 : copy_file(bundling, path, name);
}

static int add_found(struct bundling *bundling, const char *container, const struct sb_map *map,
                     const struct sb_binary *binary)
{
	struct stored_file stored;
	int status = check_stop(bundling);

	if (status == 0)
		status = bundle_store_add(&bundling->store, binary->path, bundle_rows_known, &bundling->rows,
		                          &stored, bundling->err);
	if (status < 0)
		return status;
	count_copy(bundling, &stored);
	if (bundle_rows_add_file(&bundling->rows, container, map, binary, &stored) < 0)
		return no_memory(bundling);
	return add_debug_file(bundling, binary, &stored);
}

/* A bundle has one file for all who mapped it: none, if it was written to meanwhile. */
static int is_for_some(const struct sb_binary *binary)
{
	return ((const struct answer *)binary)->is_for_some;
}

static int add_map(struct bundling *bundling, uint32_t scope, const struct sb_map *map)
{
	const char *container = scope ? bundling->resolver->root[scope - 1].container : NULL;
	const struct sb_binary *binary;
	int status = sb_resolver_find_in(bundling->resolver, scope, map, &binary, bundling->err);

	if (status < 0)
		return status;
	status = see(&bundling->seen, binary);
	if (status < 0)
		return no_memory(bundling);
	if (status == 0 || binary->missing == sb_gap_anonymous || is_for_some(binary))
		return 0;
	if (!binary->missing)
		return add_found(bundling, container, map, binary);
	return bundle_rows_add_missing(&bundling->rows, container, map, binary) < 0 ? no_memory(bundling) : 0;
}

static int ask_for_user_map(void *context, const struct sb_map *map)
{
	struct bundling *bundling = context;
	const struct sb_binary *binary;

	return sb_resolver_find_in(bundling->resolver,
	                           sb_map_scope(bundling->resolver, bundling->system, map), map, &binary,
	                           bundling->err);
}

static int add_user_map(void *context, const struct sb_map *map)
{
	struct bundling *bundling = context;

	return add_map(bundling, sb_map_scope(bundling->resolver, bundling->system, map), map);
}

/* The names of what a process made itself, if somebody wrote them down. */
static int add_perf_map(struct bundling *bundling, int32_t pid)
{
	char name[32];
	const struct sb_map map = {.end = UINT64_MAX, .filename = name};
	const struct sb_binary *binary;
	int status;

	snprintf(name, sizeof(name), PERF_MAP_NAME, pid);
	status = sb_resolver_find(bundling->resolver, &map, &binary, bundling->err);
	return status < 0 || binary->missing ? status : add_map(bundling, 0, &map);
}

static int add_perf_maps(struct bundling *bundling)
{
	const size_t count = system_nspaces(bundling->system);
	int status = 0;

	for (size_t i = 0; i < count && status == 0; i++)
		status = add_perf_map(bundling, system_space_at(bundling->system, i)->pid);
	return status;
}

/* A module of which only the name is recorded: its file, and the list that says which one it is. */
static int add_named_module(struct bundling *bundling, const struct module_finder *finder, const char *name)
{
	struct sb_map map = {.end = UINT64_MAX};
	const struct sb_binary *binary;
	char *path = module_find(finder, name, &binary);
	int status = 0;

	if (!path)
		return 0;
	map.filename = path;
	status = add_map(bundling, 0, &map);
	if (status == 0 && finder->list) {
		map.filename = finder->list_path;
		status = add_map(bundling, 0, &map);
	}
	free(path);
	return status;
}

/* Modules and the like: a record of the kernel's code names a whole file, or something like
 * "[kernel.kallsyms]". */
static int add_kernel_map(struct bundling *bundling, const struct module_finder *finder,
                          const struct sb_record *record)
{
	struct sb_map map = {.end = UINT64_MAX,
	                     .filename = record->u.mmap.filename,
	                     .maj = record->u.mmap.maj,
	                     .min = record->u.mmap.min,
	                     .ino = record->u.mmap.ino,
	                     .build_id_size = record->u.mmap.build_id_size};

	if (map.filename[0] != '/')
		return module_is_named(map.filename) ? add_named_module(bundling, finder, map.filename) : 0;
	memcpy(map.build_id, record->u.mmap.build_id, sizeof(map.build_id));
	return add_map(bundling, 0, &map);
}

static int add_maps_of_kernel(struct bundling *bundling, const struct module_finder *finder)
{
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	int status = 0;

	sb_perfdata_begin(bundling->perfdata, &cursor);
	/* Damage ends the recording, not the bundle. */
	while (status == 0 && sb_perfdata_next(&cursor, &record, NULL) > 0) {
		if ((record.type == PERF_RECORD_MMAP || record.type == PERF_RECORD_MMAP2) &&
		    record.u.mmap.is_kernel && !record.u.mmap.is_guest)
			status = add_kernel_map(bundling, finder, &record);
	}
	return status;
}

static int add_kernel_maps(struct bundling *bundling)
{
	struct module_finder finder;
	int status =
	        module_finder_init(&finder, bundling->resolver, sb_perfdata_osrelease(bundling->perfdata));

	if (status < 0)
		return no_memory(bundling);
	status = add_maps_of_kernel(bundling, &finder);
	module_finder_fini(&finder);
	return status;
}

/* ---- The recording ----------------------------------------------------------------------------- */

static int is_kcore_dir(const char *name)
{
	return strncmp(name, "kcore_dir", strlen("kcore_dir")) == 0;
}

/* What perf keeps of its directory: files, and below them the kernel's code. */
enum wanted { wanted_all, wanted_kcore, wanted_files };

static int copy_directory(struct bundling *bundling, const char *from, const char *to, enum wanted wanted);

static int copy_entry(struct bundling *bundling, const char *from, const char *to, const char *name,
                      enum wanted wanted)
{
	char *source = NULL, *target = NULL;
	struct stat status;
	int result = 0;

	if (asprintf(&source, "%s/%s", from, name) < 0)
		source = NULL;
	if (asprintf(&target, "%s/%s", to, name) < 0)
		target = NULL;
	if (!source || !target)
		result = no_memory(bundling);
	else if (stat(source, &status) < 0)
		result = 0; /* gone, or a dangling link */
	else if (S_ISREG(status.st_mode) && wanted != wanted_kcore)
		result = copy_file(bundling, source, target);
	else if (S_ISDIR(status.st_mode) && wanted != wanted_files && is_kcore_dir(name))
		result = copy_directory(bundling, source, target, wanted_files);
	free(source);
	free(target);
	return result;
}

static int copy_directory(struct bundling *bundling, const char *from, const char *to, enum wanted wanted)
{
	struct dirent **entry;
	const int count = scandir(from, &entry, NULL, alphasort);
	int status = 0;

	if (count < 0)
		return sb_error_set(bundling->err, -sbe_io, from, UINT64_MAX, "cannot be read: %m");
	for (int i = 0; i < count; i++) {
		if (status == 0 && entry[i]->d_name[0] != '.')
			status = copy_entry(bundling, from, to, entry[i]->d_name, wanted);
		free(entry[i]);
	}
	free(entry);
	return status;
}

static int copy_to(struct bundling *bundling, const char *path, const char *to, int whole)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return sb_error_set(bundling->err, -sbe_io, path, UINT64_MAX, "cannot be read: %m");
	if (S_ISDIR(status.st_mode))
		return copy_directory(bundling, path, to, whole ? wanted_all : wanted_kcore);
	return whole ? copy_file(bundling, path, to) : 0;
}

static int add_recording(struct bundling *bundling)
{
	const char *path = sb_perfdata_path(bundling->perfdata);
	const int whole = bundling->options.with_recording;
	char *name = bundle_base_name(path), *to = NULL;
	int status;

	if (!name || asprintf(&to, "recordings/%s", name) < 0) {
		free(name);
		return no_memory(bundling);
	}
	status = copy_to(bundling, path, to, whole);
	if (status == 0 && whole && bundle_rows_add_recording(&bundling->rows, name) < 0)
		status = no_memory(bundling);
	free(name);
	free(to);
	return status;
}

/* Files of the kernel that were named, not recorded. */
static int add_kernel_files(struct bundling *bundling)
{
	const struct {
		const char *name, *path;
	} files[] = {{"kcore", bundling->options.kcore},
	             {"vmlinux", bundling->options.vmlinux},
	             {"kallsyms", bundling->options.kallsyms}};
	char *name = bundle_base_name(sb_perfdata_path(bundling->perfdata)), *to;
	int status = name ? 0 : no_memory(bundling);

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && status == 0; i++) {
		if (!files[i].path)
			continue;
		if (asprintf(&to, "kernel/%s/%s", name, files[i].name) < 0) {
			status = no_memory(bundling);
			break;
		}
		status = copy_file(bundling, files[i].path, to);
		free(to);
	}
	free(name);
	return status;
}

/* ------------------------------------------------------------------------------------------------- */

static int collect(struct bundling *bundling)
{
	int status = map_walk(bundling->system, ask_for_user_map, bundling);

	if (status == 0)
		status = map_walk(bundling->system, add_user_map, bundling);
	if (status == 0)
		status = add_perf_maps(bundling);
	if (status == 0)
		status = add_kernel_maps(bundling);
	if (status == 0)
		status = add_kernel_files(bundling);
	return status ? status : add_recording(bundling);
}

/* A file is missing once, however many ranges of it were mapped. */
static int count_rows(struct bundling *bundling)
{
	const struct sb_bundle_options *options = &bundling->options;
	json_t *list = bundle_rows_sorted(bundling->rows.missing), *row;
	const char *last = "";
	size_t i;

	if (!list)
		return no_memory(bundling);
	bundling->result.nfiles = json_object_size(bundling->rows.files);
	json_array_foreach(list, i, row)
	{
		const char *path = json_string_value(json_object_get(row, "path"));

		if (strcmp(path, last) == 0)
			continue;
		bundling->result.nmissing++;
		if (options->missing)
			options->missing(options->context, path,
			                 json_string_value(json_object_get(row, "detail")));
		last = path;
	}
	json_decref(list);
	return 0;
}

static int write_bundle(struct bundling *bundling)
{
	json_t *manifest;
	int status = collect(bundling);

	if (status == 0)
		status = count_rows(bundling);
	if (status < 0)
		return status;
	manifest = bundle_rows_manifest(&bundling->rows);
	if (!manifest)
		return no_memory(bundling);
	status = bundle_store_commit(&bundling->store, manifest, bundling->err);
	json_decref(manifest);
	return status;
}

static int open_and_write(struct bundling *bundling)
{
	int status = bundle_store_open(&bundling->store, bundling->options.directory, bundling->err);

	if (status < 0)
		return status;
	status = bundle_rows_init(&bundling->rows, bundling->store.work, bundling->err);
	if (status == 0)
		status = write_bundle(bundling);
	bundle_rows_fini(&bundling->rows);
	bundle_store_close(&bundling->store);
	free(bundling->seen.slot);
	return status;
}

int sb_bundle_write(const struct sb_perfdata *perfdata, struct sb_resolver *resolver,
                    const struct sb_bundle_options *options, struct sb_bundle_result *result,
                    struct sb_error *err)
{
	struct bundling bundling = {.perfdata = perfdata, .resolver = resolver, .err = err};
	struct sb_system *system;
	uint64_t first, last;
	int status;

	if (!perfdata || !resolver || !options || options->size < sizeof(options->size))
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_bundle_write: no options");
	memcpy(&bundling.options, options,
	       options->size < sizeof(bundling.options) ? options->size : sizeof(bundling.options));
	if (!bundling.options.directory || !bundling.options.directory[0])
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_bundle_write: no directory");
	resolver_recorded_on(resolver, sb_perfdata_osrelease(perfdata));
	status = sb_system_build(&system, perfdata, err);
	if (status < 0)
		return status;
	bundling.system = system;
	system_times(system, &first, &last);
	resolver_recorded_until(resolver, perfdata_written(perfdata));
	resolver_recorded_from_to(resolver, first, last);
	status = open_and_write(&bundling);
	sb_system_free(system);
	if (result)
		*result = bundling.result;
	return status;
}
