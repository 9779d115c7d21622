/* sb/replay.h - replaying a recording: who executed what, when, and what could not be known.
 *
 * A session joins a recording, the system model made from its sideband, the binaries, and one
 * block decoder per CPU with its sideband observer. Flow goes to a sink: CPU after CPU, each in
 * order of execution, or all CPUs' in the order of time.
 */
#ifndef SB_REPLAY_H
#define SB_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include <intel-pt-run.h>
#include <sb/error.h>
#include <sb/perfdata.h>
#include <sb/system.h>
#include <sb/way.h>

/* Why a stretch of trace gave no instructions. */
enum sb_gap_reason {
	sb_gap_none,
	sb_gap_overflow,        /* OVF: the CPU dropped packets */
	sb_gap_no_binary,       /* code was mapped from a file that is not there */
	sb_gap_binary_mismatch, /* the file is there, but not what was recorded */
	sb_gap_anonymous,       /* code in memory that is in no file (JIT), or was writable */
	sb_gap_not_mapped,      /* no record says what was mapped at that address */
	sb_gap_unknown_process, /* no record says who ran */
	sb_gap_decode_error,    /* trace and code do not fit */
	sb_gap_bad_trace,       /* bytes that are no packets */
	sb_gap_no_sync,         /* bytes before the first PSB */
	sb_gap_truncated,  /* AUX data that the recording promises but does not hold, or flagged as cut */
	sb_gap_no_kernel,  /* the kernel's code is not known */
	sb_gap_vmx_guest,  /* a virtual machine ran: its code is not the host's */
	sb_gap_filtered,   /* the trace of CPUs that the caller did not ask for */
	sb_gap_lost_patch, /* the kernel may have patched its code there: records of that may be lost */
	sb_gap_reasons
};
sb_export const char *sb_gap_reason_name(enum sb_gap_reason reason); /* "overflow", "no-binary", ... */

/* One gap. */
struct sb_gap {
	enum sb_gap_reason reason;
	int32_t cpu, pid, tid;     /* -1: not known */
	uint64_t tsc_from, tsc_to; /* 0: not known */
	uint64_t offset;           /* in the CPU's stream of AUX bytes */
	uint64_t bytes;            /* of trace skipped; 0 when only instructions are missing */
	uint64_t ip;               /* where it happened, 0 when not known */
	char detail[200];          /* file name, decoder's error, ... */
};

struct sb_epoch; /* <sb/system.h> */

/* Basic blocks that one thread executed, as paths; see <intel-pt-run.h>. Valid during the callback. */
struct sb_flow {
	int32_t cpu, pid, tid;
	uint64_t tsc; /* never goes back on a CPU; 0 before the first TSC packet */
	const struct pt_run_path *const *path;
	uint32_t npaths;
	uint32_t nblocks; /* the sum over all paths */
	uint64_t ninsn;   /* the same */
	/* The thread's cgroup, namespaces and container, when it last came to user space; NULL: not known.
	 * The session's. */
	const struct sb_membership *membership;
	/* The mappings that the code of user space was taken from, which last as long as the session; NULL:
	 * not known. */
	const struct sb_epoch *epoch;
	/* Whose numbers the paths have: in all flows of one numbering, paths of one number hold the same
	 * blocks, so that what was found out about a path once can be kept. Several numberings are in use at
	 * a time, one for each job or CPU; each is replaced by a higher one now and then. How many there are
	 * depends on the number of jobs: output must not depend on them. */
	uint64_t numbering;
	/* Behind the last block, before the instruction at this address ran, came an interrupt, exception or
	 * the like, or tracing was switched off by it; 0: it did not, or nobody knows. */
	uint64_t left_ip;
	/* NULL: the paths were executed one after the other, each once. Else the flow was added up (struct
	 * sb_replay_options, sums): for each block, one path's behind the other's, how often it was executed;
	 * what followed on what is not known. Blocks that begin at the same place of a
	 * file, are as long, and have as many instructions, are one, and ip, pid and epoch are those of the
	 * first one; else they are one in one address space. tid is -1, membership NULL, the kernel's code is
	 * nobody's (pid -1, epoch NULL), tsc is when a block of these was executed for the first time since
	 * it was told of last. With sb_sums_processes, blocks of several processes are never one, and pid is
	 * whose they are, also for the kernel's code. */
	const uint64_t *times;
	/* With sb_sums_ways or more: the number of the first of these blocks; those that come behind it count
	 * on. Each CPU has numbers of its own, which begin at 0 anew now and then. */
	uint32_t first_code;
	/* Not NULL: only tells what followed on what in flow that was added up (sb_sums_ways or more). */
	const struct sb_flow_ways *ways;
	/* Not NULL: what the thread executed behind the last block, up to its next flow, was added up
	 * (sb_sums_calls); left_ip is of the end of that. Only struct sb_calls takes it. */
	const struct sb_flow_calls *calls;
	/* Not NULL: flow of several threads and CPUs (sb_sums_threads), in the order of time; cpu and tsc are
	 * the first one's, and nothing else is told. */
	const struct sb_flow_turn *turn;
	size_t nturns;
};

