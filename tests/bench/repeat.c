/* repeat.c - a long recording from a short one.
 *
 *   repeat N PERF_DATA FILE
 *
 * FILE is PERF_DATA N times in a row: the same trace and the same sideband, each time later by a bit more
 * than the recording's length. TSC packets are rewritten; TMA and MTC packets need not be, because the
 * distance is a whole number of turns of the counters that they show, nor does rounding differ, because it is
 * a whole number of perf's clock units. The state before tracing comes only once. What its replay must give
 * is N times the instructions of PERF_DATA's.
 *
 * For recordings whose trace is all off again at the end of every CPU, as `sbtrace record --software` writes
 * them; records that sb/perfdata_write.h does not write are refused.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/perf_event.h>

#include <intel-pt.h>
#include <sb/perfdata.h>
#include <sb/perfdata_write.h>

enum { tsc_bytes = 7 };

/* A CPU's trace in one piece, without padding. */
struct stream {
	const struct sb_aux_stream *source;
	uint8_t *bytes;
	uint64_t size;
	uint64_t *tsc_offset; /* of the payloads of TSC packets */
	uint64_t *tsc;        /* what they hold in the recording */
	size_t ntsc;
};

struct repeat {
	const struct sb_perfdata *source;
	struct sb_perfdata_writer *writer;
	struct stream *stream;
	size_t nstreams;
	uint64_t first_tsc, last_tsc;
	uint64_t tsc_distance, ns_distance;
	uint64_t turn; /* 0 is the recording as it is */
	struct sb_error error;
};

static int fail(struct repeat *repeat, const char *what)
{
	return sb_error_set(&repeat->error, -sbe_unsupported, sb_perfdata_path(repeat->source), UINT64_MAX,
	                    "%s", what);
}

/* ---- the trace ---- */

/* The chunk's bytes without what pads them to multiples of 8: up to the next one's start, or to the end of
 * what AUX records told of. */
static uint64_t chunk_size(const struct sb_aux_stream *stream, size_t i, uint64_t end)
{
	const struct sb_aux_chunk *chunk = &stream->chunk[i];
	uint64_t next = i + 1 < stream->nchunks ? chunk[1].aux_offset : end;
	uint64_t size = next > chunk->aux_offset ? next - chunk->aux_offset : chunk->size;

	return size < chunk->size ? size : chunk->size;
}

static void note_time(struct repeat *repeat, uint64_t tsc)
{
	if (!repeat->first_tsc || tsc < repeat->first_tsc)
		repeat->first_tsc = tsc;
	if (tsc > repeat->last_tsc)
		repeat->last_tsc = tsc;
}

static int note_tsc(struct repeat *repeat, struct stream *stream, uint64_t offset, uint64_t tsc)
{
	uint64_t *offsets = reallocarray(stream->tsc_offset, stream->ntsc + 1, sizeof(*offsets));
	uint64_t *values = reallocarray(stream->tsc, stream->ntsc + 1, sizeof(*values));

	stream->tsc_offset = offsets ? offsets : stream->tsc_offset;
	stream->tsc = values ? values : stream->tsc;
	if (!offsets || !values)
		return fail(repeat, "out of memory");
	offsets[stream->ntsc] = offset + 1; /* behind the opcode */
	values[stream->ntsc++] = tsc;
	note_time(repeat, tsc);
	return 0;
}

static int find_tscs(struct repeat *repeat, struct stream *stream)
{
	struct pt_packet_decoder *decoder;
	struct pt_packet packet;
	struct pt_config config;
	uint64_t offset = 0;
	int status;

	pt_config_init(&config);
	config.begin = stream->bytes;
	config.end = stream->bytes + stream->size;
	decoder = pt_pkt_alloc_decoder(&config);
	if (!decoder)
		return fail(repeat, "out of memory");
	status = pt_pkt_sync_forward(decoder);
	while (status >= 0) {
		(void)pt_pkt_get_offset(decoder, &offset);
		status = pt_pkt_next(decoder, &packet, sizeof(packet));
		if (status >= 0 && packet.type == ppt_tsc)
			status = note_tsc(repeat, stream, offset, packet.payload.tsc.tsc);
	}
	pt_pkt_free_decoder(decoder);
	return status == -pte_eos ? 0 : fail(repeat, "its trace has something that is no packet");
}

