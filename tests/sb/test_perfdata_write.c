/* Writing a perf.data: our reader gives back what was written, and the installed perf takes the file as
 * one of its own, without a word on stderr. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <sb/perfdata.h>
#include <sb/perfdata_write.h>

#include "support/perf_tool.h"
#include "support/temp_dir.h"

struct fixture {
	struct temp_dir dir;
	char *path;
	struct sb_error err;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	temp_dir_make(&f->dir);
	f->path = temp_dir_path(&f->dir, "perf.data");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	temp_dir_remove(&f->dir);
	free(f->path);
	free(f);
	return 0;
}

static struct sb_perfdata_write_config usual_config(uint32_t ncpus)
{
	return (struct sb_perfdata_write_config){
	        .size = sizeof(struct sb_perfdata_write_config),
	        .ncpus = ncpus,
	        .pt_pmu_type = 8,
	        .pt_config = 0x300e601,
	        .family = 6,
	        .model = 85,
	        .stepping = 4,
	        .cpudesc = "A CPU of ours",
	        .hostname = "host",
	        .osrelease = "6.1.0",
	        .cmdline = "sbtrace record --software -- true",
	        .clock = {31, 1022611261, 7000000000},
	        .tsc_ctc_num = 168,
	        .tsc_ctc_den = 2,
	        .max_nonturbo_ratio = 21,
	        .user_only = 1,
	};
}

static struct sb_perfdata_writer *open_writer(struct fixture *f,
                                              const struct sb_perfdata_write_config *config)
{
	struct sb_perfdata_writer *writer;

	if (sb_perfdata_writer_open(&writer, f->path, config, &f->err) < 0)
		fail_msg("%s", f->err.text);
	return writer;
}

/* A PSB, so that perf finds a packet to begin with; padded by the writer. */
static const uint8_t trace[] = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
                                0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x23, 0x00};

static const struct sb_write_mmap2 usual_map = {
        .pid = 20,
        .tid = 20,
        .addr = 0x401000,
        .len = 0x2000,
        .pgoff = 0x1000,
        .maj = 254,
        .min = 1,
        .ino = 4242,
        .prot = 5,
        .flags = 2,
        .filename = "/usr/bin/a name with blanks",
};

static struct sb_write_sample at(uint64_t time, uint32_t cpu, int32_t pid)
{
	return (struct sb_write_sample){pid, pid, time, cpu};
}

/* One record of each kind for process 20 on CPU 0 and the last CPU. */
static void write_records(struct sb_perfdata_writer *w, uint32_t last_cpu)
{
	const struct sb_write_sample s0 = at(8000000000, 0, 0), s1 = at(8000000100, 0, 20);
	const struct sb_write_sample s2 = at(8000000200, last_cpu, 20), s3 = at(8000000300, last_cpu, 20);

	assert_int_equal(sb_write_comm(w, NULL, 20, 20, "before", 0, NULL), 0);
	assert_int_equal(sb_write_mmap2(w, NULL, &usual_map, NULL), 0);
	assert_int_equal(sb_write_finished_init(w, NULL), 0);
	assert_int_equal(sb_write_itrace_start(w, &s0, 0, 0, NULL), 0);
	assert_int_equal(sb_write_switch(w, &s0, 1, 0, 20, 20, NULL), 0);
	assert_int_equal(sb_write_switch(w, &s1, 0, 0, 0, 0, NULL), 0);
	assert_int_equal(sb_write_comm(w, &s1, 20, 20, "a name that is too long", 1, NULL), 0);
	assert_int_equal(sb_write_mmap2(w, &s1, &usual_map, NULL), 0);
	assert_int_equal(sb_write_fork(w, &s1, 21, 20, 21, 20, NULL), 0);
	assert_int_equal(sb_write_finished_round(w, NULL), 0);
	assert_int_equal(sb_write_switch(w, &s2, 1, 1, 0, 0, NULL), 0);
	assert_int_equal(sb_write_exit(w, &s3, 20, 1, 20, 1, NULL), 0);
	assert_int_equal(sb_write_aux(w, &s3, 0, sizeof(trace), 0, NULL), 0);
	assert_int_equal(sb_write_auxtrace(w, last_cpu, 77, trace, sizeof(trace), NULL), 0);
	assert_int_equal(sb_write_auxtrace(w, last_cpu, 78, trace, 16, NULL), 0);
	assert_int_equal(sb_write_finished_round(w, NULL), 0);
}

