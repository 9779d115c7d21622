/* fuzz_checkpoint.c - checkpoints of any bytes, and of any tables with right sums: they are refused, or the
 * recording that is opened with them, and its system, can be walked over and asked.
 *
 * An input is (first byte even) a checkpoint as it is; or (odd) tables that replace those of the checkpoint
 * of a small recording: a byte with the kind, two with the size, and the bytes of each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sb/checkpoint.h>
#include <sb/system.h>

#include "perfdata/checkpoint_file.h"
#include "support/check.h"
#include "support/memory_file.h"
#include "support/target.h"

enum { ROOM = 1 << 16, CPUS = 8 };

struct buffer {
	uint8_t bytes[ROOM];
	size_t size;
};

static struct memory_file recording, file;
static struct buffer base; /* the recording's checkpoint */
static FILE *nowhere;

static int append(void *context, const void *bytes, size_t size)
{
	struct buffer *buffer = context;

	FUZZ_CHECK(size <= sizeof(buffer->bytes) - buffer->size, "too large");
	memcpy(buffer->bytes + buffer->size, bytes, size);
	buffer->size += size;
	return 0;
}

/* The seed of fuzz_perfdata, whose first byte is no part of the recording. */
static void make_base(void)
{
	static uint8_t bytes[ROOM];
	FILE *seed = fopen(FUZZ_RECORDING, "rb");
	struct sb_perfdata *perfdata = NULL;
	struct sb_system *system = NULL;
	uint64_t sum;
	size_t size;

	FUZZ_CHECK(seed, "%s", FUZZ_RECORDING);
	size = fread(bytes, 1, sizeof(bytes), seed);
	fclose(seed);
	memory_file_open(&recording);
	memory_file_open(&file);
	nowhere = fopen("/dev/null", "w");
	FUZZ_CHECK(size > 1 && nowhere, "%s", FUZZ_RECORDING);
	memory_file_set(&recording, bytes + 1, size - 1);
	FUZZ_CHECK(sb_perfdata_open(&perfdata, recording.name, NULL) == 0 &&
	                   sb_system_build(&system, perfdata, NULL) == 0 &&
	                   sb_checkpoint_write(perfdata, system, append, &base, &sum, NULL) == 1,
	           "%s", FUZZ_RECORDING);
	sb_system_free(system);
	sb_perfdata_close(perfdata);
}

/* ---- Tables ------------------------------------------------------------------------------------- */

struct rows {
	const uint8_t *bytes;
	size_t size;
};

static void take_base(struct rows table[checkpoint_kinds], uint32_t row_size[checkpoint_kinds])
{
	struct checkpoint_table list[checkpoint_kinds];
	struct checkpoint_end end;

	memcpy(&end, base.bytes + base.size - sizeof(end), sizeof(end));
	FUZZ_CHECK(end.ntables == checkpoint_kinds, "%u tables", end.ntables);
	memcpy(list, base.bytes + base.size - sizeof(end) - sizeof(list), sizeof(list));
	for (uint32_t i = 0; i < checkpoint_kinds; ++i) {
		table[list[i].kind] =
		        (struct rows){base.bytes + list[i].offset, list[i].count * list[i].row_size};
		row_size[list[i].kind] = list[i].row_size;
	}
}

static void replace(struct rows table[checkpoint_kinds], const uint8_t *data, size_t size)
{
	while (size >= 3) {
		const unsigned int kind = data[0] % checkpoint_kinds;
		size_t length = (size_t)data[1] | (size_t)data[2] << 8;

		data += 3;
		size -= 3;
		length = length < size ? length : size;
		table[kind] = (struct rows){data, length};
		data += length;
		size -= length;
	}
}

static uint64_t nsums(const struct checkpoint_cpu *cpu, const struct rows *scheds)
{
	const uint64_t most = scheds->size / CHECKPOINT_SCHED_SIZE;

	return cpu->first_sched <= most && cpu->nscheds <= most - cpu->first_sched
	               ? (cpu->nscheds + CHECKPOINT_SCHEDS_PER_SUM - 1) / CHECKPOINT_SCHEDS_PER_SUM
	               : 0;
}

/* CPUs' own sums are made right, too, where rows are there: they come one after the other. */
static void write_cpus(struct checkpoint_writer *writer, const struct rows *cpus, const struct rows *scheds)
{
	uint64_t first_sum = 0;

	for (size_t at = 0; at + sizeof(struct checkpoint_cpu) <= cpus->size;
	     at += sizeof(struct checkpoint_cpu)) {
		struct checkpoint_cpu cpu;

		memcpy(&cpu, cpus->bytes + at, sizeof(cpu));
		if (nsums(&cpu, scheds))
			cpu.first_sum = first_sum;
		first_sum += nsums(&cpu, scheds);
		checkpoint_table_put(writer, &cpu, 1);
	}
}

