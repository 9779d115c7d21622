/* counter.c - see sb/counter.h: one perf event per thread that was there when the counter was attached; those
 * that begin later inherit it from the thread that starts them, and the kernel adds up (perf_event_open(2),
 * inherit, inherit_thread).
 */
#include <sb/counter.h>

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sb/event.h>

#include "capture/freeze.h"
#include "capture/proc_stat.h"
#include "capture/shortage.h"
#include "system/arena.h"

/* A perf event of a thread, or of a CPU. */
struct counter_part {
	pid_t target;  /* the process that was attached */
	pid_t process; /* that the thread is of: the target, or one of its descendants */
	int fd;
};

struct counter {
	struct perf_event_attr attr;
	enum sb_counter_scope scope;
	unsigned int flags;
	int number;  /* 0: not in use */
	pid_t owner; /* what a process that was forked finds here is not its own */
	int cpu;     /* that the event is of; -1: all */
	int running;
	struct counter_part *part; /* owned */
	size_t nparts, capacity;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct counter *counters; /* owned by the process */
static size_t ncounters, counters_capacity;

/* ---- Errors ----------------------------------------------------------------------------------- */

static const char *const texts[sb_counter_errcodes] = {
        [sb_counter_ok] = "no error",
        [sb_counter_busy] = "the counter is running, or its hardware is in use for that process",
        [sb_counter_exists] = "the counter follows that process already",
        [sb_counter_invalid] = "no such counter, event or pid, or not attached there",
        [sb_counter_not_permitted] = "not permitted",
        [sb_counter_no_process] = "no such process, or nothing follows it",
        [sb_counter_no_memory] = "out of memory",
        [sb_counter_io] = "the operating system said no",
};

const char *sb_counter_strerror(int code)
{
	return code <= 0 && code > -sb_counter_errcodes ? texts[-code] : "unknown error";
}

static int fail(struct sb_error *err, enum sb_counter_errcode code, const char *why)
{
	static const int general[sb_counter_errcodes] = {[sb_counter_no_process] = -sbe_not_found,
	                                                 [sb_counter_no_memory] = -sbe_nomem,
	                                                 [sb_counter_io] = -sbe_io};

	sb_error_set(err, general[code] ? general[code] : -sbe_invalid, NULL, UINT64_MAX, "%s", why);
	return -(int)code;
}

/* What the kernel said when a counter was to be attached. */
static int fail_errno(struct sb_error *err, int error)
{
	switch (error) {
	case ESRCH:
		return fail(err, sb_counter_no_process, "there is no such process");
	case EPERM:
	case EACCES:
		return fail(err, sb_counter_not_permitted,
		            "attaching is not permitted: see perf_event_paranoid, or somebody traces it");
	case EBUSY:
		return fail(
		        err, sb_counter_busy,
		        "the hardware that the event needs is another counter's that follows the process");
	case EEXIST:
		return fail(err, sb_counter_exists,
		            "the counter follows a process already that this one has started");
	case ENOMEM:
		return fail(err, sb_counter_no_memory, "out of memory");
	case ETIMEDOUT:
		return fail(err, sb_counter_io, "a thread cannot be stopped: it hangs in the kernel");
	case ENOENT:
	case EOPNOTSUPP:
	case EINVAL:
	case ENODEV:
		return fail(err, sb_counter_invalid, "this machine cannot count the event there");
	default:
		return fail(err, sb_counter_io, strerror(error));
	}
}

/* ---- The list --------------------------------------------------------------------------------- */

static int is_own(const struct counter *counter)
{
	return counter->number && counter->owner == getpid();
}

static struct counter *find_locked(int number)
{
	for (size_t i = 0; number > 0 && i < ncounters; ++i)
		if (counters[i].number == number && counters[i].owner == getpid())
			return &counters[i];
	return NULL;
}

static int is_any_locked(void)
{
	for (size_t i = 0; i < ncounters; ++i)
		if (is_own(&counters[i]))
			return 1;
	return 0;
}

/* Room for one more, zeroed but for its number. NULL: no memory. */
static struct counter *add_locked(void)
{
	static int last;
	struct counter *counter = NULL;

