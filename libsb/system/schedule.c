/* schedule.c - see schedule.h. */
#include "system/schedule.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "bisect.h"
#include "record/bytes.h"
#include "system/cpu_entries.h"
#include "system/lost_switch.h"

static struct cpu_schedule *make_cpu(struct schedule *schedule, uint32_t number)
{
	const size_t ncpus = number < 2 * schedule->ncpus ? 2 * schedule->ncpus : (size_t)number + 1;
	struct cpu_schedule *cpu = reallocarray(schedule->cpu, ncpus, sizeof(*cpu));

	if (!cpu)
		return NULL;
	memset(cpu + schedule->ncpus, 0, (ncpus - schedule->ncpus) * sizeof(*cpu));
	schedule->cpu = cpu;
	schedule->ncpus = ncpus;
	return &cpu[number];
}

static inline struct cpu_schedule *get_cpu(struct schedule *schedule, uint32_t number)
{
	return number < schedule->ncpus ? &schedule->cpu[number] : make_cpu(schedule, number);
}

/* Positive: the entry should have come earlier. */
static int add(const struct schedule *schedule, struct cpu_schedule *cpu, const struct sb_sched *entry)
{
	if (schedule->thrifty && cpu->nscheds > cpu->settle_at &&
	    cpu_entries_settle(cpu, schedule->safe_time) < 0)
		return -sbe_nomem;
	if (entry->time < cpu->settled_time)
		return 1;
	return cpu_entries_append(cpu, entry);
}

/* From @time on @tid runs; nobody says who before. */
static int runs(const struct schedule *schedule, struct cpu_schedule *cpu, uint64_t time, int32_t pid,
                int32_t tid)
{
	const struct sb_sched entry = {.time = time,
	                               .pid = pid,
	                               .tid = tid,
	                               .prev_pid = -1,
	                               .prev_tid = -1,
	                               .records = sb_sched_other};

	return add(schedule, cpu, &entry);
}

/* The first switch also says who ran before it - unless records before it were lost. */
static int ran_before(const struct schedule *schedule, struct cpu_schedule *cpu, int32_t pid, int32_t tid)
{
	return cpu->nscheds || cpu->lost ? 0 : runs(schedule, cpu, 0, pid, tid);
}

static struct sb_sched switch_entry(const struct cpu_switch *made)
{
	if (made->out)
		return (struct sb_sched){.time = made->time,
		                         .pid = made->other_pid,
		                         .tid = made->other_tid,
		                         .prev_pid = made->pid,
		                         .prev_tid = made->tid,
		                         .records = sb_sched_out};
	return (struct sb_sched){.time = made->time,
	                         .pid = made->pid,
	                         .tid = made->tid,
	                         .prev_pid = made->other_pid,
	                         .prev_tid = made->other_tid,
	                         .records = sb_sched_in};
}

static int add_switch(const struct schedule *schedule, struct cpu_schedule *cpu,
                      const struct cpu_switch *made)
{
	const struct sb_sched entry = switch_entry(made);
	const int status = ran_before(schedule, cpu, entry.prev_pid, entry.prev_tid);

	cpu->has_switches = 1;
	return status ? status : add(schedule, cpu, &entry);
}

static int add_switch_record(const struct schedule *schedule, struct cpu_schedule *cpu,
                             const struct sb_record *record, uint64_t time)
{
	const int wide = record->type == PERF_RECORD_SWITCH_CPU_WIDE;
	const int known = (record->sample.has & PERF_SAMPLE_TID) != 0;
	const struct cpu_switch made = {.time = time,
	                                .pid = known ? record->sample.pid : -1,
	                                .tid = known ? record->sample.tid : -1,
	                                .other_pid = wide ? record->u.context_switch.next_prev_pid : -1,
	                                .other_tid = wide ? record->u.context_switch.next_prev_tid : -1,
	                                .out = record->u.context_switch.out};

	return add_switch(schedule, cpu, &made);
}

/* Who ran since the CPU's last entry, if only the thread is known from that; and not even the thread, where
 * its number is another name space's. With another number otherwise, a record in between is missing. */
static void set_last(struct cpu_schedule *cpu, int32_t pid, int32_t tid)
{
	struct sb_sched *last = cpu->nscheds ? &cpu->sched[cpu->nscheds - 1] : NULL;

	if (!last || last->pid != SCHEDULE_PID_LATER || last->time != cpu->last.time || pid < 0)
		return;
	if (last->tid != tid && !cpu->foreign_tids)
		return;
	last->pid = pid;
	last->tid = tid;
	cpu->last = *last;
}

