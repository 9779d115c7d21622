/* Records, from bytes put together as perf_event_open(2) and perf.data-file-format.txt lay them out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <linux/perf_event.h>
#include <cmocka.h>

#include "sb/record_checks.h"

enum {
	MISC_EXEC = 1 << 13,
	MISC_OUT = 1 << 13,
	MISC_PREEMPT = 1 << 14,
	MISC_BUILD_ID = 1 << 14,
	MISC_DATA = 1 << 13
};

/* One composer per type; the tests below use them, and the tests of cut records go through all. */

static void compose_comm(struct bytes *b)
{
	size_t at = begin_record(b, PERF_RECORD_COMM, MISC_EXEC);

	put32(b, 1);
	put32(b, 2);
	put_text(b, "gzip", 8);
	finish(b, at);
}

static void compose_mmap(struct bytes *b)
{
	size_t at = begin_record(b, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);

	put32(b, UINT32_MAX);
	put32(b, 0);
	put64(b, 0xffffffff81000000);
	put64(b, 0x1000000);
	put64(b, 0xffffffff81000000);
	put_text(b, "[kernel.kallsyms]_text", 8);
	finish(b, at);
}

static void put_mapping(struct bytes *b)
{
	put32(b, 1);
	put32(b, 2);
	put64(b, 0x7f0000001000);
	put64(b, 0x2000);
	put64(b, 0x3000);
}

static void compose_mmap2(struct bytes *b)
{
	size_t at = begin_record(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);

	put_mapping(b);
	put32(b, 8);
	put32(b, 1);
	put64(b, 4242);
	put64(b, 77);
	put32(b, 5);
	put32(b, 2);
	put_text(b, "/usr/lib/libc.so.6", 8);
	finish(b, at);
}

static void compose_mmap2_build_id(struct bytes *b)
{
	size_t at = begin_record(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | MISC_BUILD_ID);

	put_mapping(b);
	put8(b, 20);
	put8(b, 0);
	put16(b, 0);
	for (unsigned int i = 0; i < 20; i++)
		put8(b, 0xa0 + i);
	put32(b, 5);
	put32(b, 2);
	put_text(b, "/bin/ls", 8);
	finish(b, at);
}

static void put_task(struct bytes *b)
{
	put32(b, 5);
	put32(b, 6);
	put32(b, 7);
	put32(b, 8);
	put64(b, 900);
}

static void compose_fork(struct bytes *b)
{
	size_t at = begin_record(b, PERF_RECORD_FORK, 0);

	put_task(b);
	finish(b, at);
}

static void compose_exit(struct bytes *b)
{
	size_t at = begin_record(b, PERF_RECORD_EXIT, 0);

	put_task(b);
	finish(b, at);
}

static void compose_switch(struct bytes *b)
{
	finish(b, begin_record(b, PERF_RECORD_SWITCH, MISC_OUT));
}

static void compose_switch_cpu_wide(struct bytes *b)
{
	size_t at = begin_record(b, PERF_RECORD_SWITCH_CPU_WIDE, MISC_OUT | MISC_PREEMPT);

	put32(b, 3);
	put32(b, 4);
	finish(b, at);
}

static void compose_itrace_start(struct bytes *b)
{
	size_t at = begin_record(b, PERF_RECORD_ITRACE_START, 0);

	put32(b, 3);
	put32(b, 4);
	finish(b, at);
}

static void compose_aux(struct bytes *b)
{
	size_t at = begin_record(b, PERF_RECORD_AUX, 0);

	put64(b, 0x10000);
	put64(b, 0x2000);
	put64(b, PERF_AUX_FLAG_TRUNCATED);
	finish(b, at);
}

static void compose_lost(struct bytes *b)
{
	size_t at = begin_record(b, PERF_RECORD_LOST, 0);

	put64(b, 101);
	put64(b, 9);
	finish(b, at);
}

static void compose_lost_samples(struct bytes *b)
{
	size_t at = begin_record(b, PERF_RECORD_LOST_SAMPLES, 0);

	put64(b, 9);
	finish(b, at);
}

