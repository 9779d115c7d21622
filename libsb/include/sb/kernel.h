/* sb/kernel.h - what the sideband says about the kernel's code: what is mapped where, and how it changed.
 *
 * Part of the system model (sb/system.h): immutable, asked by any number of threads. All times are perf
 * clock, ns; zero for what perf made up at the start.
 */
#ifndef SB_KERNEL_H
#define SB_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include <sb/export.h>

struct sb_system;

/* A mapping of the kernel or of a module, from MMAP records: "[kernel.kallsyms]_text", "[loop]". */
struct sb_kernel_map {
	uint64_t time;
	uint64_t begin, end; /* end exclusive */
	uint64_t pgoff;
	const char *name; /* owned by the system */
};

/* TEXT_POKE: [addr, addr + old_len) held the old bytes, [addr, addr + new_len) holds the new ones. Either
 * length may be zero: there was nothing, or there is nothing any more. The bytes are the recording's. */
struct sb_text_poke {
	uint64_t time;
	uint64_t addr;
	const uint8_t *old_bytes, *new_bytes;
	uint16_t old_len, new_len;
};

/* KSYMBOL: code that the kernel makes while it runs - BPF programs, trampolines - from registering to
 * unregistering. */
struct sb_kernel_symbol {
	uint64_t from, to;
	uint64_t begin, end; /* end exclusive */
	const char *name;    /* owned by the system */
	uint16_t type;       /* PERF_RECORD_KSYMBOL_TYPE_* */
};

/* BPF_EVENT: a BPF program from loading to unloading. */
struct sb_bpf_program {
	uint64_t from, to;
	uint32_t id;
	uint8_t tag[8];
};

/* All are sorted by time. */
sb_export const struct sb_kernel_map *sb_system_kernel_maps(const struct sb_system *system, size_t *count);
/* Where the kernel stood less where the file @vmlinux is linked to (KASLR); 0 when no mapping says it. */
sb_export uint64_t sb_system_kernel_shift(const struct sb_system *system, const char *vmlinux);
sb_export const struct sb_text_poke *sb_system_text_pokes(const struct sb_system *system, size_t *count);
sb_export const struct sb_kernel_symbol *sb_system_kernel_symbols(const struct sb_system *system,
                                                                  size_t *count);
sb_export const struct sb_bpf_program *sb_system_bpf_programs(const struct sb_system *system, size_t *count);

#endif
