/* tracee_mm.h - the code of one traced address space: what can be executed, as it was before the
 * tracer touched it, and the breakpoints that the tracer planted in it.
 *
 * Stepping a program one instruction at a time costs two context switches and a trap each; under
 * a hypervisor the trap alone can take 30 us. Between two branches whose outcome depends on data
 * there is only one path: so the tracer lets the processor run to the end of a *path* and stops it
 * with a breakpoint (INT3) there. Threads run one at a time, so planting needs no care for others.
 *
 * Threads of a process and a vfork child share one object; fork copies it, exec begins a new one.
 */
#ifndef SB_CAPTURE_TRACEE_MM_H
#define SB_CAPTURE_TRACEE_MM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sb/error.h>

#include "exec_maps.h"
#include "traced_insn.h"

enum path_end {
	path_branch,  /* the last instruction's outcome can be computed: branch->rule */
	path_syscall, /* the last instruction stops the tracee by itself */
	path_step,    /* the last instruction has to be stepped */
	path_cut,     /* ends somewhere, before @end_ip */
	path_blind    /* nothing is known: one step, unless there is nothing to run */
};

/* Instructions that retire one after the other, whatever the data: direct jumps and calls are
 * followed, no address is there twice. */
struct code_path {
	uint64_t start;
	uint64_t end_ip;           /* path_cut: of the next instruction */
	uint32_t ninsns;           /* at least one, except for path_blind and path_cut */
	uint8_t end;               /* enum path_end */
	uint8_t careful;           /* breakpoints would damage it: step through */
	uint8_t fleeting;          /* its bytes may change at any time: good for one use */
	struct branch_info branch; /* of the last instruction */
	struct traced_insn insn[];
};

struct code_page;

struct tracee_mm {
	uint32_t refs;
	struct exec_maps maps;
	/* Hash tables with open addressing; sizes are powers of two, at most half of the slots are used. */
	struct code_page **page;
	size_t npages, page_room;
	struct code_path **path;
	size_t npaths, path_room;
	struct code_path *fleeting; /* the latest one */
};

struct tracee_mm *tracee_mm_new(void);
struct tracee_mm *tracee_mm_ref(struct tracee_mm *mm);
void tracee_mm_unref(struct tracee_mm *mm);

/* The copy that a fork makes. NULL: out of memory. */
struct tracee_mm *tracee_mm_fork(const struct tracee_mm *mm);

/* The path from @ip on; valid until the next call of any function here. @tid: a stopped thread. */
int tracee_mm_path(struct tracee_mm *mm, pid_t tid, uint64_t ip, const struct code_path **path,
                   struct sb_error *err);

int tracee_mm_is_planted(const struct tracee_mm *mm, uint64_t address);
/* Returns 1 when there is a breakpoint now, 0 when there must be none. */
int tracee_mm_plant(struct tracee_mm *mm, pid_t tid, uint64_t address);
void tracee_mm_unplant(struct tracee_mm *mm, pid_t tid, uint64_t address, size_t size);

/* Takes everything out of [begin, end) and forgets what is known of it and all paths: the program
 * is about to change or to lose it. */
void tracee_mm_release(struct tracee_mm *mm, pid_t tid, uint64_t begin, uint64_t end);

#endif
