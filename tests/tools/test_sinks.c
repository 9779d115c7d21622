/* Sinks: hand-made flow in, exact bytes out. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sink/share.h"
#include "tools/sink_fixture.h"

/* One with the fields that sinks of text look at. */
#define FLOW(cpu_, pid_, tid_, tsc_, path_, npaths_, nblocks_, ninsn_)                                       \
	{                                                                                                    \
		.cpu = (cpu_), .pid = (pid_), .tid = (tid_), .tsc = (tsc_), .path = (path_),                 \
		.npaths = (npaths_), .nblocks = (nblocks_), .ninsn = (ninsn_)                                \
	}

static char *write_in_context(const struct sink_context *context, const struct sink_type *type,
                              const struct sb_flow *flows, size_t count, const struct sb_account *account,
                              const struct sb_gap *gap)
{
	struct temp_dir dir;
	struct sink_set *set;
	struct sb_error err;
	char *path, *text;

	temp_dir_make(&dir);
	path = temp_dir_path(&dir, "out");
	set = open_one(type, path, context);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(sink_set_flow(set, &flows[i]), 0);
	if (gap)
		assert_int_equal(sink_set_gap(set, gap), 0);
	assert_int_equal(sink_set_finish(set, account, NULL, &err), 0);
	sink_set_free(set);
	text = slurp(path);
	assert_non_null(text);
	free(path);
	temp_dir_remove(&dir);
	return text;
}

static char *write_flows(const struct sink_type *type, const struct sb_flow *flows, size_t count,
                         const struct sb_account *account, const struct sb_gap *gap)
{
	return write_in_context(&without_symbols, type, flows, count, account, gap);
}

static void assert_written(const struct sink_type *type, const struct sb_flow *flows, size_t count,
                           const char *expected)
{
	char *text = write_flows(type, flows, count, &empty_account, NULL);

	assert_string_equal(text, expected);
	free(text);
}

static void insn_writes_a_line_for_each_instruction(void **state)
{
	(void)state;
	assert_written(&sink_insn, &flow, 1,
	               "2\t1234\t1235\t98765432101234\t401ffc\n"
	               "2\t1234\t1235\t98765432101234\t401fff\n"
	               "2\t1234\t1235\t98765432101234\t402004\n"
	               "2\t1234\t1235\t98765432101234\t402005\n"
	               "2\t1234\t1235\t98765432101234\t7f12deadbeef\n");
}

static void block_writes_a_line_for_each_block(void **state)
{
	(void)state;
	assert_written(&sink_block, &flow, 1,
	               "2\t1234\t1235\t98765432101234\t401ffc\t402005\t4\n"
	               "2\t1234\t1235\t98765432101234\t7f12deadbeef\t7f12deadbeef\t1\n");
}

/* What the flow above executes, with names: two functions share its first block. */
static struct sb_symbols *name_the_flow(struct sb_resolver **resolver)
{
	static const struct sb_symbol_range ranges[] = {
	        {1234, 0x401ff0, 0x402005, 0, UINT64_MAX, "_ZN3foo3barEi", "first\tfile"},
	        {1234, 0x402005, 0x402010, 0, UINT64_MAX, "second", NULL},
	};
	struct sb_symbols *symbols;

	assert_int_equal(sb_resolver_new(resolver, NULL, 0, 0, NULL), 0);
	assert_int_equal(sb_symbols_new(&symbols, *resolver, NULL, NULL), 0);
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		assert_int_equal(sb_symbols_add_range(symbols, &ranges[i], NULL), 0);
	return symbols;
}

static char *write_with_symbols(const struct sink_type *type, const struct sb_account *account)
{
	struct sb_resolver *resolver;
	struct sink_context context = {.symbols = name_the_flow(&resolver)};
	char *text = write_in_context(&context, type, &flow, 1, account, NULL);

	sb_symbols_free(context.symbols);
	sb_resolver_free(resolver);
	return text;
}

