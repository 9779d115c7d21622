/* attrs.c - the events of a recording: their attributes, the ids that records name them by, and what tells
 * the records of one from those of another.
 *
 * Attributes come in many sizes; what is not there counts as zero, what is newer than we are is not looked
 * at. Format: perf_event_open(2).
 */
#include "perfdata/perfdata_internal.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "record/bytes.h"

static int out_of_memory(const struct sb_perfdata *perfdata, struct sb_error *err)
{
	return sb_error_set(err, -sbe_nomem, perfdata->file->map.path, UINT64_MAX, "out of memory");
}

uint64_t sb_attr_size(const uint8_t *bytes)
{
	const uint64_t size = load_u32(bytes + 4);

	return size < SB_ATTR_MIN_SIZE ? SB_ATTR_MIN_SIZE : size;
}

static void read_attr(struct event_attr *attr, const uint8_t *bytes, uint64_t room)
{
	struct perf_event_attr raw;
	uint64_t size = sb_attr_size(bytes);

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
	                                                  .sample_regs_intr = raw.sample_regs_intr,
	                                                  .build_id = raw.build_id});
	attr->exclude_user = raw.exclude_user;
	attr->exclude_kernel = raw.exclude_kernel;
	attr->use_clockid = raw.use_clockid;
}

int sb_perfdata_add_attr(struct sb_perfdata *perfdata, const uint8_t *bytes, uint64_t room,
                         struct sb_error *err)
{
	struct event_attr *grown = sb_array_room(perfdata->attr, perfdata->nattrs, sizeof(*grown));

	if (!grown)
		return out_of_memory(perfdata, err);
	perfdata->attr = grown;
	memset(&grown[perfdata->nattrs], 0, sizeof(*grown));
	read_attr(&grown[perfdata->nattrs++], bytes, room);
	return 0;
}

int sb_perfdata_add_ids(struct sb_perfdata *perfdata, const uint8_t *ids, size_t count, struct sb_error *err)
{
	struct id_attr *grown;

	for (size_t i = 0; i < count; i++) {
		grown = sb_array_room(perfdata->id, perfdata->nids, sizeof(*grown));
		if (!grown)
			return out_of_memory(perfdata, err);
		perfdata->id = grown;
		grown[perfdata->nids++] = (struct id_attr){load_u64(ids + 8 * i), perfdata->nattrs - 1};
	}
	return 0;
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

/* Which event a mapping's record is of does not matter. */
static void spread_build_id(struct sb_perfdata *perfdata)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < perfdata->nattrs; i++)
		any |= perfdata->attr[i].trailer.format.build_id;
	for (uint32_t i = 0; i < perfdata->nattrs; i++)
		perfdata->attr[i].trailer.format.build_id = any;
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

/* How far before a record's end the trailer has an identifier; 0: it has none. Before Linux 3.12 there was no
 * IDENTIFIER; an ID does as well. */
static uint32_t trailer_id_from_end(uint64_t fields)
{
	const uint64_t behind = PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;

	if (fields & PERF_SAMPLE_IDENTIFIER)
		return 8;
	return fields & PERF_SAMPLE_ID ? 8 + 8 * (uint32_t)__builtin_popcountll(fields & behind) : 0;
}

static int compare_trailers(struct sb_perfdata *perfdata, struct sb_error *err)
{
	const uint64_t first = perfdata->attr[0].trailer.fields;
	const uint32_t at = trailer_id_from_end(first);
	int found = at != 0;

	perfdata->uniform = 1;
	perfdata->id_from_end = at;
	for (uint32_t i = 1; i < perfdata->nattrs; i++) {
		const uint64_t fields = perfdata->attr[i].trailer.fields;

		if (fields != first)
			perfdata->uniform = 0;
		if (trailer_id_from_end(fields) != at)
			found = 0;
	}
	if (!perfdata->uniform && !found)
		return sb_error_set(err, -sbe_unsupported, perfdata->file->map.path, UINT64_MAX,
		                    "its events lay out their sample trailers differently, and no identifier "
		                    "says which event a record belongs to");
	return 0;
}

int sb_perfdata_settle_attrs(struct sb_perfdata *perfdata, struct sb_error *err)
{
	const int status = compare_trailers(perfdata, err);

	if (status < 0)
		return status;
	spread_build_id(perfdata);
	compare_samples(perfdata);
	if (perfdata->nids)
		qsort(perfdata->id, perfdata->nids, sizeof(*perfdata->id), by_id);
	return 0;
}