/* A thread that calls exec() goes on with the leader's number. */
static int add_exec(const struct schedule *schedule, struct cpu_schedule *cpu, const struct sb_record *record,
                    uint64_t time)
{
	const struct sb_sched *last = &cpu->last;

	/* It is the running thread that tells. */
	if (record->u.comm.exec)
		set_last(cpu, record->u.comm.pid, last->tid);
	if (!cpu->nscheds || !record->u.comm.exec || last->pid != record->u.comm.pid ||
	    last->tid == record->u.comm.tid || last->time > time)
		return 0;
	return runs(schedule, cpu, time, record->u.comm.pid, record->u.comm.tid);
}

/* Who was switched out says a sample of sched:sched_switch, but for a thread that has come to its end. */
static int knows_who(const struct sb_record *record)
{
	const struct sb_sample_id *who = &record->sample;

	return (who->has & PERF_SAMPLE_TID) && who->pid >= 0 && who->tid >= 0 &&
	       (who->tid > 0 || record->u.sample.prev_tid == 0);
}

static void set_prev(const struct cpu_schedule *cpu, struct sb_sched *entry, const struct sb_record *record)
{
	entry->prev_pid = SCHEDULE_PID_LATER;
	entry->prev_tid = record->u.sample.prev_tid;
	if (knows_who(record)) {
		entry->prev_pid = record->sample.pid;
		entry->prev_tid = record->sample.tid;
	} else if (cpu->nscheds && cpu->last.tid == entry->prev_tid) {
		entry->prev_pid = cpu->last.pid;
	}
}

/* A sample of sched:sched_switch: it knows the threads, and the process of the one that goes. */
static int add_sample(const struct schedule *schedule, struct cpu_schedule *cpu,
                      const struct sb_record *record, uint64_t time)
{
	const int32_t next = record->u.sample.next_tid;
	struct sb_sched entry = {
	        .time = time, .pid = next ? SCHEDULE_PID_LATER : 0, .tid = next, .records = sb_sched_out};
	int status;

	if (!schedule->by_samples || cpu->has_switches || !record->u.sample.is_sched_switch)
		return 0;
	if (knows_who(record) && record->sample.tid != record->u.sample.prev_tid)
		cpu->foreign_tids = 1;
	set_prev(cpu, &entry, record);
	/* Who is switched out now is who ran since the entry before. */
	set_last(cpu, entry.prev_pid, entry.prev_tid);
	status = ran_before(schedule, cpu, entry.prev_pid, entry.prev_tid);
	return status ? status : add(schedule, cpu, &entry);
}

/* ---- Losses ----------------------------------------------------------------------------------- */

/* From @time to its next switch, nobody knows who runs on the CPU. */
static int forget_from(const struct schedule *schedule, struct cpu_schedule *cpu, uint64_t time)
{
	cpu->lost = 1;
	return runs(schedule, cpu, time, -1, -1);
}

static int note_loss(struct schedule *schedule, const struct sb_record *record, uint64_t time,
                     uint64_t nrecords)
{
	struct sb_lost lost = {.time = time, .nrecords = nrecords, .cpu = -1, .type = record->type};

	/* What perf adds at the end happened nowhere. */
	if ((record->sample.has & PERF_SAMPLE_CPU) && time)
		lost.cpu = (int32_t)record->sample.cpu;
	if (array_reserve(&schedule->lost, &schedule->lost_capacity, schedule->nlost, sizeof(lost)) < 0)
		return -sbe_nomem;
	schedule->lost[schedule->nlost++] = lost;
	return 0;
}

/* What was lost came after the CPU's record before. The LOST record is made by whoever makes the next one,
 * and so runs then. */
static int add_lost(struct schedule *schedule, struct cpu_schedule *cpu, const struct sb_record *record,
                    uint64_t time)
{
	const struct sb_sample_id *who = &record->sample;
	int status = note_loss(schedule, record, time, record->u.lost.lost);

	schedule->lost_told += record->u.lost.lost;
	if (status || !cpu)
		return status;
	status = forget_from(schedule, cpu, cpu->last_time ? cpu->last_time + 1 : 0);
	if (status || !(who->has & PERF_SAMPLE_TID) || who->pid < 0 || who->tid < 0)
		return status;
	return runs(schedule, cpu, time, who->pid, who->tid);
}

