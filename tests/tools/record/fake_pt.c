/* fake_pt.c - runs a recorder on a machine that seems to have Intel PT, and notes what it asks of the kernel.
 *
 *   fake_pt LOG PT_BYTES PT_TYPE COMMAND [ARGUMENTS]
 *
 * The command is traced with ptrace(2), which a filter of seccomp(2) calls for what concerns events, and for
 * nothing else: a recorder reads thousands of files. An event of the PMU PT_TYPE becomes a software event,
 * which every kernel has; its ring, and its buffer for trace, become plain memory, which we, unlike the
 * kernel's, can write into. Whenever the recorder waits, and before the event is stopped, the bytes of the
 * file PT_BYTES, a multiple of which the buffer holds, appear in that memory, as if they had been traced,
 * with an AUX record that tells of them; or, when there is no room for them, with one that says so. The
 * ring's page says how its clock and the TSC go together. LOG gets a line for each call that concerns events:
 * perf_event_open, mmap, ioctl; threads are numbered as they come; and a line "wrong: ..." for what the
 * kernel would refuse, or what would give no trace. Events that are closed without use, to find out what the
 * kernel knows, are left out.
 *
 * FAKE_OLD=1: the kernel knows nothing that is newer than Linux 4.11. FAKE_OFFLINE="CPU FROM COUNT": of the
 * events that are opened on the CPU, COUNT from the FROM-th on (0: the first) find it offline. FAKE_LACKS=1:
 * the PMU says that there is no such device.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { fds_most = 1024, threads_most = 64, page_bytes = 4096 };

struct event {
	int open, told, is_pt;
	int cpu, pid, number; /* number: of the event, in the order of the log */
	unsigned long flags;
	struct perf_event_attr attr;
	uint64_t page, ring_size, aux, aux_size; /* in the tracee; 0: not mapped */
	int overwrites, running;
	uint64_t head, data_head, id;
	int output; /* the descriptor of the event into whose ring it writes; -1: its own, or none */
};

struct fake {
	pid_t pid;
	FILE *log;
	uint8_t *bytes;
	size_t nbytes;
	uint32_t type;
	struct event event[fds_most];
	int count;
	int thread[threads_most], nthreads; /* those that events are of */
	/* The call that is being made. */
	struct user_regs_struct entry;
	struct event opening;
	int is_old, lacks;
	int cpu, from, count_offline, opened;     /* is offline for those opens */
	long result;                              /* of a call that is not made */
	int is_opening, mapping, asking, refused; /* mapping, asking for an id: the descriptor, or -1 */
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void get(const struct fake *fake, uint64_t at, void *bytes, size_t size)
{
	struct iovec own = {bytes, size}, theirs = {(void *)(uintptr_t)at, size};

	if (process_vm_readv(fake->pid, &own, 1, &theirs, 1, 0) != (ssize_t)size)
		die("reading the recorder's memory");
}

/* Also where it may not write itself. */
static void put(const struct fake *fake, uint64_t at, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i += sizeof(long)) {
		long word;

		memcpy(&word, (const uint8_t *)bytes + i, sizeof(word));
		if (ptrace(PTRACE_POKEDATA, fake->pid, at + i, word) < 0)
			die("writing the recorder's memory");
	}
}

static void set_regs(const struct fake *fake, const struct user_regs_struct *regs)
{
	if (ptrace(PTRACE_SETREGS, fake->pid, NULL, regs) < 0)
		die("PTRACE_SETREGS");
}

/* ---- The log ---------------------------------------------------------------------------------- */

static const char *name_of(const struct fake *fake, const struct event *event)
{
	static char name[32];

	if (event->attr.type == fake->type)
		return "intel_pt";
	if (event->attr.type != PERF_TYPE_SOFTWARE)
		snprintf(name, sizeof(name), "type-%u", event->attr.type);
	else
		snprintf(name, sizeof(name), "%s",
		         event->attr.config == PERF_COUNT_SW_DUMMY             ? "dummy"
		         : event->attr.config == PERF_COUNT_SW_CGROUP_SWITCHES ? "cgroup-switches"
		                                                               : "software");
	return name;
}

