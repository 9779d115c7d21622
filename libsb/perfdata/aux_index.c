/* aux_index.c - one walk over all records when a recording is opened: where the AUX data are, and
 * what the records say about Intel PT and the clock.
 *
 * perf writes an index of its own (feature 18), but not in every mode, and damage must be met
 * anyway; the walk touches records only, never the trace bytes between them. Only those of snapshots and
 * samples are looked at, as they may repeat each other.
 */
#include "perfdata/checkpoint_file.h"
#include "perfdata/perfdata_internal.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "record/bytes.h"

int sb_perfdata_add_chunk(struct sb_perfdata *perfdata, const struct sb_aux_chunk *chunk,
                          struct sb_error *err)
{
	struct sb_aux_chunk *grown = sb_array_room(perfdata->chunk, perfdata->nchunks, sizeof(*grown));

	if (!grown)
		return sb_error_set(err, -sbe_nomem, perfdata->path, UINT64_MAX, "out of memory");
	perfdata->chunk = grown;
	grown[perfdata->nchunks++] = *chunk;
	return 0;
}

uint8_t sb_count_zeros(const uint8_t *end)
{
	uint8_t count = 0;

	while (count < 7 && !end[-1 - count])
		count++;
	return count;
}

static int add_auxtrace(struct sb_perfdata *perfdata, const struct record_file *file,
                        const struct sb_record *record, struct sb_error *err)
{
	const uint64_t payload = record->offset + record->size;
	const uint64_t room = payload < file->data_end ? file->data_end - payload : 0;
	struct sb_aux_chunk chunk;

	if (perfdata->checkpoint && perfdata->nchunks >= perfdata->nzeros)
		return sb_error_set(err, -sbe_format, file->map.path, record->offset,
		                    "a checkpoint has more pieces of trace than it says");
	chunk = (struct sb_aux_chunk){
	        .bytes = perfdata->fetched ? NULL : file->map.bytes + payload,
	        .size = record->u.auxtrace.size < room ? record->u.auxtrace.size : room,
	        .file = (uint32_t)(file - perfdata->file),
	        .file_offset = payload,
	        .aux_offset = record->u.auxtrace.offset,
	        .reference = record->u.auxtrace.reference,
	        .cpu = record->u.auxtrace.cpu,
	        .tid = record->u.auxtrace.tid,
	        .idx = record->u.auxtrace.idx,
	};

	chunk.missing = record->u.auxtrace.size - chunk.size;
	/* Of what is fetched, the end is here, where something follows. */
	if (perfdata->fetched && chunk.size >= 8 && chunk.size < room)
		chunk.zeros = perfdata->checkpoint ? perfdata->zeros[perfdata->nchunks]
		                                   : sb_count_zeros(file->map.bytes + payload + chunk.size);
	return sb_perfdata_add_chunk(perfdata, &chunk, err);
}

/* A sample holds the last bytes of the buffer of its CPU, or thread; it does not say where in the stream. */
static int add_sample(struct sb_perfdata *perfdata, const struct record_file *file,
                      const struct sb_record *record, struct sb_error *err)
{
	const uint64_t has = record->u.sample.has & PERF_SAMPLE_AUX ? record->sample.has : 0;
	const int by_cpu = (has & PERF_SAMPLE_CPU) && !perfdata->per_thread;
	struct sb_aux_chunk chunk = {
	        .bytes = record->u.sample.aux,
	        .size = record->u.sample.aux_size,
	        .file = (uint32_t)(file - perfdata->file),
	        .cpu = by_cpu ? (int32_t)record->sample.cpu : -1,
	        .tid = !by_cpu && (has & PERF_SAMPLE_TID) ? record->sample.tid : -1,
	};

	if (!(record->u.sample.has & PERF_SAMPLE_AUX) || !chunk.size || chunk.cpu < -1 ||
	    chunk.cpu > SB_CPU_MAX)
		return 0;
	chunk.idx = by_cpu ? (uint32_t)chunk.cpu : 0;
	chunk.file_offset = record->offset + (uint64_t)(chunk.bytes - record->bytes);
	chunk.reference = has & PERF_SAMPLE_TIME ? record->sample.time : 0;
	perfdata->has_samples = 1;
	return sb_perfdata_add_chunk(perfdata, &chunk, err);
}

