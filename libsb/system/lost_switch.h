/* lost_switch.h - where records of switches must be missing, as other records tell.
 *
 * Whoever makes a record on a CPU runs there; and nobody runs on two CPUs at a time. So a record by another
 * thread than the one that was switched to last, and one by that thread on another CPU, are signs that a
 * switch has no record. What they tell becomes part of the schedule; who ran between the last switch and such
 * a sign is uncertain.
 */
#ifndef SB_LOST_SWITCH_H
#define SB_LOST_SWITCH_H

struct schedule;

/* Completes the schedules of all CPUs, which are sorted. Zero or -sbe_nomem. */
int lost_switch_find(struct schedule *schedule);

#endif
