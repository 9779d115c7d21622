/* span_format.h - the bytes of a span's replay (sb/shard.h).
 *
 * Blocks, each a uint32_t with the size of what it holds and, in its uppermost four bits, the channel that
 * it is of, a uint32_t with the sum of what it holds (span_block_sum()), and items. A channel is read as if
 * the others were not there: what is counted is one, what is told of calls another one (enum span_channel).
 * Everything is little-endian; a number in an item is a varint: seven bits to a byte, the lowest first;
 * "signed" ones are zigzagged. An item is a byte, enum span_item_kind, and:
 *
 * - begin: version; stream, from, to (to + 1; 0: the stream's end)
 * - piece: its place in the stream; the flow that follows is as if nothing had come before it, and has
 * numbers of functions from 0 on
 * - flow: flags (enum span_flow_flag); tsc (signed, from the item before); what the flags say; how many
 *   paths, and each: 0: a path without a number, which follows; 2n + 1: path n; 2n + 2: path n, which
 *   follows; with span_flow_times, how often each block ran; with span_flow_calls, what was added up behind
 *   the blocks, see struct sb_flow_calls: flags (a byte, enum span_calls_flag); how much later it ended; what
 *   the flags say of credits; 2 * how many sums there are, or 2 * their shape (span_shapes.h) + 1; and when
 * there are any: low, high - low; ninsn of the first one; of each other one, with a shape, ninsn; else 2 *
 * ninsn + whether the rest is as guessed (span_guess.h), and if it is not: function; if that is the next new
 * number: ip; 16 * how far below is before the one before it (0: it is that one) + 8 * is_kernel + 4 *
 * is_learned + 2 * jumps + is_called; as the flags say, deepest, returns, how many frames, and of each: ip,
 * from_ip, return_ip, how and flags (a byte each), ran; edges; end_low, end_high - end_low; end_ip, next_ip,
 * and iclass (a byte). An ip is signed, from the one before, or the end_ip of the last block. Of a thread,
 * they come in the order of time; of a CPU, in that in which they began, as far as threads took turns. Where
 * then another one is told of last than the one that ran last, an item without paths and sums follows, of
 * that one
 * - path: how many blocks; and until there are as many: how many came as guessed (span_blocks.h); and when
 *   there are more, the next one: 0: it follows; 1: the second guess; n + 1: block n
 * - block: ip (signed, from the end_ip before), end_ip - ip, flags, mode and iclass (a byte each), how many
 *   instructions, and the length of each (a byte each)
 * - renumber, forget: numbers of paths, or of blocks, begin anew
 * - codes: what is told how often it ran gets numbers from 0 on, by which these go (indices):
 * - ways: how many, and each: from (signed, from the "to" before); 2n + whether it is asynchronous, n being
 *   to (signed, from "from"); how often
 * - seam: tsc (signed, as of flow), pid, tid (signed), how long before that it began, left_ip, whether there
 *   is code, and if there is: first; how many backs, and of each: deepest, and what it is; user + 1; last;
 *   what is known of the last one of user space, and if it is known, it; deepest; how many are interrupted,
 *   and each. See struct sb_flow_seam. An ip is signed, from the one before, or 0
 * - edges: pid (signed), epoch + 1, and the edges: how many, and each: caller + 1 (0: the frame that
 * execution is in), callee, ip, from_ip, calls, ninsn. See struct sb_flow_call_edge. An ip is signed, from
 * the one before, or 0
 * - turns: flags (span_flow_owner, span_flow_membership, span_flow_kernel); what the first two say, as of
 *   flow; how many flows; of the first: tsc (signed, as of flow), blocks, instructions, and with
 *   span_flow_kernel the kernel's instructions; if there are more, the same of these as one, tsc being how
 *   much later the last one began; then how many bytes follow, and there the same of each by itself, tsc
 *   being how much later than the one before it began, but of the last one, which has what is left
 * - gap: reason, flags (1: timeless), cpu, pid, tid (signed), tsc_from, tsc_to, offset, bytes, ip, size and
 *   bytes of the detail
 * - event: kind, tsc (signed, as of flow), pid, tid (signed), membership + 1, from, to
 * - piece_end: where the next one begins (+ 1; 0: the stream has ended), the last time, the account, how
 *   many threads and for each pid, tid (signed), container + 1, instructions, blocks
 * - end: whether lost mappings were looked for in the trace
 *
 * cpu of flow and events is the stream's. Memberships, epochs and containers go by their numbers in the
 * system (span_world.h).
 */
