/* sb/symbols.h - from an address that was executed to the function that it is in.
 *
 * Names come from ELF files (.symtab, .dynsym, procedure linkage tables, separate debug files and
 * .gnu_debugdata), from jitdumps, from /proc/kallsyms as it was recorded, from vmlinux and modules, from
 * /tmp/perf-PID.map, and from ranges that were announced while the trace was recorded: KSYMBOL records.
 *
 * Each source is read when an address in it is first asked for, and only once, whoever maps it. Of several
 * symbols at one address a function is taken before a mere label, global before weak before local, then the
 * shortest name, then the first by alphabet. Of overlapping symbols the one that begins last; a symbol
 * without a size ends where the next one begins, and yields to what has a size.
 */
#ifndef SB_SYMBOLS_H
#define SB_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include <sb/binary.h>
#include <sb/error.h>
#include <sb/perfdata.h>
#include <sb/system.h>

/* What is known of an address. Strings belong to the sb_symbols and last as long as it does. They come from
 * files and recordings: they may hold any byte but zero. */
struct sb_symbol {
	const char *name;    /* demangled, unless that was not wanted; NULL: not known */
	const char *mangled; /* as the source has it; NULL: not known */
	const char
	        *dso; /* what was mapped there, as recorded, "[kernel.kallsyms]", "[MODULE]"; NULL: nothing */
	uint64_t begin; /* the address of the symbol's first byte; 0 without a name */
	/* The answer is the same for all addresses and times (perf clock, ns) in these, ends exclusive;
	 * UINT64_MAX is the end of all. The asked address and time are inside. */
	uint64_t low, high;
	uint64_t from, to;
};

struct sb_symbols;

struct sb_symbols_options {
	size_t size; /* sizeof(struct sb_symbols_options) */
	int no_demangle;
	/* A copy of the kernel's memory that files of modules are held against; NULL: the recording's own. */
	const char *kcore;
};

/* @resolver finds the files, and their separate debug files, and must outlive the result. Threads may share
 * an sb_symbols. */
sb_export int sb_symbols_new(struct sb_symbols **symbols, struct sb_resolver *resolver,
                             const struct sb_symbols_options *options, struct sb_error *err);
sb_export void sb_symbols_free(struct sb_symbols *symbols); /* NULL is fine */

/* Where an instruction was executed. */
struct sb_symbols_place {
	const struct sb_epoch *epoch; /* user space's mappings; NULL: not known */
	int32_t pid;                  /* -1: not known */
	uint64_t ip;   /* in the upper half of addresses it is the kernel's, whatever the epoch */
	uint64_t time; /* perf clock, ns */
};

/* Zero: *symbol is filled, as far as something is known. What cannot be read is not known, and is no error;
 * -sbe_nomem, -sbe_invalid. */
sb_export int sb_symbols_find(struct sb_symbols *symbols, const struct sb_symbols_place *place,
                              struct sb_symbol *symbol, struct sb_error *err);

/* The same for a file by itself, which @path names on this machine; addresses in *symbol are of the same kind
 * as
 * @address. */
enum sb_symbols_address {
	sb_address_linked, /* as the file was linked: what nm(1) prints */
	sb_address_offset  /* in the file */
};
sb_export int sb_symbols_find_in_file(struct sb_symbols *symbols, const char *path, uint64_t address,
                                      enum sb_symbols_address kind, struct sb_symbol *symbol,
                                      struct sb_error *err);

/* ---- Sources ---------------------------------------------------------------------------------- */

/* What a recording brings along: its kcore_dir/kallsyms, beside it or in the resolver's bundle, its KSYMBOL
 * records, which @system has, and the BPF programs that it has the code of. Modules that it names and
 * kallsyms does not have, whatever is added as such, have the names of their files, laid out as the kernel
 * does it: but only where the recorded build-id, or the kernel's memory in kcore, says that it is this file.
 * From then on, a container's processes have the names of that container's files: @system must last as long
 * as addresses of user space are asked for. A kallsyms file that cannot be used is an error; nothing to add
 * is none. */
sb_export int sb_symbols_add_recording(struct sb_symbols *symbols, const struct sb_perfdata *perfdata,
                                       const struct sb_system *system, struct sb_error *err);

/* A copy of /proc/kallsyms, in place of one that was added before. -sbe_format: it is none; -sbe_unsupported:
 * all its addresses are zero, as the kernel gives it to who may not see them (kptr_restrict). */
sb_export int sb_symbols_add_kallsyms(struct sb_symbols *symbols, const char *path, struct sb_error *err);

/* A vmlinux, whose code ran @offset bytes above the addresses that it was linked for (KASLR). */
sb_export int sb_symbols_add_vmlinux(struct sb_symbols *symbols, const char *path, uint64_t offset,
                                     struct sb_error *err);

/* A kernel module NAME.ko whose code was loaded at @base, as /proc/modules says it: its executable sections
 * follow each other from there on as the kernel lays them out; what is dropped after initialisation is not
 * among them. @name is the module's, as in "[name]". */
sb_export int sb_symbols_add_module(struct sb_symbols *symbols, const char *path, const char *name,
                                    uint64_t base, struct sb_error *err);

/* Code that got a name while the trace was recorded. From @from on, nothing that was announced before is at
 * [begin, end) any more. */
struct sb_symbol_range {
	int32_t pid; /* -1: the kernel */
	uint64_t begin, end;
	uint64_t from, to; /* perf clock, ns; UINT64_MAX: for good */
	const char *name;  /* copied; NULL: nothing is there any more */
	const char *dso;   /* copied; NULL: what is mapped there */
};

/* In any order; of equal times, what is added later holds. Ranges win over all other sources. */
sb_export int sb_symbols_add_range(struct sb_symbols *symbols, const struct sb_symbol_range *range,
                                   struct sb_error *err);

/* ---- Names ------------------------------------------------------------------------------------ */

/* Writes the readable form of a C++ (Itanium ABI) or Rust (v0 and legacy) name to @buffer, NUL-terminated:
 * returns its length, or zero when @name is not mangled, or its readable form takes too much (more than
 * @size, deep recursion, exponential growth), and *buffer is then untouched or holds nothing of use. At least
 * 2 MiB of stack should be free. */
sb_export size_t sb_demangle(const char *name, char *buffer, size_t size);

#endif
