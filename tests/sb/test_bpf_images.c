/* test_bpf_images.c - code of BPF programs in a recording: as bytes that are right and wrong, as a replay
 * finds it, and as the installed perf recorded it of a program that the kernel itself shows us.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sb/perfdata.h>
#include <sb/binary.h>
#include <sb/replay.h>
#include <sb/symbols.h>
#include <sb/system.h>

#include "bpf_feature.h"
#include "perfdata/bpf_images.h"
#include "perfdata_file.h"
#include "support/perf_tool.h"
#include "support/temp_dir.h"
#include "support/trace.h"

#define PLACE 0xffffffffc0001000ull

static const struct bpf_function two_functions[] = {{PLACE, "abc"}, {PLACE + 0x40, "defgh"}};
static const struct bpf_function one_function[] = {{PLACE + 0x80, "xy"}};

/* ---- Bytes ------------------------------------------------------------------------------------ */

static void put_two_programs(struct bytes *b)
{
	b->size = 0;
	put32(b, 2);
	put_bpf_program(b, 7, "first", two_functions, 2);
	put_bpf_program(b, 9, "", one_function, 1);
}

static void every_function_is_an_image(void **state)
{
	struct bpf_image_table table = {0};
	struct bytes b = {0};

	(void)state;
	put_two_programs(&b);
	assert_null(bpf_images_read(&table, b.data, b.size));
	assert_int_equal(table.count, 3);
	assert_int_equal(table.image[1].program, 7);
	assert_int_equal(table.image[1].function, 1);
	assert_int_equal(table.image[1].begin, PLACE + 0x40);
	assert_int_equal(table.image[1].size, 5);
	assert_memory_equal(table.image[1].bytes, "defgh", 5);
	assert_memory_equal(table.image[1].tag, "\7\7\7\7\7\7\7\7", 8);
	assert_string_equal(table.image[1].name, "first");
	assert_int_equal(table.image[2].program, 9);
	assert_memory_equal(table.image[2].bytes, "xy", 2);
	assert_string_equal(table.image[2].name, "");
	bpf_images_free(&table);
}

static void what_is_cut_is_told(void **state)
{
	struct bytes b = {0};

	(void)state;
	put_two_programs(&b);
	for (size_t size = 0; size < b.size; size++) {
		struct bpf_image_table table = {0};
		uint8_t *copy = malloc(size ? size : 1);

		assert_non_null(copy);
		memcpy(copy, b.data, size);
		assert_non_null(bpf_images_read(&table, copy, size));
		assert_int_equal(table.count, size >= 4 + 16 + sizeof(struct bpf_prog_info) + 8 + 24 ? 2 : 0);
		bpf_images_free(&table);
		free(copy);
	}
}

