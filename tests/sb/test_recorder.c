/* test_recorder.c - what sb_recorder_run() promises whoever embeds it, where a command line cannot watch it:
 * threads that are named twice, the limit of files, signals that come before the command runs, orders without
 * end; and the kernel's code, of a kernel that is made up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/perf_event.h>

#include <sb/perfdata.h>
#include <sb/perfdata_write.h>
#include <sb/recorder.h>

#include "capture/live_bpf.h"
#include "capture/proc_stat.h"
#include "support/kcore_file.h"
#include "support/may_count.h"
#include "support/sleeper.h"
#include "support/temp_dir.h"

static struct temp_dir dir;
static char output[4200];

static int make_dir(void **state)
{
	(void)state;
	temp_dir_make(&dir);
	snprintf(output, sizeof(output), "%s/recording", dir.path);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	temp_dir_remove(&dir);
	return 0;
}

static struct sb_recorder_config usual(void)
{
	return (struct sb_recorder_config){.size = sizeof(struct sb_recorder_config),
	                                   .output = output,
	                                   .control_fd = -1,
	                                   .ring_size = 1 << 16};
}

static void record(const struct sb_recorder_config *config, char *const argv[],
                   struct sb_recorder_result *result)
{
	struct sb_error err;

	if (sb_recorder_run(config, argv, result, &err) < 0)
		fail_msg("%s", err.text);
}

/* ---- Threads ---------------------------------------------------------------------------------- */

static atomic_int is_over;

enum { names_most = 1 << 20 };

/* Takes one name after the other, n0, n1, ... until it is killed. */
static pid_t start_namer(void)
{
	const pid_t pid = fork();
	char name[16];

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < names_most; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		prctl(PR_SET_NAME, name);
		usleep(1000);
	}
	_exit(0);
}

/* How many names the recording holds, and how many of them twice. */
static unsigned int count_names(const char *path, unsigned int *twice)
{
	static uint8_t seen[names_most];
	struct sb_perfdata *perfdata;
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	struct sb_error err;
	unsigned int count = 0, number;
	int status;

	*twice = 0;
	memset(seen, 0, sizeof(seen));
	if (sb_perfdata_open(&perfdata, path, &err) < 0)
		fail_msg("%s: %s", path, err.text);
	sb_perfdata_begin(perfdata, &cursor);
	while ((status = sb_perfdata_next(&cursor, &record, &err)) > 0) {
		if (record.type != PERF_RECORD_COMM || !record.sample.time ||
		    sscanf(record.u.comm.name, "n%u", &number) != 1)
			continue;
		assert_true(number < names_most);
		*twice += seen[number]++ > 0;
		count++;
	}
	assert_int_equal(status, 0);
	sb_perfdata_close(perfdata);
	return count;
}

/* One that is named twice is recorded once; the name that it had when the recording began may be told of by
 * the recorder besides. */
static void named_twice(void **state)
{
	const uint64_t least = 300000000, most = 10000000000;
	unsigned int count = 0, twice;
	struct sb_recorder_config config = usual();
	struct sb_recorder_result result;
	pid_t tid[2];

	(void)state;
	tid[0] = tid[1] = start_namer();
	config.tid = tid;
	config.ntids = 2;
	/* On a machine that others keep busy, it takes its time. */
	for (config.time_limit = least; count <= 10 && config.time_limit < most; config.time_limit *= 3) {
		record(&config, NULL, &result);
		count = count_names(output, &twice);
		unlink(output);
		assert_int_equal(result.nlost, 0);
		assert_in_range(twice, 0, 2);
	}
	end_sleeper(tid[0]);
	assert_true(count > 10);
}

/* ---- Files ------------------------------------------------------------------------------------ */

/* More of them than the soft limit allows are had, as the hard one does; then it is as before. The command
 * never hears of it. */
/* What makes no sense, and what is not there: no sooner said than refused, with a sentence, and nothing is
 * left. */
