/* pipe.c - a perf.data that was written into a pipe (perf record -o -): nobody could go back to complete a
 * header, so that attributes and features are records, too.
 *
 * They come before the records that need them, but nothing says where they end: one walk over all headers
 * finds them. Format: perf.data-file-format.txt.
 */
#include "perfdata/perfdata_internal.h"

#include <inttypes.h>

#include "record/bytes.h"

enum { HEADER_SIZE = 8, FEATURE_BODY = HEADER_SIZE + 8 };

/* The attribute, then ids up to the record's end. */
static int read_attr(struct sb_perfdata *perfdata, const uint8_t *bytes, uint64_t size, uint64_t offset,
                     struct sb_error *err)
{
	const uint8_t *attr = bytes + HEADER_SIZE;
	const uint64_t room = size - HEADER_SIZE;
	int status;

	if (room < SB_ATTR_MIN_SIZE || sb_attr_size(attr) > room)
		return sb_error_set(err, -sbe_format, perfdata->file->map.path, offset,
		                    "a HEADER_ATTR record of %" PRIu64
		                    " bytes does not hold its attribute, which needs %" PRIu64,
		                    size, room < SB_ATTR_MIN_SIZE ? SB_ATTR_MIN_SIZE : sb_attr_size(attr));
	status = sb_perfdata_add_attr(perfdata, attr, room, err);
	if (status < 0)
		return status;
	return sb_perfdata_add_ids(perfdata, attr + sb_attr_size(attr), (room - sb_attr_size(attr)) / 8, err);
}

static int read_record(struct sb_perfdata *perfdata, uint64_t offset, struct sb_error *err)
{
	const uint8_t *bytes = perfdata->file->map.bytes + offset;
	const uint64_t size = load_u16(bytes + 6);

	switch (load_u32(bytes)) {
	case SB_RECORD_HEADER_ATTR:
		return read_attr(perfdata, bytes, size, offset, err);
	case SB_RECORD_HEADER_FEATURE:
		if (size < FEATURE_BODY || load_u64(bytes + HEADER_SIZE) >= SB_FEATURE_BITS)
			return 0;
		return sb_perfdata_read_feature(perfdata, (unsigned int)load_u64(bytes + HEADER_SIZE),
		                                offset + FEATURE_BODY, size - FEATURE_BODY, err);
	default:
		return 0;
	}
}

int sb_perfdata_read_pipe(struct sb_perfdata *perfdata, struct sb_error *err)
{
	struct record_file *file = &perfdata->file[0];
	uint64_t offset = SB_HEADER_PIPE_SIZE, stride = 1;
	int status = 0;

	sb_record_file_set(file, offset, file->map.size);
	file->promised_end = file->end;
	/* Damage ends this walk; whoever walks the records meets it again. */
	while (offset < file->end && stride && status == 0) {
		const uint64_t avail = file->end - offset;

		stride = sb_record_stride(file->map.bytes + offset, avail);
		if (!stride || load_u16(file->map.bytes + offset + 6) > avail)
			break;
		status = read_record(perfdata, offset, err);
		if (stride > avail)
			break;
		offset += stride;
	}
	if (status < 0)
		return status;
	if (!perfdata->nattrs)
		return sb_error_set(err, -sbe_format, file->map.path, offset,
		                    "written to a pipe, but no HEADER_ATTR record comes before this");
	return sb_perfdata_settle_attrs(perfdata, err);
}
