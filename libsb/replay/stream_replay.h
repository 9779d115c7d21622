/* stream_replay.h - one CPU's AUX stream, segment by segment, through a block decoder into the ledger.
 */
#ifndef SB_STREAM_REPLAY_H
#define SB_STREAM_REPLAY_H

#include <sb/replay.h>

#include "replay/jit_code.h"
#include "replay/ledger.h"
#include "replay/patch_trial.h"
#include "replay/run_watch.h"
#include "replay/segment.h"
#include "replay/sideband_observer.h"
#include "replay/switch_window.h"
#include "replay/user_stretch.h"

/* How decoding goes on behind an error. */
enum gap_resume {
	gap_resume_psb,     /* at the next PSB: what comes before is not to be trusted */
	gap_resume_whole,   /* at the next address that does not depend on what came before */
	gap_resume_address, /* at any address: the trace is good, it is code that is missing */
};

struct stream_replay {
	/* Borrowed. */
	const struct sb_perfdata *perfdata;
	const struct pt_config *config; /* without a buffer */
	uint64_t tsc_slack; /* estimates may run ahead of the next TSC packet by so much; more is damage */
	struct ledger *ledger;
	struct image_builder *images;
	struct sideband_observer *observer;
	struct sb_error *err;
	struct jit_code *jit; /* for what it knows of code that is missing; NULL: nothing */

	struct run_watch watch; /* for the kernel switching */
	struct patch_trial patches;
	struct switch_window window; /* since the last PSB */

	/* Asked at the first PSB at or behind @border, bytes of the stream, before anything behind it is
	 * decoded: positive ends the replay there. */
	uint64_t border;
	int (*at_border)(void *context, uint64_t position);
	void *border_context;

	/* The present segment; offsets in it. */
	const struct sb_segment *segment;
	struct pt_block_decoder *decoder; /* owned; of all segments */
	struct pt_packet_decoder *ahead;  /* owned; of this one, or NULL: what comes behind a PSB */
	int counts;                       /* its runs have no blocks: they are only counted */
	const uint8_t *begin, *end;       /* what it decodes ... */
	uint64_t position;  /* ... which was this of the stream, though others may stand there now */
	uint64_t noted;     /* the last PSB whose place the flow was seen at */
	uint64_t released;  /* bytes before it may have gone from memory */
	uint64_t accounted; /* bytes before it are in the account */
	uint64_t confirmed; /* the last PSB that the flow has reached */
	uint64_t last_tsc;  /* of the trace, since confirmed; 0: not known */
	uint64_t psb_tsc;   /* the same, at that PSB */
	uint64_t retry;     /* where to synchronise first after an error; UINT64_MAX: at the next PSB */
	uint64_t last_ip;   /* of the last block, or where tracing was enabled since */
	int ran;            /* since tracing was broken off last */

	enum gap_resume resume; /* behind the last error */
	int resumed;            /* decoding went on before a PSB, since the last one */
	struct cr3_place paging;

	/* Where decoding failed, and why: a gap that ends where it goes on, unless that fails, too. */
	struct sb_gap gap;
	uint64_t gap_end;
	int in_gap;
};

/* By how many ticks of the TSC the trace's estimates of time may be ahead of the next TSC packet. */
uint64_t stream_replay_slack(const struct sb_perfdata_info *info);
/* The same in ns. */
uint64_t stream_replay_slack_ns(const struct sb_perfdata_info *info);

/* Zero or -sbe_nomem. */
int stream_replay_init(struct stream_replay *replay, const struct sb_perfdata *perfdata,
                       const struct pt_config *config, struct ledger *ledger, struct image_builder *images,
                       struct sideband_observer *observer, struct sb_error *err);
/* To another stream; the decoder comes along. Zero or a negative code. */
int stream_replay_move(struct stream_replay *replay, const struct observed_schedule *schedule);
void stream_replay_fini(struct stream_replay *replay);

/* Zero, or positive: ended at a border, or a negative code. */
int stream_replay_segment(struct stream_replay *replay, const struct sb_segment *segment,
                          enum sb_gap_reason before);

/* The same from the PSB at @offset of @segment on, without anything that came before. */
int stream_replay_from(struct stream_replay *replay, const struct sb_segment *segment, uint64_t offset);

#endif
