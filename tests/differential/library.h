/* The functions of one loaded libipt, as the intel-pt.h in use declares them. */
#ifndef DIFF_LIBRARY_H
#define DIFF_LIBRARY_H

#include <intel-pt.h>

#define LIBRARY_FACE(X, face)                                                                                \
	X(pt_##face##_alloc_decoder)                                                                         \
	X(pt_##face##_free_decoder)                                                                          \
	X(pt_##face##_sync_forward)                                                                          \
	X(pt_##face##_sync_backward)                                                                         \
	X(pt_##face##_sync_set)                                                                              \
	X(pt_##face##_get_offset)                                                                            \
	X(pt_##face##_get_sync_offset)

#define LIBRARY_FLOW(X, face)                                                                                \
	LIBRARY_FACE(X, face)                                                                                \
	X(pt_##face##_get_image)                                                                             \
	X(pt_##face##_time)                                                                                  \
	X(pt_##face##_core_bus_ratio)                                                                        \
	X(pt_##face##_asid)                                                                                  \
	X(pt_##face##_next)                                                                                  \
	X(pt_##face##_event)

#define LIBRARY_FUNCTIONS(X)                                                                                 \
	X(pt_cpu_errata)                                                                                     \
	X(pt_iscache_alloc)                                                                                  \
	X(pt_iscache_free)                                                                                   \
	X(pt_iscache_set_limit)                                                                              \
	X(pt_iscache_add_file)                                                                               \
	X(pt_image_add_cached)                                                                               \
	LIBRARY_FACE(X, pkt)                                                                                 \
	X(pt_pkt_next)                                                                                       \
	LIBRARY_FACE(X, qry)                                                                                 \
	X(pt_qry_cond_branch)                                                                                \
	X(pt_qry_indirect_branch)                                                                            \
	X(pt_qry_event)                                                                                      \
	X(pt_qry_time)                                                                                       \
	X(pt_qry_core_bus_ratio)                                                                             \
	LIBRARY_FLOW(X, insn)                                                                                \
	LIBRARY_FLOW(X, blk)

struct library {
	void *handle;
#define LIBRARY_MEMBER(name) __typeof__(&(name)) name;
	LIBRARY_FUNCTIONS(LIBRARY_MEMBER)
#undef LIBRARY_MEMBER
};

#endif