/* A flow, when what ran does not matter; each is as in struct sb_flow. Or several of a thread on one CPU,
 * which came one right after the other, as one (struct sb_sink, turns_until): then the sums are those of all,
 * and none of them began before tsc, or after tsc_to, which is when the last one did. */
struct sb_flow_turn {
	uint64_t tsc;
	uint64_t tsc_to; /* mostly the same */
	uint64_t ninsn, ninsn_kernel;
	const struct sb_membership *membership;
	int32_t cpu, pid, tid;
	uint32_t nblocks;
};

/* How many of the instructions on its paths are the kernel's. */
static inline uint64_t sb_flow_kernel_insns(const struct sb_flow *flow)
{
	uint64_t ninsn = 0;

	for (uint32_t i = 0; i < flow->npaths; ++i) {
		const struct pt_run_path *path = flow->path[i];

		for (uint32_t k = 0; k < path->nblocks; ++k)
			ninsn += path->block[k].ninsn & (0 - (path->block[k].ip >> 63));
	}
	return ninsn;
}

/* The flow without its code. */
static inline struct sb_flow_turn sb_flow_as_turn(const struct sb_flow *flow)
{
	struct sb_flow_turn turn;

	turn.tsc = turn.tsc_to = flow->tsc;
	turn.ninsn = flow->ninsn;
	turn.ninsn_kernel = sb_flow_kernel_insns(flow);
	turn.membership = flow->membership;
	turn.cpu = flow->cpu;
	turn.pid = flow->pid;
	turn.tid = flow->tid;
	turn.nblocks = flow->nblocks;
	return turn;
}

/* Calls of one function by another one, from one place, that were added up. */
struct sb_flow_call_edge {
	uint32_t caller, callee; /* numbers as of sums; sb_flow_call_base: the frame that execution is in */
	uint64_t ip;             /* where the callee begins, or, when that is not known, was entered */
	uint64_t from_ip;        /* the instruction that called it; 0: it was no call, or it is not known */
	uint64_t calls, ninsn;   /* ninsn: with all that was called, and what the kernel did meanwhile */
};
#define sb_flow_call_base UINT32_MAX

/* A function above the frame that execution is in, called through those below it. */
struct sb_flow_call_sum {
	uint32_t function; /* its number among all that the flow's numbering tells of, from 0 on */
	uint64_t ip;       /* where it was entered, when the number is new, the next one; else nothing */
	uint32_t below; /* index of the one below it, which comes before; the first one is the frame itself */
	uint8_t is_called;  /* it was not only jumped to */
	uint8_t jumps;      /* it went to another function by a jump, in its place */
	uint8_t is_learned; /* likewise by a return, as it is known to do */
	uint8_t is_kernel;
	uint64_t ninsn; /* executed in it, not in what it called */
};

/* A function that was entered, and not left. */
struct sb_flow_call_frame {
	uint64_t ip, from_ip, return_ip; /* as in struct sb_call_frame */
	uint8_t how, flags;              /* likewise */
	uint64_t ran;                    /* of the thread, since it was entered: instructions */
};

/* Calls that depend on nothing but the frame that they were made from, what they took, and where they got to.
 */