static void write_sums(struct checkpoint_writer *writer, const struct rows *cpus, const struct rows *scheds)
{
	for (size_t at = 0; at + sizeof(struct checkpoint_cpu) <= cpus->size;
	     at += sizeof(struct checkpoint_cpu)) {
		struct checkpoint_cpu cpu;

		memcpy(&cpu, cpus->bytes + at, sizeof(cpu));
		for (uint64_t i = 0, n = nsums(&cpu, scheds); i < n; ++i) {
			const uint64_t first = i * CHECKPOINT_SCHEDS_PER_SUM, left = cpu.nscheds - first;
			const uint64_t count =
			        left < CHECKPOINT_SCHEDS_PER_SUM ? left : CHECKPOINT_SCHEDS_PER_SUM;
			const uint64_t sum = checkpoint_sum_of(scheds->bytes + (cpu.first_sched + first) *
			                                                               CHECKPOINT_SCHED_SIZE,
			                                       count * CHECKPOINT_SCHED_SIZE);

			checkpoint_table_put(writer, &sum, 1);
		}
	}
}

static uint64_t build(struct buffer *built, const uint8_t *data, size_t size)
{
	struct rows table[checkpoint_kinds];
	uint32_t row_size[checkpoint_kinds];
	struct checkpoint_writer writer = {.put = append, .context = built};
	uint64_t sum;

	take_base(table, row_size);
	replace(table, data, size);
	for (uint32_t kind = 0; kind < checkpoint_kinds; ++kind) {
		checkpoint_table_begin(&writer, kind);
		if (kind == checkpoint_cpus)
			write_cpus(&writer, &table[kind], &table[checkpoint_scheds]);
		else if (kind == checkpoint_sched_sums)
			write_sums(&writer, &table[checkpoint_cpus], &table[checkpoint_scheds]);
		else
			checkpoint_table_put(&writer, table[kind].bytes, table[kind].size / row_size[kind]);
	}
	FUZZ_CHECK(checkpoint_finish(&writer, &sum) == 0, "cannot be written");
	return sum;
}

/* ---- Use ---------------------------------------------------------------------------------------- */

static void check_error(int status, const struct sb_error *err)
{
	FUZZ_CHECK(status == err->code && err->text[0] && err->file[0], "status %d, code %d", status,
	           err->code);
}

static void ask(const struct sb_system *system, const struct sb_perfdata *perfdata)
{
	struct sb_error err = {0};
	size_t count, nstreams;
	const struct sb_aux_stream *stream = sb_perfdata_streams(perfdata, &nstreams);
	uint64_t sum = 0;
	int status;

	for (int32_t cpu = -1; cpu < CPUS; ++cpu) {
		const struct sb_sched *sched = sb_system_schedule(system, cpu, &count);
		const struct sb_aux_flag *flag;

		for (size_t i = 0; i < count; ++i)
			sum += sched[i].time + (uint64_t)sched[i].tid;
		flag = sb_system_aux_flags(system, cpu, &count);
		for (size_t i = 0; i < count; ++i)
			sum += flag[i].aux_offset;
	}
	for (size_t i = 0; i < nstreams; ++i) {
		const struct sb_aux_flag *flag = sb_system_stream_flags(system, &stream[i], &count);

		for (size_t k = 0; k < count; ++k)
			sum += flag[k].flags;
		for (size_t k = 0; k < stream[i].nchunks; ++k)
			FUZZ_CHECK(fwrite(stream[i].chunk[k].bytes, 1, stream[i].chunk[k].size, nowhere) ==
			                   stream[i].chunk[k].size,
			           "no bytes");
	}
	fprintf(nowhere, "%llu\n", (unsigned long long)sum);
	status = sb_perfdata_failure(perfdata, &err);
	if (status)
		check_error(status, &err);
}

static void use(const struct sb_checkpoint *checkpoint)
{
	struct sb_perfdata *perfdata = NULL;
	struct sb_system *system = NULL;
	struct sb_error err = {0};
	int status = sb_perfdata_open_at(&perfdata, recording.name, checkpoint, &err);

	if (status == 0)
		status = sb_system_build(&system, perfdata, &err);
	if (status == 0)
		ask(system, perfdata);
	else
		check_error(status, &err);
	sb_system_free(system);
	sb_perfdata_close(perfdata);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct buffer built;
	struct sb_checkpoint *checkpoint = NULL;
	struct checkpoint_end end = {0};
	struct sb_error err = {0};
	uint64_t sum = 0;
	int status;

	if (!base.size)
		make_base();
	if (!size || size > ROOM / 2)
		return 0;
	built.size = 0;
	if (data[0] & 1) {
		sum = build(&built, data + 1, size - 1);
	} else {
		append(&built, data + 1, size - 1);
		if (built.size >= sizeof(end))
			memcpy(&end, built.bytes + built.size - sizeof(end), sizeof(end));
		sum = end.sum;
	}
	memory_file_set(&file, built.bytes, built.size);
	status = sb_checkpoint_open(&checkpoint, file.name, 0, built.size, sum, &err);
	if (status < 0)
		check_error(status, &err);
	else
		use(checkpoint);
	FUZZ_CHECK(status == 0 || !(data[0] & 1), "tables with right sums are refused: %s", err.text);
	sb_checkpoint_close(checkpoint);
	return 0;
}
