/* cursor.c - walking the records of a recording.
 *
 * The walk trusts nothing: each record is checked against the end of its stretch, and the sample trailer is
 * read as the attribute says to which the record's identifier belongs. A recording in several files goes on
 * with the next one where one is damaged, and ends with the first damage.
 */
#include "perfdata/perfdata_internal.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "record/bytes.h"

enum { HEADER_SIZE = 8 };

void sb_perfdata_begin(const struct sb_perfdata *perfdata, struct sb_perfdata_cursor *cursor)
{
	memset(cursor, 0, sizeof(*cursor));
	cursor->perfdata = perfdata;
	cursor->done = perfdata->nfiles == 0;
	cursor->offset = cursor->released = cursor->done ? 0 : perfdata->file[0].begin;
}

static int compare_id(const void *key, const void *element)
{
	uint64_t id = *(const uint64_t *)key;
	const struct id_attr *entry = element;

	return id < entry->id ? -1 : id > entry->id;
}

const struct id_attr *sb_perfdata_find_id(const struct sb_perfdata *perfdata, uint64_t id)
{
	return perfdata->nids ? bsearch(&id, perfdata->id, perfdata->nids, sizeof(*perfdata->id), compare_id)
	                      : NULL;
}

/* Where a record has its identifier, or 0: it has none, need not be asked for it, or is too short for one,
 * which is left for record_parse() to refuse. */
static size_t id_position(const struct sb_perfdata *perfdata, uint32_t type, uint32_t size)
{
	if (type >= SB_RECORD_HEADER_ATTR)
		return 0;
	if (type != PERF_RECORD_SAMPLE)
		return perfdata->uniform || size < HEADER_SIZE + perfdata->id_from_end
		               ? 0
		               : size - perfdata->id_from_end;
	if (perfdata->one_sample_format || perfdata->sample_id_at < 0 ||
	    size < 16 + (size_t)perfdata->sample_id_at)
		return 0;
	return HEADER_SIZE + (size_t)perfdata->sample_id_at;
}

/* The format by the identifier in the record. Records that perf made up have identifier 0 and the first
 * attribute's. */
static int find_trailer(const struct sb_perfdata *perfdata, const uint8_t *bytes, uint64_t avail,
                        const char *file, uint64_t offset, const struct record_trailer **trailer,
                        struct sb_error *err)
{
	const struct id_attr *entry;
	uint32_t type, size;
	size_t at;
	uint64_t id;

