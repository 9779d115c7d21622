/* Mistakes in jobs: each is told with its file, its line and column, and a sentence that helps. One row for
 * each; what a row's job needs to be right but for its mistake is there: a recording, a root, a job to
 * include. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "job/job.h"
#include "support/temp_dir.h"

#define HEAD "version: 1\nrecording: a.data\n"

struct mistake {
	const char *job;  /* the file j.yaml */
	const char *told; /* without the directory */
};

static const struct mistake mistakes[] = {
        /* Keys. */
        {HEAD "rots: [root]\n", "j.yaml:3:1: a job has no key 'rots'; did you mean 'roots'?"},
        {HEAD "frobnicate: 1\n", "j.yaml:3:1: a job has no key 'frobnicate'"},
        {HEAD "jobs: 1\njobs: 2\n", "j.yaml:4:1: the key 'jobs' is here a second time"},
        {"recording: a.data\n", "j.yaml:1:1: a job needs the key 'version'"},
        {"version: 2\nrecording: a.data\n", "j.yaml:1:10: expected version 1, found '2'"},
        {"version: 1\n", "j.yaml:1:1: a job needs the key 'recording', or 'recordings'"},
        {HEAD "recordings: [b.data]\n", "j.yaml:3:13: there is a 'recording' already: name all of them here"},
        {HEAD "limits: {memroy: 1G}\n", "j.yaml:3:10: limits has no key 'memroy'; did you mean 'memory'?"},
        {HEAD "decode: {cpumodel: 6/85/4}\n",
         "j.yaml:3:10: decode options has no key 'cpumodel'; did you mean 'cpu_model'?"},
        {HEAD "sinks:\n  - name: insn\n    filter: {cmm: [ls]}\n",
         "j.yaml:5:14: a filter has no key 'cmm'; did you mean 'comm'?"},

        {HEAD "cluster: {queue: batch}\n", "j.yaml:3:11: a cluster has no key 'queue'"},
        {HEAD "cluster: {kubernetes: {imgae: a}}\n",
         "j.yaml:3:24: what Kubernetes needs has no key 'imgae'; did you mean 'image'?"},

        /* Types and values. */
        {"not a mapping\n", "j.yaml:1:1: expected a job (a mapping), found text"},
        {HEAD "roots: root\n", "j.yaml:3:8: expected a list of directories, found text: write [root]"},
        {HEAD "cpu: []\n", "j.yaml:3:6: expected a list of CPU numbers, found an empty list; to have the "
                           "default, leave the key out"},
        {HEAD "pid:\n  - 12\n  - twelve\n", "j.yaml:5:5: expected a number, found 'twelve'"},
        {HEAD "cpu: [5-2]\n", "j.yaml:3:7: the range 5-2 is upside down"},
        {HEAD "host_root: yes\n", "j.yaml:3:12: expected true or false, found 'yes'"},
        {HEAD "jobs: many\n", "j.yaml:3:7: expected a number, found 'many'"},
        {HEAD "jobs: 5000\n", "j.yaml:3:7: expected a number from 1 to 1024, found '5000'"},
        {HEAD "limits: {memory: 4GB}\n", "j.yaml:3:18: expected a size such as 512M or 4G, found '4GB'"},
        {HEAD "limits: {disk: 99999999999G}\n",
         "j.yaml:3:16: expected a number from 1 to 17179869183, found '99999999999'"},
        {HEAD "cluster: {time: 90}\n", "j.yaml:3:17: expected a time such as 30m or 4h, found '90'"},
        {HEAD "cluster: {time: 4hours}\n", "j.yaml:3:17: expected a time such as 30m or 4h, found '4hours'"},
        {HEAD "cluster: {throttle: 0}\n", "j.yaml:3:21: expected a number from 1 to 100000, found '0'"},
        {HEAD "cluster: {partition: \"a b\"}\n",
         "j.yaml:3:22: expected the name of a partition, found 'a b'"},
        {HEAD "cluster: {options: [--qos=low, exclusive]}\n",
         "j.yaml:3:32: expected an option of sbatch such as --qos=low in one line, found 'exclusive'"},
        {HEAD "cluster: {kubernetes: {claim: traces}}\n", "j.yaml:3:31: 'claim' and 'mount' need each other"},
        {HEAD "on_error: skipp\n", "j.yaml:3:11: on_error cannot be 'skipp'; did you mean 'skip'?"},
        {HEAD "on_error: explode\n", "j.yaml:3:11: expected one of fail, skip, found 'explode'"},
        {HEAD "strict: [overflwo]\n",
         "j.yaml:3:10: no gap has the reason 'overflwo'; did you mean 'overflow'?"},
        {HEAD "strict: [-no-sync, overflow]\n",
         "j.yaml:3:20: 'overflow': reasons are named or, with a minus, taken out of all: not both"},
        {HEAD "decode: {errata: [none, bdm70]}\n", "j.yaml:3:25: 'none' and 'bdm70' exclude each other"},
        {HEAD "decode: {switch_evidence: [trials, none]}\n",
         "j.yaml:3:36: 'trials' and 'none' exclude each other"},
        {HEAD "decode: {errata: [bdm71]}\n", "j.yaml:3:19: errata cannot be 'bdm71'; did you mean 'bdm70'?"},
        {HEAD "decode: {time_source: tcs}\n",
         "j.yaml:3:23: time_source cannot be 'tcs'; did you mean 'tsc'?"},
        {HEAD "decode: {switch_evidence: [adresses]}\n",
         "j.yaml:3:28: switch_evidence cannot be 'adresses'; did you mean 'addresses'?"},
        {HEAD "decode: {cpu_model: skylake}\n",
         "j.yaml:3:21: expected FAMILY/MODEL/STEPPING such as 6/85/4, found 'skylake'"},
        {HEAD "address: [0x401000]\n",
         "j.yaml:3:11: expected FROM-TO or FROM+SIZE such as 0x401000-0x402000, found '0x401000'"},
        {HEAD "address: [main]\n",
         "j.yaml:3:11: expected FROM-TO or FROM+SIZE such as 0x401000-0x402000, found 'main'"},
        {HEAD "address: [0x402000-0x401000]\n", "j.yaml:3:11: the range 0x402000-0x401000 is upside down"},
        {HEAD "time: {from: yesterday}\n",
         "j.yaml:3:14: expected a time stamp count, or seconds such as 483.295, found 'yesterday'"},
        {HEAD "time: {from: 12:30:01}\n",
         "j.yaml:3:14: expected a time stamp count, or seconds such as 483.295, found '12:30:01'"},
        {HEAD "time: {from: 2.5, to: 1.5}\n", "j.yaml:3:7: the span of time ends before it begins"},
        {HEAD "roots: [root\n",
         "j.yaml:4:1: not YAML: while parsing a flow sequence, did not find expected "
         "',' or ']' (since line 3): each [ needs its ], and a value that begins with [ "
         "needs quotes"},
        {"", "j.yaml:1:1: expected a job (a mapping), found nothing"},
        {"# to do\n", "j.yaml:1:1: expected a job (a mapping), found nothing"},
        {HEAD "---\njobs: 1\n", "j.yaml:4:1: expected one document, found a second one"},
        {HEAD "roots:\n\t- root\n",
         "j.yaml:4:1: not YAML: while scanning for the next token, found character that cannot start any token: "
         "tabs do not indent in YAML: write blanks"},
        {HEAD "sinks:\n  - name: insn\n\tfile: x\n",
         "j.yaml:5:1: not YAML: while scanning a plain scalar, found a tab character that violates indentation: "
         "tabs do not indent in YAML: write blanks"},
        {HEAD "# \303\244\nroots: [\303\244, @sh]\n",
         "j.yaml:4:12: not YAML: while scanning for the next token, found character that cannot start any "
         "token: a value that begins with @ needs quotes"},
        {HEAD "comm: [*sh]\n",
         "j.yaml:3:8: not YAML: found undefined alias: a value that begins with * needs quotes"},
        {HEAD "comm: [*]\n",
         "j.yaml:3:9: not YAML: while scanning an alias, did not find expected alphabetic "
         "or numeric character: a value that begins with * needs quotes"},
        {HEAD "<<: {jobs: 1}\n",
         "j.yaml:3:1: mappings are not merged with '<<' here: a job takes keys of other "
         "files with 'include'"},
        {"version: 1\nrecording: a: b.data\n",
         "j.yaml:2:13: not YAML: mapping values are not allowed in this context: a value with ': ' in it needs "
         "quotes, a key needs ': ' behind it, and keys of one level begin in the same column; look at the line "
         "above as well"},
        {"version: 1\nrecording:a.data\njobs: 1\n",
         "j.yaml:3:1: not YAML: while scanning a simple key, could not find expected ':' (since line 2): a key "
         "needs ': ' behind it"},
        {HEAD "sinks:\n  - {name: insn, file: {recording}.tsv}\n",
         "j.yaml:4:35: not YAML: while parsing a flow mapping, did not find expected ',' or '}': each { needs "
         "its }, and a value that begins with { needs quotes"},
        {HEAD "roots: [\"root]\n",
         "j.yaml:4:1: not YAML: while scanning a quoted scalar, found unexpected end of "
         "stream (since line 3): the quotes are not closed"},
        {HEAD "sinks:\n   - name: insn\n  - name: block\n",
         "j.yaml:5:3: not YAML: while parsing a block mapping, did not find expected key: keys of one level "
         "begin in the same column, and each ] and } needs its [ and {"},
        {HEAD "sinks:\n  - name: insn\n   file: x\n",
         "j.yaml:5:4: not YAML: while parsing a block collection, did not find expected '-' indicator (since "
         "line 4): entries of one list begin in the same column, and their keys do"},
        {"version: 1\nrecording: [a.data]\n",
         "j.yaml:2:12: expected the name of one recording, found a list"},
        {"version: 1\nrecordings: a.data\n",
         "j.yaml:2:13: expected a list of recordings, found text: write [a.data]"},
        {"version: \"1\"\nrecording: a.data\n", "j.yaml:1:10: expected version 1, found '1' in quotes"},
        {HEAD "host_root: \"true\"\n", "j.yaml:3:12: expected true or false, found 'true' in quotes"},
        {HEAD "comm: \"*sh\"\n",
         "j.yaml:3:7: expected a list of patterns of commands, found text: write [\"*sh\"]"},
        {HEAD "pid: 12\n", "j.yaml:3:6: expected a list of process numbers, found text: write [12]"},
        {HEAD "pid: [12, 13-]\n", "j.yaml:3:11: expected a number or a range such as 0-3, found '13-'"},
        {HEAD "strict: overflow\n",
         "j.yaml:3:9: expected true, false, or a list of reasons such as [overflow], "
         "found 'overflow'"},

        /* Variables and includes. */
        {"version: 1\nvariables: {name: a}\nrecording: ${nmae}.data\n",
         "j.yaml:3:12: ${nmae} has no value; did you mean ${name}?"},
        {"version: 1\nvariables: {name: }\nrecording: ${name}.data\n",
         "j.yaml:3:12: ${name} has no value: set it with --set name=VALUE"},
        {"version: 1\nrecording: ${PATH}.data\n",
         "j.yaml:2:12: ${PATH} is a variable of the environment: to use it, list it under 'environment'"},
        {"version: 1\nrecording: ${name.data\n",
         "j.yaml:2:12: expected ${NAME}, found '${name.data'; to have it as it is, write $${"},
        {HEAD "variables: {7up: a}\n", "j.yaml:3:13: expected a name of letters, digits and _, found '7up'"},
        {HEAD "include: [other.yaml]\n",
         "j.yaml:3:11: DIR/other.yaml: cannot be opened: No such file or directory"},
        {HEAD "include: [.]\n", "j.yaml:3:11: DIR/.: expected a job, found no regular file"},
        {HEAD "include: [broken.yaml]\n", "broken.yaml:2:1: a job has no key 'cpus'; did you mean 'cpu'?"},
        {HEAD "include: [j.yaml]\n", "j.yaml:3:11: files include each other more than 8 deep"},

        /* Files. */
        {"version: 1\nrecording: c.data\n",
         "j.yaml:2:12: the recording DIR/c.data is not there: No such file or directory"},
        {"version: 1\nrecording: root\n", "j.yaml:2:12: the recording DIR/root is a directory without a "
                                          "recording: neither 'data' (perf record) nor 'cpu0.pt'"},
        {"version: 1\nrecordings: [a.data, \"x*.data\"]\n", "j.yaml:2:22: no file matches DIR/x*.data"},
        {"version: 1\nrecordings: [\"a*.data\", a.data, a.data]\n",
         "j.yaml:2:33: the recording DIR/a.data is here a second time"},
        {HEAD "roots:\n  - root\n  - [rot, root]\n",
         "j.yaml:5:6: the root DIR/rot is not there: No such file or directory"},
        {HEAD "roots: [a.data]\n", "j.yaml:3:9: the root DIR/a.data is no directory: Not a directory"},
        {HEAD "kernel: {kallsyms: ks}\n",
         "j.yaml:3:20: the kallsyms DIR/ks is not there: No such file or directory"},
        {HEAD "include: [missing.yaml]\n",
         "missing.yaml:3:3: the directory DIR/nowhere/ is not there: No such file or directory"},

        /* Fetching. */
        {"version: 1\nrecording: s3://b/a.data\n",
         "j.yaml:2:12: s3://b/a.data is a URL, and the job does not say how to get it: with the key 'fetch'"},
        {"version: 1\nrecordings: [a.data, \"s3://b/a b\"]\nfetch: {size: [c, \"{url}\"], range: [c, \"{url}\", "
         "\"{offset}+{length}\"]}\n",
         "j.yaml:2:22: the URL s3://b/a b has a blank or a control character in it"},
        {HEAD "fetch: {sizes: [c]}\n",
         "j.yaml:3:9: what fetches recordings has no key 'sizes'; did you mean 'size'?"},
        {HEAD "fetch: {size: [c, \"{url}\"]}\n", "j.yaml:3:8: what fetches recordings needs the key 'range'"},
        {HEAD "fetch: {size: \"curl {url}\"}\n",
         "j.yaml:3:15: expected a command (a list of words), found text"},
        {HEAD "fetch: {size: [c, \"-I{ulr}\"]}\n",
         "j.yaml:3:19: 'size' cannot name {ulr}; did you mean {url}?"},
        {HEAD "fetch:\n  size: [c, \"{url}\", \"{offset}\"]\n",
         "j.yaml:4:22: 'size' cannot name {offset}; for an opening brace, write {{"},
        {HEAD "fetch: {size: [c]}\n", "j.yaml:3:15: 'size' does not name {url}: which recording?"},
        {HEAD "fetch: {range: [c, \"{url}\", \"{length}\"]}\n",
         "j.yaml:3:16: 'range' does not name {offset}: bytes from where on?"},
        {HEAD "fetch: {range: [c, \"{url}\", \"{offset}-\"]}\n",
         "j.yaml:3:16: 'range' names neither {length} nor {last}: bytes up to where?"},
        {HEAD "fetch: {range: [./get, \"{url}\", \"{offset}-{last}\"], size: [\"c\", \"{url}\"]}\n",
         "j.yaml:3:17: the command DIR/./get cannot be run: No such file or directory"},
        {HEAD "fetch: {size: [c, \"{url}\"], range: [c, \"{url}\", \"{offset}-{last}\"], piece: 1K}\n",
         "j.yaml:3:76: expected a piece of 4K to 1G, found 1024 bytes"},
        {HEAD "fetch: {timeout: 5}\n", "j.yaml:3:18: expected a time such as 30m or 4h, found '5'"},

        /* Sinks. */
        {HEAD "sinks: [{name: isn}]\n", "j.yaml:3:9: unknown sink 'isn'; did you mean 'insn'?"},
        {HEAD "sinks: insn\n", "j.yaml:3:8: expected a list of sinks, found text: write [{name: ...}]"},
        {HEAD "sinks: [insn]\n", "j.yaml:3:9: expected a sink (a mapping), found text: write {name: ...}"},
        {HEAD "sinks:\n  name: insn\n",
         "j.yaml:4:3: expected a list of sinks, found a mapping: a sink begins "
         "with '- ' before its first key"},
        {HEAD "sinks: [{file: x}]\n", "j.yaml:3:9: a sink needs the key 'name'"},
        {HEAD "container_roots: {a: /, b: /, a: /}\n", "j.yaml:3:31: the key 'a' is here a second time"},
        {HEAD "variables: {a: b, a: c}\n", "j.yaml:3:19: the key 'a' is here a second time"},
        {HEAD "sinks: [{name: tally, with: {by: line, by: block}}]\n",
         "j.yaml:3:40: the key 'by' is here a second time"},
        {HEAD "sinks: [{name: summary, with: {function: 3}}]\n",
         "j.yaml:3:32: the sink summary has no option 'function'; did you mean 'functions'?"},
        {HEAD "sinks: [{name: summary, with: {functions: all}}]\n",
         "j.yaml:3:43: functions: expected a number, found 'all'"},
        {HEAD "sinks:\n  - {name: insn, file: x}\n  - {name: block, file: x}\n",
         "j.yaml:5:5: two sinks cannot both write to DIR/x"},
        {"version: 1\nrecordings: [a.data, b.data]\nsinks: [{name: insn, file: x}]\n",
         "j.yaml:3:9: DIR/x would be written for DIR/a.data and for DIR/b.data: put {recording}, {directory} "
         "or {number} into its name"},
        {HEAD "sinks: [{name: insn, file: a.data}]\n",
         "j.yaml:3:9: DIR/a.data is a recording: it would be overwritten"},
        {HEAD "sinks: [{name: insn, file: ./a.data}]\n",
         "j.yaml:3:9: DIR/./a.data is a recording: it would be overwritten"},
        {HEAD "sinks: [{name: insn, file: link}]\n",
         "j.yaml:3:9: DIR/link is a recording: it would be overwritten"},
        {"version: 1\nrecording: made\nsinks: [{name: insn, file: made/data}]\n",
         "j.yaml:3:9: DIR/made/data is a recording: it would be overwritten"},
        {HEAD "sinks: [{name: insn, file: j.yaml}]\n",
         "j.yaml:3:9: DIR/j.yaml is a file of this job: it would be overwritten"},
        {HEAD "kernel: {kallsyms: b.data}\nsinks: [{name: insn, file: b.data}]\n",
         "j.yaml:4:9: DIR/b.data is the kallsyms: it would be overwritten"},
        {HEAD "run_record: a.data\nsinks: [{name: insn, file: x}]\n",
         "j.yaml:3:13: DIR/a.data is a recording: it would be overwritten"},
        {HEAD "run_record: x\nsinks: [{name: insn, file: ./x}]\n",
         "j.yaml:3:13: the run record and a sink cannot both write to DIR/x: give one of them another name"},
        {HEAD "sinks: [{name: insn, file: j.run.json}]\n",
         "j.yaml:3:9: the run record and a sink cannot both write to DIR/j.run.json: give one of them another "
         "name"},
        {HEAD "sinks: [{name: insn, file: x}, {name: block, file: root/../x}]\n",
         "j.yaml:3:32: two sinks cannot both write to DIR/root/../x"},
        {HEAD "sinks: [{name: insn, file: root}]\n",
         "j.yaml:3:9: DIR/root is a directory: expected the name of a file"},
        {HEAD "sinks: [{name: insn, file: out/x}]\n",
         "j.yaml:3:9: the directory DIR/out/ is not there: No such file or directory"},
        {HEAD "cpu: [0-3]\nsinks: [{name: insn, filter: {cpu: [4]}}]\n",
         "j.yaml:4:9: this sink is given nothing: the job's filter leaves out the CPU 4"},
        {HEAD "time: {to: 7}\nsinks: [{name: insn, filter: {time: {from: 8}}}]\n",
         "j.yaml:4:9: this sink is given nothing: its span of time is outside of the job's"},
        {HEAD "sinks: [{name: summary, filter: {pid: [1]}}]\n",
         "j.yaml:3:9: the sink summary tells of all that is replayed: filter the job instead"},
};

