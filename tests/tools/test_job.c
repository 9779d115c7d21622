/* Job files: what each key means, and that every mistake is told with its place and a way out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "job/job.h"
#include "support/temp_dir.h"

static int read_text(const char *text, size_t size, struct job *job, char *message)
{
	struct temp_dir dir;
	struct sb_error err = {0};
	char whole[1024];
	size_t prefix;
	char *path;
	int code;

	temp_dir_make(&dir);
	path = temp_dir_write(&dir, "j.yaml", text, size);
	code = job_read(job, path, NULL, &err);
	message[0] = '\0';
	if (code) {
		/* Only the file's own name: the directory is another one every time. */
		sb_error_string(&err, whole, sizeof(whole));
		prefix = strlen(dir.path) + 1;
		assert_memory_equal(whole, dir.path, prefix - 1);
		snprintf(message, 1024, "%s", whole + prefix);
	}
	free(path);
	temp_dir_remove(&dir);
	return code;
}

static void assert_wrong(const char *text, const char *expected)
{
	struct job job, empty;
	char message[1024];

	assert_int_equal(read_text(text, strlen(text), &job, message), -sbe_format);
	assert_string_equal(message, expected);
	memset(&empty, 0, sizeof(empty));
	assert_memory_equal(&job, &empty, sizeof(job));
}

static void read_good(const char *text, struct job *job)
{
	char message[1024];

	if (read_text(text, strlen(text), job, message))
		fail_msg("%s", message);
}

#define HEAD "version: 1\nrecording: perf.data\n"

static void every_key_is_taken(void **state)
{
	struct job job;

	(void)state;
	read_good("version: 1\n"
	          "recording: /r/perf.data\n"
	          "roots: [/a, \"/b c\", [/upper, /lower]]\n"
	          "host_root: false\n"
	          "container_roots: {web: /c, 0123456789ab: [/u, /l]}\n"
	          "build_id_dirs: [/ids]\n"
	          "debuginfod: true\n"
	          "bundle: /bundle\n"
	          "cpu: [0, 2-4]\n"
	          "pid: [1234]\n"
	          "container: [web, \"0123*\"]\n"
	          "cgroup: [/system.slice/*]\n"
	          "comm: [\"so?t\"]\n"
	          "time: {from: 483.295535467, to: 99}\n"
	          "jobs: 4\n"
	          "symbols: true\n"
	          "demangle: false\n"
	          "strict: [overflow, no-binary]\n"
	          "sinks:\n"
	          "  - {name: summary, with: {functions: [3, 4]}}\n"
	          "  - {name: insn, file: /out.tsv}\n",
	          &job);
	assert_string_equal(job.recording, "/r/perf.data");
	assert_int_equal(job.files.roots.count, 3);
	assert_string_equal(job.files.roots.root[0].layer.value[0], "/a");
	assert_string_equal(job.files.roots.root[1].layer.value[0], "/b c");
	assert_int_equal(job.files.roots.root[1].layer.count, 1);
	assert_int_equal(job.files.roots.root[2].layer.count, 2);
	assert_string_equal(job.files.roots.root[2].layer.value[0], "/upper");
	assert_string_equal(job.files.roots.root[2].layer.value[1], "/lower");
	assert_null(job.files.roots.root[2].container);
	assert_true(job.files.no_host_root);
	assert_int_equal(job.files.container_roots.count, 2);
	assert_string_equal(job.files.container_roots.root[0].container, "web");
	assert_string_equal(job.files.container_roots.root[0].layer.value[0], "/c");
	assert_int_equal(job.files.container_roots.root[1].layer.count, 2);
	assert_int_equal(job.files.build_id_dir.count, 1);
	assert_string_equal(job.files.build_id_dir.value[0], "/ids");
	assert_true(job.files.debuginfod);
	assert_string_equal(job.files.bundle, "/bundle");
	assert_int_equal(job.filter.cpu.count, 4);
	assert_int_equal(job.filter.cpu.value[0], 0);
	assert_int_equal(job.filter.cpu.value[1], 2);
	assert_int_equal(job.filter.cpu.value[3], 4);
	assert_int_equal(job.filter.pid.count, 1);
	assert_int_equal(job.filter.pid.value[0], 1234);
	assert_int_equal(job.filter.container.count, 2);
	assert_string_equal(job.filter.container.value[0], "web");
	assert_string_equal(job.filter.container.value[1], "0123*");
	assert_int_equal(job.filter.cgroup.count, 1);
	assert_string_equal(job.filter.cgroup.value[0], "/system.slice/*");
	assert_int_equal(job.filter.comm.count, 1);
	assert_string_equal(job.filter.comm.value[0], "so?t");
	assert_int_equal(job.filter.from.unit, job_time_ns);
	assert_int_equal(job.filter.from.value, 483295535467);
	assert_int_equal(job.filter.to.unit, job_time_tsc);
	assert_int_equal(job.filter.to.value, 99);
	assert_int_equal(job.jobs, 4);
	assert_true(job.symbols);
	assert_int_equal(job.strict, 1u << sb_gap_overflow | 1u << sb_gap_no_binary);
	assert_true(job.no_demangle);
	assert_int_equal(job.nsinks, 2);
	assert_ptr_equal(job.sink[0].type, &sink_summary);
	assert_null(job.sink[0].file);
	assert_int_equal(job.sink[0].nsettings, 2);
	assert_string_equal(job.sink[0].setting[0].option->name, "functions");
	assert_string_equal(job.sink[0].setting[1].value, "4");
	assert_ptr_equal(job.sink[1].type, &sink_insn);
	assert_string_equal(job.sink[1].file, "/out.tsv");
	job_free(&job);
}