static void log_attr(const struct fake *fake, const struct event *event)
{
	static const char *const samples[] = {
	        "IP",        "TID",        "TIME",   "ADDR",      "READ",      "CALLCHAIN",
	        "ID",        "CPU",        "PERIOD", "STREAM_ID", "RAW",       "BRANCH_STACK",
	        "REGS_USER", "STACK_USER", "WEIGHT", "DATA_SRC",  "IDENTIFIER"};
	const struct perf_event_attr *attr = &event->attr;

	fprintf(fake->log, " config=0x%" PRIx64 " period=%" PRIu64 " sample_type=", (uint64_t)attr->config,
	        (uint64_t)attr->sample_period);
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); ++i)
		if (attr->sample_type >> i & 1)
			fprintf(fake->log, "%s,", samples[i]);
	fprintf(fake->log, " disabled=%u inherit=%u sample_id_all=%u exclude_user=%u exclude_kernel=%u",
	        attr->disabled, attr->inherit, attr->sample_id_all, attr->exclude_user, attr->exclude_kernel);
	fprintf(fake->log, " aux_watermark=%u", attr->aux_watermark);
	fprintf(fake->log, " tracking=%u%u%u%u%u%u", attr->mmap, attr->mmap2, attr->comm, attr->comm_exec,
	        attr->task, attr->context_switch);
}

static const char *target_of(struct fake *fake, const struct event *event)
{
	static char target[32];
	int i = 0;

	if (event->flags & PERF_FLAG_PID_CGROUP)
		return "cgroup";
	if (event->pid < 0)
		return "all";
	while (i < fake->nthreads && fake->thread[i] != event->pid)
		++i;
	if (i == fake->nthreads && i < threads_most)
		fake->thread[fake->nthreads++] = event->pid;
	snprintf(target, sizeof(target), "thread-%d", i);
	return target;
}

/* Once it is used. */
static void tell(struct fake *fake, struct event *event)
{
	if (event->told)
		return;
	event->told = 1;
	event->number = fake->count++;
	fprintf(fake->log, "open %d %s cpu=%d target=%s%s", event->number, name_of(fake, event), event->cpu,
	        target_of(fake, event), event->flags & PERF_FLAG_FD_CLOEXEC ? " cloexec" : "");
	log_attr(fake, event);
	fputc('\n', fake->log);
}

/* ---- Trace ------------------------------------------------------------------------------------ */

/* An AUX record into the ring. */
static void put_record(struct fake *fake, struct event *event, uint64_t offset, uint64_t size, uint64_t flags)
{
	struct timespec now;
	struct {
		struct perf_event_header header;
		uint64_t offset, size, flags;
		uint32_t pid, tid;
		uint64_t time, cpu, id;
	} record = {.header = {.type = PERF_RECORD_AUX, .size = sizeof(record)},
	            .offset = offset,
	            .size = size,
	            .flags = flags,
	            .cpu = (uint64_t)event->cpu,
	            .id = event->id};
	uint64_t tail;

	get(fake, event->page + offsetof(struct perf_event_mmap_page, data_tail), &tail, sizeof(tail));
	if (event->data_head + sizeof(record) - tail > event->ring_size)
		return;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	record.time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	for (size_t i = 0; i < sizeof(record); i += 8)
		put(fake, event->page + page_bytes + (event->data_head + i) % event->ring_size,
		    (const uint8_t *)&record + i, 8);
	event->data_head += sizeof(record);
	put(fake, event->page + offsetof(struct perf_event_mmap_page, data_head), &event->data_head, 8);
}