static void compose_auxtrace(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_AUXTRACE, 0);

	put64(b, 0x230f0);
	put64(b, 0x40);
	put64(b, 0xe8e2589b8f);
	put32(b, 3);
	put32(b, UINT32_MAX);
	put32(b, 2);
	put32(b, 0);
	end_record(b, at);
}

static void compose_auxtrace_info(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_AUXTRACE_INFO, 0);

	put32(b, 1);
	put32(b, 0);
	put64(b, 8);
	put64(b, 31);
	put64(b, 1022611261);
	put64(b, 7000000000);
	end_record(b, at);
}

static void compose_auxtrace_error(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_AUXTRACE_ERROR, 0);

	put32(b, 1);
	put32(b, 5);
	put32(b, 2);
	put32(b, 30);
	put32(b, 31);
	put32(b, 1);
	put64(b, 0x401000);
	put64(b, 555);
	put_text(b, "No instruction", 8);
	end_record(b, at);
}

static void compose_time_conv(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_TIME_CONV, 0);

	put64(b, 31);
	put64(b, 1022611261);
	put64(b, 7000000000);
	put64(b, 1);
	put64(b, 0xffffff);
	put8(b, 1);
	put8(b, 1);
	put_text(b, "", 6);
	end_record(b, at);
}

static void compose_id_index(struct bytes *b)
{
	size_t at = begin_record(b, SB_RECORD_ID_INDEX, 0);

	put64(b, 2);
	for (unsigned int i = 0; i < 8; i++)
		put64(b, 100 + i);
	end_record(b, at);
}

static const struct composed types[] = {
        {"COMM", compose_comm, 8 + TRAILER},
        {"MMAP", compose_mmap, 32 + TRAILER},
        {"MMAP2", compose_mmap2, 64 + TRAILER},
        {"MMAP2", compose_mmap2_build_id, 64 + TRAILER},
        {"FORK", compose_fork, 24 + TRAILER},
        {"EXIT", compose_exit, 24 + TRAILER},
        {"SWITCH", compose_switch, TRAILER},
        {"SWITCH_CPU_WIDE", compose_switch_cpu_wide, 8 + TRAILER},
        {"ITRACE_START", compose_itrace_start, 8 + TRAILER},
        {"AUX", compose_aux, 24 + TRAILER},
        {"LOST", compose_lost, 16 + TRAILER},
        {"LOST_SAMPLES", compose_lost_samples, 8 + TRAILER},
        {"AUXTRACE", compose_auxtrace, 40},
        {"AUXTRACE_INFO", compose_auxtrace_info, 8},
        {"AUXTRACE_ERROR", compose_auxtrace_error, 40},
        {"TIME_CONV", compose_time_conv, 24},
        {"ID_INDEX", compose_id_index, 8},
};
enum { ntypes = sizeof(types) / sizeof(types[0]) };

static void comm_names_a_thread_and_tells_exec(void **state)
{
	struct bytes b = {0};
	struct sb_record r;

	(void)state;
	compose_comm(&b);
	r = parse(&b);
	assert_int_equal(r.u.comm.pid, 1);
	assert_int_equal(r.u.comm.tid, 2);
	assert_string_equal(r.u.comm.name, "gzip");
	assert_true(r.u.comm.exec);
	check_trailer(&r);
	patch(&b, 4, 0, 2);
	assert_false(parse(&b).u.comm.exec);
}

static void mmap_of_the_kernel(void **state)
{
	struct bytes b = {0};
	struct sb_record r;

	(void)state;
	compose_mmap(&b);
	r = parse(&b);
	assert_int_equal(r.u.mmap.pid, -1);
	assert_int_equal(r.u.mmap.addr, 0xffffffff81000000);
	assert_int_equal(r.u.mmap.len, 0x1000000);
	assert_int_equal(r.u.mmap.pgoff, 0xffffffff81000000);
	assert_string_equal(r.u.mmap.filename, "[kernel.kallsyms]_text");
	assert_true(r.u.mmap.is_kernel);
	assert_false(r.u.mmap.is_mmap2);
	assert_false(r.u.mmap.is_data);
	assert_false(r.u.mmap.is_guest);
	assert_false(r.u.mmap.is_cut);
	check_trailer(&r);
	patch(&b, 4, 1 | PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT, 2);
	assert_true(parse(&b).u.mmap.is_cut);
	patch(&b, 4, 4 | MISC_DATA, 2); /* cpumode: guest kernel */
	assert_true(parse(&b).u.mmap.is_guest);
	assert_true(parse(&b).u.mmap.is_data);
	assert_false(parse(&b).u.mmap.is_kernel);
}