static void what_is_left_out_is_the_default(void **state)
{
	struct job job;

	(void)state;
	read_good("version: 1\nrecording: /r\n", &job);
	assert_int_equal(job.files.roots.count + job.filter.cpu.count + job.filter.pid.count + job.nsinks +
	                         job.jobs,
	                 0);
	assert_int_equal(job.filter.container.count + job.filter.cgroup.count + job.filter.comm.count, 0);
	assert_false(job.files.no_host_root);
	assert_false(job.symbols);
	assert_int_equal(job.strict, 0);
	assert_false(job.no_demangle);
	assert_int_equal(job.filter.from.unit, job_time_open);
	assert_int_equal(job.filter.to.unit, job_time_open);
	job_free(&job);
}

static void paths_are_relative_to_the_job(void **state)
{
	struct temp_dir dir;
	struct sb_error err;
	struct job job;
	char *path, *expected;
	static const char text[] =
	        HEAD "roots: [root]\nsinks: [{name: block, file: out}, {name: insn, file: '-'}]\n";

	(void)state;
	temp_dir_make(&dir);
	path = temp_dir_write(&dir, "j.yaml", text, sizeof(text) - 1);
	assert_int_equal(job_read(&job, path, NULL, &err), 0);
	expected = temp_dir_path(&dir, "perf.data");
	assert_string_equal(job.recording, expected);
	free(expected);
	expected = temp_dir_path(&dir, "root");
	assert_string_equal(job.files.roots.root[0].layer.value[0], expected);
	free(expected);
	expected = temp_dir_path(&dir, "out");
	assert_string_equal(job.sink[0].file, expected);
	free(expected);
	assert_string_equal(job.sink[1].file, "-");
	job_free(&job);
	free(path);
	temp_dir_remove(&dir);
}

