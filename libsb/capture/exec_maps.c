/* exec_maps.c - reads /proc/PID/maps and keeps what can be executed. */
#include "exec_maps.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Linux' address of the vsyscall page: it is listed, but nothing runs there. */
#define VSYSCALL_BASE UINT64_C(0xffffffffff600000)

static int maps_grow(struct exec_maps *maps)
{
	size_t room = maps->nmaps + 1;
	struct exec_map *map;

	if (maps->nmaps & (maps->nmaps - 1))
		return 0; /* room was doubled at the last power of two */
	if (maps->nmaps)
		room = 2 * maps->nmaps;
	map = realloc(maps->map, room * sizeof(*map));
	if (!map)
		return -1;
	maps->map = map;
	return 0;
}

static int maps_add(struct exec_maps *maps, const struct exec_map *map)
{
	char *name = strdup(map->name);

	if (!name || maps_grow(maps)) {
		free(name);
		return -1;
	}
	maps->map[maps->nmaps] = *map;
	maps->map[maps->nmaps++].name = name;
	return 0;
}

/* Returns 1 for an executable mapping, 0 for another line. */
static int parse_line(struct exec_map *map, char *line)
{
	char perms[5];
	int name_at = 0;

	memset(map, 0, sizeof(*map));
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 " %n",
	           &map->begin, &map->end, perms, &map->pgoff, &map->maj, &map->min, &map->ino, &name_at) < 7)
		return 0;
	if (perms[2] != 'x' || map->begin == VSYSCALL_BASE)
		return 0;
	map->prot = PROT_EXEC | (perms[0] == 'r' ? PROT_READ : 0u) | (perms[1] == 'w' ? PROT_WRITE : 0u);
	map->flags = perms[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	line[strcspn(line, "\n")] = '\0';
	map->name = line[name_at] ? line + name_at : (char *)"//anon";
	return 1;
}

/* The process' root as /proc/PID/maps would name it: a path that ends in no slash. */
static void read_root(char root[PATH_MAX], pid_t pid)
{
	char path[64];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	size = readlink(path, root, PATH_MAX - 1);
	root[size < 0 ? 0 : size] = '\0';
	if (!strcmp(root, "/"))
		root[0] = '\0';
}

/* Perf is told a path as the process sees it, and we as we do. */
static char *name_below(const char *root, char *name)
{
	const size_t size = strlen(root);

	return size && !strncmp(name, root, size) && name[size] == '/' ? name + size : name;
}

int exec_maps_read(struct exec_maps *maps, pid_t tid, struct sb_error *err)
{
	char path[64], root[PATH_MAX], *line = NULL;
	struct exec_map map;
	size_t room = 0;
	int status = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", tid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? 0
		                       : sb_error_set(err, -sbe_io, path, UINT64_MAX, "%s", strerror(errno));
	read_root(root, tid);
	errno = 0;
	while (!status && getline(&line, &room, file) > 0) {
		if (!parse_line(&map, line))
			continue;
		map.name = name_below(root, map.name);
		if (maps_add(maps, &map))
			status = sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	}
	/* The end of the list is no error; that the process has ended is none, either. */
	if (!status && !feof(file) && errno == ENOMEM)
		status = sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	free(line);
	fclose(file);
	return status;
}

int exec_maps_copy(struct exec_maps *maps, const struct exec_maps *from, struct sb_error *err)
{
	for (size_t i = 0; i < from->nmaps; i++) {
		if (maps_add(maps, &from->map[i]))
			return sb_error_set(err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	}
	return 0;
}

void exec_maps_fini(struct exec_maps *maps)
{
	for (size_t i = 0; i < maps->nmaps; i++)
		free(maps->map[i].name);
	free(maps->map);
	memset(maps, 0, sizeof(*maps));
}

const struct exec_map *exec_maps_find(const struct exec_maps *maps, uint64_t address)
{
	for (size_t i = 0; i < maps->nmaps; i++) {
		if (address >= maps->map[i].begin && address < maps->map[i].end)
			return &maps->map[i];
	}
	return NULL;
}

/* Whether what both map at an address that they share is the same. */
static int is_of_same(const struct exec_map *a, const struct exec_map *b)
{
	return a->begin - a->pgoff == b->begin - b->pgoff && a->maj == b->maj && a->min == b->min &&
	       a->ino == b->ino && a->prot == b->prot && a->flags == b->flags && !strcmp(a->name, b->name);
}

static int same_map(const struct exec_map *a, const struct exec_map *b)
{
	return a->begin == b->begin && a->end == b->end && a->pgoff == b->pgoff && is_of_same(a, b);
}

int exec_maps_has(const struct exec_maps *maps, const struct exec_map *map)
{
	const struct exec_map *found = exec_maps_find(maps, map->begin);

	return found && same_map(found, map);
}

int exec_maps_cover(const struct exec_maps *maps, const struct exec_map *map)
{
	const struct exec_map *found = exec_maps_find(maps, map->begin);

	return found && found->end >= map->end && is_of_same(found, map);
}

int exec_maps_touch(const struct exec_maps *maps, uint64_t begin, uint64_t end)
{
	for (size_t i = 0; i < maps->nmaps; i++) {
		if (maps->map[i].begin < end && begin < maps->map[i].end)
			return 1;
	}
	return 0;
}

int exec_map_volatile(const struct exec_map *map)
{
	return (map->prot & PROT_WRITE) || (map->flags & MAP_SHARED);
}
