/* segment.c - see segment.h. PSB: Intel SDM, volume 3, "Packet Stream Boundary". */
#include "replay/segment.h"

#include <stdlib.h>
#include <string.h>

#include "bisect.h"
#include "system/arena.h"

enum { PSB_SIZE = 16 };

static const uint8_t psb_bytes[PSB_SIZE] = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
                                            0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82};

/* ---- Pieces ----------------------------------------------------------------------------------- */

/* Leaves out the first @count bytes. */
static void advance(struct segment_piece *piece, uint64_t count)
{
	if (piece->bytes)
		piece->bytes += count;
	piece->size -= count;
	piece->position += count;
	piece->aux_offset += count;
	piece->file_offset += count;
}

static int add_piece(struct segment_cutter *cutter, const struct segment_piece *piece)
{
	if (!piece->size)
		return 0;
	if (array_reserve(&cutter->piece, &cutter->capacity, cutter->npieces, sizeof(*cutter->piece)) < 0)
		return -sbe_nomem;
	cutter->piece[cutter->npieces++] = *piece;
	return 0;
}

/* What is fetched is held in memory as a whole: several, when it is too much for that. */
static int add_pieces(struct segment_cutter *cutter, struct segment_piece piece)
{
	const uint64_t most = piece.bytes ? UINT64_MAX : cutter->fetched->store.piece;

	while (piece.size > most) {
		struct segment_piece part = piece;

		part.size = most;
		if (add_piece(cutter, &part) < 0)
			return -sbe_nomem;
		advance(&piece, most);
		piece.fresh = 0;
	}
	return add_piece(cutter, &piece);
}

static int all_pad(const uint8_t *bytes, uint64_t size)
{
	for (uint64_t i = 0; i < size; ++i)
		if (bytes[i])
			return 0;
	return 1;
}

/* perf fills chunks up to a multiple of 8 bytes, which is not part of the stream: a PAD in the middle of a
 * packet would spoil it. Returns how many bytes the last piece has lost. */
static uint64_t trim_padding(struct segment_cutter *cutter, uint64_t overlap)
{
	struct segment_piece *last = cutter->npieces ? &cutter->piece[cutter->npieces - 1] : NULL;

	if (!last || !overlap || overlap >= 8 || overlap >= last->size)
		return 0;
	if (last->bytes ? !all_pad(last->bytes + last->size - overlap, overlap) : last->zeros < overlap)
		return 0;
	last->size -= overlap;
	return overlap;
}

/* Offsets in the stream behind which something is missing, in ascending order. */
struct holes {
	uint64_t *offset;
	size_t count;
};

static int compare_offsets(const void *a, const void *b)
{
	uint64_t left, right;

	memcpy(&left, a, sizeof(left));
	memcpy(&right, b, sizeof(right));
	return left < right ? -1 : left > right;
}

static int find_holes(struct holes *holes, const struct sb_aux_flag *flag, size_t nflags)
{
	*holes = (struct holes){.count = nflags};
	if (!nflags)
		return 0;
	holes->offset = reallocarray(NULL, nflags, sizeof(*holes->offset));
	if (!holes->offset)
		return -sbe_nomem;
	for (size_t i = 0; i < nflags; ++i)
		holes->offset[i] = flag[i].aux_offset + flag[i].aux_size;
	qsort(holes->offset, nflags, sizeof(*holes->offset), compare_offsets);
	return 0;
}

/* The first hole at or behind @offset. */
static size_t first_hole(const struct holes *holes, uint64_t offset)
{
	struct bisect at = {.high = holes->count};

	while (bisect_more(&at))
		bisect_go(&at, holes->offset[at.middle] < offset);
	return at.low;
}

/* Adds @piece, cut at the holes in it. */
static int add_cut(struct segment_cutter *cutter, struct segment_piece piece, const struct holes *holes)
{
	for (size_t i = first_hole(holes, piece.aux_offset); i < holes->count; ++i) {
		const uint64_t before = holes->offset[i] - piece.aux_offset;
		struct segment_piece part = piece;

		if (before >= piece.size)
			break;
		part.size = before;
		if (add_pieces(cutter, part) < 0)
			return -sbe_nomem;
		advance(&piece, before);
		piece.fresh = 1;
	}
	return add_pieces(cutter, piece);
}

