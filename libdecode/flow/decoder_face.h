/* What the block and the instruction decoder have in common: the functions that only pass on to the
 * flow. One macro gives both their public functions, so that they cannot drift apart. */
#ifndef PT_DECODER_FACE_H
#define PT_DECODER_FACE_H

#include <stdlib.h>

#include "flow/flow.h"
#include "packet/config.h"

/* Functions that move the decoder or notify observers are not for use inside a callback. */
static inline int pt_face_may_move(const struct pt_flow *flow)
{
	return !flow->observers.calling;
}

static inline int pt_face_offset(const uint8_t *pos, const struct pt_flow *flow, uint64_t *offset)
{
	if (!flow->start)
		return -pte_nosync;
	*offset = (uint64_t)(pos - flow->evd.config.begin);
	return 0;
}

static inline int pt_face_config(struct pt_config *config, const struct pt_config *user)
{
	return user ? pt_config_from_user(config, user) : -pte_invalid;
}

/* The caller's struct says how much of it there is: its size is not more than that. */
static inline int pt_face_asid(const struct pt_flow *flow, struct pt_asid *asid, size_t size)
{
	struct pt_asid known = flow->asid;

	if (size < sizeof(known.size))
		return -pte_invalid;
	if (size < known.size)
		known.size = size;
	pt_copy_to_user(asid, size, &known, sizeof(known));
	return 0;
}

