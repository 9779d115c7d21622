/* source_lines.c - see sb/source_lines.h: which file's line tables to ask, and where in them. */
#include <sb/source_lines.h>

#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

#include "binary/dwarf_lines.h"
#include "binary/elf_code.h"
#include "binary/kernel_lines.h"

/* A file, whoever maps it. */
struct line_file {
	const char *path;         /* one of the strings */
	struct elf_codes codes;   /* of the file itself */
	struct dwarf_lines main;  /* the file, or ... */
	struct dwarf_lines debug; /* ... its separate debug file */
};

/* A mapping whose file was found. Another one may be at its address by now: all that was recorded of it
 * counts. */
struct known_map {
	const struct sb_map *map; /* NULL: none */
	struct sb_map is;
	struct line_file *file; /* NULL: it has none */
	const struct sb_binary *binary;
};

enum { known_maps_bits = 8 };

struct sb_source_lines {
	pthread_mutex_t lock; /* for all of it: what was handed out does not change any more */
	struct sb_resolver *resolver;
	struct line_file **file; /* owned, and so is each */
	size_t nfiles, capacity;
	struct line_file *last;                       /* the one that was asked last */
	struct known_map known[1 << known_maps_bits]; /* by a hash of their addresses */
	struct kernel_lines kernel;
	struct string_table strings;
};

