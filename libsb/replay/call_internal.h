/* call_internal.h - what the parts of the call stacks' engine share.
 *
 *   call_stack.c   threads, and what the public functions do
 *   call_frames.c  frames come and go, and the consumer is told
 *   call_flow.c    from one block to the next: what that means for the stack
 *   call_switch.c  the same for stacks that take turns by one function
 *   call_routines.c  the same for goroutines
 *   call_search.c  where in the stack, or on which other one, execution went on
 *   call_sure.c    what depends on no more than the latest frames
 *   call_take.c    flow that was added up (call_sums.h)
 *   call_places.c  functions
 */
#ifndef SB_CALL_INTERNAL_H
#define SB_CALL_INTERNAL_H

#include <sb/call_stack.h>

#include "replay/call_places.h"

/* Whether @ip is in the half of the address space that is the kernel's. */
static inline int call_is_kernel(uint64_t ip)
{
	return ip >> 63 != 0;
}

/* sb_call_frame.flags: they belong to the place in the stack, and stay when another function takes it. */
enum frame_flag {
	frame_kernel = 1 << 0,   /* the kernel's first: below it is what was interrupted */
	frame_signal = 1 << 1,   /* a signal's handler: likewise */
	frame_restorer = 1 << 2, /* which has returned: sigreturn comes */
	frame_internal = 1 << 3, /* it calls addresses inside of itself: maybe to no return */
	frame_base = 1 << 4,     /* on another stack than the frame below it */
	frame_system = 1 << 5,   /* the first on a thread's own stack, which goroutines are on top of */
	frame_doubted = 1 << 6,  /* another one may be there, and others below it */
};

/* Whether a function without a name is told by where it was entered. */
static inline int call_is_called(enum sb_enter how)
{
	return how != sb_enter_found && how != sb_enter_jump;
}

/* The last block of a thread. */
struct last_block {
	uint64_t end_ip;  /* its last instruction; 0: there is none, or what came behind it is missing */
	uint64_t next_ip; /* the address behind it */
	uint8_t iclass;
};

/* A frame to which execution may come back behind a call of setjmp. */
struct call_landing {
	uint64_t ip;
	uint32_t depth; /* of the stack at that time, at least: the frame is the last of so many */
};

/* Where what is right is looked for when a stack that came back as a guess returns elsewhere than it should.
 */
enum call_loan {
	loan_plain,   /* as when any function does so */
	loan_routine, /* among those that would have gone on in the same way; the guess may wait still */
	loan_turn,    /* likewise; who takes its turn does not wait any more */
};

struct call_thread {
	struct sb_call_thread public;
	size_t frame_capacity;
	struct last_block last;
	/* The code of the innermost frame at hand, empty where it must be looked up: a way inside of it that
	 * no call or return takes changes nothing. */
	uint64_t low, high;
	uint64_t ran;     /* instructions of the innermost frame that the consumer was not told of */
	uint64_t counted; /* those of them that count */
	uint64_t left_ip; /* before which instruction tracing was switched off; 0: not known */
	struct call_landing *landing; /* owned; of increasing depth */
	size_t nlandings, landing_capacity;
	const struct sb_space *space; /* of the process, when it ran last; NULL: not known */
	uint64_t parked; /* the goroutine that waits since the thread went to its own stack: the segment's
	                  * .used; 0: none */
	int takes_turns; /* its stacks do, each alone */
	int may_park;    /* a goroutine below the thread's own stack's frames may have to */
	/* A stack that came back as a guess, until it shows whether it is the one; .number 0: none. */
	struct {
		uint32_t number, at; /* the loan's; where its first frame is */
		uint32_t left;       /* how many of its frames are there yet */
		uint32_t above;      /* how many of the segment's did not come */
		enum call_loan kind;
	} loan;
	uint64_t credit; /* how many frames may be searched: more the more ran */
	int lost;        /* what ran since is missing */
	/* So many frames, from the outermost one on, are not what they are taken for: only for who is asked
	 * by sb_calls.cut. */
	uint32_t base;
	uint64_t since; /* likewise: what is looked up must have been the same since then (perf clock, ns) */
	int came_back;  /* likewise: to the frame below .base, from a system call */
	int goes_internal; /* likewise: that frame has become frame_internal */
	int by_learned;    /* likewise: the innermost frame is left because of what was learned */
};

/* Functions of flow that was added up, by their numbers in one numbering. */
struct call_numbers {
	uint64_t numbering;
	struct known_function **function; /* owned */
	size_t count, capacity;
};

struct call_cpu {
	int32_t cpu;
	struct call_numbers numbers;
	struct call_thread *thread; /* that ran last */
};

/* A stack, or the upper part of one, that was switched from: the outermost frame first. */
struct call_segment {
	struct sb_call_frame *frame; /* owned */
	uint32_t depth;
	int32_t pid;
	int loaned;    /* it is guessed that it is on the stack */
	uint32_t loan; /* the number that its lowest frame has there */
	uint64_t used; /* when, by sb_calls.time; no two have the same */
};

enum { call_segments = 1024 };