static uint8_t bit_field(uint64_t value, uint64_t mask)
{
	return (uint8_t)(mask ? (value & mask) >> __builtin_ctzll(mask) : 0);
}

void sb_perfdata_set_config(struct sb_perfdata_info *info, uint64_t config, const uint64_t *mask)
{
	info->pt_config = config;
	info->pt_tsc = (config & mask[sb_pt_tsc_bit]) != 0;
	info->pt_noretcomp = (config & mask[sb_pt_noretcomp_bit]) != 0;
	info->pt_mtc = (config & mask[sb_pt_mtc_bit]) != 0;
	info->pt_cyc = (config & mask[sb_pt_cyc_bit]) != 0;
	info->pt_mtc_freq = info->pt_mtc ? bit_field(config, mask[sb_pt_mtc_freq_bits]) : 0;
}

static void set_event(struct sb_perfdata *perfdata, const uint64_t *priv)
{
	uint32_t i;

	for (i = 0; i < perfdata->nattrs; i++) {
		const struct event_attr *attr = &perfdata->attr[i];

		if (attr->type != perfdata->info.pt_pmu_type)
			continue;
		sb_perfdata_set_config(&perfdata->info, attr->config, priv);
		perfdata->info.user_only = attr->exclude_kernel && !attr->exclude_user;
		return;
	}
}

/* Older files have fewer values; what is not there is zero. */
static void add_auxtrace_info(struct sb_perfdata *perfdata, const struct sb_record *record)
{
	struct sb_perfdata_info *info = &perfdata->info;
	uint64_t priv[sb_pt_privs] = {0};
	uint32_t i;

	if (record->u.auxtrace_info.type != SB_AUXTRACE_INTEL_PT || !record->u.auxtrace_info.npriv)
		return;
	for (i = 0; i < record->u.auxtrace_info.npriv && i < sb_pt_privs; i++)
		priv[i] = load_u64(record->u.auxtrace_info.priv + 8 * (size_t)i);
	info->has_pt = 1;
	info->pt_pmu_type = (uint32_t)priv[sb_pt_pmu_type];
	if (priv[sb_pt_cap_user_time_zero])
		info->clock = (struct sb_clock){(uint16_t)priv[sb_pt_time_shift],
		                                (uint32_t)priv[sb_pt_time_mult], priv[sb_pt_time_zero]};
	info->have_sched_switch = (int)(priv[sb_pt_have_sched_switch] & 3);
	info->snapshot = priv[sb_pt_snapshot_mode] != 0;
	perfdata->per_thread = !priv[sb_pt_per_cpu_mmaps];
	info->tsc_ctc_num = (uint32_t)priv[sb_pt_tsc_ctc_n];
	info->tsc_ctc_den = (uint32_t)priv[sb_pt_tsc_ctc_d];
	info->max_nonturbo_ratio = (uint8_t)priv[sb_pt_max_nonturbo_ratio];
	set_event(perfdata, priv);
}

/* x86 has no short counter; the formula of one that has is not the clock's. */
static void add_time_conv(struct sb_perfdata_info *info, const struct sb_record *record)
{
	if (record->u.time_conv.cap_user_time_zero && !record->u.time_conv.cap_user_time_short)
		info->clock = (struct sb_clock){(uint16_t)record->u.time_conv.time_shift,
		                                (uint32_t)record->u.time_conv.time_mult,
		                                record->u.time_conv.time_zero};
}

