/* namespaces.h - the namespaces that a thread is in, as perf's NAMESPACES records have them. */
#ifndef SB_CAPTURE_NAMESPACES_H
#define SB_CAPTURE_NAMESPACES_H

#include <linux/perf_event.h>
#include <sys/types.h>

#include <sb/record.h>

/* In the order of NET_NS_INDEX, ... Zero, or -1 when the thread is gone, or not for us to know. */
int namespaces_read(pid_t pid, pid_t tid, struct sb_namespace namespaces[NR_NAMESPACES]);

#endif