static void mmap2_with_inode(void **state)
{
	struct bytes b = {0};
	struct sb_record r;

	(void)state;
	compose_mmap2(&b);
	r = parse(&b);
	assert_int_equal(r.u.mmap.pid, 1);
	assert_int_equal(r.u.mmap.tid, 2);
	assert_int_equal(r.u.mmap.addr, 0x7f0000001000);
	assert_int_equal(r.u.mmap.len, 0x2000);
	assert_int_equal(r.u.mmap.pgoff, 0x3000);
	assert_int_equal(r.u.mmap.maj, 8);
	assert_int_equal(r.u.mmap.min, 1);
	assert_int_equal(r.u.mmap.ino, 4242);
	assert_int_equal(r.u.mmap.ino_generation, 77);
	assert_int_equal(r.u.mmap.prot, 5);
	assert_int_equal(r.u.mmap.flags, 2);
	assert_int_equal(r.u.mmap.build_id_size, 0);
	assert_true(r.u.mmap.is_mmap2);
	assert_string_equal(r.u.mmap.filename, "/usr/lib/libc.so.6");
	check_trailer(&r);
}

static void mmap2_with_build_id(void **state)
{
	struct bytes b = {0};
	struct sb_error err;
	struct sb_record r;

	(void)state;
	compose_mmap2_build_id(&b);
	r = parse(&b);
	assert_int_equal(r.u.mmap.build_id_size, 20);
	for (int i = 0; i < 20; i++)
		assert_int_equal(r.u.mmap.build_id[i], 0xa0 + i);
	assert_int_equal(r.u.mmap.ino, 0);
	assert_int_equal(r.u.mmap.prot, 5);
	assert_string_equal(r.u.mmap.filename, "/bin/ls");
	patch(&b, 8 + 32, 21, 1);
	assert_int_equal(parse_code(&b, &err), -sbe_format);
}

/* Set by the kernel for another event, which wants build-ids. */
static void mmap2_with_a_device_and_the_bit_of_build_ids(void **state)
{
	static const uint32_t majors[] = {0, 8, 21, 254};

	(void)state;
	for (size_t i = 0; i < sizeof(majors) / sizeof(majors[0]); i++) {
		struct bytes b = {0};
		struct sb_record r;

		compose_mmap2_build_id(&b);
		patch(&b, 8 + 32, majors[i], 4);
		patch(&b, 8 + 36, 0xfffff, 4);
		r = parse(&b);
		assert_int_equal(r.u.mmap.build_id_size, 0);
		assert_int_equal(r.u.mmap.maj, majors[i]);
		assert_int_equal(r.u.mmap.min, 0xfffff);
		assert_int_equal(r.u.mmap.ino, 0xabaaa9a8a7a6a5a4);
	}
}

static void fork_and_exit(void **state)
{
	struct bytes fork = {0}, exit_ = {0};
	struct sb_record r[2];

	(void)state;
	compose_fork(&fork);
	compose_exit(&exit_);
	r[0] = parse(&fork);
	r[1] = parse(&exit_);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(r[i].u.task.pid, 5);
		assert_int_equal(r[i].u.task.ppid, 6);
		assert_int_equal(r[i].u.task.tid, 7);
		assert_int_equal(r[i].u.task.ptid, 8);
		assert_int_equal(r[i].u.task.time, 900);
		check_trailer(&r[i]);
	}
}