static int add_lost_samples(struct schedule *schedule, struct cpu_schedule *cpu,
                            const struct sb_record *record, uint64_t time)
{
	enum {
		MISC_LEFT_OUT = 1 << 15
	}; /* a BPF program did not want them: PERF_RECORD_MISC_LOST_SAMPLES_BPF */
	int status;

	if (record->misc & MISC_LEFT_OUT)
		return 0;
	status = note_loss(schedule, record, time, record->u.lost.lost);
	if (!time)
		schedule->lost_in_all += record->u.lost.lost;
	if (status || !cpu || !schedule->by_samples || cpu->has_switches)
		return status;
	return forget_from(schedule, cpu, cpu->last_time ? cpu->last_time + 1 : 0);
}

static int add_throttle(struct schedule *schedule, struct cpu_schedule *cpu, const struct sb_record *record,
                        uint64_t time)
{
	const int status = note_loss(schedule, record, time, 0);

	if (status || !cpu || !schedule->by_samples || cpu->has_switches)
		return status;
	return forget_from(schedule, cpu, time);
}

/* ---- Records ---------------------------------------------------------------------------------- */

static int has_hole(const struct sb_record *record)
{
	const uint64_t holes = PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION;

	return record->type == PERF_RECORD_AUX && (record->u.aux.flags & holes);
}

static struct sb_aux_flag flag_of(const struct sb_record *record, uint64_t time)
{
	return (struct sb_aux_flag){.time = time,
	                            .aux_offset = record->u.aux.offset,
	                            .aux_size = record->u.aux.size,
	                            .flags = record->u.aux.flags,
	                            .tid = record->sample.has & PERF_SAMPLE_TID ? record->sample.tid : -1};
}

static int add_aux(struct cpu_schedule *cpu, const struct sb_record *record, uint64_t time)
{
	if (!has_hole(record))
		return 0;
	if (array_reserve(&cpu->flag, &cpu->flag_capacity, cpu->nflags, sizeof(*cpu->flag)) < 0)
		return -sbe_nomem;
	cpu->flag[cpu->nflags++] = flag_of(record, time);
	return 0;
}

/* A thread's buffer knows no CPU. */
static int add_thread_aux(struct schedule *schedule, const struct sb_record *record, uint64_t time)
{
	if (!has_hole(record) || !(record->sample.has & PERF_SAMPLE_TID))
		return 0;
	if (array_reserve(&schedule->thread_flag, &schedule->thread_flag_capacity, schedule->nthread_flags,
	                  sizeof(*schedule->thread_flag)) < 0)
		return -sbe_nomem;
	schedule->thread_flag[schedule->nthread_flags++] = flag_of(record, time);
	return 0;
}

static int by_thread(const void *left, const void *right)
{
	const struct sb_aux_flag *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->time < b->time ? -1 : a->time > b->time;
}

/* The first one of @tid, or of a higher number. */
static size_t first_of_thread(const struct schedule *schedule, int64_t tid)
{
	struct bisect at = {.high = schedule->nthread_flags};

	while (bisect_more(&at))
		bisect_go(&at, schedule->thread_flag[at.middle].tid < tid);
	return at.low;
}

const struct sb_aux_flag *schedule_thread_flags(const struct schedule *schedule, int32_t tid, size_t *count)
{
	const size_t first = first_of_thread(schedule, tid);

	*count = first_of_thread(schedule, (int64_t)tid + 1) - first;
	return *count ? &schedule->thread_flag[first] : NULL;
}

static int add_to_cpu(const struct schedule *schedule, struct cpu_schedule *cpu,
                      const struct sb_record *record, uint64_t time)
{
	switch (record->type) {
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return add_switch_record(schedule, cpu, record, time);
	case PERF_RECORD_SAMPLE:
		return add_sample(schedule, cpu, record, time);
	case PERF_RECORD_ITRACE_START:
		return runs(schedule, cpu, time, record->u.itrace_start.pid, record->u.itrace_start.tid);
	case PERF_RECORD_COMM:
		return add_exec(schedule, cpu, record, time);
	case PERF_RECORD_AUX:
		return add_aux(cpu, record, time);
	default:
		return 0;
	}
}

/* ID_INDEX: which CPUs there will be records of. */
static int expect_cpus(struct schedule *schedule, const struct sb_record *record)
{
	enum { ENTRY_SIZE = 32, ENTRY_CPU = 16 };

	for (uint64_t i = 0; i < record->u.id_index.nr; ++i) {
		const uint64_t number = load_u64(record->u.id_index.entries + i * ENTRY_SIZE + ENTRY_CPU);
		struct cpu_schedule *cpu;

		if (number > SB_CPU_MAX)
			continue;
		cpu = get_cpu(schedule, (uint32_t)number);
		if (!cpu)
			return -sbe_nomem;
		cpu->traced = 1;
	}
	return 0;
}

