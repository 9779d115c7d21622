/* namespaces.c - see namespaces.h; /proc/PID/task/TID/ns: namespaces(7). */
#include "capture/namespaces.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

int namespaces_read(pid_t pid, pid_t tid, struct sb_namespace namespaces[NR_NAMESPACES])
{
	static const char *const names[NR_NAMESPACES] = {
	        [NET_NS_INDEX] = "net",       [UTS_NS_INDEX] = "uts",   [IPC_NS_INDEX] = "ipc",
	        [PID_NS_INDEX] = "pid",       [USER_NS_INDEX] = "user", [MNT_NS_INDEX] = "mnt",
	        [CGROUP_NS_INDEX] = "cgroup",
	};

	for (int i = 0; i < NR_NAMESPACES; i++) {
		char path[96];
		struct stat info;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/ns/%s", pid, tid, names[i]);
		if (stat(path, &info))
			return -errno;
		namespaces[i] = (struct sb_namespace){.dev = info.st_dev, .ino = info.st_ino};
	}
	return 0;
}