/* As much as there is room for; or, where it overwrites, once round the buffer and half of it again. */
static void trace(struct fake *fake, struct event *event)
{
	uint64_t tail, size = event->aux_size;
	const uint64_t from = event->head;

	if (!event->aux || !event->running)
		return;
	get(fake, event->page + offsetof(struct perf_event_mmap_page, aux_tail), &tail, sizeof(tail));
	if (event->overwrites)
		size += size / 2;
	else if (event->head + fake->nbytes - tail > event->aux_size) {
		put_record(fake, event, from, 0, PERF_AUX_FLAG_TRUNCATED);
		return;
	} else
		size = fake->nbytes;
	for (uint64_t done = 0; done < size; done += fake->nbytes, event->head += fake->nbytes)
		put(fake, event->aux + event->head % event->aux_size, fake->bytes, fake->nbytes);
	/* An overwritten buffer's head is a place in it. */
	tail = event->overwrites ? event->head % event->aux_size : event->head;
	put(fake, event->page + offsetof(struct perf_event_mmap_page, aux_head), &tail, sizeof(tail));
	put_record(fake, event, from, event->head - from, event->overwrites ? PERF_AUX_FLAG_OVERWRITE : 0);
}

static struct event *event_of(struct fake *fake, uint64_t fd)
{
	char path[64], target[64];
	ssize_t size;

	if (fd >= fds_most || !fake->event[fd].open)
		return NULL;
	/* It may have been closed, and be something else. */
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", fake->pid, (int)fd);
	size = readlink(path, target, sizeof(target) - 1);
	target[size < 0 ? 0 : size] = '\0';
	fake->event[fd].open = strstr(target, "[perf_event]") != NULL;
	return fake->event[fd].open ? &fake->event[fd] : NULL;
}

static void trace_all(struct fake *fake)
{
	for (uint64_t fd = 0; fd < fds_most; ++fd) {
		struct event *event = event_of(fake, fd);

		if (event)
			trace(fake, event);
	}
}

/* ---- Calls ------------------------------------------------------------------------------------ */

/* Beyond Linux 4.11. */
static int is_newer(const struct perf_event_attr *attr)
{
	return attr->namespaces || attr->ksymbol || attr->bpf_event || attr->cgroup || attr->text_poke ||
	       attr->build_id || attr->read_format >> 4 || attr->sample_type >> 20 ||
	       (attr->type == PERF_TYPE_SOFTWARE && attr->config > PERF_COUNT_SW_BPF_OUTPUT);
}

/* The call is not made, and gives @result. */
static void refuse(struct fake *fake, long result)
{
	struct user_regs_struct regs = fake->entry;

	regs.orig_rax = (unsigned long long)-1;
	set_regs(fake, &regs);
	fake->refused = 1;
	fake->result = result;
}

/* The kernel opens a thread's event there nevertheless. */
static int is_offline(struct fake *fake, const struct event *event)
{
	int number;

	if (!fake->count_offline || event->cpu != fake->cpu ||
	    (event->pid >= 0 && !(event->flags & PERF_FLAG_PID_CGROUP)))
		return 0;
	number = fake->opened++ - fake->from;
	return number >= 0 && number < fake->count_offline;
}

static void enter_open(struct fake *fake)
{
	struct event *event = &fake->opening;
	struct perf_event_attr attr;
	uint32_t size;

	memset(event, 0, sizeof(*event));
	get(fake, fake->entry.rdi + offsetof(struct perf_event_attr, size), &size, sizeof(size));
	get(fake, fake->entry.rdi, &event->attr, size < sizeof(attr) ? size : sizeof(attr));
	event->pid = (int)fake->entry.rsi;
	event->cpu = (int)fake->entry.rdx;
	event->flags = fake->entry.r8;
	event->is_pt = event->attr.type == fake->type;
	/* The recorder's own clock: an event without a CPU. */
	fake->is_opening = event->cpu >= 0;
	if (is_offline(fake, event) || (fake->lacks && event->is_pt)) {
		refuse(fake, -ENODEV);
		fake->is_opening = 0;
		return;
	}
	if (fake->is_old && is_newer(&event->attr)) {
		refuse(fake, -EINVAL);
		fake->is_opening = 0;
		return;
	}
	if (!event->is_pt)
		return;
	attr = event->attr;
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.aux_watermark = 0;
	put(fake, fake->entry.rdi, &attr, sizeof(attr));
}

