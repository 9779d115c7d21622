/* span_strand.c - see span_strand.h. */
#include "replay/span_strand.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "nameless_file.h"

enum { PATCH_PARTS_MAX = 1 << 20 }; /* images, and mappings in them */

void strand_init(struct strand *strand, struct span_merge *merge, size_t first)
{
	const struct sb_line *line = &merge->source->line;

	*strand = (struct strand){.merge = merge, .span = first, .last = first, .patch_file = -1};
	while (strand->last < line->nspans && line->span[strand->last].stream == line->span[first].stream)
		strand->last += 1;
}

static void end_patch(struct strand *strand)
{
	if (!strand->is_patching)
		return;
	span_reader_fini(&strand->patch);
	close(strand->patch_file);
	strand->patch_file = -1;
	strand->is_patching = 0;
}

void strand_fini(struct strand *strand)
{
	end_patch(strand);
	if (strand->is_open)
		span_reader_fini(&strand->reader);
	span_shapes_fini(&strand->shapes);
	strand->is_open = 0;
}

static const struct sb_aux_stream *stream_of(const struct strand *strand)
{
	const struct sb_line *line = &strand->merge->source->line;
	size_t count;

	return &sb_perfdata_streams(strand->merge->world->perfdata,
	                            &count)[line->span[strand->last - 1].stream];
}

static int32_t cpu_of(const struct strand *strand)
{
	return stream_of(strand)->cpu;
}

static void set_sums(const struct strand *strand, struct span_reader *reader)
{
	reader->sums = strand->merge->sums;
	reader->channel = span_channel_of(reader->sums);
}

/* ---- Patches ---------------------------------------------------------------------------------- */

static int write_patch(void *context, const void *bytes, size_t size)
{
	const struct strand *strand = context;

	while (size) {
		const ssize_t n = write(strand->patch_file, bytes, size);

		if (n < 0 && errno != EINTR)
			return -sbe_io;
		bytes = (const char *)bytes + (n > 0 ? n : 0);
		size -= (size_t)(n > 0 ? n : 0);
	}
	return 0;
}

static int64_t read_patch(void *context, size_t index, uint64_t offset, void *bytes, size_t size,
                          struct sb_error *err)
{
	const struct strand *strand = context;
	ssize_t n;

	(void)index;
	do
		n = pread(strand->patch_file, bytes, size, (off_t)offset);
	while (n < 0 && errno == EINTR);
	return n < 0 ? sb_error_set(err, -sbe_io, NULL, UINT64_MAX, "a temporary file cannot be read: %s",
	                            strerror(errno))
	             : n;
}

static const char *name_patch(void *context, size_t index)
{
	(void)context;
	(void)index;
	return "what was decoded between two spans";
}

/* The span that has the place where something is missing. */
static size_t span_at(const struct strand *strand)
{
	const struct sb_span *span = strand->merge->source->line.span;
	size_t index = strand->last - 1;

	while (span[index].from > strand->position)
		index -= 1;
	return index;
}

/* Decodes from the strand's position up to @until, or behind it. */
static int make_patch(struct strand *strand, uint64_t until, struct sb_error *err)
{
	static const struct sb_sink kept;
	const struct sb_sink *wanted = strand->merge->ledger->sink;
	struct sb_sink sink = kept;
	struct span_walk walk = {.world = strand->merge->world,
	                         .line = &strand->merge->source->line,
	                         .index = span_at(strand),
	                         .from = strand->position,
	                         .until = until,
	                         .nparts = PATCH_PARTS_MAX,
	                         .sums = strand->merge->sums,
	                         .sink = &sink,
	                         .write = write_patch,
	                         .context = strand};
	int status;

	sink.flow = wanted->flow;
	sink.gap = wanted->gap;
	sink.event = wanted->event;
	strand->patch_file = nameless_file();
	if (strand->patch_file < 0)
		return sb_error_set(err, -sbe_io, NULL, UINT64_MAX, "no temporary file: %s", strerror(errno));
	strand->is_patching = 1;
	status = span_reader_init(&strand->patch, &strand->merge->numbers,
	                          ((uint64_t)strand->span + 1) << 32 | 1u << 31);
	if (status == 0)
		status = span_walk(&walk, NULL, err);
	if (status == -sbe_io && err && !err->code)
		sb_error_set(err, status, NULL, UINT64_MAX, "a temporary file cannot be written");
	strand->patch.context = strand;
	strand->patch.read = read_patch;
	strand->patch.name = name_patch;
	strand->patch.cpu = cpu_of(strand);
	set_sums(strand, &strand->patch);
	return status;
}