	*trailer = &perfdata->attr[0].trailer;
	if (avail < HEADER_SIZE)
		return 0;
	type = load_u32(bytes);
	size = load_u16(bytes + 6);
	if (type == PERF_RECORD_SAMPLE && !perfdata->one_sample_format && perfdata->sample_id_at < 0)
		*trailer = &perfdata->no_format;
	at = size > avail ? 0 : id_position(perfdata, type, size);
	id = at ? load_u64(bytes + at) : 0;
	if (!id)
		return 0;
	entry = sb_perfdata_find_id(perfdata, id);
	if (!entry)
		return sb_error_set(err, -sbe_format, file, offset,
		                    "a record of type %" PRIu32 " (%s) has identifier %" PRIu64
		                    ", which is none of the %zu that the attributes name",
		                    type, sb_record_name(type), id, perfdata->nids);
	*trailer = &perfdata->attr[entry->attr].trailer;
	return 0;
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Bytes that follow the record and are not counted in its size. */
static uint64_t payload_size(uint32_t type, const uint8_t *bytes)
{
	if (type == SB_RECORD_AUXTRACE)
		return load_u64(bytes + HEADER_SIZE);
	if (type == SB_RECORD_TRACING_DATA)
		return ((uint64_t)load_u32(bytes + HEADER_SIZE) + 7) & ~(uint64_t)7;
	return 0;
}

uint64_t sb_record_stride(const uint8_t *bytes, uint64_t avail)
{
	uint64_t size, need = HEADER_SIZE;
	uint32_t type;

	if (avail < HEADER_SIZE)
		return 0;
	type = load_u32(bytes);
	size = load_u16(bytes + 6);
	if (type == SB_RECORD_COMPRESSED2 && !size)
		return SB_COMPRESSED2_WRAPPED_SIZE;
	if (type == SB_RECORD_AUXTRACE)
		need += 8;
	if (type == SB_RECORD_TRACING_DATA)
		need += 4;
	return size < need || avail < need ? 0 : add_saturating(size, payload_size(type, bytes));
}

/* At, or past, the end of a file's records: whether that is where they should end. */
static int check_end(const struct record_file *file, uint64_t offset, struct sb_error *err)
{
	if (file->unpacked) {
		if (file->unpacked->damage.code && err)
			*err = file->unpacked->damage;
		return file->unpacked->damage.code;
	}
	if (offset > file->end)
		return sb_error_set(err, -sbe_truncated, file->map.path, file->end,
		                    "the data are cut off here, %" PRIu64
		                    " bytes short of the end of a record's payload",
		                    offset - file->end);
	if (file->promised_end > file->end)
		return sb_error_set(err, -sbe_truncated, file->map.path, file->end,
		                    "the file ends here; its header promises records up to offset 0x%" PRIx64,
		                    file->promised_end);
	return 0;
}

/* Records are read faster than the processor foresees. Past the file's end it does no harm. */
static inline void prefetch(const uint8_t *bytes)
{
	enum { AHEAD = 1024 };

	__builtin_prefetch((const void *)((uintptr_t)bytes + AHEAD));
}

/* Of a large file, only what is looked at now stays in memory. */
static void release(struct sb_perfdata_cursor *cursor, const struct record_file *file)
{
	enum { WINDOW = 4 << 20 };
	const uint64_t end = cursor->offset < file->end ? cursor->offset : file->end;

	if (end - cursor->released < WINDOW)
		return;
	sb_mapped_file_release(file->unpacked ? &file->unpacked->map : &file->map, cursor->released, end);
	cursor->released = end;
}

static void go_to(struct sb_perfdata_cursor *cursor, uint32_t file, uint64_t offset)
{
	cursor->file = file;
	cursor->offset = cursor->released = offset;
	cursor->origin = 0;
}

/* What ends the walk over a file is told when all were walked. Whether there is another one. */
static int leave_damaged(struct sb_perfdata_cursor *cursor)
{
	const struct sb_perfdata *perfdata = cursor->perfdata;

	if (cursor->is_last || (cursor->file + 1 == perfdata->nfiles && !cursor->is_damaged))
		return 0;
	if (!cursor->is_damaged) {
		cursor->is_damaged = 1;
		cursor->damaged_file = cursor->file;
		cursor->damaged_offset = cursor->offset;
	}
	if (cursor->file + 1 < perfdata->nfiles) {
		go_to(cursor, cursor->file + 1, perfdata->file[cursor->file + 1].begin);
	} else {
		cursor->is_last = 1;
		go_to(cursor, cursor->damaged_file, cursor->damaged_offset);
	}
	return 1;
}

/* The file that the next record is in. Zero when there is one, positive at the end, or a negative code. */
static int find_file(struct sb_perfdata_cursor *cursor, struct sb_error *err)
{
	const struct sb_perfdata *perfdata = cursor->perfdata;

	while (!cursor->done && cursor->offset >= perfdata->file[cursor->file].end) {
		const int status = check_end(&perfdata->file[cursor->file], cursor->offset, err);

		if (status < 0 && leave_damaged(cursor))
			continue;
		if (status < 0)
			return status;
		if (cursor->file + 1 < perfdata->nfiles)
			go_to(cursor, cursor->file + 1, perfdata->file[cursor->file + 1].begin);
		else if (cursor->is_damaged)
			leave_damaged(cursor);
		else
			cursor->done = 1;
	}
	return cursor->done;
}

/* Where in its file the record lies, or what it was packed in. */
static uint64_t file_offset(struct sb_perfdata_cursor *cursor, const struct record_file *file)
{
	const struct unpacked *unpacked = file->unpacked;

	if (!unpacked)
		return cursor->offset;
	while (cursor->origin + 1 < unpacked->norigins &&
	       unpacked->origin[cursor->origin + 1].at <= cursor->offset)
		cursor->origin++;
	return unpacked->origin[cursor->origin].file_offset +
	       (cursor->offset - unpacked->origin[cursor->origin].at);
}

static int parse(struct sb_perfdata_cursor *cursor, struct sb_record *record, struct sb_error *err)
{
	const struct sb_perfdata *perfdata = cursor->perfdata;
	const struct record_file *file = &perfdata->file[cursor->file];
	const uint8_t *bytes = file->records + cursor->offset;
	const uint64_t avail = file->end - cursor->offset, offset = file_offset(cursor, file);
	const struct record_trailer *trailer;
	int status;

	prefetch(bytes);
	status = find_trailer(perfdata, bytes, avail, file->map.path, offset, &trailer, err);
	if (status == 0)
		status = record_parse(record, bytes, avail, trailer, file->map.path, offset, err);
	if (status < 0)
		return status;
	if (file->cpu >= 0 && !(record->sample.has & PERF_SAMPLE_CPU)) {
		record->sample.cpu = (uint32_t)file->cpu;
		record->sample.has |= PERF_SAMPLE_CPU;
	}
	if (record->type == PERF_RECORD_SAMPLE && perfdata->sched_switch)
		sb_perfdata_read_sched_switch(perfdata, record);
	cursor->offset += record->size;
	/* Payloads are not unpacked along with their records. */
	if (!file->unpacked)
		cursor->offset = add_saturating(cursor->offset, payload_size(record->type, bytes));
	return 1;
}

int sb_perfdata_next(struct sb_perfdata_cursor *cursor, struct sb_record *record, struct sb_error *err)
{
	int status;

	do {
		status = find_file(cursor, err);
		if (status)
			return status < 0 ? status : 0;
		release(cursor, &cursor->perfdata->file[cursor->file]);
		status = parse(cursor, record, err);
	} while (status < 0 && leave_damaged(cursor));
	return status;
}

const char *sb_perfdata_cursor_file(const struct sb_perfdata_cursor *cursor)
{
	return cursor->perfdata->file[cursor->file].map.path;
}

uint32_t sb_perfdata_peek(struct sb_perfdata_cursor *cursor)
{
	const struct record_file *file;
	const uint8_t *bytes;

	if (find_file(cursor, NULL))
		return 0;
	file = &cursor->perfdata->file[cursor->file];
	bytes = file->records + cursor->offset;
	return sb_record_stride(bytes, file->end - cursor->offset) ? load_u32(bytes) : 0;
}

void sb_perfdata_pass_records(struct sb_perfdata_cursor *cursor, const struct record_sizes *sizes)
{
	const struct record_file *file = &cursor->perfdata->file[cursor->file];

	while (cursor->offset < file->end && file->end - cursor->offset >= HEADER_SIZE) {
		const uint8_t *bytes = file->records + cursor->offset;
		const uint32_t type = load_u32(bytes), size = load_u16(bytes + 6);

		prefetch(bytes);
		if (type >= RECORD_KERNEL_TYPES || !sizes->right_from[type] ||
		    size < sizes->right_from[type] || size > file->end - cursor->offset)
			return;
		cursor->offset += size;
		release(cursor, file);
	}
}
