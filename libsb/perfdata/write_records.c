/* write_records.c - records, as `perf record -a -e intel_pt//u` writes them.
 *
 * A record is composed in the writer's buffer: begin, the body's fields, end. The end adds the sample
 * trailer (pid, tid, time, cpu, identifier), the size, and sends it to the file.
 * Layouts: perf_event_open(2), <linux/perf_event.h>, perf.data-file-format.txt.
 */
#include "perfdata/perfdata_write_internal.h"

#include <inttypes.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <string.h>

#include <sb/record.h>

#include "perfdata/perfdata_internal.h"
#include "record/bytes.h"

enum { COMM_LENGTH = 15, SCHED_SWITCH_CPU_WIDE = 3 };

/* Which event a record is said to come from; perf's own have no trailer. */
enum origin {
	from_pt = write_event_pt,
	from_dummy = write_event_dummy,
	from_cgroup = write_event_cgroup,
	from_perf
};

static void begin(struct sb_perfdata_writer *writer, uint32_t type, uint16_t misc)
{
	store_u32(writer->record, type);
	store_u16(writer->record + 4, misc);
	writer->record_size = 8;
}

static void put_u16(struct sb_perfdata_writer *writer, uint16_t value)
{
	store_u16(writer->record + writer->record_size, value);
	writer->record_size += 2;
}

static void put_u32(struct sb_perfdata_writer *writer, uint32_t value)
{
	store_u32(writer->record + writer->record_size, value);
	writer->record_size += 4;
}

static void put_u64(struct sb_perfdata_writer *writer, uint64_t value)
{
	store_u64(writer->record + writer->record_size, value);
	writer->record_size += 8;
}

static void put_bytes(struct sb_perfdata_writer *writer, const uint8_t *bytes, size_t size)
{
	memcpy(writer->record + writer->record_size, bytes, size);
	writer->record_size += size;
}

static void put_pair(struct sb_perfdata_writer *writer, int32_t first, int32_t second)
{
	put_u32(writer, (uint32_t)first);
	put_u32(writer, (uint32_t)second);
}

/* Zeros up to the next multiple of 8. */
static void put_padding(struct sb_perfdata_writer *writer)
{
	size_t padding = -writer->record_size & 7;

	memset(writer->record + writer->record_size, 0, padding);
	writer->record_size += padding;
}

static void put_string(struct sb_perfdata_writer *writer, const char *string, size_t length)
{
	memcpy(writer->record + writer->record_size, string, length);
	writer->record[writer->record_size + length] = '\0';
	writer->record_size += length + 1;
	put_padding(writer);
}

static void put_trailer(struct sb_perfdata_writer *writer, const struct sb_write_sample *sample,
                        enum origin origin)
{
	/* Without a sample: made up at the start, where perf leaves all of it zero. */
	put_pair(writer, sample ? sample->pid : 0, sample ? sample->tid : 0);
	put_u64(writer, sample ? sample->time : 0);
	put_u64(writer, sample ? sample->cpu : 0);
	put_u64(writer, sample ? sb_writer_id(writer, (enum write_event_kind)origin, sample->cpu) : 0);
}

static int check_cpu(const struct sb_perfdata_writer *writer, uint32_t cpu, struct sb_error *err)
{
	if (cpu < writer->config.ncpus)
		return 0;
	return sb_error_set(err, -sbe_invalid, writer->path, UINT64_MAX,
	                    "a record of CPU %" PRIu32 "; the recording has %" PRIu32, cpu,
	                    writer->config.ncpus);
}

static int end(struct sb_perfdata_writer *writer, const struct sb_write_sample *sample, enum origin origin,
               struct sb_error *err)
{
	if (sample && check_cpu(writer, sample->cpu, err) < 0)
		return -sbe_invalid;
	if (origin != from_perf)
		put_trailer(writer, sample, origin);
	store_u16(writer->record + 6, (uint16_t)writer->record_size);
	return sb_writer_append(writer, writer->record, writer->record_size, err);
}

