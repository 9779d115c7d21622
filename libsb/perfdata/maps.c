/* maps.c - /proc/PID/maps as it was when tracing began, for raw pairs whose sideband began no earlier: the
 * records that perf would have made of it, a COMM and an MMAP2 for each mapping that can hold code, without a
 * time. Format: proc(5), perf_event_open(2).
 */
#include "perfdata/perfdata_internal.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "perfdata/spool.h"
#include "record/bytes.h"

enum {
	PATH_LENGTH_MAX = 4096,
	COMM_LENGTH_MAX = 15, /* as the kernel cuts it */
	LINE_MAX_SIZE = PATH_LENGTH_MAX + 256,
	RECORD_ROOM = PATH_LENGTH_MAX + 512
};

struct process {
	int32_t pid;
	char *path; /* owned */
};

struct maps {
	struct process *process;
	size_t count;
};

struct mapping {
	uint64_t begin, end, pgoff, ino;
	uint32_t maj, min, prot, flags;
	char path[PATH_LENGTH_MAX];
};

struct record_bytes {
	uint8_t bytes[RECORD_ROOM];
	size_t size;
};

/* ---- Lines ------------------------------------------------------------------------------------ */

static uint32_t protection(const char *perms)
{
	return (perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) |
	       (perms[2] == 'x' ? PROT_EXEC : 0);
}

/* A newline in a name stands there as \012. */
static int copy_path(char *to, const char *from)
{
	size_t n = 0;

	while (*from) {
		const int escaped = !strncmp(from, "\\012", 4);

		if (n == PATH_LENGTH_MAX - 1)
			return 0;
		to[n++] = escaped ? '\n' : *from;
		from += escaped ? 4 : 1;
	}
	to[n] = '\0';
	return 1;
}

