/* test_freeze.c - stopping processes for a moment, and those that cannot be: one that hangs in the kernel,
 * one that somebody traces, one of somebody else. They are waited for only so long, told of, and go on
 * afterwards.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sb/counter.h>
#include <sb/recorder.h>

#include "capture/freeze.h"
#include "support/may_count.h"
#include "support/sleeper.h"

enum { nobody = 65534, patience_ms = 50, child_patience_ms = 1000, tries = 20 };

static void wait_for_byte(int fd)
{
	char byte;

	if (read(fd, &byte, 1) < 0)
		_exit(1);
}

/* The state of a process, as ps(1) has it. */
static char state_of(pid_t pid)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (file)
		fclose(file);
	return state;
}

static void wait_for_state(pid_t pid, char state)
{
	while (state_of(pid) != state)
		usleep(1000);
}

/* A child, and a pipe that both have. */
static pid_t fork_with_pipe(int pipe_fd[2])
{
	pid_t pid;

	assert_int_equal(pipe(pipe_fd), 0);
	pid = fork();
	assert_true(pid >= 0);
	return pid;
}

/* A process that hangs in the kernel (state D) until *go is closed, and then ends: by a vfork(2) whose child
 * does not run a program; it has memory of its own. */
static pid_t start_hanging(int *go)
{
	int pipe_fd[2];
	const pid_t pid = fork_with_pipe(pipe_fd);

	if (!pid) {
		close(pipe_fd[1]);
		if (!syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0))
			wait_for_byte(pipe_fd[0]);
		_exit(0);
	}
	close(pipe_fd[0]);
	*go = pipe_fd[1];
	wait_for_state(pid, 'D');
	return pid;
}

