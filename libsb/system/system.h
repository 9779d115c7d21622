/* system.h - building the model record by record: what sb_system_build() does with all records of a
 * recording, and tests with records of their own.
 */
#ifndef SB_SYSTEM_SYSTEM_H
#define SB_SYSTEM_SYSTEM_H

#include <sb/system.h>

/* An empty system, or NULL. A @thrifty one keeps what the model needs, not what the records say: it concludes
 * from each round of records as soon as no older ones should come any more (sb/perfdata_write.h). */
struct sb_system *system_new(int thrifty);

/* Records in file order; their strings are copied. Zero or a negative code. Positive: a record came too late
 * for a thrifty system, which then is of no more use. */
int system_record(struct sb_system *system, const struct sb_record *record);

/* There are no more records; @damaged: although there should have been. From here on the system can
 * be asked. */
int system_seal(struct sb_system *system, int damaged);

/* All address spaces there were, in no order. */
size_t system_nspaces(const struct sb_system *system);
const struct sb_space *system_space_at(const struct sb_system *system, size_t index);

/* The only thread that process @pid ever had; -1: it had more, or none is known. */
int32_t system_only_thread(const struct sb_system *system, int32_t pid);

#endif
