/* perfdata_header.c - the header of a perf.data file: sections, attributes and their ids.
 *
 * Attributes come in many sizes; what is not there counts as zero, what is newer than we are is not
 * looked at. Format: perf.data-file-format.txt, perf_event_open(2).
 */
#include "perfdata/perfdata_internal.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "record/bytes.h"

struct section {
	uint64_t offset, size;
};

static struct section load_section(const uint8_t *p)
{
	return (struct section){load_u64(p), load_u64(p + 8)};
}

static int check_magic(const struct mapped_file *map, struct sb_error *err)
{
	if (map->size < 16)
		return sb_error_set(err, -sbe_truncated, map->path, 0,
		                    "the file has %" PRIu64 " bytes; a perf.data begins with a header of %d",
		                    map->size, SB_HEADER_SIZE);
	if (!memcmp(map->bytes, "2ELIFREP", 8))
		return sb_error_set(err, -sbe_unsupported, map->path, 0,
		                    "recorded on a machine of the other byte order, which is not read yet");
	if (!memcmp(map->bytes, "PERFFILE", 8))
		return sb_error_set(err, -sbe_unsupported, map->path, 0,
		                    "a perf.data of version 1 (before Linux 3.2), which is not read");
	if (memcmp(map->bytes, "PERFILE2", 8))
		return sb_error_set(err, -sbe_format, map->path, 0,
		                    "not a perf.data: it does not begin with PERFILE2");
	return 0;
}