/* One field of the first program is another: what is wrong, or how many images there are nevertheless. */
static void fields_are_checked(void **state)
{
	static const struct {
		size_t at, size;
		uint64_t value;
		size_t count;
		int wrong;
	} cases[] = {
	        {offsetof(struct bpf_prog_info, jited_prog_insns), 8, 1, 0, 0},
	        {offsetof(struct bpf_prog_info, jited_prog_insns), 8, 25, 0, 1},
	        {offsetof(struct bpf_prog_info, jited_prog_insns), 8, UINT64_MAX, 0, 1},
	        {offsetof(struct bpf_prog_info, jited_ksyms), 8, 17, 0, 1},
	        {offsetof(struct bpf_prog_info, jited_ksyms), 8, UINT64_MAX - 7, 0, 1},
	        {offsetof(struct bpf_prog_info, jited_func_lens), 8, 25, 0, 1},
	        {offsetof(struct bpf_prog_info, nr_jited_ksyms), 4, 1, 0, 1},
	        {offsetof(struct bpf_prog_info, jited_prog_len), 4, 7, 1, 1},
	        {offsetof(struct bpf_prog_info, jited_prog_len), 4, UINT32_MAX, 0, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bpf_image_table table = {0};
		struct bytes b = {0};

		put_two_programs(&b);
		patch(&b, 4 + 16 + cases[i].at, cases[i].value, cases[i].size);
		assert_int_equal(bpf_images_read(&table, b.data, b.size) != NULL, cases[i].wrong);
		if (cases[i].wrong)
			assert_int_equal(table.count, cases[i].count);
		bpf_images_free(&table);
	}
}

static void programs_that_were_not_shown_are_passed_over(void **state)
{
	struct bpf_image_table table = {0};
	struct bytes b = {0};
	const size_t first = 4 + 16;

	(void)state;
	put_two_programs(&b);
	patch(&b, 4 + 8, 1, 8); /* its code alone */
	assert_null(bpf_images_read(&table, b.data, b.size));
	assert_int_equal(table.count, 1);
	put_two_programs(&b);
	patch(&b, first + sizeof(struct bpf_prog_info) + 8, 0, 8); /* kptr_restrict */
	assert_null(bpf_images_read(&table, b.data, b.size));
	assert_int_equal(table.count, 3);
	bpf_images_free(&table);
}

/* ---- Replay ----------------------------------------------------------------------------------- */

static void put_bpf_event(struct bytes *b, uint64_t time, uint16_t type, uint32_t id)
{
	const size_t at = begin_record(b, PERF_RECORD_BPF_EVENT, 0);

	put16(b, type);
	put16(b, 0);
	put32(b, id);
	put64(b, 0);
	put_trailer(b, 1, 1, time, 0, 201);
	end_record(b, at);
}

static void put_ksymbol(struct bytes *b, uint64_t time, uint64_t begin, uint32_t size, uint16_t flags)
{
	const size_t at = begin_record(b, PERF_RECORD_KSYMBOL, 0);

	put64(b, begin);
	put32(b, size);
	put16(b, PERF_RECORD_KSYMBOL_TYPE_BPF);
	put16(b, flags);
	put_text(b, "bpf_prog", 8);
	put_trailer(b, 1, 1, time, 0, 201);
	end_record(b, at);
}

/* Its clock: a nanosecond is a count. */
static void put_info(struct bytes *b)
{
	const size_t at = b->size;

	put_auxtrace_info(b, 18);
	patch(b, at + 8 + 8 + 8, 0, 8);
	patch(b, at + 8 + 8 + 16, 1, 8);
	patch(b, at + 8 + 8 + 24, 0, 8);
}

static void put_trace(struct bytes *b, const struct trace *trace)
{
	const size_t size = (trace->size + 7) & ~(size_t)7;

	put_auxtrace(b, 0, -1, 0, size, 0);
	memcpy(b->data + b->size - size, trace->bytes, trace->size);
}

static void visit(struct trace *trace, uint64_t tsc, uint64_t ip)
{
	trace_tsc(trace, tsc);
	trace_ip(trace, ppt_tip_pge, ip);
	trace_ip_suppressed(trace, ppt_tip_pgd);
}

struct seen {
	char flow[512];
	uint64_t unmapped;
};

/* "TIME:ADDRESS" of every instruction. */
static void note_block(struct seen *seen, uint64_t tsc, const struct pt_run_block *block)
{
	uint64_t ip = block->ip;

	for (uint32_t k = 0; k < block->ninsn; ip += block->length[k++]) {
		const size_t length = strlen(seen->flow);

		snprintf(seen->flow + length, sizeof(seen->flow) - length, "%ju:%jx ", (uintmax_t)tsc,
		         (uintmax_t)(ip - PLACE));
	}
}

static int on_flow(void *context, const struct sb_flow *flow)
{
	struct seen *seen = context;

	for (uint32_t i = 0; i < flow->npaths; ++i)
		for (uint32_t b = 0; b < flow->path[i]->nblocks; ++b)
			note_block(seen, flow->tsc, &flow->path[i]->block[b]);
	return 0;
}

static int on_gap(void *context, const struct sb_gap *gap)
{
	struct seen *seen = context;

	seen->unmapped += gap->reason == sb_gap_no_kernel;
	return 0;
}

static void replay(struct seen *seen, const struct bytes *b)
{
	const struct sb_replay_options options = {.size = sizeof(options), .no_host_root = 1};
	const struct sb_sink sink = {.context = seen, .flow = on_flow, .gap = on_gap};
	struct sb_perfdata *perfdata;
	struct sb_session *session;
	struct temp_dir dir;
	char *path;

	temp_dir_make(&dir);
	path = temp_dir_write(&dir, "perf.data", b->data, b->size);
	assert_int_equal(sb_perfdata_open(&perfdata, path, NULL), 0);
	assert_null(sb_perfdata_damage(perfdata));
	assert_int_equal(sb_session_open(&session, perfdata, &options, NULL), 0);
	assert_int_equal(sb_session_run(session, &sink, NULL), 0);
	sb_session_close(session);
	sb_perfdata_close(perfdata);
	temp_dir_remove(&dir);
	free(path);
}

/* 1 was there before; 2 comes to the same place when 1 is gone, and goes; of 3 only KSYMBOL tells; nothing
 * tells of 4. */
static void programs_are_there_while_they_are_loaded(void **state)
{
	static const struct attr attrs[] = {{PT, 0x300e601, USUAL, SAMPLE_ID_ALL, {101}, 1},
	                                    {1, 9, USUAL, SAMPLE_ID_ALL, {201}, 1}};
	static const struct bpf_function first = {PLACE, "\x90\x0f\x05"},
	                                 second = {PLACE, "\x90\x90\x0f\x05"},
	                                 third = {PLACE + 0x40, "\x90\x90\x90\x0f\x05"},
	                                 fourth = {PLACE + 0x80, "\x0f\x05"};
	static const uint64_t places[] = {PLACE, PLACE + 0x40, PLACE + 0x80};
	struct feature features[2] = {{.bit = 9}, {.bit = 25}};
	struct trace trace = {0};
	struct bytes b = {0};
	struct seen seen = {0};

	(void)state;
	trace_start(&trace, 50);
	for (uint64_t time = 100; time <= 500; time += 100)
		for (size_t i = 0; i < 3; i++)
			visit(&trace, time + i, places[i]);
	begin_file(&b, attrs, 2, 112);
	put_info(&b);
	put_bpf_event(&b, 0, PERF_BPF_EVENT_PROG_LOAD, 1);
	put_bpf_event(&b, 150, PERF_BPF_EVENT_PROG_UNLOAD, 1);
	put_bpf_event(&b, 250, PERF_BPF_EVENT_PROG_LOAD, 2);
	put_ksymbol(&b, 250, PLACE + 0x40, 5, 0);
	put_ksymbol(&b, 350, PLACE + 0x40, 5, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	put_bpf_event(&b, 450, PERF_BPF_EVENT_PROG_UNLOAD, 2);
	put_trace(&b, &trace);
	end_records(&b);
	put32(&features[0].content, 64);
	put_text(&features[0].content, "GenuineIntel,6,85,4", 64);
	put32(&features[1].content, 4);
	put_bpf_program(&features[1].content, 1, "one", &first, 1);
	put_bpf_program(&features[1].content, 2, "two", &second, 1);
	put_bpf_program(&features[1].content, 3, "three", &third, 1);
	put_bpf_program(&features[1].content, 4, "four", &fourth, 1);
	put_features(&b, features, 2);
	replay(&seen, &b);
	assert_string_equal(seen.flow,
	                    "100:0 100:1 102:80 202:80 300:0 300:1 300:2 301:40 301:41 301:42 301:43 302:80 "
	                    "400:0 400:1 400:2 402:80 502:80 ");
	assert_int_equal(seen.unmapped, 4); /* at 101, 200 and 201, 401, 500 and 501 */
}

/* A KSYMBOL wins; what no KSYMBOL tells has the name that the kernel would give it. */
static void programs_have_names(void **state)
{
	static const struct attr attrs[] = {{PT, 0x300e601, USUAL, SAMPLE_ID_ALL, {101}, 1}};
	static const struct bpf_function functions[] = {{PLACE, "abc"}, {PLACE + 0x40, "defgh"}},
	                                 other = {PLACE + 0x80, "xyz"};
	static const struct {
		uint64_t ip;
		const char *name;
	} expected[] = {{PLACE + 2, "bpf_prog_0707070707070707_main"},
	                {PLACE + 0x40, "bpf_prog_0707070707070707_main.1"},
	                {PLACE + 0x81, "bpf_prog"},
	                {PLACE + 3, NULL}};
	struct feature feature = {.bit = 25};
	struct bytes b = {0};
	struct sb_perfdata *perfdata;
	struct sb_system *system;
	struct sb_resolver *resolver;
	struct sb_symbols *symbols;
	struct temp_dir dir;
	char *path;

	(void)state;
	begin_file(&b, attrs, 1, 112);
	put_ksymbol(&b, 0, PLACE + 0x80, 3, 0);
	end_records(&b);
	put32(&feature.content, 2);
	put_bpf_program(&feature.content, 7, "main", functions, 2);
	put_bpf_program(&feature.content, 8, "other", &other, 1);
	put_features(&b, &feature, 1);
	temp_dir_make(&dir);
	path = temp_dir_write(&dir, "perf.data", b.data, b.size);
	assert_int_equal(sb_perfdata_open(&perfdata, path, NULL), 0);
	assert_int_equal(sb_system_build(&system, perfdata, NULL), 0);
	assert_int_equal(sb_resolver_new(&resolver, NULL, 0, 1, NULL), 0);
	assert_int_equal(sb_symbols_new(&symbols, resolver, NULL, NULL), 0);
	assert_int_equal(sb_symbols_add_recording(symbols, perfdata, system, NULL), 0);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct sb_symbols_place place = {.pid = -1, .ip = expected[i].ip, .time = 100};
		struct sb_symbol symbol;

		assert_int_equal(sb_symbols_find(symbols, &place, &symbol, NULL), 0);
		if (expected[i].name)
			assert_string_equal(symbol.name, expected[i].name);
		else
			assert_null(symbol.name);
	}
	sb_symbols_free(symbols);
	sb_resolver_free(resolver);
	sb_system_free(system);
	sb_perfdata_close(perfdata);
	temp_dir_remove(&dir);
	free(path);
}

/* ---- The installed perf ----------------------------------------------------------------------- */

static int sys_bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	return (int)syscall(__NR_bpf, command, attr, sizeof(*attr));
}

