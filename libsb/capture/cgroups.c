/* cgroups.c - see cgroups.h; formats: proc(5) for mountinfo, cgroups(7) for /proc/PID/cgroup. */
#include "cgroups.h"

#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/fd_path.h"
#include "capture/shortage.h"

struct cgroups {
	int version; /* 1 or 2 */
	char *mount; /* where it is mounted; NULL: nowhere that we see */
	char *root;  /* the cgroup that is mounted there */
	int error;   /* errno: what is mounted cannot be known */
	uint64_t *met;
	size_t nmet, room;
};

static int has_word(const char *list, const char *word)
{
	const size_t size = strlen(word);

	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (!strncmp(at, word, size) && (at[size] == ',' || !at[size]))
			return 1;
	return 0;
}

/* "ID PARENT MAJ:MIN ROOT MOUNT OPTIONS... - TYPE SOURCE SUPER-OPTIONS" */
static int take_mount(struct cgroups *cgroups, const char *line)
{
	char root[PATH_MAX], mount[PATH_MAX], type[32], options[1024];
	const char *behind = strstr(line, " - ");
	int version;

	if (!behind || sscanf(line, "%*s %*s %*s %4095s %4095s", root, mount) != 2 ||
	    sscanf(behind, " - %31s %*s %1023s", type, options) != 2)
		return 0;
	version = !strcmp(type, "cgroup2") ? 2 : !strcmp(type, "cgroup") ? 1 : 0;
	if (!version || (version == 1 && !has_word(options, "perf_event")) ||
	    (cgroups->mount && cgroups->version <= version))
		return 0;
	free(cgroups->mount);
	free(cgroups->root);
	cgroups->version = version;
	cgroups->mount = strdup(mount);
	cgroups->root = strdup(root);
	return cgroups->mount && cgroups->root ? 0 : -ENOMEM;
}

int cgroups_open(struct cgroups **out)
{
	struct cgroups *cgroups = calloc(1, sizeof(*cgroups));
	FILE *file = cgroups ? fopen("/proc/self/mountinfo", "re") : NULL;
	char *line = NULL;
	size_t room = 0;
	int status = cgroups ? 0 : -ENOMEM;

	if (cgroups && !file)
		cgroups->error = errno;
	if (cgroups && is_shortage(cgroups->error))
		status = -cgroups->error;
	errno = 0;
	while (file && !status && getline(&line, &room, file) > 0)
		status = take_mount(cgroups, line);
	if (file && !status && is_shortage(errno))
		status = -errno;
	free(line);
	if (file)
		fclose(file);
	*out = cgroups;
	if (status) {
		cgroups_close(cgroups);
		*out = NULL;
	}
	return status;
}

void cgroups_close(struct cgroups *cgroups)
{
	if (!cgroups)
		return;
	free(cgroups->mount);
	free(cgroups->root);
	free(cgroups->met);
	free(cgroups);
}

/* "NUMBER:CONTROLLERS:PATH"; of version 2 "0::PATH". The path, if it is of our hierarchy. */
static char *path_of(const struct cgroups *cgroups, char *line)
{
	char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!path)
		return NULL;
	*path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	controllers += 1;
	if (cgroups->version == 1 ? !has_word(controllers, "perf_event") : *controllers != '\0')
		return NULL;
	return path;
}

/* Where the hierarchy is mounted from another cgroup on, so much of a path is left out; but zero: it is not
 * below. */
static int skip_root(const struct cgroups *cgroups, const char *path, size_t *skip)
{
	*skip = cgroups->root && strcmp(cgroups->root, "/") != 0 ? strlen(cgroups->root) : 0;
	return cgroups->mount &&
	       (!*skip || (!strncmp(path, cgroups->root, *skip) && (path[*skip] == '/' || !path[*skip])));
}

/* The number that the kernel knows the cgroup by; where it cannot be had, one that the path makes. Zero, or
 * -errno of a shortage. */
