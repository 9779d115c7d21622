/* record.c - from a record's bytes to struct sb_record: the header, the sample trailer, and the row of the
 * type's body (record_body.h).
 * Layouts: perf_event_open(2), <linux/perf_event.h>, perf.data-file-format.txt.
 */
#include "record/record_parse.h"

#include <linux/perf_event.h>

#include "record/bytes.h"
#include "record/record_body.h"

enum { HEADER_SIZE = 8 };

const char *read_string(const char **string, const uint8_t *body, size_t size, size_t at)
{
	if (!memchr(body + at, '\0', size - at))
		return "the string in it has no end";
	*string = (const char *)(body + at);
	return NULL;
}

static const struct record_body *body_of(uint32_t type)
{
	static const struct record_body unknown = {.name = "unknown"};
	const struct record_body *body = &unknown;

	if (type < kernel_bodies_count)
		body = &kernel_bodies[type];
	else if (type >= SB_RECORD_HEADER_ATTR && type - SB_RECORD_HEADER_ATTR < perf_bodies_count)
		body = &perf_bodies[type - SB_RECORD_HEADER_ATTR];
	return body->name ? body : &unknown;
}

const char *sb_record_name(uint32_t type)
{
	return body_of(type)->name;
}

uint64_t sb_sample_format_trailer(const struct sb_sample_format *format)
{
	const uint64_t fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
	                        PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;

	return format->sample_id_all ? format->sample_type & fields : 0;
}

struct record_trailer record_trailer(const struct sb_sample_format *format)
{
	struct record_trailer trailer = {.format.type_only = 1};

	if (format) {
		trailer.format = *format;
		trailer.fields = sb_sample_format_trailer(format);
	}
	trailer.size = 8 * (uint32_t)__builtin_popcountll(trailer.fields);
	return trailer;
}

static size_t trailer_size(uint32_t type, const struct record_trailer *trailer)
{
	return type >= SB_RECORD_HEADER_ATTR || type == PERF_RECORD_SAMPLE ? 0 : trailer->size;
}

void record_sizes(struct record_sizes *sizes, const struct record_trailer *trailer)
{
	for (uint32_t type = 0; type < RECORD_KERNEL_TYPES; type++) {
		const struct record_body *body = body_of(type);
		const size_t size = HEADER_SIZE + trailer_size(type, trailer) + body->least;

		sizes->right_from[type] = body->is_open ? 0 : (uint32_t)size;
	}
}

void record_sizes_trust(struct record_sizes *sizes)
{
	for (uint32_t type = 0; type < RECORD_KERNEL_TYPES; type++)
		if (type != PERF_RECORD_SAMPLE && !sizes->right_from[type])
			sizes->right_from[type] = HEADER_SIZE;
}

static void parse_trailer(struct sb_sample_id *sample, const uint8_t *p, uint64_t sample_type)
{
	*sample = (struct sb_sample_id){0};
	sample->has = sample_type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
	                             PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU);
	if (sample_type & PERF_SAMPLE_TID) {
		sample->pid = load_i32(p);
		sample->tid = load_i32(p + 4);
		p += 8;
	}
	if (sample_type & PERF_SAMPLE_TIME) {
		sample->time = load_u64(p);
		p += 8;
	}
	if (sample_type & PERF_SAMPLE_ID) {
		sample->id = load_u64(p);
		p += 8;
	}
	if (sample_type & PERF_SAMPLE_STREAM_ID) {
		sample->stream_id = load_u64(p);
		p += 8;
	}
	if (sample_type & PERF_SAMPLE_CPU) {
		sample->cpu = load_u32(p);
		p += 8;
	}
	if (sample_type & PERF_SAMPLE_IDENTIFIER) {
		sample->id = load_u64(p);
		sample->has |= PERF_SAMPLE_ID;
	}
}

static int parse_header(struct sb_record *record, const uint8_t *bytes, size_t avail, const char *file,
                        uint64_t offset, struct sb_error *err)
{
	if (avail < HEADER_SIZE)
		return sb_error_set(err, -sbe_truncated, file, offset,
		                    "the data end after %zu of the 8 bytes of a record's header", avail);
	record->type = load_u32(bytes);
	record->misc = load_u16(bytes + 4);
	record->size = load_u16(bytes + 6);
	record->offset = offset;
	record->bytes = bytes;
	if (record->size < HEADER_SIZE)
		return sb_error_set(err, -sbe_format, file, offset,
		                    "a record of type %u says that it has %u bytes; its header alone has 8",
		                    record->type, record->size);
	if (record->size > avail)
		return sb_error_set(err, -sbe_truncated, file, offset,
		                    "the data end after %zu of the %u bytes of a record of type %u (%s)",
		                    avail, record->size, record->type, sb_record_name(record->type));
	return 0;
}

/* Every field of @record is written, but for those of the union that its type does not have. */
int record_parse(struct sb_record *record, const uint8_t *bytes, size_t avail,
                 const struct record_trailer *trailer, const char *file, uint64_t offset,
                 struct sb_error *err)
{
	const struct record_body *row;
	const uint8_t *body = bytes + HEADER_SIZE;
	const char *wrong = NULL;
	size_t behind, size;
	int status;

	status = parse_header(record, bytes, avail, file, offset, err);
	if (status < 0)
		return status;
	record->format = &trailer->format;
	row = body_of(record->type);
	behind = trailer_size(record->type, trailer);
	if (record->size < HEADER_SIZE + behind + row->least)
		return sb_error_set(
		        err, -sbe_format, file, offset,
		        "a record of type %u (%s) has %u bytes; with its sample trailer it needs %zu",
		        record->type, row->name, record->size, HEADER_SIZE + behind + row->least);
	size = record->size - HEADER_SIZE - behind;
	parse_trailer(&record->sample, body + size, behind ? trailer->fields : 0);
	if (row->parse)
		wrong = row->parse(record, body, size);
	if (wrong)
		return sb_error_set(err, -sbe_format, file, offset,
		                    "a record of type %u (%s) of %u bytes: %s", record->type, row->name,
		                    record->size, wrong);
	return 0;
}

int sb_record_parse(struct sb_record *record, const uint8_t *bytes, size_t avail,
                    const struct sb_sample_format *format, const char *file, uint64_t offset,
                    struct sb_error *err)
{
	const struct record_trailer trailer = record_trailer(format);

	int status;

	memset(record, 0, sizeof(*record));
	status = record_parse(record, bytes, avail, &trailer, file, offset, err);
	record->format = format;
	return status;
}
