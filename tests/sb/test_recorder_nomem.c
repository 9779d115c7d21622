/* test_recorder_nomem.c - capture when memory is short, or files are: the linker leads calls of the functions
 * below here (see CMakeLists.txt), one of which is made to fail, the first, the second, and so on, until none
 * is left. Then there is an error that says so and nothing is left behind; or all that there would be. What
 * had been recorded is kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include <sb/counter.h>
#include <sb/event.h>
#include <sb/perfdata.h>
#include <sb/recorder.h>
#include <sb/software_tracer.h>

#include "support/may_count.h"
#include "support/sleeper.h"
#include "support/sysfs_tree.h"
#include "support/temp_dir.h"

/* ---- What fails ------------------------------------------------------------------------------- */

/* The calls until one fails; zero: none does. */
static atomic_int until_failure;

static const char *failed; /* the last one that did */

static int fails(const char *name)
{
	if (atomic_load(&until_failure) <= 0 || atomic_fetch_sub(&until_failure, 1) != 1)
		return 0;
	errno = ENOMEM;
	failed = name;
	return 1;
}

#define WRAP(type, name, parameters, arguments, failed)                                                      \
	type __wrap_##name parameters;                                                                       \
	type __real_##name parameters;                                                                       \
	type __wrap_##name parameters                                                                        \
	{                                                                                                    \
		return fails(#name) ? (failed) : __real_##name arguments;                                    \
	}

WRAP(void *, malloc, (size_t size), (size), NULL)
WRAP(void *, calloc, (size_t count, size_t size), (count, size), NULL)
WRAP(void *, realloc, (void *old, size_t size), (old, size), NULL)
WRAP(void *, reallocarray, (void *old, size_t count, size_t size), (old, count, size), NULL)
WRAP(char *, strdup, (const char *string), (string), NULL)
WRAP(char *, strndup, (const char *string, size_t size), (string, size), NULL)
WRAP(char *, realpath, (const char *path, char *resolved), (path, resolved), NULL)
WRAP(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL)
WRAP(FILE *, fdopen, (int fd, const char *mode), (fd, mode), NULL)
WRAP(FILE *, open_memstream, (char **text, size_t *size), (text, size), NULL)
WRAP(DIR *, opendir, (const char *path), (path), NULL)
WRAP(ssize_t, getline, (char **line, size_t *size, FILE *file), (line, size, file), -1)
WRAP(size_t, fwrite, (const void *bytes, size_t size, size_t count, FILE *file), (bytes, size, count, file),
     0)
WRAP(int, fflush, (FILE * file), (file), EOF)
WRAP(int, rename, (const char *from, const char *to), (from, to), -1)
WRAP(void *, mmap, (void *address, size_t size, int protection, int flags, int fd, off_t offset),
     (address, size, protection, flags, fd, offset), MAP_FAILED)

WRAP(int, access, (const char *path, int mode), (path, mode), -1)
WRAP(int, stat, (const char *path, struct stat *info), (path, info), -1)
WRAP(int, scandir,
     (const char *path, struct dirent ***names, int (*wanted)(const struct dirent *),
      int (*order)(const struct dirent **, const struct dirent **)),
     (path, names, wanted, order), -1)

/* It is read nevertheless: the library does not free a tree of which nothing was read. */
FTSENT *__wrap_fts_read(FTS *tree);
FTSENT *__real_fts_read(FTS *tree);

FTSENT *__wrap_fts_read(FTS *tree)
{
	FTSENT *entry = __real_fts_read(tree);

	return fails("fts_read") ? NULL : entry;
}

int __wrap_open(const char *path, int flags, ...);
int __real_open(const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	if (fails("open"))
		return -1;
	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, mode_t);
	va_end(args);
	return __real_open(path, flags, mode);
}

int __wrap_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

int __wrap_asprintf(char **text, const char *format, ...)
{
	va_list args;
	int size;

	if (fails("asprintf"))
		return -1;
	va_start(args, format);
	size = vasprintf(text, format, args);
	va_end(args);
	return size;
}

