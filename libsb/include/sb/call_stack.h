/* sb/call_stack.h - which functions a thread was in: call stacks out of flow.
 *
 * An sb_calls is given flow (<sb/replay.h>), the flow of each thread in the order of its execution, and tells
 * a consumer which functions were entered and left, and how many instructions ran in between, each in exactly
 * one function. A trace of branches says neither where the stack is nor what is on it: it is concluded from
 * calls and from where returns go. What does not fit the stack - longjmp, exceptions, coroutines, lost trace
 * - makes it adapt: it is searched for where execution went to, and what was above is left. Where that is a
 * guess, frames say so (.unsure).
 *
 * Each thread has one stack; what the kernel does for it is on top of its frames of user space, beginning
 * with a frame that was entered by sb_enter_syscall or sb_enter_interrupt. Memory follows the depth of stacks
 * and the number of functions, never the length of the trace. An sb_calls is used by one thread at a time.
 */
#ifndef SB_CALL_STACK_H
#define SB_CALL_STACK_H

#include <stdint.h>

#include <sb/clock.h>
#include <sb/error.h>
#include <sb/replay.h>
#include <sb/symbols.h>
#include <sb/system.h>

/* A function is a name and what it is in, whatever the process and the address there. */
struct sb_function {
	const char *name;    /* the symbols'; NULL: not known */
	const char *mangled; /* likewise */
	const char *dso;     /* likewise */
	uint64_t address;    /* of what has no name: where it was called; 0: it was only found running */
	uint32_t index;      /* dense from 0, in the order in which functions were first met */
	uint32_t reserved;
};

/* How a function was entered. */
enum sb_enter {
	sb_enter_call,      /* by a near call */
	sb_enter_tail,      /* by a jump to its beginning, in the place of the one that was left */
	sb_enter_jump,      /* by a jump or a step into the middle of its code, likewise */
	sb_enter_syscall,   /* the kernel, by an instruction */
	sb_enter_interrupt, /* the kernel, by an interrupt or exception; or, in the kernel, its handler */
	sb_enter_signal,    /* user space where it was not: a signal's handler */
	sb_enter_found,     /* execution is found there; who called it is not known */
	sb_enter_again,     /* not entered: its frame was left by sb_leave_switched, and goes on */
	sb_enters
};

/* Whether the frame below has the instruction that entered it. */
static inline int sb_call_is_made(enum sb_enter how)
{
	return how == sb_enter_call || how == sb_enter_syscall || how == sb_enter_interrupt;
}

/* How it was left. */
enum sb_leave {
	sb_leave_return,   /* by a return to its caller */
	sb_leave_tail,     /* by a jump to the next one's beginning */
	sb_leave_jump,     /* by a jump into, or a step to, the middle of the next one's code */
	sb_leave_unwound,  /* execution went on in a frame below: longjmp, an exception */
	sb_leave_switched, /* execution went on on another stack; this one may come again */
	sb_leave_lost,     /* what became of it is not known */
	sb_leave_end, /* it was not left, but the recording ends, or the process executes another program */
	sb_leaves
};

sb_export const char *sb_enter_name(enum sb_enter how); /* "call", "tail", ... */
sb_export const char *sb_leave_name(enum sb_leave how); /* "return", "tail", ... */

/* The consumer's own. */
union sb_calls_note {
	void *pointer;
	uint64_t number;
};

/* A function that was entered and not left yet. All but .note is only to be read. */
struct sb_call_frame {
	const struct sb_function *function;
	uint64_t ip;      /* where it was entered, or found */
	uint64_t begin;   /* where the function begins that is there; 0: not known */
	uint64_t from_ip; /* the instruction that entered it; interrupt, signal: before which; 0: not known */
	uint64_t return_ip; /* where it should return to; 0: not known */
	uint64_t low, high; /* its code is there, as far as known; the end is exclusive */
	uint64_t tsc;       /* when it was entered */
	uint64_t ninsn;     /* of the thread, when it was entered */
	uint8_t how;        /* enum sb_enter */
	uint8_t unsure;     /* that it is here is a guess, or has become one */
	uint8_t flags;      /* the engine's */
	uint8_t reserved;
	uint32_t loan;            /* the engine's */
	union sb_calls_note note; /* zero at first */
};

/* A thread. All but .note is only to be read. */
struct sb_call_thread {
	int32_t pid, tid;
	int32_t cpu;                            /* where it runs, or ran last */
	uint32_t index;                         /* dense from 0, in the order in which threads were met */
	uint64_t tsc;                           /* now: the time of the flow; later, when it ran last */
	uint64_t ninsn;                         /* instructions so far */
	const struct sb_membership *membership; /* as the flow has it */
	const struct sb_epoch *epoch;           /* likewise */
	struct sb_call_frame *frame;            /* the outermost function first; moves when a frame comes */
	uint32_t depth;                         /* how many frames there are */
	uint32_t reserved;
	union sb_calls_note note; /* zero at first */
};

