/* build_id_dir.c - see build_id_dir.h. */
#include "binary/build_id_dir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "binary/file_fit.h"

#define HIDDEN "/.build-id"

static int is_directory(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0)
		return 0;
	errno = ENOTDIR;
	return S_ISDIR(status.st_mode);
}

int build_id_dir_init(struct build_id_dir *dir, const char *path, struct sb_error *err)
{
	char *root, *inside;
	size_t length;

	*dir = (struct build_id_dir){.prefix = ""};
	if (!is_directory(path))
		return sb_error_set(err, -sbe_not_found, path, UINT64_MAX,
		                    "expected a directory of files by build-id: %m");
	root = realpath(path, NULL);
	if (!root || asprintf(&inside, "%s" HIDDEN, root) < 0) {
		free(root);
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	}
	length = strlen(root);
	if (length > strlen(HIDDEN) && strcmp(root + length - strlen(HIDDEN), HIDDEN) == 0) {
		root[length - strlen(HIDDEN)] = '\0';
		dir->prefix = HIDDEN;
	} else if (is_directory(inside)) {
		dir->prefix = HIDDEN;
	}
	free(inside);
	dir->root = root;
	return 0;
}

void build_id_dir_fini(struct build_id_dir *dir)
{
	free(dir->root);
	*dir = (struct build_id_dir){0};
}

int build_id_name(char *name, size_t size, const char *prefix, enum build_id_kind kind, unsigned int number,
                  const uint8_t *id, int id_size)
{
	static const char *const ends[2][5] = {
	        [build_id_code] = {"/elf", "/vdso", "", ".debug", NULL},
	        [build_id_debug] = {".debug", "/debug", "/elf", "", NULL},
	};
	const char *end = number < 4 ? ends[kind][number] : NULL;
	char text[41];

	if (!end || id_size < 2)
		return 0;
	build_id_text(id, id_size, text);
	snprintf(name, size, "%s/%.2s/%s%s", prefix, text, text + 2, end);
	return 1;
}