/* Which call shall fail of those between arm() and disarm(); and whether there were as many. */
static int failure;
static int has_failed;

static void arm(void)
{
	atomic_store(&until_failure, failure);
}

static void disarm(void)
{
	has_failed = atomic_exchange(&until_failure, 0) <= 0 && failure;
}

/* Does @what again and again, each time with a later call that fails, until there is none: of the first ones,
 * each; of very many, some. How many times one failed. */
static int each_failure(void (*what)(void *context), void *context)
{
	enum { each = 1000, fraction = 16, most = 1 << 20 };
	int count = 0;

	for (failure = 1; failure < most; failure += failure < each ? 1 : failure / fraction) {
		what(context);
		if (!has_failed)
			break;
		count++;
	}
	assert_true(failure < most);
	failure = 0;
	return count;
}

/* ---- Events ----------------------------------------------------------------------------------- */

struct encoding {
	const char *event, *sysfs;
	enum sb_event_target target;
	int without; /* how it ends with enough memory */
};

static void encode(void *context)
{
	const struct encoding *encoding = context;
	struct perf_event_attr attr = {.size = sizeof(attr)}, before = attr;
	char *whole = NULL;
	struct sb_error err = {0};
	struct sb_event_perf perf = {
	        .attr = &attr, .fstr = &whole, .size = sizeof(perf), .sysfs = encoding->sysfs, .err = &err};
	struct sb_event_codes codes = {
	        .fstr = &whole, .size = sizeof(codes), .sysfs = encoding->sysfs, .err = &err};
	const int none = encoding->target == sb_event_target_none;
	int status;

	arm();
	status = sb_event_encode(encoding->event, sb_event_user, encoding->target,
	                         none ? (void *)&codes : (void *)&perf);
	disarm();
	if (!has_failed || status == encoding->without)
		assert_int_equal(status, encoding->without);
	else
		assert_int_equal(status, -sb_event_nomem);
	if (status < 0) {
		assert_true(err.text[0]);
		assert_memory_equal(&attr, &before, sizeof(attr));
		assert_null(whole);
		assert_null(codes.codes);
	}
	free(whole);
	free(codes.codes);
}

static void events(void **state)
{
	static const enum sb_event_target targets[] = {sb_event_target_none, sb_event_target_perf,
	                                               sb_event_target_perf_ext};
	static const char *const strings[] = {"page-faults:u",
	                                      "cpu-clock",
	                                      "software/config=1/u",
	                                      "skl::INST_RETIRED:ANY_P",
	                                      "no-such-event",
	                                      "intel_pt/cyc/u",
	                                      "uncore_imc_0/one-core,filter=1/"};
	struct temp_dir dir;
	char *sysfs;
	int count = 0;

	(void)state;
	temp_dir_make(&dir);
	sysfs = sysfs_tree_make(&dir, SOURCE_DIR "/tests/data/sysfs/skylake");
	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		for (size_t k = 0; k < sizeof(targets) / sizeof(targets[0]); k++) {
			struct encoding encoding = {
			        .event = strings[i], .sysfs = sysfs, .target = targets[k]};
			struct perf_event_attr attr = {.size = sizeof(attr)};
			struct sb_event_perf perf = {.attr = &attr, .size = sizeof(perf), .sysfs = sysfs};
			struct sb_event_codes codes = {.size = sizeof(codes), .sysfs = sysfs};

			encoding.without = sb_event_encode(strings[i], sb_event_user, targets[k],
			                                   k ? (void *)&perf : (void *)&codes);
			free(codes.codes);
			count += each_failure(encode, &encoding);
			encode(&encoding);
		}
	assert_true(count > 20);
	free(sysfs);
	temp_dir_remove(&dir);
}

/* ---- Counters --------------------------------------------------------------------------------- */