static int no_memory(struct sb_error *err)
{
	return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

/* ---- Life --------------------------------------------------------------------------------------- */

int sb_source_lines_new(struct sb_source_lines **result, struct sb_resolver *resolver, struct sb_error *err)
{
	struct sb_source_lines *lines;
	uint64_t seed = 0;

	if (!result || !resolver)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_source_lines_new: no resolver");
	lines = calloc(1, sizeof(*lines));
	if (lines && pthread_mutex_init(&lines->lock, NULL)) {
		free(lines);
		lines = NULL;
	}
	if (!lines)
		return no_memory(err);
	/* Without it, names may collide: slower, not wrong. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		seed = (uintptr_t)lines;
	string_table_init(&lines->strings, seed);
	lines->resolver = resolver;
	*result = lines;
	return 0;
}

static void free_file(struct line_file *file)
{
	dwarf_lines_fini(&file->main);
	dwarf_lines_fini(&file->debug);
	free(file);
}

void sb_source_lines_free(struct sb_source_lines *lines)
{
	if (!lines)
		return;
	for (size_t i = 0; i < lines->nfiles; ++i)
		free_file(lines->file[i]);
	free(lines->file);
	kernel_lines_fini(&lines->kernel);
	string_table_free(&lines->strings);
	pthread_mutex_destroy(&lines->lock);
	free(lines);
}

/* ---- Files ------------------------------------------------------------------------------------ */

/* The line tables of the file at @path; *codes may be NULL. What cannot be read has none. */
static int load_lines(struct dwarf_lines *lines, const char *path, struct elf_codes *codes)
{
	struct elf_image image;
	const int status = elf_image_open(&image, path);

	if (status < 0)
		return status == -sbe_nomem ? status : 0;
	if (codes)
		elf_codes_read(codes, image.elf);
	return dwarf_lines_load(lines, &image);
}

static int load_file(struct sb_source_lines *lines, struct line_file *file, const struct sb_binary *binary)
{
	const char *debug;
	int status = load_lines(&file->main, binary->path, &file->codes);

	if (status < 0 || dwarf_lines_any(&file->main))
		return status;
	if (sb_resolver_find_debug(lines->resolver, binary, &debug, NULL) < 0 || !debug)
		return 0;
	return load_lines(&file->debug, debug, NULL);
}

static int add_file(struct sb_source_lines *lines, const struct sb_binary *binary, const char *path)
{
	struct line_file *file;
	int status;

	if (array_reserve(&lines->file, &lines->capacity, lines->nfiles, sizeof(struct line_file *)) < 0)
		return -sbe_nomem;
	file = calloc(1, sizeof(*file));
	if (!file)
		return -sbe_nomem;
	file->path = path;
	status = load_file(lines, file, binary);
	if (status < 0) {
		free_file(file);
		return status;
	}
	lines->last = lines->file[lines->nfiles++] = file;
	return 0;
}

/* The file of @binary becomes the last one. */
static int get_file(struct sb_source_lines *lines, const struct sb_binary *binary)
{
	const char *path = string_table_keep(&lines->strings, binary->path);

	if (!path)
		return -sbe_nomem;
	for (size_t i = 0; i < lines->nfiles && (!lines->last || lines->last->path != path); ++i)
		if (lines->file[i]->path == path)
			lines->last = lines->file[i];
	return lines->last && lines->last->path == path ? 0 : add_file(lines, binary, path);
}

/* The file behind @map; NULL: there is none. */
static int file_of_map(struct sb_source_lines *lines, const struct sb_map *map, struct line_file **file,
                       const struct sb_binary **binary)
{
	int status = 0;

	*file = NULL;
	if (sb_map_is_anonymous(map->filename) || map->origin != sb_map_recorded)
		return 0;
	if (sb_resolver_find(lines->resolver, map, binary, NULL) < 0)
		return -sbe_nomem;
	if ((*binary)->missing)
		return 0;
	status = get_file(lines, *binary);
	if (status == 0)
		*file = lines->last;
	return status;
}

static struct dwarf_lines *lines_of(struct line_file *file)
{
	return dwarf_lines_any(&file->main) ? &file->main : &file->debug;
}

/* ---- Finding ---------------------------------------------------------------------------------- */

/* An answer about @at holds around @ip as far as it does around @at, within [@low, @high). */
static void move_bounds(struct sb_source_line *line, uint64_t at, uint64_t ip, uint64_t low, uint64_t high)
{
	const uint64_t before = at - line->low, behind = line->high - at;

	line->low = before < ip - low ? ip - before : low;
	line->high = behind < high - ip ? ip + behind : high;
}

/* The same for a mapping that is asked for again and again. */
static int file_of_known_map(struct sb_source_lines *lines, const struct sb_map *map, struct line_file **file,
                             const struct sb_binary **binary)
{
	struct known_map *known =
	        &lines->known[((uintptr_t)map >> 4) * 0x9e3779b97f4a7c15u >> (64 - known_maps_bits)];
	int status = 0;

	if (known->map != map || memcmp(&known->is, map, sizeof(*map)) != 0) {
		*known = (struct known_map){.map = map};
		memcpy(&known->is, map, sizeof(*map));
		status = file_of_map(lines, map, &known->file, &known->binary);
	}
	if (status < 0)
		known->map = NULL;
	*file = known->file;
	*binary = known->binary;
	return status;
}

static int find_in_map(struct sb_source_lines *lines, const struct sb_map *map, uint64_t ip,
                       struct sb_source_line *line)
{
	const struct sb_binary *binary;
	struct line_file *file;
	uint64_t offset, address, low, high;
	int status = file_of_known_map(lines, map, &file, &binary);

	line->low = map->begin;
	line->high = map->end;
	if (status < 0 || !file)
		return status;
	offset = binary->offset + (ip - map->begin);
	if (!elf_codes_address(&file->codes, offset, &address, &low, &high)) {
		line->low = ip;
		line->high = ip + 1;
		return 0;
	}
	status = dwarf_lines_find(lines_of(file), &lines->strings, address, line);
	/* Bounds around the address, then around its offset, then around where that is mapped. */
	move_bounds(line, address, offset, low, high);
	move_bounds(line, offset, ip, map->begin, map->end);
	return status;
}

static int find(struct sb_source_lines *lines, const struct sb_symbols_place *place,
                struct sb_source_line *line)
{
	const struct sb_map *map;

	*line = (struct sb_source_line){.low = place->ip, .high = place->ip + 1};
	if (place->ip >> 63)
		return kernel_lines_find(&lines->kernel, lines->resolver, &lines->strings, place->ip, line);
	map = place->epoch ? sb_epoch_code(place->epoch, place->ip) : NULL;
	return map && map->begin <= place->ip ? find_in_map(lines, map, place->ip, line) : 0;
}

int sb_source_lines_find(struct sb_source_lines *lines, const struct sb_symbols_place *place,
                         struct sb_source_line *line, struct sb_error *err)
{
	int status;

	if (!lines || !place || !line)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_source_lines_find: no place");
	pthread_mutex_lock(&lines->lock);
	status = find(lines, place, line);
	pthread_mutex_unlock(&lines->lock);
	return status < 0 ? no_memory(err) : 0;
}

/* ---- Whole files ------------------------------------------------------------------------------ */

int sb_source_lines_find_linked(struct sb_source_lines *lines, const struct sb_map *map, uint64_t address,
                                struct sb_source_line *line, struct sb_error *err)
{
	const struct sb_binary *binary;
	struct line_file *file;
	int status;

	if (!lines || !map || !line)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX,
		                    "sb_source_lines_find_linked: no file");
	*line = (struct sb_source_line){.high = UINT64_MAX};
	pthread_mutex_lock(&lines->lock);
	status = file_of_map(lines, map, &file, &binary);
	if (status == 0 && file)
		status = dwarf_lines_find(lines_of(file), &lines->strings, address, line);
	pthread_mutex_unlock(&lines->lock);
	return status < 0 ? no_memory(err) : 0;
}

int sb_source_lines_walk(struct sb_source_lines *lines, const struct sb_map *map,
                         const struct sb_source_walk *walk, struct sb_error *err)
{
	const struct sb_binary *binary;
	struct line_file *file;
	int status;

	if (!lines || !map || !walk)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "sb_source_lines_walk: no file");
	pthread_mutex_lock(&lines->lock);
	status = file_of_map(lines, map, &file, &binary);
	if (status == 0 && file)
		status = dwarf_lines_walk(lines_of(file), &lines->strings, walk);
	pthread_mutex_unlock(&lines->lock);
	return status == -sbe_nomem ? no_memory(err) : status;
}