static void wrong_configurations(void **state)
{
	pid_t nobody = 4194303;
	const char *unknown = "no-such-event", *wrong = "cs:period=1:freq=1";
	char name[] = "true",
	     missing[] = "/nonexistent", *const argv[] = {name, NULL}, *const none[] = {missing, NULL};
	struct sb_recorder_config fine = usual(), row[12];
	int expected[12], count = 0;
	char *const *command[12] = {NULL};
	struct sb_error err;

	(void)state;
	fine.everybody = 1;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); ++i) {
		row[i] = fine;
		expected[i] = -sbe_invalid;
		command[i] = argv;
	}
	row[count++].size = 8;
	row[count++].output = NULL;
	row[count++].cgroup = "/";
	row[count].everybody = 0;
	command[count++] = NULL;
	row[count++].ring_size = 3 << 12;
	row[count++].aux_size = 1;
	row[count].event = &unknown;
	row[count].nevents = 1;
	expected[count++] = -sbe_not_found;
	row[count].event = &wrong;
	row[count++].nevents = 1;
	row[count].everybody = 0;
	row[count].pid = &nobody;
	row[count].npids = 1;
	expected[count++] = -sbe_not_found;
	row[count].everybody = 0;
	row[count].tid = &nobody;
	row[count].ntids = 1;
	expected[count++] = -sbe_not_found;
	row[count].everybody = 0;
	row[count].cgroup = "/no/such/group";
	expected[count++] = -sbe_not_found;
	command[count] = none;
	expected[count++] = -sbe_not_found;
	assert_int_equal(count, sizeof(row) / sizeof(row[0]));
	for (int i = 0; i < count; ++i) {
		const int status = sb_recorder_run(&row[i], command[i], NULL, &err);

		if (status != expected[i] || err.code != status || !err.text[0] || access(output, F_OK) == 0)
			fail_msg("configuration %d: %d, expected %d: %s", i, status, expected[i], err.text);
	}
	assert_int_equal(sb_recorder_run(NULL, argv, NULL, NULL), -sbe_invalid);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void limit_of_files(void **state)
{
	char sh[] = "sh", c[] = "-c", script[4400], *const argv[] = {sh, c, script, NULL};
	const struct sb_recorder_config config = usual();
	struct rlimit before, few, after;
	struct sb_recorder_result result;
	char text[32] = "", path[4300];
	FILE *file;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 12; /* too few for two events on two CPUs, and what is read besides */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	snprintf(path, sizeof(path), "%s/limit", dir.path);
	snprintf(script, sizeof(script), "ulimit -n >'%s'", path);
	record(&config, argv, &result);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
	assert_int_equal(after.rlim_cur, few.rlim_cur);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(result.exit_status, 0);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_string_equal(text, "12\n");
	unlink(path);
	unlink(output);
}

/* ---- Signals ---------------------------------------------------------------------------------- */

static void nothing(int number)
{
	(void)number;
}

/* The one child that this process has: the command, which waits to be let go. */
static pid_t only_child(void)
{
	char path[64];
	int pid = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", gettid());
	file = fopen(path, "r");
	if (file && fscanf(file, "%d", &pid) != 1)
		pid = 0;
	if (file)
		fclose(file);
	return pid;
}

static int is_asleep(pid_t pid)
{
	struct proc_stat stat;

	return proc_stat_of(&stat, pid) > 0 && stat.state == 'S';
}

static void disturb(void *context, const char *text)
{
	int *disturbed = context;
	const pid_t pid = only_child();

	if (strstr(text, "kallsyms") && pid) {
		while (!is_asleep(pid)) /* it waits to be let go */
			usleep(1000);
		*disturbed += kill(pid, SIGUSR1) == 0;
		usleep(50000);
	}
}

/* A command that waits has the caller's handlers still: a signal is no reason not to run. */
static void signal_before_the_command(void **state)
{
	char name[] = "true", *const argv[] = {name, NULL};
	const struct sigaction action = {.sa_handler = nothing};
	struct sb_recorder_config config = usual();
	struct sb_recorder_result result;
	struct sigaction before;
	struct temp_dir proc;
	int disturbed = 0;

	(void)state;
	temp_dir_make(&proc); /* a kernel that tells nothing of itself, which is told of */
	config.proc = proc.path;
	config.note = disturb;
	config.context = &disturbed;
	sigaction(SIGUSR1, &action, &before);
	record(&config, argv, &result);
	sigaction(SIGUSR1, &before, NULL);
	assert_int_equal(disturbed, 1);
	assert_int_equal(result.exit_status, 0);
	temp_dir_remove(&proc);
	unlink(output);
}

/* ---- Orders ----------------------------------------------------------------------------------- */

static void *flood(void *context)
{
	const char *fifo = context;
	char lines[4096];
	int fd;

	memset(lines, 'x', sizeof(lines));
	for (size_t i = 1; i < sizeof(lines); i += 2)
		lines[i] = '\n';
	while ((fd = open(fifo, O_WRONLY | O_NONBLOCK)) < 0)
		usleep(1000);
	fcntl(fd, F_SETFL, 0);
	while (!atomic_load(&is_over) && write(fd, lines, sizeof(lines)) > 0)
		;
	close(fd);
	return NULL;
}

