/* A directory of a test's own, for files whose content the test knows. */
#ifndef TEST_TEMP_DIR_H
#define TEST_TEMP_DIR_H

#include <stddef.h>
#include <stdint.h>

struct temp_dir {
	char path[64];
};

/* Both fail the test when they cannot do their work; removal is recursive. */
void temp_dir_make(struct temp_dir *dir);
void temp_dir_remove(struct temp_dir *dir);

/* The path of @name in the directory; to be freed. */
char *temp_dir_path(const struct temp_dir *dir, const char *name);

/* (Over)writes the file @name; returns its path, to be freed. */
char *temp_dir_write(const struct temp_dir *dir, const char *name, const void *bytes, size_t size);

#endif
