/* tools/old_recording.h - the name that a recording has when nobody says one: what has it already is not
 * lost, but becomes perf.data.old.
 */
#ifndef TOOLS_OLD_RECORDING_H
#define TOOLS_OLD_RECORDING_H

#include <stdbool.h>

extern const char old_recording_name[]; /* "perf.data" */

/* Where it is *due, once: when the new recording has begun, so that one that cannot costs nothing. The old
 * one keeps its name, too, until the new one is complete and takes it. */
void old_recording_keep(bool *due);

#endif