static void write_file(struct fixture *f, const struct sb_perfdata_write_config *config)
{
	struct sb_perfdata_writer *writer = open_writer(f, config);

	write_records(writer, config->ncpus - 1);
	if (sb_perfdata_writer_finish(writer, &f->err) < 0)
		fail_msg("%s", f->err.text);
}

static struct sb_perfdata *open_file(struct fixture *f)
{
	struct sb_perfdata *perfdata;

	if (sb_perfdata_open(&perfdata, f->path, &f->err) < 0)
		fail_msg("%s", f->err.text);
	assert_null(sb_perfdata_damage(perfdata));
	return perfdata;
}

static struct sb_record next(struct sb_perfdata_cursor *cursor, uint32_t type)
{
	struct sb_record record;

	assert_int_equal(sb_perfdata_next(cursor, &record, NULL), 1);
	assert_string_equal(sb_record_name(record.type), sb_record_name(type));
	return record;
}

static void check_sample(const struct sb_record *record, uint64_t time, uint32_t cpu, int32_t pid,
                         uint64_t id)
{
	assert_int_equal(record->sample.time, time);
	assert_int_equal(record->sample.cpu, cpu);
	assert_int_equal(record->sample.pid, pid);
	assert_int_equal(record->sample.tid, pid);
	assert_int_equal(record->sample.id, id);
}

static void check_map(const struct sb_record *r)
{
	assert_int_equal(r->u.mmap.pid, 20);
	assert_int_equal(r->u.mmap.addr, 0x401000);
	assert_int_equal(r->u.mmap.len, 0x2000);
	assert_int_equal(r->u.mmap.pgoff, 0x1000);
	assert_int_equal(r->u.mmap.maj, 254);
	assert_int_equal(r->u.mmap.min, 1);
	assert_int_equal(r->u.mmap.ino, 4242);
	assert_int_equal(r->u.mmap.prot, 5);
	assert_int_equal(r->u.mmap.flags, 2);
	assert_string_equal(r->u.mmap.filename, usual_map.filename);
}

static void check_task(const struct sb_record *r, int32_t pid, int32_t ppid, uint64_t time)
{
	assert_int_equal(r->u.task.pid, pid);
	assert_int_equal(r->u.task.tid, pid);
	assert_int_equal(r->u.task.ppid, ppid);
	assert_int_equal(r->u.task.ptid, ppid);
	assert_int_equal(r->u.task.time, time);
}

static void check_preamble(struct sb_perfdata_cursor *cursor)
{
	struct sb_record r;

	next(cursor, SB_RECORD_AUXTRACE_INFO);
	r = next(cursor, SB_RECORD_TIME_CONV);
	assert_int_equal(r.u.time_conv.time_mult, 1022611261);
	assert_true(r.u.time_conv.cap_user_time_zero);
	r = next(cursor, SB_RECORD_ID_INDEX);
	assert_int_equal(r.u.id_index.nr, 4);
	next(cursor, SB_RECORD_THREAD_MAP);
	next(cursor, SB_RECORD_CPU_MAP);
	r = next(cursor, PERF_RECORD_COMM);
	assert_string_equal(r.u.comm.name, "before");
	check_sample(&r, 0, 0, 0, 0);
	r = next(cursor, PERF_RECORD_MMAP2);
	check_map(&r);
	next(cursor, SB_RECORD_FINISHED_INIT);
}

