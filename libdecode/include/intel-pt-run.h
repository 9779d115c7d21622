/* intel-pt-run.h - whole runs of basic blocks per call.
 *
 * An addition to libipt's interface: where pt_blk_next() hands out one block per branch of the
 * trace, pt_blk_run() hands out all basic blocks up to the next point at which something else
 * happened (an event, a change of time, the end of the trace).
 *
 * Blocks come in paths. A path is what a few packets of trace made of the code from some place on: basic
 * blocks in order of execution. Ways that execution takes again and again are found in a cache, the run
 * cache, and handed out as the same path: whoever counts need not look at its blocks each time.
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
	uint64_t ip;           /* address of the first instruction */
	uint64_t end_ip;       /* address of the last instruction */
	const uint8_t *length; /* in bytes, of each of the ninsn instructions; lives as long as the block */
	uint16_t ninsn;        /* > 0 */
	uint8_t mode;          /* enum pt_exec_mode */
	uint8_t iclass;        /* enum pt_insn_class of the last instruction */
	uint32_t flags;        /* enum pt_run_block_flag */
};

enum pt_run_block_flag {
	ptrf_speculative = 1 << 0, /* ran inside a transaction */
	/* Behind the last packet: needs no trace, and so ran unless something came first that was not
	 * recorded any more. Such blocks come last. */
	ptrf_unproven = 1 << 1,
};

/* What stands for no number in struct pt_run_path. */
#define ptr_no_id UINT32_MAX

/* Basic blocks in order of execution. */
struct pt_run_path {
	const struct pt_run_block *block;
	uint32_t nblocks; /* > 0 */
	uint32_t ninsn;   /* the sum over all blocks */
	/* The path's number: a path with a number is the same one whenever it comes again, and stays valid
	 * until a run says ptrf_last_of_paths; numbers count from zero and are below ptr_max_paths. Two
	 * paths may hold the same blocks. It comes with any image and in any address space in which the same
	 * sections stand at its blocks' addresses: a kernel's paths in all processes. ptr_no_id: the path is
	 * valid until the decoder's next call. */
	uint32_t id;
	uint32_t reserved;
};

enum { ptr_max_paths = 1 << 16 };

/* An event among the paths of a run. */
struct pt_run_event {
	uint32_t path; /* how many of the run's paths come before it */
	uint32_t reserved;
	struct pt_event event;
};

/* Time goes on inside of a run: from here on it is this, as pt_blk_time() tells it. */
struct pt_run_time {
	uint32_t path; /* how many of the run's paths come before */
	uint32_t lost_mtc;
	uint32_t lost_cyc;
	uint32_t has_tsc;
	uint64_t tsc;
};

enum pt_run_flag {
	/* The run cache is full: with the decoder's next call all paths so far become invalid, and numbers
	 * begin with zero again. */
	ptrf_last_of_paths = 1 << 0,
};

struct pt_run {
	const struct pt_run_path *const *path; /* owned by the decoder, valid until its next call */
	const struct pt_run_event *event;      /* the same; only with pt_blk_set_run_events() */
	uint32_t npaths, nevents;
	uint32_t nblocks; /* the sum over all paths */
	uint32_t flags;   /* enum pt_run_flag */
	uint64_t ninsn;   /* the sum over all paths */
	/* The time of the run, as pt_blk_time() would have given it before the first of its blocks:
	 * a time stamp count, and the estimates lost since. has_tsc is zero before the first TSC. Of a run
	 * without blocks, it is not later than that of the events that follow. */
	uint64_t tsc;
	uint32_t lost_mtc;
	uint32_t lost_cyc;
	uint32_t has_tsc;
	uint32_t ntimes;
	/* As event; later times inside of the run, in order, or with pt_blk_set_run_last_time() the last one.
	 */
	const struct pt_run_time *time;
	/* With pt_blk_set_run_counts(): the address of the run's last instruction; zero: it has none. */
	uint64_t end_ip;
};

/* Decodes the next run into *run; @size is sizeof(struct pt_run).
 *
 * Returns zero or a vector of pt_status_flag bits: with pts_event_pending, events follow the last
 * block and must be fetched with pt_blk_event() before the next call; with pts_eos, the trace ended
 * (that it did may also come to light with the next call).
 * A run ends where time changes (unless events are inside) or an observer was called, and may be empty.
 * On an error (negative pt_error_code) *run holds the blocks that were decoded before it; the
 * decoder must be synchronised again, except after -pte_eos, which is final, and see pt_blk_retry().
 */
extern pt_export int pt_blk_run(struct pt_block_decoder *decoder, struct pt_run *run, size_t size);

/* @inside not zero: events and changes of time come inside of runs, in their places among the paths (struct
 * pt_run_event, struct pt_run_time), and pt_blk_event() need not be called: pts_event_pending then says that
 * the next run begins with an event, unless it is fetched. Those that synchronising brought are the first
 * run's, likewise. Zero: as it is at first, a run ends before each event. Returns zero, or -pte_invalid. */
extern pt_export int pt_blk_set_run_events(struct pt_block_decoder *decoder, int inside);

/* @last not zero: of the changes of time inside of a run, time[] has only the last one, and its path is where
 * it came or that of a later packet about time that changed nothing. Times of runs and events are the same as
 * without; where CYC packets are frequent, this is faster. Zero: as it is at first, each of them. Returns
 * zero, or -pte_invalid. */
extern pt_export int pt_blk_set_run_last_time(struct pt_block_decoder *decoder, int last);