int sb_write_comm(struct sb_perfdata_writer *writer, const struct sb_write_sample *sample, int32_t pid,
                  int32_t tid, const char *comm, int exec, struct sb_error *err)
{
	begin(writer, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
	put_pair(writer, pid, tid);
	put_string(writer, comm, strnlen(comm, COMM_LENGTH));
	return end(writer, sample, from_dummy, err);
}

/* u8 size, three of padding, 20 of the build-id. */
static void put_build_id(struct sb_perfdata_writer *writer, const struct sb_write_mmap2 *mmap)
{
	uint8_t *at = writer->record + writer->record_size;
	const size_t size =
	        mmap->build_id_size < sizeof(mmap->build_id) ? mmap->build_id_size : sizeof(mmap->build_id);

	memset(at, 0, 4 + sizeof(mmap->build_id));
	at[0] = (uint8_t)size;
	memcpy(at + 4, mmap->build_id, size);
	writer->record_size += 4 + sizeof(mmap->build_id);
}

int sb_write_mmap2(struct sb_perfdata_writer *writer, const struct sb_write_sample *sample,
                   const struct sb_write_mmap2 *mmap, struct sb_error *err)
{
	size_t length = strlen(mmap->filename);

	if (length >= PATH_MAX)
		return sb_error_set(err, -sbe_invalid, writer->path, UINT64_MAX,
		                    "a mapped file's name has %zu bytes", length);
	begin(writer, PERF_RECORD_MMAP2,
	      (uint16_t)((mmap->is_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER) |
	                 (mmap->build_id_size ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0)));
	put_pair(writer, mmap->pid, mmap->tid);
	put_u64(writer, mmap->addr);
	put_u64(writer, mmap->len);
	put_u64(writer, mmap->pgoff);
	if (mmap->build_id_size) {
		put_build_id(writer, mmap);
	} else {
		put_u32(writer, mmap->maj);
		put_u32(writer, mmap->min);
		put_u64(writer, mmap->ino);
		put_u64(writer, 0);
	}
	put_u32(writer, mmap->prot);
	put_u32(writer, mmap->flags);
	put_string(writer, mmap->filename, length);
	return end(writer, sample, from_dummy, err);
}

struct task {
	int32_t pid, ppid, tid, ptid;
};

static int write_task(struct sb_perfdata_writer *writer, uint32_t type, const struct sb_write_sample *sample,
                      struct task task, struct sb_error *err)
{
	begin(writer, type, !sample && type == PERF_RECORD_FORK ? PERF_RECORD_MISC_FORK_EXEC : 0);
	put_pair(writer, task.pid, task.ppid);
	put_pair(writer, task.tid, task.ptid);
	put_u64(writer, sample ? sample->time : 0);
	return end(writer, sample, from_dummy, err);
}

int sb_write_fork(struct sb_perfdata_writer *writer, const struct sb_write_sample *sample, int32_t pid,
                  int32_t ppid, int32_t tid, int32_t ptid, struct sb_error *err)
{
	return write_task(writer, PERF_RECORD_FORK, sample, (struct task){pid, ppid, tid, ptid}, err);
}

int sb_write_exit(struct sb_perfdata_writer *writer, const struct sb_write_sample *sample, int32_t pid,
                  int32_t ppid, int32_t tid, int32_t ptid, struct sb_error *err)
{
	return write_task(writer, PERF_RECORD_EXIT, sample, (struct task){pid, ppid, tid, ptid}, err);
}

int sb_write_namespaces(struct sb_perfdata_writer *writer, const struct sb_write_sample *sample, int32_t pid,
                        int32_t tid, const struct sb_namespace *namespaces, size_t count,
                        struct sb_error *err)
{
	if (count > NR_NAMESPACES)
		count = NR_NAMESPACES;
	begin(writer, PERF_RECORD_NAMESPACES, 0);
	put_pair(writer, pid, tid);
	put_u64(writer, count);
	for (size_t i = 0; i < count; ++i) {
		put_u64(writer, namespaces[i].dev);
		put_u64(writer, namespaces[i].ino);
	}
	return end(writer, sample, from_dummy, err);
}

int sb_write_cgroup(struct sb_perfdata_writer *writer, const struct sb_write_sample *sample, uint64_t id,
                    const char *path, struct sb_error *err)
{
	const size_t length = strlen(path);

	if (length >= PATH_MAX)
		return sb_error_set(err, -sbe_invalid, writer->path, UINT64_MAX,
		                    "a cgroup's path has %zu bytes", length);
	begin(writer, PERF_RECORD_CGROUP, 0);
	put_u64(writer, id);
	put_string(writer, path, length);
	return end(writer, sample, from_dummy, err);
}

int sb_write_cgroup_sample(struct sb_perfdata_writer *writer, const struct sb_write_sample *sample,
                           uint64_t ip, uint64_t cgroup, struct sb_error *err)
{
	if (!writer->config.cgroups || !sample)
		return sb_error_set(err, -sbe_invalid, writer->path, UINT64_MAX,
		                    "a sample of a cgroup in a recording without such an event");
	if (check_cpu(writer, sample->cpu, err) < 0)
		return -sbe_invalid;
	begin(writer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put_u64(writer, sb_writer_id(writer, write_event_cgroup, sample->cpu));
	put_u64(writer, ip);
	put_pair(writer, sample->pid, sample->tid);
	put_u64(writer, sample->time);
	put_u64(writer, sample->cpu);
	put_u64(writer, cgroup);
	return end(writer, NULL, from_perf, err);
}

int sb_write_switch(struct sb_perfdata_writer *writer, const struct sb_write_sample *sample, int out,
                    int preempt, int32_t next_prev_pid, int32_t next_prev_tid, struct sb_error *err)
{
	unsigned int misc = out ? PERF_RECORD_MISC_SWITCH_OUT : 0;

	if (out && preempt)
		misc |= PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	begin(writer, PERF_RECORD_SWITCH_CPU_WIDE, (uint16_t)misc);
	put_pair(writer, next_prev_pid, next_prev_tid);
	return end(writer, sample, from_dummy, err);
}

int sb_write_itrace_start(struct sb_perfdata_writer *writer, const struct sb_write_sample *sample,
                          int32_t pid, int32_t tid, struct sb_error *err)
{
	begin(writer, PERF_RECORD_ITRACE_START, 0);
	put_pair(writer, pid, tid);
	return end(writer, sample, from_pt, err);
}

int sb_write_aux(struct sb_perfdata_writer *writer, const struct sb_write_sample *sample, uint64_t offset,
                 uint64_t size, uint64_t flags, struct sb_error *err)
{
	begin(writer, PERF_RECORD_AUX, 0);
	put_u64(writer, offset);
	put_u64(writer, size);
	put_u64(writer, flags);
	return end(writer, sample, from_pt, err);
}

int sb_write_ksymbol(struct sb_perfdata_writer *writer, const struct sb_write_sample *sample, uint64_t addr,
                     uint32_t size, const char *name, struct sb_error *err)
{
	begin(writer, PERF_RECORD_KSYMBOL, 0);
	put_u64(writer, addr);
	put_u32(writer, size);
	put_u16(writer, PERF_RECORD_KSYMBOL_TYPE_BPF);
	put_u16(writer, 0);
	put_string(writer, name, strnlen(name, PATH_MAX));
	return end(writer, sample, from_dummy, err);
}

int sb_write_text_poke(struct sb_perfdata_writer *writer, const struct sb_write_sample *sample, uint64_t addr,
                       const uint8_t *old_bytes, const uint8_t *new_bytes, uint16_t size,
                       struct sb_error *err)
{
	enum { MOST = 64 };

	if (size > MOST)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "a patch of more than %d bytes",
		                    MOST);
	begin(writer, PERF_RECORD_TEXT_POKE, 0);
	put_u64(writer, addr);
	put_u16(writer, size);
	put_u16(writer, size);
	put_bytes(writer, old_bytes, size);
	put_bytes(writer, new_bytes, size);
	put_padding(writer);
	return end(writer, sample, from_dummy, err);
}

int sb_write_bpf_event(struct sb_perfdata_writer *writer, const struct sb_write_sample *sample, uint32_t id,
                       const uint8_t tag[8], struct sb_error *err)
{
	begin(writer, PERF_RECORD_BPF_EVENT, 0);
	put_u16(writer, PERF_BPF_EVENT_PROG_LOAD);
	put_u16(writer, 0);
	put_u32(writer, id);
	put_bytes(writer, tag, 8);
	return end(writer, sample, from_dummy, err);
}

int sb_write_lost(struct sb_perfdata_writer *writer, const struct sb_write_sample *sample, uint64_t lost,
                  struct sb_error *err)
{
	begin(writer, PERF_RECORD_LOST, 0);
	put_u64(writer, sample ? sb_writer_id(writer, write_event_dummy, sample->cpu) : 0);
	put_u64(writer, lost);
	return end(writer, sample, from_dummy, err);
}

int sb_write_finished_init(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	begin(writer, SB_RECORD_FINISHED_INIT, 0);
	return end(writer, NULL, from_perf, err);
}

int sb_write_finished_round(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	begin(writer, SB_RECORD_FINISHED_ROUND, 0);
	return end(writer, NULL, from_perf, err);
}

static int add_index(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	struct write_index *grown = sb_array_room(writer->aux, writer->naux, sizeof(*grown));

	if (!grown)
		return sb_error_set(err, -sbe_nomem, writer->path, UINT64_MAX, "out of memory");
	writer->aux = grown;
	grown[writer->naux++] = (struct write_index){writer->position, writer->record_size};
	return 0;
}

int sb_writer_put_auxtrace(struct sb_perfdata_writer *writer, const struct write_trace *trace,
                           struct sb_error *err)
{
	static const uint8_t pad[8];
	const uint64_t size = trace->size[0] + trace->size[1], padding = -size & 7;
	int status;

	begin(writer, SB_RECORD_AUXTRACE, 0);
	put_u64(writer, size + padding);
	put_u64(writer, trace->offset);
	put_u64(writer, trace->reference);
	put_u32(writer, trace->stream);
	put_u32(writer, UINT32_MAX);
	put_u32(writer, trace->cpu);
	put_u32(writer, 0);
	status = add_index(writer, err);
	if (status == 0)
		status = end(writer, NULL, from_perf, err);
	for (int i = 0; i < 2 && status == 0; i++)
		status = sb_writer_append(writer, trace->piece[i], trace->size[i], err);
	return status == 0 ? sb_writer_append(writer, pad, padding, err) : status;
}

int sb_write_auxtrace(struct sb_perfdata_writer *writer, uint32_t cpu, uint64_t reference, const void *bytes,
                      uint64_t size, struct sb_error *err)
{
	int status;

	if (cpu >= writer->config.ncpus || size > UINT64_MAX - 8)
		return sb_error_set(err, -sbe_invalid, writer->path, UINT64_MAX,
		                    "%" PRIu64 " AUX bytes of CPU %" PRIu32 "; the recording has %" PRIu32
		                    " CPUs",
		                    size, cpu, writer->config.ncpus);
	status = sb_writer_put_auxtrace(writer,
	                                &(struct write_trace){.cpu = cpu,
	                                                      .stream = cpu,
	                                                      .offset = writer->stream_offset[cpu],
	                                                      .reference = reference,
	                                                      .piece = {bytes},
	                                                      .size = {size}},
	                                err);
	writer->stream_offset[cpu] += size;
	return status;
}

static int put_auxtrace_info(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	const struct sb_perfdata_write_config *config = &writer->config;
	const uint64_t priv[sb_pt_privs] = {
	        [sb_pt_pmu_type] = config->pt_pmu_type,
	        [sb_pt_time_shift] = config->clock.time_shift,
	        [sb_pt_time_mult] = config->clock.time_mult,
	        [sb_pt_time_zero] = config->clock.time_zero,
	        [sb_pt_cap_user_time_zero] = config->clock.time_mult != 0,
	        [sb_pt_tsc_bit] = SB_PT_CONFIG_TSC,
	        [sb_pt_noretcomp_bit] = SB_PT_CONFIG_NORETCOMP,
	        [sb_pt_have_sched_switch] = SCHED_SWITCH_CPU_WIDE,
	        [sb_pt_snapshot_mode] = writer->is_snapshot != 0,
	        [sb_pt_per_cpu_mmaps] = 1,
	        [sb_pt_mtc_bit] = SB_PT_CONFIG_MTC,
	        [sb_pt_mtc_freq_bits] = SB_PT_CONFIG_MTC_FREQ,
	        [sb_pt_tsc_ctc_n] = config->tsc_ctc_num,
	        [sb_pt_tsc_ctc_d] = config->tsc_ctc_den,
	        [sb_pt_cyc_bit] = SB_PT_CONFIG_CYC,
	        [sb_pt_max_nonturbo_ratio] = config->max_nonturbo_ratio,
	        [sb_pt_cap_event_trace] = writer->cap_event_trace != 0,
	};
	int i;

	begin(writer, SB_RECORD_AUXTRACE_INFO, 0);
	put_u32(writer, SB_AUXTRACE_INTEL_PT);
	put_u32(writer, 0);
	for (i = 0; i < sb_pt_privs; i++)
		put_u64(writer, priv[i]);
	return end(writer, NULL, from_perf, err);
}

static int put_time_conv(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	const struct sb_clock *clock = &writer->config.clock;

	begin(writer, SB_RECORD_TIME_CONV, 0);
	put_u64(writer, clock->time_shift);
	put_u64(writer, clock->time_mult);
	put_u64(writer, clock->time_zero);
	put_u64(writer, 0);
	put_u64(writer, 0);
	put_u64(writer, clock->time_mult != 0); /* the first byte says that time_zero is valid */
	return end(writer, NULL, from_perf, err);
}

/* Of the identifiers of all events, those from @first on that fit into a record. Returns how many, or an
 * error. */
static int put_some_ids(struct sb_perfdata_writer *writer, size_t first, struct sb_error *err)
{
	enum { ENTRY = 32, MOST = (WRITE_RECORD_MAX - 16) / ENTRY };
	const size_t count = writer->nids - first < MOST ? writer->nids - first : MOST;
	size_t index = 0, put = 0;
	int status;

	begin(writer, SB_RECORD_ID_INDEX, 0);
	put_u64(writer, count);
	for (size_t i = 0; i < writer->nevents; i++)
		for (size_t k = 0; k < writer->event[i].nids && put < count; k++, index++) {
			const struct write_id *id = &writer->event[i].id[k];

			if (index < first)
				continue;
			put_u64(writer, id->id);
			put_u64(writer, id->cpu);
			put_u64(writer, id->cpu);
			put_u64(writer, (uint64_t)(int64_t)id->tid);
			put += 1;
		}
	status = end(writer, NULL, from_perf, err);
	return status < 0 ? status : (int)count;
}

int sb_writer_put_id_index(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	for (size_t first = 0; first < writer->nids;) {
		const int count = put_some_ids(writer, first, err);

		if (count < 0)
			return count;
		first += (size_t)count;
	}
	return 0;
}

static int put_thread_map(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	begin(writer, SB_RECORD_THREAD_MAP, 0);
	put_u64(writer, 1);
	put_u64(writer, UINT64_MAX); /* all threads, without a name */
	put_u64(writer, 0);
	put_u64(writer, 0);
	return end(writer, NULL, from_perf, err);
}

static int put_cpu_map(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	uint32_t cpu;

	begin(writer, SB_RECORD_CPU_MAP, 0);
	put_u16(writer, 0); /* a list of numbers */
	put_u16(writer, (uint16_t)writer->config.ncpus);
	for (cpu = 0; cpu < writer->config.ncpus; cpu++)
		put_u16(writer, (uint16_t)cpu);
	put_padding(writer);
	return end(writer, NULL, from_perf, err);
}

int sb_writer_put_preamble(struct sb_perfdata_writer *writer, struct sb_error *err)
{
	const int has_pt = writer->role[write_event_pt] >= 0;
	const struct {
		int (*put)(struct sb_perfdata_writer *, struct sb_error *);
		int wanted;
	} records[] = {
	        {put_auxtrace_info, has_pt},
	        {put_time_conv, has_pt || writer->config.clock.time_mult},
	        {sb_writer_put_id_index, 1},
	        {put_thread_map, 1},
	        {put_cpu_map, 1},
	};
	int status = 0;
	size_t i;

	for (i = 0; i < sizeof(records) / sizeof(records[0]) && status == 0; i++)
		if (records[i].wanted)
			status = records[i].put(writer, err);
	return status;
}