static void symbols_are_two_more_columns(void **state)
{
	char *text = write_with_symbols(&sink_insn, &empty_account);

	(void)state;
	assert_string_equal(text,
	                    "2\t1234\t1235\t98765432101234\t401ffc\tfoo::bar(int)+0xc\tfirst\\x09file\n"
	                    "2\t1234\t1235\t98765432101234\t401fff\tfoo::bar(int)+0xf\tfirst\\x09file\n"
	                    "2\t1234\t1235\t98765432101234\t402004\tfoo::bar(int)+0x14\tfirst\\x09file\n"
	                    "2\t1234\t1235\t98765432101234\t402005\tsecond+0x0\t-\n"
	                    "2\t1234\t1235\t98765432101234\t7f12deadbeef\t-\t-\n");
	free(text);
	text = write_with_symbols(&sink_block, &empty_account);
	assert_string_equal(
	        text, "2\t1234\t1235\t98765432101234\t401ffc\t402005\t4\tfoo::bar(int)+0xc\tfirst\\x09file\n"
	              "2\t1234\t1235\t98765432101234\t7f12deadbeef\t7f12deadbeef\t1\t-\t-\n");
	free(text);
}

static void the_summary_counts_by_function(void **state)
{
	const struct sb_account account = {.ninsn = 5, .nblocks = 2};
	char *text = write_with_symbols(&sink_summary, &account), *table;

	(void)state;
	table = strstr(text, "function (file)\n");
	assert_non_null(table);
	table = strchr(table, '\n') + 1;
	*strstr(table, "\n\n") = '\0';
	assert_string_equal(table, "               3  60.00%  foo::bar(int) (first?file)\n"
	                           "               1  20.00%  - ([unknown])\n"
	                           "               1  20.00%  second ([unknown])");
	free(text);
}

/* --with functions=N. */
static void the_summary_lists_as_many_functions_as_asked_for(void **state)
{
	char one[] = "1";
	const struct sink_option *option = sink_option_find(&sink_summary, "functions", NULL);
	const struct sink_setting setting = {option, one};
	const struct sb_account account = {.ninsn = 5, .nblocks = 2};
	struct sb_resolver *resolver;
	struct sink_context context = {.symbols = name_the_flow(&resolver)};
	struct sink_request request = {
	        .type = &sink_summary, .symbols = true, .setting = &setting, .nsettings = 1};
	struct temp_dir dir;
	struct sink_set *set;
	struct sb_error err;
	char *path, *text;

	(void)state;
	assert_non_null(option);
	temp_dir_make(&dir);
	path = temp_dir_path(&dir, "out");
	request.file = path;
	assert_int_equal(sink_set_new(&set, &request, 1, &context, &err), 0);
	assert_int_equal(sink_set_flow(set, &flow), 0);
	assert_int_equal(sink_set_finish(set, &account, NULL, &err), 0);
	sink_set_free(set);
	text = slurp(path);
	assert_non_null(strstr(text, "               3  60.00%  foo::bar(int) (first?file)\n"));
	assert_null(strstr(text, "20.00%"));
	free(text);
	free(path);
	temp_dir_remove(&dir);
	sb_symbols_free(context.symbols);
	sb_resolver_free(resolver);
}

/* A sink that nobody asked symbols for gets none, though another has them. */
static void symbols_go_to_those_who_asked(void **state)
{
	struct sb_resolver *resolver;
	struct sink_context context = {.symbols = name_the_flow(&resolver)};
	struct sink_request requests[] = {{.type = &sink_block, .symbols = true}, {.type = &sink_block}};
	struct temp_dir dir;
	struct sink_set *set;
	struct sb_error err;
	char *with, *without, *text;

	(void)state;
	temp_dir_make(&dir);
	requests[0].file = with = temp_dir_path(&dir, "with");
	requests[1].file = without = temp_dir_path(&dir, "without");
	assert_int_equal(sink_set_new(&set, requests, 2, &context, &err), 0);
	assert_int_equal(sink_set_flow(set, &flow), 0);
	assert_int_equal(sink_set_finish(set, &empty_account, NULL, &err), 0);
	sink_set_free(set);
	text = slurp(with);
	assert_non_null(strstr(text, "foo::bar"));
	free(text);
	text = slurp(without);
	assert_non_null(strstr(text, "\t401ffc\t402005\t4\n"));
	free(text);
	free(with);
	free(without);
	temp_dir_remove(&dir);
	sb_symbols_free(context.symbols);
	sb_resolver_free(resolver);
}