/* ---- The kernel ------------------------------------------------------------------------------- */

int sb_source_lines_walk_kernel(struct sb_source_lines *lines, const uint64_t *ip, size_t count,
                                const struct sb_source_walk *walk, struct sb_error *err)
{
	int status;

	if (!lines || (!ip && count) || !walk)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX,
		                    "sb_source_lines_walk_kernel: no addresses");
	pthread_mutex_lock(&lines->lock);
	status = kernel_lines_walk(&lines->kernel, lines->resolver, &lines->strings, ip, count, walk);
	pthread_mutex_unlock(&lines->lock);
	return status == -sbe_nomem ? no_memory(err) : status;
}

int sb_source_lines_add_vmlinux(struct sb_source_lines *lines, const char *path, uint64_t shift,
                                struct sb_error *err)
{
	int status;

	if (!lines || !path)
		return sb_error_set(err, -sbe_invalid, path, UINT64_MAX,
		                    "sb_source_lines_add_vmlinux: no path");
	pthread_mutex_lock(&lines->lock);
	status = kernel_lines_add_vmlinux(&lines->kernel, path, shift);
	pthread_mutex_unlock(&lines->lock);
	return status < 0 ? no_memory(err) : 0;
}

int sb_source_lines_add_recording(struct sb_source_lines *lines, const struct sb_perfdata *perfdata,
                                  const struct sb_system *system, const char *kcore, struct sb_error *err)
{
	int status;

	if (!lines || !perfdata || !system)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX,
		                    "sb_source_lines_add_recording: no recording");
	pthread_mutex_lock(&lines->lock);
	status = kernel_lines_add_recording(&lines->kernel, perfdata, system, lines->resolver, kcore);
	pthread_mutex_unlock(&lines->lock);
	return status < 0 ? no_memory(err) : 0;
}
