/* test_counter.c - counters that are attached to processes: each error, and that nobody is missed, or counted
 * twice, in a process that starts threads and children all the time.
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
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sb/counter.h>

#include "support/may_count.h"
#include "support/sleeper.h"

enum {
	PAGES = 2500, /* that everybody touches once, more than all they do besides */
	PAGE = 4096,
	THREADS = 3, /* that start others */
	STAY = 3,    /* each starts so many that stay, and so many that end at once */
	CHILDREN = 3,
	FAULTS_PASSING = 200, /* more than a child that ends at once makes, with its parent */
	LOOKS = 20,
	RUNS = 40,
};

/* The sanitizer touches shadows of its own: there, only that nobody is missed can be told. */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
enum { has_shadows = 1 };
#else
enum { has_shadows = 0 };
#endif

/* Shared with the target. */
struct stage {
	atomic_int go, nthreads, nprocesses, done;
	atomic_int npassing; /* that end at once */
};

static struct stage *stage;

/* ---- The target ------------------------------------------------------------------------------- */

static void pause_for(unsigned int microseconds)
{
	usleep(microseconds);
}

/* Exactly so many page faults, and few others. */
static void touch_pages(void)
{
	volatile char *memory =
	        mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		_exit(3);
	madvise((void *)(uintptr_t)memory, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PAGES; ++i)
		memory[i * PAGE] = 1;
	munmap((void *)(uintptr_t)memory, (size_t)PAGES * PAGE);
}

static void wait_and_touch(void)
{
	while (!atomic_load(&stage->go))
		pause_for(200);
	touch_pages();
	atomic_fetch_add(&stage->done, 1);
}

static void *stay(void *context)
{
	(void)context;
	wait_and_touch();
	while (atomic_load(&stage->go) < 2)
		pause_for(200);
	return NULL;
}

static void *end_at_once(void *context)
{
	return context;
}

static void start_thread(void *(*function)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, function, NULL))
		_exit(4);
	pthread_attr_destroy(&attr);
}

static void *start_threads(void *context)
{
	int left = STAY;

	(void)context;
	while (!atomic_load(&stage->go)) {
		atomic_fetch_add(&stage->npassing, 1);
		start_thread(end_at_once);
		pause_for(100);
		if (left && !atomic_load(&stage->go)) {
			left -= 1;
			atomic_fetch_add(&stage->nthreads, 1);
			start_thread(stay);
		}
	}
	return stay(context);
}

static void start_child(int stays)
{
	const pid_t pid = fork();

	if (pid < 0)
		_exit(5);
	if (pid)
		return;
	if (stays)
		wait_and_touch();
	_exit(0);
}

static _Noreturn void be_target(void)
{
	int left = CHILDREN;

	signal(SIGCHLD, SIG_IGN);
	atomic_fetch_add(&stage->nthreads, THREADS + 1);
	for (int i = 0; i < THREADS; ++i)
		start_thread(start_threads);
	while (!atomic_load(&stage->go)) {
		atomic_fetch_add(&stage->npassing, 1);
		start_child(0);
		pause_for(300);
		if (left && !atomic_load(&stage->go)) {
			left -= 1;
			atomic_fetch_add(&stage->nprocesses, 1);
			start_child(1);
		}
	}
	stay(NULL);
	_exit(0);
}