static void switches(void **state)
{
	struct bytes b = {0}, wide = {0};
	struct sb_record r;

	(void)state;
	compose_switch(&b);
	r = parse(&b);
	assert_true(r.u.context_switch.out);
	assert_false(r.u.context_switch.preempt);
	assert_int_equal(r.u.context_switch.next_prev_pid, -1);
	assert_int_equal(r.u.context_switch.next_prev_tid, -1);
	check_trailer(&r);
	patch(&b, 4, 0, 2);
	assert_false(parse(&b).u.context_switch.out);

	compose_switch_cpu_wide(&wide);
	r = parse(&wide);
	assert_true(r.u.context_switch.out);
	assert_true(r.u.context_switch.preempt);
	assert_int_equal(r.u.context_switch.next_prev_pid, 3);
	assert_int_equal(r.u.context_switch.next_prev_tid, 4);
	check_trailer(&r);
}

static void itrace_start_aux_and_lost(void **state)
{
	struct bytes start = {0}, aux = {0}, lost = {0}, samples = {0};
	struct sb_record r;

	(void)state;
	compose_itrace_start(&start);
	r = parse(&start);
	assert_int_equal(r.u.itrace_start.pid, 3);
	assert_int_equal(r.u.itrace_start.tid, 4);
	compose_aux(&aux);
	r = parse(&aux);
	assert_int_equal(r.u.aux.offset, 0x10000);
	assert_int_equal(r.u.aux.size, 0x2000);
	assert_int_equal(r.u.aux.flags, PERF_AUX_FLAG_TRUNCATED);
	check_trailer(&r);
	compose_lost(&lost);
	r = parse(&lost);
	assert_int_equal(r.u.lost.id, 101);
	assert_int_equal(r.u.lost.lost, 9);
	compose_lost_samples(&samples);
	r = parse(&samples);
	assert_int_equal(r.u.lost.id, 0);
	assert_int_equal(r.u.lost.lost, 9);
}

static void auxtrace_and_its_kin_have_no_trailer(void **state)
{
	struct bytes trace = {0}, info = {0}, error = {0};
	struct sb_record r;

	(void)state;
	compose_auxtrace(&trace);
	r = parse(&trace);
	assert_int_equal(r.sample.has, 0);
	assert_int_equal(r.u.auxtrace.size, 0x230f0);
	assert_int_equal(r.u.auxtrace.offset, 0x40);
	assert_int_equal(r.u.auxtrace.reference, 0xe8e2589b8f);
	assert_int_equal(r.u.auxtrace.idx, 3);
	assert_int_equal(r.u.auxtrace.tid, -1);
	assert_int_equal(r.u.auxtrace.cpu, 2);
	compose_auxtrace_info(&info);
	r = parse(&info);
	assert_int_equal(r.u.auxtrace_info.type, 1);
	assert_int_equal(r.u.auxtrace_info.npriv, 4);
	assert_ptr_equal(r.u.auxtrace_info.priv, info.data + 16);
	compose_auxtrace_error(&error);
	r = parse(&error);
	assert_int_equal(r.u.auxtrace_error.code, 5);
	assert_int_equal(r.u.auxtrace_error.cpu, 2);
	assert_int_equal(r.u.auxtrace_error.pid, 30);
	assert_int_equal(r.u.auxtrace_error.tid, 31);
	assert_int_equal(r.u.auxtrace_error.ip, 0x401000);
	assert_string_equal(r.u.auxtrace_error.text, "No instruction");
}

static void auxtrace_error_of_format_0_has_no_time(void **state)
{
	struct bytes b = {0};
	size_t at = begin_record(&b, SB_RECORD_AUXTRACE_ERROR, 0);

	(void)state;
	for (unsigned int i = 0; i < 8; i++)
		put32(&b, 0);
	put_text(&b, "Instruction mismatch", 8);
	end_record(&b, at);
	assert_string_equal(parse(&b).u.auxtrace_error.text, "Instruction mismatch");
}

