/* Readers who stand still: who writes is ended by an interrupt, even by one that came before the write; and
 * those who are slow get every byte. Each case is a process of its own, as an interrupt cannot be taken back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interrupt.h"
#include "output.h"

enum { patience = 120 /* s, for who would wait for good */, nbytes = 3 << 20 };

/* What a case gives as its exit status: zero is right, else the line that is wrong. */
#define RIGHT(condition)                                                                                     \
	do {                                                                                                 \
		if (!(condition))                                                                            \
			return __LINE__ % 256;                                                               \
	} while (0)

static int status_of(int (*body)(void *), void *context)
{
	int status = -1;
	const pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		alarm(patience);
		signal(SIGPIPE, SIG_IGN);
		_exit(body(context));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Standard output as output_open() has it, or as it is where /proc is missing. */
static int open_standard(struct output **output, const bool *is_blocking)
{
	struct sb_error err;

	RIGHT(!output_open(output, NULL, &err));
	RIGHT((*output)->fd != STDOUT_FILENO && !(*output)->is_blocking);
	if (*is_blocking) {
		close((*output)->fd);
		(*output)->fd = STDOUT_FILENO;
		(*output)->is_blocking = true;
	}
	return 0;
}

static int into_a_full_pipe(void *is_blocking)
{
	struct interrupt_watch watch;
	struct output *output;
	struct sb_error err;
	char byte[4096] = "";
	int ends[2];

	RIGHT(!pipe(ends) && dup2(ends[1], STDOUT_FILENO) >= 0);
	RIGHT(!open_standard(&output, is_blocking));
	interrupt_watch(&watch);
	raise(SIGTERM);
	/* There is room at first: that is used. */
	for (int i = 0; i < 1024 && !output->broken; i++)
		output_write(output, byte, sizeof(byte));
	RIGHT(output->broken == EINTR && interrupt_came() == SIGTERM);
	RIGHT(output_commit(output, &err) == -sbe_io);
	output_close(output);
	interrupt_unwatch(&watch);
	return 0;
}

static void a_reader_who_stands_still_is_left(void **state)
{
	(void)state;
	assert_int_equal(status_of(into_a_full_pipe, &(bool){false}), 0);
	assert_int_equal(status_of(into_a_full_pipe, &(bool){true}), 0);
}

static int into_a_fifo(void *path)
{
	struct interrupt_watch watch;
	struct output *output = NULL;
	struct sb_error err;

	interrupt_watch(&watch);
	raise(SIGTERM);
	RIGHT(output_open(&output, path, &err) == -sbe_io && !output);
	RIGHT(strstr(err.text, strerror(EINTR)));
	return 0;
}

static void so_is_a_fifo_that_nobody_reads(void **state)
{
	char directory[] = "/tmp/test_output.XXXXXX", path[64];
	int status;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/fifo", directory);
	assert_int_equal(mkfifo(path, 0600), 0);
	status = status_of(into_a_fifo, path);
	unlink(path);
	rmdir(directory);
	assert_int_equal(status, 0);
}

static char byte_at(size_t i)
{
	return (char)(i * 31 ^ i >> 9);
}

static int write_all(const bool *is_blocking)
{
	struct output *output;
	struct sb_error err;

	RIGHT(!open_standard(&output, is_blocking));
	for (size_t i = 0; i < nbytes; i++)
		RIGHT(!output_write(output, (char[]){byte_at(i)}, 1));
	RIGHT(!output_commit(output, &err));
	output_close(output);
	return 0;
}

static int read_slowly(void *is_blocking)
{
	char bytes[10000];
	int ends[2];
	size_t at = 0;
	ssize_t n;
	pid_t writer;

	RIGHT(!pipe(ends) && dup2(ends[1], STDOUT_FILENO) >= 0 && !close(ends[1]));
	writer = fork();
	if (!writer)
		_exit(write_all(is_blocking));
	close(STDOUT_FILENO);
	while ((n = read(ends[0], bytes, sizeof(bytes))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			RIGHT(bytes[i] == byte_at(at++));
		if (at % 7 == 0)
			usleep(100);
	}
	RIGHT(n == 0 && at == nbytes);
	RIGHT(waitpid(writer, &(int){0}, 0) == writer);
	return 0;
}

static void a_slow_reader_gets_all(void **state)
{
	(void)state;
	assert_int_equal(status_of(read_slowly, &(bool){false}), 0);
	assert_int_equal(status_of(read_slowly, &(bool){true}), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(a_reader_who_stands_still_is_left),
	        cmocka_unit_test(so_is_a_fifo_that_nobody_reads),
	        cmocka_unit_test(a_slow_reader_gets_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