#ifndef SB_SPAN_FORMAT_H
#define SB_SPAN_FORMAT_H

#include <stdint.h>

#include <sb/replay.h>

#include "perfdata/checkpoint_sum.h"

enum { SPAN_VERSION = 9, SPAN_BLOCK_HEADER = 8, SPAN_BLOCK_SIZE = 64 * 1024, SPAN_BLOCK_MAX = 64 << 20 };

/* Basic blocks in the flow of an item, at most: guesses take hardly any room. Paths are no more than that. */
enum { SPAN_FLOW_BLOCKS_MAX = 1 << 20 };
/* Those that are told how often they ran, at most, in an item. */
enum { SPAN_TIMES_MAX = 1 << 12 };
/* Ways in an item, and codes that there are at a time, at most. */
enum { SPAN_WAYS_MAX = 1 << 12, SPAN_CODES_MAX = 1 << 18 };
/* What ran in call stacks, in an item, and frames above the one that is not known, at most. */
enum { SPAN_CALLS_MAX = 1 << 22, SPAN_CALL_FRAMES_MAX = 1 << 16, SPAN_EDGES_MAX = 1 << 22 };
/* Flows of a thread one after the other, in an item, at most: so few that they are often within what whoever
 * merges takes as one. */
enum { SPAN_TURNS_MAX = 1 << 5 };
/* Memory of all paths that have a number, at most: a decoder's cache is much smaller. */
enum { SPAN_PATHS_SIZE_MAX = 1 << 29 };

enum span_channel {
	span_flows, /* flow one by one, or counts */
	span_calls,
	span_threads, /* flow one by one, without its code */
	span_channels
};
enum { SPAN_CHANNEL_SHIFT = 28 };

enum span_item_kind {
	span_none, /* no item */
	span_begin = 'B',
	span_piece = 'P',
	span_flow = 'F',
	span_renumber = 'R',
	span_forget = 'N',
	span_codes = 'K',
	span_ways = 'W',
	span_seam = 'S',
	span_edges = 'D',
	span_turns = 'T',
	span_gap = 'G',
	span_event = 'E',
	span_piece_end = 'Q',
	span_end = 'Z'
};

enum span_flow_flag {
	span_flow_owner = 1 << 0, /* pid and tid follow (signed); else they are those of the item before */
	span_flow_membership = 1 << 1, /* its number + 1 follows (0: none), likewise */
	span_flow_epoch = 1 << 2,      /* the same */
	span_flow_left = 1 << 3,       /* left_ip follows */
	span_flow_sums = 1 << 4,       /* nblocks and ninsn follow; else they are the paths' */
	span_flow_times = 1 << 5,      /* see struct sb_flow; only where sums are wanted */
	span_flow_calls = 1 << 6,      /* see struct sb_flow; only where calls are added up */
	span_flow_kernel = 1 << 7,     /* only of turns: some of the instructions were the kernel's */
	span_flow_flags = (1 << 8) - 1
};

enum span_calls_flag {
	span_calls_is_plain = 1 << 0,
	span_calls_is_named = 1 << 1,
	span_calls_goes_internal = 1 << 2,
	span_calls_edges = 1 << 3,      /* edges follow */
	span_calls_above = 1 << 4,      /* deepest, returns and frames follow; else there are none */
	span_calls_elsewhere = 1 << 5,  /* end_low and end_high follow; else they are low and high */
	span_calls_credit = 1 << 6,     /* follows; else it is 0 */
	span_calls_more_credit = 1 << 7 /* likewise */
};

/* That of flow that comes so (enum sb_sums). */
static inline enum span_channel span_channel_of(unsigned int sums)
{
	if (sums & sb_sums_stacks)
		return span_calls;
	return sums & sb_sums_threads ? span_threads : span_flows;
}

/* Of a block: the halves of a checkpoint's sum, which takes a tenth of what a CRC-32 does, in one. */
static inline uint32_t span_block_sum(const void *bytes, size_t size)
{
	const uint64_t sum = checkpoint_sum_of(bytes, size);

	return (uint32_t)(sum ^ sum >> 32);
}

static inline uint64_t span_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t span_unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

#endif
