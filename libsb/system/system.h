/* system.h - building the model record by record: what sb_system_build() does with all records of a
 * recording, and tests with records of their own.
 */
#ifndef SB_SYSTEM_SYSTEM_H
#define SB_SYSTEM_SYSTEM_H

#include <sb/system.h>

#include "system/kin.h"
#include "system/lost_time.h"

/* An empty system, or NULL. A @thrifty one keeps what the model needs, not what the records say: it concludes
 * from each round of records as soon as no older ones should come any more (sb/perfdata_write.h). */
struct sb_system *system_new(int thrifty);

/* Records in file order; their strings are copied. Zero or a negative code. Positive: a record came too late
 * for a thrifty system, which then is of no more use. */
int system_record(struct sb_system *system, const struct sb_record *record);

/* ---- Code that processes made themselves -------------------------------------------------------- */

/* A file with such code, of one process: its number in the system, or a negative code. */
int system_code_source(struct sb_system *system, int32_t pid, const char *filename);
/* What of it was not told yet is another process'. */
void system_code_source_pid(struct sb_system *system, int source, int32_t pid);

/* From @time on, @origin's code is at [begin, end). In any order, at any time before its time has come; as
 * system_record(). */
struct system_code {
	uint64_t time; /* perf clock; first: sorted by it */
	uint64_t begin, end, offset;
	enum sb_map_origin origin;
	int source;
};
int system_code(struct sb_system *system, const struct system_code *code);

/* Who knows such code. Both return zero or a negative code; positive: as system_record(). */
struct system_coder {
	void *context;
	int (*begin)(void *context, struct sb_system *system); /* no record was read yet */
	/* A process mapped a file that is called as jitdumps are. */
	int (*marker)(void *context, struct sb_system *system, int32_t pid, const struct sb_map *map);
};
/* Before the first record; @coder must stay until all were read. */
int system_watch(struct sb_system *system, const struct system_coder *coder);

/* A number of a process that somebody else may have had from then on. */
struct pid_reuse {
	uint64_t time;
	int32_t pid;
};

/* What no record says. */
struct system_facts {
	struct fork_facts forks; /* see kin.h */
	const struct pid_reuse *reuse;
	size_t nreuses;
	struct lost_times lost;
};

/* As sb_system_build(). @coder: NULL: nobody made code. @facts: NULL: each fork copies memory. */
int system_build(struct sb_system **system, const struct sb_perfdata *perfdata,
                 const struct system_coder *coder, const struct system_facts *facts, struct sb_error *err);

/* ------------------------------------------------------------------------------------------------- */

/* There are no more records; @damaged: although there should have been. From here on the system can
 * be asked. */
int system_seal(struct sb_system *system, int damaged);

/* The first and the last time of the records of processes; 0: there are none. */
void system_times(const struct sb_system *system, uint64_t *first, uint64_t *last);

/* All address spaces there were, in no order. */
size_t system_nspaces(const struct sb_system *system);
const struct sb_space *system_space_at(const struct sb_system *system, size_t index);

/* A space and its forks are a family, unless the fork was before any mapping: they have what the space had
 * mapped until then. Numbers from 1 on, not all of them are used. */
uint32_t system_space_family(const struct sb_system *system, size_t index);

/* The mappings of a space's epochs, each in one epoch at least in which the space has it; but not those that
 * others of its family mapped. Ends when the callback returns something else than zero, and returns that. */
typedef int system_map_callback(void *context, const struct sb_epoch *epoch, const struct sb_map *map);
int system_walk_space(const struct sb_system *system, size_t index, system_map_callback *callback,
                      void *context);
/* Threads that records on that CPU were made by, where the schedule does not say that they ran; by time. */
struct sb_seen;
const struct sb_seen *system_seen(const struct sb_system *system, int32_t cpu, size_t *count);

/* All that is known of who ran. */
struct schedule;
const struct schedule *system_schedule(const struct sb_system *system);

/* sb_system_schedule() for who notes in *@use (schedule_use.h) which entries they look at: only those are
 * found out to be what was written, and only by system_schedules_check(), when they are done. From any
 * thread. */
struct schedule_use;
const struct sb_sched *system_schedule_in_use(const struct sb_system *system, int32_t cpu, size_t *count,
                                              struct schedule_use *use);
void system_schedules_check(const struct sb_system *system);

/* What sb_system_schedule() gave of that CPU was gone through, up to somewhere: a large one need not stay in
 * memory. From any thread, and others may go on using it. */
void system_schedule_release(const struct sb_system *system, int32_t cpu);
/* The same, for who goes through it from entry to entry, and is at @index. */
static inline void system_schedule_pass(const struct sb_system *system, int32_t cpu, size_t index)
{
	enum { OFTEN_ENOUGH = 8192 };

	if (index % OFTEN_ENOUGH == 0)
		system_schedule_release(system, cpu);
}

/* Whether no record of a switch on that CPU is missing, as far as the others tell. */
int system_schedule_is_whole(const struct sb_system *system, int32_t cpu);

/* Records of switches on a CPU that are missing although nobody told of that. */
enum switch_losses {
	switch_losses_none,
	switch_losses_few,  /* hardly two that follow each other */
	switch_losses_some, /* hardly two between which somebody came to where another one had stopped, and
	                       stopped there */
	switch_losses_many
};
enum switch_losses system_switch_losses(const struct sb_system *system, int32_t cpu);

/* All that is known of processes. */
struct process_table;
const struct process_table *system_processes(const struct sb_system *system);

/* Whether process @pid ever had another thread than @tid, as far as is known. */
int system_has_other_threads(const struct sb_system *system, int32_t pid, int32_t tid);

/* The only thread that process @pid ever had; -1: it had more, or none is known. */
int32_t system_only_thread(const struct sb_system *system, int32_t pid);

#endif
