/* software_tracer.c - starts the command under ptrace(2) and keeps threads and virtual CPUs going
 * until the last thread is gone. */
#include "tracer.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/live_command.h"

enum {
	NCPUS_MAX = 256,
	PSB_PERIOD_LEAST = 256,
	TRACE_OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
	                PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL,
	/* attr.config of intel_pt (its format/ directory in sysfs) */
	CONFIG_PT = 1 << 0,
	CONFIG_CYC = 1 << 1,
	CONFIG_MTC = 1 << 9,
	CONFIG_TSC = 1 << 10,
	CONFIG_NORETCOMP = 1 << 11,
	CONFIG_BRANCH = 1 << 13,
	CONFIG_MTC_PERIOD_3 = 3 << 14,
	CONFIG_PSB_SHIFT = 24
};

int out_of_memory(struct tracer *tracer)
{
	return sb_error_set(tracer->err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
}

static int system_error(struct tracer *tracer, const char *what)
{
	return sb_error_set(tracer->err, -sbe_io, NULL, UINT64_MAX, "%s: %s", what, strerror(errno));
}

/* Threads and processes */

struct tracee *thread_find(const struct tracer *tracer, pid_t tid)
{
	struct tracee *t = tracer->threads;

	while (t && t->tid != tid)
		t = t->next;
	return t;
}

struct tracee *thread_add(struct tracer *tracer, pid_t tid)
{
	struct tracee *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->tid = tid;
	t->next = tracer->threads;
	tracer->threads = t;
	tracer->result->nthreads++;
	return t;
}

void thread_remove(struct tracer *tracer, struct tracee *t)
{
	struct tracee **at = &tracer->threads;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	if (t->process)
		process_drop_thread(tracer, t->process);
	free(t);
}

struct tracee_process *process_find(const struct tracer *tracer, pid_t pid)
{
	struct tracee_process *process = tracer->processes;

	while (process && process->pid != pid)
		process = process->next;
	return process;
}

struct tracee_process *process_add(struct tracer *tracer, pid_t pid, pid_t ppid, struct tracee_mm *mm)
{
	struct tracee_process *process = calloc(1, sizeof(*process));

	if (!process) {
		tracee_mm_unref(mm);
		return NULL;
	}
	process->pid = pid;
	process->ppid = ppid;
	process->mm = mm;
	process->next = tracer->processes;
	tracer->processes = process;
	tracer->result->nprocesses++;
	return process;
}

void process_drop_thread(struct tracer *tracer, struct tracee_process *process)
{
	struct tracee_process **at = &tracer->processes;

	if (--process->nthreads)
		return;
	while (*at != process)
		at = &(*at)->next;
	*at = process->next;
	tracee_mm_unref(process->mm);
	free(process);
}

/* Reports */

static uint64_t newest_clock(const struct tracer *tracer)
{
	uint64_t newest = 0;

	for (uint32_t i = 0; i < tracer->config->ncpus; i++) {
		if (tracer->cpu[i].clock > newest)
			newest = tracer->cpu[i].clock;
	}
	return newest;
}

/* An exec by another thread than the leader: it continues under the leader's name. */
static struct tracee *follow_exec(struct tracer *tracer, pid_t tid)
{
	unsigned long former = 0;
	struct tracee *t;

	if (ptrace(PTRACE_GETEVENTMSG, tid, NULL, &former))
		return thread_find(tracer, tid);
	t = thread_find(tracer, (pid_t)former);
	if (t)
		t->tid = tid;
	return t;
}

/* A child that stopped for the first time. */
static int new_thread(struct tracer *tracer, pid_t tid, int report)
{
	struct tracee *t = thread_add(tracer, tid);

	if (!t)
		return out_of_memory(tracer);
	t->status = report;
	t->has_status = 1;
	return 0;
}

static int take_report(struct tracer *tracer, pid_t tid, int report)
{
	struct tracee *t = thread_find(tracer, tid);

	if (!WIFSTOPPED(report) && tid == tracer->command)
		tracer->result->exit_status = report;
	if (WIFSTOPPED(report) && report >> 16 == PTRACE_EVENT_EXEC)
		t = follow_exec(tracer, tid);
	if (!t)
		return WIFSTOPPED(report) ? new_thread(tracer, tid, report) : 0;
	t->status = report;
	t->has_status = 1;
	t->regs_known = t->regs_known && t->place == tp_on_cpu;
	if (t->place == tp_blocked || (t->place == tp_new && t->process)) {
		uint64_t now = newest_clock(tracer);

		/* Whoever woke it did so before now. */
		if (t->tsc < now)
			t->tsc = now;
		make_ready(tracer, t);
	}
	return 0;
}

/* Whoever is asked to end may take time, or start others; the recording ends when all have. */
static void heed_stop(struct tracer *tracer)
{
	const volatile sig_atomic_t *stop = tracer->config->stop;
	const int asked = stop ? (int)*stop : 0;

	if (asked == tracer->heeded)
		return;
	tracer->heeded = asked;
	for (const struct tracee_process *process = tracer->processes; process; process = process->next)
		kill(process->pid, asked > 1 ? SIGKILL : SIGTERM);
}

/* Takes what there is; waits for the first if @wait. Returns 1 when there was something, 0 when not. */
static int take_reports(struct tracer *tracer, int wait)
{
	int found = 0, report, status;
	pid_t tid;

	for (;;) {
		heed_stop(tracer);
		tid = waitpid(-1, &report, __WALL | (wait && !found ? 0 : WNOHANG));
		if (tid < 0 && errno == EINTR)
			continue;
		if (tid <= 0)
			return found;
		found = 1;
		status = take_report(tracer, tid, report);
		if (status < 0)
			return status;
	}
}

/* The wheel */

static int end_round(struct tracer *tracer, int last)
{
	uint64_t oldest = UINT64_MAX;

	for (uint32_t i = 0; i < tracer->config->ncpus; i++) {
		struct vcpu *cpu = &tracer->cpu[i];

		if (cpu->current && cpu->clock < oldest)
			oldest = cpu->clock;
	}
	/* All records to come are newer than those of the round before: idle CPUs will see to it. */
	if (!last && (oldest < tracer->round || tracer->newest_record - tracer->round < 50000000))
		return 0;
	tracer->round = tracer->newest_record;
	return sb_write_finished_round(tracer->writer, tracer->err);
}

static int turn_wheel(struct tracer *tracer)
{
	while (tracer->threads) {
		struct vcpu *cpu;
		uint64_t until;
		int status = take_reports(tracer, 0);

		if (status >= 0)
			status = fill_idle_cpus(tracer);
		if (status < 0)
			return status;
		cpu = next_cpu(tracer, &until);
		if (cpu) {
			status = take_turn(tracer, cpu, until);
			if (status >= 0)
				status = end_round(tracer, 0);
			if (tracer->config->progress)
				tracer->config->progress(tracer->config->context, tracer->result);
		} else {
			status = adopt_orphans(tracer);
			if (!status)
				status = take_reports(tracer, 1);
			if (!status)
				return sb_error_set(tracer->err, -sbe_io, NULL, UINT64_MAX,
				                    "threads vanished without a report");
		}
		if (status < 0)
			return status;
	}
	return 0;
}

/* The beginning */

static int first_thread(struct tracer *tracer)
{
	struct tracee_mm *mm = tracee_mm_new();
	struct tracee *t = thread_add(tracer, tracer->command);

	if (!t || !mm) {
		tracee_mm_unref(mm);
		return out_of_memory(tracer);
	}
	t->process = process_add(tracer, tracer->command, getpid(), mm);
	if (!t->process)
		return out_of_memory(tracer);
	t->process->nthreads = 1;
	t->place = tp_blocked;
	t->in_syscall = 1; /* execve(2), of which .first_report tells */
	return 0;
}

/* A signal that comes before exec is the child's, whose handlers are still the caller's. */
static int pass_on(struct tracer *tracer, int report)
{
	const int event = report >> 16, stays = event == PTRACE_EVENT_STOP && stops_a_group(WSTOPSIG(report));
	const long signal = event ? 0 : WSTOPSIG(report);

	if (ptrace(stays ? PTRACE_LISTEN : PTRACE_CONT, tracer->command, NULL, (void *)signal) &&
	    errno != ESRCH)
		return system_error(tracer, "ptrace");
	return 0;
}

/* Waits until the child has become the command, of which the wheel is to hear. 1; 0: it has ended before. */
static int await_exec(struct tracer *tracer)
{
	int *report = &tracer->first_report, status = 0;

	while (status == 0) {
		if (waitpid(tracer->command, report, __WALL) < 0) {
			if (errno != EINTR)
				status = system_error(tracer, "waiting for the command");
			continue;
		}
		if (!WIFSTOPPED(*report)) {
			tracer->command = 0;
			return 0;
		}
		if (*report >> 16 == PTRACE_EVENT_EXEC)
			return 1;
		status = pass_on(tracer, *report);
	}
	return status;
}

static int start_command(struct tracer *tracer, char *const argv[])
{
	struct live_command command;
	int status = live_command_start(&command, argv, tracer->err);

	if (status < 0)
		return status;
	tracer->command = command.pid;
	if (ptrace(PTRACE_SEIZE, command.pid, NULL, (void *)(long)TRACE_OPTIONS)) {
		status = system_error(tracer, "ptrace");
	} else {
		live_command_let_go(&command);
		status = await_exec(tracer);
	}
	if (status >= 0)
		status = live_command_ran(&command, status == 0, argv[0], tracer->err);
	if (status >= 0)
		return first_thread(tracer);
	command.pid = tracer->command;
	live_command_stop(&command, SIGKILL);
	return status;
}

static uint64_t pt_config_bits(const struct sb_software_tracer_config *config)
{
	uint64_t bits = CONFIG_PT | CONFIG_TSC | CONFIG_BRANCH;
	uint32_t period = config->psb_period ? config->psb_period : 4096;

	if (config->cyc)
		bits |= CONFIG_CYC;
	if (config->mtc)
		bits |= CONFIG_MTC | CONFIG_MTC_PERIOD_3;
	if (config->no_retcomp)
		bits |= CONFIG_NORETCOMP;
	for (uint64_t field = 0; field < 15 && period > 2048u << field; field++)
		bits += UINT64_C(1) << CONFIG_PSB_SHIFT;
	return bits;
}

static char *command_line(char *const argv[])
{
	char *line = NULL;
	size_t size;
	FILE *stream = open_memstream(&line, &size);

	if (!stream)
		return NULL;
	fputs("sbtrace record --software --", stream);
	for (; *argv; argv++)
		fprintf(stream, " %s", *argv);
	fclose(stream);
	return line;
}

static int open_files(struct tracer *tracer, char *const argv[])
{
	const struct sb_software_tracer_config *config = tracer->config;
	char *line = command_line(argv);
	struct sb_perfdata_write_config output = {
	        .size = sizeof(output),
	        .ncpus = config->ncpus,
	        .pt_pmu_type = 8,
	        .pt_config = pt_config_bits(config),
	        .family = 6,
	        .model = 85,
	        .stepping = 4,
	        .cpudesc = "Intel(R) Xeon(R) Platinum 8170 CPU @ 2.10GHz (software)",
	        .cmdline = line,
	        .clock = tracer->clock,
	        .tsc_ctc_num = 168,
	        .tsc_ctc_den = 2,
	        .max_nonturbo_ratio = 21,
	        .user_only = 1,
	        .cgroups = 1,
	};
	int status = sb_perfdata_writer_open(&tracer->writer, config->output, &output, tracer->err);

	free(line);
	if (status >= 0 && config->truth)
		status = truth_file_open(&tracer->truth, config->truth, tracer->err);
	if (status >= 0 && config->copy_root)
		status = copy_root_open(&tracer->copies, config->copy_root, tracer->err);
	return status;
}

/* The end */

static int close_files(struct tracer *tracer, int status)
{
	int closed = truth_file_close(tracer->truth, status < 0 ? NULL : tracer->err);

	if (status >= 0)
		status = copy_root_finish(tracer->copies, tracer->err);
	copy_root_close(tracer->copies);
	if (status < 0 || closed < 0) {
		sb_perfdata_writer_abort(tracer->writer);
		return status < 0 ? status : closed;
	}
	return sb_perfdata_writer_finish(tracer->writer, tracer->err);
}

static int flush_all(struct tracer *tracer)
{
	int status = end_round(tracer, 1);

	/* A round vouches for the records of the round before it. Two of them before the last trace data say
	 * that no record is missing, so that a reader can use data that are cut off later. */
	if (!status)
		status = end_round(tracer, 1);
	for (uint32_t i = 0; !status && i < tracer->config->ncpus; i++) {
		tracer->result->noverflows += tracer->cpu[i].gen.noverflows;
		status = vcpu_flush(tracer, &tracer->cpu[i], 1);
	}
	return status < 0 ? status : end_round(tracer, 1);
}

static void kill_command(struct tracer *tracer)
{
	int report;

	for (struct tracee *t = tracer->threads; t; t = t->next)
		kill(t->tid, SIGKILL);
	if (tracer->command > 0)
		kill(tracer->command, SIGKILL);
	/* Those that stop on their way out are let go, after those that nobody had told of. */
	for (;;) {
		pid_t tid = waitpid(-1, &report, __WALL);

		if (tid < 0 && errno != EINTR)
			return;
		if (tid <= 0 || !WIFSTOPPED(report))
			continue;
		if (report >> 16 != PTRACE_EVENT_EXIT)
			kill(tid, SIGKILL);
		ptrace(PTRACE_CONT, tid, NULL, NULL);
	}
}

static void free_threads(struct tracer *tracer)
{
	while (tracer->threads)
		thread_remove(tracer, tracer->threads);
}

/* Ctrl-C is for the command; the recording ends with it, if the caller does not hear of it. */
static void ignore_interrupts(const struct tracer *tracer, struct sigaction old[2])
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	sigaction(SIGINT, tracer->config->stop ? NULL : &ignore, &old[0]);
	sigaction(SIGQUIT, &ignore, &old[1]);
}

