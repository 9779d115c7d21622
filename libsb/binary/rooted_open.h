/* rooted_open.h - opening what a recording names, without ever leaving a root directory.
 *
 * A path of a recording is foreign data. It is resolved as if the root were "/": "..", absolute symbolic
 * links and /proc's magic links cannot lead out of it. Only regular files are opened, so that no device
 * does something and no pipe waits.
 */
#ifndef SB_ROOTED_OPEN_H
#define SB_ROOTED_OPEN_H

#include <stdint.h>

struct rooted_file {
	int fd; /* for reading; the caller closes it */
	uint64_t size;
	uint32_t maj, min; /* of the device that it is on */
	uint64_t ino;
	uint64_t written; /* last, ns since 1970 */
	char *path;       /* its real path, owned by the caller */
};

enum rooted_status { rooted_found, rooted_missing, rooted_not_regular, rooted_failed };

/* @root is a directory without trailing slash but for "/" itself, @name begins with '/'. On
 * rooted_failed, errno says why. */
enum rooted_status rooted_open(struct rooted_file *file, const char *root, const char *name);

/* The same for what descriptor @named, of O_PATH, names; it is the caller's. */
enum rooted_status rooted_open_named(struct rooted_file *file, int named);

/* A descriptor of the directory @name, for reading; -1: there is none that can be read. */
int rooted_open_folder(const char *root, const char *name);

void rooted_close(struct rooted_file *file);

#endif
