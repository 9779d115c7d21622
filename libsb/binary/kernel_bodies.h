/* kernel_bodies.h - a list of code that comes and goes, for kernel_text.h, with the memory that it stands in.
 */
#ifndef SB_KERNEL_BODIES_H
#define SB_KERNEL_BODIES_H

#include "binary/kernel_code.h"
#include "binary/kernel_patches.h"

/* All is owned, but bytes that are not those of .code. */
struct kernel_bodies {
	struct kernel_body *body;
	size_t count, capacity;
	struct kernel_code *code;
	size_t ncodes, code_capacity;
};

/* Zero; -sbe_nomem; -sbe_unsupported: there are millions. */
int kernel_bodies_add(struct kernel_bodies *bodies, const struct kernel_body *body);
/* @code, of which only a part may be known, from @from on for good; takes it, also on failure. */
int kernel_bodies_add_code(struct kernel_bodies *bodies, uint64_t from, struct kernel_code *code);
void kernel_bodies_free(struct kernel_bodies *bodies);

#endif
