/* schedule_image.h - a sealed schedule as tables of a checkpoint, and back: what is read of it is borrowed.
 */
#ifndef SB_SCHEDULE_IMAGE_H
#define SB_SCHEDULE_IMAGE_H

#include "perfdata/checkpoint_file.h"
#include "system/schedule.h"
#include "system/schedule_use.h"

void schedule_write(const struct schedule *schedule, struct checkpoint_writer *writer);

/* An empty one becomes what was written. Zero or a negative code. */
int schedule_read(struct schedule *schedule, const struct sb_checkpoint *checkpoint, struct sb_error *err);

/* Whether the entries of @cpu are what was written, which is found out once; it is told to the checkpoint
 * when they are not. */
int schedule_is_right(const struct schedule *schedule, const struct cpu_schedule *cpu);

/* For who reads few of them, and says which: whether those are what was written is found out afterwards. */
struct schedule_use schedule_use_of(const struct schedule *schedule, const struct cpu_schedule *cpu);
void schedule_check_used(const struct schedule *schedule);

#endif