static void the_reader_gives_back_what_was_written(void **state)
{
	const struct sb_perfdata_write_config config = usual_config(2);
	struct fixture *f = *state;
	struct sb_perfdata_cursor cursor;
	struct sb_perfdata *perfdata;
	struct sb_record r;

	write_file(f, &config);
	perfdata = open_file(f);
	sb_perfdata_begin(perfdata, &cursor);
	check_preamble(&cursor);
	r = next(&cursor, PERF_RECORD_ITRACE_START);
	check_sample(&r, 8000000000, 0, 0, 101);
	r = next(&cursor, PERF_RECORD_SWITCH_CPU_WIDE);
	check_sample(&r, 8000000000, 0, 0, 201);
	assert_true(r.u.context_switch.out);
	assert_int_equal(r.u.context_switch.next_prev_pid, 20);
	r = next(&cursor, PERF_RECORD_SWITCH_CPU_WIDE);
	check_sample(&r, 8000000100, 0, 20, 201);
	assert_false(r.u.context_switch.out);
	r = next(&cursor, PERF_RECORD_COMM);
	assert_string_equal(r.u.comm.name, "a name that is ");
	assert_true(r.u.comm.exec);
	r = next(&cursor, PERF_RECORD_MMAP2);
	check_map(&r);
	r = next(&cursor, PERF_RECORD_FORK);
	check_task(&r, 21, 20, 8000000100);
	next(&cursor, SB_RECORD_FINISHED_ROUND);
	r = next(&cursor, PERF_RECORD_SWITCH_CPU_WIDE);
	check_sample(&r, 8000000200, 1, 20, 202);
	assert_true(r.u.context_switch.preempt);
	r = next(&cursor, PERF_RECORD_EXIT);
	check_task(&r, 20, 1, 8000000300);
	r = next(&cursor, PERF_RECORD_AUX);
	check_sample(&r, 8000000300, 1, 20, 102);
	assert_int_equal(r.u.aux.size, sizeof(trace));
	next(&cursor, SB_RECORD_AUXTRACE);
	next(&cursor, SB_RECORD_AUXTRACE);
	next(&cursor, SB_RECORD_FINISHED_ROUND);
	assert_int_equal(sb_perfdata_next(&cursor, &r, NULL), 0);
	sb_perfdata_close(perfdata);
}

#define CGROUP "/system.slice/docker-0123456789abcdef.scope"

static void write_cgroups(struct fixture *f, uint32_t ncpus)
{
	static const struct sb_namespace namespaces[8] = {{4, 10}, {4, 11}, {4, 12}, {4, 13},
	                                                  {4, 14}, {4, 15}, {4, 16}, {4, 17}};
	struct sb_perfdata_write_config config = usual_config(ncpus);
	const struct sb_write_sample s = at(8000000000, ncpus - 1, 20), nowhere = at(8000000000, ncpus, 20);
	struct sb_perfdata_writer *w;

	config.cgroups = 1;
	w = open_writer(f, &config);
	assert_int_equal(sb_write_namespaces(w, NULL, 1, 1, namespaces, 7, NULL), 0);
	assert_int_equal(sb_write_cgroup(w, NULL, 1, "/", NULL), 0);
	assert_int_equal(sb_write_finished_init(w, NULL), 0);
	/* A record has seven at most. */
	assert_int_equal(sb_write_namespaces(w, &s, 20, 21, namespaces, 8, NULL), 0);
	assert_int_equal(sb_write_cgroup(w, &s, 77, CGROUP, NULL), 0);
	assert_int_equal(sb_write_cgroup_sample(w, &s, 0x401000, 77, NULL), 0);
	assert_int_equal(sb_write_cgroup_sample(w, &nowhere, 0x401000, 77, NULL), -sbe_invalid);
	assert_int_equal(sb_write_cgroup_sample(w, NULL, 0x401000, 77, NULL), -sbe_invalid);
	assert_int_equal(sb_perfdata_writer_finish(w, &f->err), 0);
}

