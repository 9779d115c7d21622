/* A file that holds code: what it was when it was looked at, and its mapping.
 *
 * Reference-counted and shared by all sections of the file. It is mapped as a whole, once, while any of
 * its sections has taken bytes: so many pieces cost the process one memory area, of which it has 65530.
 * Between making and mapping it is closed, so that any number of files may exist. The bytes of a small file
 * are a copy.
 */
#ifndef PT_FILE_H
#define PT_FILE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct pt_file {
	char *name; /* owned */
	uint64_t size;
	int64_t mtime_sec, mtime_nsec; /* a file that changed since is refused with -pte_bad_image */
	_Atomic uint64_t refs;
	pthread_mutex_t lock; /* guards the following */
	const uint8_t *bytes; /* NULL: not mapped */
	bool is_copy;         /* the bytes are one, not a mapping */
	uint64_t users;       /* of the bytes */
};

/* Looks at @name. Zero and one reference; -pte_invalid (NULL, or no regular file that can be read),
 * -pte_nomem. */
int pt_file_make(struct pt_file **file, const char *name);

struct pt_file *pt_file_get(struct pt_file *file);
void pt_file_put(struct pt_file *file);

/* Whether both were the same file in the same state when they were looked at. */
bool pt_file_same(const struct pt_file *a, const struct pt_file *b);

/* The file's bytes; to be given back with pt_file_unmap(). NULL when it cannot be mapped - *errcode then
 * says why: -pte_bad_image (it changed or is gone), -pte_nomem. From any thread. A file that is truncated
 * while it is mapped raises SIGBUS, as any mapping does. */
const uint8_t *pt_file_map(struct pt_file *file, int *errcode);
void pt_file_map_again(struct pt_file *file); /* for who has mapped it */
void pt_file_unmap(struct pt_file *file);

#endif