/* AUXTRACE_INFO of Intel PT: where context switches come from. */
static void expect_switches(struct schedule *schedule, const struct sb_record *record)
{
	enum { HAVE_SCHED_SWITCH = 7, TRACEPOINT = 1 }; /* which value; what it says */

	if (record->u.auxtrace_info.type == SB_AUXTRACE_INTEL_PT &&
	    record->u.auxtrace_info.npriv > HAVE_SCHED_SWITCH)
		schedule->by_samples =
		        load_u64(record->u.auxtrace_info.priv + 8 * HAVE_SCHED_SWITCH) == TRACEPOINT;
}

/* Records that the running thread makes itself. */
static int is_of_who_runs(uint32_t type)
{
	return type == PERF_RECORD_MMAP || type == PERF_RECORD_MMAP2 || type == PERF_RECORD_COMM ||
	       type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT || type == PERF_RECORD_NAMESPACES;
}

/* Keeps who made a record, unless switches say the same, or records before. */
static int note_seen(struct cpu_schedule *cpu, const struct sb_record *record, uint64_t time)
{
	const struct sb_seen seen = {time, record->sample.pid, record->sample.tid};
	const struct sb_seen *last = cpu->nseen ? &cpu->seen[cpu->nseen - 1] : NULL;

	if (!(record->sample.has & PERF_SAMPLE_TID) || seen.pid <= 0)
		return 0;
	if (record->type == PERF_RECORD_EXIT && record->u.task.tid == seen.tid) {
		if (array_reserve(&cpu->ended, &cpu->ended_capacity, cpu->nended, sizeof(seen)) < 0)
			return -sbe_nomem;
		cpu->ended[cpu->nended++] = seen;
	}
	if ((cpu->nscheds && cpu->last.pid == seen.pid && cpu->last.tid == seen.tid) ||
	    (last && last->tid == seen.tid && last->pid == seen.pid && last->time >= cpu->last.time))
		return 0;
	if (array_reserve(&cpu->seen, &cpu->seen_capacity, cpu->nseen, sizeof(seen)) < 0)
		return -sbe_nomem;
	cpu->seen[cpu->nseen++] = seen;
	return 0;
}

static int add_to_all(struct schedule *schedule, struct cpu_schedule *cpu, const struct sb_record *record,
                      uint64_t time)
{
	switch (record->type) {
	case SB_RECORD_ID_INDEX:
		return expect_cpus(schedule, record);
	case SB_RECORD_FINISHED_ROUND:
		schedule->safe_time = schedule->round_time;
		schedule->round_time = schedule->last_time;
		return 0;
	case SB_RECORD_AUXTRACE_INFO:
		expect_switches(schedule, record);
		return 0;
	case PERF_RECORD_LOST:
		return add_lost(schedule, cpu, record, time);
	case PERF_RECORD_LOST_SAMPLES:
		return add_lost_samples(schedule, cpu, record, time);
	case PERF_RECORD_THROTTLE:
		return add_throttle(schedule, cpu, record, time);
	default:
		return cpu ? add_to_cpu(schedule, cpu, record, time) : 0;
	}
}

/* Of a record; @cpu: NULL when it is of none. */
static void note_time(struct schedule *schedule, struct cpu_schedule *cpu, uint64_t time)
{
	if (cpu) {
		cpu->traced = 1;
		cpu->last_time = time > cpu->last_time ? time : cpu->last_time;
	}
	if (time > schedule->last_time)
		schedule->last_time = time;
}

int schedule_record(struct schedule *schedule, const struct sb_record *record, uint64_t time)
{
	struct cpu_schedule *cpu = NULL;
	int status;

	/* What perf made up at the start happened on no CPU. */
	if ((record->sample.has & PERF_SAMPLE_CPU) && record->sample.cpu <= SB_CPU_MAX && time) {
		cpu = get_cpu(schedule, record->sample.cpu);
		if (!cpu)
			return -sbe_nomem;
	}
	status = add_to_all(schedule, cpu, record, time);
	if (status == 0 && cpu && is_of_who_runs(record->type))
		status = note_seen(cpu, record, time);
	if (status == 0)
		status = add_thread_aux(schedule, record, time);
	note_time(schedule, cpu, time);
	return status;
}

