/* system.h - building the model record by record: what sb_system_build() does with all records of a
 * recording, and tests with records of their own.
 */
#ifndef SB_SYSTEM_SYSTEM_H
#define SB_SYSTEM_SYSTEM_H

#include <sb/system.h>

/* An empty system, or NULL. */
struct sb_system *system_new(void);

/* Records in file order; their strings must outlive the system. Zero or a negative code. */
int system_record(struct sb_system *system, const struct sb_record *record);

/* There are no more records; @damaged: although there should have been. From here on the system can
 * be asked. */
int system_seal(struct sb_system *system, int damaged);

#endif
