/* temp_dir.c - see temp_dir.h. */
#include "support/temp_dir.h"

#include <ftw.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

void temp_dir_make(struct temp_dir *dir)
{
	strcpy(dir->path, "/tmp/sbtrace-test-XXXXXX");
	assert_non_null(mkdtemp(dir->path));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void temp_dir_remove(struct temp_dir *dir)
{
	assert_int_equal(nftw(dir->path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

char *temp_dir_path(const struct temp_dir *dir, const char *name)
{
	char *path = NULL;

	assert_true(asprintf(&path, "%s/%s", dir->path, name) > 0);
	return path;
}

char *temp_dir_write(const struct temp_dir *dir, const char *name, const void *bytes, size_t size)
{
	char *path = temp_dir_path(dir, name);
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	return path;
}