static int add_chunks(struct segment_cutter *cutter, const struct sb_aux_stream *stream,
                      const struct holes *holes)
{
	uint64_t position = 0, end = 0; /* end: the offset that continues the stream */

	for (size_t i = 0; i < stream->nchunks; ++i) {
		const struct sb_aux_chunk *chunk = &stream->chunk[i];
		struct segment_piece piece = {.bytes = chunk->bytes,
		                              .size = chunk->size,
		                              .position = position,
		                              .aux_offset = chunk->aux_offset,
		                              .file_offset = chunk->file_offset,
		                              .zeros = chunk->zeros,
		                              .fresh = !i};
		uint64_t overlap = i && chunk->aux_offset < end ? end - chunk->aux_offset : 0, trimmed;

		trimmed = trim_padding(cutter, overlap);
		overlap -= trimmed;
		end -= trimmed;
		/* Snapshots may repeat what the one before had. */
		if (overlap > chunk->size)
			overlap = chunk->size;
		cutter->duplicate += trimmed + overlap;
		advance(&piece, overlap);
		piece.fresh |= piece.aux_offset != end;
		if (add_cut(cutter, piece, holes) < 0)
			return -sbe_nomem;
		position += chunk->size;
		if (piece.size)
			end = piece.aux_offset + piece.size;
	}
	return 0;
}

int segment_cutter_init(struct segment_cutter *cutter, const struct sb_aux_stream *stream,
                        const struct sb_aux_flag *flag, size_t nflags)
{
	struct holes holes;
	int status;

	memset(cutter, 0, sizeof(*cutter));
	cutter->fetched = stream->fetched;
	status = find_holes(&holes, flag, nflags);
	if (status == 0)
		status = add_chunks(cutter, stream, &holes);
	free(holes.offset);
	if (status < 0)
		segment_cutter_fini(cutter);
	return status;
}

static void give_back(struct segment_cutter *cutter)
{
	if (cutter->held)
		fetched_give(cutter->fetched, cutter->held);
	cutter->held = NULL;
}

void segment_cutter_fini(struct segment_cutter *cutter)
{
	give_back(cutter);
	free(cutter->piece);
	free(cutter->buffer);
	memset(cutter, 0, sizeof(*cutter));
}

/* ---- Segments --------------------------------------------------------------------------------- */

const uint8_t *segment_psb(const uint8_t *begin, const uint8_t *end)
{
	const uint8_t *found = memmem(begin, (size_t)(end - begin), psb_bytes, PSB_SIZE);

	/* What comes before a PSB may look like its beginning. */
	while (found && end - found >= PSB_SIZE + 2 && memcmp(found + 2, psb_bytes, PSB_SIZE) == 0)
		found += 2;
	return found;
}

const uint8_t *segment_bytes(struct segment_cutter *cutter, size_t index, int *status)
{
	const struct segment_piece *piece = &cutter->piece[index];

	*status = 0;
	if (piece->bytes)
		return piece->bytes;
	if (!cutter->held || cutter->held_index != index) {
		give_back(cutter);
		*status = fetched_take(cutter->fetched, piece->file_offset, piece->size, &cutter->held);
		cutter->held_index = index;
	}
	return cutter->held ? cutter->held->bytes : NULL;
}

/* Finds the first and the last PSB that have a whole PSB+ behind them in this piece, whose @bytes these are.
 */
static void search(struct segment_piece *piece, const uint8_t *bytes)
{
	const uint8_t *found = segment_psb(bytes, bytes + piece->size);

	piece->searched = 1;
	piece->first_psb = piece->last_psb = -1;
	if (!found || (uint64_t)(found - bytes) + SEGMENT_TAIL > piece->size)
		return;
	piece->first_psb = found - bytes;
	piece->last_psb = piece->first_psb;
	for (int64_t at = (int64_t)piece->size - SEGMENT_TAIL; at > piece->first_psb; --at) {
		if (bytes[at] == psb_bytes[0] && memcmp(bytes + at, psb_bytes, PSB_SIZE) == 0) {
			piece->last_psb = at;
			return;
		}
	}
}

/* NULL: it cannot be had, and *status is why. */
static const struct segment_piece *get_piece(struct segment_cutter *cutter, size_t index, int *status)
{
	struct segment_piece *piece = &cutter->piece[index];
	const uint8_t *bytes;

	*status = 0;
	if (piece->searched)
		return piece;
	bytes = segment_bytes(cutter, index, status);
	if (!bytes)
		return NULL;
	search(piece, bytes);
	return piece;
}

/* Whether the piece at @index is followed by one that continues it. */
static int is_continued(const struct segment_cutter *cutter, size_t index)
{
	return index + 1 < cutter->npieces && !cutter->piece[index + 1].fresh;
}

/* Where the first segment in @piece, at @index, begins: the one before joins what comes before its first PSB.
 */
static uint64_t first_offset(const struct segment_piece *piece, size_t index)
{
	if (!index || piece->fresh)
		return 0;
	return piece->first_psb < 0 ? piece->size : (uint64_t)piece->first_psb;
}

