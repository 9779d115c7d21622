/* sb/source_lines.h - from an address that was executed to the line of source that it was compiled from.
 *
 * Lines come from the DWARF of ELF files, or of their separate debug files, which the resolver finds. A file
 * is read when an address in it is first asked for, unit by unit, and only once, whoever maps it. Files whose
 * DWARF is partly in another file (dwz(1), .gnu_debugaltlink) have no lines; what the compiler left in
 * .dwo files is not needed.
 */
#ifndef SB_SOURCE_LINES_H
#define SB_SOURCE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include <sb/binary.h>
#include <sb/error.h>
#include <sb/symbols.h>
#include <sb/system.h>

/* A line of source. Strings belong to the sb_source_lines and last as long as it does; equal ones are one
 * pointer. They come from files: they may hold any byte but zero. */
struct sb_source_line {
	const char *file; /* as the compiler was given it, in the directory where it ran; NULL: not known */
	uint32_t line;    /* from 1; 0: the compiler says that it is of no line, or not known */
	uint32_t column;  /* from 1; 0: not known */
	/* The answer is the same for all addresses in [low, high). */
	uint64_t low, high;
};

struct sb_source_lines;

/* @resolver must outlive the result. Threads may share an sb_source_lines. */
sb_export int sb_source_lines_new(struct sb_source_lines **lines, struct sb_resolver *resolver,
                                  struct sb_error *err);
sb_export void sb_source_lines_free(struct sb_source_lines *lines); /* NULL is fine */

/* A vmlinux, whose code ran @shift bytes above the addresses that it was linked for; when it has no DWARF,
 * the resolver looks for its separate debug file. */
sb_export int sb_source_lines_add_vmlinux(struct sb_source_lines *lines, const char *path, uint64_t shift,
                                          struct sb_error *err);

/* The kernel of a recording: its modules, as sb_symbols_add_recording() finds their files, with their
 * separate debug files; and, where no vmlinux was added, the one of the recorded build-id. @system must last
 * as long as lines. @kcore: a copy of the kernel's memory that modules are held against; NULL: the
 * recording's own. */
sb_export int sb_source_lines_add_recording(struct sb_source_lines *lines, const struct sb_perfdata *perfdata,
                                            const struct sb_system *system, const char *kcore,
                                            struct sb_error *err);

/* Zero: *line is filled, as far as something is known; @place's pid and time are not looked at. What cannot
 * be read is not known, and is no error; -sbe_nomem, -sbe_invalid. */
sb_export int sb_source_lines_find(struct sb_source_lines *lines, const struct sb_symbols_place *place,
                                   struct sb_source_line *line, struct sb_error *err);

/* ---- A whole file ----------------------------------------------------------------------------- */

/* As sb_source_lines_find(), at an @address as the file was linked which @map names. */
sb_export int sb_source_lines_find_linked(struct sb_source_lines *lines, const struct sb_map *map,
                                          uint64_t address, struct sb_source_line *line,
                                          struct sb_error *err);

/* A function that has code of its own. */
struct sb_source_function {
	const char *name; /* as the linker knows it */
	const char *file; /* where it is declared; NULL: not known */
	uint32_t line;    /* likewise; 0: not known */
	uint64_t entry;   /* its first instruction */
};

/* Functions return zero, or what ends the walk. Addresses are as the file was linked. NULL: not wanted. */
struct sb_source_walk {
	void *context;
	int (*line)(void *context, const struct sb_source_line *line); /* with a file and a line */
	int (*function)(void *context, const struct sb_source_function *function);
};

/* All that is known of the file which @map names, unit by unit, in each by address. Zero, what ended it, or a
 * negative code; nothing to tell is no error. The callbacks must not ask @lines anything. */
sb_export int sb_source_lines_walk(struct sb_source_lines *lines, const struct sb_map *map,
                                   const struct sb_source_walk *walk, struct sb_error *err);

/* Of the kernel and its modules, those units - sources as they are compiled - that have code at one of @ip:
 * addresses are those where it ran. */
sb_export int sb_source_lines_walk_kernel(struct sb_source_lines *lines, const uint64_t *ip, size_t count,
                                          const struct sb_source_walk *walk, struct sb_error *err);

#endif
