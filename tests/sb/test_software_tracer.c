/* test_software_tracer.c - sb_software_trace() where signals come at the wrong moment: to the command before
 * it runs, and to the caller all the time. The linker leads ptrace(2) here (see CMakeLists.txt), so that they
 * come right before, or behind, the moment in which the command gets its tracer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sb/software_tracer.h>

#include "capture/proc_stat.h"
#include "support/temp_dir.h"

static struct temp_dir dir;
static char output[4200];

/* ---- The moment ------------------------------------------------------------------------------- */

static struct {
	int before, behind; /* signals; 0: none */
	int then;           /* behind the latter, 50 ms later */
} moment;

static atomic_int *handled; /* shared with the command before it runs */

static void count(int number)
{
	(void)number;
	atomic_fetch_add(handled, 1);
}

/* Until the child, which runs, has dealt with it. */
static void send_and_wait(pid_t pid, int number)
{
	const int before = atomic_load(handled);
	struct proc_stat stat;

	kill(pid, number);
	if (number == SIGKILL)
		while (proc_stat_of(&stat, pid) > 0 && stat.state != 'Z')
			usleep(100);
	else
		while (atomic_load(handled) == before)
			usleep(100);
}

static void send_later(pid_t pid, int number)
{
	const pid_t sender = fork();

	if (sender)
		return;
	usleep(50000);
	kill(pid, number);
	_exit(0);
}

long __real_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data);
long __wrap_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data);

long __wrap_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data)
{
	long result;

	if (request != PTRACE_SEIZE)
		return __real_ptrace(request, pid, address, data);
	if (moment.before)
		send_and_wait(pid, moment.before);
	result = __real_ptrace(request, pid, address, data);
	if (moment.behind)
		kill(pid, moment.behind);
	if (moment.then)
		send_later(pid, moment.then);
	return result;
}

/* ---- Recording -------------------------------------------------------------------------------- */

static struct sb_software_tracer_result result;

static int record(char *const argv[], struct sb_error *err)
{
	const struct sb_software_tracer_config config = {
	        .size = sizeof(config), .ncpus = 1, .output = output};
	int status;

	*err = (struct sb_error){0};
	alarm(60); /* who hangs is ended */
	status = sb_software_trace(&config, argv, &result, err);
	alarm(0);
	moment.before = moment.behind = moment.then = 0;
	/* Nobody is left. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(access(output, F_OK) == 0, status == 0);
	unlink(output);
	return status;
}

static void expect_success(void)
{
	char name[] = "true", *const argv[] = {name, NULL};
	struct sb_error err;

	if (record(argv, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(result.exit_status, 0);
	assert_true(result.ninsn > 1000);
}

static void handle(int number, void (*handler)(int), struct sigaction *before)
{
	const struct sigaction action = {.sa_handler = handler};

	sigaction(number, &action, before);
}

/* The command still has the caller's handlers: it goes on behind them. */
static void signal_before_it_runs(void **state)
{
	struct sigaction before;

	(void)state;
	handle(SIGUSR1, count, &before);
	moment.before = SIGUSR1;
	expect_success();
	moment.behind = SIGUSR1;
	expect_success();
	sigaction(SIGUSR1, &before, NULL);
	assert_int_equal(atomic_load(handled), 2);
	/* Nobody cares for it, but ptrace(2) tells of it. */
	moment.behind = SIGWINCH;
	expect_success();
}

/* And goes on when it is told to. */
static void stopped_before_it_runs(void **state)
{
	char name[] = "true", *const argv[] = {name, NULL};
	struct sb_error err;

	(void)state;
	moment.behind = SIGSTOP;
	moment.then = SIGCONT;
	if (record(argv, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(result.ninsn > 1000);
}

static void killed_before_it_runs(void **state)
{
	char name[] = "true", *const argv[] = {name, NULL};
	struct sb_error err;

	(void)state;
	moment.behind = SIGKILL;
	assert_int_equal(record(argv, &err), -sbe_not_found);
	assert_string_equal(err.text, "it cannot be run: it was killed before");
	moment.behind = SIGTERM;
	assert_int_equal(record(argv, &err), -sbe_not_found);
	/* It cannot even be traced any more. */
	moment.before = SIGKILL;
	assert_int_equal(record(argv, &err), -sbe_io);
	assert_non_null(strstr(err.text, "ptrace"));
}

static void no_such_command(void **state)
{
	char name[] = "/nonexistent", *const argv[] = {name, NULL};
	struct sb_error err;

	(void)state;
	assert_int_equal(record(argv, &err), -sbe_not_found);
	assert_non_null(strstr(err.text, strerror(ENOENT)));
}

/* Whatever the tracer waits for, it goes on waiting. */
static void signals_all_the_time(void **state)
{
	char sh[] = "sh", c[] = "-c", script[] = "ls / | wc -l >/dev/null; exit 3";
	char *const argv[] = {sh, c, script, NULL};
	const struct itimerspec often = {{0, 2000000}, {0, 2000000}};
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2};
	struct sigaction before;
	timer_t timer;
	struct sb_error err;
	int status, interrupted;

	(void)state;
	atomic_store(handled, 0);
	handle(SIGUSR2, count, &before);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &often, NULL), 0);
	status = record(argv, &err);
	timer_delete(timer);
	interrupted = atomic_load(handled);
	sigaction(SIGUSR2, &before, NULL);
	if (status < 0)
		fail_msg("%s", err.text);
	assert_true(WIFEXITED(result.exit_status));
	assert_int_equal(WEXITSTATUS(result.exit_status), 3);
	assert_true(result.nprocesses >= 3);
	assert_true(interrupted > 20);
}

