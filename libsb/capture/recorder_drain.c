/* recorder_drain.c - what the kernel has written goes to the file: records as they are, trace in AUXTRACE
 * records. One pass over all CPUs is a round.
 */
#include "capture/recorder_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <x86intrin.h>

#include "record/bytes.h"

enum { filling_up = 25 }; /* percent */

static int append(void *context, const uint8_t *bytes, size_t size)
{
	const struct recorder *recorder = context;

	return sb_writer_append(recorder->writer, bytes, size, recorder->err);
}

/* Who looks at records cannot end that: it is for who reads the ring. */
static void note_failure(struct recorder *recorder, int status)
{
	if (status < 0 && !recorder->look_status)
		recorder->look_status = status;
}

/* MMAP2: pid, tid, addr, len, pgoff, maj, min, ino, generation, prot, flags, name. Of events that do not ask
 * for build-ids: whether misc says that there is one tells nothing, see struct sb_sample_format. */
static void look_at_map(struct recorder *recorder, const struct live_ring *ring, uint64_t position,
                        const struct perf_event_header *header)
{
	enum { name_at = 72, record_most = 8192 };
	uint8_t record[record_most];
	struct exec_map map;

	if (header->size <= name_at || header->size >= record_most)
		return;
	live_ring_copy(ring, position, record, header->size);
	record[header->size] = '\0';
	map = (struct exec_map){.begin = load_u64(record + 16),
	                        .end = load_u64(record + 16) + load_u64(record + 24),
	                        .pgoff = load_u64(record + 32),
	                        .maj = load_u32(record + 40),
	                        .min = load_u32(record + 44),
	                        .ino = load_u64(record + 48),
	                        .name = (char *)record + name_at};
	note_failure(recorder, live_state_mapped(&recorder->state, load_i32(record + 12), &map));
}

static int32_t tid_at(const struct live_ring *ring, uint64_t position)
{
	int32_t tid;

	live_ring_copy(ring, position, &tid, sizeof(tid));
	return tid;
}

/* Of what is no sample, at its end: tid, time, cpu, identifier; see live_attrs.c. */
static uint64_t time_of(const struct live_ring *ring, uint64_t position,
                        const struct perf_event_header *header)
{
	enum { from_end = 24 };
	uint64_t time = 0;

	if (header->size >= sizeof(*header) + 32)
		live_ring_copy(ring, position + header->size - from_end, &time, sizeof(time));
	return time;
}

/* COMM: pid, tid, name. */
static void look_at_exec(struct recorder_execs *execs, const struct live_ring *ring, uint64_t position,
                         const struct perf_event_header *header)
{
	const size_t i = execs->nbegun++ % recorder_execs_begun;
	size_t size = sizeof(execs->begun[i].name) - 1;

	if (size > header->size - 16u)
		size = header->size - 16u;
	memset(&execs->begun[i], 0, sizeof(execs->begun[i]));
	execs->begun[i].tid = tid_at(ring, position + 12);
	execs->begun[i].time = time_of(ring, position, header);
	live_ring_copy(ring, position + 16, execs->begun[i].name, size);
}

/* A mapping of @tid, or its end. */
static void look_behind_exec(struct recorder_execs *execs, int32_t tid, uint64_t time, int ends)
{
	const size_t i = (uint32_t)tid % recorder_execs_threads;

	if (!ends) {
		if (execs->thread[i].mapped_at < time)
			execs->thread[i].mapped_at = time;
		return;
	}
	execs->thread[i].ended = tid;
	execs->thread[i].ended_at = time;
	execs->thread[i].round = execs->round;
}

void recorder_judge_execs(struct recorder_execs *execs, int is_last)
{
	for (size_t i = 0; i < recorder_execs_begun; ++i) {
		const int32_t tid = execs->begun[i].tid;
		const uint64_t time = execs->begun[i].time;
		const size_t at = (uint32_t)tid % recorder_execs_threads;

		if (!tid)
			continue;
		if (execs->thread[at].mapped_at >= time) {
			execs->begun[i].tid = 0;
			continue;
		}
		if (execs->thread[at].ended != tid || execs->thread[at].ended_at < time ||
		    (execs->thread[at].round == execs->round && !is_last))
			continue;
		execs->begun[i].tid = 0;
		if (!execs->nescaped++)
			memcpy(execs->first, execs->begun[i].name, sizeof(execs->first));
	}
	execs->round++;
}

