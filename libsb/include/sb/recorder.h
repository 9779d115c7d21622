/* sb/recorder.h - recording as it happens: what the kernel tells of who runs and what is mapped (the
 * sideband), and, where the processor has it, Intel PT's trace; into a perf.data.
 *
 * The sideband is all that the kernel knows to tell: mappings with build-ids, execs, forks, exits, switches,
 * namespaces, cgroups, kernel symbols, BPF programs, patched code. How the machine is when it begins comes
 * from /proc, see sb_recorder_run(3). A trace begins when that is complete.
 */
#ifndef SB_RECORDER_H
#define SB_RECORDER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sb/error.h>
#include <sb/export.h>

/* Zeroed, and filled in. */
struct sb_recorder_result;

struct sb_recorder_config {
	size_t size;        /* sizeof(struct sb_recorder_config) */
	const char *output; /* the perf.data; it appears when it is whole. With @kcore, a directory */

	/* What is recorded, as sb_event_encode() has it; at most one traces (intel_pt). Without events the
	 * sideband alone. */
	const char *const *event;
	size_t nevents;

	/* Of whom: the command that is run, processes with their descendants, threads, a cgroup (a path in
	 * its hierarchy), or all. One kind of them; @everybody goes with a command, which then says how long.
	 */
	int everybody;
	const pid_t *pid;
	size_t npids;
	const pid_t *tid;
	size_t ntids;
	const char *cgroup;

	uint64_t ring_size; /* bytes for each CPU's records, a power of two of at least a page; 0: 8 MiB */
	uint64_t aux_size;  /* and for its trace; 0: 4 MiB */
	int snapshot;       /* the trace is kept in memory, and what is newest is written when asked for */
	int paused;         /* the trace begins when asked for */

	uint64_t time_limit; /* ns of recording; 0: none */
	uint64_t size_limit; /* bytes of the file, roughly; 0: none */

	/* Commands, a line each: "start", "stop", "snapshot", "quit". From a descriptor (-1: none), whose end
	 * is no command, and from a FIFO, which is made when it is not there (NULL: none). "stop" ends the
	 * trace until "start"; the sideband goes on. */
	int control_fd;
	const char *control;

	int kcore;                /* also the kernel's code, as it is in memory, and its symbols */
	const char *cmdline;      /* how this is called, for the file's header; NULL */
	const char *sysfs, *proc; /* where they are, of the kernel and the processor; NULL: /sys, /proc */

	/* Sentences for the user, about what is not as it might be. NULL: nobody hears them. */
	void (*note)(void *context, const char *text);
	/* What came so far, several times a second while it records. NULL: nobody wants to know. */
	void (*progress)(void *context, const struct sb_recorder_result *so_far);
	void *context;
};

struct sb_recorder_result {
	uint64_t nrecords; /* of the kernel */
	uint64_t nbytes;   /* of the file */
	uint64_t nlost;    /* records that the kernel had no room for */
	uint64_t nswitches;
	uint64_t nprocesses, nthreads; /* that were there */
	uint64_t aux_bytes;            /* of trace */
	uint64_t aux_truncated;        /* times that trace had no room */
	uint64_t aux_damaged;          /* times that it was cut by something else */
	uint64_t nsnapshots;
	uint64_t nthrottled;
	int exit_status; /* of the command, as wait(2) has it; 0 */
	int ended_early; /* by "quit" */
};

/* Records until the command ends, the processes do, a limit is reached, or "quit" comes. @argv NULL: no
 * command. -sbe_unsupported: this machine, or this kernel, cannot; -sbe_not_found: no such command, process,
 * thread, cgroup or event. The command then did not run. @result is filled in also when recording failed;
 * @err may be NULL.
 *
 * The file, or directory, is written under a name with ".tmp." in it, and reads as an interrupted recording
 * until it is whole. What was left so of an earlier one, which was killed, is removed. When recording fails
 * after it has begun (the disk is full), OUTPUT.interrupted is kept, and told of by .note. Threads may record
 * at the same time. Meanwhile, the process may have as many files open as it may ask for (RLIMIT_NOFILE). */
sb_export int sb_recorder_run(const struct sb_recorder_config *config, char *const argv[],
                              struct sb_recorder_result *result, struct sb_error *err);

/* Whether this machine has Intel PT that can be recorded. @sysfs as above. -sbe_nomem: that cannot be told,
 * for want of memory or files. */
sb_export int sb_recorder_has_pt(const char *sysfs);

#endif
