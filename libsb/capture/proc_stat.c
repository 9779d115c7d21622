/* proc_stat.c - see proc_stat.h. */
#include "capture/proc_stat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "capture/shortage.h"

/* "TID (COMM) STATE PPID ... START ...": the name may hold anything. */
static int take(struct proc_stat *stat, char *text)
{
	char *name = strchr(text, '('), *end = strrchr(text, ')');

	if (!name || !end ||
	    sscanf(end + 1,
	           " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
	           "%*s %" SCNu64,
	           &stat->state, &stat->parent, &stat->start) != 3)
		return 0;
	*end = '\0';
	snprintf(stat->comm, sizeof(stat->comm), "%s", name + 1);
	return 1;
}

int proc_stat_read(struct proc_stat *stat, const char *dir)
{
	char path[96], text[1024];
	int error = 0;
	size_t size;
	FILE *file;

	*stat = (struct proc_stat){0};
	snprintf(path, sizeof(path), "%s/stat", dir);
	file = fopen(path, "re");
	if (!file)
		return is_shortage(errno) ? -errno : 0;
	size = fread(text, 1, sizeof(text) - 1, file);
	if (ferror(file))
		error = errno;
	fclose(file);
	if (error)
		return is_shortage(error) ? -error : 0;
	text[size] = '\0';
	return take(stat, text);
}

int proc_stat_of(struct proc_stat *stat, pid_t tid)
{
	char dir[32];

	snprintf(dir, sizeof(dir), "/proc/%d", tid);
	return proc_stat_read(stat, dir);
}

/* "Tgid:\t123" of /proc/TID/status. */
int proc_leader_of(pid_t *pid, pid_t tid)
{
	char path[64], line[256];
	FILE *file;

	*pid = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "re");
	if (!file)
		return is_shortage(errno) ? -errno : 0;
	while (!*pid && fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %d", pid) != 1)
			*pid = 0;
	fclose(file);
	return *pid != 0;
}
