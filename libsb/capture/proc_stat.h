/* proc_stat.h - what /proc/PID/stat, or that of a thread, tells (proc(5)). */
#ifndef SB_PROC_STAT_H
#define SB_PROC_STAT_H

#include <stdint.h>
#include <sys/types.h>

struct proc_stat {
	char comm[16];
	char state;
	pid_t parent;   /* who started its process */
	uint64_t start; /* when it began, in ticks */
};

/* Reads @dir/stat. 1; 0: there is none, so it is gone, and *stat is zeroed; or -errno, of a shortage: see
 * shortage.h. */
int proc_stat_read(struct proc_stat *stat, const char *dir);
/* The same of /proc/@tid. */
int proc_stat_of(struct proc_stat *stat, pid_t tid);

/* The process that the thread @tid is of. 1; 0: it is gone, and *pid is zero; or -errno, of a shortage. */
int proc_leader_of(pid_t *pid, pid_t tid);

#endif
