/* kernel_patches.h - what changes the kernel's code while a recording runs, by address and time.
 *
 * Two kinds of things do: patches of a few bytes (TEXT_POKE), and whole bodies of code that come and go: BPF
 * programs, modules. Addresses that any of them touches are divided into intervals, each with the list of the
 * patches that touch it. Small patches that overlap share an interval, which nothing else divides.
 */
#ifndef SB_KERNEL_PATCHES_H
#define SB_KERNEL_PATCHES_H

#include <stddef.h>
#include <stdint.h>

#include <sb/kernel.h>

/* Code that is in the kernel from @from on, until @to (UINT64_MAX: for good). What else is said about these
 * addresses does not hold before and behind. @bytes NULL: nobody knows what is there. */
struct kernel_body {
	uint64_t from, to;
	uint64_t begin, size;
	const uint8_t *bytes;
};

/* At @time the first @new_size bytes from @begin become @new_bytes; before, the first @old_size were
 * @old_bytes. A size of zero: nothing that is known. */
struct kernel_patch {
	uint64_t time; /* first: sorted by it */
	uint64_t begin, end;
	const uint8_t *old_bytes, *new_bytes;
	uint64_t old_size, new_size;
	int is_poke; /* of a TEXT_POKE record, not a body */
};

struct kernel_interval {
	uint64_t begin, end;
	uint64_t first; /* in kernel_patches.of */
	uint64_t npatches;
};

/* All arrays are owned; bytes are not. */
struct kernel_patches {
	struct kernel_patch *patch;
	size_t npatches;
	struct kernel_interval *interval; /* sorted; none is without patches */
	size_t nintervals;
	const struct kernel_patch **of; /* of the intervals, in time */
};

/* Zero; -sbe_nomem; -sbe_unsupported: they lie so much over each other that the lists would be huge. */
int kernel_patches_init(struct kernel_patches *patches, const struct sb_text_poke *poke, size_t npokes,
                        const struct kernel_body *body, size_t nbodies);
void kernel_patches_free(struct kernel_patches *patches);

#endif
