/* intel-pt-run.h - whole runs of basic blocks per call.
 *
 * An addition to libipt's interface: where pt_blk_next() hands out one block per branch of the
 * trace, pt_blk_run() hands out all basic blocks up to the next point at which something else
 * happened (an event, a change of time, the end of the trace). Blocks are contiguous in memory and
 * come with the length of each of their instructions, so that a caller can list instructions
 * without reading code.
 *
 * A decoder may be driven by pt_blk_run() or by pt_blk_next(); the two may be mixed.
 */
#ifndef INTEL_PT_RUN_H
#define INTEL_PT_RUN_H

#include <intel-pt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A basic block: instructions that stand and ran one after the other. */
struct pt_run_block {
	uint64_t ip;     /* address of the first instruction */
	uint64_t end_ip; /* address of the last instruction */
	/* The length in bytes of each of the ninsn instructions. Owned by the library; valid until the
	 * next call that moves the decoder, and not longer than the image stays unchanged. */
	const uint8_t *length;
	uint16_t ninsn; /* > 0 */
	uint8_t mode;   /* enum pt_exec_mode */
	uint8_t iclass; /* enum pt_insn_class of the last instruction */
	uint32_t flags; /* enum pt_run_flag */
};

enum pt_run_flag {
	ptrf_speculative = 1 << 0, /* ran inside a transaction */
	/* Behind the last packet: needs no trace, and so ran unless something came first that was not
	 * recorded any more. Such blocks come last. */
	ptrf_unproven = 1 << 1,
};

struct pt_run {
	const struct pt_run_block *block; /* owned by the decoder, valid until its next call */
	uint32_t nblocks;
	uint32_t reserved;
	uint64_t ninsn; /* the sum over all blocks */
	/* The time of the run, as pt_blk_time() would have given it before the first of its blocks:
	 * a time stamp count, and the estimates lost since. has_tsc is zero before the first TSC. */
	uint64_t tsc;
	uint32_t lost_mtc;
	uint32_t lost_cyc;
	uint32_t has_tsc;
	uint32_t pad;
};

/* Decodes the next run into *run; @size is sizeof(struct pt_run).
 *
 * Returns zero or a vector of pt_status_flag bits: with pts_event_pending, events follow the last
 * block and must be fetched with pt_blk_event() before the next call; with pts_eos, the trace ended.
 * A run may be empty (nblocks zero) when only events are pending.
 * On an error (negative pt_error_code) *run holds the blocks that were decoded before it; the
 * decoder must be synchronised again, except after -pte_eos, which is final.
 */
extern pt_export int pt_blk_run(struct pt_block_decoder *decoder, struct pt_run *run, size_t size);

/* PSBs as offsets into the buffer: in *passed the last one whose place the flow has come to, in *read the
 * last one that was read, which may be ahead of it. A run ends where it comes to a PSB.
 * (pt_blk_get_sync_offset() stays at the PSB where the decoder was synchronised.) Zero; -pte_nosync: there
 * was no attempt to synchronise yet. */
extern pt_export int pt_blk_get_psb_offset(const struct pt_block_decoder *decoder, uint64_t *passed,
                                           uint64_t *read);

#ifdef __cplusplus
}
#endif

#endif /* INTEL_PT_RUN_H */