struct sb_calls {
	struct sb_calls_options options;
	struct sb_calls_consumer consumer;
	struct call_places *places; /* owned */
	struct key_table thread_keys;
	struct call_thread **thread; /* owned; by index */
	size_t thread_capacity;
	struct call_cpu *cpu; /* owned */
	size_t ncpus, cpu_capacity;
	size_t last_cpu; /* index of the one that was asked for last */
	struct call_segment segment[call_segments];
	uint64_t time;                 /* counts segments that were put aside */
	uint32_t loans;                /* counts those that came back as a guess */
	struct sb_call_frame switcher; /* of the function that went to a new stack last */
	uint64_t forgotten[16]; /* a bit for where each that had to make room would have gone on, by a hash */
	int has_forgotten;      /* there are such */
	struct sb_calls_doubts doubts;
	/* Called before something is done that depends on more than the frames from the thread's .base on,
	 * while all is as it was behind the last block; not NULL where flow is added up (call_sums.h). The
	 * frame below these does not change without. */
	int (*cut)(void *context, struct call_thread *thread);
	int confused;             /* what was added up depended on what was not known then */
	struct sb_calls_sum *sum; /* owned; of flow that was added up */
	size_t sum_capacity;
	struct sb_calls_edge *edge; /* owned; likewise */
	size_t edge_capacity;
};

/* ---- call_frames.c: zero or a negative code ---------------------------------------------------- */

struct new_frame {
	uint64_t ip, from_ip, return_ip;
	enum sb_enter how;
	uint8_t flags, unsure;
};

int call_enter(struct sb_calls *calls, struct call_thread *thread, const struct new_frame *new);
/* Leaves the innermost frame. */
int call_leave(struct sb_calls *calls, struct call_thread *thread, enum sb_leave how);
/* Leaves frames until there are @depth. */
int call_leave_to(struct sb_calls *calls, struct call_thread *thread, uint32_t depth, enum sb_leave how);
/* Another function in the place of the innermost frame, and with what was expected of it. */
int call_replace(struct sb_calls *calls, struct call_thread *thread, uint64_t ip, enum sb_leave left,
                 enum sb_enter entered);
/* Tells the consumer what ran so far. */
int call_tell_run(struct sb_calls *calls, struct call_thread *thread);
/* Puts frames from @depth on aside, as left by switching, in case they come again; they are left. Each of the
 * stacks that lie one on the other there by itself: that above all came last. */
int call_keep_aside(struct sb_calls *calls, struct call_thread *thread, uint32_t depth); /* and stay */
int call_put_aside(struct sb_calls *calls, struct call_thread *thread, uint32_t depth);
/* The frames of a segment, up to the one at @index, come in the place of the innermost one. @guess: it may be
 * another one, and this one come again. */
int call_bring_back(struct sb_calls *calls, struct call_thread *thread, struct call_segment *segment,
                    uint32_t index, int guess);
/* What was brought back by a guess, and begins at @index of the stack, was not: only that frame stays. */
int call_take_back(struct sb_calls *calls, struct call_thread *thread, uint32_t index);
/* A function returned as expected. When it is one of those that were brought back by a guess, and no other
 * stack would have gone on like that, it was right. */
void call_confirm(struct sb_calls *calls, struct call_thread *thread);
/* Frames were left otherwise than by returns: of a stack that came back by a guess, that proves nothing. */
void call_end_proof(struct sb_calls *calls, struct call_thread *thread);
struct call_segment *call_find_loan(struct sb_calls *calls, uint32_t loan);
/* A stack that came back by a guess, with this loan, has come to its end. */
void call_end_loan(struct sb_calls *calls, uint32_t loan);
int call_has_segments(const struct sb_calls *calls, int32_t pid);
/* What became of a process's other stacks was missed. */
void call_doubt_segments(struct sb_calls *calls, int32_t pid);
void call_segments_free(struct sb_calls *calls);

/* ---- call_sure.c: zero or a negative code ------------------------------------------------------- */

static inline int call_cut(struct sb_calls *calls, struct call_thread *thread)
{
	return calls->cut ? calls->cut(calls->consumer.context, thread) : 0;
}

/* Whether the innermost frame is one of which all is known. */
static inline int call_knows_top(const struct call_thread *thread)
{
	return thread->public.depth > thread->base;
}

/* Cuts unless all is known of the innermost frame. */
static inline int call_look_at_top(struct sb_calls *calls, struct call_thread *thread)
{
	return call_knows_top(thread) ? 0 : call_cut(calls, thread);
}

/* Whether a function does nothing to the stack but to be left by a return, or, when it @jumps, to another one
 * by a jump. In the kernel, whatever was learned is no matter for returns. */
static inline int call_is_ordinary(const struct known_function *function, int is_kernel, int jumps)
{
	const uint32_t learned = is_kernel && !jumps ? trait_switches | trait_learned : 0;

	return !(function->traits & ~learned);
}

/* Cuts unless what happens when the function at @ip is entered is known from that alone. */
int call_look_at_new(struct sb_calls *calls, struct call_thread *thread, uint64_t ip, enum sb_enter how);
/* Cuts unless so many frames are known as are left when @depth stay, and the innermost one of these goes on
 * at @ip. */