/* ---- What is refused -------------------------------------------------------------------------- */

static void wrong_configurations(void **state)
{
	char name[] = "true", *const argv[] = {name, NULL}, *const none[] = {NULL};
	const struct sb_software_tracer_config fine = {.size = sizeof(fine), .ncpus = 1, .output = output};
	struct sb_software_tracer_config config = fine;
	struct sb_error err;

	(void)state;
	assert_int_equal(sb_software_trace(NULL, argv, &result, &err), -sbe_invalid);
	assert_int_equal(sb_software_trace(&fine, NULL, &result, &err), -sbe_invalid);
	assert_int_equal(sb_software_trace(&fine, none, &result, NULL), -sbe_invalid);
	assert_int_equal(sb_software_trace(&fine, argv, NULL, &err), -sbe_invalid);
	config.size -= 1;
	assert_int_equal(sb_software_trace(&config, argv, &result, &err), -sbe_invalid);
	config = fine;
	config.output = NULL;
	assert_int_equal(sb_software_trace(&config, argv, &result, &err), -sbe_invalid);
	config = fine;
	config.ncpus = 0;
	assert_int_equal(sb_software_trace(&config, argv, &result, &err), -sbe_invalid);
	config.ncpus = 257;
	assert_int_equal(sb_software_trace(&config, argv, &result, &err), -sbe_invalid);
	assert_non_null(strstr(err.text, "1 to 256"));
	config = fine;
	config.psb_period = 255;
	assert_int_equal(sb_software_trace(&config, argv, &result, &err), -sbe_invalid);
	config = fine;
	config.output = "/nonexistent/recording";
	assert_int_equal(sb_software_trace(&config, argv, &result, &err), -sbe_io);
	assert_int_equal(access(output, F_OK), -1);
}

/* ----------------------------------------------------------------------------------------------- */

static int begin(void **state)
{
	(void)state;
	handled = mmap(NULL, sizeof(*handled), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(handled != MAP_FAILED);
	temp_dir_make(&dir);
	snprintf(output, sizeof(output), "%s/recording", dir.path);
	return 0;
}

static int end(void **state)
{
	(void)state;
	temp_dir_remove(&dir);
	return 0;
}

/* Zero: ptrace(2) is not to be had here. */
static int may_trace(void)
{
	int status;
	const pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	status = pid > 0 ? (int)__real_ptrace(PTRACE_SEIZE, pid, NULL, NULL) : -1;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return status == 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(wrong_configurations),  cmocka_unit_test(no_such_command),
	        cmocka_unit_test(signal_before_it_runs), cmocka_unit_test(stopped_before_it_runs),
	        cmocka_unit_test(killed_before_it_runs), cmocka_unit_test(signals_all_the_time),
	};

	if (!may_trace()) {
		printf("skipped: ptrace(2) is not to be had here\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, begin, end);
}