static void expect_end(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* @pid gets a tracer, which lets it run. */
static pid_t start_tracer(pid_t pid)
{
	const pid_t tracer = fork();
	char path[64], line[256];
	int number = 0;

	assert_true(tracer >= 0);
	if (!tracer) {
		if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	while (number != tracer) {
		FILE *file = fopen(path, "re");

		assert_non_null(file);
		while (fgets(line, sizeof(line), file) && sscanf(line, "TracerPid: %d", &number) != 1)
			;
		fclose(file);
	}
	return tracer;
}

static uint64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

/* ---- Freezing --------------------------------------------------------------------------------- */

static void stops_and_goes_on(void **state)
{
	const pid_t pid = start_sleeper();
	struct freeze freeze;

	(void)state;
	assert_int_equal(freeze_process(&freeze, pid, 1, freeze_patience_ms), 0);
	assert_int_equal(freeze.count, 1);
	assert_int_equal(freeze.thread[0].error, 0);
	assert_int_equal(freeze.nleft, 0);
	assert_int_equal(state_of(pid), 't');
	freeze_thaw(&freeze);
	wait_for_state(pid, 'S');
	end_sleeper(pid);
	assert_int_equal(freeze_process(&freeze, pid, 1, freeze_patience_ms), -ESRCH);
}

/* It is given up; and when it comes back from the kernel, nobody has it stopped. */
static void hangs(void **state)
{
	int go;
	const pid_t pid = start_hanging(&go);
	const uint64_t begun = now_ms();
	struct freeze freeze;

	(void)state;
	assert_int_equal(freeze_process(&freeze, pid, 0, patience_ms), 0);
	assert_true(now_ms() - begun >= patience_ms);
	assert_int_equal(freeze.count, 1);
	assert_int_equal(freeze.nleft, 1);
	assert_int_equal(freeze.left.error, ETIMEDOUT);
	assert_int_equal(freeze.left.pid, pid);
	freeze_thaw(&freeze);
	/* Its child, which is no help to it, is stopped nevertheless; behind one that hangs, it is only
	 * waited for freeze_little_patience_ms, which a loaded machine may not give it. */
	for (int i = 0; i < tries; ++i) {
		assert_int_equal(freeze_process(&freeze, pid, 1, child_patience_ms), 0);
		if (freeze.count != 2 || freeze.thread[1].error != ETIMEDOUT || i == tries - 1)
			break;
		freeze_thaw(&freeze);
	}
	assert_int_equal(freeze.count, 2);
	assert_int_equal(freeze.nleft, 1);
	assert_int_equal(freeze.thread[1].error, 0);
	assert_int_equal(state_of(freeze.thread[1].pid), 't');
	freeze_thaw(&freeze);
	close(go);
	expect_end(pid);
}

static void is_traced(void **state)
{
	const pid_t pid = start_sleeper(), tracer = start_tracer(pid);
	struct freeze freeze;

	(void)state;
	assert_int_equal(freeze_process(&freeze, pid, 1, freeze_patience_ms), 0);
	assert_int_equal(freeze.nleft, 1);
	assert_int_equal(freeze.left.error, EPERM);
	freeze_thaw(&freeze);
	wait_for_state(pid, 'S');
	end_sleeper(tracer);
	end_sleeper(pid);
}

/* ---- Counters --------------------------------------------------------------------------------- */

/* A counter that would miss something is not attached. */
static void no_counter(void **state)
{
	const int counter = sb_counter_allocate("page-faults:u", sb_counter_process, 0, -1, NULL);
	struct sb_error err = {0};
	int go;
	pid_t pid, tracer;

	(void)state;
	assert_true(counter > 0);
	pid = start_hanging(&go);
	assert_int_equal(sb_counter_attach(counter, pid, &err), -sb_counter_io);
	assert_non_null(strstr(err.text, "hangs in the kernel"));
	close(go);
	expect_end(pid);
	pid = start_sleeper();
	tracer = start_tracer(pid);
	assert_int_equal(sb_counter_attach(counter, pid, &err), -sb_counter_not_permitted);
	end_sleeper(tracer);
	assert_int_equal(sb_counter_attach(counter, pid, &err), 0);
	end_sleeper(pid);
	sb_counter_release(counter);
}

/* ---- Recordings ------------------------------------------------------------------------------- */

struct notes {
	char text[2048];
};

static void note(void *context, const char *text)
{
	struct notes *notes = context;
	const size_t used = strlen(notes->text);

	snprintf(notes->text + used, sizeof(notes->text) - used, "%s\n", text);
}

static int record(pid_t pid, struct notes *notes, struct sb_error *err)
{
	char output[] = "/tmp/sbtrace-test-freeze.XXXXXX";
	const int fd = mkstemp(output);
	const struct sb_recorder_config config = {.size = sizeof(config),
	                                          .output = output,
	                                          .pid = &pid,
	                                          .npids = 1,
	                                          .time_limit = 50000000,
	                                          .control_fd = -1,
	                                          .note = note,
	                                          .context = notes};
	int status;

	assert_true(fd >= 0);
	close(fd);
	*notes = (struct notes){{0}};
	status = sb_recorder_run(&config, NULL, NULL, err);
	unlink(output);
	return status;
}

/* Recorded, and told of, once. */
static void recorded_as_it_is(void **state)
{
	struct sb_error err = {0};
	struct notes notes;
	pid_t pid, tracer;
	char *told;
	int go;

	(void)state;
	pid = start_hanging(&go);
	assert_int_equal(record(pid, &notes, &err), 0);
	told = strstr(notes.text, "be missing: 1 (the first");
	assert_non_null(told);
	assert_non_null(strstr(told, "hangs in the kernel"));
	assert_null(strstr(strchr(told, '\n'), "be missing"));
	close(go);
	expect_end(pid);
	pid = start_sleeper();
	tracer = start_tracer(pid);
	assert_int_equal(record(pid, &notes, &err), 0);
	assert_non_null(strstr(notes.text, "be missing: 1 (the first"));
	assert_non_null(strstr(notes.text, "somebody traces it"));
	end_sleeper(tracer);
	end_sleeper(pid);
	assert_int_equal(record(pid, &notes, &err), -sbe_not_found);
}

/* A process of ours that has started one of root's, as sudo(8) does: @pid becomes nobody's. */
static void with_another_users_child(void)
{
	const pid_t child = start_sleeper(), target = getpid();
	struct sb_error err = {0};
	struct notes notes;
	pid_t recorder;
	int status;

	if (setuid(nobody) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0)
		_exit(2);
	recorder = fork();
	if (!recorder) {
		status = record(target, &notes, &err);
		if (status < 0)
			printf("%s\n", err.text);
		else if (!strstr(notes.text, "may not be recorded: 1 (the first"))
			printf("told: %s\n", notes.text);
		else
			_exit(record(child, &notes, &err) == -sbe_io && strstr(err.text, "cannot be followed")
			              ? 0
			              : 4);
		fflush(stdout);
		_exit(3);
	}
	waitpid(recorder, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 5);
}

static void others_children_are_told_of(void **state)
{
	pid_t pid;
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level = 3;

	(void)state;
	if (file && fscanf(file, "%d", &level) != 1)
		level = 3;
	if (file)
		fclose(file);
	if (getuid() || level > 2)
		skip();
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		setpgid(0, 0);
		with_another_users_child();
	}
	expect_end(pid);
	kill(-pid, SIGKILL);
}

/* Writes its number, and waits. */
static void *tell_number(void *context)
{
	const pid_t tid = gettid();

	if (write(*(int *)context, &tid, sizeof(tid)) != sizeof(tid))
		_exit(1);
	for (;;)
		pause();
}

/* A process with another thread, whose number is *tid. */
static pid_t start_with_thread(pid_t *tid)
{
	int told[2];
	const pid_t pid = fork_with_pipe(told);

	if (!pid) {
		pthread_t thread;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (pthread_create(&thread, NULL, tell_number, &told[1]))
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(told[0], tid, sizeof(*tid)), sizeof(*tid));
	close(told[0]);
	close(told[1]);
	return pid;
}

/* The kernel shows the whole process under a thread's number: its threads would be counted once more. */
static void a_thread_is_no_process(void **state)
{
	struct sb_recorder_config config = {.size = sizeof(config),
	                                    .output = "/dev/shm/sbtrace-no-process",
	                                    .control_fd = -1,
	                                    .time_limit = 1};
	const int counter = sb_counter_allocate("page-faults:u", sb_counter_process, 0, -1, NULL);
	struct sb_error err = {0};
	struct freeze freeze;
	pid_t tid, pid = start_with_thread(&tid);

	(void)state;
	assert_int_equal(freeze_process(&freeze, tid, 0, patience_ms), -ESRCH);
	assert_int_equal(sb_counter_attach(counter, tid, NULL), -sb_counter_no_process);
	assert_int_equal(sb_counter_attach(counter, pid, NULL), 0);
	config.pid = &tid;
	config.npids = 1;
	assert_int_equal(sb_recorder_run(&config, NULL, NULL, &err), -sbe_not_found);
	assert_non_null(strstr(err.text, "it is a thread of process"));
	sb_counter_release(counter);
	end_sleeper(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(stops_and_goes_on),
	        cmocka_unit_test(hangs),
	        cmocka_unit_test(is_traced),
	        cmocka_unit_test(no_counter),
	        cmocka_unit_test(recorded_as_it_is),
	        cmocka_unit_test(others_children_are_told_of),
	        cmocka_unit_test(a_thread_is_no_process),
	};

	return cmocka_run_group_tests(tests, may_count, NULL);
}