static void leave_open(struct fake *fake, long fd)
{
	struct event *event = &fake->opening;

	fake->is_opening = 0;
	if (event->is_pt)
		put(fake, fake->entry.rdi, &event->attr, sizeof(event->attr));
	if (fd < 0 || fd >= fds_most)
		return;
	fake->event[fd] = *event;
	fake->event[fd].open = 1;
	fake->event[fd].output = -1;
}

static void enter_mmap(struct fake *fake)
{
	struct user_regs_struct regs = fake->entry;
	struct event *event = event_of(fake, regs.r8);

	if (!event || (regs.r10 & MAP_ANONYMOUS))
		return;
	fake->mapping = (int)regs.r8;
	if (!event->is_pt)
		return;
	regs.r10 = MAP_PRIVATE | MAP_ANONYMOUS;
	regs.r8 = (unsigned long long)-1;
	regs.r9 = 0;
	set_regs(fake, &regs);
}

static void map_ring(struct fake *fake, struct event *event, uint64_t address)
{
	event->page = address;
	event->ring_size = fake->entry.rsi - page_bytes;
	fprintf(fake->log, "mmap %d ring pages=1+%llu prot=%llu shared=%d offset=%llu\n", event->number,
	        fake->entry.rsi / page_bytes - 1, fake->entry.rdx, (fake->entry.r10 & MAP_SHARED) != 0,
	        fake->entry.r9);
}

static void map_aux(struct fake *fake, struct event *event, uint64_t address)
{
	const uint64_t zero = 5000, caps = 1u << 3 | 1u << 4; /* cap_user_time, cap_user_time_zero */
	struct perf_event_mmap_page page;

	get(fake, event->page, &page, sizeof(page));
	if (page.aux_offset != fake->entry.r9 || page.aux_size != fake->entry.rsi ||
	    page.aux_offset < page_bytes + event->ring_size)
		fprintf(fake->log, "wrong: the ring's page tells of another buffer\n");
	event->aux = address;
	event->aux_size = fake->entry.rsi;
	event->overwrites = !(fake->entry.rdx & PROT_WRITE);
	fprintf(fake->log, "mmap %d aux size=%llu prot=%llu offset=%llu page_says=%llu+%llu\n", event->number,
	        fake->entry.rsi, fake->entry.rdx, fake->entry.r9, (unsigned long long)page.aux_offset,
	        (unsigned long long)page.aux_size);
	put(fake, event->page + offsetof(struct perf_event_mmap_page, capabilities), &caps, sizeof(caps));
	page.time_shift = 31;
	page.time_mult = 1022611261;
	put(fake, event->page + offsetof(struct perf_event_mmap_page, pmc_width), &page.pmc_width, 8);
	put(fake, event->page + offsetof(struct perf_event_mmap_page, time_zero), &zero, sizeof(zero));
}

static void leave_mmap(struct fake *fake, uint64_t address)
{
	struct event *event = event_of(fake, (uint64_t)fake->mapping);

	fake->mapping = -1;
	if (!event || (int64_t)address < 0)
		return;
	tell(fake, event);
	if (!event->page)
		map_ring(fake, event, address);
	else if (event->is_pt)
		map_aux(fake, event, address);
}

static void set_output(struct fake *fake, struct event *event)
{
	const struct event *other = event_of(fake, fake->entry.rdx);

	tell(fake, event);
	fprintf(fake->log, "ioctl %d SET_OUTPUT %d\n", event->number, other ? other->number : -1);
	event->output = (int)fake->entry.rdx;
	if (!other || !other->page || event->page)
		fprintf(fake->log, "wrong: it has a ring, or the other one has none\n");
	else if (other->cpu != event->cpu)
		fprintf(fake->log, "wrong: a ring is of one CPU\n");
	if (event->is_pt || (other && other->is_pt))
		refuse(fake, 0); /* the kernel knows of no ring there */
}