static void time_conv_in_both_lengths(void **state)
{
	struct bytes b = {0};
	struct sb_record r;

	(void)state;
	compose_time_conv(&b);
	assert_int_equal(b.size, 56);
	r = parse(&b);
	assert_int_equal(r.u.time_conv.time_shift, 31);
	assert_int_equal(r.u.time_conv.time_mult, 1022611261);
	assert_int_equal(r.u.time_conv.time_zero, 7000000000);
	assert_int_equal(r.u.time_conv.time_cycles, 1);
	assert_int_equal(r.u.time_conv.time_mask, 0xffffff);
	assert_true(r.u.time_conv.cap_user_time_zero);
	assert_true(r.u.time_conv.cap_user_time_short);
	b.size = 32;
	end_record(&b, 0);
	r = parse(&b);
	assert_int_equal(r.u.time_conv.time_zero, 7000000000);
	assert_true(r.u.time_conv.cap_user_time_zero);
	assert_int_equal(r.u.time_conv.time_mask, 0);
}

static void id_index_points_at_its_entries(void **state)
{
	struct bytes b = {0};
	struct sb_error err;

	(void)state;
	compose_id_index(&b);
	assert_int_equal(parse(&b).u.id_index.nr, 2);
	assert_ptr_equal(parse(&b).u.id_index.entries, b.data + 16);
	patch(&b, 8, 3, 8);
	assert_int_equal(parse_code(&b, &err), -sbe_format);
	patch(&b, 8, UINT64_MAX / 32 + 2, 8); /* times 32, it would wrap to a small number */
	assert_int_equal(parse_code(&b, &err), -sbe_format);
}

static void impossible_values_are_refused(void **state)
{
	struct bytes trace = {0}, info = {0}, conv = {0};
	struct sb_error err;

	(void)state;
	compose_auxtrace(&trace);
	patch(&trace, 8 + 32, SB_CPU_MAX + 1, 4);
	assert_int_equal(parse_code(&trace, &err), -sbe_format);
	patch(&trace, 8 + 32, (uint32_t)-2, 4);
	assert_int_equal(parse_code(&trace, &err), -sbe_format);
	compose_auxtrace_info(&info);
	patch(&info, 24, 64, 8); /* time_shift */
	assert_int_equal(parse_code(&info, &err), -sbe_format);
	compose_time_conv(&conv);
	patch(&conv, 16, (uint64_t)1 << 32, 8); /* time_mult */
	assert_int_equal(parse_code(&conv, &err), -sbe_format);
}

static void every_field_of_the_trailer(void **state)
{
	const struct sb_sample_format all = {
	        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
	                       PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ADDR,
	        .sample_id_all = 1};
	const struct sb_sample_format only_time = {.sample_type = PERF_SAMPLE_TIME, .sample_id_all = 1};
	const struct sb_sample_format none = {.sample_type = PERF_SAMPLE_TIME};
	struct sb_record r;
	struct bytes b = {0};

	(void)state;
	begin_record(&b, PERF_RECORD_SWITCH, 0);
	put32(&b, 1);
	put32(&b, 2);
	put64(&b, 3);
	put64(&b, 4); /* ID */
	put64(&b, 5); /* STREAM_ID */
	put32(&b, 6);
	put32(&b, 0);
	put64(&b, 4); /* IDENTIFIER */
	end_record(&b, 0);
	assert_int_equal(sb_record_parse(&r, b.data, b.size, &all, "file", 0, NULL), 0);
	assert_int_equal(r.sample.has, PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
	                                       PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU);
	assert_int_equal(r.sample.pid, 1);
	assert_int_equal(r.sample.tid, 2);
	assert_int_equal(r.sample.time, 3);
	assert_int_equal(r.sample.id, 4);
	assert_int_equal(r.sample.stream_id, 5);
	assert_int_equal(r.sample.cpu, 6);
	/* It is read from the record's end. */
	assert_int_equal(sb_record_parse(&r, b.data, b.size, &only_time, "file", 0, NULL), 0);
	assert_int_equal(r.sample.has, PERF_SAMPLE_TIME);
	assert_int_equal(r.sample.time, 4);
	assert_int_equal(sb_record_parse(&r, b.data, b.size, &none, "file", 0, NULL), 0);
	assert_int_equal(r.sample.has, 0);
	assert_int_equal(sb_record_parse(&r, b.data, b.size, NULL, "file", 0, NULL), 0);
	assert_int_equal(r.sample.has, 0);
}