/* Instructions of a function that was added up: of the innermost frame, or called by the function below. */
struct sb_calls_sum {
	const struct sb_function *function;
	uint32_t below; /* the index of its sum, which comes before it */
	int is_kernel;  /* not of sum[0] */
	uint64_t ninsn;
};

/* Calls that were added up, of one function by another one, or by none that is told of below. */
struct sb_calls_edge {
	const struct sb_function *caller, *callee;
	uint64_t ip;      /* where the callee begins, or, when that is not known, was entered */
	uint64_t from_ip; /* the instruction that called it; 0: sb_call_is_made() says no, or it is not known
	                   */
	uint64_t calls, ninsn; /* ninsn: with all that was called, and what the kernel did meanwhile */
};

/* Where the addresses of such calls are. */
struct sb_calls_space {
	int32_t pid;
	const struct sb_epoch *epoch;
};

/* Functions return zero, or a negative code that is handed through. Each may be NULL.
 *
 * run: @ninsn instructions of the innermost frame ran, at the thread's time; each instruction of the flow
 * comes once, those that do not count excepted. enter: the innermost frame is new. leave: the innermost frame
 * is left, and still there. */
struct sb_calls_consumer {
	void *context;
	int (*run)(void *context, struct sb_call_thread *thread, uint64_t ninsn);
	int (*enter)(void *context, struct sb_call_thread *thread);
	int (*leave)(void *context, struct sb_call_thread *thread, enum sb_leave how);
	/* How many instructions of @block of @flow, which run next, count: NULL: all. Of those that do not,
	 * run() and .ninsn do not tell (run() may come with zero), but the stack takes them as it takes all.
	 */
	uint32_t (*counts)(void *context, struct sb_call_thread *thread, const struct sb_flow *flow,
	                   const struct pt_run_block *block);
	/* Flow that was added up (struct sb_flow, calls), at the thread's time: sum[0] is what ran in the
	 * innermost frame, the others in functions that were on it. Of frames that stay, enter() tells then.
	 * NULL: such flow is not taken. */
	int (*sums)(void *context, struct sb_call_thread *thread, const struct sb_calls_sum *sum,
	            uint32_t count);
	/* Calls that came back in such flow, when it tells of them (sb_sums_edges): for these, leave() does
	 * not come. .ninsn of the thread, and of the frames that stay, are what they would be. NULL: not
	 * wanted. */
	int (*edges)(void *context, const struct sb_calls_space *space, const struct sb_calls_edge *edge,
	             size_t count);
};

/* All borrowed; NULL where not known. */
struct sb_calls_options {
	size_t size;                /* sizeof(struct sb_calls_options) */
	struct sb_symbols *symbols; /* NULL: a function is where calls go to */
	const struct sb_clock
	        *clock; /* for symbols that come and go, and to see that programs are executed */
	const struct sb_system *system;
	uint32_t max_depth; /* 0: 65536. What would be deeper is begun anew: all frames are left as lost */
	int holes; /* pieces of the flow are left out, so calls and returns are missing: all frames are
	              guesses */
};

struct sb_calls;

/* The innermost frame; there is one whenever a consumer is called. */
static inline struct sb_call_frame *sb_calls_top(const struct sb_call_thread *thread)
{
	return &thread->frame[thread->depth - 1];
}

sb_export int sb_calls_new(struct sb_calls **calls, const struct sb_calls_options *options,
                           const struct sb_calls_consumer *consumer, struct sb_error *err);
sb_export void sb_calls_free(struct sb_calls *calls); /* NULL is fine */

/* The next flow of a CPU. -sbe_nomem, or what the consumer said; -sbe_order: flow was added up that is not
 * what it was taken for, so only flow that was not will do. */
sb_export int sb_calls_flow(struct sb_calls *calls, const struct sb_flow *flow);
/* Something is missing between the CPU's flow before and its next one. */
sb_export int sb_calls_gap(struct sb_calls *calls, const struct sb_gap *gap);
/* There is no more flow: leaves all frames, thread after thread. */
sb_export int sb_calls_finish(struct sb_calls *calls);

/* How often the stack did not fit, by how it was resolved: what a summary may show as confidence. */
struct sb_calls_doubts {
	uint64_t returns;  /* that went to a frame's caller, as they should */
	uint64_t unwound;  /* transfers to a frame further below */
	uint64_t switched; /* to another stack */
	uint64_t found;    /* to where no frame was */
	uint64_t lost;     /* frames of which nobody knows what became of them */
};
sb_export struct sb_calls_doubts sb_calls_doubts(const struct sb_calls *calls);

#endif