struct sb_flow_calls {
	uint64_t tsc_to; /* when the last of it was executed */
	uint64_t credit,
	        more_credit; /* how far stacks may be searched because of it; more: behind the blocks */
	/* What was taken to be so of the frame that execution is in behind the flow's blocks, and must be: */
	uint64_t low, high; /* its code, all at hand */
	int is_named, is_plain;
	int goes_internal; /* in between, it called an address inside of itself */
	/* None: nothing else is told but more_credit and tsc_to. Without sb_sums_calls, only those are there
	 * whose functions are new, or did what was not told yet, and the first one has all instructions. */
	const struct sb_flow_call_sum *sum;
	uint32_t nsums;
	uint32_t deepest;                       /* how many frames there were above it, at most */
	uint64_t returns;                       /* how often a function returned */
	const struct sb_flow_call_frame *frame; /* that are above it in the end */
	uint32_t nframes;
	/* With sb_sums_edges: calls that were made and came back. Above the frame that execution is in, they
	 * come by themselves, in flow without paths, whose pid and epoch say where the addresses are. */
	const struct sb_flow_call_edge *edge;
	size_t nedges;
	/* Where that ended: the innermost frame's code at hand, the last instruction, and what is behind it
	 */
	uint64_t end_low, end_high;
	uint64_t end_ip, next_ip;
	uint8_t iclass;
};

/* Block @to followed on @from; @async: not by its last instruction (struct sb_way_counter). Both are numbers
 * of the flow's CPU (struct sb_flow, first_code). */
struct sb_flow_way {
	uint32_t from, to;
	int async;
	uint64_t count;
};

/* A block's number, and the address at which it begins, or was interrupted. @deepest: how many were
 * interrupted at a time since the one before it (struct sb_way_thread). */
struct sb_flow_stop {
	uint32_t code, deepest;
	uint64_t ip;
};

enum sb_flow_user { sb_flow_user_none, sb_flow_user_as_before, sb_flow_user_known };

/* What depends on what came before, and what is to be known of, for what comes after, of a thread's flow that
 * was added up: the flow has its pid and tid, and is in its place where that flow ends. */
struct sb_flow_seam {
	uint64_t tsc_from;         /* when that flow began */
	int has_code;              /* else there was none, and only left_ip counts */
	struct sb_flow_stop first; /* it began with */
	/* To what far transfers led while nothing was interrupted since it began, in order: what was
	 * interrupted before may be gone on with there. */
	const struct sb_flow_stop *back;
	uint32_t nbacks;
	int comes_to_user; /* it began in the kernel, and came to .user */
	uint32_t user, last;
	enum sb_flow_user has_last_user; /* .last_user is known, or is as it was before, or there is none */
	uint32_t last_user;
	uint64_t left_ip;
	struct sb_flow_stop interrupted[sb_way_interrupted_most]; /* the latest one last */
	uint32_t ninterrupted, deepest;
};

/* Either ways, which no thread is told of, or a seam. */
struct sb_flow_ways {
	const struct sb_flow_way *way;
	size_t nways;
	const struct sb_flow_seam *seam; /* NULL: none */
};

/* What comes between flow: tracing was off, or an interrupt came. Where there is neither event nor gap
 * between two blocks of a CPU, the last instruction of the first one led to the second. */
enum sb_flow_event_kind {
	sb_flow_on,  /* tracing was turned on at .to */
	sb_flow_off, /* it was turned off by the last instruction of the flow before, which led to .to */
	sb_flow_off_async, /* it was turned off before the instruction at .from ran; execution went to .to */
	sb_flow_interrupt, /* before the instruction at .from ran, execution went to .to */
	sb_flow_event_kinds
};

struct sb_flow_event {
	enum sb_flow_event_kind kind;
	int32_t cpu, pid, tid;                  /* as of flow; on: whose flow follows, if any does */
	uint64_t tsc;                           /* as of flow */
	uint64_t from, to;                      /* 0: not known */
	const struct sb_membership *membership; /* as of flow */
};

/* Callbacks return zero, or a negative code that ends the replay and is handed through. They are called by
 * the thread that called sb_session_run(), whoever decodes. */