/* A program that returns zero; -1: this kernel does not want one. */
static int load_program(void)
{
	struct bpf_insn insn[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
	                       .insns = (uintptr_t)insn,
	                       .insn_cnt = 2,
	                       .license = (uintptr_t) "GPL",
	                       .prog_name = "sbtrace_test"};

	return sys_bpf(BPF_PROG_LOAD, &attr);
}

/* What the kernel itself says of it; zero: nothing. */
static int describe(int fd, struct bpf_prog_info *info, uint8_t *code, uint32_t size, uint64_t *begin)
{
	union bpf_attr attr = {
	        .info = {.bpf_fd = (uint32_t)fd, .info_len = sizeof(*info), .info = (uintptr_t)info}};

	*info = (struct bpf_prog_info){.jited_prog_len = size,
	                               .jited_prog_insns = (uintptr_t)code,
	                               .nr_jited_ksyms = 1,
	                               .jited_ksyms = (uintptr_t)begin};
	return sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) == 0 && info->jited_prog_len &&
	       info->jited_prog_len <= size && *begin;
}

static const struct sb_bpf_image *find_image(const struct sb_perfdata *perfdata, uint32_t id)
{
	size_t count;
	const struct sb_bpf_image *image = sb_perfdata_bpf_images(perfdata, &count);

	for (size_t i = 0; i < count; i++)
		if (image[i].program == id)
			return &image[i];
	return NULL;
}