/* Its trace goes to the buffer of the ring that it writes into. */
static int has_buffer(struct fake *fake, const struct event *event)
{
	const struct event *owner = event->output < 0 ? event : event_of(fake, (uint64_t)event->output);

	return owner && owner->is_pt && owner->aux;
}

static void enter_ioctl(struct fake *fake)
{
	struct event *event = event_of(fake, fake->entry.rdi);

	if (!event)
		return;
	switch (fake->entry.rsi) {
	case PERF_EVENT_IOC_SET_OUTPUT:
		set_output(fake, event);
		break;
	case PERF_EVENT_IOC_ID:
		fake->asking = (int)fake->entry.rdi;
		break;
	case PERF_EVENT_IOC_ENABLE:
	case PERF_EVENT_IOC_DISABLE:
		tell(fake, event);
		if (fake->entry.rsi == PERF_EVENT_IOC_DISABLE)
			trace(fake, event);
		event->running = fake->entry.rsi == PERF_EVENT_IOC_ENABLE;
		if (event->is_pt && !has_buffer(fake, event))
			fprintf(fake->log, "wrong: there is no buffer for its trace\n");
		fprintf(fake->log, "ioctl %d %s\n", event->number, event->running ? "ENABLE" : "DISABLE");
		break;
	default:
		break;
	}
}

static void enter(struct fake *fake)
{
	switch (fake->entry.orig_rax) {
	case SYS_perf_event_open:
		enter_open(fake);
		break;
	case SYS_mmap:
		enter_mmap(fake);
		break;
	case SYS_ioctl:
		enter_ioctl(fake);
		break;
	case SYS_poll:
		trace_all(fake);
		break;
	default:
		break;
	}
}

/* An event without a ring of the kernel's always seems to have ended. */
static void leave_poll(struct fake *fake, const struct user_regs_struct *regs)
{
	struct user_regs_struct fine = *regs;
	struct pollfd one;

	for (uint64_t i = 0; i < fake->entry.rsi; ++i) {
		const uint64_t at = fake->entry.rdi + i * sizeof(one);
		const struct event *event;

		get(fake, at, &one, sizeof(one));
		event = event_of(fake, (uint64_t)(int64_t)one.fd);
		if (!event || !event->is_pt || !(one.revents & POLLHUP))
			continue;
		one.revents &= (short)~POLLHUP;
		fine.rax -= one.revents == 0;
		put(fake, at, &one, sizeof(one));
	}
	set_regs(fake, &fine);
}

static void leave(struct fake *fake, const struct user_regs_struct *regs)
{
	if (fake->is_opening)
		leave_open(fake, (long)regs->rax);
	if (fake->mapping >= 0)
		leave_mmap(fake, regs->rax);
	if (fake->asking >= 0)
		get(fake, fake->entry.rdx, &fake->event[fake->asking].id, 8);
	fake->asking = -1;
	if (fake->entry.orig_rax == SYS_poll && (long)regs->rax > 0)
		leave_poll(fake, regs);
	if (fake->refused) {
		struct user_regs_struct fine = *regs;

		fine.rax = (unsigned long long)fake->result;
		set_regs(fake, &fine);
		fake->refused = 0;
	}
}

#define LOW_OF_ARGUMENT(i)              (offsetof(struct seccomp_data, args) + 8 * (i))
#define LOAD(offset)                    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offset))
#define SKIP_UNLESS(test, value, count) BPF_JUMP(BPF_JMP | (test) | BPF_K, (value), 0, (count))
#define RETURN(what)                    BPF_STMT(BPF_RET | BPF_K, (what))

/* Only calls for events, polls and mappings that are shared with a file: children inherit this, and nobody
 * traces them, so theirs would fail. */