/* Who writes to the FIFO without end does not keep the recorder from all else: the limit holds. */
static void orders_without_end(void **state)
{
	struct sb_recorder_config config = usual();
	struct sb_recorder_result result;
	char fifo[4300];
	pthread_t thread;

	(void)state;
	snprintf(fifo, sizeof(fifo), "%s/control", dir.path);
	config.everybody = 1;
	config.control = fifo;
	config.time_limit = 300000000;
	atomic_store(&is_over, 0);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pthread_create(&thread, NULL, flood, fifo), 0);
	alarm(60);
	record(&config, NULL, &result);
	alarm(0);
	atomic_store(&is_over, 1);
	pthread_join(thread, NULL);
	assert_int_equal(result.ended_early, 0);
	unlink(output);
}

/* ---- The kernel's code ------------------------------------------------------------------------ */

enum { page = 4096 };

static const uint64_t text = 0xffffffff81000000, one = 0xffffffffc0000000, two = 0xffffffffc0002000;

static const char kallsyms[] =
        "ffffffff81000000 T _text\nffffffff81000000 T _stext\nffffffff81003000 T _etext\n";
static const char modules[] = "one 4096 0 - Live 0xffffffffc0000000\ntwo 8192 0 - Live 0xffffffffc0002000\n"
                              "gone 4096 0 - Live 0xffffffffc0008000\n";

static void make_proc(struct temp_dir *proc)
{
	temp_dir_make(proc);
	free(temp_dir_write(proc, "kallsyms", kallsyms, strlen(kallsyms)));
	free(temp_dir_write(proc, "modules", modules, strlen(modules)));
}

static void fill(uint8_t *bytes, size_t size, unsigned int seed)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1103515245u + 12345u;
		bytes[i] = (uint8_t)(seed >> 16);
	}
}

static uint8_t *read_file(const char *name, size_t *size)
{
	char path[4300];
	struct stat info;
	uint8_t *bytes;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", output, name);
	file = fopen(path, "r");
	if (!file)
		fail_msg("no %s", path);
	assert_int_equal(fstat(fileno(file), &info), 0);
	*size = (size_t)info.st_size;
	bytes = malloc(*size + 1);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, *size, file), *size);
	bytes[*size] = 0;
	fclose(file);
	return bytes;
}

static void expect_file(const char *name, const char *content)
{
	size_t size;
	uint8_t *bytes = read_file(name, &size);

	assert_int_equal(size, strlen(content));
	assert_memory_equal(bytes, content, size);
	free(bytes);
}

/* The copy has these segments, in this order, and no others. */
static void expect_segments(const struct kcore_segment *segment, size_t count)
{
	size_t size;
	uint8_t *bytes = read_file("kcore_dir/kcore", &size);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)(void *)bytes;
	const Elf64_Phdr *found = (const Elf64_Phdr *)(void *)(bytes + sizeof(*header));

	assert_true(size > page);
	assert_memory_equal(header->e_ident, ELFMAG, SELFMAG);
	assert_int_equal(header->e_type, ET_CORE);
	assert_int_equal(header->e_phnum, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(found[i].p_type, PT_LOAD);
		assert_true(found[i].p_vaddr == segment[i].address);
		assert_int_equal(found[i].p_filesz, segment[i].size);
		assert_true(found[i].p_offset + found[i].p_filesz <= size);
		assert_memory_equal(bytes + found[i].p_offset, segment[i].code, segment[i].size);
	}
	free(bytes);
}

static void remove_recording(void)
{
	static const char *const files[] = {"data", "kcore_dir/kcore", "kcore_dir/kallsyms",
	                                    "kcore_dir/modules"};
	char path[4300];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", output, files[i]);
		assert_int_equal(unlink(path), 0);
	}
	snprintf(path, sizeof(path), "%s/kcore_dir", output);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(output), 0);
}

/* What is copied is the kernel's code and that of its modules, of all that kcore holds; what kcore does not
 * hold - half of a module, and one that is gone meanwhile - is in no segment. */
static void kernel_code(void **state)
{
	static uint8_t bytes[5 * page], other[page];
	const struct kcore_segment whole[] = {{text - page, bytes, sizeof(bytes)}, /* and more around it */
	                                      {0xffff888000000000, other, sizeof(other)},
	                                      {one, other, page / 2},
	                                      {one + page / 2, bytes + page, page / 2},
	                                      {two, bytes + 2 * page, page}};
	const struct kcore_segment expected[] = {{text, bytes + page, 3 * page},
	                                         {one, other, page / 2},
	                                         {one + page / 2, bytes + page, page / 2},
	                                         {two, bytes + 2 * page, page}};
	char name[] = "true", *const argv[] = {name, NULL};
	struct sb_recorder_config config = usual();
	struct sb_recorder_result result;
	struct temp_dir proc;

	(void)state;
	fill(bytes, sizeof(bytes), 1);
	fill(other, sizeof(other), 2);
	make_proc(&proc);
	free(kcore_file_of(&proc, whole, sizeof(whole) / sizeof(whole[0])));
	config.kcore = 1;
	config.proc = proc.path;
	record(&config, argv, &result);
	expect_segments(expected, sizeof(expected) / sizeof(expected[0]));
	expect_file("kcore_dir/kallsyms", kallsyms);
	expect_file("kcore_dir/modules", modules);
	remove_recording();
	temp_dir_remove(&proc);
}