/* The parts of a line that are kept from line to line must follow every change. */
static void every_column_follows_its_change(void **state)
{
	static const struct pt_run_block block = {
	        .ip = 0x1000, .end_ip = 0x1000, .length = lengths, .ninsn = 1};
	static const struct pt_run_path one = {.block = &block, .nblocks = 1, .ninsn = 1, .id = ptr_no_id};
	static const struct pt_run_path *const ones[] = {&one};
	static const struct sb_flow flows[] = {
	        FLOW(0, 10, 11, 0, ones, 1, 1, 1),   FLOW(0, 10, 11, 5, ones, 1, 1, 1),
	        FLOW(1, 10, 11, 5, ones, 1, 1, 1),   FLOW(1, 123, 11, 5, ones, 1, 1, 1),
	        FLOW(1, 123, 124, 5, ones, 1, 1, 1), FLOW(1, 123, 124, 18000, ones, 1, 1, 1),
	};

	(void)state;
	assert_written(&sink_insn, flows, 6,
	               "0\t10\t11\t0\t1000\n0\t10\t11\t5\t1000\n1\t10\t11\t5\t1000\n"
	               "1\t123\t11\t5\t1000\n1\t123\t124\t5\t1000\n1\t123\t124\t18000\t1000\n");
	assert_written(
	        &sink_block, flows, 3,
	        "0\t10\t11\t0\t1000\t1000\t1\n0\t10\t11\t5\t1000\t1000\t1\n1\t10\t11\t5\t1000\t1000\t1\n");
}

static void extremes_are_written_in_full(void **state)
{
	static const uint8_t one[] = {1, 1, 1};
	static const struct pt_run_block ends[] = {
	        {.ip = 0, .end_ip = 1, .length = one, .ninsn = 2},
	        {.ip = 0xfff, .end_ip = 0x1000, .length = one, .ninsn = 2},
	        {.ip = UINT64_MAX - 1, .end_ip = 0, .length = one, .ninsn = 3},
	};
	static const struct pt_run_path first = {.block = ends, .nblocks = 1, .ninsn = 2, .id = 0};
	static const struct pt_run_path rest = {.block = &ends[1], .nblocks = 2, .ninsn = 5, .id = ptr_no_id};
	static const struct pt_run_path *const both[] = {&first, &rest};
	static const struct sb_flow flows[] = {FLOW(INT32_MAX, -1, INT32_MIN, UINT64_MAX, both, 2, 3, 7)};

	(void)state;
#define IDS "2147483647\t-1\t-2147483648\t18446744073709551615\t"
	assert_written(&sink_insn, flows, 1,
	               IDS "0\n" IDS "1\n" IDS "fff\n" IDS "1000\n" IDS "fffffffffffffffe\n" IDS
	                   "ffffffffffffffff\n" IDS "0\n");
	assert_written(&sink_block, flows, 1,
	               IDS "0\t1\t2\n" IDS "fff\t1000\t2\n" IDS "fffffffffffffffe\t0\t3\n");
}

/* The longest block there is, many times the buffer: printf is the judge. */
static void long_blocks_cross_the_buffer(void **state)
{
	static uint8_t length[UINT16_MAX];
	struct pt_run_block block = {.ip = 0xff0, .length = length, .ninsn = UINT16_MAX};
	const struct pt_run_path long_path = {.block = &block, .nblocks = 1, .ninsn = UINT16_MAX};
	const struct pt_run_path *const long_paths[] = {&long_path};
	struct sb_flow long_flow = FLOW(3, 4, 5, 6, long_paths, 1, 1, UINT16_MAX);
	char expected[64], *text, *at;
	struct temp_dir dir;
	struct sink_set *set;
	struct sb_error err;
	uint64_t ip = 0xff0;
	char *path;
	FILE *file;

	(void)state;
	for (unsigned int i = 0; i < UINT16_MAX; i++)
		length[i] = (uint8_t)(i % 15 + 1);
	temp_dir_make(&dir);
	path = temp_dir_path(&dir, "out");
	set = open_one(&sink_insn, path, &without_symbols);
	assert_int_equal(sink_set_flow(set, &long_flow), 0);
	assert_int_equal(sink_set_finish(set, &empty_account, NULL, &err), 0);
	sink_set_free(set);
	file = fopen(path, "r");
	assert_non_null(file);
	text = malloc(64);
	assert_non_null(text);
	for (unsigned int i = 0; i < UINT16_MAX; i++) {
		snprintf(expected, sizeof(expected), "3\t4\t5\t6\t%" PRIx64 "\n", ip);
		at = fgets(text, 64, file);
		assert_non_null(at);
		assert_string_equal(at, expected);
		ip += length[i];
	}
	assert_null(fgets(text, 64, file));
	fclose(file);
	free(text);
	free(path);
	temp_dir_remove(&dir);
}

