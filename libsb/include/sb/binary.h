/* sb/binary.h - from a recorded mapping to the file whose bytes ran there. */
#ifndef SB_BINARY_H
#define SB_BINARY_H

#include <stddef.h>
#include <stdint.h>

#include <sb/error.h>
#include <sb/replay.h>
#include <sb/system.h>

/* A resolved mapping: [offset, offset + size) of path stands at map->begin. */
struct sb_binary {
	enum sb_gap_reason missing; /* sb_gap_none: found; else no_binary, binary_mismatch or anonymous */
	char *path;                 /* owned by the resolver, NULL when missing */
	uint64_t offset, size;
	char detail[160]; /* why it is missing: what was recorded and what was found */
};

struct sb_resolver;

/* Looks for files below each root in order, then, unless @no_host_root, at the recorded path itself.
 * A path of the recording is data: only regular files below the roots are opened, whatever "..",
 * and symbolic links say. Sizes and build-ids are checked against the record. [vdso] is
 * ROOT/[vdso] (or ROOT/vdso.so, ROOT/vdso); without one, the vdso of this process when its
 * build-id or use is right is written to a temporary file. Results are cached. Threads may share a
 * resolver. */
sb_export int sb_resolver_new(struct sb_resolver **resolver, const char *const *root, size_t nroots,
                              int no_host_root, struct sb_error *err);
sb_export void sb_resolver_free(struct sb_resolver *resolver);
sb_export int sb_resolver_find(struct sb_resolver *resolver, const struct sb_map *map,
                               const struct sb_binary **binary, struct sb_error *err);

/* The GNU build-id of an ELF file: its length, 0 when it has none, or a negative code. */
sb_export int sb_elf_build_id(const char *path, uint8_t id[20], struct sb_error *err);

#endif
