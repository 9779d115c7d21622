/* live_process.c - see live_process.h; formats: proc(5). */
#include "capture/live_process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/namespaces.h"
#include "capture/proc_stat.h"
#include "capture/shortage.h"
#include "system/arena.h"

/* Calls back for each name in the directory that is a number. */
static int each_number(const char *path, int (*take)(void *context, pid_t number), void *context)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int status = 0;

	if (!dir)
		return -errno;
	while (status == 0 && (entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]))
			status = take(context, (pid_t)strtol(entry->d_name, NULL, 10));
	closedir(dir);
	return status;
}

int live_processes(int (*take)(void *context, pid_t pid), void *context)
{
	return each_number("/proc", take, context);
}

struct reading {
	struct live_process *process;
	const struct cgroups *cgroups;
};

static int add_thread(void *context, pid_t tid)
{
	const struct reading *reading = context;
	struct live_process *process = reading->process;
	struct live_thread thread = {.tid = tid};
	struct proc_stat stat;
	struct cgroup cgroup;
	char dir[64];
	int status;

	snprintf(dir, sizeof(dir), "/proc/%d/task/%d", process->pid, tid);
	status = proc_stat_read(&stat, dir);
	if (status <= 0)
		return status;
	thread.start = stat.start;
	memcpy(thread.comm, stat.comm, sizeof(thread.comm));
	status = namespaces_read(process->pid, tid, thread.namespaces);
	if (is_shortage(-status))
		return status;
	thread.has_namespaces = status == 0;
	status = reading->cgroups ? cgroups_of(reading->cgroups, process->pid, tid, &cgroup) : -ENOENT;
	if (status == 0)
		thread.cgroup = cgroup.id;
	else if (is_shortage(-status))
		return status;
	if (array_reserve(&process->thread, &process->capacity, process->nthreads, sizeof(thread)) < 0)
		return -ENOMEM;
	process->thread[process->nthreads++] = thread;
	if (tid == process->pid) {
		process->ppid = stat.parent;
		process->start = thread.start;
	}
	return 0;
}

/* Those that /proc shows of @tid; other threads have the same. 1: there are some; 0; or -errno. */
static int read_maps(void *context, pid_t tid)
{
	struct live_process *process = context;
	struct sb_error err = {0};
	int status;

	errno = 0;
	status = exec_maps_read(&process->maps, tid, &err);
	if (status < 0)
		return status == -sbe_nomem ? -ENOMEM : -errno;
	process->shown_by = tid;
	return process->maps.nmaps != 0;
}

int live_process_read(struct live_process *process, pid_t pid, int what, const struct cgroups *cgroups)
{
	struct reading reading = {process, cgroups};
	struct proc_stat leader;
	char path[64];
	int status;

	*process = (struct live_process){.pid = pid};
	snprintf(path, sizeof(path), "/proc/%d", pid);
	status = proc_stat_read(&leader, path);
	if (status <= 0)
		return status;
	status = 0;
	process->ppid = leader.parent;
	process->start = leader.start;
	if (what & live_process_threads) {
		snprintf(path, sizeof(path), "/proc/%d/task", pid);
		status = each_number(path, add_thread, &reading);
	}
	/* Whose mappings are not for us to see has none here. */
	if (!is_shortage(-status) && (what & live_process_maps)) {
		status = read_maps(process, pid);
		snprintf(path, sizeof(path), "/proc/%d/task", pid);
		if (status == 0 && leader.state == 'Z')
			status = each_number(path, read_maps, process);
	}
	return is_shortage(-status) ? status : 0;
}

void live_process_free(struct live_process *process)
{
	free(process->thread);
	exec_maps_fini(&process->maps);
	*process = (struct live_process){0};
}

static int same_thread(const struct live_thread *a, const struct live_thread *b)
{
	return a->tid == b->tid && a->start == b->start && a->cgroup == b->cgroup &&
	       !strcmp(a->comm, b->comm) && a->has_namespaces == b->has_namespaces &&
	       !memcmp(a->namespaces, b->namespaces, sizeof(a->namespaces));
}

int live_process_same(const struct live_process *a, const struct live_process *b)
{
	if (a->nthreads != b->nthreads || a->maps.nmaps != b->maps.nmaps || a->start != b->start)
		return 0;
	for (size_t i = 0; i < a->nthreads; ++i)
		if (!same_thread(&a->thread[i], &b->thread[i]))
			return 0;
	for (size_t i = 0; i < a->maps.nmaps; ++i)
		if (!exec_maps_has(&b->maps, &a->maps.map[i]))
			return 0;
	return 1;
}