int call_look_below(struct sb_calls *calls, struct call_thread *thread, uint32_t depth, uint64_t ip);
/* Whether @frame is still that function's when it goes on at @ip; or a negative code. */
int call_stays_in(struct sb_calls *calls, const struct call_thread *thread, const struct sb_call_frame *frame,
                  uint64_t ip);

/* ---- call_take.c: zero or a negative code ------------------------------------------------------- */

/* What comes behind the flow's blocks. */
int call_take(struct sb_calls *calls, struct call_thread *thread, const struct sb_flow *flow);
/* Who called whom in it. @thread: whose innermost frame some of that is of; NULL: none is. */
int call_take_edges(struct sb_calls *calls, const struct call_thread *thread, const struct sb_flow *flow);

/* ---- call_stack.c ------------------------------------------------------------------------------ */

/* NULL: no memory. */
struct call_cpu *call_find_cpu(struct sb_calls *calls, int32_t cpu);

/* ---- call_flow.c ------------------------------------------------------------------------------- */

/* How many frames may be searched because of so many instructions. */
static inline uint64_t call_credit(uint64_t ninsn)
{
	return 256 + 4 * ninsn;
}
void call_add_credit(struct call_thread *thread, uint64_t credit);

/* Whether the innermost frame is the same, and goes on, when the function that begins at @ip is gone to
 * without a call: a part of it that the compiler put elsewhere. */
int call_is_cold_part(const struct known_function *part, const struct sb_function *of);

int call_flow_add(struct sb_calls *calls, struct call_thread *thread, const struct sb_flow *flow);

/* The innermost frame goes on at @ip, wherever that is. */
int call_settle(struct sb_calls *calls, struct call_thread *thread, uint64_t ip);
/* All frames are as they were, as far as anybody knows: from now on, that is a guess. */
void call_doubt(struct call_thread *thread);
/* Whether a function begins at @ip. */
int call_begins_at(struct sb_calls *calls, struct call_thread *thread, uint64_t ip);

/* ---- call_switch.c: positive when that was it, zero when it was not, or a negative code ---------------- */

/* Whether the innermost frame is of a function that goes to another stack, when execution goes from there to
 * @ip, where no function begins. */
int call_turn(struct sb_calls *calls, struct call_thread *thread, uint64_t ip);
/* Whether execution went to another stack, which was put aside and waits for a return to @ip. */
int call_switch_to(struct sb_calls *calls, struct call_thread *thread, uint64_t ip);

/* ---- call_routines.c: positive when that was it, zero when it is as elsewhere, or a negative code ------ */

int call_routine_call(struct sb_calls *calls, struct call_thread *thread, uint64_t ip);
int call_routine_return(struct sb_calls *calls, struct call_thread *thread, uint64_t ip);
int call_routine_correct(struct sb_calls *calls, struct call_thread *thread, uint64_t ip);
int call_routine_jump(struct sb_calls *calls, struct call_thread *thread, uint64_t ip);

/* ---- call_search.c: all look from the innermost frame on, and as far as the credit goes ------------- */

enum { call_nowhere = UINT32_MAX };

/* How many frames stay when the one that should return to @ip has returned; call_nowhere. */
uint32_t call_find_return(struct call_thread *thread, uint64_t ip);
/* How many of @depth frames stay when execution goes on in one of them whose code is at @ip. */
uint32_t call_find_code(struct call_thread *thread, uint32_t depth, uint64_t ip);
/* The same behind a call of setjmp. *least: if it was another frame that called it at the same place, how few
 * frames may stay; else the same. */
uint32_t call_find_landing(const struct call_thread *thread, uint64_t ip, uint32_t *least);
/* A segment of @thread's process with a frame that should return to @ip, and its index. NULL: none. *several:
 * there are others, and nothing says which one it is. */
struct call_segment *call_find_segment(struct sb_calls *calls, const struct call_thread *thread, uint64_t ip,
                                       uint32_t *index, int *several);
/* The segment of @pid that waits for longest, of those that wait for a return to @ip. *count: how many do,
 * those not counted that look the same. */
struct call_segment *call_find_waiting(struct sb_calls *calls, int32_t pid, uint64_t ip, uint32_t *count);
/* Whether another segment than @segment, but for the innermost @above frames, is to return to the same
 * addresses down to the frame at @index, and then to others. */
int call_find_other(const struct sb_calls *calls, const struct call_segment *segment, uint32_t above,
                    uint32_t index);
/* Whether so many frames of both, but for the innermost @above, are to return to the same addresses, as far
 * as they are known. */
int call_goes_on_like(const struct call_segment *a, const struct call_segment *b, uint32_t above,
                      uint32_t count);
/* Whether the frame below the innermost @above may return to @ip. */
int call_may_return(const struct call_segment *segment, uint32_t above, uint64_t ip);
/* Whether two stacks look the same up to the frame at @index. */
int call_is_equal(const struct call_segment *a, const struct call_segment *b, uint32_t index);
/* The bit of .forgotten for @ip, in the word that *word says. */
uint64_t call_forgotten_bit(uint64_t ip, size_t *word);

#endif
