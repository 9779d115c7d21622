/* live_process.h - a running process as /proc shows it: its threads, with their names, namespaces and
 * cgroups, and what it has mapped as code.
 */
#ifndef SB_LIVE_PROCESS_H
#define SB_LIVE_PROCESS_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sb/record.h>

#include "capture/cgroups.h"
#include "capture/exec_maps.h"

struct live_thread {
	pid_t tid;
	uint64_t start; /* when it began, in ticks: who has a number that was another's before */
	char comm[16];
	int has_namespaces;
	struct sb_namespace namespaces[NR_NAMESPACES];
	uint64_t cgroup; /* 0: not known */
};

struct live_process {
	pid_t pid, ppid;
	pid_t shown_by; /* the thread that /proc shows mappings of: of one that has ended, it shows none */
	uint64_t start;
	struct live_thread *thread; /* owned */
	size_t nthreads, capacity;
	struct exec_maps maps;
};

enum { live_process_threads = 1, live_process_maps = 2 };

/* @what: live_process_*. @cgroups NULL: who is where is not asked. Zero, also when the process is gone by
 * now: it has no threads, then; or -errno of a shortage (shortage.h). Read or not, it is to be freed. */
int live_process_read(struct live_process *process, pid_t pid, int what, const struct cgroups *cgroups);
void live_process_free(struct live_process *process);

/* Whether nothing changed from one to the other. */
int live_process_same(const struct live_process *a, const struct live_process *b);

/* Calls back for each process that there is. Zero; what the callback returns when it is not zero; -errno. */
int live_processes(int (*take)(void *context, pid_t pid), void *context);

#endif
