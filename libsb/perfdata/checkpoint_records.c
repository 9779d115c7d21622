/* checkpoint_records.c - the records that a checkpoint keeps: all but those that only tell who ran.
 *
 * They stand in for the recording's own as what was unpacked does for packed ones (struct unpacked): in one
 * piece, with a table of where they come from.
 */
#include "perfdata/checkpoint_file.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata/perfdata_internal.h"

static int fail_nomem(const struct sb_perfdata *perfdata, struct sb_error *err)
{
	return sb_error_set(err, -sbe_nomem, perfdata->path, UINT64_MAX, "out of memory");
}

const struct sb_checkpoint *checkpoint_of(const struct sb_perfdata *perfdata)
{
	return perfdata->checkpoint;
}

/* ---- Writing ------------------------------------------------------------------------------------ */

/* What came through a pipe has its attributes among the records; what may repeat itself is told apart by its
 * bytes alone; what is damaged may be cut anywhere. */
int checkpoint_is_possible(const struct sb_perfdata *perfdata)
{
	const struct record_file *file = perfdata->file;

	return perfdata->nfiles == 1 && !perfdata->ntraces && !file->unpacked &&
	       file->map.size >= SB_HEADER_SIZE && file->cpu < 0 &&
	       memcmp(file->map.bytes, SB_HEADER_MAGIC, 8) == 0 && file->data_begin >= SB_HEADER_SIZE &&
	       !perfdata->has_samples && !perfdata->info.snapshot && !perfdata->info.interrupted &&
	       !perfdata->damage.code && !perfdata->checkpoint;
}

/* What the schedule is made of is in the tables of the schedule. A round's end is for who reads as it comes.
 */
static int is_kept(const struct sb_record *record)
{
	switch (record->type) {
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
	case PERF_RECORD_ITRACE_START:
	case PERF_RECORD_AUX:
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
	case SB_RECORD_FINISHED_ROUND:
		return 0;
	case PERF_RECORD_SAMPLE:
		return (record->u.sample.has & (PERF_SAMPLE_CGROUP | PERF_SAMPLE_AUX)) != 0;
	default:
		return 1;
	}
}

struct keeping {
	const struct sb_perfdata *perfdata;
	struct checkpoint_writer *writer;
	struct unpacked_origin *origin; /* owned */
	size_t norigins;
	uint8_t *zeros; /* owned */
	size_t nzeros;
	uint64_t at; /* bytes kept */
};

static int note_origin(struct keeping *keeping, uint64_t file_offset)
{
	const struct unpacked_origin *last =
	        keeping->norigins ? &keeping->origin[keeping->norigins - 1] : NULL;
	struct unpacked_origin *grown;

	if (last && file_offset - last->file_offset == keeping->at - last->at)
		return 0;
	grown = sb_array_room(keeping->origin, keeping->norigins, sizeof(*grown));
	if (!grown)
		return -sbe_nomem;
	keeping->origin = grown;
	grown[keeping->norigins++] = (struct unpacked_origin){keeping->at, file_offset};
	return 0;
}

/* What the trace of an AUXTRACE record ends with. */
static int note_zeros(struct keeping *keeping, const struct sb_record *record)
{
	const struct record_file *file = keeping->perfdata->file;
	const uint64_t payload = record->offset + record->size, size = record->u.auxtrace.size;
	uint8_t *grown = sb_array_room(keeping->zeros, keeping->nzeros, 1);

	if (!grown)
		return -sbe_nomem;
	keeping->zeros = grown;
	grown[keeping->nzeros++] = size >= 8 && payload <= file->data_end && size <= file->data_end - payload
	                                   ? sb_count_zeros(file->map.bytes + payload + size)
	                                   : 0;
	return 0;
}

static int keep(struct keeping *keeping, const struct sb_record *record)
{
	int status;

	if (!is_kept(record))
		return 0;
	status = note_origin(keeping, record->offset);
	if (status == 0 && record->type == SB_RECORD_AUXTRACE)
		status = note_zeros(keeping, record);
	checkpoint_table_put(keeping->writer, record->bytes, record->size);
	keeping->at += record->size;
	return status;
}

/* Of what every reader has at hand. */
static uint64_t sum_of_ends(const struct record_file *file)
{
	struct checkpoint_sum sum = checkpoint_sum_begin();

	checkpoint_sum_add(&sum, file->map.bytes, file->data_begin);
	checkpoint_sum_add(&sum, file->map.bytes + file->data_end, file->map.size - file->data_end);
	return checkpoint_sum_end(&sum);
}