static int load_stream(struct repeat *repeat, struct stream *stream, uint64_t end)
{
	const struct sb_aux_stream *source = stream->source;

	if (source->cpu < 0)
		return fail(repeat, "its trace is of threads, not CPUs");
	stream->bytes = malloc(source->size + 1);
	if (!stream->bytes)
		return fail(repeat, "out of memory");
	for (size_t i = 0; i < source->nchunks; ++i) {
		uint64_t size = chunk_size(source, i, end);

		memcpy(stream->bytes + stream->size, source->chunk[i].bytes, size);
		stream->size += size;
	}
	return find_tscs(repeat, stream);
}

/* How far the AUX records of @cpu go. */
static uint64_t aux_end(const struct sb_perfdata *source, int32_t cpu)
{
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	uint64_t end = 0;

	sb_perfdata_begin(source, &cursor);
	while (sb_perfdata_next(&cursor, &record, NULL) > 0)
		if (record.type == PERF_RECORD_AUX && (int32_t)record.sample.cpu == cpu &&
		    record.u.aux.offset + record.u.aux.size > end)
			end = record.u.aux.offset + record.u.aux.size;
	return end;
}

static int load_streams(struct repeat *repeat)
{
	const struct sb_aux_stream *source = sb_perfdata_streams(repeat->source, &repeat->nstreams);

	repeat->stream = calloc(repeat->nstreams ? repeat->nstreams : 1, sizeof(*repeat->stream));
	if (!repeat->stream)
		return fail(repeat, "out of memory");
	for (size_t i = 0; i < repeat->nstreams; ++i) {
		repeat->stream[i].source = &source[i];
		if (load_stream(repeat, &repeat->stream[i], aux_end(repeat->source, source[i].cpu)) < 0)
			return repeat->error.code;
	}
	return 0;
}

static void free_streams(struct repeat *repeat)
{
	for (size_t i = 0; repeat->stream && i < repeat->nstreams; ++i) {
		free(repeat->stream[i].bytes);
		free(repeat->stream[i].tsc_offset);
		free(repeat->stream[i].tsc);
	}
	free(repeat->stream);
}

/* TSC packets of this turn. */
static void patch_streams(struct repeat *repeat)
{
	for (size_t i = 0; i < repeat->nstreams; ++i) {
		const struct stream *stream = &repeat->stream[i];

		for (size_t k = 0; k < stream->ntsc; ++k) {
			uint64_t tsc = stream->tsc[k] + repeat->turn * repeat->tsc_distance;

			for (unsigned byte = 0; byte < tsc_bytes; ++byte)
				stream->bytes[stream->tsc_offset[k] + byte] = (uint8_t)(tsc >> 8 * byte);
		}
	}
}

static struct stream *stream_of(struct repeat *repeat, int32_t cpu)
{
	for (size_t i = 0; i < repeat->nstreams; ++i)
		if (repeat->stream[i].source->cpu == cpu)
			return &repeat->stream[i];
	return NULL;
}

static int write_trace(struct repeat *repeat, const struct sb_record *record)
{
	const struct stream *stream = stream_of(repeat, record->u.auxtrace.cpu);
	uint64_t offset = 0;

	for (size_t i = 0; stream && i < stream->source->nchunks; ++i) {
		const struct sb_aux_chunk *chunk = &stream->source->chunk[i];
		uint64_t size = (i + 1 < stream->source->nchunks ? chunk[1].aux_offset - chunk->aux_offset
		                                                 : stream->size - offset);

		if (chunk->aux_offset == record->u.auxtrace.offset)
			return sb_write_auxtrace(repeat->writer, (uint32_t)chunk->cpu,
			                         chunk->reference + repeat->turn * repeat->tsc_distance,
			                         stream->bytes + offset, size, &repeat->error);
		offset += size;
	}
	return fail(repeat, "its trace is not in the order of its index");
}

/* ---- the sideband ---- */

static int write_aux(struct repeat *repeat, const struct sb_record *record,
                     const struct sb_write_sample *sample)
{
	const struct stream *stream = stream_of(repeat, (int32_t)sample->cpu);
	uint64_t before = stream ? repeat->turn * stream->size : 0;

	return sb_write_aux(repeat->writer, sample, before + record->u.aux.offset, record->u.aux.size,
	                    record->u.aux.flags, &repeat->error);
}

