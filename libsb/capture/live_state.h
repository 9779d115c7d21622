/* live_state.h - the state of the machine when a recording begins: which processes there are, with their
 * threads, names, mappings, namespaces and cgroups.
 *
 * It is read from /proc twice. First before the sideband runs: that becomes records without a time, "before
 * all else". Then while it runs: what is not as it was before becomes records with the time at which it was
 * seen to be so. What changes later is told by the kernel. Thus nothing is missed in between, and nothing is
 * said of a time when it was not so; a trace that begins afterwards finds the state complete.
 */
#ifndef SB_LIVE_STATE_H
#define SB_LIVE_STATE_H

#include <stddef.h>
#include <stdint.h>

#include <sb/perfdata_write.h>

#include "capture/cgroups.h"
#include "capture/freeze.h"
#include "capture/live_clock.h"
#include "capture/live_process.h"
#include "system/key_table.h"

struct live_state {
	struct sb_perfdata_writer *writer;
	struct cgroups *cgroups;          /* owned */
	int with_cgroups;                 /* samples may tell who is in which */
	const struct freeze_thread *only; /* the processes of these alone; NULL: all */
	size_t nonly;
	struct key_table facts;   /* what has been told: hashes of 8 bytes */
	struct key_table forked;  /* int32_t: threads whose beginning the kernel has told */
	struct key_table files;   /* maj, min, ino of files whose build-id was looked for */
	struct file_id *build_id; /* theirs; owned */
	size_t nbuild_ids, capacity;
	uint8_t *build_ids; /* of the feature BUILD_ID: for kernels whose records have none; owned */
	size_t build_ids_size, build_ids_capacity;
	/* Timed records. */
	int is_timed;
	struct live_clock clock;
	uint32_t cpu; /* that they are said to be of */
	/* Called now and then while reading takes its time; negative ends it. */
	int (*tick)(void *context);
	void *context;
	uint64_t nprocesses, nthreads, nunreadable;
	struct sb_error *err;
};

/* Zero or -sbe_nomem. */
int live_state_init(struct live_state *state, struct sb_perfdata_writer *writer, struct sb_error *err);
void live_state_fini(struct live_state *state);

/* Writes what there is, as of before the recording. */
int live_state_before(struct live_state *state);
/* The sideband runs: writes what is not as told. */
int live_state_catch_up(struct live_state *state);
/* The kernel has told of a mapping without a build-id: it is looked for, while the file can be had, and goes
 * into .build_ids. Zero or -sbe_nomem. */
int live_state_mapped(struct live_state *state, pid_t tid, const struct exec_map *map);
/* The kernel has told of a thread's beginning. */
int live_state_forked(struct live_state *state, int32_t tid);

#endif
