/* evidence.h - who runs where records do not say so, or say what the trace contradicts.
 *
 * The trace names addresses, and as a rule each process has its code at others; and it may name page tables,
 * which no two processes share. What is concluded depends on
 * the model and on the trace around the place, not on what was decoded before: so it is the same wherever
 * decoding began.
 */
#ifndef SB_EVIDENCE_H
#define SB_EVIDENCE_H

#include "replay/address_index.h"
#include "replay/cr3_map.h"
#include "replay/lost_map.h"
#include "replay/switch_track.h"

/* Shared by all threads. */
struct evidence {
	const struct sb_system *system; /* borrowed */
	struct address_index addresses;
	struct cr3_map cr3s;
	struct lost_maps maps;
};

/* @slack: ns, see struct switch_track. */
void evidence_init(struct evidence *evidence, const struct sb_perfdata *perfdata,
                   const struct sb_system *system, uint64_t slack);
void evidence_fini(struct evidence *evidence);

enum { EVIDENCE_SUSPECTS_MAX = 16 };

/* Who may run at a place: first those that have code there, then strangers, who may have. */
struct suspects {
	int32_t pid[EVIDENCE_SUSPECTS_MAX];
	int count, nknown;
};

/* User space is entered. */
struct evidence_place {
	const uint64_t *ip; /* addresses that are about to be executed */
	size_t nips;
	uint64_t now, until; /* it is then or, where time stands still, some time up to @until */
	uint64_t cr3;        /* the page of the page tables in force; 0: not known, or not to be asked for */
	int resumed;         /* execution goes on where it stopped last on this CPU: 1, 0, or -1: not known */
	int is_late;         /* time stands still: see late_time.h */
	int interrupted;     /* it stopped where an interrupt came, not at a system call; or not at all */
	int has_strayed;     /* nobody knows where it stopped, and others may have run since */
};

/* Whether what @track says does not go without saying. Negative: -sbe_nomem. */
int evidence_is_needed(struct evidence *evidence, const struct switch_track *track,
                       const struct sb_space *space, const struct evidence_place *place);

/* The process to which the kernel switches that puts the page tables @cr3 in force at @now, where they were
 * others before; -1: not known, or several have them, of which records will name one. */
int32_t evidence_switched_to(struct evidence *evidence, const struct switch_track *track, uint64_t cr3,
                             uint64_t now, int *status);

/* Whether the page tables at the place are known to be @pid's. *status: zero or -sbe_nomem. */
int evidence_is_owner(struct evidence *evidence, int32_t pid, const struct evidence_place *place,
                      int *status);

/* Processes and threads whose beginning no record tells of; NULL: no memory. */
const struct strangers *evidence_strangers(struct evidence *evidence);

/* The only thread of @pid, and whether there are others, as far as is known; see system/system.h. */
int32_t evidence_only_thread(struct evidence *evidence, int32_t pid);
int evidence_has_other_threads(struct evidence *evidence, int32_t pid, int32_t tid);

/* Sets right who runs, which may be nobody that is known: one of *suspects, then, or somebody else. Zero or
 * -sbe_nomem. */
int evidence_settle(struct evidence *evidence, struct switch_track *track, const struct evidence_place *place,
                    struct suspects *suspects);

int suspects_have(const struct suspects *suspects, int32_t pid);

/* Whether nobody else can have run, where @before is what records said. */
int suspects_are_all(const struct suspects *suspects, const struct switch_track *before);

/* The space of @pid that has code at the place, at @place->now or as close to it as the trace's time can be
 * wrong; else the one at that time. *moment: the time it is to be asked for. */
const struct sb_space *evidence_space(const struct evidence *evidence, const struct switch_track *track,
                                      const struct evidence_place *place, uint64_t *moment);

#endif