static void cgroups_and_namespaces_are_given_back(void **state)
{
	struct fixture *f = *state;
	struct sb_perfdata_cursor cursor;
	struct sb_perfdata *perfdata;
	struct sb_record r;

	write_cgroups(f, 2);
	perfdata = open_file(f);
	sb_perfdata_begin(perfdata, &cursor);
	next(&cursor, SB_RECORD_AUXTRACE_INFO);
	next(&cursor, SB_RECORD_TIME_CONV);
	r = next(&cursor, SB_RECORD_ID_INDEX);
	assert_int_equal(r.u.id_index.nr, 6);
	next(&cursor, SB_RECORD_THREAD_MAP);
	next(&cursor, SB_RECORD_CPU_MAP);
	r = next(&cursor, PERF_RECORD_NAMESPACES);
	assert_int_equal(r.u.namespaces.pid, 1);
	check_sample(&r, 0, 0, 0, 0);
	r = next(&cursor, PERF_RECORD_CGROUP);
	assert_string_equal(r.u.cgroup.path, "/");
	next(&cursor, SB_RECORD_FINISHED_INIT);
	r = next(&cursor, PERF_RECORD_NAMESPACES);
	assert_int_equal(r.u.namespaces.pid, 20);
	assert_int_equal(r.u.namespaces.tid, 21);
	assert_int_equal(r.u.namespaces.nr, 7);
	assert_int_equal(sb_record_namespace(&r, MNT_NS_INDEX).ino, 10 + MNT_NS_INDEX);
	assert_int_equal(sb_record_namespace(&r, MNT_NS_INDEX).dev, 4);
	check_sample(&r, 8000000000, 1, 20, 202);
	r = next(&cursor, PERF_RECORD_CGROUP);
	assert_int_equal(r.u.cgroup.id, 77);
	assert_string_equal(r.u.cgroup.path, CGROUP);
	r = next(&cursor, PERF_RECORD_SAMPLE);
	check_sample(&r, 8000000000, 1, 20, 302);
	assert_int_equal(r.u.sample.ip, 0x401000);
	assert_int_equal(r.u.sample.cgroup, 77);
	assert_int_equal(sb_perfdata_next(&cursor, &r, NULL), 0);
	sb_perfdata_close(perfdata);
}

/* What it shows of a sample, as its event says, and of a cgroup. */
static void perf_knows_the_cgroup_of_the_sample(void **state)
{
	static const uint32_t cpus[] = {1, 101, 600};
	struct fixture *f = *state;
	char *output, *complaints;

	if (!perf_is_installed())
		skip();
	for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
		write_cgroups(f, cpus[i]);
		output = perf_run("report --stdio -q -s cgroup", f->path, &complaints, NULL);
		if (!strstr(output, CGROUP))
			fail_msg("perf does not say \"" CGROUP "\" but\n%s%s", output, complaints);
		free(output);
		free(complaints);
	}
}

static void only_recordings_with_such_an_event_tell_cgroups(void **state)
{
	struct sb_perfdata_write_config config = usual_config(2);
	const struct sb_write_sample s = at(8000000000, 0, 20);
	struct fixture *f = *state;
	struct sb_perfdata_writer *w = open_writer(f, &config);

	assert_int_equal(sb_write_cgroup_sample(w, &s, 0x401000, 77, &f->err), -sbe_invalid);
	sb_perfdata_writer_abort(w);
	config.cgroups = 1;
	config.ncpus = 601;
	assert_int_equal(sb_perfdata_writer_open(&w, f->path, &config, &f->err), -sbe_invalid);
}

