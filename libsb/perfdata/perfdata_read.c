/* perfdata_read.c - opening and closing a recording, and walking its records.
 *
 * What kind of recording a path is, is decided here; both kinds end as record files and a common
 * cursor. The walk trusts nothing: each record is checked against the end of its stretch, and the
 * sample trailer is read as the attribute says to which the record's identifier belongs.
 */
#include "perfdata/perfdata_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "record/bytes.h"

void sb_perfdata_note_damage(struct sb_perfdata *perfdata, const struct sb_error *err)
{
	if (!perfdata->damage.code)
		perfdata->damage = *err;
}

static int open_perf_data(struct sb_perfdata *perfdata, const char *path, struct sb_error *err)
{
	int status;

	perfdata->file = calloc(1, sizeof(*perfdata->file));
	if (!perfdata->file)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	perfdata->nfiles = 1;
	perfdata->file->cpu = -1;
	status = sb_mapped_file_open(&perfdata->file->map, path, err);
	if (status == 0)
		status = sb_perfdata_read_header(perfdata, err);
	if (status == 0)
		status = sb_perfdata_read_features(perfdata, err);
	return status;
}

static int open_directory(struct sb_perfdata *perfdata, const char *path, struct sb_error *err)
{
	char *data = sb_path_join(path, "data");
	struct stat status;
	int result;

	if (!data)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	if (stat(data, &status) == 0)
		result = open_perf_data(perfdata, data, err);
	else
		result = sb_perfdata_read_raw(perfdata, path, err);
	free(data);
	return result;
}

static int open_path(struct sb_perfdata *perfdata, const char *path, struct sb_error *err)
{
	struct stat status;
	int result;

	perfdata->path = strdup(path);
	if (!perfdata->path)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	if (stat(path, &status) < 0)
		return sb_error_set(err, errno == ENOENT ? -sbe_not_found : -sbe_io, path, UINT64_MAX, "%s",
		                    strerror(errno));
	if (S_ISDIR(status.st_mode))
		result = open_directory(perfdata, path, err);
	else
		result = open_perf_data(perfdata, path, err);
	return result < 0 ? result : sb_perfdata_index(perfdata, err);
}

int sb_perfdata_open(struct sb_perfdata **perfdata, const char *path, struct sb_error *err)
{
	int status;

	if (!perfdata || !path)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX,
		                    "sb_perfdata_open: an argument is NULL");
	*perfdata = calloc(1, sizeof(**perfdata));
	if (!*perfdata)
		return sb_error_set(err, -sbe_nomem, path, UINT64_MAX, "out of memory");
	status = open_path(*perfdata, path, err);
	build_ids_seal(&(*perfdata)->build_ids);
	if (status < 0) {
		sb_perfdata_close(*perfdata);
		*perfdata = NULL;
	}
	return status;
}

void sb_perfdata_close(struct sb_perfdata *perfdata)
{
	size_t i;

	if (!perfdata)
		return;
	for (i = 0; i < perfdata->nfiles; i++)
		sb_mapped_file_close(&perfdata->file[i].map);
	for (i = 0; i < perfdata->ntraces; i++)
		sb_mapped_file_close(&perfdata->trace[i]);
	build_ids_free(&perfdata->build_ids);
	free(perfdata->file);
	free(perfdata->trace);
	free(perfdata->attr);
	free(perfdata->id);
	free(perfdata->chunk);
	free(perfdata->stream);
	tracing_data_free(&perfdata->tracepoints);
	free(perfdata->path);
	free(perfdata);
}

int sb_perfdata_build_id(const struct sb_perfdata *perfdata, const char *filename, uint8_t id[20])
{
	return build_ids_find(&perfdata->build_ids, filename, id);
}

const char *sb_perfdata_path(const struct sb_perfdata *perfdata)
{
	return perfdata->path;
}

const struct sb_perfdata_info *sb_perfdata_info(const struct sb_perfdata *perfdata)
{
	return &perfdata->info;
}

const struct sb_aux_stream *sb_perfdata_streams(const struct sb_perfdata *perfdata, size_t *count)
{
	*count = perfdata->nstreams;
	return perfdata->stream;
}

/* With the pages around it that Linux maps along with one that is touched: others may have been done with
 * them already, and where not, they come back as easily. */
static void release_part(const struct mapped_file *map, const uint8_t *begin, const uint8_t *end)
{
	enum { MAPPED_ALONG = 1 << 16 };
	const uintptr_t first = (uintptr_t)map->bytes;
	uintptr_t from = (uintptr_t)begin, to = (uintptr_t)end;

	if (!map->bytes || from < first || to < from || to - first > map->size)
		return;
	from = from / MAPPED_ALONG * MAPPED_ALONG;
	to = (to + MAPPED_ALONG - 1) / MAPPED_ALONG * MAPPED_ALONG;
	sb_mapped_file_release(map, from < first ? 0 : from - first,
	                       to - first < map->size ? to - first : map->size);
}

void sb_perfdata_release(const struct sb_perfdata *perfdata, const uint8_t *begin, const uint8_t *end)
{
	for (uint32_t i = 0; i < perfdata->nfiles; ++i)
		release_part(&perfdata->file[i].map, begin, end);
	for (size_t i = 0; i < perfdata->ntraces; ++i)
		release_part(&perfdata->trace[i], begin, end);
}