static int id_of(const struct cgroups *cgroups, const char *path, uint64_t *id)
{
	char full[2 * PATH_MAX];
	struct stat info;
	size_t skip;

	if (skip_root(cgroups, path, &skip)) {
		snprintf(full, sizeof(full), "%s%s", cgroups->mount, path + skip);
		if (!stat(full, &info) && info.st_ino) {
			*id = info.st_ino;
			return 0;
		}
		if (is_shortage(errno))
			return -errno;
	}
	*id = UINT64_C(0xcbf29ce484222325);
	for (; *path; path++)
		*id = (*id ^ (uint8_t)*path) * UINT64_C(0x100000001b3);
	*id |= UINT64_C(1) << 63;
	return 0;
}

int cgroups_of(const struct cgroups *cgroups, pid_t pid, pid_t tid, struct cgroup *cgroup)
{
	char name[64], *line = NULL, *path = NULL;
	size_t room = 0;
	int status = -ENOENT;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/cgroup", pid, tid);
	file = fopen(name, "re");
	if (!file)
		return -errno;
	errno = 0;
	while (!path && getline(&line, &room, file) > 0)
		path = path_of(cgroups, line);
	if (!path && !feof(file))
		status = -errno;
	if (path && strlen(path) < sizeof(cgroup->path)) {
		strcpy(cgroup->path, path);
		status = id_of(cgroups, path, &cgroup->id);
	}
	free(line);
	fclose(file);
	return status;
}

int cgroups_place(const struct cgroups *cgroups, const char *path, char place[PATH_MAX])
{
	size_t skip;
	int size;

	if (!cgroups->mount)
		return cgroups->error ? -cgroups->error : -ENOENT;
	if (!skip_root(cgroups, path, &skip))
		return -EXDEV;
	size = snprintf(place, PATH_MAX, "%s/%s", cgroups->mount, path + skip + (path[skip] == '/'));
	return size >= 0 && size < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* The path of a directory of the hierarchy, which is mounted from .root on; "" stands for the uppermost. */
static void name_cgroup(const struct cgroups *cgroups, const char *below, struct cgroup *cgroup)
{
	const char *root = strcmp(cgroups->root, "/") != 0 ? cgroups->root : "";

	snprintf(cgroup->path, sizeof(cgroup->path), "%s%s", root, below);
	if (!cgroup->path[0])
		strcpy(cgroup->path, "/");
}

int cgroups_walk(const struct cgroups *cgroups, int (*take)(void *context, const struct cgroup *cgroup),
                 void *context)
{
	char *const roots[] = {cgroups->mount, NULL};
	FTS *tree = cgroups->mount ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL) : NULL;
	const size_t skip = cgroups->mount ? strlen(cgroups->mount) : 0;
	struct cgroup cgroup;
	int status = 0;
	FTSENT *entry;

	if (cgroups->mount && !tree)
		return -errno;
	while (tree && status >= 0 && (errno = 0, entry = fts_read(tree))) {
		/* What is not there any more is nothing to speak of. */
		if ((entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR) &&
		    is_shortage(entry->fts_errno))
			status = -entry->fts_errno;
		if (entry->fts_info != FTS_D)
			continue;
		cgroup.id = entry->fts_statp->st_ino;
		name_cgroup(cgroups, entry->fts_path + skip, &cgroup);
		status = take(context, &cgroup);
	}
	if (tree && status >= 0 && is_shortage(errno))
		status = -errno;
	if (tree)
		fts_close(tree);
	return status < 0 ? status : 0;
}

int cgroups_meet(struct cgroups *cgroups, uint64_t id)
{
	for (size_t i = 0; i < cgroups->nmet; i++)
		if (cgroups->met[i] == id)
			return 0;
	if (cgroups->nmet == cgroups->room) {
		const size_t room = cgroups->room ? 2 * cgroups->room : 16;
		uint64_t *met = reallocarray(cgroups->met, room, sizeof(*met));

		if (!met)
			return -1;
		cgroups->met = met;
		cgroups->room = room;
	}
	cgroups->met[cgroups->nmet++] = id;
	return 1;
}

int cgroups_moves(pid_t pid, int fd)
{
	static const char *const files[] = {"/cgroup.procs", "/cgroup.threads", "/tasks"};
	char path[PATH_MAX];
	const int size = fd_path(pid, fd, path);

	if (size < 0)
		return 0;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const size_t length = strlen(files[i]);

		if ((size_t)size >= length && !strcmp(path + (size_t)size - length, files[i]))
			return 1;
	}
	return 0;
}
