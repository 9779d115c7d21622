/* kernel_regions.h - from files to what stands where in the kernel: kcore, vmlinux.
 *
 * kcore (proc(5), /proc/kcore, and the copy that perf record --kcore makes): a core file, whose LOAD segments
 * are the kernel's memory as it was. vmlinux: the kernel as it was built; what was patched at boot differs,
 * and so does where it stands (KASLR).
 */
#ifndef SB_KERNEL_REGIONS_H
#define SB_KERNEL_REGIONS_H

#include <stddef.h>
#include <stdint.h>

#include <sb/error.h>

enum { KALLSYMS_MOST = 128 << 20 }; /* bytes of a kallsyms file that is read */

/* [begin, end) holds what the file has from @offset on. */
struct kernel_region {
	uint64_t begin, end, offset;
};

struct kernel_regions {
	struct kernel_region *region; /* owned; sorted, without overlaps */
	size_t count;
};

/* Those of a kcore file's, or of a vmlinux' executable, LOAD segments in the upper half of the address space,
 * each moved by @shift. Zero or a negative code. */
int kernel_regions_read(struct kernel_regions *regions, const char *path, uint64_t shift,
                        struct sb_error *err);
void kernel_regions_free(struct kernel_regions *regions);

/* The address of a symbol of an ELF file; zero: it has none, or cannot be read. */
uint64_t elf_symbol_address(const char *path, const char *name);

/* The address of the first symbol of the list @names (NULL ends it) that the file has: zero when it has none,
 * or says no addresses. kallsyms: lines of address, type, name, and module: proc(5). */
uint64_t kallsyms_find(const char *path, const char *const *names);

#endif
