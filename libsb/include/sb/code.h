/* sb/code.h - the bytes of code that was executed.
 *
 * What a replay went by to follow the flow: from files, jitdumps, and, for the kernel, from what patched it.
 */
#ifndef SB_CODE_H
#define SB_CODE_H

#include <stddef.h>
#include <stdint.h>

#include <sb/error.h>
#include <sb/replay.h>

struct sb_code;

/* @session must outlive the result, which one thread at a time may use: a sink's callbacks, for example. */
sb_export int sb_code_new(struct sb_code **code, const struct sb_session *session, struct sb_error *err);
sb_export void sb_code_free(struct sb_code *code); /* NULL is fine */

/* Where and when an instruction was executed. */
struct sb_code_place {
	const struct sb_epoch *epoch; /* as flow has it; of no use for the kernel; NULL: not known */
	uint64_t ip;                  /* in the upper half of addresses it is the kernel's */
	uint64_t tsc;                 /* as flow has it; of no use for user space */
};

/* Copies what stands at @place to @buffer, at most @size bytes: returns how many, which is less at the end of
 * a mapping or where the kernel was patched; 0: not known; or -sbe_nomem, -sbe_invalid. */
sb_export int sb_code_read(struct sb_code *code, const struct sb_code_place *place, uint8_t *buffer,
                           size_t size);

#endif