const struct sb_error *sb_perfdata_damage(const struct sb_perfdata *perfdata)
{
	return perfdata->damage.code ? &perfdata->damage : NULL;
}

void sb_perfdata_begin(const struct sb_perfdata *perfdata, struct sb_perfdata_cursor *cursor)
{
	cursor->perfdata = perfdata;
	cursor->file = 0;
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
		return perfdata->uniform || size < 16 ? 0 : size - 8;
	if (perfdata->one_sample_format || perfdata->sample_id_at < 0 ||
	    size < 16 + (size_t)perfdata->sample_id_at)
		return 0;
	return 8 + (size_t)perfdata->sample_id_at;
}

/* The format by the identifier in the record. Records that perf made up have identifier 0 and the first
 * attribute's. */
static int find_trailer(const struct sb_perfdata *perfdata, const uint8_t *bytes, uint64_t avail,
                        uint64_t offset, const struct record_trailer **trailer, struct sb_error *err)
{
	const struct id_attr *entry;
	uint32_t type, size;
	size_t at;
	uint64_t id;

	*trailer = &perfdata->attr[0].trailer;
	if (avail < 8)
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
		return sb_error_set(err, -sbe_format, perfdata->file[0].map.path, offset,
		                    "a record of type %" PRIu32 " (%s) has identifier %" PRIu64
		                    ", which is none of the %zu that the attributes name",
		                    type, sb_record_name(type), id, perfdata->nids);
	*trailer = &perfdata->attr[entry->attr].trailer;
	return 0;
}

/* Bytes that follow the record and are not counted in its size. */
static uint64_t payload_size(const struct sb_record *record)
{
	if (record->type == SB_RECORD_AUXTRACE)
		return record->u.auxtrace.size;
	if (record->type == SB_RECORD_TRACING_DATA)
		return ((uint64_t)load_u32(record->bytes + 8) + 7) & ~(uint64_t)7;
	return 0;
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* At, or past, the end of a file's records: whether that is where they should end. */
static int check_end(const struct record_file *file, uint64_t offset, struct sb_error *err)
{
	if (offset > file->end)
		return sb_error_set(err, -sbe_truncated, file->map.path, file->end,
		                    "the data end %" PRIu64 " bytes short of the end of a record's payload",
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
	sb_mapped_file_release(&file->map, cursor->released, end);
	cursor->released = end;
}

/* The file that the next record is in. Zero when there is one, positive at the end, or a negative code. */
static int find_file(struct sb_perfdata_cursor *cursor, struct sb_error *err)
{
	const struct sb_perfdata *perfdata = cursor->perfdata;
	const struct record_file *file = &perfdata->file[cursor->file];
	int status;

	while (!cursor->done && cursor->offset >= file->end) {
		status = check_end(file, cursor->offset, err);
		if (status < 0)
			return status;
		if (cursor->file + 1 == perfdata->nfiles) {
			cursor->done = 1;
			break;
		}
		file = &perfdata->file[++cursor->file];
		cursor->offset = cursor->released = file->begin;
	}
	return cursor->done;
}

int sb_perfdata_next(struct sb_perfdata_cursor *cursor, struct sb_record *record, struct sb_error *err)
{
	const struct sb_perfdata *perfdata = cursor->perfdata;
	const struct record_trailer *trailer;
	const struct record_file *file;
	const uint8_t *bytes;
	uint64_t avail;
	int status;

	status = find_file(cursor, err);
	if (status)
		return status < 0 ? status : 0;
	file = &perfdata->file[cursor->file];
	release(cursor, file);
	bytes = file->map.bytes + cursor->offset;
	prefetch(bytes);
	avail = file->end - cursor->offset;
	status = find_trailer(perfdata, bytes, avail, cursor->offset, &trailer, err);
	if (status == 0)
		status = record_parse(record, bytes, avail, trailer, file->map.path, cursor->offset, err);
	if (status < 0)
		return status;
	if (file->cpu >= 0 && !(record->sample.has & PERF_SAMPLE_CPU)) {
		record->sample.cpu = (uint32_t)file->cpu;
		record->sample.has |= PERF_SAMPLE_CPU;
	}
	if (record->type == PERF_RECORD_SAMPLE && perfdata->sched_switch)
		sb_perfdata_read_sched_switch(perfdata, record);
	cursor->offset = add_saturating(cursor->offset + record->size, payload_size(record));
	return 1;
}

const char *sb_perfdata_cursor_file(const struct sb_perfdata_cursor *cursor)
{
	return cursor->perfdata->file[cursor->file].map.path;
}

void sb_perfdata_pass_records(struct sb_perfdata_cursor *cursor, const struct record_sizes *sizes)
{
	const struct record_file *file = &cursor->perfdata->file[cursor->file];

	while (cursor->offset < file->end && file->end - cursor->offset >= 8) {
		const uint8_t *bytes = file->map.bytes + cursor->offset;
		const uint32_t type = load_u32(bytes), size = load_u16(bytes + 6);

		prefetch(bytes);
		if (type >= RECORD_KERNEL_TYPES || !sizes->right_from[type] ||
		    size < sizes->right_from[type] || size > file->end - cursor->offset)
			return;
		cursor->offset += size;
		release(cursor, file);
	}
}
