/* freeze.c - see freeze.h.
 *
 * A thread that is stopped starts no others. So once all threads that /proc lists are stopped, and it lists
 * no further ones afterwards, there are none; the same is true of children.
 *
 * A thread of our own traces them, which ends with it. One that does not stop in time cannot be let go by
 * ptrace(2), and would stop later, when nobody looks; but the end of its tracer lets it go.
 */
#include "capture/freeze.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/proc_stat.h"
#include "capture/shortage.h"
#include "system/arena.h"

/* Who stops them. */
struct freezer {
	pthread_t thread;
	sem_t stopped, thaw;
	struct freeze *freeze;
	pid_t pid, tid; /* the target; its own */
	int descendants, status;
};

/* Or is our own, when we are among those that are looked for. */
static int is_known(const struct freeze *freeze, pid_t tid)
{
	for (size_t i = 0; i < freeze->count; ++i)
		if (freeze->thread[i].tid == tid)
			return 1;
	return freeze->freezer && freeze->freezer->tid == tid;
}

/* A thread that ended is there until its tracer takes note of it, or ends. So is a process; but when its
 * tracer started it, too, that note is the caller's to take. */
static void let_end(pid_t pid, pid_t tid)
{
	struct proc_stat stat;

	if (tid != pid || (proc_stat_of(&stat, pid) >= 0 && stat.parent != getpid()))
		waitpid(tid, NULL, WNOHANG | __WALL);
}

static uint64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000u + (uint64_t)time.tv_nsec / 1000000u;
}

/* A thread that runs stops within microseconds; one that waits for a CPU, when it has it. */
static void wait_a_bit(unsigned int turn)
{
	enum { yields = 50, least_ns = 20000, doublings = 8 };
	unsigned int doubled;

	if (turn < yields) {
		sched_yield();
		return;
	}
	doubled = turn - yields < doublings ? turn - yields : doublings;
	nanosleep(&(struct timespec){.tv_nsec = (long)least_ns << doubled}, NULL);
}

/* Waits until there is something to be said of @tid. Zero, or -ESRCH, or -ETIMEDOUT. */
static int wait_news(pid_t tid, siginfo_t *info, uint64_t deadline)
{
	for (unsigned int turn = 0;; ++turn) {
		const int late = now_ms() >= deadline;

		info->si_pid = 0;
		if (waitid(P_PID, (id_t)tid, info, WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL) < 0 &&
		    errno != EINTR)
			return -ESRCH;
		if (info->si_pid)
			return 0;
		if (late)
			return -ETIMEDOUT;
		wait_a_bit(turn);
	}
}

/* Waits until @tid stands still, and takes note of it. Zero; or -ESRCH: it ended; or -ETIMEDOUT. */
static int wait_stopped(pid_t pid, pid_t tid, unsigned int patience_ms)
{
	const uint64_t deadline = now_ms() + patience_ms;

	for (;;) {
		siginfo_t info;
		int status = wait_news(tid, &info, deadline);

		if (status < 0)
			return status;
		if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) {
			let_end(pid, tid);
			return -ESRCH;
		}
		if (waitpid(tid, &status, WNOHANG | __WALL) != tid || !WIFSTOPPED(status))
			return -ESRCH;
		if (status >> 16 == PTRACE_EVENT_STOP)
			return 0;
		/* A signal came first: it goes its way, and the thread stops behind it. */
		if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0 ||
		    ptrace(PTRACE_CONT, tid, NULL, (void *)(uintptr_t)WSTOPSIG(status)) < 0)
			return -ESRCH;
	}
}

/* Who is ending cannot be traced; that is no lack of privilege. -ESRCH, -EPERM, or another -errno. */
static int why_not(pid_t tid)
{
	struct proc_stat stat;
	const int status = proc_stat_of(&stat, tid);

	if (status < 0)
		return status;
	return !status || stat.state == 'Z' || stat.state == 'X' ? -ESRCH : -EPERM;
}

static int stop_thread(pid_t pid, pid_t tid, unsigned int patience_ms)
{
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0 || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0)
		return errno == EPERM ? why_not(tid) : -errno;
	return wait_stopped(pid, tid, patience_ms);
}

/* One that hangs is enough to have waited for. */
static void leave(struct freeze *freeze, const struct freeze_thread *thread)
{
	if (!freeze->nleft++)
		freeze->left = *thread;
	if (thread->error == ETIMEDOUT && freeze->patience_ms > freeze_little_patience_ms)
		freeze->patience_ms = freeze_little_patience_ms;
}

static int add_thread(struct freeze *freeze, pid_t pid, pid_t tid)
{
	struct freeze_thread thread = {.pid = pid, .tid = tid};
	int status;

	if (array_reserve(&freeze->thread, &freeze->capacity, freeze->count, sizeof(*freeze->thread)) < 0)
		return -ENOMEM;
	status = pid == getpid() ? 0 : stop_thread(pid, tid, freeze->patience_ms);
	if (status == -ESRCH || is_shortage(-status))
		return status;
	thread.error = -status;
	if (status < 0)
		leave(freeze, &thread);
	freeze->thread[freeze->count++] = thread;
	return 0;
}

/* The number that a name in /proc is; zero: none. */
static pid_t number_of(const char *name)
{
	char *end;
	const long number = strtol(name, &end, 10);

	return *end || number <= 0 || number > INT32_MAX ? 0 : (pid_t)number;
}