static int write_mmap(struct repeat *repeat, const struct sb_record *record,
                      const struct sb_write_sample *sample)
{
	struct sb_write_mmap2 map = {
	        .pid = record->u.mmap.pid,
	        .tid = record->u.mmap.tid,
	        .addr = record->u.mmap.addr,
	        .len = record->u.mmap.len,
	        .pgoff = record->u.mmap.pgoff,
	        .maj = record->u.mmap.maj,
	        .min = record->u.mmap.min,
	        .ino = record->u.mmap.ino,
	        .prot = record->u.mmap.prot,
	        .flags = record->u.mmap.flags,
	        .filename = record->u.mmap.filename,
	        .build_id_size = record->u.mmap.build_id_size,
	};

	memcpy(map.build_id, record->u.mmap.build_id, sizeof(map.build_id));
	if (record->u.mmap.is_kernel || record->u.mmap.is_guest)
		return fail(repeat, "it has mappings of a kernel or a guest");
	return sb_write_mmap2(repeat->writer, sample, &map, &repeat->error);
}

/* One with a time, or of the state before tracing (a NULL sample). */
static int write_record(struct repeat *repeat, const struct sb_record *record,
                        const struct sb_write_sample *sample)
{
	struct sb_perfdata_writer *writer = repeat->writer;
	struct sb_error *error = &repeat->error;

	switch (record->type) {
	case PERF_RECORD_COMM:
		return sb_write_comm(writer, sample, record->u.comm.pid, record->u.comm.tid,
		                     record->u.comm.name, record->u.comm.exec, error);
	case PERF_RECORD_MMAP2:
		return write_mmap(repeat, record, sample);
	case PERF_RECORD_FORK:
		return sb_write_fork(writer, sample, record->u.task.pid, record->u.task.ppid,
		                     record->u.task.tid, record->u.task.ptid, error);
	case PERF_RECORD_EXIT:
		return sb_write_exit(writer, sample, record->u.task.pid, record->u.task.ppid,
		                     record->u.task.tid, record->u.task.ptid, error);
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return sb_write_switch(writer, sample, record->u.context_switch.out,
		                       record->u.context_switch.preempt,
		                       record->u.context_switch.next_prev_pid,
		                       record->u.context_switch.next_prev_tid, error);
	case PERF_RECORD_ITRACE_START:
		return sb_write_itrace_start(writer, sample, record->u.itrace_start.pid,
		                             record->u.itrace_start.tid, error);
	case PERF_RECORD_AUX:
		return write_aux(repeat, record, sample);
	case PERF_RECORD_NAMESPACES:
	case PERF_RECORD_CGROUP:
	case PERF_RECORD_SAMPLE:
		return 0; /* which containers there were does not matter here */
	default:
		return fail(repeat, sb_record_name(record->type));
	}
}

static int write_kernel_record(struct repeat *repeat, const struct sb_record *record)
{
	struct sb_write_sample sample = {
	        .pid = record->sample.pid,
	        .tid = record->sample.tid,
	        .time = record->sample.time + repeat->turn * repeat->ns_distance,
	        .cpu = record->sample.cpu,
	};

	if (record->sample.time)
		return write_record(repeat, record, &sample);
	return repeat->turn ? 0 : write_record(repeat, record, NULL);
}

/* Types from 64 on are perf's own; the writer makes those that come before everything else. */
static int write_any(struct repeat *repeat, const struct sb_record *record)
{
	if (record->type < SB_RECORD_HEADER_ATTR)
		return write_kernel_record(repeat, record);
	if (record->type == SB_RECORD_AUXTRACE)
		return write_trace(repeat, record);
	if (record->type == SB_RECORD_FINISHED_ROUND)
		return sb_write_finished_round(repeat->writer, &repeat->error);
	if (record->type == SB_RECORD_FINISHED_INIT && !repeat->turn)
		return sb_write_finished_init(repeat->writer, &repeat->error);
	return 0;
}

static int write_turn(struct repeat *repeat)
{
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	int status;

	patch_streams(repeat);
	sb_perfdata_begin(repeat->source, &cursor);
	while ((status = sb_perfdata_next(&cursor, &record, &repeat->error)) > 0) {
		status = write_any(repeat, &record);
		if (status < 0)
			return status;
	}
	return status;
}