static void aux_data_are_padded_but_counted_as_given(void **state)
{
	static const uint8_t pad[8];
	const struct sb_perfdata_write_config config = usual_config(2);
	struct fixture *f = *state;
	const struct sb_aux_stream *stream;
	struct sb_perfdata *perfdata;
	size_t count;

	write_file(f, &config);
	perfdata = open_file(f);
	stream = sb_perfdata_streams(perfdata, &count);
	assert_int_equal(count, 1);
	assert_int_equal(stream->cpu, 1);
	assert_int_equal(stream->tid, -1);
	assert_int_equal(stream->idx, 1);
	assert_int_equal(stream->nchunks, 2);
	assert_int_equal(stream->chunk[0].size, 24);
	assert_int_equal(stream->chunk[0].reference, 77);
	assert_memory_equal(stream->chunk[0].bytes, trace, sizeof(trace));
	assert_memory_equal(stream->chunk[0].bytes + sizeof(trace), pad, 24 - sizeof(trace));
	assert_int_equal(stream->chunk[1].size, 16);
	assert_int_equal(stream->chunk[1].aux_offset, sizeof(trace));
	sb_perfdata_close(perfdata);
}

static void the_machine_is_described(void **state)
{
	struct sb_perfdata_write_config config = usual_config(3);
	struct fixture *f = *state;
	const struct sb_perfdata_info *info;
	struct sb_perfdata *perfdata;

	config.pt_config = 0xc02; /* TSC, CYC, no return compression */
	config.user_only = 0;
	write_file(f, &config);
	perfdata = open_file(f);
	info = sb_perfdata_info(perfdata);
	assert_true(info->vendor_intel);
	assert_int_equal(info->family, 6);
	assert_int_equal(info->model, 85);
	assert_int_equal(info->stepping, 4);
	assert_int_equal(info->ncpus, 3);
	assert_memory_equal(&info->clock.time_zero, &config.clock.time_zero, 8);
	assert_int_equal(info->clock.time_shift, 31);
	assert_int_equal(info->clock.time_mult, 1022611261);
	assert_true(info->has_pt);
	assert_int_equal(info->pt_pmu_type, 8);
	assert_int_equal(info->pt_config, 0xc02);
	assert_true(info->pt_tsc);
	assert_true(info->pt_cyc);
	assert_true(info->pt_noretcomp);
	assert_false(info->pt_mtc);
	assert_int_equal(info->tsc_ctc_num, 168);
	assert_int_equal(info->tsc_ctc_den, 2);
	assert_int_equal(info->max_nonturbo_ratio, 21);
	assert_false(info->user_only);
	assert_int_equal(info->have_sched_switch, 3);
	sb_perfdata_close(perfdata);
}

static unsigned int count_of(const struct perf_count *counts, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(counts[i].name, name))
			return counts[i].count;
	}
	return 0;
}

/* On 1, many (so many that the usual event ids would collide) and the most CPUs. */
static void perf_reads_it_without_a_word(void **state)
{
	static const uint32_t cpus[] = {1, 2, 256, 1000};
	static const char *const commands[] = {"script -D --no-itrace",
	                                       "script --no-itrace --show-switch-events",
	                                       "script --itrace=i0ns", "report --header-only", "evlist -v"};
	struct fixture *f = *state;

	if (!perf_is_installed())
		skip();
	for (size_t i = 0; i < 8; i++) {
		struct sb_perfdata_write_config config = usual_config(cpus[i / 2]);

		config.user_only = i % 2 == 0;
		write_file(f, &config);
		for (size_t k = 0; k < sizeof(commands) / sizeof(commands[0]); k++) {
			char *complaints, *output;
			int status;

			output = perf_run(commands[k], f->path, &complaints, &status);
			assert_string_equal(complaints, "");
			assert_int_equal(status, 0);
			free(complaints);
			free(output);
		}
	}
}