static void unknown_keys_suggest_the_nearest(void **state)
{
	(void)state;
	assert_wrong(HEAD "rots: [/]\n", "j.yaml:3:1: a job has no key 'rots'; did you mean 'roots'?");
	assert_wrong(HEAD "frobnicate: 1\n", "j.yaml:3:1: a job has no key 'frobnicate'");
	assert_wrong(HEAD "time: {form: 1}\n",
	             "j.yaml:3:8: a span of time has no key 'form'; did you mean 'from'?");
	assert_wrong(HEAD "sinks:\n  - name: insn\n    flie: x\n",
	             "j.yaml:5:5: a sink has no key 'flie'; did you mean 'file'?");
	assert_wrong(HEAD "sinks: [{with: {function: 1}, name: summary}]\n",
	             "j.yaml:3:17: the sink summary has no option 'function'; did you mean 'functions'?");
	assert_wrong(HEAD "sinks: [{name: gap, with: {by: thread}}]\n",
	             "j.yaml:3:28: the sink gap has no options, nor 'by'");
	assert_wrong(HEAD "sinks: [{name: isn}]\n", "j.yaml:3:9: unknown sink 'isn'; did you mean 'insn'?");
}

static void wrong_types_say_what_was_expected_and_found(void **state)
{
	(void)state;
	assert_wrong("[1, 2]\n", "j.yaml:1:1: expected a job (a mapping), found a list");
	assert_wrong("version: 1\nrecording: [a]\n",
	             "j.yaml:2:12: expected the name of one recording, found a list");
	assert_wrong("version: 1\nrecording:\n",
	             "j.yaml:2:11: expected the name of one recording, found nothing");
	assert_wrong(HEAD "roots: /\n", "j.yaml:3:8: expected a list of directories, found text: write [/]");
	assert_wrong(HEAD "roots: [{a: b}]\n",
	             "j.yaml:3:9: expected the name of a directory, found a mapping");
	assert_wrong(HEAD "roots: [[/a, [/b]]]\n",
	             "j.yaml:3:14: expected the name of a directory, found a list");
	assert_wrong(HEAD "container_roots: [/a]\n",
	             "j.yaml:3:18: expected a mapping of containers to directories, found a list");
	assert_wrong(
	        HEAD "container_roots: {web: []}\n",
	        "j.yaml:3:24: expected a list of layers, found an empty list; to have the default, leave "
	        "the key out");
	assert_wrong(HEAD "debuginfod: 1\n", "j.yaml:3:13: expected true or false, found '1'");
	assert_wrong(HEAD "bundle: [b]\n", "j.yaml:3:9: expected the name of a directory, found a list");
	assert_wrong(HEAD "roots: []\n", "j.yaml:3:8: expected a list of directories, found an empty list; "
	                                 "to have the default, leave the key out");
	assert_wrong(HEAD "host_root: yes\n", "j.yaml:3:12: expected true or false, found 'yes'");
	assert_wrong(HEAD "symbols: 1\n", "j.yaml:3:10: expected true or false, found '1'");
	assert_wrong(
	        HEAD "strict: yes\n",
	        "j.yaml:3:9: expected true, false, or a list of reasons such as [overflow], found 'yes'");
	assert_wrong(HEAD "strict: [no-binry]\n",
	             "j.yaml:3:10: no gap has the reason 'no-binry'; did you mean 'no-binary'?");
	assert_wrong(HEAD "host_root: \"true\"\n",
	             "j.yaml:3:12: expected true or false, found 'true' in quotes");
	assert_wrong(HEAD "cpu: 3\n", "j.yaml:3:6: expected a list of CPU numbers, found text: write [3]");
	assert_wrong(HEAD "cpu: [one]\n", "j.yaml:3:7: expected a number, found 'one'");
	assert_wrong(HEAD "cpu: [0, {a: b}]\n", "j.yaml:3:10: expected a number or a range, found a mapping");
	assert_wrong(HEAD "container: web\n",
	             "j.yaml:3:12: expected a list of containers, found text: write [web]");
	assert_wrong(HEAD "cgroup: [\"\"]\n", "j.yaml:3:10: expected a name or a pattern, found nothing");
	assert_wrong(HEAD "comm: []\n",
	             "j.yaml:3:7: expected a list of patterns of commands, found an empty list; to have the "
	             "default, leave the key out");
	assert_wrong(HEAD "pid: [99999999999]\n",
	             "j.yaml:3:7: expected a number from 0 to 2147483647, found '99999999999'");
	assert_wrong(HEAD "time: 5\n", "j.yaml:3:7: expected a span of time (a mapping), found text");
	assert_wrong(HEAD "time: {from: 1.2.3}\n",
	             "j.yaml:3:14: expected seconds with up to nine decimals, found '1.2.3'");
	assert_wrong(HEAD "jobs: 0\n", "j.yaml:3:7: expected a number from 1 to 1024, found '0'");
	assert_wrong(HEAD "jobs: -1\n", "j.yaml:3:7: expected a number, found '-1'");
	assert_wrong(HEAD "jobs: [2]\n", "j.yaml:3:7: expected a number of threads, found a list");
	assert_wrong(HEAD "sinks: [summary]\n",
	             "j.yaml:3:9: expected a sink (a mapping), found text: write {name: ...}");
	assert_wrong(HEAD "sinks: [{name: summary, with: 7}]\n",
	             "j.yaml:3:31: expected options of the sink (a mapping), found text");
	assert_wrong(HEAD "sinks: [{name: summary, with: {functions: many}}]\n",
	             "j.yaml:3:43: functions: expected a number, found 'many'");
	assert_wrong(HEAD "sinks: [{name: summary, with: {functions: {a: b}}}]\n",
	             "j.yaml:3:43: expected a value, found a mapping");
	assert_wrong(HEAD "sinks: [{file: x}]\n", "j.yaml:3:9: a sink needs the key 'name'");
}