static void count_faults(void *context)
{
	const pid_t pid = *(const pid_t *)context;
	struct sb_error err = {0};
	uint64_t value;
	int counter, status = 0;

	arm();
	counter = sb_counter_allocate("page-faults:u", sb_counter_process, sb_counter_descendants, -1, &err);
	if (counter >= 0)
		status = sb_counter_attach(counter, pid, &err);
	disarm();
	if (counter < 0) {
		assert_true(has_failed);
		assert_true(counter == -sb_counter_no_memory || counter == -sb_counter_invalid);
		assert_true(err.text[0]);
		return;
	}
	if (status < 0) {
		assert_true(has_failed);
		assert_int_equal(status, -sb_counter_no_memory);
		assert_int_equal(sb_counter_detach(counter, pid, NULL), -sb_counter_no_process);
	} else {
		assert_int_equal(sb_counter_start(counter), 0);
		assert_int_equal(sb_counter_read(counter, &value, NULL, NULL), 0);
		assert_int_equal(sb_counter_stop(counter), 0);
	}
	assert_int_equal(sb_counter_release(counter), 0);
}

static void counters(void **state)
{
	pid_t pid = start_sleeper();

	(void)state;
	assert_true(each_failure(count_faults, &pid) > 5);
	end_sleeper(pid);
}

/* ---- Whether there is Intel PT ---------------------------------------------------------------- */

struct looking {
	const char *sysfs;
	int expected, has_failed;
};

static void look_for_pt(void *context)
{
	struct looking *looking = context;
	int status;

	arm();
	status = sb_recorder_has_pt(looking->sysfs);
	disarm();
	looking->has_failed |= status == -sbe_nomem;
	if (status != looking->expected && !(has_failed && status == -sbe_nomem))
		fail_msg("%d when %s failed", status, has_failed ? failed : "nothing");
}

/* "There is none" is never said because of a shortage. */
static void whether_there_is_pt(void **state)
{
	struct temp_dir dir;
	struct looking looking = {.expected = 1};
	char *sysfs;

	(void)state;
	temp_dir_make(&dir);
	sysfs = sysfs_tree_make(&dir, SOURCE_DIR "/tests/data/sysfs/skylake");
	looking.sysfs = sysfs;
	assert_true(each_failure(look_for_pt, &looking) > 0);
	assert_true(looking.has_failed);
	looking = (struct looking){.sysfs = "/nonexistent"};
	each_failure(look_for_pt, &looking);
	assert_true(looking.has_failed);
	free(sysfs);
	temp_dir_remove(&dir);
}

/* ---- Recordings ------------------------------------------------------------------------------- */

struct recording {
	struct temp_dir dir, kernel;
	char path[4096];
	struct sb_recorder_config config;
	char *const *command;
	unsigned int expected; /* records of the state */
	int quit;              /* where orders are given */
	int nkept;             /* recordings that were not whole, and were kept */
	int has_told;          /* of one, by its name */
	int nrings;            /* that could not be mapped, and were told of as such */
};

