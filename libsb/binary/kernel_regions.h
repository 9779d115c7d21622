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

/* [begin, end) holds what the file has from @offset on. */
struct kernel_region {
	uint64_t begin, end, offset;
};

struct kernel_regions {
	struct kernel_region *region; /* owned; sorted, without overlaps */
	size_t count;
};

/* Those of a kcore file's, or of a vmlinux' executable, LOAD segments in the upper half of the address space,
 * each moved by @shift. @fd: the file, which is plain; @name: what it was named. Zero or a negative code. */
int kernel_regions_read(struct kernel_regions *regions, int fd, const char *name, uint64_t shift,
                        struct sb_error *err);
void kernel_regions_free(struct kernel_regions *regions);

/* The address of a symbol, or of a section, of an ELF file, which may be compressed; zero: it has none, or
 * cannot be read. */
uint64_t elf_symbol_address(const char *path, const char *name);
uint64_t elf_section_address(const char *path, const char *name);

#endif