/* In a pipe, it comes with the records. */
static void add_tracing_data(struct sb_perfdata *perfdata, const struct record_file *file,
                             const struct sb_record *record)
{
	const uint64_t at = record->offset + record->size;
	const uint64_t size = record->u.tracing_data.size;
	struct sb_error err;
	const char *wrong;

	/* The walk will see that it is cut. */
	if (at > file->data_end || size > file->data_end - at)
		return;
	wrong = sb_perfdata_set_tracepoints(perfdata, file->map.bytes + at, size);
	if (!wrong)
		return;
	sb_error_set(&err, -sbe_format, file->map.path, record->offset, "tracing data: %s", wrong);
	sb_perfdata_note_damage(perfdata, &err);
}

static int index_record(struct sb_perfdata *perfdata, const struct record_file *file,
                        const struct sb_record *record, struct sb_error *err)
{
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		return add_sample(perfdata, file, record, err);
	case SB_RECORD_AUXTRACE:
		return add_auxtrace(perfdata, file, record, err);
	case SB_RECORD_AUXTRACE_INFO:
		add_auxtrace_info(perfdata, record);
		return 0;
	case SB_RECORD_TIME_CONV:
		add_time_conv(&perfdata->info, record);
		return 0;
	case SB_RECORD_TRACING_DATA:
		add_tracing_data(perfdata, file, record);
		return 0;
	default:
		return 0;
	}
}

/* The walk has come to records that are packed. */
enum { PACKED = 1 };

static int is_packed(uint32_t type)
{
	return type == SB_RECORD_COMPRESSED || type == SB_RECORD_COMPRESSED2;
}

static int walk(struct sb_perfdata *perfdata, struct sb_error *err)
{
	struct sb_perfdata_cursor cursor;
	struct record_sizes sizes;
	struct sb_error damage;
	struct sb_record record;
	int status = 1;

	record_sizes(&sizes, &perfdata->attr->trailer);
	/* Those of a checkpoint were checked when it was made; its sums are right. */
	if (perfdata->checkpoint)
		record_sizes_trust(&sizes);
	sb_perfdata_begin(perfdata, &cursor);
	while (status > 0) {
		int indexed;

		/* Nine of ten are of no interest, and are only checked. Where trailers differ, the sizes do.
		 */
		if (perfdata->uniform && !cursor.done)
			sb_perfdata_pass_records(&cursor, &sizes);
		if (is_packed(sb_perfdata_peek(&cursor)))
			return PACKED;
		status = sb_perfdata_next(&cursor, &record, &damage);
		indexed = status > 0 ? index_record(perfdata, &perfdata->file[cursor.file], &record, err) : 0;
		if (indexed < 0)
			return indexed;
	}
	/* Damage of the features lies behind that of the records. */
	if (status < 0)
		perfdata->damage = damage;
	return 0;
}

/* Once records are unpacked, none are packed. */
static int walk_all(struct sb_perfdata *perfdata, struct sb_error *err)
{
	int status = walk(perfdata, err);

	if (status != PACKED)
		return status;
	if (perfdata->checkpoint)
		return sb_error_set(
		        err, -sbe_format, checkpoint_path(perfdata->checkpoint), UINT64_MAX,
		        "no checkpoint: a record in it is packed, and there are none of packed ones");
	status = 0;
	for (uint32_t i = 0; i < perfdata->nfiles && status == 0; i++)
		status = sb_perfdata_unpack(perfdata, &perfdata->file[i], err);
	perfdata->nchunks = 0;
	perfdata->has_samples = 0;
	free(perfdata->chunk);
	perfdata->chunk = NULL;
	return status < 0 ? status : walk(perfdata, err);
}

static int compare_buffer(const struct sb_aux_chunk *a, const struct sb_aux_chunk *b)
{
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->idx != b->idx)
		return a->idx < b->idx ? -1 : 1;
	return 0;
}