static void expect_refusal(const struct sb_recorder_config *config, const char *why)
{
	char name[] = "true", *const argv[] = {name, NULL};
	struct sb_error err;

	assert_int_equal(sb_recorder_run(config, argv, NULL, &err), -sbe_unsupported);
	if (!strstr(err.text, why))
		fail_msg("'%s' is not in '%s'", why, err.text);
	assert_int_equal(access(output, F_OK), -1);
}

/* What is no kcore, or not that of this kernel, ends it before anything is recorded. */
static void no_kernel_code(void **state)
{
	static uint8_t bytes[page];
	struct sb_recorder_config config = usual();
	struct temp_dir proc;
	DIR *left;

	(void)state;
	make_proc(&proc);
	config.kcore = 1;
	config.proc = proc.path;
	expect_refusal(&config, "this kernel was built without it");
	free(temp_dir_write(&proc, "kcore", "nothing", 7));
	expect_refusal(&config, "it is no core file");
	free(kcore_file(&proc, one, bytes, sizeof(bytes)));
	expect_refusal(&config, "it does not hold what kallsyms says");
	temp_dir_remove(&proc);
	left = opendir(dir.path);
	assert_non_null(left);
	for (struct dirent *entry; (entry = readdir(left));)
		assert_int_equal(entry->d_name[0], '.');
	closedir(left);
}

/* A list that can be opened, and not be read, as a directory can, is not copied as an empty one. */
static void unreadable_modules(void **state)
{
	static uint8_t bytes[5 * page];
	const struct kcore_segment whole[] = {{text - page, bytes, sizeof(bytes)}};
	char name[] = "true", *const argv[] = {name, NULL}, path[4300];
	struct sb_recorder_config config = usual();
	struct temp_dir proc;
	struct sb_error err;

	(void)state;
	make_proc(&proc);
	free(kcore_file_of(&proc, whole, 1));
	snprintf(path, sizeof(path), "%s/modules", proc.path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	config.kcore = 1;
	config.proc = proc.path;
	assert_int_equal(sb_recorder_run(&config, argv, NULL, &err), -sbe_io);
	assert_string_equal(err.file, path);
	assert_string_equal(err.text, "reading it failed: Is a directory");
	assert_int_equal(access(output, F_OK), -1);
	assert_int_equal(rmdir(path), 0);
	temp_dir_remove(&proc);
}

/* ---- BPF programs ----------------------------------------------------------------------------- */

static int load_program(void)
{
	/* r0 = 0; exit */
	const struct bpf_insn insns[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attr.insns = (uintptr_t)insns;
	attr.insn_cnt = 2;
	attr.license = (uintptr_t) "GPL";
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

/* One file too few to look at a program: that is an error, and not "it is gone". */
static void too_few_files_for_programs(void **state)
{
	const struct sb_perfdata_write_config config = {.size = sizeof(config), .ncpus = 1};
	const int program = load_program();
	struct sb_perfdata_writer *writer;
	struct rlimit files, few;
	struct live_bpf bpf;
	struct sb_error err;
	int next;

	(void)state;
	if (program < 0)
		skip();
	live_bpf_init(&bpf);
	if (sb_perfdata_writer_open(&writer, output, &config, &err) < 0)
		fail_msg("%s", err.text);
	next = dup(0);
	assert_true(next >= 0);
	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	few = files;
	few.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(live_bpf_read(&bpf, writer, NULL, "/proc", &err), -sbe_io);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_string_equal(err.file, "a BPF program");
	assert_string_equal(err.text, strerror(EMFILE));
	live_bpf_fini(&bpf);
	sb_perfdata_writer_abort(writer);
	close(program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(named_twice),
	        cmocka_unit_test(wrong_configurations),
	        cmocka_unit_test(limit_of_files),
	        cmocka_unit_test(signal_before_the_command),
	        cmocka_unit_test(orders_without_end),
	        cmocka_unit_test(kernel_code),
	        cmocka_unit_test(no_kernel_code),
	        cmocka_unit_test(unreadable_modules),
	        cmocka_unit_test(too_few_files_for_programs),
	};

	may_count(NULL);
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