	for (size_t i = 0; i < ncounters && !counter; ++i)
		if (!counters[i].number)
			counter = &counters[i];
	if (!counter) {
		if (array_reserve(&counters, &counters_capacity, ncounters, sizeof(*counters)) < 0)
			return NULL;
		counter = &counters[ncounters++];
	}
	*counter = (struct counter){.number = ++last, .owner = getpid()};
	return counter;
}

/* Whether the process was attached itself. */
static int is_target(const struct counter *counter, pid_t pid)
{
	for (size_t i = 0; i < counter->nparts; ++i)
		if (counter->part[i].target == pid)
			return 1;
	return 0;
}

/* Or was there, as a descendant, when another one was. */
static int has_part(const struct counter *counter, pid_t pid)
{
	for (size_t i = 0; i < counter->nparts; ++i)
		if (counter->part[i].target == pid || counter->part[i].process == pid)
			return 1;
	return 0;
}

/* Or descends from one that is followed, by all who are still there. 1; 0; or -errno of a shortage. */
static int follows(const struct counter *counter, pid_t pid)
{
	int status = 1;

	if (has_part(counter, pid))
		return 1;
	while ((counter->flags & sb_counter_descendants) && counter->nparts && status > 0 && pid > 1) {
		struct proc_stat stat;

		status = proc_stat_of(&stat, pid);
		pid = stat.parent;
		if (status > 0 && has_part(counter, pid))
			return 1;
	}
	return status < 0 ? status : 0;
}

static int is_followed_locked(pid_t pid)
{
	int status = 0;

	for (size_t i = 0; i < ncounters && !status; ++i)
		if (is_own(&counters[i]))
			status = follows(&counters[i], pid);
	return status;
}

/* What the events are counted by: those of a processor's core share that, whatever words they have. */
static uint32_t hardware_of(const struct counter *counter)
{
	const uint32_t type = counter->attr.type;

	return type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE ? PERF_TYPE_RAW : type;
}

/* Whether one of the two wants a thread's hardware for itself. */
static int collides_locked(const struct counter *counter, pid_t pid)
{
	int status = 0;

	for (size_t i = 0; i < ncounters && !status; ++i) {
		const struct counter *other = &counters[i];

		if (is_own(other) && other != counter && (counter->attr.exclusive || other->attr.exclusive) &&
		    hardware_of(other) == hardware_of(counter))
			status = follows(other, pid);
	}
	return status;
}

/* ---- Parts ------------------------------------------------------------------------------------ */

static int open_event(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	const long fd = syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

/* Zero or -errno. */
static int add_part(struct counter *counter, pid_t target, pid_t process, pid_t tid, int cpu)
{
	int fd;

	if (array_reserve(&counter->part, &counter->capacity, counter->nparts, sizeof(*counter->part)) < 0)
		return -ENOMEM;
	fd = open_event(&counter->attr, tid, cpu);
	if (fd < 0)
		return fd;
	counter->part[counter->nparts++] = (struct counter_part){target, process, fd};
	return 0;
}

/* Those of @target; -1: all. */
static void drop_parts(struct counter *counter, pid_t target)
{
	size_t kept = 0;

	for (size_t i = 0; i < counter->nparts; ++i)
		if (target < 0 || counter->part[i].target == target)
			close(counter->part[i].fd);
		else
			counter->part[kept++] = counter->part[i];
	counter->nparts = kept;
}

/* ---- Allocating ------------------------------------------------------------------------------- */

static int encode(const char *event, struct perf_event_attr *attr, int *cpu, struct sb_error *err)
{
	struct sb_event_perf encoded = {.attr = attr, .size = sizeof(encoded), .err = err};
	int status;

	*attr = (struct perf_event_attr){
	        .size = sizeof(*attr),
	        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	        .disabled = 1,
	};
	if (!event)
		return fail(err, sb_counter_invalid, "which event?");
	status = sb_event_encode(event, sb_event_user | sb_event_kernel, sb_event_target_perf_ext, &encoded);
	*cpu = encoded.cpu;
	return status < 0 ? -sb_counter_invalid : 0;
}

/* Of a CPU, or for processes. */
static int set_up(struct counter *counter, int cpu, struct sb_error *err)
{
	int status;

	if (counter->scope == sb_counter_process) {
		counter->attr.inherit = 1;
		counter->attr.inherit_thread = !(counter->flags & sb_counter_descendants);
		return 0;
	}
	if (counter->cpu >= 0 && cpu >= 0 && counter->cpu != cpu)
		return fail(err, sb_counter_invalid, "the event is of another CPU");
	if (cpu < 0)
		cpu = counter->cpu;
	status = add_part(counter, -1, -1, -1, cpu);
	return status < 0 ? fail_errno(err, -status) : 0;
}

int sb_counter_allocate(const char *event, enum sb_counter_scope scope, unsigned int flags, int cpu,
                        struct sb_error *err)
{
	struct perf_event_attr attr;
	struct counter *counter;
	int of_cpu = -1, status;

	if ((scope != sb_counter_process && scope != sb_counter_system) ||
	    (flags & ~(unsigned int)(sb_counter_descendants | sb_counter_owner_only)))
		return fail(err, sb_counter_invalid, "no such scope, or no such flag");
	status = encode(event, &attr, &of_cpu, err);
	if (status < 0)
		return status;
	pthread_mutex_lock(&lock);
	counter = add_locked();
	if (!counter) {
		status = fail(err, sb_counter_no_memory, "out of memory");
	} else {
		counter->attr = attr;
		counter->cpu = of_cpu;
		counter->scope = scope;
		counter->flags = flags;
		status = set_up(counter, cpu, err);
		if (status == 0)
			status = counter->number;
		else
			counter->number = 0;
	}
	pthread_mutex_unlock(&lock);
	return status;
}

int sb_counter_release(int number)
{
	struct counter *counter;

	pthread_mutex_lock(&lock);
	counter = find_locked(number);
	if (counter) {
		drop_parts(counter, -1);
		free(counter->part);
		*counter = (struct counter){0};
	}
	pthread_mutex_unlock(&lock);
	return counter ? 0 : -sb_counter_invalid;
}

/* ---- Attaching -------------------------------------------------------------------------------- */

/* The counter that @number is, and what is wrong alike with attaching and detaching. */
static int get_locked(int number, pid_t pid, struct counter **result, struct sb_error *err)
{
	if (!is_any_locked())
		return fail(err, sb_counter_no_process, "the caller owns no counters");
	*result = find_locked(number);
	if (!*result)
		return fail(err, sb_counter_invalid, "there is no such counter");
	if ((*result)->scope != sb_counter_process)
		return fail(err, sb_counter_invalid, "a system-scope counter is not attached to processes");
	if (pid < 0)
		return fail(err, sb_counter_invalid, "a process's number is expected, or 0");
	return 0;
}

/* Whether nothing speaks against counting in each process. Zero or -errno. */
static int check_processes(const struct counter *counter, const struct freeze *freeze)
{
	int status = 0;

	for (size_t i = 0; i < freeze->nprocesses && status == 0; ++i) {
		if (has_part(counter, freeze->process[i]))
			return -EEXIST;
		status = collides_locked(counter, freeze->process[i]);
	}
	return status > 0 ? -EBUSY : status;
}

static int open_all(struct counter *counter, pid_t pid)
{
	const size_t before = counter->nparts;
	struct freeze freeze;
	int status = freeze_process(&freeze, pid, (counter->flags & sb_counter_descendants) != 0,
	                            freeze_patience_ms);

	if (status < 0)
		return status;
	status = freeze.nleft ? -freeze.left.error : check_processes(counter, &freeze);
	for (size_t i = 0; i < freeze.count && status == 0; ++i)
		status = add_part(counter, pid, freeze.thread[i].pid, freeze.thread[i].tid, counter->cpu);
	freeze_thaw(&freeze);
	if (status < 0)
		while (counter->nparts > before)
			close(counter->part[--counter->nparts].fd);
	return status;
}

static int attach_locked(int number, pid_t pid, struct sb_error *err)
{
	struct counter *counter;
	int status = get_locked(number, pid, &counter, err);

	if (status < 0)
		return status;
	if (!pid)
		pid = getpid();
	if (counter->running)
		return fail(err, sb_counter_busy, "the counter is running");
	status = follows(counter, pid);
	if (status > 0)
		return fail(err, sb_counter_exists, "the counter follows that process already");
	if (status < 0)
		return fail_errno(err, -status);
	if ((counter->flags & sb_counter_owner_only) && pid != getpid())
		return fail(err, sb_counter_not_permitted, "the counter is for its owner only");
	status = open_all(counter, pid);
	return status < 0 ? fail_errno(err, -status) : 0;
}

int sb_counter_attach(int number, pid_t pid, struct sb_error *err)
{
	int status;

	pthread_mutex_lock(&lock);
	status = attach_locked(number, pid, err);
	pthread_mutex_unlock(&lock);
	return status;
}

static int detach_locked(int number, pid_t pid, struct sb_error *err)
{
	struct counter *counter;
	int status = get_locked(number, pid, &counter, err);

	if (status < 0)
		return status;
	if (!pid)
		pid = getpid();
	if (is_target(counter, pid)) {
		drop_parts(counter, pid);
		return 0;
	}
	if (kill(pid, 0) < 0 && errno == ESRCH)
		return fail(err, sb_counter_no_process, "there is no such process");
	status = is_followed_locked(pid);
	if (status < 0)
		return fail_errno(err, -status);
	if (!status)
		return fail(err, sb_counter_no_process, "no counter follows that process");
	return fail(err, sb_counter_invalid, "the counter is not attached to that process");
}

int sb_counter_detach(int number, pid_t pid, struct sb_error *err)
{
	int status;

	pthread_mutex_lock(&lock);
	status = detach_locked(number, pid, err);
	pthread_mutex_unlock(&lock);
	return status;
}

/* ---- Counting --------------------------------------------------------------------------------- */

static int set_parts(const struct counter *counter, int running)
{
	const unsigned long request = running ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
	int status = 0;

	for (size_t i = 0; i < counter->nparts; ++i)
		if (ioctl(counter->part[i].fd, request, 0) < 0)
			status = -sb_counter_io;
	return status;
}

/* Whether the part is the first one of its target. */
static int is_first(const struct counter *counter, size_t index)
{
	for (size_t i = 0; i < index; ++i)
		if (counter->part[i].target == counter->part[index].target)
			return 0;
	return 1;
}

/* The targets from part @from on stand still meanwhile: a thread that is just being started by one that has
 * inherited the event would else inherit what was before, and nobody would tell it. Who cannot be stopped, as
 * it is gone, or somebody traces it, is not. */
static int set_all(const struct counter *counter, size_t from, int running)
{
	const int descendants = (counter->flags & sb_counter_descendants) != 0;

	for (size_t i = from; i < counter->nparts; ++i) {
		struct freeze freeze;
		int status;

		if (counter->part[i].target < 0 || !is_first(counter, i))
			continue;
		status = freeze_process(&freeze, counter->part[i].target, descendants, freeze_patience_ms);
		if (is_shortage(-status))
			return status == -ENOMEM ? -sb_counter_no_memory : -sb_counter_io;
		if (status < 0)
			continue;
		status = set_all(counter, i + 1, running);
		freeze_thaw(&freeze);
		return status;
	}
	return set_parts(counter, running);
}

static int set_running(int number, int running)
{
	struct counter *counter;
	int status = -sb_counter_invalid;

	pthread_mutex_lock(&lock);
	counter = find_locked(number);
	if (counter) {
		status = set_all(counter, 0, running);
		if (status == 0)
			counter->running = running;
	}
	pthread_mutex_unlock(&lock);
	return status;
}

int sb_counter_start(int number)
{
	return set_running(number, 1);
}

int sb_counter_stop(int number)
{
	return set_running(number, 0);
}

int sb_counter_read(int number, uint64_t *value, uint64_t *enabled, uint64_t *running)
{
	uint64_t sum[3] = {0};
	struct counter *counter;
	int status = 0;

	pthread_mutex_lock(&lock);
	counter = find_locked(number);
	for (size_t i = 0; counter && i < counter->nparts; ++i) {
		uint64_t part[3] = {0};

		if (read(counter->part[i].fd, part, sizeof(part)) != sizeof(part))
			status = -sb_counter_io;
		for (int k = 0; k < 3; ++k)
			sum[k] += part[k];
	}
	pthread_mutex_unlock(&lock);
	if (!counter)
		return -sb_counter_invalid;
	if (value)
		*value = sum[0];
	if (enabled)
		*enabled = sum[1];
	if (running)
		*running = sum[2];
	return status;
}