/* ---- the distance ---- */

static int note_times(struct repeat *repeat)
{
	const struct sb_clock *clock = &sb_perfdata_info(repeat->source)->clock;
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	int status;

	sb_perfdata_begin(repeat->source, &cursor);
	while ((status = sb_perfdata_next(&cursor, &record, &repeat->error)) > 0)
		if (record.type < SB_RECORD_HEADER_ATTR && record.sample.time)
			note_time(repeat, sb_clock_ns_to_tsc(clock, record.sample.time));
	return status;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	return b ? common_divisor(b, a % b) : a;
}

/* A multiple of the clock's unit, so that times are exact; of the turns of 16 bits of CTC (TMA) and of 8 bits
 * above MTCFreq (MTC), so that those packets are right as they are. */
static int choose_distance(struct repeat *repeat)
{
	const struct sb_perfdata_info *info = sb_perfdata_info(repeat->source);
	uint64_t unit = UINT64_C(1) << info->clock.time_shift;
	unsigned ctc_bits = info->pt_mtc_freq > 8 ? info->pt_mtc_freq + 8u : 16;
	uint64_t turn = info->tsc_ctc_num ? (uint64_t)info->tsc_ctc_num << ctc_bits : 1;
	uint64_t step;

	if (!info->clock.time_mult || info->clock.time_shift > 40 || info->tsc_ctc_num > 0xffff)
		return fail(repeat, "its clock is none that can be moved exactly");
	step = unit / common_divisor(unit, turn) * turn;
	repeat->tsc_distance = ((repeat->last_tsc - repeat->first_tsc) / step + 1) * step;
	repeat->ns_distance = (repeat->tsc_distance >> info->clock.time_shift) * info->clock.time_mult;
	return 0;
}

static int open_writer(struct repeat *repeat, const char *path)
{
	const struct sb_perfdata_info *info = sb_perfdata_info(repeat->source);
	struct sb_perfdata_write_config config = {
	        .size = sizeof(config),
	        .ncpus = info->ncpus,
	        .pt_pmu_type = info->pt_pmu_type,
	        .pt_config = info->pt_config,
	        .family = info->family,
	        .model = info->model,
	        .stepping = info->stepping,
	        .cmdline = "repeat",
	        .clock = info->clock,
	        .tsc_ctc_num = info->tsc_ctc_num,
	        .tsc_ctc_den = info->tsc_ctc_den,
	        .max_nonturbo_ratio = info->max_nonturbo_ratio,
	        .user_only = info->user_only,
	};

	return sb_perfdata_writer_open(&repeat->writer, path, &config, &repeat->error);
}

static int make(struct repeat *repeat, uint64_t turns, const char *path)
{
	int status = load_streams(repeat), finished;

	if (!status)
		status = note_times(repeat);
	if (!status)
		status = choose_distance(repeat);
	if (!status)
		status = open_writer(repeat, path);
	if (status < 0)
		return status;
	for (repeat->turn = 0; repeat->turn < turns && !status; ++repeat->turn)
		status = write_turn(repeat);
	if (status < 0) {
		sb_perfdata_writer_abort(repeat->writer);
		return status;
	}
	finished = sb_perfdata_writer_finish(repeat->writer, &repeat->error);
	if (!finished)
		printf("%" PRIu64 " times %s, every %" PRIu64 " ns\n", turns,
		       sb_perfdata_path(repeat->source), repeat->ns_distance);
	return finished;
}

int main(int argc, char **argv)
{
	struct repeat repeat = {0};
	struct sb_perfdata *source = NULL;
	uint64_t turns = argc == 4 ? strtoull(argv[1], NULL, 10) : 0;
	char text[1024];
	int status;

	if (!turns) {
		fprintf(stderr, "usage: repeat N PERF_DATA FILE\n");
		return 2;
	}
	status = sb_perfdata_open(&source, argv[2], &repeat.error);
	repeat.source = source;
	if (!status)
		status = make(&repeat, turns, argv[3]);
	if (status < 0)
		fprintf(stderr, "repeat: %s\n", sb_error_string(&repeat.error, text, sizeof(text)));
	free_streams(&repeat);
	sb_perfdata_close(source);
	return status < 0;
}