/* @counts not zero: nobody wants to know of blocks but how many there are. Runs have no paths then, but
 * nblocks, ninsn and end_ip, which leave out what ptrf_unproven says of; events do not come inside. With
 * pt_blk_set_run_events(), time goes on inside of a run as long as it does not go back, and of changes there,
 * time[] has the last one. Counting is much faster. Zero: as it is at first. Returns zero, or -pte_invalid.
 */
extern pt_export int pt_blk_set_run_counts(struct pt_block_decoder *decoder, int counts);

/* Execution comes to @ip, which is in the other half of the address space: with bit 63 set, as the addresses
 * of operating systems' kernels have it, and before it was without, or the other way round; or it comes into
 * a virtual machine or back out of it; or @ip is the first address behind a PSB, where nobody says what was
 * before. Nothing was read at @ip yet: the callback
 * may exchange the image (pt_blk_set_image()), and is bound to what struct pt_observer says of callbacks.
 * Zero, or a negative pt_error_code, which the decoder's function returns. */
typedef int(pt_crossing_callback_t)(void *context, uint64_t ip);

/* Sets the one that is called; NULL: none. A run ends before a crossing. pt_blk_next() does not use its run
 * cache while there is one. All numbered paths so far become invalid. Not to be called inside of callbacks.
 * Zero, or -pte_invalid. */
extern pt_export int pt_blk_set_crossing(struct pt_block_decoder *decoder, pt_crossing_callback_t *callback,
                                         void *context);

/* Gives the decoder another buffer, [@begin, @end), in place of the one in its configuration. It must be
 * synchronised anew; image, observers and whatever it has learnt of the code stay. The memory belongs to the
 * caller and must stay as long as the decoder uses it. Zero, or -pte_invalid. */
extern pt_export int pt_blk_set_buffer(struct pt_block_decoder *decoder, const uint8_t *begin,
                                       const uint8_t *end);

/* PSBs as offsets into the buffer: in *passed the last one whose place the flow has come to, in *read the
 * last one that was read, which may be ahead of it. A run ends where it comes to a PSB.
 * (pt_blk_get_sync_offset() stays at the PSB where the decoder was synchronised.) Zero; -pte_nosync: there
 * was no attempt to synchronise yet. */
extern pt_export int pt_blk_get_psb_offset(const struct pt_block_decoder *decoder, uint64_t *passed,
                                           uint64_t *read);

/* The last address that the trace itself named and to which pt_blk_run() came: the target of a TIP, or where
 * tracing was enabled; zero before the first. Where decoding fails at this very address, the way to it was
 * right. Zero, or -pte_invalid. */
extern pt_export int pt_blk_get_named_ip(const struct pt_block_decoder *decoder, uint64_t *ip);

/* Whether the code that is executed is that of a virtual machine (VMX non-root operation), as PIP packets
 * tell: 1, 0, also as long as there was none since the decoder was synchronised, or -pte_invalid. May be
 * asked in callbacks, too. */
extern pt_export int pt_blk_is_non_root(const struct pt_block_decoder *decoder);

/* How late it may be where pt_blk_time() tells the time of the last timing packet: in *tsc the time of the
 * MTC packet that comes next, which has not come yet. Zero; -pte_no_time: that is not known, as without MTC
 * packets, or behind an overflow; -pte_invalid. May be asked in callbacks, too. */
extern pt_export int pt_blk_time_bound(const struct pt_block_decoder *decoder, uint64_t *tsc);

/* As pt_blk_resync(), but goes on only at an address that does not depend on any packet before it: one that a
 * packet holds as a whole, or a PSB. So whatever led to the error does not mislead what follows. */
extern pt_export int pt_blk_resync_whole(struct pt_block_decoder *decoder);

/* pt_blk_run() failed with -pte_nomap, and now the image has code there: goes on where it failed, as if it
 * had been there all the time. The decoder must not have been synchronised or moved since. Returns status
 * bits, or -pte_invalid. */
extern pt_export int pt_blk_retry(struct pt_block_decoder *decoder);

/* What a decoder has come to know of the trace and goes on by: a copy, without the code and who observes.
 * NULL: no memory, or no decoder. */
struct pt_run_state;
extern pt_export struct pt_run_state *pt_blk_save_state(const struct pt_block_decoder *decoder);
extern pt_export void pt_run_state_free(struct pt_run_state *state);

/* Whether pt_blk_run() will go on with @decoder as with the one that @state is a copy of: both read the same
 * bytes in memory, with the same configuration, stand at the same place, and have the same code. 1, 0, or
 * -pte_invalid. Zero does not mean that they will not. */
extern pt_export int pt_blk_is_in_state(const struct pt_block_decoder *decoder,
                                        const struct pt_run_state *state);

/* Has @decoder stand where @from stands: at the same place of the same bytes, with what @from has come to
 * know of the trace; its own image and observers stay, and are not told. Both were made with the same flags
 * and errata. So a way can be tried with other code, without @from being touched: which may be asked in
 * callbacks of @from's observers, too, but not in one that reads an image. Returns status bits; or a negative
 * code: @from has failed, and so has @decoder: pt_blk_retry() may help; -pte_invalid: it was never
 * synchronised, or @decoder must not move. */
extern pt_export int pt_blk_copy_state(struct pt_block_decoder *decoder, const struct pt_block_decoder *from);

#ifdef __cplusplus
}
#endif

#endif /* INTEL_PT_RUN_H */