int segment_seek(struct segment_cutter *cutter, size_t index)
{
	int status;
	const struct segment_piece *piece = get_piece(cutter, index, &status);

	if (!piece)
		return status;
	cutter->next = index;
	cutter->offset = first_offset(piece, index);
	return 0;
}

/* Looks no further than it must: of the pieces of a long trace that are only cut, all else stays on the disk.
 */
int segment_find_psb(struct segment_cutter *cutter, size_t index, uint64_t offset, uint64_t *psb)
{
	const struct segment_piece *piece = &cutter->piece[index];
	int status;
	const uint8_t *bytes, *found, *last;

	if (offset >= piece->size || piece->size < SEGMENT_TAIL)
		return 0;
	bytes = segment_bytes(cutter, index, &status);
	if (!bytes)
		return status;
	found = segment_psb(bytes + offset, bytes + piece->size);
	last = bytes + piece->size - SEGMENT_TAIL;
	if (!found || found > last)
		return 0;
	*psb = (uint64_t)(found - bytes);
	/* The last one is where the next segment begins, when there is one. */
	return !is_continued(cutter, index) || segment_psb(found + 1, last + PSB_SIZE);
}

static int begin_segment(struct segment_cutter *cutter, struct sb_segment *segment)
{
	const struct segment_piece *piece = &cutter->piece[cutter->next];
	int status;
	const uint8_t *bytes = segment_bytes(cutter, cutter->next, &status);

	if (!bytes)
		return status;
	segment->begin = bytes + cutter->offset;
	segment->end = bytes + piece->size;
	segment->stop = piece->size - cutter->offset;
	segment->position = piece->position + cutter->offset;
	segment->aux_offset = piece->aux_offset + cutter->offset;
	segment->fresh = piece->fresh && !cutter->offset;
	return 0;
}

static int buffer_reserve(struct segment_cutter *cutter, uint64_t size)
{
	uint8_t *buffer;

	if (size <= cutter->buffer_size)
		return 0;
	if (size < 2 * cutter->buffer_size)
		size = 2 * cutter->buffer_size;
	buffer = realloc(cutter->buffer, size);
	if (!buffer)
		return -sbe_nomem;
	cutter->buffer = buffer;
	cutter->buffer_size = size;
	return 0;
}

static int append(struct segment_cutter *cutter, uint64_t *used, const uint8_t *bytes, uint64_t size)
{
	if (buffer_reserve(cutter, *used + size) < 0)
		return -sbe_nomem;
	memcpy(cutter->buffer + *used, bytes, size);
	*used += size;
	if (cutter->perfdata)
		sb_perfdata_release(cutter->perfdata, bytes, bytes + size);
	return 0;
}

/* Joins the rest of the present piece with those behind it, up to the first PSB of one of them. */
static int join(struct segment_cutter *cutter, struct sb_segment *segment)
{
	uint64_t used = 0, stop = 0;
	int status = begin_segment(cutter, segment);

	if (status == 0)
		status = append(cutter, &used, segment->begin, (uint64_t)(segment->end - segment->begin));
	while (status == 0 && !stop) {
		const struct segment_piece *piece;
		const uint8_t *bytes;

		if (!is_continued(cutter, cutter->next)) {
			cutter->next += 1;
			cutter->offset = 0;
			stop = used;
			break;
		}
		cutter->next += 1;
		piece = get_piece(cutter, cutter->next, &status);
		bytes = piece ? segment_bytes(cutter, cutter->next, &status) : NULL;
		if (!bytes)
			return status;
		if (piece->first_psb < 0) {
			status = append(cutter, &used, bytes, piece->size);
			continue;
		}
		cutter->offset = (uint64_t)piece->first_psb;
		stop = used + cutter->offset;
		status = append(cutter, &used, bytes, cutter->offset + SEGMENT_TAIL);
	}
	segment->begin = cutter->buffer;
	segment->end = cutter->buffer + used;
	segment->stop = stop;
	return status;
}

int segment_next(struct segment_cutter *cutter, struct sb_segment *segment)
{
	const struct segment_piece *piece;
	int status;

	if (cutter->next >= cutter->npieces)
		return 0;
	if (!is_continued(cutter, cutter->next)) {
		status = begin_segment(cutter, segment);
		cutter->next += 1;
		cutter->offset = 0;
		return status < 0 ? status : 1;
	}
	piece = get_piece(cutter, cutter->next, &status);
	if (!piece)
		return status;
	if (piece->last_psb > (int64_t)cutter->offset) {
		status = begin_segment(cutter, segment);
		segment->stop = (uint64_t)piece->last_psb - cutter->offset;
		cutter->offset = (uint64_t)piece->last_psb;
		return status < 0 ? status : 1;
	}
	status = join(cutter, segment);
	return status < 0 ? status : 1;
}