int checkpoint_write_records(struct checkpoint_writer *writer, const struct sb_perfdata *perfdata,
                             uint64_t nrecords, uint64_t nskipped, struct sb_error *err)
{
	const struct record_file *file = perfdata->file;
	const struct checkpoint_recording is = {file->map.size,    file->data_begin, file->data_end,
	                                        sum_of_ends(file), nrecords,         nskipped};
	struct keeping keeping = {.perfdata = perfdata, .writer = writer};
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	int status;

	checkpoint_table_begin(writer, checkpoint_recording);
	checkpoint_table_put(writer, &is, 1);
	checkpoint_table_begin(writer, checkpoint_records);
	sb_perfdata_begin(perfdata, &cursor);
	while ((status = sb_perfdata_next(&cursor, &record, err)) > 0) {
		status = keep(&keeping, &record);
		if (status < 0 || writer->status)
			break;
	}
	if (status == 0) {
		checkpoint_table_begin(writer, checkpoint_origins);
		checkpoint_table_put(writer, keeping.origin, keeping.norigins);
		checkpoint_table_begin(writer, checkpoint_zeros);
		checkpoint_table_put(writer, keeping.zeros, keeping.nzeros);
	}
	free(keeping.origin);
	free(keeping.zeros);
	return status == -sbe_nomem ? fail_nomem(perfdata, err) : status < 0 ? status : 0;
}

/* ---- Reading ------------------------------------------------------------------------------------ */

static int is_another(const struct sb_perfdata *perfdata, struct sb_error *err)
{
	return sb_error_set(err, -sbe_mismatch, perfdata->path, UINT64_MAX,
	                    "it is not what it was when its checkpoint was made, which is in %s",
	                    checkpoint_path(perfdata->checkpoint));
}

/* Whether all that is said to come from the file lies among its records. */
static int origins_fit(const struct unpacked_origin *origin, uint64_t count, uint64_t size,
                       const struct record_file *file)
{
	if (!count || origin[0].at)
		return 0;
	for (uint64_t i = 0; i < count; ++i) {
		const uint64_t end = i + 1 < count ? origin[i + 1].at : size;

		if (origin[i].at >= end || end > size || origin[i].file_offset < file->data_begin ||
		    origin[i].file_offset > file->data_end ||
		    end - origin[i].at > file->data_end - origin[i].file_offset)
			return 0;
	}
	return 1;
}

int checkpoint_use_records(struct sb_perfdata *perfdata, struct sb_error *err)
{
	const struct sb_checkpoint *checkpoint = perfdata->checkpoint;
	const struct checkpoint_recording *is;
	const struct unpacked_origin *origin;
	struct record_file *file = perfdata->file;
	struct unpacked *kept;
	uint64_t count, size, norigins;
	const uint8_t *bytes;

	is = checkpoint_rows(checkpoint, checkpoint_recording, &count);
	bytes = checkpoint_rows(checkpoint, checkpoint_records, &size);
	origin = checkpoint_rows(checkpoint, checkpoint_origins, &norigins);
	perfdata->zeros = checkpoint_rows(checkpoint, checkpoint_zeros, &perfdata->nzeros);
	if (count != 1 || perfdata->nfiles != 1 || is->file_size != file->map.size ||
	    is->data_begin != file->data_begin || is->data_end != file->data_end ||
	    is->ends_sum != sum_of_ends(file))
		return is_another(perfdata, err);
	if (!origins_fit(origin, norigins, size, file))
		return sb_error_set(err, -sbe_format, checkpoint_path(checkpoint), UINT64_MAX,
		                    "where its records come from is outside of the recording's");
	kept = calloc(1, sizeof(*kept));
	if (!kept)
		return fail_nomem(perfdata, err);
	kept->map = (struct mapped_file){.bytes = bytes, .size = size};
	/* Borrowed, and read only: see checkpoint_leave_records(). */
	kept->origin = (struct unpacked_origin *)(uintptr_t)origin;
	kept->norigins = norigins;
	file->unpacked = kept;
	file->records = bytes;
	file->begin = 0;
	file->end = size;
	return 0;
}

void checkpoint_leave_records(struct sb_perfdata *perfdata)
{
	if (!perfdata->checkpoint || !perfdata->nfiles)
		return;
	free(perfdata->file->unpacked);
	perfdata->file->unpacked = NULL;
}
