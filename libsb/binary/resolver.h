/* resolver.h - what a resolver is made of; see sb/binary.h for what it does. */
#ifndef SB_RESOLVER_H
#define SB_RESOLVER_H

#include <pthread.h>
#include <sb/binary.h>

#include "binary/answer.h"
#include "binary/build_id_dir.h"
#include "binary/root.h"
#include "binary/vdso.h"

struct bundle_index;
struct debuginfod;

/* When the recording was made whose mappings will be asked for. */
struct recorded {
	uint64_t until;       /* it had been written, ns since 1970; UINT64_MAX: not known */
	uint64_t first, last; /* of its records' times that are known, ns of perf's clock; 0: none */
};

struct sb_resolver {
	struct root *root; /* owned; the host comes last unless it is not allowed */
	size_t nroots;
	int has_scopes; /* some roots are a container's */
	int host;       /* the last root is the host */
	struct build_id_dir *build_id_dir;
	size_t nbuild_id_dirs;
	struct bundle_index *bundle; /* NULL: none */

	pthread_mutex_t lock; /* for what follows */
	struct debuginfod *debuginfod;
	struct vdso vdso;
	struct recorded recorded;
	struct answer_table answers;
};

/* Fills in an answer that says nothing yet. With the lock. */
void resolve(struct sb_resolver *resolver, struct answer *answer);

/* On which kernel's release the recording was made whose mappings will be asked for; NULL: not known. */
void resolver_recorded_on(struct sb_resolver *resolver, const char *release);

/* When the recording had been written of whose mappings will be asked; UINT64_MAX: not known. */
void resolver_recorded_until(struct sb_resolver *resolver, uint64_t time);

/* The first and the last time of its records, ns of perf's clock: so it is known, with the above, when a
 * mapping was made at the latest. */
void resolver_recorded_from_to(struct sb_resolver *resolver, uint64_t first, uint64_t last);

/* The path of a file that perf record --kcore left with the recording ("kcore", "kallsyms"), or that the
 * bundle has of it; to be freed. NULL: there is none. */
char *kernel_file_recorded(const struct sb_resolver *resolver, const struct sb_perfdata *perfdata,
                           const char *file);

/* The separate debug file of what was found. With the lock. */
void resolve_debug(struct sb_resolver *resolver, struct answer *answer);

/* Whether the root is one of those that hold the scope's own files. */
static inline int root_is_of(const struct sb_resolver *resolver, uint32_t scope, const struct root *root)
{
	return scope ? root == &resolver->root[scope - 1] : !root->container;
}

#endif
