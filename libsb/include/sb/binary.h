/* sb/binary.h - from a recorded mapping to the file whose bytes ran there.
 *
 * A path of a recording is data: only regular files below the roots are opened, whatever ".." and symbolic
 * links say. A file whose build-id is not the recorded one is never taken. Files are looked for
 *
 *   - in the bundle, which knows each file of its recordings;
 *   - by a recorded build-id: DIR/xx/yyyy/elf and the like below each build-id directory, then, unless the
 * host is not wanted, ~/.debug and /usr/lib/debug;
 *   - by path below each root in order, then on the host; where the recording says which device and inode a
 *     file had, a root whose file has these goes first. The first that has a file of that name decides,
 * whether it fits or not; only a recorded build-id, which no wrong file can have, lets the search go on;
 *   - by ever shorter ends of the path below each root: by build-id, or else only what a loader would have
 *     mapped just so; such a find is told (sb_resolver_doubts());
 *   - by a recorded build-id from debuginfod servers, when these were asked for.
 *
 * A container whose root was given has its files there: others are taken for it only by build-id, or device
 * and inode. [vdso] is ROOT/[vdso] (or ROOT/vdso.so, ROOT/vdso); without one, the vdso of this process when
 * its build-id or size is right is written to a temporary file. Code that a process made itself (map->origin)
 * is where the model says.
 */
#ifndef SB_BINARY_H
#define SB_BINARY_H

#include <stddef.h>
#include <stdint.h>

#include <sb/container.h>
#include <sb/error.h>
#include <sb/replay.h>
#include <sb/system.h>

enum sb_binary_how {
	sb_how_path,
	sb_how_build_id,
	sb_how_inode,
	sb_how_part_of_path, /* and no build-id says that it is the right one */
	sb_how_bundle,
	sb_how_debuginfod,
	sb_how_own_vdso,
	sb_binary_hows
};
sb_export const char *sb_binary_how_name(enum sb_binary_how how); /* "path", "build-id", ... */

/* A resolved mapping: [offset, offset + size) of path stands at map->begin. */
struct sb_binary {
	enum sb_gap_reason missing; /* sb_gap_none: found; else no_binary, binary_mismatch or anonymous */
	char *path;                 /* owned by the resolver, NULL when missing; may be below /proc/self/fd */
	uint64_t offset, size;
	char detail[160]; /* why it is missing: what was recorded and what was found. Found: "", or the doubt
	                   */
	enum sb_binary_how how; /* when it is found */
};

/* A place that stands for "/": one directory, or layers as overlayfs merges them, the uppermost first. */
struct sb_root {
	const char *const *layer;
	size_t nlayers;
	const char *container; /* as sb_container_matches() takes it; NULL: for all who have no root of their
	                          own */
};

struct sb_resolver_options {
	size_t size;                /* sizeof(struct sb_resolver_options) */
	const struct sb_root *root; /* in order */
	size_t nroots;
	int no_host_root;                /* nothing from outside of what is given here */
	const char *const *build_id_dir; /* in order; each holds xx/yyyy... or .build-id/xx/yyyy... */
	size_t nbuild_id_dirs;
	int debuginfod;     /* ask $DEBUGINFOD_URLS */
	const char *bundle; /* a directory that sb_bundle_write() made; NULL: none */
};

struct sb_resolver;

/* Opens what the options name, and copies them. Threads may share a resolver; results are cached. */
sb_export int sb_resolver_open(struct sb_resolver **resolver, const struct sb_resolver_options *options,
                               struct sb_error *err);
/* With directories as roots, and nothing else. */
sb_export int sb_resolver_new(struct sb_resolver **resolver, const char *const *root, size_t nroots,
                              int no_host_root, struct sb_error *err);
sb_export void sb_resolver_free(struct sb_resolver *resolver);

/* What stands behind @map, for a process that has no root of its own. A map that begins at 0, ends at
 * UINT64_MAX and has recorded_size 0 asks for a whole file. The result lives as long as the resolver. */
sb_export int sb_resolver_find(struct sb_resolver *resolver, const struct sb_map *map,
                               const struct sb_binary **binary, struct sb_error *err);

/* The same for a process of a container: its scope is the number of the first root that was given for a name
 * which means the container (sb_container_matches()), 0 when none was. */
sb_export uint32_t sb_resolver_scope(const struct sb_resolver *resolver,
                                     const struct sb_container *container);
sb_export int sb_resolver_find_in(struct sb_resolver *resolver, uint32_t scope, const struct sb_map *map,
                                  const struct sb_binary **binary, struct sb_error *err);

/* The separate debug file of a binary that this resolver found: by build-id (xx/yyyy.debug or xx/yyyy/debug
 * in the build-id directories and below ROOT/usr/lib/debug/.build-id), by .gnu_debuglink with the right
 * checksum (beside it, in .debug/ there, and below ROOT/usr/lib/debug), then from debuginfod. *path is NULL
 * when there is none; it lives as long as the resolver, and may be below /proc/self/fd. Of a binary that was
 * not found, the recorded build-id is looked for, if there is one. */
sb_export int sb_resolver_find_debug(struct sb_resolver *resolver, const struct sb_binary *binary,
                                     const char **path, struct sb_error *err);

/* Files that were taken although nothing but the end of a path and the place of the code speaks for them: one
 * call each, sorted by text. @callback returns zero, or what ends this. */
sb_export int sb_resolver_doubts(struct sb_resolver *resolver,
                                 int (*callback)(void *context, const char *text), void *context);

/* The scope of a mapping: that of the container in which the process was that made it. */
sb_export uint32_t sb_map_scope(const struct sb_resolver *resolver, const struct sb_system *system,
                                const struct sb_map *map);

/* The GNU build-id of an ELF file: its length, 0 when it has none, or a negative code. */
sb_export int sb_elf_build_id(const char *path, uint8_t id[20], struct sb_error *err);

/* What of an ELF file a loader maps as code: [offset, offset + size) is linked for @address on. */
struct sb_elf_code {
	uint64_t offset, size, address;
};

/* Fills at most @room of @code, in the order of the file: how many, or a negative code. @path is opened as it
 * is: it names a file of this machine (struct sb_binary). */
sb_export int sb_elf_code(const char *path, struct sb_elf_code *code, size_t room, struct sb_error *err);

/* The SHA-256 of all bytes of a regular file, in hexadecimal. -sbe_io: it cannot be read, or is none. */
sb_export int sb_file_sha256(const char *path, char text[65], struct sb_error *err);

#endif