static void version_and_recording_are_required_once(void **state)
{
	(void)state;
	assert_wrong("recording: x\n", "j.yaml:1:1: a job needs the key 'version'");
	assert_wrong("version: 2\nrecording: x\n", "j.yaml:1:10: expected version 1, found '2'");
	assert_wrong("version: 1\n", "j.yaml:1:1: a job needs the key 'recording', or 'recordings'");
	assert_wrong(HEAD "recording: y\n", "j.yaml:3:1: the key 'recording' is here a second time");
}

static void what_is_no_yaml_is_told(void **state)
{
	struct job job;
	char message[1024];

	(void)state;
	assert_wrong("", "j.yaml:1:1: expected a job (a mapping), found nothing");
	assert_wrong(
	        "version: 1\nrecording: [a\n",
	        "j.yaml:3:1: not YAML: while parsing a flow sequence, did not find expected ',' or ']' (since line 2): each [ "
	        "needs its ], and a value that begins with [ needs quotes");
	assert_wrong(HEAD "---\nversion: 1\n", "j.yaml:4:1: expected one document, found a second one");
	assert_wrong("version: 1\nrecording: \"a\\0b\"\n",
	             "j.yaml:2:12: expected the name of one recording, found text with a zero byte in it");
	assert_int_equal(read_text("version: \xff\xfe", 11, &job, message), -sbe_format);
	assert_string_equal(message, "j.yaml: offset 0x9: expected UTF-8 text: invalid leading UTF-8 octet");
}

/* Whatever an alias points to, a job has no place where it could go round in circles. */
static void aliases_do_not_recurse(void **state)
{
	struct job job;

	(void)state;
	assert_wrong(HEAD "roots: &r [/a, *r]\n",
	             "j.yaml:3:8: expected the name of a directory, found a list");
	assert_wrong("&j\nversion: 1\nrecording: x\ntime: *j\n",
	             "j.yaml:2:1: a span of time has no key 'version'");
	read_good("version: 1\nrecording: &p /x\nroots: [*p, *p]\n", &job);
	assert_string_equal(job.files.roots.root[1].layer.value[0], "/x");
	job_free(&job);
}

static void lists_are_bounded(void **state)
{
	struct job job;

	(void)state;
	assert_wrong(HEAD "pid: [0-2147483647]\n", "j.yaml:3:7: more than 65536 are too many");
	read_good(HEAD "pid: [1-65536]\n", &job);
	assert_int_equal(job.filter.pid.count, 65536);
	job_free(&job);
}