/* Stops those threads of @pid that are not yet. How many there were, or -errno. */
static int stop_new(struct freeze *freeze, pid_t pid)
{
	char path[64];
	DIR *dir;
	struct dirent *entry;
	int found = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? -ESRCH : -errno;
	while (found >= 0 && (entry = readdir(dir))) {
		const pid_t tid = number_of(entry->d_name);
		int status;

		if (!tid || is_known(freeze, tid))
			continue;
		status = add_thread(freeze, pid, tid);
		/* Threads end all the time. */
		if (status != -ESRCH)
			found = status < 0 ? status : found + 1;
	}
	closedir(dir);
	return found;
}

static int stop_all(struct freeze *freeze, pid_t pid)
{
	const size_t before = freeze->count;
	int found = 0;

	if (array_reserve(&freeze->process, &freeze->process_capacity, freeze->nprocesses,
	                  sizeof(*freeze->process)) < 0)
		return -ENOMEM;
	/* The list is read by places in it: where a thread ends meanwhile, another one moves up, and is
	 * passed over. So once more. */
	for (int quiet = 0; quiet < 2 && found >= 0; quiet = found ? 0 : quiet + 1)
		found = stop_new(freeze, pid);
	if (found < 0)
		return found;
	if (freeze->count == before)
		return -ESRCH;
	freeze->process[freeze->nprocesses++] = pid;
	return 0;
}

/* ---- Descendants ------------------------------------------------------------------------------ */

static int is_stopped(const struct freeze *freeze, pid_t pid)
{
	for (size_t i = 0; i < freeze->nprocesses; ++i)
		if (freeze->process[i] == pid)
			return 1;
	return 0;
}

/* Stops all threads of @pid if one of those that are stopped has started it. 1: so it was; 0; or -errno. */
static int stop_child(struct freeze *freeze, pid_t pid)
{
	struct proc_stat stat;
	int status;

	if (!pid || is_stopped(freeze, pid))
		return 0;
	status = proc_stat_of(&stat, pid);
	if (status <= 0 || !is_stopped(freeze, stat.parent))
		return status < 0 ? status : 0;
	status = stop_all(freeze, pid);
	if (status == -ESRCH)
		return 0;
	return status < 0 ? status : 1;
}

/* Stops the children of those that are stopped. How many, or -errno. */
static int stop_children(struct freeze *freeze)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int found = 0;

	if (!proc)
		return -errno;
	while (found >= 0 && (entry = readdir(proc))) {
		const int status = stop_child(freeze, number_of(entry->d_name));

		found = status < 0 ? status : found + status;
	}
	closedir(proc);
	return found;
}

/* ---- Who stops them --------------------------------------------------------------------------- */

static int stop(struct freeze *freeze, pid_t pid, int descendants)
{
	int status = stop_all(freeze, pid);

	while (status == 0 && descendants && (status = stop_children(freeze)) > 0)
		status = 0;
	return status;
}

static void let_go(const struct freeze *freeze)
{
	for (size_t i = 0; i < freeze->count; ++i) {
		const struct freeze_thread *thread = &freeze->thread[i];

		if (!thread->error && thread->pid != getpid() &&
		    ptrace(PTRACE_DETACH, thread->tid, NULL, NULL) < 0)
			let_end(thread->pid, thread->tid);
	}
}

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore) < 0)
		;
}

static void *freeze_and_thaw(void *context)
{
	struct freezer *freezer = context;

	freezer->tid = gettid();
	freezer->status = stop(freezer->freeze, freezer->pid, freezer->descendants);
	sem_post(&freezer->stopped);
	wait_for(&freezer->thaw);
	let_go(freezer->freeze);
	return NULL;
}

/* Signals are the caller's. */
static int start_thread(struct freezer *freezer)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&freezer->thread, NULL, freeze_and_thaw, freezer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error ? -ENOMEM : 0;
}

static int start_freezer(struct freeze *freeze, pid_t pid, int descendants)
{
	struct freezer *freezer = calloc(1, sizeof(*freezer));

	if (!freezer)
		return -ENOMEM;
	*freezer = (struct freezer){.freeze = freeze, .pid = pid, .descendants = descendants};
	sem_init(&freezer->stopped, 0, 0);
	sem_init(&freezer->thaw, 0, 0);
	freeze->freezer = freezer;
	if (start_thread(freezer) < 0) {
		freeze->freezer = NULL;
		free(freezer);
		return -ENOMEM;
	}
	wait_for(&freezer->stopped);
	return freezer->status;
}

int freeze_process(struct freeze *freeze, pid_t pid, int descendants, unsigned int patience_ms)
{
	pid_t leader;
	int status = proc_leader_of(&leader, pid);

	*freeze = (struct freeze){.patience_ms = patience_ms};
	/* /proc lists a process under the numbers of all its threads. */
	if (status <= 0 || leader != pid)
		return status < 0 ? status : -ESRCH;
	if (pid == getpid() && !descendants)
		status = stop(freeze, pid, 0);
	else
		status = start_freezer(freeze, pid, descendants);
	if (status < 0)
		freeze_thaw(freeze);
	return status;
}

void freeze_thaw(struct freeze *freeze)
{
	if (freeze->freezer) {
		sem_post(&freeze->freezer->thaw);
		pthread_join(freeze->freezer->thread, NULL);
	}
	free(freeze->freezer);
	free(freeze->thread);
	free(freeze->process);
	*freeze = (struct freeze){0};
}

const char *freeze_reason(int error)
{
	switch (error) {
	case EPERM:
		return "somebody traces it, or it has other privileges";
	case ETIMEDOUT:
		return "it hangs in the kernel";
	default:
		return strerror(error);
	}
}