/* Of the span that is read, for errors. */
static const char *name_of_span(const struct strand *strand)
{
	return strand->reader.name ? strand->reader.name(strand->reader.context, strand->reader.index) : NULL;
}

/* ---- Spans ------------------------------------------------------------------------------------ */

/* Each would be given a megabyte of new pages: what the next one can use stays. */
static void close_span(struct strand *strand)
{
	strand->shapes = strand->reader.shapes;
	span_shapes_clear(&strand->shapes);
	strand->reader.shapes = (struct span_shapes){0};
	span_reader_fini(&strand->reader);
	strand->is_open = 0;
}

static int open_span(struct strand *strand, struct sb_error *err)
{
	const struct sb_span_source *source = strand->merge->source;
	const struct sb_span *span = &source->line.span[strand->span];
	struct span_item *item = &strand->item;
	int status = span_reader_init(&strand->reader, &strand->merge->numbers,
	                              ((uint64_t)strand->span + 1) << 32);

	strand->is_open = 1;
	strand->reader.shapes = strand->shapes;
	strand->shapes = (struct span_shapes){0};
	strand->reader.context = source->context;
	strand->reader.read = source->read;
	strand->reader.name = source->name;
	strand->reader.index = strand->span;
	strand->reader.cpu = cpu_of(strand);
	set_sums(strand, &strand->reader);
	if (status == 0)
		status = span_read(&strand->reader, item, err);
	if (status < 0)
		return status;
	strand->span += 1;
	if (item->kind == span_begin && item->span.stream == span->stream && item->span.from == span->from &&
	    item->span.to == span->to)
		return 0;
	return sb_error_set(err, -sbe_format, name_of_span(strand), 0,
	                    "expected the result of stream %zu from 0x%" PRIx64 " on, found another one's",
	                    span->stream, span->from);
}

/* ---- Items ------------------------------------------------------------------------------------ */

/* Of its stream's trace, up to @position. */
static uint64_t bytes_up_to(const struct strand *strand, uint64_t position)
{
	const uint64_t size = stream_of(strand)->size;

	return position < size ? position : size;
}

static int end_piece(struct strand *strand, struct span_item *item, struct sb_error *err)
{
	struct span_merge *merge = strand->merge;
	const uint64_t before = bytes_up_to(strand, strand->position);
	int status;

	if (!strand->is_in_piece)
		return 0;
	strand->is_in_piece = 0;
	if (item->position <= strand->position)
		return sb_error_set(err, -sbe_format, name_of_span(strand), strand->reader.offset,
		                    "a piece of a span ends before it begins");
	strand->position = item->position;
	if (strand->last_tsc < item->last_tsc)
		strand->last_tsc = item->last_tsc;
	if (merge->uncounted) {
		item->part.account.ninsn = item->part.account.nblocks = 0;
		item->part.nslots = 0;
	}
	status = ledger_add_part(merge->ledger, &item->part);
	return status < 0 ? status
	                  : ledger_progress(merge->ledger, bytes_up_to(strand, strand->position) - before);
}

/* A piece begins. Zero; positive: what comes before it is missing. */
static int begin_piece(struct strand *strand, const struct span_item *item)
{
	if (strand->position == UINT64_MAX || item->position < strand->position)
		return 0;
	if (item->position > strand->position)
		return 1;
	strand->is_in_piece = 1;
	return 0;
}

/* What is to be done with an item. */
enum use { use_nothing, use_it, use_patch };

/* Or a negative code. */
static int look_at(struct strand *strand, struct span_item *item, struct sb_error *err)
{
	int status;

	switch (item->kind) {
	case span_piece:
		return begin_piece(strand, item) ? use_patch : use_nothing;
	case span_piece_end:
		status = end_piece(strand, item, err);
		return status < 0 ? status : use_nothing;
	case span_end:
		strand->merge->surveyed |= item->surveyed;
		return use_nothing;
	case span_begin:
		return use_nothing;
	default:
		return strand->is_in_piece ? use_it : use_nothing;
	}
}

/* From the patch. Positive: an item; zero: it has come to its end. */
static int next_of_patch(struct strand *strand, struct sb_error *err)
{
	int status;

	while ((status = span_read(&strand->patch, &strand->item, err)) > 0) {
		const int use = look_at(strand, &strand->item, err);

		if (use)
			return use;
	}
	end_patch(strand);
	return status;
}

