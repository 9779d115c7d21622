/* kernel_modules.h - the code of the modules that a recording names and no kcore has: from their files.
 */
#ifndef SB_KERNEL_MODULES_H
#define SB_KERNEL_MODULES_H

#include <sb/binary.h>
#include <sb/perfdata.h>
#include <sb/system.h>

#include "binary/kernel_bodies.h"
#include "binary/kernel_regions.h"
#include "binary/kernel_state.h"

struct kernel_modules {
	const struct sb_perfdata *perfdata;
	const struct sb_system *system;
	struct sb_resolver *resolver;
	const struct kernel_regions *regions; /* what else is known */
	const char *kallsyms;                 /* NULL: not known */
	const struct kernel_state *state;
};

/* Whether there are modules that nothing else knows. */
int kernel_modules_any(const struct kernel_modules *modules);

/* Zero or a negative code: see kernel_bodies_add(). A file that is not there, or does not fit, is left alone.
 */
int kernel_modules_add(struct kernel_bodies *bodies, const struct kernel_modules *modules);

#endif