static pid_t start_target(void)
{
	pid_t pid;

	atomic_store(&stage->go, 0);
	atomic_store(&stage->nthreads, 0);
	atomic_store(&stage->nprocesses, 0);
	atomic_store(&stage->done, 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	be_target();
}

static void end_target(pid_t pid)
{
	int status;

	atomic_store(&stage->go, 2);
	kill(pid, SIGCONT);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int allocate(const char *event, unsigned int flags)
{
	struct sb_error err = {0};
	const int counter = sb_counter_allocate(event, sb_counter_process, flags, -1, &err);

	if (counter <= 0)
		fail_msg("%s: %s", event, err.text);
	return counter;
}

/* ---- Tests ------------------------------------------------------------------------------------ */

static int can_count(void **state)
{
	stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(stage != MAP_FAILED);
	return may_count(state);
}

/* @flags say who counts. */
static void nobody_is_missed(unsigned int flags, int runs)
{
	for (int run = 0; run < runs; ++run) {
		const int counter = allocate("page-faults", flags);
		const pid_t pid = start_target();
		struct sb_error err = {0};
		uint64_t value, expected, most;
		int npassing;

		pause_for((unsigned int)run * 131 % 5000);
		if (sb_counter_attach(counter, pid, &err))
			fail_msg("run %d: %s", run, err.text);
		npassing = atomic_load(&stage->npassing);
		assert_int_equal(sb_counter_start(counter), 0);
		pause_for(500);
		atomic_store(&stage->go, 1);
		/* Those that were about to be started when it was said are counted in nthreads first. */
		for (int i = 0; i < 50000 && (i < 5 || atomic_load(&stage->done) <
		                                               atomic_load(&stage->nthreads) +
		                                                       atomic_load(&stage->nprocesses));
		     ++i)
			pause_for(200);
		expected = (uint64_t)atomic_load(&stage->nthreads);
		if (flags & sb_counter_descendants)
			expected += (uint64_t)atomic_load(&stage->nprocesses);
		expected *= PAGES;
		assert_int_equal(sb_counter_stop(counter), 0);
		assert_int_equal(sb_counter_read(counter, &value, NULL, NULL), 0);
		end_target(pid);
		/* Besides, page tables of children and stacks: also of those that end at once, of which there
		 * are many where others leave us no time. */
		npassing = atomic_load(&stage->npassing) - npassing;
		most = expected + PAGES + (uint64_t)npassing * FAULTS_PASSING;
		if (value < expected || (!has_shadows && value >= most))
			fail_msg("run %d: %llu page faults, expected %llu and a few", run,
			         (unsigned long long)value, (unsigned long long)expected);
		assert_int_equal(sb_counter_release(counter), 0);
	}
}

static void no_thread_is_missed(void **state)
{
	(void)state;
	nobody_is_missed(0, LOOKS);
}

static void no_child_is_missed(void **state)
{
	(void)state;
	nobody_is_missed(sb_counter_descendants, has_shadows ? LOOKS : RUNS);
}

/* Children that were there before, and theirs. */
static void present_descendants(void **state)
{
	const int counter = allocate("page-faults", sb_counter_descendants);
	const pid_t pid = fork();
	uint64_t value;

	(void)state;
	assert_true(pid >= 0);
	if (!pid) {
		if (!fork()) {
			if (!fork()) {
				wait_and_touch();
				_exit(0);
			}
			wait_and_touch();
			_exit(0);
		}
		wait_and_touch();
		_exit(0);
	}
	atomic_store(&stage->go, 0);
	atomic_store(&stage->done, 0);
	pause_for(50000);
	assert_int_equal(sb_counter_attach(counter, pid, NULL), 0);
	assert_int_equal(sb_counter_start(counter), 0);
	atomic_store(&stage->go, 1);
	while (atomic_load(&stage->done) < 3)
		pause_for(200);
	assert_int_equal(sb_counter_read(counter, &value, NULL, NULL), 0);
	assert_in_range(value, 3 * PAGES, has_shadows ? 6 * PAGES : 4 * PAGES - 1);
	end_target(pid);
	sb_counter_release(counter);
}

static void several_targets(void **state)
{
	const int counter = allocate("page-faults", 0);
	const pid_t first = start_sleeper(), second = start_sleeper();
	uint64_t before, after;

	(void)state;
	assert_int_equal(sb_counter_attach(counter, first, NULL), 0);
	assert_int_equal(sb_counter_attach(counter, second, NULL), 0);
	assert_int_equal(sb_counter_attach(counter, 0, NULL), 0);
	assert_int_equal(sb_counter_start(counter), 0);
	touch_pages();
	assert_int_equal(sb_counter_stop(counter), 0);
	assert_int_equal(sb_counter_read(counter, &before, NULL, NULL), 0);
	assert_in_range(before, PAGES, has_shadows ? 3 * PAGES : 2 * PAGES);
	touch_pages();
	assert_int_equal(sb_counter_read(counter, &after, NULL, NULL), 0);
	assert_int_equal(before, after);
	assert_int_equal(sb_counter_detach(counter, first, NULL), 0);
	assert_int_equal(sb_counter_detach(counter, first, NULL), -sb_counter_no_process);
	assert_int_equal(sb_counter_detach(counter, 0, NULL), 0);
	assert_int_equal(sb_counter_read(counter, &after, NULL, NULL), 0);
	assert_int_equal(after, 0);
	end_sleeper(first);
	end_sleeper(second);
	sb_counter_release(counter);
}

static void of_a_cpu(void **state)
{
	const int counter = sb_counter_allocate("context-switches", sb_counter_system, 0, 0, NULL);

	(void)state;
	assert_true(counter > 0);
	assert_int_equal(sb_counter_start(counter), 0);
	assert_int_equal(sb_counter_attach(counter, 0, NULL), -sb_counter_invalid);
	assert_int_equal(sb_counter_detach(counter, 0, NULL), -sb_counter_invalid);
	assert_int_equal(sb_counter_release(counter), 0);
	assert_int_equal(sb_counter_release(counter), -sb_counter_invalid);
}

/* "cpu=N": what the caller does elsewhere is not counted. */
static void on_one_cpu_only(void **state)
{
	const int counter = allocate("page-faults:cpu=0", 0);
	cpu_set_t before, one;
	uint64_t value;

	(void)state;
	assert_int_equal(sb_counter_allocate("context-switches:cpu=0", sb_counter_system, 0, 1, NULL),
	                 -sb_counter_invalid);
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	if (!CPU_ISSET(0, &before) || !CPU_ISSET(1, &before))
		skip();
	CPU_ZERO(&one);
	CPU_SET(1, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(sb_counter_attach(counter, 0, NULL), 0);
	assert_int_equal(sb_counter_start(counter), 0);
	touch_pages();
	assert_int_equal(sb_counter_read(counter, &value, NULL, NULL), 0);
	assert_int_equal(value, 0);
	CPU_CLR(1, &one);
	CPU_SET(0, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	touch_pages();
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(sb_counter_read(counter, &value, NULL, NULL), 0);
	assert_true(value >= PAGES);
	assert_int_equal(sb_counter_release(counter), 0);
}

static void each_error(void **state)
{
	struct sb_error err = {0};
	const pid_t pid = start_sleeper(), ended = start_sleeper();
	int counter, exclusive, other;

	(void)state;
	end_sleeper(ended);
	/* Nothing is owned. */
	assert_int_equal(sb_counter_attach(1, 0, NULL), -sb_counter_no_process);
	assert_int_equal(sb_counter_detach(1, 0, NULL), -sb_counter_no_process);
	assert_int_equal(sb_counter_allocate("no-such-event", sb_counter_process, 0, -1, &err),
	                 -sb_counter_invalid);
	assert_non_null(err.text[0] ? err.text : NULL);
	counter = allocate("page-faults", 0);
	other = allocate("context-switches", 0);
	/* No such counter, pid, process. */
	assert_int_equal(sb_counter_attach(counter + 100, pid, NULL), -sb_counter_invalid);
	assert_int_equal(sb_counter_detach(counter + 100, pid, NULL), -sb_counter_invalid);
	assert_int_equal(sb_counter_start(counter + 100), -sb_counter_invalid);
	assert_int_equal(sb_counter_stop(counter + 100), -sb_counter_invalid);
	assert_int_equal(sb_counter_read(counter + 100, NULL, NULL, NULL), -sb_counter_invalid);
	assert_int_equal(sb_counter_attach(counter, -5, NULL), -sb_counter_invalid);
	assert_int_equal(sb_counter_detach(counter, -5, NULL), -sb_counter_invalid);
	assert_int_equal(sb_counter_attach(counter, ended, NULL), -sb_counter_no_process);
	assert_int_equal(sb_counter_detach(counter, ended, NULL), -sb_counter_no_process);
	/* Not attached: nobody follows it, or another counter does. */
	assert_int_equal(sb_counter_detach(counter, pid, NULL), -sb_counter_no_process);
	assert_int_equal(sb_counter_attach(other, pid, NULL), 0);
	assert_int_equal(sb_counter_detach(counter, pid, NULL), -sb_counter_invalid);
	/* Already attached; running. */
	assert_int_equal(sb_counter_attach(counter, pid, NULL), 0);
	assert_int_equal(sb_counter_attach(counter, pid, NULL), -sb_counter_exists);
	assert_int_equal(sb_counter_start(counter), 0);
	assert_int_equal(sb_counter_attach(counter, 0, NULL), -sb_counter_busy);
	assert_int_equal(sb_counter_stop(counter), 0);
	assert_int_equal(sb_counter_attach(counter, 0, NULL), 0);
	sb_counter_release(other);
	/* Its hardware is another's: one of the two wants it for itself. */
	exclusive = allocate("page-faults:excl", 0);
	other = allocate("context-switches", 0);
	assert_int_equal(sb_counter_attach(exclusive, pid, &err), -sb_counter_busy);
	assert_int_equal(sb_counter_detach(counter, pid, NULL), 0);
	assert_int_equal(sb_counter_attach(exclusive, pid, NULL), 0);
	assert_int_equal(sb_counter_attach(other, pid, &err), -sb_counter_busy);
	assert_int_equal(sb_counter_attach(other, 0, NULL), 0);
	sb_counter_release(exclusive);
	assert_int_equal(sb_counter_attach(other, pid, NULL), 0);
	sb_counter_release(other);
	/* For its owner. */
	other = allocate("page-faults", sb_counter_owner_only);
	assert_int_equal(sb_counter_attach(other, pid, NULL), -sb_counter_not_permitted);
	assert_int_equal(sb_counter_attach(other, 0, NULL), 0);
	sb_counter_release(other);
	sb_counter_release(counter);
	end_sleeper(pid);
}

/* ---- Parents and children --------------------------------------------------------------------- */

/* A sleeper, and another one that it has started; and that starts a further one when a byte comes. */
struct family {
	pid_t parent, child;
	int told, tell;
};

static pid_t take_pid(int fd)
{
	pid_t pid;

	assert_int_equal(read(fd, &pid, sizeof(pid)), sizeof(pid));
	return pid;
}

static void start_family(struct family *family)
{
	int up[2], down[2];
	char byte;

	assert_int_equal(pipe(up), 0);
	assert_int_equal(pipe(down), 0);
	family->parent = fork();
	assert_true(family->parent >= 0);
	if (!family->parent) {
		close(up[0]);
		close(down[1]);
		do {
			const pid_t pid = start_sleeper();

			if (write(up[1], &pid, sizeof(pid)) != sizeof(pid))
				_exit(1);
		} while (read(down[0], &byte, 1) == 1);
		_exit(0); /* and they end with it */
	}
	close(up[1]);
	close(down[0]);
	family->told = up[0];
	family->tell = down[1];
	family->child = take_pid(up[0]);
}

static void end_family(const struct family *family)
{
	close(family->tell);
	assert_int_equal(waitpid(family->parent, NULL, 0), family->parent);
	close(family->told);
}

/* Nobody is counted twice: who is followed through a parent cannot be attached besides, nor the parent of one
 * that is. What is not attached itself is not detached. */
static void followed_through_a_parent(void **state)
{
	const int counter = allocate("page-faults", sb_counter_descendants);
	const int alone = allocate("page-faults", 0), exclusive = allocate("page-faults:excl", 0);
	struct family family;
	pid_t later;

	(void)state;
	start_family(&family);
	assert_int_equal(sb_counter_attach(counter, family.parent, NULL), 0);
	assert_int_equal(write(family.tell, "", 1), 1);
	later = take_pid(family.told);
	assert_int_equal(sb_counter_attach(counter, family.child, NULL), -sb_counter_exists);
	assert_int_equal(sb_counter_attach(counter, later, NULL), -sb_counter_exists);
	assert_int_equal(sb_counter_attach(exclusive, family.child, NULL), -sb_counter_busy);
	assert_int_equal(sb_counter_attach(exclusive, later, NULL), -sb_counter_busy);
	assert_int_equal(sb_counter_detach(counter, family.child, NULL), -sb_counter_invalid);
	assert_int_equal(sb_counter_detach(counter, later, NULL), -sb_counter_invalid);
	assert_int_equal(sb_counter_detach(alone, later, NULL), -sb_counter_invalid);
	assert_int_equal(sb_counter_detach(counter, family.parent, NULL), 0);
	assert_int_equal(sb_counter_detach(counter, later, NULL), -sb_counter_no_process);
	assert_int_equal(sb_counter_attach(counter, later, NULL), 0);
	assert_int_equal(sb_counter_attach(counter, family.parent, NULL), -sb_counter_exists);
	assert_int_equal(sb_counter_attach(counter, family.child, NULL), 0);
	/* Of processes alone, each is one by itself. */
	assert_int_equal(sb_counter_attach(alone, family.parent, NULL), 0);
	assert_int_equal(sb_counter_attach(alone, family.child, NULL), 0);
	sb_counter_release(counter);
	sb_counter_release(alone);
	sb_counter_release(exclusive);
	end_family(&family);
}

/* A process that is forked finds its parent's counters, which are not its own. */
static void not_the_owner(void **state)
{
	const int counter = allocate("page-faults", 0);
	pid_t pid;
	int status;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		const int alone = sb_counter_attach(counter, 0, NULL) == -sb_counter_no_process &&
		                  sb_counter_detach(counter, 0, NULL) == -sb_counter_no_process;
		const int own = sb_counter_allocate("page-faults", sb_counter_process, 0, -1, NULL);

		_exit(alone && own > 0 && sb_counter_attach(counter, 0, NULL) == -sb_counter_invalid &&
		                      sb_counter_start(counter) == -sb_counter_invalid &&
		                      sb_counter_release(counter) == -sb_counter_invalid &&
		                      sb_counter_attach(own, 0, NULL) == 0
		              ? 0
		              : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(sb_counter_attach(counter, 0, NULL), 0);
	sb_counter_release(counter);
}

/* One file too few to look who descends from whom: that is an error, and not "there are none". */
static void too_few_files_for_children(void **state)
{
	const int counter = allocate("page-faults", sb_counter_descendants);
	struct rlimit files, few;
	struct sb_error err = {0};
	struct family family;
	int next;

	(void)state;
	start_family(&family);
	next = dup(0);
	assert_true(next >= 0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	few = files;
	few.rlim_cur = (rlim_t)next + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(sb_counter_attach(counter, family.parent, &err), -sb_counter_io);
	assert_string_equal(err.text, strerror(EMFILE));
	few.rlim_cur += 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(sb_counter_attach(counter, family.parent, &err), 0);
	/* Nor to stop them while it starts. */
	assert_int_equal(sb_counter_start(counter), -sb_counter_io);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(sb_counter_start(counter), 0);
	sb_counter_release(counter);
	end_family(&family);
}

/* ---- Shortage --------------------------------------------------------------------------------- */

static int no_memory, reserved_before; /* that, when so many times there was some */

enum { reserved_by_one = 2 }; /* a process, and its thread */

int __real_array_reserve(void *array, size_t *capacity, size_t count, size_t size);
int __wrap_array_reserve(void *array, size_t *capacity, size_t count, size_t size);

int __wrap_array_reserve(void *array, size_t *capacity, size_t count, size_t size)
{
	return no_memory && reserved_before-- <= 0 ? -1 : __real_array_reserve(array, capacity, count, size);
}

/* Nor is there any to stop the targets, of which the second has its turn when the first stands still: the
 * counter stays as it was, and they go on. */
static void no_memory_to_start(void **state)
{
	const int counter = allocate("page-faults", 0);
	const pid_t first = start_sleeper(), second = start_sleeper();

	(void)state;
	assert_int_equal(sb_counter_attach(counter, first, NULL), 0);
	assert_int_equal(sb_counter_attach(counter, second, NULL), 0);
	for (int running = 1; running >= 0; --running) {
		int (*const set)(int) = running ? sb_counter_start : sb_counter_stop;

		for (int after = 0; after < 2; ++after) {
			reserved_before = after ? reserved_by_one : 0;
			no_memory = 1;
			assert_int_equal(set(counter), -sb_counter_no_memory);
			no_memory = 0;
			/* It may be attached while it is at rest. */
			assert_int_equal(sb_counter_attach(counter, first, NULL),
			                 running ? -sb_counter_exists : -sb_counter_busy);
		}
		assert_int_equal(set(counter), 0);
	}
	sb_counter_release(counter);
	end_sleeper(first);
	end_sleeper(second);
}

/* No memory, or no file descriptor: then nothing is attached, and the target goes on. */
static void nothing_left(void **state)
{
	const int counter = allocate("page-faults", 0), next = dup(0);
	const pid_t pid = start_sleeper();
	struct rlimit files, few;
	struct sb_error err = {0};

	(void)state;
	reserved_before = 0;
	no_memory = 1;
	assert_int_equal(sb_counter_attach(counter, pid, &err), -sb_counter_no_memory);
	no_memory = 0;
	assert_int_equal(err.code, -sbe_nomem);
	assert_true(next >= 0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	few = files;
	few.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(sb_counter_attach(counter, pid, &err), -sb_counter_io);
	/* Enough to look for the threads, or for one of two of them. */
	few.rlim_cur += 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(sb_counter_attach(counter, pid, &err), 0);
	assert_int_equal(sb_counter_attach(counter, 0, &err), -sb_counter_io);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_string_equal(err.text, strerror(EMFILE));
	assert_int_equal(sb_counter_detach(counter, 0, NULL), -sb_counter_no_process);
	assert_int_equal(sb_counter_attach(counter, 0, NULL), 0);
	assert_int_equal(sb_counter_detach(counter, pid, NULL), 0);
	sb_counter_release(counter);
	end_sleeper(pid);
}

/* Each code has a sentence of its own. */
static void in_words(void **state)
{
	(void)state;
	for (int code = 0; code < sb_counter_errcodes; ++code)
		for (int other = 0; other <= code; ++other)
			assert_int_equal(!strcmp(sb_counter_strerror(-code), sb_counter_strerror(-other)),
			                 code == other);
	assert_string_equal(sb_counter_strerror(-sb_counter_errcodes), sb_counter_strerror(1));
}

/* Somebody else's process. */
static void no_privilege(void **state)
{
	const pid_t target = start_sleeper();
	pid_t pid;
	int status;

	(void)state;
	if (getuid())
		skip();
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		const int counter = setuid(65534) == 0 ? sb_counter_allocate("page-faults:u",
		                                                             sb_counter_process, 0, -1, NULL)
		                                       : -1;

		_exit(counter > 0 && sb_counter_attach(counter, target, NULL) == -sb_counter_not_permitted
		              ? 0
		              : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	end_sleeper(target);
}

/* It goes on as it was: a process that is stopped stays so, and signals that came meanwhile are there. */
static void the_target_goes_on(void **state)
{
	const int counter = allocate("page-faults", 0);
	const pid_t pid = start_sleeper();
	int status;

	(void)state;
	kill(pid, SIGSTOP);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_int_equal(sb_counter_attach(counter, pid, NULL), 0);
	/* It takes a moment until it has stopped again by itself. */
	pause_for(20000);
	kill(pid, SIGTERM);
	pause_for(20000);
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, SIGCONT);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
	sb_counter_release(counter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(each_error),
	        cmocka_unit_test(several_targets),
	        cmocka_unit_test(of_a_cpu),
	        cmocka_unit_test(on_one_cpu_only),
	        cmocka_unit_test(present_descendants),
	        cmocka_unit_test(followed_through_a_parent),
	        cmocka_unit_test(not_the_owner),
	        cmocka_unit_test(too_few_files_for_children),
	        cmocka_unit_test(nothing_left),
	        cmocka_unit_test(no_memory_to_start),
	        cmocka_unit_test(in_words),
	        cmocka_unit_test(no_privilege),
	        cmocka_unit_test(the_target_goes_on),
	        cmocka_unit_test(no_thread_is_missed),
	        cmocka_unit_test(no_child_is_missed),
	};

	return cmocka_run_group_tests(tests, can_count, NULL);
}