/* Decodes what no span has, from the strand's position on. Zero or a negative code. */
static int patch(struct strand *strand, uint64_t until, struct sb_error *err)
{
	/* Where a patch was made already, nothing more is to be had. */
	if (strand->patched == strand->position + 1)
		return sb_error_set(err, -sbe_decode, sb_perfdata_path(strand->merge->world->perfdata),
		                    UINT64_MAX, "CPU %d cannot be decoded from 0x%" PRIx64 " of its trace on",
		                    cpu_of(strand), strand->position);
	strand->patched = strand->position + 1;
	return make_patch(strand, until, err);
}

/* The next item of the open span that counts: positive; zero: there is none now, or a negative code. */
static int next_of_span(struct strand *strand, struct sb_error *err)
{
	int status;

	while ((status = span_read(&strand->reader, &strand->item, err)) > 0) {
		const int use = look_at(strand, &strand->item, err);

		if (use == use_patch)
			strand->pending = strand->item.position;
		if (use)
			return use == use_patch ? 0 : use;
	}
	if (status == 0 && strand->is_in_piece)
		status = sb_error_set(err, -sbe_format, name_of_span(strand), strand->reader.offset,
		                      "the result of a span ends inside of a piece");
	close_span(strand);
	return status;
}

/* Goes on to the next span, over those that have nothing more to tell. Positive: there is nothing more; zero:
 * go on, or a negative code. */
static int next_span(struct strand *strand, struct sb_error *err)
{
	const struct sb_span *span = &strand->merge->source->line.span[strand->span];

	if (strand->span == strand->last)
		return strand->position == UINT64_MAX ? 1 : patch(strand, strand->position + 1, err);
	if (strand->position > span->from && strand->position >= span->to) {
		strand->span += 1;
		return 0;
	}
	return strand->position < span->from ? patch(strand, span->from, err) : open_span(strand, err);
}

/* The piece whose beginning was read is begun, or what is missing before it is decoded. */
static int begin_pending(struct strand *strand, struct sb_error *err)
{
	if (strand->position < strand->pending)
		return patch(strand, strand->pending, err);
	strand->is_in_piece = strand->position == strand->pending;
	strand->pending = 0;
	return 0;
}

int strand_next(struct strand *strand, struct sb_error *err)
{
	for (;;) {
		int status;

		if (strand->is_patching)
			status = next_of_patch(strand, err);
		else if (strand->pending)
			status = begin_pending(strand, err);
		else if (strand->is_open)
			status = next_of_span(strand, err);
		else if ((status = next_span(strand, err)) > 0)
			return 0;
		if (status)
			return status;
	}
}

int strand_read_others(struct strand *strand, struct sb_error *err)
{
	return span_read_others(strand_reader(strand), &strand->item, err);
}

/* Without a look at other CPUs. */
static int deliver_turns(struct strand *strand, struct sb_error *err)
{
	const struct sb_sink *sink = strand->merge->ledger->sink;
	const struct sb_flow *flow = &strand->item.flow;
	struct sb_flow_turn *turn = strand_reader(strand)->turn;
	const int status = strand_read_others(strand, err);

	for (size_t i = 0; status == 0 && i < flow->nturns; ++i)
		strand_place_turn(strand, &turn[i]);
	return status == 0 && sink->flow ? sink->flow(sink->context, flow) : status;
}

int strand_deliver(struct strand *strand, struct sb_error *err)
{
	const struct parcel_target target = {.ledger = strand->merge->ledger,
	                                     .last_tsc = strand->last_tsc,
	                                     .uncounted = strand->merge->uncounted};
	const struct sb_sink *sink = target.ledger->sink;
	struct span_item *item = &strand->item;
	int status;

	/* The sink may not want what the span has. */
	switch (item->kind) {
	case span_gap:
		status = sink->gap ? parcel_target_gap(&target, &item->gap, item->timeless) : 0;
		break;
	case span_event:
		status = sink->event ? parcel_target_event(&target, &item->event) : 0;
		break;
	case span_turns:
		status = deliver_turns(strand, err);
		break;
	default:
		status = sink->flow || target.uncounted ? parcel_target_flow(&target, &item->flow) : 0;
		break;
	}
	return status < 0 ? status : 0;
}