static int count_fds(void)
{
	DIR *dir = __real_opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* How many records there are of what was before. */
static unsigned int state_of(const char *path)
{
	struct sb_perfdata *perfdata;
	struct sb_perfdata_cursor cursor;
	struct sb_record record;
	struct sb_error err;
	unsigned int count = 0;
	int status;

	if (sb_perfdata_open(&perfdata, path, &err) < 0)
		fail_msg("%s: %s", path, err.text);
	sb_perfdata_begin(perfdata, &cursor);
	while ((status = sb_perfdata_next(&cursor, &record, &err)) > 0 &&
	       record.type != SB_RECORD_FINISHED_INIT)
		count += record.type == PERF_RECORD_MMAP2 || record.type == PERF_RECORD_COMM ||
		         record.type == PERF_RECORD_FORK || record.type == PERF_RECORD_NAMESPACES;
	assert_true(status >= 0);
	sb_perfdata_close(perfdata);
	return count;
}

static int exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static void expect_nothing(struct recording *recording)
{
	DIR *dir = __real_opendir(recording->dir.path);
	struct dirent *entry;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			fail_msg("%s is left", entry->d_name);
	closedir(dir);
}

static void note(void *context, const char *text)
{
	struct recording *recording = context;
	char kept[4200];

	snprintf(kept, sizeof(kept), "is kept, and reads as an interrupted recording: %s.interrupted",
	         recording->path);
	recording->has_told += strstr(text, kept) != NULL;
}

/* What had begun is not thrown away; what had not, is. */
static void expect_kept(struct recording *recording)
{
	char kept[4200];

	snprintf(kept, sizeof(kept), "%s.interrupted", recording->path);
	assert_int_equal(exists(kept), recording->has_told);
	if (!recording->has_told)
		return;
	if (state_of(kept) < recording->expected)
		fail_msg("less of what was before is kept when %s failed", failed);
	recording->nkept++;
	unlink(kept);
}

static void record(void *context)
{
	struct recording *recording = context;
	struct sb_error err = {0};
	struct sb_recorder_result result;
	const int before = count_fds();
	int status;

	recording->has_told = 0;
	assert_int_equal(write(recording->quit, "quit\n", 5), 5);
	arm();
	status = sb_recorder_run(&recording->config, recording->command, &result, &err);
	disarm();
	assert_int_equal(count_fds(), before);
	if (status < 0) {
		if (!has_failed)
			fail_msg("%s", err.text);
		assert_int_equal(err.code, status);
		if (!err.text[0])
			fail_msg("an error without a word when %s failed", failed);
		if (!strcmp(failed, "mmap") && strstr(err.text, "a ring of"))
			recording->nrings +=
			        status == -sbe_nomem && strstr(err.text, "64 KiB cannot be had for CPU");
		assert_false(exists(recording->path));
		expect_kept(recording);
	} else {
		const unsigned int count = state_of(recording->path);

		if (count < recording->expected)
			fail_msg("%u records of what was before, not %u, when %s failed", count,
			         recording->expected, has_failed ? failed : "nothing");
		if (!recording->expected)
			recording->expected = count;
		unlink(recording->path);
	}
	expect_nothing(recording);
}

/* What the recorder reads of the kernel: the own one's symbols would take most of the time. */
static void make_kernel(struct recording *recording)
{
	static const struct {
		const char *name, *text;
	} files[] = {
	        {"kallsyms", "ffffffff81000000 T _text\nffffffff81000000 T _stext\n"
	                     "ffffffff81e00000 T _etext\n"},
	        {"modules", "one 4096 0 - Live 0xffffffffc0000000\ntwo 8192 0 - Live 0xffffffffc0002000\n"},
	        {"cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nstepping\t: 4\n\n"},
	};

	temp_dir_make(&recording->kernel);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		free(temp_dir_write(&recording->kernel, files[i].name, files[i].text, strlen(files[i].text)));
	recording->config.proc = recording->kernel.path;
}

static void record_each(struct recording *recording)
{
	int orders[2], count;

	temp_dir_make(&recording->dir);
	make_kernel(recording);
	snprintf(recording->path, sizeof(recording->path), "%s/recording", recording->dir.path);
	recording->config.size = sizeof(recording->config);
	recording->config.output = recording->path;
	assert_int_equal(pipe(orders), 0);
	recording->config.control_fd = orders[0];
	recording->quit = orders[1];
	recording->config.ring_size = 1 << 16;
	recording->config.note = note;
	recording->config.context = recording;
	record(recording);
	assert_true(recording->expected > 0);
	count = each_failure(record, recording);
	print_message("%d failures, %d recordings that had begun and were kept\n", count, recording->nkept);
	record(recording);
	assert_true(recording->nkept > 0);
	assert_true(recording->nrings > 0);
	close(orders[0]);
	close(orders[1]);
	temp_dir_remove(&recording->kernel);
	temp_dir_remove(&recording->dir);
}

static void of_a_command(void **state)
{
	char name[] = "true", *const argv[] = {name, NULL};
	struct recording recording = {.command = argv};

	(void)state;
	record_each(&recording);
	/* No command is left. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void of_a_process(void **state)
{
	pid_t pid = start_sleeper();
	struct recording recording = {.config = {.pid = &pid, .npids = 1}};

	(void)state;
	record_each(&recording);
	end_sleeper(pid);
}

/* ---- In software ------------------------------------------------------------------------------ */

static void trace(struct recording *recording)
{
	const struct sb_software_tracer_config config = {
	        .size = sizeof(config), .ncpus = 1, .output = recording->path};
	struct sb_software_tracer_result result;
	struct sb_error err = {0};
	const int before = count_fds();
	int status;

	arm();
	status = sb_software_trace(&config, recording->command, &result, &err);
	disarm();
	assert_int_equal(count_fds(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(exists(recording->path), status == 0);
	if (status < 0) {
		if (!has_failed || err.code != status || !err.text[0])
			fail_msg("%d, '%s' when %s failed", status, err.text,
			         has_failed ? failed : "nothing");
		return;
	}
	assert_int_equal(result.exit_status, 0);
	assert_true(result.ninsn > 1000);
	if (!recording->expected)
		recording->expected = state_of(recording->path);
	assert_int_equal(state_of(recording->path), recording->expected);
	unlink(recording->path);
}

/* A recording takes a while: of the calls, ever fewer are tried. */
static void in_software(void **state)
{
	enum { each = 16, fraction = 4 };
	char name[] = "true", *const argv[] = {name, NULL};
	struct recording recording = {.command = argv};
	int count = 0;

	(void)state;
	temp_dir_make(&recording.dir);
	snprintf(recording.path, sizeof(recording.path), "%s/recording", recording.dir.path);
	trace(&recording);
	has_failed = 1;
	for (failure = 1; has_failed; failure += failure < each ? 1 : failure / fraction) {
		trace(&recording);
		expect_nothing(&recording);
		count++;
	}
	failure = 0;
	print_message("%d failures in software\n", count - 1);
	assert_true(count > each);
	temp_dir_remove(&recording.dir);
}

/* ---- Not permitted ---------------------------------------------------------------------------- */

/* The sentence holds what perf_event_paranoid says, or that this cannot be read; never a guess. */
static int has_seen;

static void refused(void *context)
{
	char name[] = "true", *const argv[] = {name, NULL};
	const char *event = "cpu-clock:k";
	const struct sb_recorder_config config = {.size = sizeof(config),
	                                          .output = context,
	                                          .event = &event,
	                                          .nevents = 1,
	                                          .ring_size = 1 << 16,
	                                          .control_fd = -1};
	struct sb_error err = {0};
	int status;

	arm();
	status = sb_recorder_run(&config, argv, NULL, &err);
	disarm();
	if (status >= 0 || !err.text[0] ||
	    (strstr(err.text, "perf_event_paranoid is") && !strstr(err.text, "is 2;")) ||
	    (!has_failed && !strstr(err.text, "perf_event_paranoid is 2;")))
		_exit(1);
	has_seen |= strstr(err.text, "perf_event_paranoid cannot be read (Cannot allocate memory)") != NULL;
}

static void not_permitted(void **state)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	struct temp_dir dir;
	int level = 0, status;
	pid_t pid;

	(void)state;
	if (file && fscanf(file, "%d", &level) != 1)
		level = 0;
	if (file)
		fclose(file);
	if (getuid() || level != 2)
		skip();
	temp_dir_make(&dir);
	assert_int_equal(chown(dir.path, 65534, 65534), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		char output[4200];

		snprintf(output, sizeof(output), "%s/recording", dir.path);
		if (setgid(65534) < 0 || setuid(65534) < 0 || each_failure(refused, output) < 10)
			_exit(2);
		_exit(has_seen ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	temp_dir_remove(&dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(whether_there_is_pt),
	        cmocka_unit_test(events),
	        cmocka_unit_test(counters),
	        cmocka_unit_test(of_a_command),
	        cmocka_unit_test(of_a_process),
	        cmocka_unit_test(in_software),
	        cmocka_unit_test(not_permitted),
	};

	return cmocka_run_group_tests(tests, may_count, NULL);
}