/* While the state is being read: who begins is told by the kernel. And at all times, BPF programs. */
static void look(void *context, const struct live_ring *ring, uint64_t position,
                 const struct perf_event_header *header)
{
	struct recorder *recorder = context;
	int32_t task[4]; /* pid, ppid, tid, ptid */
	struct {
		uint16_t type, flags;
		uint32_t id;
	} program;

	if (header->type == PERF_RECORD_COMM && (header->misc & PERF_RECORD_MISC_COMM_EXEC))
		look_at_exec(&recorder->execs, ring, position, header);
	else if (header->type == PERF_RECORD_MMAP2) /* pid, tid */
		look_behind_exec(&recorder->execs, tid_at(ring, position + 12),
		                 time_of(ring, position, header), 0);
	else if (header->type == PERF_RECORD_EXIT) /* pid, ppid, tid */
		look_behind_exec(&recorder->execs, tid_at(ring, position + 16),
		                 time_of(ring, position, header), 1);
	if (header->type == PERF_RECORD_FORK && recorder->is_catching_up) {
		live_ring_copy(ring, position + sizeof(*header), task, sizeof(task));
		note_failure(recorder, live_state_forked(&recorder->state, task[2]));
	} else if (header->type == PERF_RECORD_BPF_EVENT) {
		live_ring_copy(ring, position + sizeof(*header), &program, sizeof(program));
		if (program.type == PERF_BPF_EVENT_PROG_LOAD)
			note_failure(recorder, live_bpf_loaded(&recorder->bpf, program.id));
	} else if (header->type == PERF_RECORD_MMAP2 && !recorder->attrs.sideband.build_id) {
		look_at_map(recorder, ring, position, header);
	}
}

static int drain_ring(struct recorder *recorder, struct live_cpu *cpu)
{
	const int status = live_ring_drain(&cpu->ring, &recorder->tally, append, look, recorder);

	if (status == -EPROTO)
		return sb_error_set(recorder->err, -sbe_format, NULL, UINT64_MAX,
		                    "the ring of CPU %" PRIu32 " holds no records", cpu->cpu);
	if (status < 0 || !recorder->look_status)
		return status;
	if (!recorder->err->code)
		return sb_error_set(recorder->err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	return recorder->look_status;
}

static int write_trace(struct recorder *recorder, struct live_cpu *cpu)
{
	struct live_aux aux;
	uint64_t size;
	int status;

	live_ring_aux(&cpu->ring, &aux);
	size = aux.size[0] + aux.size[1];
	if (!size)
		return 0;
	status = sb_writer_put_auxtrace(recorder->writer,
	                                &(struct write_trace){.cpu = cpu->cpu,
	                                                      .stream = cpu->stream,
	                                                      .offset = aux.offset,
	                                                      .reference = __rdtsc(),
	                                                      .piece = {aux.piece[0], aux.piece[1]},
	                                                      .size = {aux.size[0], aux.size[1]}},
	                                recorder->err);
	live_ring_aux_release(&cpu->ring, &aux);
	recorder->tally.aux_bytes += size;
	return status;
}

static int end_round(struct recorder *recorder)
{
	int status = 0;

	if (recorder->is_catching_up || recorder->writer->position == recorder->round_bytes)
		return 0;
	status = sb_write_finished_round(recorder->writer, recorder->err);
	recorder->round_bytes = recorder->writer->position;
	sb_writer_flush(recorder->writer);
	return status;
}

int recorder_drain(struct recorder *recorder)
{
	int status = 0;

	for (size_t i = 0; i < recorder->events.ncpus && status == 0; ++i) {
		struct live_cpu *cpu = &recorder->events.cpu[i];

		if (cpu->ring.page)
			status = drain_ring(recorder, cpu);
		if (status == 0 && cpu->ring.aux && !cpu->ring.overwrites)
			status = write_trace(recorder, cpu);
	}
	if (status == 0)
		recorder_judge_execs(&recorder->execs, 0);
	return status == 0 ? end_round(recorder) : status;
}

int recorder_drain_full(struct recorder *recorder)
{
	for (size_t i = 0; i < recorder->events.ncpus; ++i) {
		const struct live_ring *ring = &recorder->events.cpu[i].ring;

		if (ring->page && live_ring_fill(ring) >= filling_up)
			return recorder_drain(recorder);
	}
	return 0;
}

int recorder_snapshot(struct recorder *recorder)
{
	int status = recorder_drain(recorder);

	for (size_t i = 0; i < recorder->events.ncpus && status == 0; ++i)
		if (recorder->events.cpu[i].ring.aux)
			status = write_trace(recorder, &recorder->events.cpu[i]);
	return status == 0 ? end_round(recorder) : status;
}

int recorder_read_bpf(struct recorder *recorder)
{
	const struct sb_write_sample sample = {.time = live_clock_now(&recorder->clock),
	                                       .cpu = recorder->events.cpu[0].cpu};

	return live_bpf_read(&recorder->bpf, recorder->writer, &sample, recorder->proc, recorder->err);
}

int recorder_account(struct recorder *recorder)
{
	const uint64_t lost = live_events_lost(&recorder->events), told = recorder->tally.lost;
	const struct sb_write_sample sample = {.time = live_clock_now(&recorder->clock),
	                                       .cpu = recorder->events.cpu[0].cpu};

	if (lost <= told)
		return 0;
	recorder->tally.lost = lost;
	return sb_write_lost(recorder->writer, &sample, lost - told, recorder->err);
}
