/* recorder_rest.c - the processes that are recorded stand still while they get their events, and while these
 * are started or stopped: a thread that is just being started by another one is else missed, or inherits the
 * event as it was before, and nobody tells it. Who cannot be stopped is recorded nevertheless, and told of.
 */
#include "capture/recorder_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "capture/proc_stat.h"
#include "capture/shortage.h"
#include "system/arena.h"

/* One that hangs has been waited for. */
static unsigned int patience(const struct recorder *recorder)
{
	return recorder->left.first.error == ETIMEDOUT ? freeze_little_patience_ms : freeze_patience_ms;
}

static void count(struct recorder_threads *threads, const struct freeze_thread *thread)
{
	if (!threads->count++)
		threads->first = *thread;
}

static void tell(const struct recorder *recorder, const struct recorder_threads *threads, const char *what)
{
	if (threads->count)
		recorder_note(recorder, "%s: %zu (the first: %d of process %d: %s)", what, threads->count,
		              threads->first.tid, threads->first.pid, freeze_reason(threads->first.error));
}

static void tell_left(const struct recorder *recorder)
{
	tell(recorder, &recorder->left,
	     "threads that could not be stopped, so that what they started in that moment may be missing");
}

/* ---- While they get their events --------------------------------------------------------------- */

int recorder_add_target(struct recorder *recorder, pid_t pid, pid_t tid)
{
	struct live_targets *targets = &recorder->events.targets;

	if (array_reserve(&targets->thread, &targets->capacity, targets->count, sizeof(*targets->thread)) < 0)
		return sb_error_set(recorder->err, -sbe_nomem, NULL, UINT64_MAX, "out of memory");
	targets->thread[targets->count++] = (struct freeze_thread){.pid = pid, .tid = tid};
	return 0;
}

int recorder_is_target(const struct recorder *recorder, pid_t tid)
{
	for (size_t i = 0; i < recorder->events.targets.count; ++i)
		if (recorder->events.targets.thread[i].tid == tid)
			return 1;
	return 0;
}

static int fail_freeze(struct recorder *recorder, pid_t pid, int error)
{
	pid_t leader;

	if (error == ESRCH && proc_leader_of(&leader, pid) > 0 && leader != pid)
		return sb_error_set(recorder->err, -sbe_not_found, NULL, UINT64_MAX,
		                    "there is no process %d: it is a thread of process %d", pid, leader);
	if (error == ESRCH)
		return sb_error_set(recorder->err, -sbe_not_found, NULL, UINT64_MAX, "there is no process %d",
		                    pid);
	if (is_shortage(error))
		return fail_short(error, "/proc", recorder->err);
	return sb_error_set(recorder->err, -sbe_io, NULL, UINT64_MAX, "process %d cannot be followed: %s",
	                    pid, error == EPERM ? freeze_reason(error) : strerror(error));
}

/* Whom we may not trace may be recorded still, when we have CAP_PERFMON, or somebody else traces it. */
static int may_record(const struct recorder *recorder, pid_t tid)
{
	const int fd = live_event_open(&recorder->attrs.sideband, tid, -1, 0);

	if (fd >= 0)
		close(fd);
	return fd != -EPERM && fd != -EACCES;
}

/* Those of @root and its descendants; none twice, of processes that descend from one another. */
static int add_frozen(struct recorder *recorder, pid_t root, const struct freeze *freeze,
                      struct recorder_threads *refused)
{
	int status = 0;

	for (size_t i = 0; i < freeze->count && status == 0; ++i) {
		const struct freeze_thread *thread = &freeze->thread[i];

		if (recorder_is_target(recorder, thread->tid))
			continue;
		if (thread->error && !may_record(recorder, thread->tid)) {
			if (thread->pid == root)
				return fail_freeze(recorder, root, thread->error);
			count(refused, thread);
			continue;
		}
		if (thread->error)
			count(&recorder->left, thread);
		status = recorder_add_target(recorder, thread->pid, thread->tid);
	}
	return status;
}

static int open_frozen(struct recorder *recorder, size_t index, struct recorder_threads *refused)
{
	const struct sb_recorder_config *config = recorder->config;
	struct freeze freeze;
	int status;

	while (index < config->npids && recorder_is_target(recorder, config->pid[index]))
		++index;
	if (index == config->npids)
		return recorder_open_cpus(recorder);
	status = freeze_process(&freeze, config->pid[index], 1, patience(recorder));
	if (status < 0)
		return fail_freeze(recorder, config->pid[index], -status);
	status = add_frozen(recorder, config->pid[index], &freeze, refused);
	if (status == 0)
		status = open_frozen(recorder, index + 1, refused);
	freeze_thaw(&freeze);
	return status;
}

int recorder_open_at_rest(struct recorder *recorder)
{
	struct recorder_threads refused = {0};
	const int status = open_frozen(recorder, 0, &refused);

	if (status < 0)
		return status;
	tell_left(recorder);
	tell(recorder, &refused, "threads of started processes that may not be recorded");
	return 0;
}

/* ---- While these are started or stopped --------------------------------------------------------- */

/* Whose descendants inherit events of that role. A command that does not run yet stands still anyway. */
static size_t roots_of(const struct recorder *recorder, enum live_role role, const pid_t **pid)
{
	const struct live_events *events = &recorder->events;
	const struct live_command *command = &recorder->command;
	int inherited = 0;

	for (size_t i = 0; i < events->nevents; ++i)
		inherited |= events->event[i].role == role && events->event[i].attr.inherit;
	*pid = recorder->config->npids ? recorder->config->pid : &command->pid;
	if (!inherited)
		return 0;
	return recorder->config->npids ? recorder->config->npids : command->pid && command->go < 0;
}

/* That somebody traces it was told of, or it is us, when processes descend from one another. */
static void note_hanging(struct recorder *recorder, const struct freeze *freeze)
{
	if (!freeze->nleft || freeze->left.error != ETIMEDOUT || recorder->left.count)
		return;
	recorder->left = (struct recorder_threads){freeze->nleft, freeze->left};
	tell_left(recorder);
}

/* From the @index-th target on. */
static int enable_at_rest(struct recorder *recorder, enum live_role role, int on, size_t index)
{
	const pid_t *pid;
	const size_t count = roots_of(recorder, role, &pid);
	struct freeze freeze;
	int status;

	for (; index < count; ++index) {
		status = freeze_process(&freeze, pid[index], 1, patience(recorder));
		if (status == 0)
			break;
		/* In the end, it is enough that nothing is recorded any more. */
		if (on && is_shortage(-status))
			return fail_freeze(recorder, pid[index], -status);
		if (on && role == live_role_sideband)
			recorder_note(recorder, "process %d has ended", pid[index]);
	}
	if (index >= count)
		return live_events_enable(&recorder->events, role, on, recorder->err);
	note_hanging(recorder, &freeze);
	status = enable_at_rest(recorder, role, on, index + 1);
	freeze_thaw(&freeze);
	return status;
}

int recorder_enable(struct recorder *recorder, enum live_role role, int on)
{
	return enable_at_rest(recorder, role, on, 0);
}
