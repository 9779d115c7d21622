/* sb/way.h - what followed on what in a thread: the ways between its blocks of code, for whoever counts them.
 *
 * What follows on a block of user space is what the thread next executes there, whatever the kernel does in
 * between: that a timer interrupts a loop is not of the loop. What was interrupted waits until execution
 * comes back to where that was.
 *
 * Blocks are handles of whoever counts. All is inline: it is asked for each path of the flow.
 */
#ifndef SB_WAY_H
#define SB_WAY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	sb_way_interrupted_most = 8, /* of a thread, at a time; the oldest ones are forgotten */
	/* Ticks between two flows of a thread, some microseconds: in less, it does not come back from another
	 * CPU. */
	sb_way_pause_most = 1 << 14
};

struct sb_way_code {
	const void *code; /* the handle; NULL: none */
	int is_kernel;
	int is_far; /* ends in a far transfer, which may come back to what was interrupted */
};

/* Where execution stopped behind a block. */
struct sb_way_stop {
	const void *code;
	uint64_t ip;
};

/* What a thread executed last. Zeroed: it is not known. */
struct sb_way_thread {
	struct sb_way_code last;
	const void *last_user;
	uint64_t left_ip; /* where it was interrupted behind .last; 0: it was not */
	/* What will be gone on with; the latest one last. */
	struct sb_way_stop interrupted[sb_way_interrupted_most];
	uint32_t ninterrupted;
	uint32_t deepest; /* so many were interrupted at a time, at most, since it was set to zero */
};

/* Who counts. Both return zero, or negative, which is handed back. */
struct sb_way_counter {
	void *context;
	/* @to followed on @from; @async: not by its last instruction: an interrupt, or the like. */
	int (*way)(void *context, const void *from, const void *to, int async);
	/* A far transfer leads to @to, at @ip, and nothing is known to be interrupted. May be NULL. */
	int (*back)(void *context, const void *to, uint64_t ip);
};

static inline void sb_way_forget(struct sb_way_thread *thread)
{
	thread->last.code = thread->last_user = NULL;
	thread->left_ip = 0;
	thread->ninterrupted = 0;
}

/* No more than the @most latest of what was interrupted is remembered. */
static inline void sb_way_keep(struct sb_way_thread *thread, uint32_t most)
{
	const uint32_t gone = thread->ninterrupted > most ? thread->ninterrupted - most : 0;

	if (!gone)
		return;
	thread->ninterrupted = most;
	memmove(thread->interrupted, thread->interrupted + gone, most * sizeof(thread->interrupted[0]));
}

/* Puts down what was interrupted. */
static inline void sb_way_put(struct sb_way_thread *thread, const void *code, uint64_t ip)
{
	sb_way_keep(thread, sb_way_interrupted_most - 1);
	thread->interrupted[thread->ninterrupted].code = code;
	thread->interrupted[thread->ninterrupted++].ip = ip;
	if (thread->deepest < thread->ninterrupted)
		thread->deepest = thread->ninterrupted;
}

/* Interrupted at @ip, behind the last block; 0: it was not. */
static inline void sb_way_interrupt(struct sb_way_thread *thread, uint64_t ip)
{
	if (!ip || !thread->last.code)
		return;
	sb_way_put(thread, thread->last.code, ip);
	thread->left_ip = ip;
	if (!thread->last.is_kernel)
		thread->last_user = NULL;
}

/* Takes up what was interrupted at @ip and goes on with @to, if it is the latest. */
static inline int sb_way_take(struct sb_way_thread *thread, const void *to, uint64_t ip,
                              const struct sb_way_counter *counter)
{
	if (!thread->ninterrupted || thread->interrupted[thread->ninterrupted - 1].ip != ip)
		return 0;
	return counter->way(counter->context, thread->interrupted[--thread->ninterrupted].code, to, 0);
}

/* Comes to @to, at @ip, and so perhaps back to what was interrupted there: by what can do so. */
static inline int sb_way_back(struct sb_way_thread *thread, const void *to, uint64_t ip,
                              const struct sb_way_counter *counter)
{
	if (!thread->left_ip && !thread->last.is_far)
		return 0;
	if (!thread->ninterrupted && counter->back)
		return counter->back(counter->context, to, ip);
	return sb_way_take(thread, to, ip, counter);
}

/* The thread comes from where it was to @first, at @ip. */
static inline int sb_way_come(struct sb_way_thread *thread, const struct sb_way_code *first, uint64_t ip,
                              const struct sb_way_counter *counter)
{
	const void *const from = thread->last.code;
	int status;

	if (!from)
		return 0;
	status = sb_way_back(thread, first->code, ip, counter);
	/* Of the interrupt, nothing was seen. */
	if (status < 0 || (thread->left_ip && thread->left_ip == ip))
		return status;
	status = counter->way(counter->context, from, first->code, thread->left_ip != 0);
	/* Back from the kernel. */
	if (status == 0 && thread->last_user && thread->last_user != from && !first->is_kernel)
		status = counter->way(counter->context, thread->last_user, first->code, 0);
	return status;
}

/* The same, and it goes on to @last, without a far transfer; @last_user: the last one up to there that is of
 * user space; NULL: none is. */
static inline int sb_way_go(struct sb_way_thread *thread, const struct sb_way_code *first, uint64_t ip,
                            const struct sb_way_code *last, const void *last_user,
                            const struct sb_way_counter *counter)
{
	const int status = sb_way_come(thread, first, ip, counter);

	if (status < 0)
		return status;
	thread->left_ip = 0;
	thread->last = *last;
	if (last_user)
		thread->last_user = last_user;
	return 0;
}

#endif