static void write_file(const struct temp_dir *dir, const char *name, const char *text)
{
	free(temp_dir_write(dir, name, text, strlen(text)));
}

static void fill_directory(const struct temp_dir *dir)
{
	char *root = temp_dir_path(dir, "root");

	assert_int_equal(mkdir(root, 0777), 0);
	free(root);
	root = temp_dir_path(dir, "made");
	assert_int_equal(mkdir(root, 0777), 0);
	free(root);
	write_file(dir, "made/data", "a");
	root = temp_dir_path(dir, "link");
	assert_int_equal(symlink("a.data", root), 0);
	free(root);
	write_file(dir, "a.data", "a");
	write_file(dir, "b.data", "b");
	write_file(dir, "broken.yaml", "version: 1\ncpus: [1]\n");
	write_file(dir, "missing.yaml", "version: 1\nsinks:\n- {name: insn, file: nowhere/x}\n");
}

/* What is wrong with @text, "DIR" where the directory's path was. */
static void complain(const struct temp_dir *dir, const char *text, char *told, size_t size)
{
	const size_t prefix = strlen(dir->path);
	char *path = temp_dir_write(dir, "j.yaml", text, strlen(text));
	struct sb_error err = {0};
	char whole[1024], *at = whole;
	struct job job;
	int code = job_read(&job, path, NULL, &err);

	if (!code) {
		code = job_check(&job, &err);
		job_free(&job);
	}
	free(path);
	snprintf(told, size, "nothing");
	if (!code)
		return;
	sb_error_string(&err, whole, sizeof(whole));
	/* The first name is a place. */
	if (!strncmp(at, dir->path, prefix))
		at += prefix + 1;
	told[0] = '\0';
	while (*at && strlen(told) + 4 < size) {
		const bool here = !strncmp(at, dir->path, prefix);
		const size_t used = strlen(told);

		if (here)
			strcpy(told + used, "DIR");
		else
			snprintf(told + used, size - used, "%c", *at);
		at += here ? prefix : 1;
	}
}