static int record(struct tracer *tracer, char *const argv[])
{
	struct sigaction old[2];
	int status;

	affinity_begin(tracer);
	status = start_command(tracer, argv);
	ignore_interrupts(tracer, old);
	if (status >= 0)
		status = sb_write_comm(tracer->writer, NULL, tracer->command, tracer->command, "sbtrace", 0,
		                       tracer->err);
	if (status >= 0)
		status = members_begin(tracer);
	if (status >= 0)
		status = sb_write_finished_init(tracer->writer, tracer->err);
	if (status >= 0)
		status = vcpus_init(tracer);
	if (status >= 0)
		status = take_report(tracer, tracer->command, tracer->first_report);
	if (status >= 0)
		status = turn_wheel(tracer);
	if (status >= 0)
		status = flush_all(tracer);
	if (status < 0)
		kill_command(tracer);
	else
		take_reports(tracer, 1); /* the command's exit status */
	affinity_end(tracer);
	sigaction(SIGINT, &old[0], NULL);
	sigaction(SIGQUIT, &old[1], NULL);
	return status;
}

int sb_software_trace(const struct sb_software_tracer_config *config, char *const argv[],
                      struct sb_software_tracer_result *result, struct sb_error *err)
{
	struct tracer tracer = {
	        .config = config,
	        .result = result,
	        .err = err,
	        .clock = {.time_shift = 31, .time_mult = 1022611261, .time_zero = 7000000000},
	};
	int status;

	if (!config || config->size != sizeof(*config) || !argv || !argv[0] || !result || !config->output)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "incomplete configuration");
	if (!config->ncpus || config->ncpus > NCPUS_MAX)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "there can be 1 to %d CPUs",
		                    NCPUS_MAX);
	if (config->psb_period && config->psb_period < PSB_PERIOD_LEAST)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX, "a PSB period below %d bytes",
		                    PSB_PERIOD_LEAST);
	memset(result, 0, sizeof(*result));
	status = open_files(&tracer, argv);
	if (status >= 0)
		status = record(&tracer, argv);
	free_threads(&tracer);
	cgroups_close(tracer.cgroups);
	vcpus_fini(&tracer);
	return close_files(&tracer, status);
}
