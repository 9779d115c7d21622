/* sb/software_tracer.h - recording without Intel PT: single-steps a command and writes what the
 * hardware would have written (perf.data as of `perf record -a -e intel_pt//u`), on virtual CPUs. */
#ifndef SB_SOFTWARE_TRACER_H
#define SB_SOFTWARE_TRACER_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include <sb/error.h>
#include <sb/export.h>

struct sb_software_tracer_result;

struct sb_software_tracer_config {
	size_t size;             /* sizeof(struct sb_software_tracer_config) */
	uint32_t ncpus;          /* virtual CPUs, 1..256 */
	uint64_t seed;           /* of quanta, migration and the rest that is chosen by chance */
	uint32_t psb_period;     /* bytes of trace between PSBs; 0: 4096 */
	int no_retcomp;          /* DisRETC: every return is a TIP */
	int mtc, cyc, tnt64;     /* packets to write */
	uint32_t overflow_every; /* bytes of trace after which an overflow is made; 0: never */
	const char *output;      /* perf.data */
	const char *truth;       /* every retired instruction, "cpu pid tid tsc ip", or NULL */
	const char *copy_root;   /* directory for the mapped files and the vdso, or NULL */
	int single_step;         /* step every instruction instead of running from branch to branch: slower */

	/* What there is so far, each time that a virtual CPU has had its turn: that is often. NULL: nobody
	 * wants to know. */
	void (*progress)(void *context, const struct sb_software_tracer_result *so_far);
	void *context;

	/* How many times somebody has asked that it ends, as a signal handler counts (which is not to restart
	 * system calls): the first time, all that is traced is sent SIGTERM, later SIGKILL. NULL: never. */
	const volatile sig_atomic_t *stop;
};

struct sb_software_tracer_result {
	uint64_t ninsn; /* retired in user space, traced */
	uint64_t nlost; /* retired while overflowed */
	uint32_t nprocesses, nthreads;
	uint64_t nswitches;
	uint64_t trace_bytes;
	int exit_status;     /* of the command: wait(2) status */
	uint32_t noverflows; /* known in the end */
};

/* Runs @argv to its end and writes the recording, with the virtual CPUs 0 to ncpus - 1.
 *
 * Only x86-64 programs; -sbe_unsupported ends the recording (and the command) when another one is met.
 * -sbe_not_found: there is no such command, or it was killed before it ran; -sbe_invalid: the configuration
 * makes no sense; -sbe_io: ptrace(2) is not permitted, or a file cannot be written; -sbe_nomem. The output
 * file appears when all went well; the command does not survive when it did not.
 *
 * Traces with ptrace(2) and waits for any child: the calling process must have no other children meanwhile.
 * It keeps itself (the calling thread) and the command on one processor and ignores SIGQUIT, and without
 * @stop SIGINT, until it is done; SIGCHLD must not be ignored. One call at a time per process. @err may be
 * NULL. */
sb_export int sb_software_trace(const struct sb_software_tracer_config *config, char *const argv[],
                                struct sb_software_tracer_result *result, struct sb_error *err);

#endif
