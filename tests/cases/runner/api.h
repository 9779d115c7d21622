/* The library's functions as a table, so that the same case runs on ours and on another libipt. */
#ifndef CASE_API_H
#define CASE_API_H

#include <intel-pt.h>

#define CASE_FACE(X, prefix)                                                                                 \
	X(prefix##_alloc_decoder)                                                                            \
	X(prefix##_free_decoder)                                                                             \
	X(prefix##_sync_forward)                                                                             \
	X(prefix##_sync_backward)                                                                            \
	X(prefix##_sync_set)                                                                                 \
	X(prefix##_get_offset)                                                                               \
	X(prefix##_next)

#define CASE_FLOW_FACE(X, prefix)                                                                            \
	CASE_FACE(X, prefix)                                                                                 \
	X(prefix##_event)                                                                                    \
	X(prefix##_set_image)                                                                                \
	X(prefix##_time)                                                                                     \
	X(prefix##_asid)

#define CASE_QUERY_FACE(X)                                                                                   \
	X(pt_qry_alloc_decoder)                                                                              \
	X(pt_qry_free_decoder)                                                                               \
	X(pt_qry_sync_forward)                                                                               \
	X(pt_qry_sync_backward)                                                                              \
	X(pt_qry_sync_set)                                                                                   \
	X(pt_qry_get_offset)                                                                                 \
	X(pt_qry_cond_branch)                                                                                \
	X(pt_qry_indirect_branch)                                                                            \
	X(pt_qry_event)                                                                                      \
	X(pt_qry_time)

#define CASE_API(X)                                                                                          \
	CASE_FACE(X, pt_pkt)                                                                                 \
	CASE_QUERY_FACE(X)                                                                                   \
	CASE_FLOW_FACE(X, pt_insn)                                                                           \
	CASE_FLOW_FACE(X, pt_blk)                                                                            \
	X(pt_image_alloc)                                                                                    \
	X(pt_image_free)                                                                                     \
	X(pt_image_add_file)                                                                                 \
	X(pt_image_add_cached)                                                                               \
	X(pt_image_set_callback)                                                                             \
	X(pt_iscache_alloc)                                                                                  \
	X(pt_iscache_free)                                                                                   \
	X(pt_iscache_add_file)

/* What libipt 2.0.5 has not. */
#define CASE_NEWER_API(X)                                                                                    \
	CASE_FACE(X, pt_evt)                                                                                 \
	X(pt_insn_resync)                                                                                    \
	X(pt_blk_resync)

#define CASE_MEMBER(function) __typeof__(&function) function;
struct api {
	CASE_API(CASE_MEMBER)
	CASE_NEWER_API(CASE_MEMBER) /* may be NULL */
};
#undef CASE_MEMBER

/* Ours. */
extern const struct api api_ours;

/* Debian's libipt, or what the environment's CASE_LIBIPT names. -1: there is none. */
int api_debian(struct api *api);

#endif