int schedule_switches(struct schedule *schedule, struct sb_perfdata_cursor *cursor,
                      const struct switch_layout *layout, uint64_t *count)
{
	struct switch_run run = switch_run_begin(cursor);
	struct cpu_switch made;
	int status = 0;

	while (status == 0 && switch_run_next(&run, layout, &made)) {
		struct cpu_schedule *cpu = get_cpu(schedule, made.cpu);

		if (!cpu)
			return -sbe_nomem;
		status = add_switch(schedule, cpu, &made);
		note_time(schedule, cpu, made.time);
		*count += 1;
	}
	switch_run_end(&run, cursor);
	return status;
}

/* Up to when nothing is missing in a recording that was cut off. */
static uint64_t horizon(const struct schedule *schedule)
{
	uint64_t first_end = UINT64_MAX;

	for (size_t i = 0; i < schedule->ncpus; ++i)
		if (schedule->cpu[i].traced && schedule->cpu[i].last_time < first_end)
			first_end = schedule->cpu[i].last_time;
	if (first_end == UINT64_MAX || first_end < schedule->safe_time)
		return schedule->safe_time;
	return first_end;
}

static void find_pid(const struct cpu_schedule *cpu, int32_t *pid, int32_t *tid,
                     int32_t (*pid_of)(const void *context, int32_t tid), const void *context)
{
	if (*pid != SCHEDULE_PID_LATER)
		return;
	*pid = cpu->foreign_tids ? -1 : pid_of(context, *tid);
	if (*pid < 0)
		*tid = -1;
}

int schedule_find_pids(struct schedule *schedule, int32_t (*pid_of)(const void *context, int32_t tid),
                       const void *context)
{
	for (size_t i = 0; i < schedule->ncpus && schedule->by_samples; ++i) {
		struct cpu_schedule *cpu = &schedule->cpu[i];

		if (cpu_entries_gather(cpu) < 0)
			return -sbe_nomem;
		for (size_t j = 0; j < cpu->nscheds; ++j) {
			schedule_pass(cpu, j);
			find_pid(cpu, &cpu->sched[j].pid, &cpu->sched[j].tid, pid_of, context);
			find_pid(cpu, &cpu->sched[j].prev_pid, &cpu->sched[j].prev_tid, pid_of, context);
		}
	}
	return 0;
}

int schedule_seal(struct schedule *schedule, int damaged)
{
	const uint64_t known = horizon(schedule);
	int status = 0;

	if (schedule->nthread_flags)
		qsort(schedule->thread_flag, schedule->nthread_flags, sizeof(*schedule->thread_flag),
		      by_thread);

	for (size_t i = 0; i < schedule->ncpus && status == 0; ++i) {
		struct cpu_schedule *cpu = &schedule->cpu[i];

		status = cpu_entries_gather(cpu);
		if (status == 0)
			status = cpu_entries_sort(cpu);
		if (status == 0)
			status = array_sort(cpu->flag, cpu->nflags, sizeof(*cpu->flag));
		if (status == 0)
			status = array_sort(cpu->seen, cpu->nseen, sizeof(*cpu->seen));
		if (status == 0)
			status = array_sort(cpu->ended, cpu->nended, sizeof(*cpu->ended));
		/* The kernel tells of losses with the next record: behind the last one, it cannot. */
		if (status == 0 && schedule->lost_in_all > schedule->lost_told && cpu->last_time)
			status = cpu_entries_forget_after(cpu, cpu->last_time);
		if (status == 0 && damaged)
			status = cpu_entries_forget_after(cpu, known);
		cpu_entries_finish(cpu, schedule->by_samples);
	}
	if (status == 0)
		status = lost_switch_find(schedule);
	for (size_t i = 0; i < schedule->ncpus; ++i) {
		struct cpu_schedule *cpu = &schedule->cpu[i];

		spill_array_seal(&cpu->spill, cpu->sched, cpu->nscheds * sizeof(*cpu->sched));
		spill_array_release(&cpu->spill, cpu->sched);
	}
	return status;
}

void schedule_free(struct schedule *schedule)
{
	if (schedule->checkpoint) {
		for (size_t i = 0; schedule->right && i < schedule->ncpus; ++i)
			free(schedule->right[i].blocks);
		free(schedule->cpu);
		free(schedule->right);
		memset(schedule, 0, sizeof(*schedule));
		return;
	}
	for (size_t i = 0; i < schedule->ncpus; ++i) {
		spill_array_free(&schedule->cpu[i].spill, schedule->cpu[i].sched);
		free(schedule->cpu[i].flag);
		free(schedule->cpu[i].seen);
		free(schedule->cpu[i].ended);
	}
	free(schedule->cpu);
	free(schedule->lost);
	free(schedule->thread_flag);
	memset(schedule, 0, sizeof(*schedule));
}