/* 401000-496000 r-xp 00001000 08:01 1234   /usr/bin/true */
static int parse_line(struct mapping *mapping, const char *line)
{
	char perms[5];
	int at = 0;

	if (sscanf(line,
	           "%16" SCNx64 "-%16" SCNx64 " %4[-rwxsp] %16" SCNx64 " %8" SCNx32 ":%8" SCNx32 " %20" SCNu64
	           "%n",
	           &mapping->begin, &mapping->end, perms, &mapping->pgoff, &mapping->maj, &mapping->min,
	           &mapping->ino, &at) != 7 ||
	    strlen(perms) != 4 || mapping->end <= mapping->begin || (line[at] && line[at] != ' '))
		return 0;
	mapping->prot = protection(perms);
	mapping->flags = perms[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	while (line[at] == ' ')
		at++;
	return copy_path(mapping->path, line[at] ? line + at : "//anon");
}

/* ---- Records ---------------------------------------------------------------------------------- */

static void put(struct record_bytes *record, const void *bytes, size_t size)
{
	memcpy(record->bytes + record->size, bytes, size);
	record->size += size;
}

static void put_u32(struct record_bytes *record, uint32_t value)
{
	store_u32(record->bytes + record->size, value);
	record->size += 4;
}

static void put_u64(struct record_bytes *record, uint64_t value)
{
	store_u64(record->bytes + record->size, value);
	record->size += 8;
}

static void begin_record(struct record_bytes *record, uint32_t type, uint16_t misc, int32_t pid)
{
	record->size = 8;
	store_u32(record->bytes, type);
	store_u16(record->bytes + 4, misc);
	put_u32(record, (uint32_t)pid);
	put_u32(record, (uint32_t)pid);
}

/* The name, then a trailer of zeros, as records have it that are of no time. */
static int write_record(struct spool *spool, struct record_bytes *record, const char *name,
                        uint32_t trailer_size, struct sb_error *err)
{
	put(record, name, strlen(name) + 1);
	while (record->size % 8)
		record->bytes[record->size++] = 0;
	memset(record->bytes + record->size, 0, trailer_size);
	record->size += trailer_size;
	store_u16(record->bytes + 6, (uint16_t)record->size);
	return spool_write(spool, record->bytes, record->size, err);
}

static int write_comm(struct spool *spool, int32_t pid, const char *path, uint32_t trailer_size,
                      struct sb_error *err)
{
	const char *slash = strrchr(path, '/');
	struct record_bytes record;
	char name[COMM_LENGTH_MAX + 1];

	snprintf(name, sizeof(name), "%.*s", COMM_LENGTH_MAX, slash ? slash + 1 : path);
	begin_record(&record, PERF_RECORD_COMM, 0, pid);
	return write_record(spool, &record, name, trailer_size, err);
}

static int write_mmap2(struct spool *spool, int32_t pid, const struct mapping *mapping, uint32_t trailer_size,
                       struct sb_error *err)
{
	struct record_bytes record;

	begin_record(&record, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, pid);
	put_u64(&record, mapping->begin);
	put_u64(&record, mapping->end - mapping->begin);
	put_u64(&record, mapping->pgoff);
	put_u32(&record, mapping->maj);
	put_u32(&record, mapping->min);
	put_u64(&record, mapping->ino);
	put_u64(&record, 0);
	put_u32(&record, mapping->prot);
	put_u32(&record, mapping->flags);
	return write_record(spool, &record, mapping->path, trailer_size, err);
}

/* ---- Files ------------------------------------------------------------------------------------ */

/* One line of @map, whose first byte is at @offset. The first program gives its process a name. */
static int add_line(struct spool *spool, const struct mapped_file *map, uint64_t offset, const char *line,
                    int32_t pid, int *named, uint32_t trailer_size, struct sb_error *err)
{
	struct mapping mapping;
	int status = 0;

	if (!*line)
		return 0;
	if (!parse_line(&mapping, line))
		return sb_error_set(err, -sbe_format, map->path, offset,
		                    "\"%.80s\" is no line of /proc/PID/maps", line);
	if (!(mapping.prot & PROT_EXEC))
		return 0;
	if (!*named && mapping.path[0] == '/' && mapping.path[1] != '/') {
		status = write_comm(spool, pid, mapping.path, trailer_size, err);
		*named = 1;
	}
	return status < 0 ? status : write_mmap2(spool, pid, &mapping, trailer_size, err);
}

static int add_lines(struct spool *spool, const struct mapped_file *map, int32_t pid, uint32_t trailer_size,
                     struct sb_error *err)
{
	uint64_t at = 0;
	int status = 0, named = 0;

	while (at < map->size && status == 0) {
		const uint8_t *begin = map->bytes + at, *end = memchr(begin, '\n', map->size - at);
		const uint64_t size = end ? (uint64_t)(end - begin) : map->size - at;
		char line[LINE_MAX_SIZE];

		if (size >= sizeof(line) || memchr(begin, '\0', size))
			return sb_error_set(err, -sbe_format, map->path, at,
			                    "no line of /proc/PID/maps: %" PRIu64 " bytes, or a NUL in it",
			                    size);
		memcpy(line, begin, size);
		line[size] = '\0';
		status = add_line(spool, map, at, line, pid, &named, trailer_size, err);
		at += size + 1;
	}
	return status;
}

static int add_process(struct spool *spool, const struct process *process, uint32_t trailer_size,
                       struct sb_error *err)
{
	struct mapped_file map;
	int status = sb_mapped_file_open(&map, process->path, err);

	if (status < 0)
		return status;
	status = add_lines(spool, &map, process->pid, trailer_size, err);
	sb_mapped_file_close(&map);
	return status;
}

/* N of "N.maps", 0 for "maps", or -1. */
static int32_t maps_pid(const char *name)
{
	char canonical[32];
	int32_t pid;

	if (!strcmp(name, "maps"))
		return 0;
	if (sscanf(name, "%10" SCNd32, &pid) != 1 || pid < 1)
		return -1;
	snprintf(canonical, sizeof(canonical), "%" PRId32 ".maps", pid);
	return strcmp(name, canonical) ? -1 : pid;
}

static int by_pid(const void *a, const void *b)
{
	const struct process *left = a, *right = b;

	return left->pid < right->pid ? -1 : left->pid > right->pid;
}

static int add_maps(struct maps *maps, const char *directory, const char *name, int32_t pid,
                    struct sb_error *err)
{
	struct process *grown = sb_array_room(maps->process, maps->count, sizeof(*grown));
	char *path = grown ? sb_path_join(directory, name) : NULL;

	if (grown)
		maps->process = grown;
	if (!path)
		return sb_error_set(err, -sbe_nomem, directory, UINT64_MAX, "out of memory");
	grown[maps->count++] = (struct process){pid, path};
	return 0;
}

static int find_maps(struct maps *maps, const char *directory, int32_t pid, struct sb_error *err)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	int status = 0;

	if (!dir)
		return sb_error_set(err, -sbe_io, directory, UINT64_MAX, "%s", strerror(errno));
	while (status == 0 && (entry = readdir(dir))) {
		const int32_t named = maps_pid(entry->d_name);

		if (named < 0)
			continue;
		if (!named && pid <= 0)
			status = sb_error_set(err, -sbe_format, directory, UINT64_MAX,
			                      "whose \"maps\" are these? recording.info does not say pid=N; "
			                      "call the file N.maps otherwise");
		else
			status = add_maps(maps, directory, entry->d_name, named ? named : pid, err);
	}
	closedir(dir);
	if (maps->count)
		qsort(maps->process, maps->count, sizeof(*maps->process), by_pid);
	return status;
}

static int make_records(struct sb_perfdata *perfdata, const struct maps *maps, struct sb_error *err)
{
	struct spool spool;
	struct mapped_file map;
	int status = spool_open(&spool, maps->process[0].path, err);

	if (status < 0)
		return status;
	for (size_t i = 0; i < maps->count && status == 0; i++)
		status = add_process(&spool, &maps->process[i], perfdata->attr->trailer.size, err);
	if (status == 0)
		status = spool_map(&spool, &map, err);
	spool_close(&spool);
	return status < 0 ? status : sb_perfdata_take_record_file(perfdata, &map, err);
}

int sb_perfdata_read_maps(struct sb_perfdata *perfdata, const char *directory, int32_t pid,
                          struct sb_error *err)
{
	struct maps maps = {0};
	int status = find_maps(&maps, directory, pid, err);

	if (status == 0 && maps.count)
		status = make_records(perfdata, &maps, err);
	for (size_t i = 0; i < maps.count; i++)
		free(maps.process[i].path);
	free(maps.process);
	return status;
}