/* Says enum pt_flow_flag in the bits of @to, a struct pt_block or pt_insn, beside what they say. */
#define PT_FACE_SET_FLAG(to, said, flag)                                                                     \
	do {                                                                                                 \
		if ((said)&pt_flow_##flag)                                                                   \
			(to)->flag = 1;                                                                      \
	} while (0)

#define PT_FACE_SET_FLAGS(to, said)                                                                          \
	do {                                                                                                 \
		const uint32_t flags_ = (said);                                                              \
                                                                                                             \
		if (flags_ & pt_flow_entry_flags) {                                                          \
			PT_FACE_SET_FLAG(to, flags_, enabled);                                               \
			PT_FACE_SET_FLAG(to, flags_, resumed);                                               \
			PT_FACE_SET_FLAG(to, flags_, resynced);                                              \
		}                                                                                            \
		if (flags_ > pt_flow_entry_flags) {                                                          \
			PT_FACE_SET_FLAG(to, flags_, disabled);                                              \
			PT_FACE_SET_FLAG(to, flags_, interrupted);                                           \
			PT_FACE_SET_FLAG(to, flags_, stopped);                                               \
			PT_FACE_SET_FLAG(to, flags_, aborted);                                               \
			PT_FACE_SET_FLAG(to, flags_, committed);                                             \
		}                                                                                            \
	} while (0)

/* @prefix: pt_blk or pt_insn; @type: the decoder's struct, whose member `flow` is the flow; @conf: its
 * member of the configuration's flags. Of the face itself: prefix##_init(decoder) and prefix##_fini(decoder)
 * for what it owns; prefix##_reset(decoder) forgets where it is; prefix##_settle(decoder) has the flow stand
 * there; prefix##_now(decoder) is the time there. */
#define PT_DECODER_FACE(prefix, type, conf)                                                                  \
	struct type *prefix##_alloc_decoder(const struct pt_config *user)                                    \
	{                                                                                                    \
		struct pt_config config;                                                                     \
		struct type *decoder;                                                                        \
		int evd_flags, ticks;                                                                        \
                                                                                                             \
		if (pt_face_config(&config, user) < 0)                                                       \
			return NULL;                                                                         \
		evd_flags = pt_evd_flags(config.flags.variant.conf.keep_tcal_on_ovf,                         \
		                         config.flags.variant.conf.enable_iflags_events);                    \
		ticks = config.flags.variant.conf.enable_tick_events;                                        \
		decoder = calloc(1, sizeof(*decoder));                                                       \
		if (decoder && pt_flow_init(&decoder->flow, &config, evd_flags, ticks) < 0) {                \
			free(decoder);                                                                       \
			return NULL;                                                                         \
		}                                                                                            \
		if (decoder)                                                                                 \
			prefix##_init(decoder);                                                              \
		return decoder;                                                                              \
	}                                                                                                    \
                                                                                                             \
	void prefix##_free_decoder(struct type *decoder)                                                     \
	{                                                                                                    \
		if (!decoder)                                                                                \
			return;                                                                              \
		prefix##_fini(decoder);                                                                      \
		pt_flow_fini(&decoder->flow);                                                                \
		free(decoder);                                                                               \
	}                                                                                                    \
                                                                                                             \
	int prefix##_sync_forward(struct type *decoder)                                                      \
	{                                                                                                    \
		if (!decoder || !pt_face_may_move(&decoder->flow))                                           \
			return -pte_invalid;                                                                 \
		prefix##_reset(decoder);                                                                     \
		return pt_flow_sync_forward(&decoder->flow);                                                 \
	}                                                                                                    \
                                                                                                             \
	int prefix##_sync_backward(struct type *decoder)                                                     \
	{                                                                                                    \
		if (!decoder || !pt_face_may_move(&decoder->flow))                                           \
			return -pte_invalid;                                                                 \
		prefix##_reset(decoder);                                                                     \
		return pt_flow_sync_backward(&decoder->flow);                                                \
	}                                                                                                    \
                                                                                                             \
	int prefix##_sync_set(struct type *decoder, uint64_t offset)                                         \
	{                                                                                                    \
		if (!decoder || !pt_face_may_move(&decoder->flow))                                           \
			return -pte_invalid;                                                                 \
		prefix##_reset(decoder);                                                                     \
		return pt_flow_sync_set(&decoder->flow, offset);                                             \
	}                                                                                                    \
                                                                                                             \
	int prefix##_resync(struct type *decoder)                                                            \
	{                                                                                                    \
		if (!decoder || !pt_face_may_move(&decoder->flow))                                           \
			return -pte_invalid;                                                                 \
		prefix##_settle(decoder);                                                                    \
		prefix##_reset(decoder);                                                                     \
		return pt_flow_resync(&decoder->flow);                                                       \
	}                                                                                                    \
                                                                                                             \
	int prefix##_get_offset(const struct type *decoder, uint64_t *offset)                                \
	{                                                                                                    \
		if (!decoder || !offset)                                                                     \
			return -pte_invalid;                                                                 \
		prefix##_settle((struct type *)(uintptr_t)decoder);                                          \
		return pt_face_offset(pt_flow_pos(&decoder->flow), &decoder->flow, offset);                  \
	}                                                                                                    \
                                                                                                             \
	int prefix##_get_sync_offset(const struct type *decoder, uint64_t *offset)                           \
	{                                                                                                    \
		if (!decoder || !offset)                                                                     \
			return -pte_invalid;                                                                 \
		return pt_face_offset(decoder->flow.start, &decoder->flow, offset);                          \
	}                                                                                                    \
                                                                                                             \
	struct pt_image *prefix##_get_image(struct type *decoder)                                            \
	{                                                                                                    \
		return decoder ? decoder->flow.image : NULL;                                                 \
	}                                                                                                    \
                                                                                                             \
	int prefix##_set_image(struct type *decoder, struct pt_image *image)                                 \
	{                                                                                                    \
		if (!decoder)                                                                                \
			return -pte_invalid;                                                                 \
		prefix##_settle(decoder);                                                                    \
		return pt_flow_set_image(&decoder->flow, image);                                             \
	}                                                                                                    \
                                                                                                             \
	const struct pt_config *prefix##_get_config(const struct type *decoder)                              \
	{                                                                                                    \
		return decoder ? &decoder->flow.evd.config : NULL;                                           \
	}                                                                                                    \
                                                                                                             \
	int prefix##_time(struct type *decoder, uint64_t *time, uint32_t *lost_mtc, uint32_t *lost_cyc)      \
	{                                                                                                    \
		if (!decoder || !time)                                                                       \
			return -pte_invalid;                                                                 \
		return pt_time_query(prefix##_now(decoder), time, lost_mtc, lost_cyc);                       \
	}                                                                                                    \
                                                                                                             \
	int prefix##_core_bus_ratio(struct type *decoder, uint32_t *cbr)                                     \
	{                                                                                                    \
		if (!decoder || !cbr)                                                                        \
			return -pte_invalid;                                                                 \
		if (!prefix##_now(decoder)->have_cbr)                                                        \
			return -pte_no_cbr;                                                                  \
		*cbr = prefix##_now(decoder)->cbr;                                                           \
		return 0;                                                                                    \
	}                                                                                                    \
                                                                                                             \
	int prefix##_asid(const struct type *decoder, struct pt_asid *asid, size_t size)                     \
	{                                                                                                    \
		if (!decoder || !asid)                                                                       \
			return -pte_invalid;                                                                 \
		return pt_face_asid(&decoder->flow, asid, size);                                             \
	}                                                                                                    \
                                                                                                             \
	int prefix##_attach_obsv(struct type *decoder, struct pt_observer *obsv)                             \
	{                                                                                                    \
		if (!decoder)                                                                                \
			return -pte_invalid;                                                                 \
		prefix##_settle(decoder);                                                                    \
		return pt_flow_attach(&decoder->flow, obsv);                                                 \
	}

#endif
