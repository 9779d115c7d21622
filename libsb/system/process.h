/* process.h - which processes and threads there were, while the model is being built.
 *
 * Per pid a chain of address spaces, the latest first; per tid the process it belongs to and its name.
 */
#ifndef SB_PROCESS_H
#define SB_PROCESS_H

#include "system/address_space.h"
#include "system/kin.h"
#include "system/lost_time.h"
#include "system/membership.h"
#include "system/replaced_file.h"
#include "system/unknown_kin.h"

struct process {
	int32_t pid;
	uint32_t nthreads; /* known to live */
	int32_t only_tid;  /* when sealed: the only one there was; -1: there were more, -2: none */
	struct space *latest;
	uint32_t nspaces;
	int is_stranger; /* no record told what it has mapped: of its fork, its exec, or at the start */
	int is_forked;   /* a record told of its fork: it is a stranger only if its parent was */
	uint64_t strange_from;
};

/* As long as that, a process may have had anything mapped. */
struct process_stranger {
	int32_t pid;
	uint64_t from, to;
};

/* When sealed: the spaces of a pid, which are neighbours in the list of all, by time. */
struct pid_spaces {
	int32_t pid;
	uint32_t first, count; /* none: a free slot */
};

struct space_since {
	uint64_t from;
	struct space *space;
};

struct thread {
	int32_t tid, pid;
	int alive;
	const char *name; /* "" when not known; owned by the system */
	/* The name that was noted last, and for which pid; NULL: none. */
	const char *noted;
	int32_t noted_pid;
	struct member member; /* as which it is known now */
};

struct comm {
	uint64_t key; /* first: sorted by it; pid and tid */
	uint64_t time;
	const char *name;
};

/* An index from a number to an element of an array: open addressing. */
struct id_index {
	struct {
		int32_t key;
		uint32_t value; /* one more than the index; zero: free */
	} * slot;
	size_t nslots, count;
};

struct process_table {
	struct space_pool pool;
	struct id_index by_pid, by_tid;
	struct process *process;
	size_t nprocesses, process_capacity;
	struct pid_spaces *spaces_of; /* when sealed: open addressing, at most half full */
	size_t nspace_slots;
	struct space_since *space; /* when sealed */
	size_t nspaces;
	struct thread *thread;
	size_t nthreads, thread_capacity;
	struct process_stranger *stranger; /* when sealed, all */
	size_t nstrangers, stranger_capacity;
	struct comm *comm; /* in the order of times; when sealed, of pid, tid, time */
	size_t ncomms, comm_capacity;
	struct membership_table members;
	struct kinship kinship;
	struct unknown_kin unknown_kin;
	struct lost_times lost; /* while it is built */
	struct replaced_files replaced;
	uint64_t first_time, last_time; /* of all that was told while it was recorded; 0: nothing was */
};

/* @names: of the system, for names that are concluded. */
void process_table_init(struct process_table *table, struct string_table *names);
void process_table_free(struct process_table *table);

/* What records say, in the order of their times; equal names are one pointer. Zero or a negative code. */
int process_comm(struct process_table *table, uint64_t time, int32_t pid, int32_t tid, const char *name,
                 int exec);
int process_fork(struct process_table *table, uint64_t time, int32_t pid, int32_t ppid, int32_t tid,
                 int32_t ptid);
/* From @time on, somebody else may have the number, and no record says so. */
int process_reused(struct process_table *table, uint64_t time, int32_t pid);
int process_exit(struct process_table *table, uint64_t time, int32_t pid, int32_t tid);
/* A mapping, or code, as its origin says. */
int process_map(struct process_table *table, int32_t pid, struct sb_map_node *node);
/* A sample in a cgroup, and namespaces; their numbers are those of table->members. */
int process_cgroup(struct process_table *table, uint64_t time, int32_t pid, int32_t tid, uint32_t cgroup);
int process_namespaces(struct process_table *table, uint64_t time, int32_t pid, int32_t tid, uint32_t set);

/* Whom changes are about soon, and where they map something. Changes nothing: what will be looked at then
 * comes into the processor's caches, for all of them at once. At most PROCESS_SOON_MAX. */
enum { PROCESS_SOON_MAX = 16 };
struct process_soon {
	int32_t pid, tid;
	int maps;
	uint64_t addr;
};
void process_soon(const struct process_table *table, const struct process_soon *soon, size_t count);

/* There are no more records. */
int process_table_seal(struct process_table *table);

/* After sealing. */
const struct sb_space *process_space(const struct process_table *table, int32_t pid, uint64_t time);
/* *until (may be NULL): when it gets another one. */
const char *process_name(const struct process_table *table, int32_t pid, int32_t tid, uint64_t time,
                         uint64_t *until);
const struct sb_membership *process_membership(const struct process_table *table, int32_t pid, int32_t tid,
                                               uint64_t time);
/* -1: it had more than one, or none is known. */
int32_t process_only_thread(const struct process_table *table, int32_t pid);
/* Whether any record told of @pid, but for those of switches. */
int process_is_known(const struct process_table *table, int32_t pid);
/* Whether @pid ever had another thread than @tid, as far as is known. */
int process_has_other_threads(const struct process_table *table, int32_t pid, int32_t tid);
const struct thread *process_thread(const struct process_table *table, int32_t tid);

#endif