static int check_header(const struct mapped_file *map, struct sb_error *err)
{
	uint64_t size;
	int status = check_magic(map, err);

	if (status < 0)
		return status;
	size = load_u64(map->bytes + 8);
	if (size == SB_HEADER_PIPE_SIZE)
		return sb_error_set(err, -sbe_unsupported, map->path, 8,
		                    "written to a pipe (perf record -o -), which is not read yet; "
		                    "record to a file instead");
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

static void read_attr(struct event_attr *attr, const uint8_t *bytes, uint64_t room)
{
	struct perf_event_attr raw;
	uint64_t size = load_u32(bytes + 4);

	/* Its size is 0 in the first version, and may not be more than the file's entry has room for. */
	if (size < SB_ATTR_MIN_SIZE)
		size = SB_ATTR_MIN_SIZE;
	if (size > room)
		size = room;
	memset(&raw, 0, sizeof(raw));
	memcpy(&raw, bytes, size < sizeof(raw) ? size : sizeof(raw));
	attr->type = raw.type;
	attr->config = raw.config;
	attr->trailer =
	        record_trailer(&(struct sb_sample_format){.sample_type = raw.sample_type,
	                                                  .sample_id_all = raw.sample_id_all,
	                                                  .read_format = raw.read_format,
	                                                  .branch_sample_type = raw.branch_sample_type,
	                                                  .sample_regs_user = raw.sample_regs_user,
	                                                  .sample_regs_intr = raw.sample_regs_intr});
	attr->exclude_user = raw.exclude_user;
	attr->exclude_kernel = raw.exclude_kernel;
	attr->use_clockid = raw.use_clockid;
}

/* Attributes may claim the same ids over and over: more than the file has room for are refused. */
static int read_ids(struct sb_perfdata *perfdata, uint32_t attr, struct section ids, struct sb_error *err)
{
	const struct mapped_file *map = &perfdata->file->map;
	size_t count = ids.size / 8, i;
	struct id_attr *grown;
	int status = check_section(map, ids, "event ids", err);

	if (status < 0)
		return status;
	if (ids.size % 8 || count > map->size / 8 - perfdata->nids)
		return sb_error_set(err, -sbe_format, map->path, ids.offset,
		                    "attribute %" PRIu32 " has %" PRIu64 " bytes of ids: %s", attr, ids.size,
		                    ids.size % 8 ? "no multiple of 8"
		                                 : "with the others', more than the file holds");
	if (!count)
		return 0;
	grown = reallocarray(perfdata->id, perfdata->nids + count, sizeof(*grown));
	if (!grown)
		return sb_error_set(err, -sbe_nomem, map->path, UINT64_MAX, "out of memory");
	perfdata->id = grown;
	for (i = 0; i < count; i++)
		grown[perfdata->nids++] = (struct id_attr){load_u64(map->bytes + ids.offset + 8 * i), attr};
	return 0;
}

static int read_attrs(struct sb_perfdata *perfdata, struct section attrs, uint64_t attr_size,
                      struct sb_error *err)
{
	const struct mapped_file *map = &perfdata->file->map;
	int status = check_section(map, attrs, "attributes", err);
	uint32_t i;

	if (status < 0)
		return status;
	if (attr_size < SB_ATTR_MIN_SIZE + SB_SECTION_SIZE || attr_size > SB_ATTR_MAX_SIZE || !attrs.size ||
	    attrs.size % attr_size || attrs.size / attr_size > UINT32_MAX)
		return sb_error_set(err, -sbe_format, map->path, 16,
		                    "%" PRIu64 " bytes of attributes of %" PRIu64
		                    " bytes each; a multiple of %d to %d bytes is expected",
		                    attrs.size, attr_size, SB_ATTR_MIN_SIZE + SB_SECTION_SIZE,
		                    SB_ATTR_MAX_SIZE);
	perfdata->nattrs = (uint32_t)(attrs.size / attr_size);
	perfdata->attr = calloc(perfdata->nattrs, sizeof(*perfdata->attr));
	if (!perfdata->attr)
		return sb_error_set(err, -sbe_nomem, map->path, UINT64_MAX, "out of memory");
	for (i = 0; i < perfdata->nattrs && status == 0; i++) {
		const uint8_t *bytes = map->bytes + attrs.offset + i * attr_size;

		read_attr(&perfdata->attr[i], bytes, attr_size - SB_SECTION_SIZE);
		status = read_ids(perfdata, i, load_section(bytes + attr_size - SB_SECTION_SIZE), err);
	}
	return status;
}

static int by_id(const void *a, const void *b)
{
	const struct id_attr *left = a, *right = b;

	if (left->id != right->id)
		return left->id < right->id ? -1 : 1;
	return left->attr < right->attr ? -1 : left->attr > right->attr;
}

/* Where a SAMPLE's body has its identifier; -1: nowhere. */
static int sample_id_at(uint64_t sample_type)
{
	const uint64_t before = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;

	if (sample_type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	return sample_type & PERF_SAMPLE_ID ? 8 * __builtin_popcountll(sample_type & before) : -1;
}

/* How to find out which event a SAMPLE belongs to, as far as it matters. */
static void compare_samples(struct sb_perfdata *perfdata)
{
	const struct sb_sample_format *first = &perfdata->attr[0].trailer.format;

	perfdata->one_sample_format = 1;
	perfdata->sample_id_at = sample_id_at(first->sample_type);
	for (uint32_t i = 1; i < perfdata->nattrs; i++) {
		const struct sb_sample_format *format = &perfdata->attr[i].trailer.format;

		if (sample_id_at(format->sample_type) != perfdata->sample_id_at)
			perfdata->sample_id_at = -1;
		if (memcmp(format, first, sizeof(*format)))
			perfdata->one_sample_format = 0;
	}
}

static int check_formats(struct sb_perfdata *perfdata, struct sb_error *err)
{
	uint64_t first = perfdata->attr[0].trailer.fields;
	uint64_t common = UINT64_MAX;
	uint32_t i;

	perfdata->uniform = 1;
	for (i = 0; i < perfdata->nattrs; i++) {
		uint64_t layout = perfdata->attr[i].trailer.fields;

		common &= layout;
		if (layout != first)
			perfdata->uniform = 0;
	}
	if (!perfdata->uniform && !(common & PERF_SAMPLE_IDENTIFIER))
		return sb_error_set(err, -sbe_unsupported, perfdata->file->map.path, UINT64_MAX,
		                    "its events lay out their sample trailers differently, and no identifier "
		                    "says which event a record belongs to");
	compare_samples(perfdata);
	if (perfdata->nids)
		qsort(perfdata->id, perfdata->nids, sizeof(*perfdata->id), by_id);
	return 0;
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
	file->begin = data.offset < file->map.size ? data.offset : file->map.size;
	file->end = data.size && file->promised_end < file->map.size ? file->promised_end : file->map.size;
	return 0;
}

int sb_perfdata_read_header(struct sb_perfdata *perfdata, struct sb_error *err)
{
	const uint8_t *bytes = perfdata->file->map.bytes;
	int status = check_header(&perfdata->file->map, err);

	if (status == 0)
		status = read_attrs(perfdata, load_section(bytes + 24), load_u64(bytes + 16), err);
	if (status == 0)
		status = check_formats(perfdata, err);
	if (status == 0)
		status = set_records(perfdata, load_section(bytes + 40), err);
	return status;
}