/* Every beginning of a job gives a job or an error, and loses no memory (with the sanitizer). */
static void cut_jobs_are_harmless(void **state)
{
	static const char text[] =
	        HEAD "roots: [/a, \"b\"]\ntime: {from: 1.5, to: 7}\nsinks:\n- name: insn\n  file: x\n";
	char message[1024];
	struct job job;

	(void)state;
	for (size_t size = 0; size < sizeof(text); size++)
		if (!read_text(text, size, &job, message))
			job_free(&job);
		else
			assert_true(message[0] != '\0');
}

static void the_command_line_wins(void **state)
{
	struct job job, line = {0};
	struct option_error error;

	(void)state;
	read_good(HEAD "roots: [/a]\ncontainer_roots: {a: /x, b: /y}\nbuild_id_dirs: [/j]\nbundle: /b\n"
	               "cpu: [1]\npid: [7]\ntime: {from: 5}\njobs: 9\nsinks: [{name: insn}]\n"
	               "container: [web]\ncgroup: [/a]\ncomm: [sh]\n",
	          &job);
	assert_int_equal(file_option_root(&line, "/b", &error), 0);
	assert_int_equal(file_option_container_root(&line, "web=/u:/l\\:1", &error), 0);
	assert_int_equal(file_option_overlay(&line, "/u:/l", &error), 0);
	assert_int_equal(file_option_build_id_dir(&line, "/i", &error), 0);
	assert_int_equal(file_option_bundle(&line, "/over", &error), 0);
	assert_int_equal(job_add_text(&line.filter.container, "db", &error), 0);
	assert_int_equal(job_add_text(&line.filter.container, "cache", &error), 0);
	assert_int_equal(job_add_text(&line.filter.comm, "ls", &error), 0);
	assert_int_equal(job_add_text(&line.filter.comm, "", &error), -1);
	assert_string_equal(error.why, "the pattern is empty");
	assert_int_equal(job_list_add(&line.filter.pid, "8,9", &error), 0);
	assert_int_equal(job_time_set(&line.filter.to, "6", &error), 0);
	assert_int_equal(job_set_jobs(&line, "8", &error), 0);
	assert_int_equal(job_add_setting(&line, "functions", "1", &error), -1);
	assert_string_equal(error.why, "which sink's? It belongs to the --sink before it");
	assert_int_equal(job_add_sink(&line, "block", "f", &error), 0);
	job_override(&job, &line);
	assert_int_equal(job.files.roots.count, 2);
	assert_string_equal(job.files.roots.root[0].layer.value[0], "/b");
	assert_string_equal(job.files.roots.root[1].layer.value[1], "/l");
	assert_int_equal(job.files.container_roots.count, 1);
	assert_string_equal(job.files.container_roots.root[0].container, "web");
	assert_string_equal(job.files.container_roots.root[0].layer.value[1], "/l:1");
	assert_string_equal(job.files.build_id_dir.value[0], "/i");
	assert_string_equal(job.files.bundle, "/over");
	assert_int_equal(job.filter.cpu.value[0], 1);
	assert_int_equal(job.filter.pid.count, 2);
	assert_int_equal(job.filter.container.count, 2);
	assert_string_equal(job.filter.container.value[1], "cache");
	assert_string_equal(job.filter.cgroup.value[0], "/a");
	assert_string_equal(job.filter.comm.value[0], "ls");
	assert_int_equal(job.filter.from.unit, job_time_open);
	assert_int_equal(job.filter.to.value, 6);
	assert_int_equal(job.jobs, 8);
	assert_ptr_equal(job.sink[0].type, &sink_block);
	job_free(&job);
}

