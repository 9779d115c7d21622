/* cgroups.h - the hierarchy of cgroups that perf goes by, and which cgroup of it a thread is in.
 *
 * That is the one with the perf_event controller: a hierarchy of version 1 of its own where one is mounted,
 * else that of version 2. See cgroups(7).
 */
#ifndef SB_CAPTURE_CGROUPS_H
#define SB_CAPTURE_CGROUPS_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroups;

/* Zero, or -errno: see shortage.h. */
int cgroups_open(struct cgroups **cgroups);
void cgroups_close(struct cgroups *cgroups); /* NULL is fine */

struct cgroup {
	uint64_t id; /* as perf's, where it can be had; never 0 */
	char path[PATH_MAX];
};

/* The cgroup of @tid of @pid. Returns 0, or -errno: it is gone, there are no cgroups, or
 * see shortage.h. */
int cgroups_of(const struct cgroups *cgroups, pid_t pid, pid_t tid, struct cgroup *cgroup);

/* Calls back for each cgroup of the hierarchy that we see, the upper ones first; what it returns ends the
 * walk when it is negative, and is returned. Zero also where there are none. */
int cgroups_walk(const struct cgroups *cgroups, int (*take)(void *context, const struct cgroup *cgroup),
                 void *context);

/* Where the directory of a cgroup is, which is named by its path in the hierarchy. Zero, or -ENOENT: there is
 * no hierarchy that we see; -EXDEV: we see another part of it; or why what is mounted cannot be known. */
int cgroups_place(const struct cgroups *cgroups, const char *path, char place[PATH_MAX]);

/* Whether the cgroup with this id is new here; from now on it is not. Negative: no memory. */
int cgroups_meet(struct cgroups *cgroups, uint64_t id);

/* Whether the file that @fd is to @pid moves who is written into it. */
int cgroups_moves(pid_t pid, int fd);

#endif