static void perf_counts_what_was_written(void **state)
{
	static const struct perf_count expected[] = {
	        {"AUXTRACE_INFO", 1}, {"TIME_CONV", 1}, {"ID_INDEX", 1},        {"THREAD_MAP", 1},
	        {"CPU_MAP", 1},       {"COMM", 2},      {"MMAP2", 2},           {"FINISHED_INIT", 1},
	        {"ITRACE_START", 1},  {"FORK", 1},      {"SWITCH_CPU_WIDE", 3}, {"EXIT", 1},
	        {"AUX", 1},           {"AUXTRACE", 2},  {"FINISHED_ROUND", 2},
	};
	const struct sb_perfdata_write_config config = usual_config(2);
	struct perf_count counts[64];
	struct fixture *f = *state;
	size_t n;

	if (!perf_is_installed())
		skip();
	write_file(f, &config);
	n = perf_count_records(f->path, counts, 64);
	assert_int_equal(n, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < n; i++)
		assert_int_equal(count_of(counts, n, expected[i].name), expected[i].count);
}

static void assert_says(const char *output, const char *line)
{
	if (!strstr(output, line))
		fail_msg("perf does not say \"%s\" but\n%s", line, output);
}

static void perf_shows_what_the_configuration_says(void **state)
{
	const struct sb_perfdata_write_config config = usual_config(2);
	struct fixture *f = *state;
	char *output;

	if (!perf_is_installed())
		skip();
	write_file(f, &config);
	output = perf_run("report --header-only", f->path, NULL, NULL);
	assert_says(output, "# hostname : host\n");
	assert_says(output, "# os release : 6.1.0\n");
	assert_says(output, "# arch : x86_64\n");
	assert_says(output, "# nrcpus online : 2\n");
	assert_says(output, "# nrcpus avail : 2\n");
	assert_says(output, "# cpudesc : A CPU of ours\n");
	assert_says(output, "# cpuid : GenuineIntel,6,85,4\n");
	assert_says(output, "# cmdline : sbtrace record --software -- true");
	assert_says(output, "# event : name = intel_pt//u, , id = { 101, 102 }, type = 8");
	assert_says(output, "# event : name = dummy:u, , id = { 201, 202 }, type = 1");
	assert_says(output, "# pmu mappings: software = 1, intel_pt = 8\n");
	assert_says(output, "# contains AUX area data");
	free(output);
}

static size_t files_in(const char *directory)
{
	DIR *dir = opendir(directory);
	size_t count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2; /* . and .. */
}

static void the_file_appears_when_it_is_finished(void **state)
{
	const struct sb_perfdata_write_config config = usual_config(1);
	struct fixture *f = *state;
	struct sb_perfdata_writer *writer = open_writer(f, &config);

	assert_int_not_equal(access(f->path, F_OK), 0);
	write_records(writer, 0);
	assert_int_not_equal(access(f->path, F_OK), 0);
	assert_int_equal(sb_perfdata_writer_finish(writer, &f->err), 0);
	assert_int_equal(access(f->path, F_OK), 0);
	assert_int_equal(files_in(f->dir.path), 1);
}

static void nothing_is_left_of_one_that_was_given_up(void **state)
{
	const struct sb_perfdata_write_config config = usual_config(1);
	struct fixture *f = *state;
	struct sb_perfdata_writer *writer = open_writer(f, &config);

	write_records(writer, 0);
	sb_perfdata_writer_abort(writer);
	sb_perfdata_writer_abort(NULL);
	assert_int_equal(files_in(f->dir.path), 0);
}

/* Two writers of one path do not meet before the end; the last one stays. */
static void writers_of_one_path_do_not_mix(void **state)
{
	const struct sb_perfdata_write_config one = usual_config(1), two = usual_config(2);
	struct fixture *f = *state;
	struct sb_perfdata_writer *first = open_writer(f, &one), *second = open_writer(f, &two);
	struct sb_perfdata *perfdata;

	write_records(first, 0);
	write_records(second, 1);
	assert_int_equal(sb_perfdata_writer_finish(first, &f->err), 0);
	assert_int_equal(sb_perfdata_writer_finish(second, &f->err), 0);
	perfdata = open_file(f);
	assert_int_equal(sb_perfdata_info(perfdata)->ncpus, 2);
	sb_perfdata_close(perfdata);
}