static const struct sb_account_thread threads[] = {
        {10, 10, "sh", 100, 20},
        {20, 20, "main\x1b[2J", 7, 2},
        {20, 21, "sixteen-letters!", 3, 1},
};

static void summary_adds_up(void **state)
{
	static const struct sb_gap gap = {.reason = sb_gap_no_binary, .detail = "/usr/bin/\nls"};
	struct sb_account account = {
	        .bytes_total = 1000,
	        .bytes_decoded = 990,
	        .ninsn = 110,
	        .nblocks = 23,
	        .nswitches = 5,
	        .nrecords = 42,
	        .nrecords_skipped = 2,
	        .thread = threads,
	        .nthreads = 3,
	};
	char *text;

	(void)state;
	account.gap[sb_gap_overflow].count = 2;
	account.gap[sb_gap_overflow].bytes = 10;
	account.gap[sb_gap_no_binary].count = 1;
	text = write_flows(&sink_summary, &flow, 1, &account, &gap);
	assert_string_equal(
	        text,
	        "   process     thread  command              instructions           blocks\n"
	        "        10         10  sh                            100               20\n"
	        "        20             main\\x1b[2J                    10                3\n"
	        "                   20  main\\x1b[2J                     7                2\n"
	        "                   21  sixteen-letters!                3                1\n"
	        "     total                                           110               23\n"
	        "\n"
	        "2 processes, 3 threads, 5 switches; 42 sideband records, 2 of types that are not used\n"
	        "\n"
	        "gaps                          count    bytes skipped\n"
	        "  overflow                        2               10\n"
	        "    avoided by: trace less: user space only, an address filter, no CYC packets, fewer CPUs\n"
	        "  no-binary                       1                0\n"
	        "    1 x /usr/bin/\\x0als\n"
	        "    avoided by: give the machine's files with --root, or keep them with sbtrace bundle\n"
	        "  total                           3               10\n"
	        "\n"
	        "bytes of trace: 1000 total = 990 decoded + 10 skipped (the account balances)\n");
	free(text);
}

static void summary_has_a_table_of_containers(void **state)
{
	static const struct sb_container docker = {
	        .kind = sb_container_containerd,
	        .id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	        .pod = "2fc932ce-fdcc-454b-97bd-aadfdeb4c340",
	        .cgroup = ""};
	static const struct sb_container lxc = {
	        .kind = sb_container_lxc, .id = "we\x1b[2Jb", .pod = "", .cgroup = ""};
	static const struct sb_account_container sums[] = {
	        {&docker, 2, 60, 6}, {&lxc, 1, 40, 4}, {NULL, 3, 10, 1}};
	struct sb_account account = {.container = sums, .ncontainers = 3};
	char *text;

	(void)state;
	text = write_flows(&sink_summary, NULL, 0, &account, NULL);
	assert_non_null(strstr(
	        text,
	        "\n\n"
	        "container        kind       pod                                  processes     instructions           "
	        "blocks\n"
	        "0123456789ab     containerd 2fc932ce-fdcc-454b-97bd-aadfdeb4c340         2               60           "
	        "     6\n"
	        "we\\x1b[2Jb       lxc        -                                            1               40           "
	        "     4\n"
	        "(outside)        -          -                                            3               10           "
	        "     1\n"
	        "\n"));
	free(text);
	account.ncontainers = 0;
	account.ninsn_filtered = 4711;
	text = write_flows(&sink_summary, NULL, 0, &account, NULL);
	assert_null(strstr(text, "container"));
	assert_non_null(
	        strstr(text, "that are not used\n4711 instructions are left out, as asked for\n\ngaps"));
	free(text);
}

