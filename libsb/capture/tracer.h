/* tracer.h - the software tracer's rooms and what they share.
 *
 *   software_tracer.c  starts the command, turns the wheel: reports of threads, turns of CPUs
 *   vcpu.c             a virtual CPU: its clock, its PT stream, its switch records
 *   scheduler.c        which thread runs where, and when
 *   thread_turn.c      what a thread on a CPU does: runs in user space, deals with its stops
 *   thread_stop.c      one stop: system call, signal, fork, exec, exit
 *   map_watch.c        executable mappings, and MMAP2 records of them
 *   name_watch.c       names of threads, and COMM records of them
 *   member_watch.c     cgroups and namespaces, and records of them
 *   orphans.c          threads that nobody has told of
 *   affinity.c         all on one processor
 *   copy_root.c        copies of the mapped files
 *   truth_file.c       the instructions that a decoder has to find
 *
 * One OS thread does it all. Virtual time is a TSC count per CPU. The CPU that is farthest behind has
 * the next turn, and what threads owe to each other (wake-ups, new mappings) never
 * goes back in time: a thread does nothing before its @tsc.
 */
#ifndef SB_CAPTURE_TRACER_H
#define SB_CAPTURE_TRACER_H

#include <sched.h>
#include <stdint.h>

#include <sb/clock.h>
#include <sb/error.h>
#include <sb/perfdata_write.h>
#include <sb/software_tracer.h>

#include "cgroups.h"
#include "copy_root.h"
#include "pt_gen.h"
#include "tracee.h"
#include "truth_file.h"

struct vcpu {
	uint32_t id;
	uint64_t clock; /* TSC */
	uint64_t random;
	struct pt_gen gen;
	struct tracee *current; /* NULL: idle */
	uint32_t slice;         /* instructions until the next interrupt */
	uint64_t aux_offset;    /* trace bytes handed to the writer */
};

struct tracer {
	const struct sb_software_tracer_config *config;
	struct sb_software_tracer_result *result;
	struct sb_error *err;

	struct sb_perfdata_writer *writer;
	struct sb_clock clock;
	struct truth_file *truth; /* NULL: not wanted */
	struct copy_root *copies; /* likewise */
	struct cgroups *cgroups;

	struct vcpu *cpu; /* config->ncpus */
	struct tracee *threads;
	struct tracee_process *processes;
	struct tracee *ready_first, *ready_last;
	uint32_t nready;
	pid_t command;    /* the first process; 0: none */
	int heeded;       /* how many times it was asked to end, as far as that has been done */
	int first_report; /* waitpid(2)'s of its exec */
	uint64_t random;

	uint64_t newest_record; /* TSC */
	uint64_t round;         /* no record may be older (FINISHED_ROUND) */

	int pinned;
	cpu_set_t affinity; /* before that */
};

/* Everything below returns zero or a negative enum sb_errcode with tracer->err filled. */

/* vcpu.c */
int vcpus_init(struct tracer *tracer);
void vcpus_fini(struct tracer *tracer);
uint32_t random_below(uint64_t *state, uint32_t limit);
/* The time and place of a record: a little later than all before on that CPU. @t NULL: the idle task. */
struct sb_write_sample vcpu_sample(struct tracer *tracer, struct vcpu *cpu, const struct tracee *t);
int vcpu_retire(struct tracer *tracer, struct vcpu *cpu, const struct tracee_run_result *run);
void vcpu_interrupt(struct vcpu *cpu, uint64_t ip);
/* Puts @next (NULL: idle) in the place of the current thread. */
enum switch_reason { sr_preempted, sr_sleeps, sr_exited };
int vcpu_switch(struct tracer *tracer, struct vcpu *cpu, struct tracee *next, enum switch_reason reason);
/* Hands the trace to the writer: what is there, or only if it is much. */
int vcpu_flush(struct tracer *tracer, struct vcpu *cpu, int all);

/* scheduler.c */
void make_ready(struct tracer *tracer, struct tracee *t);
/* Gives idle CPUs work. */
int fill_idle_cpus(struct tracer *tracer);
/* The busy CPU that is farthest behind, or NULL. *until: how long it may go on. */
struct vcpu *next_cpu(struct tracer *tracer, uint64_t *until);
/* Takes the current thread off the CPU; the next one, if any, comes on. */
int leave_cpu(struct tracer *tracer, struct vcpu *cpu, enum switch_reason reason);
/* The end of a slice: perhaps another thread's turn. */
int end_slice(struct tracer *tracer, struct vcpu *cpu);

/* thread_turn.c */
int take_turn(struct tracer *tracer, struct vcpu *cpu, uint64_t until);

/* thread_stop.c. The thread is on the CPU and has a status; afterwards it may be off it. */
int handle_stop(struct tracer *tracer, struct vcpu *cpu);

/* software_tracer.c */
struct tracee *thread_find(const struct tracer *tracer, pid_t tid);
struct tracee *thread_add(struct tracer *tracer, pid_t tid);
void thread_remove(struct tracer *tracer, struct tracee *t);
struct tracee_process *process_find(const struct tracer *tracer, pid_t pid);
/* Takes over @mm. */
struct tracee_process *process_add(struct tracer *tracer, pid_t pid, pid_t ppid, struct tracee_mm *mm);
void process_drop_thread(struct tracer *tracer, struct tracee_process *process);
int out_of_memory(struct tracer *tracer);

/* orphans.c: takes in threads that nobody has told of; to be called when all others sleep. Returns 1
 * when there was one, else 0. */
int adopt_orphans(struct tracer *tracer);

/* affinity.c */
void affinity_begin(struct tracer *tracer);
void affinity_end(struct tracer *tracer);
void affinity_after_call(const struct tracer *tracer, struct tracee *t);

/* map_watch.c */
/* Before a system call: breakpoints leave the code that it changes. */
void maps_before_call(struct tracee *t);
/* After it: records for what can be executed now and could not before. */
int maps_after_call(struct tracer *tracer, struct vcpu *cpu);
/* The whole address space is new. */
int maps_after_exec(struct tracer *tracer, struct vcpu *cpu);

/* name_watch.c */
int names_after_call(struct tracer *tracer, struct vcpu *cpu);
int names_after_exec(struct tracer *tracer, struct vcpu *cpu);

/* member_watch.c */
/* Where the machine and the command are before it all begins. */
int members_begin(struct tracer *tracer);
/* Before the thread's first turn. @parent may be NULL. */
void members_fork(struct tracee *child, const struct tracee *parent);
/* After a system call that may have changed where threads are: they are looked at before their next turns. */
void members_after_call(struct tracer *tracer, struct tracee *t);
/* Reports where the thread on the CPU is now, when that is due. */
int members_report(struct tracer *tracer, struct vcpu *cpu);

#endif