struct sb_sink {
	void *context;
	int (*flow)(void *context,
	            const struct sb_flow *flow);             /* NULL: not wanted; the account has the sums */
	int (*gap)(void *context, const struct sb_gap *gap); /* NULL: not wanted; the account has the sums */
	/* Called about every 64 KiB of trace, and at the end; NULL: not wanted. */
	int (*progress)(void *context, uint64_t bytes_done, uint64_t bytes_total);
	/* In its place among the flow of its CPU; NULL: not wanted. */
	int (*event)(void *context, const struct sb_flow_event *event);
	/* Before sb_session_merge() hands out anything: what flow comes as. Where @sums was wanted in several
	 * ways, all is handed out several times, gaps and events too, each time with flow of another one.
	 * NULL: not wanted. */
	int (*sums)(void *context, unsigned int sums);
	/* Of flow without its code (sb_sums_threads): flow that follows on what the CPU had last, of the same
	 * thread in the same cgroup, may come as one if all of it began before this TSC. 0: it may not. Asked
	 * when all before it was handed out. NULL: each is told by itself. */
	uint64_t (*turns_until)(void *context, int32_t cpu);
};

struct sb_resolver; /* <sb/binary.h> */
struct sb_symbols;  /* <sb/symbols.h> */

struct sb_replay_options {
	size_t size;             /* sizeof(struct sb_replay_options) */
	const char *const *root; /* where mapped files are looked up, in order; when none has it, "/" */
	size_t nroots;
	int no_host_root;   /* never fall back to "/" */
	const int32_t *cpu; /* only these, when ncpus > 0 */
	size_t ncpus;
	const int32_t *pid; /* only these, when npids > 0 */
	size_t npids;
	uint64_t tsc_from, tsc_to; /* only this span of time, inclusive; 0, 0: all */
	/* How many threads decode; 0: one for each CPU that this process may run on. What the sink gets does
	 * not depend on it. */
	unsigned int jobs;
	/* The kernel's code and symbols, each NULL when not named: then what perf record --kcore put beside
	 * the recording is used. vmlinux, the kernel as it was built, is only nearly what ran, and used when
	 * there is no kcore. */
	const char *kcore, *vmlinux, *kallsyms;
	/* Finds mapped files; borrowed. NULL: made from root and no_host_root above, which count only then.
	 */
	struct sb_resolver *resolver;
	/* Only threads in these containers (sb_container_matches()), in cgroups that match these glob(7)
	 * patterns (whole paths; a * matches slashes, too), or with names that match: each when there are
	 * any. Whoever moves, or gets another name, is judged anew when it next comes to user space. */
	const char *const *container;
	size_t ncontainers;
	const char *const *cgroup;
	size_t ncgroups;
	const char *const *comm;
	size_t ncomms;
	/* Files with the code that just-in-time compilers made. Those that the recorded processes mapped
	 * ("jit-PID.dump") are looked up below the roots; one that is named here takes the place of the one
	 * of the same name there. */
	const char *const *jitdump;
	size_t njitdumps;
	/* Flow of all CPUs comes in one order, that of its time (equal ones: that of the CPUs), so that a
	 * thread's flow comes as it ran also when it went from one CPU to another. A gap comes behind the
	 * flow of its CPU that it follows. Without: CPU after CPU. Each CPU is then decoded by one thread,
	 * and so many as `jobs` at a time. What was recorded by thread, not by CPU, comes before the CPUs,
	 * thread after thread. */
	int by_time;
	/* The processor whose errata apply, in place of the one that the recording names; the errata
	 * themselves, in place of those. Read when the session is opened; NULL: the recording's. */
	const struct pt_cpu *cpu_model;
	const struct pt_errata *errata;
	/* What nothing may be concluded from: 1 << sb_switch_by_address, sb_switch_by_paging,
	 * sb_switch_repaired. Where it would have said who runs, or contradicts the records, nobody is known
	 * to. */
	uint32_t without_evidence;
	/* enum sb_sums; what is counted, and what is told of calls, together ("|"). Who gets the flow only
	 * counts: sb_session_run_span() may keep it added up, and sb_session_merge() hand it out so (struct
	 * sb_flow, times and ways). Blocks come for the first time in the order of the flow. sb_session_run()
	 * never adds up. */
	int sums;
};

