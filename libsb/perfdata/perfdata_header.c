/* perfdata_header.c - the header of a perf.data file, and where it says that attributes, ids and records are.
 * Format: perf.data-file-format.txt.
 */
#include "perfdata/perfdata_internal.h"

#include <inttypes.h>
#include <string.h>

#include "record/bytes.h"

struct section {
	uint64_t offset, size;
};

static struct section load_section(const uint8_t *p)
{
	return (struct section){load_u64(p), load_u64(p + 8)};
}

int sb_perfdata_check_magic(const uint8_t *magic, const char *path, struct sb_error *err)
{
	if (!memcmp(magic, "2ELIFREP", 8))
		return sb_error_set(err, -sbe_unsupported, path, 0,
		                    "recorded on a machine of the other byte order, which is not read");
	if (!memcmp(magic, "PERFFILE", 8))
		return sb_error_set(err, -sbe_unsupported, path, 0,
		                    "a perf.data of version 1 (before Linux 3.2), which is not read");
	if (memcmp(magic, SB_HEADER_MAGIC, 8))
		return sb_error_set(err, -sbe_format, path, 0,
		                    "not a perf.data: it does not begin with " SB_HEADER_MAGIC);
	return 0;
}

static int check_size(const struct mapped_file *map, uint64_t size, struct sb_error *err)
{
	if (size < SB_HEADER_SIZE)
		return sb_error_set(err, -sbe_format, map->path, 8,
		                    "the header says that it has %" PRIu64 " bytes; %d are expected", size,
		                    SB_HEADER_SIZE);
	if (map->size < SB_HEADER_SIZE)
		return sb_error_set(err, -sbe_truncated, map->path, map->size,
		                    "the file ends after %" PRIu64 " of the %d bytes of its header",
		                    map->size, SB_HEADER_SIZE);
	return 0;
}

/* A section that must be in the file as a whole. */
static int check_section(const struct mapped_file *map, struct section section, const char *what,
                         struct sb_error *err)
{
	if (section.offset > map->size || section.size > map->size - section.offset)
		return sb_error_set(err, -sbe_truncated, map->path, map->size,
		                    "the file ends here; its %s are at offset 0x%" PRIx64 ", %" PRIu64
		                    " bytes",
		                    what, section.offset, section.size);
	return 0;
}

/* Attributes may claim the same ids over and over: more than the file has room for are refused. */
static int read_ids(struct sb_perfdata *perfdata, struct section ids, struct sb_error *err)
{
	const struct mapped_file *map = &perfdata->file->map;
	size_t count = ids.size / 8;
	int status = check_section(map, ids, "event ids", err);

	if (status < 0)
		return status;
	if (ids.size % 8 || count > map->size / 8 - perfdata->nids)
		return sb_error_set(err, -sbe_format, map->path, ids.offset,
		                    "attribute %" PRIu32 " has %" PRIu64 " bytes of ids: %s",
		                    perfdata->nattrs - 1, ids.size,
		                    ids.size % 8 ? "no multiple of 8"
		                                 : "with the others', more than the file holds");
	return sb_perfdata_add_ids(perfdata, map->bytes + ids.offset, count, err);
}

static int read_attrs(struct sb_perfdata *perfdata, struct section attrs, uint64_t attr_size,
                      struct sb_error *err)
{
	const struct mapped_file *map = &perfdata->file->map;
	int status = check_section(map, attrs, "attributes", err);
	uint64_t i, count;

	if (status < 0)
		return status;
	if (attr_size < SB_ATTR_MIN_SIZE + SB_SECTION_SIZE || attr_size > SB_ATTR_MAX_SIZE || !attrs.size ||
	    attrs.size % attr_size || attrs.size / attr_size > UINT32_MAX)
		return sb_error_set(err, -sbe_format, map->path, 16,
		                    "%" PRIu64 " bytes of attributes of %" PRIu64
		                    " bytes each; a multiple of %d to %d bytes is expected",
		                    attrs.size, attr_size, SB_ATTR_MIN_SIZE + SB_SECTION_SIZE,
		                    SB_ATTR_MAX_SIZE);
	count = attrs.size / attr_size;
	for (i = 0; i < count && status == 0; i++) {
		const uint8_t *bytes = map->bytes + attrs.offset + i * attr_size;

		status = sb_perfdata_add_attr(perfdata, bytes, attr_size - SB_SECTION_SIZE, err);
		if (status == 0)
			status = read_ids(perfdata, load_section(bytes + attr_size - SB_SECTION_SIZE), err);
	}
	return status;
}

/* Where the records are. An interrupted recording has no data size: they go on to the file's end. */
static int set_records(struct sb_perfdata *perfdata, struct section data, struct sb_error *err)
{
	struct record_file *file = &perfdata->file[0];

	if (data.offset < SB_HEADER_SIZE || data.size > UINT64_MAX - data.offset)
		return sb_error_set(err, -sbe_format, file->map.path, 40,
		                    "the records are at offset 0x%" PRIx64 ", %" PRIu64
		                    " bytes, which cannot be",
		                    data.offset, data.size);
	perfdata->info.interrupted = !data.size;
	file->promised_end = data.size ? data.offset + data.size : data.offset;
	sb_record_file_set(file, data.offset, data.size ? file->promised_end : UINT64_MAX);
	return 0;
}

static int read_sections(struct sb_perfdata *perfdata, struct sb_error *err)
{
	const uint8_t *bytes = perfdata->file->map.bytes;
	int status = check_size(&perfdata->file->map, load_u64(bytes + 8), err);

	if (status == 0)
		status = read_attrs(perfdata, load_section(bytes + 24), load_u64(bytes + 16), err);
	if (status == 0)
		status = sb_perfdata_settle_attrs(perfdata, err);
	if (status == 0)
		status = set_records(perfdata, load_section(bytes + 40), err);
	return status < 0 ? status : sb_perfdata_read_features(perfdata, err);
}

int sb_perfdata_read_header(struct sb_perfdata *perfdata, struct sb_error *err)
{
	const struct mapped_file *map = &perfdata->file->map;
	int status;

	if (map->size < SB_HEADER_PIPE_SIZE)
		return sb_error_set(err, -sbe_truncated, map->path, 0,
		                    "the file has %" PRIu64 " bytes; a perf.data begins with a header of %d",
		                    map->size, SB_HEADER_SIZE);
	status = sb_perfdata_check_magic(map->bytes, map->path, err);
	if (status < 0)
		return status;
	if (load_u64(map->bytes + 8) == SB_HEADER_PIPE_SIZE)
		return sb_perfdata_read_pipe(perfdata, err);
	return read_sections(perfdata, err);
}
