/* vdso.c - see vdso.h. */
#include "binary/vdso.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

int vdso_is_foreign(const struct vdso *vdso)
{
	struct utsname own;

	return vdso->recorded_on[0] && (uname(&own) < 0 || strcmp(own.release, vdso->recorded_on) != 0);
}

/* Finds [vdso] in this process' mappings. */
static const uint8_t *find_vdso(uint64_t *size)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	const uint8_t *found = NULL;
	char line[512];

	if (!maps)
		return NULL;
	while (!found && fgets(line, sizeof(line), maps)) {
		uint64_t begin, end;

		if (strstr(line, "[vdso]") && sscanf(line, "%" SCNx64 "-%" SCNx64, &begin, &end) == 2) {
			found = (const uint8_t *)(uintptr_t)begin;
			*size = end - begin;
		}
	}
	fclose(maps);
	return found;
}

static int write_all(int fd, const uint8_t *bytes, uint64_t size)
{
	while (size) {
		const ssize_t n = write(fd, bytes, size);

		if (n <= 0)
			return -1;
		bytes += n;
		size -= (uint64_t)n;
	}
	return 0;
}

static char *new_file(int *fd)
{
	const char *directory = getenv("TMPDIR");
	char *path;

	if (!directory || directory[0] != '/')
		directory = "/tmp";
	if (asprintf(&path, "%s/sbtrace-vdso-XXXXXX", directory) < 0)
		return NULL;
	*fd = mkstemp(path);
	if (*fd < 0) {
		free(path);
		return NULL;
	}
	return path;
}

int vdso_make(struct vdso *vdso)
{
	const uint8_t *bytes;
	int fd, status;

	if (vdso->tried)
		return vdso->path ? 0 : -1;
	vdso->tried = 1;
	bytes = find_vdso(&vdso->size);
	if (!bytes)
		return -1;
	vdso->path = new_file(&fd);
	if (!vdso->path)
		return -1;
	status = write_all(fd, bytes, vdso->size);
	if (close(fd) < 0 || status < 0) {
		vdso_free(vdso);
		return -1;
	}
	return 0;
}

void vdso_free(struct vdso *vdso)
{
	if (vdso->path)
		unlink(vdso->path);
	free(vdso->path);
	vdso->path = NULL;
}