/* At a shift of 0 and a factor of 10 a count is ten nanoseconds, from zero on. */
static void seconds_become_counts_within_the_span(void **state)
{
	static const struct sb_clock clock = {.time_shift = 0, .time_mult = 10, .time_zero = 0};
	static const struct sb_clock none = {0};
	struct option_error error;
	struct sb_error err;
	struct job job = {0};
	uint64_t from, to;

	(void)state;
	assert_int_equal(job_span(&job.filter, &clock, job.recording, &from, &to, &err), 0);
	assert_int_equal(from, 0);
	assert_int_equal(to, 0);
	assert_int_equal(job_time_set(&job.filter.from, "0.000001001", &error), 0);
	assert_int_equal(job_time_set(&job.filter.to, "0.000002009", &error), 0);
	assert_int_equal(job_span(&job.filter, &clock, job.recording, &from, &to, &err), 0);
	assert_int_equal(from, 101); /* 1010 ns is the first not before 1001 ns */
	assert_int_equal(to, 200);   /* 2000 ns is the last not after 2009 ns */
	assert_int_equal(job_span(&job.filter, &none, job.recording, &from, &to, &err), -sbe_not_found);
	assert_int_equal(job_time_set(&job.filter.from, "", &error), 0);
	assert_int_equal(job_time_set(&job.filter.to, "77", &error), 0);
	assert_int_equal(job_span(&job.filter, &none, job.recording, &from, &to, &err), 0);
	assert_int_equal(from, 0);
	assert_int_equal(to, 77);
	assert_int_equal(job_time_set(&job.filter.from, "78", &error), 0);
	assert_int_equal(job_span(&job.filter, &none, job.recording, &from, &to, &err), -sbe_invalid);
}

/* What is included holds where the job itself says nothing; of two files, the later one wins. */
static void includes_give_defaults(void **state)
{
	static const char job_text[] =
	        "version: 1\ninclude: [one.yaml, sub/two.yaml]\nrecording: ${name}.data\n"
	        "variables: {name: job}\nhost_root: true\npid: [3]\n",
	                  one[] = "version: 1\nvariables: {name: one}\npid: [1]\ncpu: [1]\nhost_root: false\n"
	                          "recording: other\nkernel: {kcore: k, vmlinux: v}\nstrict: true\n",
	                  two[] = "version: 1\ncpu: [2]\nroots: [r]\nkernel: {kcore: k}\nstrict: false\n"
	                          "time: {from: 5}\n";
	struct temp_dir dir;
	struct sb_error err = {0};
	struct job job;
	char *path, *expected;

	(void)state;
	temp_dir_make(&dir);
	expected = temp_dir_path(&dir, "sub");
	assert_int_equal(mkdir(expected, 0777), 0);
	free(expected);
	free(temp_dir_write(&dir, "one.yaml", one, sizeof(one) - 1));
	free(temp_dir_write(&dir, "sub/two.yaml", two, sizeof(two) - 1));
	path = temp_dir_write(&dir, "j.yaml", job_text, sizeof(job_text) - 1);
	if (job_read(&job, path, NULL, &err))
		fail_msg("%s: %s", err.file, err.text);
	expected = temp_dir_path(&dir, "job.data");
	assert_string_equal(job.recording, expected);
	free(expected);
	expected = temp_dir_path(&dir, "sub/r");
	assert_string_equal(job.files.roots.root[0].layer.value[0], expected);
	free(expected);
	expected = temp_dir_path(&dir, "sub/k");
	assert_string_equal(job.file[job_kcore], expected);
	free(expected);
	expected = temp_dir_path(&dir, "v");
	assert_string_equal(job.file[job_vmlinux], expected);
	free(expected);
	assert_false(job.files.no_host_root);
	assert_int_equal(job.strict, 0);
	assert_int_equal(job.filter.pid.count, 1);
	assert_int_equal(job.filter.pid.value[0], 3);
	assert_int_equal(job.filter.cpu.value[0], 2);
	assert_int_equal(job.filter.from.value, 5);
	job_free(&job);
	free(path);
	temp_dir_remove(&dir);
}

