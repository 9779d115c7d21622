/* sb/checkpoint.h - what one needs to know of a recording's sideband to replay a span of it (sb/shard.h),
 * without reading all of it again: the records that processes and code come from, in one piece, and who ran
 * on each CPU, concluded already, as tables.
 *
 * It is made once, of a recording and its system. Whoever opens the recording with it reads the recording's
 * header and trace, and none of the records between; the tables are mapped, so only what is looked at is
 * read. All answers are the same as without.
 *
 * The bytes are of the same version of the library and for the same recording only; they have sums, and what
 * does not fit is refused (-sbe_format, -sbe_mismatch). Format: libsb/perfdata/checkpoint_file.h.
 */
#ifndef SB_CHECKPOINT_H
#define SB_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include <sb/perfdata.h>
#include <sb/store.h>
#include <sb/system.h>

/* Where the bytes go. Zero, or a negative code, which ends the writing. */
typedef int sb_checkpoint_put(void *context, const void *bytes, size_t size);

/* Writes the checkpoint of a recording: 1, with its *sum, by which it is known; 0: of this one there is none
 * (damaged, packed, of several files, snapshots), and nothing was written; or a negative code. */
sb_export int sb_checkpoint_write(const struct sb_perfdata *perfdata, const struct sb_system *system,
                                  sb_checkpoint_put *put, void *context, uint64_t *sum, struct sb_error *err);

/* Opens the checkpoint that the @size bytes of the file @path at @offset (a multiple of 4096) are. Any number
 * of recordings and threads may use it. Zero or a negative code. */
struct sb_checkpoint;
sb_export int sb_checkpoint_open(struct sb_checkpoint **checkpoint, const char *path, uint64_t offset,
                                 uint64_t size, uint64_t sum, struct sb_error *err);
sb_export void sb_checkpoint_close(struct sb_checkpoint *checkpoint); /* NULL is fine */

/* As sb_perfdata_open() and sb_perfdata_open_store(), of the recording that the checkpoint is of. It must
 * outlive the recording, and the systems that are built of it. Walks over records meet only some of them.
 * NULL: there is none.
 *
 * Parts of it are checked when they are used first. If they are damaged then, sb_perfdata_failure() tells so
 * from there on. */
sb_export int sb_perfdata_open_at(struct sb_perfdata **perfdata, const char *path,
                                  const struct sb_checkpoint *checkpoint, struct sb_error *err);
sb_export int sb_perfdata_open_store_at(struct sb_perfdata **perfdata, const struct sb_store *store,
                                        const struct sb_checkpoint *checkpoint, struct sb_error *err);

#endif