static void what_is_impossible_is_refused(void **state)
{
	struct sb_perfdata_write_config config = usual_config(2);
	const struct sb_write_sample elsewhere = at(1, 2, 3), here = at(1, 1, 3);
	struct sb_write_mmap2 map = usual_map;
	struct sb_perfdata_writer *writer;
	struct fixture *f = *state;
	char name[4097];

	writer = open_writer(f, &config);
	assert_int_equal(sb_write_comm(writer, &elsewhere, 1, 1, "x", 0, &f->err), -sbe_invalid);
	assert_int_equal(sb_write_auxtrace(writer, 2, 0, trace, 8, &f->err), -sbe_invalid);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	map.filename = name;
	assert_int_equal(sb_write_mmap2(writer, &here, &map, &f->err), -sbe_invalid);
	sb_perfdata_writer_abort(writer);
	config.ncpus = 0;
	assert_int_equal(sb_perfdata_writer_open(&writer, f->path, &config, &f->err), -sbe_invalid);
	config.ncpus = 1001;
	assert_int_equal(sb_perfdata_writer_open(&writer, f->path, &config, &f->err), -sbe_invalid);
	config = usual_config(1);
	config.size--;
	assert_int_equal(sb_perfdata_writer_open(&writer, f->path, &config, &f->err), -sbe_invalid);
	assert_int_equal(files_in(f->dir.path), 0);
}

static void a_place_that_is_not_there_is_an_error(void **state)
{
	const struct sb_perfdata_write_config config = usual_config(1);
	struct sb_perfdata_writer *writer;
	struct fixture *f = *state;
	char *path = temp_dir_path(&f->dir, "no/such/perf.data");

	assert_int_equal(sb_perfdata_writer_open(&writer, path, &config, &f->err), -sbe_io);
	assert_null(writer);
	assert_string_equal(f->err.file, path);
	free(path);
}

/* The disk is full in the middle: whoever did not look at the calls' results hears of it at the end. */
static void a_write_that_fails_fails_the_file(void **state)
{
	const struct sb_perfdata_write_config config = usual_config(1);
	struct rlimit before, small;
	struct fixture *f = *state;
	struct sb_perfdata_writer *writer = open_writer(f, &config);
	void *bytes = calloc(1, 1 << 20);

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 100000;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(sb_write_auxtrace(writer, 0, 0, bytes, 1 << 20, &f->err), -sbe_io);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	/* There is room again, but the file has a hole. */
	assert_int_equal(sb_write_finished_round(writer, &f->err), -sbe_io);
	memset(&f->err, 0, sizeof(f->err));
	assert_int_equal(sb_perfdata_writer_finish(writer, &f->err), -sbe_io);
	assert_non_null(strstr(f->err.text, strerror(EFBIG)));
	assert_int_equal(files_in(f->dir.path), 0);
	free(bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	        TEST(the_reader_gives_back_what_was_written),
	        TEST(cgroups_and_namespaces_are_given_back),
	        TEST(perf_knows_the_cgroup_of_the_sample),
	        TEST(only_recordings_with_such_an_event_tell_cgroups),
	        TEST(aux_data_are_padded_but_counted_as_given),
	        TEST(the_machine_is_described),
	        TEST(perf_reads_it_without_a_word),
	        TEST(perf_counts_what_was_written),
	        TEST(perf_shows_what_the_configuration_says),
	        TEST(the_file_appears_when_it_is_finished),
	        TEST(nothing_is_left_of_one_that_was_given_up),
	        TEST(writers_of_one_path_do_not_mix),
	        TEST(what_is_impossible_is_refused),
	        TEST(a_place_that_is_not_there_is_an_error),
	        TEST(a_write_that_fails_fails_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