static void filter_calls(void)
{
	static struct sock_filter filter[] = {
	        LOAD(offsetof(struct seccomp_data, nr)),
	        SKIP_UNLESS(BPF_JEQ, SYS_perf_event_open, 1),
	        RETURN(SECCOMP_RET_TRACE),
	        SKIP_UNLESS(BPF_JEQ, SYS_poll, 1),
	        RETURN(SECCOMP_RET_TRACE),
	        SKIP_UNLESS(BPF_JEQ, SYS_mmap, 5),
	        LOAD(LOW_OF_ARGUMENT(3)),
	        SKIP_UNLESS(BPF_JSET, MAP_SHARED, 2),
	        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 1, 0),
	        RETURN(SECCOMP_RET_TRACE),
	        RETURN(SECCOMP_RET_ALLOW),
	        SKIP_UNLESS(BPF_JEQ, SYS_ioctl, 4),
	        LOAD(LOW_OF_ARGUMENT(1)),
	        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff00),
	        SKIP_UNLESS(BPF_JEQ, PERF_EVENT_IOC_DISABLE & 0xff00, 1),
	        RETURN(SECCOMP_RET_TRACE),
	        RETURN(SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		die("PR_SET_SECCOMP");
}

/* Until it ends; its wait status. */
static int follow(struct fake *fake)
{
	enum __ptrace_request how = PTRACE_CONT;
	int status, number = 0;

	for (;;) {
		struct user_regs_struct regs;

		if (ptrace(how, fake->pid, NULL, number) < 0 && errno != ESRCH)
			die("resuming the recorder");
		if (waitpid(fake->pid, &status, 0) < 0)
			die("waitpid");
		if (WIFEXITED(status) || WIFSIGNALED(status))
			return status;
		number = WSTOPSIG(status);
		if (number != (SIGTRAP | 0x80) && status >> 16 != PTRACE_EVENT_SECCOMP) {
			if (status >> 16) /* another event of ptrace's own */
				number = 0;
			continue;
		}
		if (ptrace(PTRACE_GETREGS, fake->pid, NULL, &regs) < 0)
			die("PTRACE_GETREGS");
		if (number != (SIGTRAP | 0x80)) {
			fake->entry = regs;
			enter(fake);
			how = PTRACE_SYSCALL; /* to the end of the call */
		} else {
			leave(fake, &regs);
			how = PTRACE_CONT;
		}
		number = 0;
	}
}

static void load(struct fake *fake, const char *name)
{
	FILE *file = fopen(name, "re");
	size_t size;

	if (!file)
		die(name);
	fake->bytes = calloc(1, 1 << 16);
	if (!fake->bytes)
		die("memory");
	size = fread(fake->bytes, 1, 1 << 16, file);
	fclose(file);
	/* A power of two, so that it fits a buffer: PAD packets are zero. */
	for (fake->nbytes = 8; fake->nbytes < size;)
		fake->nbytes *= 2;
}

int main(int argc, char **argv)
{
	static struct fake fake = {.mapping = -1, .asking = -1};
	int status;

	if (argc < 5)
		return 2;
	fake.log = fopen(argv[1], "we");
	if (!fake.log)
		die(argv[1]);
	load(&fake, argv[2]);
	fake.is_old = getenv("FAKE_OLD") != NULL;
	fake.lacks = getenv("FAKE_LACKS") != NULL;
	if (getenv("FAKE_OFFLINE") &&
	    sscanf(getenv("FAKE_OFFLINE"), "%d %d %d", &fake.cpu, &fake.from, &fake.count_offline) != 3)
		return 2;
	fake.type = (uint32_t)strtoul(argv[3], NULL, 10);
	fake.pid = fork();
	if (fake.pid == 0) {
		if (ptrace(PTRACE_TRACEME) < 0)
			die("PTRACE_TRACEME");
		raise(SIGSTOP);
		filter_calls();
		execvp(argv[4], argv + 4);
		die(argv[4]);
	}
	if (fake.pid < 0 || waitpid(fake.pid, &status, 0) < 0)
		die("fork");
	if (ptrace(PTRACE_SETOPTIONS, fake.pid, NULL,
	           PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP) <
	    0)
		die("PTRACE_SETOPTIONS");
	status = follow(&fake);
	fclose(fake.log);
	free(fake.bytes);
	if (WIFSIGNALED(status))
		fprintf(stderr, "fake_pt: the recorder was ended by signal %d\n", WTERMSIG(status));
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