static void perf_records_what_the_kernel_has(void **state)
{
	uint8_t code[4096];
	uint64_t begin = 0;
	struct bpf_prog_info info;
	struct sb_perfdata *perfdata = NULL;
	struct temp_dir dir;
	const struct sb_bpf_image *image;
	char *path, *command;
	const int fd = load_program();

	(void)state;
	if (fd < 0 || !describe(fd, &info, code, sizeof(code), &begin) || !perf_is_installed())
		skip();
	temp_dir_make(&dir);
	path = temp_dir_path(&dir, "perf.data");
	assert_true(asprintf(&command, "perf record -q -a -e dummy -o %s true 2>/dev/null", path) > 0);
	if (system(command) != 0 || sb_perfdata_open(&perfdata, path, NULL) < 0) {
		temp_dir_remove(&dir);
		skip();
	}
	image = find_image(perfdata, info.id);
	assert_non_null(image);
	assert_int_equal(image->begin, begin);
	assert_int_equal(image->size, info.jited_prog_len);
	assert_memory_equal(image->bytes, code, image->size);
	assert_memory_equal(image->tag, info.tag, sizeof(info.tag));
	assert_string_equal(image->name, "sbtrace_test");
	sb_perfdata_close(perfdata);
	close(fd);
	temp_dir_remove(&dir);
	free(path);
	free(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_function_is_an_image),
	        cmocka_unit_test(what_is_cut_is_told),
	        cmocka_unit_test(fields_are_checked),
	        cmocka_unit_test(programs_that_were_not_shown_are_passed_over),
	        cmocka_unit_test(programs_are_there_while_they_are_loaded),
	        cmocka_unit_test(programs_have_names),
	        cmocka_unit_test(perf_records_what_the_kernel_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
