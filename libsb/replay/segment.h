/* segment.h - a stream of AUX chunks as spans that a decoder can run over.
 *
 * Chunks lie apart in the file, and packets may be cut anywhere between two of them. A chunk is decoded
 * where it lies, from its first PSB to its last one; what lies between that and the first PSB of a later
 * chunk is joined in a buffer. So memory follows the PSB period, every byte is decoded once, and as
 * a PSB resets the decoder, the cuts change nothing. Where chunks do not follow each other, or the
 * kernel said that data are missing, nothing is joined: decoding starts anew.
 *
 * Of a recording that is fetched by range (<sb/store.h>), one piece is here at a time, and large chunks
 * become several.
 */
#ifndef SB_SEGMENT_H
#define SB_SEGMENT_H

#include <sb/perfdata.h>
#include <sb/system.h>
#include <sb/trace.h>

#include "perfdata/fetched.h"

/* The largest PSB+ fits into this many times over. */
enum { SEGMENT_TAIL = 512 };

struct segment_piece {
	const uint8_t *bytes; /* NULL: to be fetched */
	uint64_t size, position, aux_offset;
	uint64_t file_offset; /* to be fetched: from there */
	uint8_t zeros;        /* as a chunk's */
	int fresh;
	int searched; /* first_psb and last_psb are valid; -1: there is none */
	int64_t first_psb, last_psb;
};

struct segment_cutter {
	struct segment_piece *piece; /* owned */
	size_t npieces, capacity;
	size_t next;     /* the piece to go on with ... */
	uint64_t offset; /* ... and where in it; a PSB unless it is zero */
	uint8_t *buffer; /* owned; the joined bytes of the present segment */
	uint64_t buffer_size;
	uint64_t duplicate;                 /* bytes that were recorded twice, and are left out */
	const struct sb_perfdata *perfdata; /* borrowed; gets back what was joined. NULL: nobody does */
	struct sb_fetched *fetched;         /* borrowed; NULL: all bytes are here */
	struct fetched_piece *held;         /* the bytes of the piece at ... */
	size_t held_index;                  /* ... this index; not NULL */
};

/* The first PSB in [begin, end), or NULL. */
const uint8_t *segment_psb(const uint8_t *begin, const uint8_t *end);

/* @flag: the spans that the kernel flagged. Zero or -sbe_nomem. */
int segment_cutter_init(struct segment_cutter *cutter, const struct sb_aux_stream *stream,
                        const struct sb_aux_flag *flag, size_t nflags);
void segment_cutter_fini(struct segment_cutter *cutter);

/* To the first segment that begins in the piece at @index; what comes before it there belongs to the one
 * before. Zero or a negative code. */
int segment_seek(struct segment_cutter *cutter, size_t index);

/* Whether the whole PSB+ of the first PSB at @offset of the piece at @index, or behind it, lies within the
 * segment that begins there, and is not where the next one begins: then *psb is its offset. Or a negative
 * code. */
int segment_find_psb(struct segment_cutter *cutter, size_t index, uint64_t offset, uint64_t *psb);

/* The bytes of the piece at @index, until those of another one are asked for, or a segment; NULL: they cannot
 * be had, and *status is why. */
const uint8_t *segment_bytes(struct segment_cutter *cutter, size_t index, int *status);

/* The next segment: 1, or 0 when there is none, or a negative code. It lasts until the next call. */
int segment_next(struct segment_cutter *cutter, struct sb_segment *segment);

#endif
