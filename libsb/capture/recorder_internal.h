/* recorder_internal.h - a live recording: shared by recorder.c, which runs it, recorder_setup.c, which says
 * what is recorded, recorder_rest.c, which stops whom it is of, and recorder_drain.c, which takes what comes.
 */
#ifndef SB_RECORDER_INTERNAL_H
#define SB_RECORDER_INTERNAL_H

#include <sb/recorder.h>

#include "capture/freeze.h"
#include "capture/live_attrs.h"
#include "capture/live_bpf.h"
#include "capture/live_command.h"
#include "capture/live_control.h"
#include "capture/live_events.h"
#include "capture/live_machine.h"
#include "capture/live_state.h"
#include "perfdata/perfdata_write_internal.h"

/* Threads that are told of once: how many, and the first. */
struct recorder_threads {
	size_t count;
	struct freeze_thread first;
};

/* Programs that run without their events: the kernel takes these from who gains privileges by exec, and says
 * that it has ended. So: who begins a program, and ends, without mapping anything between. The rings of CPUs
 * are read one behind the other, so that what a thread that moves did comes in any order within two rounds:
 * what came is noted with its time, and judged when the round behind that of the end is over. */
enum { recorder_execs_begun = 256, recorder_execs_threads = 1024 };

struct recorder_execs {
	struct {
		int32_t tid; /* 0: none */
		char name[16];
		uint64_t time;
	} begun[recorder_execs_begun]; /* the latest */
	/* By tid modulo their number; when two share one, the other's mapping counts: nothing is told then.
	 */
	struct {
		int32_t ended; /* tid */
		uint64_t mapped_at, ended_at;
		size_t round; /* that the end was seen in */
	} thread[recorder_execs_threads];
	size_t nbegun, nescaped, round;
	char first[16]; /* of the escaped */
};

struct recorder {
	const struct sb_recorder_config *config;
	const char *proc, *sysfs;
	char *output;    /* owned; of the file itself */
	char *directory; /* owned; where it is, with kcore, under a temporary name; NULL: without */
	int lock;        /* the directory's descriptor; -1 */
	struct sb_recorder_result *result;
	struct sb_error *err;
	struct live_machine machine;
	struct live_attrs attrs;
	struct live_events events;
	struct live_command command;
	struct live_control control;
	struct live_state state;
	struct live_clock clock;
	struct live_bpf bpf;
	struct live_tally tally;
	struct recorder_threads left; /* could not be stopped */
	struct recorder_execs execs;
	struct sb_perfdata_writer *writer; /* NULL: not yet */
	int has_raised_limit; /* of files */
	int look_status;      /* what was wrong when records were looked at */
	int has_pt;
	int has_begun;        /* all that was there before is in the file */
	int is_tracing;       /* what is wanted is enabled */
	int is_catching_up;   /* the state is not complete: rounds do not end */
	uint64_t round_bytes; /* of the file when the last round ended */
};

/* Tells the user. */
void recorder_note(const struct recorder *recorder, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

/* Where to write, which must be possible. */
int recorder_name_output(struct recorder *recorder);
/* The kernel's code, if it is wanted. */
int recorder_copy_kcore(struct recorder *recorder);
/* What was recorded gets its name; or, when @status is an error, goes; but when the recording had begun, is
 * kept, and told of. Returns @status, or an error. Nobody may write any more. */
int recorder_settle_output(struct recorder *recorder, int status);

/* Which events there are, of whom, and on which CPUs; all is opened, nothing runs. */
int recorder_set_up(struct recorder *recorder);
int recorder_add_target(struct recorder *recorder, pid_t pid, pid_t tid);
int recorder_is_target(const struct recorder *recorder, pid_t tid);
/* Opens all events on all CPUs. */
int recorder_open_cpus(struct recorder *recorder);
/* The same, while the processes that are recorded stand still. */
int recorder_open_at_rest(struct recorder *recorder);
/* The file, with all in front of the records. */
int recorder_open_file(struct recorder *recorder);
/* Descriptors of the events from @first on get identifiers in the file. */
int recorder_add_ids(struct recorder *recorder, size_t first);

/* Starts, or stops, the events of one role, while the processes stand still. */
int recorder_enable(struct recorder *recorder, enum live_role role, int on);

/* Notes which CPUs are online, those that were not there before included. Zero or -errno. */
int recorder_list_cpus(struct recorder *recorder);
/* Looks which CPUs are online now: some may have gone, or come. */
int recorder_watch_cpus(struct recorder *recorder);

/* Takes all records that are there, and trace. Zero or an error. */
int recorder_drain(struct recorder *recorder);
/* The rings that are filling up. */
int recorder_drain_full(struct recorder *recorder);
/* BPF programs that have come. */
int recorder_read_bpf(struct recorder *recorder);
/* At the end of a round: counts who has escaped. @is_last: nothing comes any more. */
void recorder_judge_execs(struct recorder_execs *execs, int is_last);
/* At the end: what was lost, and no record tells of it, as none came behind it. */
int recorder_account(struct recorder *recorder);
/* What a snapshot's buffers hold, while the trace is at rest. */
int recorder_snapshot(struct recorder *recorder);

#endif