static void summary_tells_a_wrong_account(void **state)
{
	struct sb_account account = {.bytes_total = 1000, .bytes_decoded = 990};
	char *text;

	(void)state;
	text = write_flows(&sink_summary, NULL, 0, &account, NULL);
	assert_non_null(strstr(text, "1000 total IS NOT 990 decoded + 0 skipped (THE ACCOUNT IS WRONG)"));
	free(text);
}

/* However many files are missing, a few are named and the others counted. */
static void summary_bounds_the_details(void **state)
{
	struct sb_account account = {0};
	struct sb_gap gap = {.reason = sb_gap_no_binary};
	struct temp_dir dir;
	struct sink_set *set;
	struct sb_error err;
	char *path, *text;

	(void)state;
	account.gap[sb_gap_no_binary].count = 200;
	temp_dir_make(&dir);
	path = temp_dir_path(&dir, "out");
	set = open_one(&sink_summary, path, &without_symbols);
	for (int i = 0; i < 200; i++) {
		snprintf(gap.detail, sizeof(gap.detail), "file%d", i % 100);
		assert_int_equal(sink_set_gap(set, &gap), 0);
	}
	assert_int_equal(sink_set_finish(set, &account, NULL, &err), 0);
	sink_set_free(set);
	text = slurp(path);
	assert_non_null(text);
	assert_non_null(strstr(text,
	                       "    2 x file0\n    2 x file1\n    2 x file2\n    2 x file3\n    2 x file4\n"
	                       "    190 x others\n"));
	free(text);
	free(path);
	temp_dir_remove(&dir);
}

/* What a filter leaves of one flow, as the insn sink writes it. */
static void assert_filtered(const struct sink_filter *filter, bool of_all, const char *expected)
{
	struct sb_resolver *resolver;
	struct sink_context context = {.symbols = name_the_flow(&resolver)};
	struct sink_request request = {.type = &sink_insn, .filter = of_all ? NULL : filter};
	struct temp_dir dir;
	struct sink_set *set;
	struct sb_error err;
	char *path, *text;

	temp_dir_make(&dir);
	request.file = path = temp_dir_path(&dir, "out");
	assert_int_equal(sink_set_new(&set, &request, 1, &context, &err), 0);
	if (of_all)
		assert_int_equal(sink_set_filter(set, filter), 0);
	assert_int_equal(sink_set_flow(set, &flow), 0);
	assert_int_equal(sink_set_flow(set, &flow), 0);
	assert_int_equal(sink_set_finish(set, &empty_account, NULL, &err), 0);
	sink_set_free(set);
	text = slurp(path);
	/* Both times the same. */
	assert_int_equal(strlen(text), 2 * strlen(expected));
	assert_memory_equal(text, expected, strlen(expected));
	assert_string_equal(text + strlen(expected), expected);
	free(text);
	free(path);
	temp_dir_remove(&dir);
	sb_symbols_free(context.symbols);
	sb_resolver_free(resolver);
}

#define LINE(ip) "2\t1234\t1235\t98765432101234\t" ip "\n"
#define ALL      LINE("401ffc") LINE("401fff") LINE("402004") LINE("402005") LINE("7f12deadbeef")