enum sb_sums {
	sb_sums_none,
	sb_sums_blocks,    /* how often each block ran */
	sb_sums_ways,      /* and what followed on what in each thread */
	sb_sums_processes, /* the same, and processes that share code have sums of their own */
	/* Not how often blocks ran, but what ran in which call stack (struct sb_flow, calls). Sessions need
	 * symbols for that: sb_session_set_symbols(); without them, flow is not added up. */
	sb_sums_calls = 1 << 2,
	sb_sums_edges =
	        1 << 3, /* likewise, but who called whom; what ran in which stack is not told without calls */
	/* No code at all, but each flow by itself: who ran how many blocks and instructions, and how many of
	 * these were the kernel's (struct sb_flow, turn). */
	sb_sums_threads = 1 << 4,
	/* All of those that exclude each other. */
	sb_sums_counts = sb_sums_blocks | sb_sums_ways | sb_sums_processes,
	sb_sums_stacks = sb_sums_calls | sb_sums_edges
};

/* Per thread, with its command's name as it was last. Sorted by pid, then tid. */
struct sb_account_thread {
	int32_t pid, tid;
	char comm[16];
	uint64_t ninsn, nblocks;
};

/* What was executed in a container itself, not in those that are in it; NULL: outside of all. */
struct sb_account_container {
	const struct sb_container *container; /* the session's */
	size_t nprocesses;
	uint64_t ninsn, nblocks;
};

/* Code that was mapped without a record that says so: concluded from the addresses that were executed there.
 */
struct sb_account_map {
	int32_t pid; /* one of those who had it, or their parent */
	uint64_t begin, end;
	const char *filename; /* the session's */
};

/* What says where in the trace another thread began to run, and which one. */
enum sb_switch_evidence {
	sb_switch_by_time,    /* records, and that tracing was off, or the time */
	sb_switch_seen,       /* records, and the kernel's own switching, as the flow passes it */
	sb_switch_by_address, /* no record: the addresses that were executed are of one process alone */
	sb_switch_uncertain,  /* nothing does: who runs is not known from there on */
	sb_switch_by_paging,  /* no record: the page tables (CR3) are those of one process */
	sb_switch_repaired, /* several may have run, or a record's time misled: only this one's code fits the
	                       trace behind */
	sb_switch_evidences
};

/* bytes_total == bytes_decoded + the sum of gap[].bytes. */
struct sb_account {
	uint64_t bytes_total, bytes_decoded;
	uint64_t ninsn, nblocks;
	uint64_t ninsn_filtered; /* left out: of others than the caller asked for, or of another time */
	uint64_t nswitches;      /* applied on all CPUs; by what says where they took effect: */
	uint64_t switches[sb_switch_evidences];
	struct {
		uint64_t count, bytes;
	} gap[sb_gap_reasons];
	uint64_t nrecords, nrecords_skipped; /* sideband: walked; of a type that is not used */
	const struct sb_account_thread *thread;
	size_t nthreads;
	/* Of kinds, pods and ids in order, what was outside of all last; none when nobody was in any. */
	const struct sb_account_container *container;
	size_t ncontainers;
	/* By process and address; none when nothing was missing, or nothing was found. */
	const struct sb_account_map *map;
	size_t nmaps;
};

struct sb_session;

/* Reads the sideband of @perfdata, which must stay open until the session is closed. */
sb_export int sb_session_open(struct sb_session **session, const struct sb_perfdata *perfdata,
                              const struct sb_replay_options *options, struct sb_error *err);
/* What the sideband tells; the session's. */
sb_export const struct sb_system *sb_session_system(const struct sb_session *session);
sb_export int sb_session_run(struct sb_session *session, const struct sb_sink *sink, struct sb_error *err);

/* After sb_session_run(), whether it failed or not. Owned by the session. */
sb_export const struct sb_account *sb_session_account(const struct sb_session *session);
sb_export void sb_session_close(struct sb_session *session);

#endif