static void every_mistake_is_told_where_it_is(void **state)
{
	const size_t count = sizeof(mistakes) / sizeof(mistakes[0]);
	struct temp_dir dir;
	char told[1024];
	int wrong = 0;

	(void)state;
	assert_true(count >= 30);
	temp_dir_make(&dir);
	fill_directory(&dir);
	for (size_t i = 0; i < count; i++) {
		complain(&dir, mistakes[i].job, told, sizeof(told));
		if (!strcmp(told, mistakes[i].told))
			continue;
		print_error("%s-- expected: %s\n-- found:    %s\n", mistakes[i].job, mistakes[i].told, told);
		wrong++;
	}
	temp_dir_remove(&dir);
	assert_int_equal(wrong, 0);
}

/* Without its mistake, such a job is fine. */
static void what_is_right_is_not_complained_about(void **state)
{
	struct temp_dir dir;
	char told[1024];

	(void)state;
	temp_dir_make(&dir);
	fill_directory(&dir);
	complain(
	        &dir,
	        "version: 1\nvariables: {r: root, both: \"${r}\", escaped: \"$${r}\"}\nenvironment: [PATH]\n"
	        "recordings: [\"*.data\", a.data, \"s3://b/a[1].data\"]\nroots: [\"${both}\"]\ncpu: [0-3]\ntime: {from: 1, to: 2.5}\n"
	        "fetch: {size: [c, \"{{a}{url}\"], range: [c, \"{url}\", \"{offset}-{last}\", \"{version}\"]}\n"
	        "limits: {memory: 4G, disk: 100}\non_error: skip\nstrict: [-no-sync]\n"
	        "cluster: {time: 4h, memory: 2G, cpus: 2, throttle: 8, tasks: 100, partition: \"a,b\", account: c,\n"
	        "  options: [--exclusive], kubernetes: {image: \"r.example/i:1\", claim: c, mount: /m}}\n"
	        "decode: {cpu_model: 6/85/4, errata: [none], time_source: tsc, switch_evidence: [page_tables]}\n"
	        "address: [0x1-0x2, 0x10+16]\nfunction: [main]\n"
	        "sinks:\n- {name: insn, file: \"{recording}-{number}.insn\", filter: {cpu: [3, 4]}}\n"
	        "- {name: summary}\n- {name: gap, file: /dev/null}\n- {name: block, file: /dev/null}\n",
	        told, sizeof(told));
	assert_string_equal(told, "nothing");
	temp_dir_remove(&dir);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_mistake_is_told_where_it_is),
	        cmocka_unit_test(what_is_right_is_not_complained_about),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