static void a_filter_takes_what_is_wanted(void **state)
{
	static const int32_t right[] = {7, 2, 1234}, wrong[] = {7};
	static const struct sink_range middle[] = {{0x401fff, 0x402005}},
	                               odd[] = {{0x7f12deadbeef, 0x7f12deadbef0}, {0x401000, 0x401fff}};
	static const char *const foo[] = {"f*"}, *const both[] = {"second", "foo::*"},
	                         *const none[] = {"main"};

	(void)state;
	assert_filtered(&(struct sink_filter){.cpu = right, .ncpus = 3}, false, ALL);
	assert_filtered(&(struct sink_filter){.cpu = wrong, .ncpus = 1}, false, "");
	assert_filtered(&(struct sink_filter){.pid = right, .npids = 3}, true, ALL);
	assert_filtered(&(struct sink_filter){.pid = wrong, .npids = 1}, true, "");
	assert_filtered(&(struct sink_filter){.tsc_from = 98765432101234, .tsc_to = UINT64_MAX}, false, ALL);
	assert_filtered(&(struct sink_filter){.tsc_to = 98765432101233}, false, "");
	assert_filtered(&(struct sink_filter){.address = middle, .naddresses = 1}, false,
	                LINE("401fff") LINE("402004"));
	assert_filtered(&(struct sink_filter){.address = odd, .naddresses = 2}, true,
	                LINE("401ffc") LINE("7f12deadbeef"));
	assert_filtered(&(struct sink_filter){.function = foo, .nfunctions = 1}, false,
	                LINE("401ffc") LINE("401fff") LINE("402004"));
	assert_filtered(&(struct sink_filter){.function = both, .nfunctions = 2}, true,
	                LINE("401ffc") LINE("401fff") LINE("402004") LINE("402005"));
	assert_filtered(&(struct sink_filter){.function = none, .nfunctions = 1}, false, "");
	assert_filtered(
	        &(struct sink_filter){.function = foo, .nfunctions = 1, .address = middle, .naddresses = 1},
	        false, LINE("401fff") LINE("402004"));
	/* Nobody knows its container. */
	assert_filtered(&(struct sink_filter){.container = foo, .ncontainers = 1}, false, "");
}

/* The pieces of a block are blocks. */
static void a_cut_block_ends_where_it_was_cut(void **state)
{
	static const struct sink_range first = {0x401fff, 0x402005};
	static const struct sink_filter filter = {.address = &first, .naddresses = 1};
	struct sink_request request = {.type = &sink_block, .filter = &filter};
	struct temp_dir dir;
	struct sink_set *set;
	struct sb_error err;
	char *path, *text;

	(void)state;
	temp_dir_make(&dir);
	request.file = path = temp_dir_path(&dir, "out");
	assert_int_equal(sink_set_new(&set, &request, 1, &without_symbols, &err), 0);
	assert_int_equal(sink_set_flow(set, &flow), 0);
	assert_int_equal(sink_set_finish(set, &empty_account, NULL, &err), 0);
	sink_set_free(set);
	text = slurp(path);
	assert_string_equal(text, "2\t1234\t1235\t98765432101234\t401fff\t402004\t2\n");
	free(text);
	free(path);
	temp_dir_remove(&dir);
}

/* A gap that is small must not be rounded away. */
static void only_all_is_a_hundred_percent(void **state)
{
	char text[16];

	(void)state;
	snprintf(text, sizeof(text), "%.2f", share_percent(999999999, 1000000000));
	assert_string_equal(text, "99.99");
	snprintf(text, sizeof(text), "%.2f", share_percent(1, 1000000000));
	assert_string_equal(text, "0.01");
	snprintf(text, sizeof(text), "%.2f", share_percent(1, 3));
	assert_string_equal(text, "33.33");
	assert_true(share_percent(7, 7) == 100);
	assert_true(share_percent(0, 7) == 0);
	assert_true(share_percent(0, 0) == 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	        cmocka_unit_test(insn_writes_a_line_for_each_instruction),
	        cmocka_unit_test(symbols_are_two_more_columns),
	        cmocka_unit_test(the_summary_counts_by_function),
	        cmocka_unit_test(the_summary_lists_as_many_functions_as_asked_for),
	        cmocka_unit_test(symbols_go_to_those_who_asked),
	        cmocka_unit_test(block_writes_a_line_for_each_block),
	        cmocka_unit_test(every_column_follows_its_change),
	        cmocka_unit_test(extremes_are_written_in_full),
	        cmocka_unit_test(long_blocks_cross_the_buffer),
	        cmocka_unit_test(summary_adds_up),
	        cmocka_unit_test(summary_has_a_table_of_containers),
	        cmocka_unit_test(summary_tells_a_wrong_account),
	        cmocka_unit_test(summary_bounds_the_details),
	        cmocka_unit_test(a_filter_takes_what_is_wanted),
	        cmocka_unit_test(only_all_is_a_hundred_percent),
	        cmocka_unit_test(a_cut_block_ends_where_it_was_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