static int by_buffer(const void *left, const void *right)
{
	const struct sb_aux_chunk *a = left, *b = right;
	int order = compare_buffer(a, b);

	if (order)
		return order;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	/* In one mapping, as they came. */
	if (!a->bytes || !b->bytes)
		return a->file_offset < b->file_offset ? -1 : a->file_offset > b->file_offset;
	return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

static int add_stream(struct sb_perfdata *perfdata, const struct sb_aux_chunk *first, struct sb_error *err)
{
	struct sb_aux_stream *grown = sb_array_room(perfdata->stream, perfdata->nstreams, sizeof(*grown));

	if (!grown)
		return sb_error_set(err, -sbe_nomem, perfdata->path, UINT64_MAX, "out of memory");
	perfdata->stream = grown;
	grown[perfdata->nstreams++] = (struct sb_aux_stream){.cpu = first->cpu,
	                                                     .tid = first->tid,
	                                                     .idx = first->idx,
	                                                     .chunk = first,
	                                                     .fetched = perfdata->fetched};
	return 0;
}

static void add_to_stream(struct sb_perfdata *perfdata, const struct sb_aux_chunk *chunk)
{
	struct sb_aux_stream *stream = &perfdata->stream[perfdata->nstreams - 1];

	stream->nchunks++;
	if (chunk->cpu >= (int64_t)perfdata->info.ncpus)
		perfdata->info.ncpus = (uint32_t)chunk->cpu + 1;
}

/* Snapshots and samples do not know their place. */
static void place_chunks(struct sb_perfdata *perfdata, struct sb_aux_stream *stream)
{
	struct sb_aux_chunk *chunk = &perfdata->chunk[stream->chunk - perfdata->chunk];

	if (perfdata->info.snapshot || perfdata->has_samples)
		sb_aux_place(chunk, stream->nchunks);
	for (size_t i = 0; i < stream->nchunks; i++)
		stream->size += chunk[i].size;
}

/* Where pieces repeat each other is seen by their bytes alone. */
static int check_places(const struct sb_perfdata *perfdata, struct sb_error *err)
{
	if (!perfdata->fetched || (!perfdata->info.snapshot && !perfdata->has_samples))
		return 0;
	for (size_t i = 0; i < perfdata->nchunks; i++)
		if (!perfdata->chunk[i].bytes)
			return sb_error_set(err, -sbe_unsupported, perfdata->path,
			                    perfdata->chunk[i].file_offset,
			                    "snapshots (perf record -S) may repeat each other, so ranges of "
			                    "them cannot be read alone: fetch it as a whole and name the "
			                    "copy");
	return 0;
}

/* Chunks of one buffer become neighbours, in the order of the file. */
static int build_streams(struct sb_perfdata *perfdata, struct sb_error *err)
{
	size_t i;

	if (!perfdata->nchunks)
		return 0;
	qsort(perfdata->chunk, perfdata->nchunks, sizeof(*perfdata->chunk), by_buffer);
	for (i = 0; i < perfdata->nchunks; i++) {
		const struct sb_aux_chunk *chunk = &perfdata->chunk[i];

		if (i == 0 || compare_buffer(chunk, chunk - 1)) {
			int status = add_stream(perfdata, chunk, err);

			if (status < 0)
				return status;
		}
		add_to_stream(perfdata, chunk);
	}
	for (i = 0; i < perfdata->nstreams; i++)
		place_chunks(perfdata, &perfdata->stream[i]);
	return 0;
}

static void check_clock(struct sb_perfdata *perfdata)
{
	uint32_t i;

	for (i = 0; i < perfdata->nattrs; i++)
		perfdata->info.foreign_clock |= perfdata->attr[i].use_clockid;
	if (perfdata->info.foreign_clock)
		memset(&perfdata->info.clock, 0, sizeof(perfdata->info.clock));
}

int sb_perfdata_index(struct sb_perfdata *perfdata, struct sb_error *err)
{
	int status = perfdata->checkpoint ? checkpoint_use_records(perfdata, err) : 0;

	if (status == 0)
		status = walk_all(perfdata, err);
	if (status == 0)
		status = check_places(perfdata, err);
	if (status == 0)
		status = build_streams(perfdata, err);
	check_clock(perfdata);
	return status;
}