static int read_with(const char *text, const char *const *set, struct job *job, struct sb_error *err)
{
	struct job_variables variables = {0};
	struct option_error error;
	struct temp_dir dir;
	char *path;
	int code;

	temp_dir_make(&dir);
	path = temp_dir_write(&dir, "j.yaml", text, strlen(text));
	for (; *set; set++)
		assert_int_equal(job_set_variable(&variables, *set, &error), 0);
	code = job_read(job, path, &variables, err);
	job_variables_free(&variables);
	free(path);
	temp_dir_remove(&dir);
	return code;
}

#define SET(...) ((const char *const[]){__VA_ARGS__, NULL})

static void variables_are_filled_in(void **state)
{
	static const char text[] =
	        "version: 1\nvariables: {a: x, b: \"${a}y\", n: 3}\nenvironment: [SB_TEST_ENV]\n"
	        "recording: /${b}/${SB_TEST_ENV}/$${a}/$a\njobs: ${n}\ncpu: [\"${n}\", \"1-${n}\"]\n";
	struct sb_error err = {0};
	struct job job;

	(void)state;
	setenv("SB_TEST_ENV", "e", 1);
	assert_int_equal(read_with(text, SET("n=4"), &job, &err), 0);
	assert_string_equal(job.recording, "/xy/e/${a}/$a");
	assert_int_equal(job.jobs, 4);
	assert_int_equal(job.filter.cpu.count, 5);
	job_free(&job);
	/* A value is taken as it is. */
	assert_int_equal(read_with(text, SET("a=${n}", "SB_TEST_ENV=set"), &job, &err), 0);
	assert_string_equal(job.recording, "/${n}y/set/${a}/$a");
	job_free(&job);
	unsetenv("SB_TEST_ENV");
	assert_int_equal(read_with(text, SET("n=4"), &job, &err), -sbe_format);
	assert_string_equal(err.text, "${SB_TEST_ENV} has no value: it is not in the environment");
	assert_int_equal(read_with(text, SET("SB_TEST_ENV=1", "bb=4", "a=1"), &job, &err), -sbe_invalid);
	assert_string_equal(err.text, "--set bb: the job has no such variable; did you mean 'b'?");
}

/* Text that doubles with every variable. */
static void variables_are_bounded(void **state)
{
	char text[4096] = "version: 1\nvariables:\n  v0: 0123456789\n";
	struct sb_error err = {0};
	struct job job;

	(void)state;
	for (int i = 1; i < 40; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "  v%d: ${v%d}${v%d}\n", i, i - 1,
		         i - 1);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "recording: ${v39}\n");
	assert_int_equal(read_with(text, SET("v0=x"), &job, &err), -sbe_format);
	assert_string_equal(err.text, "with its variables, it is longer than 65536 bytes");
}

static void the_example_is_a_job(void **state)
{
	struct sb_error err = {0};
	struct job job;

	(void)state;
	if (job_read(&job, SOURCE_DIR "/configs/example-replay.yaml", NULL, &err))
		fail_msg("%s: %s", err.file, err.text);
	assert_int_equal(job.nsinks, 2);
	job_free(&job);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_key_is_taken),
	        cmocka_unit_test(what_is_left_out_is_the_default),
	        cmocka_unit_test(paths_are_relative_to_the_job),
	        cmocka_unit_test(unknown_keys_suggest_the_nearest),
	        cmocka_unit_test(wrong_types_say_what_was_expected_and_found),
	        cmocka_unit_test(version_and_recording_are_required_once),
	        cmocka_unit_test(what_is_no_yaml_is_told),
	        cmocka_unit_test(aliases_do_not_recurse),
	        cmocka_unit_test(lists_are_bounded),
	        cmocka_unit_test(cut_jobs_are_harmless),
	        cmocka_unit_test(the_command_line_wins),
	        cmocka_unit_test(seconds_become_counts_within_the_span),
	        cmocka_unit_test(includes_give_defaults),
	        cmocka_unit_test(variables_are_filled_in),
	        cmocka_unit_test(variables_are_bounded),
	        cmocka_unit_test(the_example_is_a_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
