/* library.h - the functions of one loaded libipt: Debian's, and ours beside it in the same process.
 *
 * Both export the same names. They are loaded with RTLD_LOCAL and called through tables, and nothing of the
 * benchmark itself exports such a name, so that each library calls only itself.
 */
#ifndef BENCH_LIBRARY_H
#define BENCH_LIBRARY_H

#include <intel-pt.h>
#include <intel-pt-run.h>

#define LIBRARY_FACE(X, face)                                                                                \
	X(pt_##face##_alloc_decoder)                                                                         \
	X(pt_##face##_free_decoder)                                                                          \
	X(pt_##face##_sync_forward)                                                                          \
	X(pt_##face##_sync_set)                                                                              \
	X(pt_##face##_next)

#define LIBRARY_FUNCTIONS(X)                                                                                 \
	X(pt_library_version)                                                                                \
	X(pt_cpu_errata)                                                                                     \
	X(pt_iscache_alloc)                                                                                  \
	X(pt_iscache_free)                                                                                   \
	X(pt_iscache_set_limit)                                                                              \
	X(pt_iscache_add_file)                                                                               \
	X(pt_image_alloc)                                                                                    \
	X(pt_image_free)                                                                                     \
	X(pt_image_add_cached)                                                                               \
	LIBRARY_FACE(X, pkt)                                                                                 \
	LIBRARY_FACE(X, insn)                                                                                \
	X(pt_insn_set_image)                                                                                 \
	X(pt_insn_event)                                                                                     \
	LIBRARY_FACE(X, blk)                                                                                 \
	X(pt_blk_set_image)                                                                                  \
	X(pt_blk_event)

struct library {
	char name[32];     /* "libipt 2.0.5", "ours" */
	size_t event_size; /* of its struct pt_event, which grew after 2.0 */
	void *handle;
	__typeof__(&pt_blk_run) pt_blk_run; /* NULL: has none */
	__typeof__(&pt_blk_set_run_events) pt_blk_set_run_events;
	__typeof__(&pt_blk_set_run_last_time) pt_blk_set_run_last_time;
#define LIBRARY_MEMBER(function) __typeof__(&(function)) function;
	LIBRARY_FUNCTIONS(LIBRARY_MEMBER)
#undef LIBRARY_MEMBER
};

/* Zero, or -1 with a message on stderr. */
int library_load(struct library *library, const char *path, int ours);

#endif