static void types_without_fields_are_accepted(void **state)
{
	static const uint32_t kernel[] = {PERF_RECORD_SWITCH, 23, 40};
	static const uint32_t own[] = {SB_RECORD_FINISHED_ROUND, SB_RECORD_FINISHED_INIT, 90, 100000};
	struct sb_record r;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct bytes b = {0};

		begin_record(&b, kernel[i], 0);
		finish(&b, 0);
		r = parse(&b);
		check_trailer(&r);
	}
	for (size_t i = 0; i < 4; i++) {
		struct bytes b = {0};

		end_record(&b, begin_record(&b, own[i], 0));
		r = parse(&b);
		assert_int_equal(r.sample.has, 0);
	}
	assert_string_equal(sb_record_name(20), "TEXT_POKE");
	assert_string_equal(sb_record_name(SB_RECORD_SCHEDSTAT_DOMAIN), "SCHEDSTAT_DOMAIN");
	assert_string_equal(sb_record_name(0), "unknown");
	assert_string_equal(sb_record_name(50), "unknown");
	assert_string_equal(sb_record_name(UINT32_MAX), "unknown");
}

static void cut_after_every_byte(void **state)
{
	(void)state;
	check_cuts(types, ntypes);
}

static void every_size_that_it_may_claim(void **state)
{
	(void)state;
	check_sizes(types, ntypes);
}

static void a_string_must_end_inside_its_record(void **state)
{
	static void (*const with_string[])(struct bytes *) = {compose_comm, compose_mmap, compose_mmap2};
	struct sb_error err;

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct bytes b = {0};
		size_t end;

		with_string[i](&b);
		end = b.size - TRAILER;
		for (size_t at = end; b.data[at - 1] == 0; at--)
			b.data[at - 1] = 'x';
		/* The trailer after it does have zeros: they do not end it. */
		assert_int_equal(parse_code(&b, &err), -sbe_format);
	}
}

static void random_bytes_do_no_harm(void **state)
{
	(void)state;
	check_random_bytes(types, ntypes);
}

static void printed_as_one_line(void **state)
{
	struct bytes comm = {0}, wide = {0}, round = {0};
	char *line;

	(void)state;
	compose_comm(&comm);
	comm.data[17] = '\x1b'; /* what a terminal would obey is spelled out */
	line = printed(&comm);
	assert_string_equal(line, "0x100\t14\t11/12\t1300\tCOMM pid 1 tid 2 exec name \"g\\x1bip\"");
	free(line);
	compose_switch_cpu_wide(&wide);
	line = printed(&wide);
	assert_string_equal(line, "0x100\t14\t11/12\t1300\tSWITCH_CPU_WIDE out preempted next_pid 3 next_tid 4");
	free(line);
	end_record(&round, begin_record(&round, SB_RECORD_FINISHED_ROUND, 0));
	line = printed(&round);
	assert_string_equal(line, "0x100\t-\t-\t-\tFINISHED_ROUND");
	free(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(comm_names_a_thread_and_tells_exec),
	        cmocka_unit_test(mmap_of_the_kernel),
	        cmocka_unit_test(mmap2_with_inode),
	        cmocka_unit_test(mmap2_with_build_id),
	        cmocka_unit_test(mmap2_with_a_device_and_the_bit_of_build_ids),
	        cmocka_unit_test(fork_and_exit),
	        cmocka_unit_test(switches),
	        cmocka_unit_test(itrace_start_aux_and_lost),
	        cmocka_unit_test(auxtrace_and_its_kin_have_no_trailer),
	        cmocka_unit_test(auxtrace_error_of_format_0_has_no_time),
	        cmocka_unit_test(time_conv_in_both_lengths),
	        cmocka_unit_test(id_index_points_at_its_entries),
	        cmocka_unit_test(impossible_values_are_refused),
	        cmocka_unit_test(every_field_of_the_trailer),
	        cmocka_unit_test(types_without_fields_are_accepted),
	        cmocka_unit_test(cut_after_every_byte),
	        cmocka_unit_test(every_size_that_it_may_claim),
	        cmocka_unit_test(a_string_must_end_inside_its_record),
	        cmocka_unit_test(random_bytes_do_no_harm),
	        cmocka_unit_test(printed_as_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
