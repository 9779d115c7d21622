/* test_symbols.c - the symbol of what a process, or the kernel, executed at some time: mappings, perf map
 * files, KSYMBOL records, kallsyms. The file is this program itself; the dynamic linker says where its
 * functions are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <link.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sb/symbols.h>

#include "support/temp_dir.h"
#include "system/system.h"

enum { process = 100, base = 0x7f0000000000 };

struct fixture {
	struct temp_dir dir;
	struct sb_resolver *resolver;
	struct sb_symbols *symbols;
	struct sb_system *system;
};

static void mkdir_in(const struct temp_dir *dir, const char *name)
{
	char *path = temp_dir_path(dir, name);

	assert_int_equal(mkdir(path, 0777), 0);
	free(path);
}

static void open_symbols(struct fixture *fixture, int with_root)
{
	const char *const root = fixture->dir.path;
	struct sb_error err;

	assert_int_equal(sb_resolver_new(&fixture->resolver, &root, with_root != 0, with_root, &err), 0);
	assert_int_equal(sb_symbols_new(&fixture->symbols, fixture->resolver, NULL, &err), 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	temp_dir_make(&fixture->dir);
	mkdir_in(&fixture->dir, "tmp");
	fixture->system = system_new(0);
	assert_non_null(fixture->system);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	sb_symbols_free(fixture->symbols);
	sb_resolver_free(fixture->resolver);
	sb_system_free(fixture->system);
	temp_dir_remove(&fixture->dir);
	free(fixture);
	return 0;
}

static void map(struct fixture *fixture, uint64_t addr, uint64_t len, uint64_t pgoff, const char *filename)
{
	struct sb_record record = {.type = PERF_RECORD_MMAP2};

	record.sample.has = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	record.sample.pid = record.sample.tid = process;
	record.sample.time = 1;
	record.u.mmap.pid = record.u.mmap.tid = process;
	record.u.mmap.addr = addr;
	record.u.mmap.len = len;
	record.u.mmap.pgoff = pgoff;
	record.u.mmap.filename = filename;
	record.u.mmap.prot = PROT_READ | PROT_EXEC;
	record.u.mmap.is_mmap2 = 1;
	assert_int_equal(system_record(fixture->system, &record), 0);
}

static const struct sb_epoch *epoch_of(struct fixture *fixture)
{
	const struct sb_space *space;

	assert_int_equal(system_seal(fixture->system, 0), 0);
	space = sb_system_space(fixture->system, process, 100);
	assert_non_null(space);
	return sb_space_epoch(space, 100);
}

static struct sb_symbol find(const struct fixture *fixture, const struct sb_epoch *epoch, uint64_t ip,
                             uint64_t time)
{
	const struct sb_symbols_place place = {.epoch = epoch, .pid = process, .ip = ip, .time = time};
	struct sb_symbol symbol;
	struct sb_error err;

	assert_int_equal(sb_symbols_find(fixture->symbols, &place, &symbol, &err), 0);
	assert_true(symbol.low <= ip && ip < symbol.high);
	/* No answer is one for a process and for the kernel. */
	assert_int_equal(symbol.low >> 63, ip >> 63);
	assert_int_equal((symbol.high - 1) >> 63, ip >> 63);
	assert_true(symbol.from <= time && time < symbol.to);
	return symbol;
}

static void assert_symbol(const struct sb_symbol *symbol, const char *name, uint64_t begin, const char *dso)
{
	if (!name)
		assert_null(symbol->name);
	else if (!symbol->name)
		fail_msg("no name, expected %s", name);
	else
		assert_string_equal(symbol->name, name);
	assert_int_equal(symbol->begin, begin);
	if (!dso)
		assert_null(symbol->dso);
	else
		assert_string_equal(symbol->dso, dso);
}

/* ---- This program ------------------------------------------------------------------------------ */

__attribute__((noinline, used)) static int a_function_of_this_program(int n)
{
	__asm__ volatile("" : "+r"(n));
	return 3 * n + 1;
}

struct self {
	uint64_t load, offset, address, size; /* of the code segment */
};

static int read_self(struct dl_phdr_info *info, size_t size, void *context)
{
	struct self *self = context;

	(void)size;
	self->load = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; ++i)
		if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X)) {
			self->offset = info->dlpi_phdr[i].p_offset;
			self->address = info->dlpi_phdr[i].p_vaddr;
			self->size = info->dlpi_phdr[i].p_memsz;
		}
	return 1;
}

static void a_mapped_file_has_its_symbols_wherever_it_is(void **state)
{
	struct fixture *fixture = *state;
	const struct sb_epoch *epoch;
	struct sb_symbol symbol;
	struct self self;
	char path[4096] = "";
	uint64_t linked, ip;

	dl_iterate_phdr(read_self, &self);
	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	/* A segment need not begin where a page does. */
	map(fixture, base, ((self.offset & 4095) + self.size + 4095) & ~4095ull, self.offset & ~4095ull,
	    path);
	epoch = epoch_of(fixture);
	open_symbols(fixture, 0);
	linked = (uintptr_t)a_function_of_this_program - self.load;
	ip = base + (linked - self.address) + (self.offset & 4095);
	symbol = find(fixture, epoch, ip + 1, 50);
	assert_symbol(&symbol, "a_function_of_this_program", ip, path);
	assert_int_equal(symbol.low, ip);
	symbol = find(fixture, epoch, ip, 50);
	assert_symbol(&symbol, "a_function_of_this_program", ip, path);
	/* Other mappings, and none. */
	symbol = find(fixture, epoch, base - 1, 50);
	assert_symbol(&symbol, NULL, 0, NULL);
	assert_int_equal(symbol.high, base);
	symbol = find(fixture, NULL, ip, 50);
	assert_symbol(&symbol, NULL, 0, NULL);
	assert_int_equal(
	        sb_symbols_find_in_file(fixture->symbols, path, linked, sb_address_linked, &symbol, NULL), 0);
	assert_symbol(&symbol, "a_function_of_this_program", linked, path);
}

static void a_file_that_is_none_has_no_symbols(void **state)
{
	struct fixture *fixture = *state;
	const struct sb_epoch *epoch;
	struct sb_symbol symbol;

	free(temp_dir_write(&fixture->dir, "text", "this is no ELF file", 19));
	map(fixture, base, 4096, 0, "/text");
	map(fixture, base + 0x10000, 4096, 0, "/missing");
	epoch = epoch_of(fixture);
	open_symbols(fixture, 1);
	symbol = find(fixture, epoch, base + 5, 50);
	assert_symbol(&symbol, NULL, 0, "/text");
	symbol = find(fixture, epoch, base + 0x10005, 50);
	assert_symbol(&symbol, NULL, 0, "/missing");
}

/* ---- Generated code ----------------------------------------------------------------------------- */

static void code_in_no_file_is_named_by_the_perf_map(void **state)
{
	static const char text[] = "7f0000000000 20 lazy foo\n"
	                           "7f0000000020 10 _ZN3foo3barEi\n"
	                           "junk\n"
	                           "-5 7 no\n"
	                           "7f0000000100\n"
	                           "7f0000000010 8 again\n"
	                           "0x7f0000000040 0x10 with 0x\n"
	                           "fffffffffffffff0 20 to the end";
	struct fixture *fixture = *state;
	const struct sb_epoch *epoch;
	struct sb_symbol symbol;

	free(temp_dir_write(&fixture->dir, "tmp/perf-100.map", text, sizeof(text) - 1));
	map(fixture, base, 4096, 0, "//anon");
	epoch = epoch_of(fixture);
	open_symbols(fixture, 1);
	symbol = find(fixture, epoch, base + 0xf, 50);
	assert_symbol(&symbol, "lazy foo", base, "/tmp/perf-100.map");
	symbol = find(fixture, epoch, base + 0x17, 50);
	assert_symbol(&symbol, "again", base + 0x10, "/tmp/perf-100.map");
	symbol = find(fixture, epoch, base + 0x18, 50);
	assert_symbol(&symbol, "lazy foo", base, "/tmp/perf-100.map");
	symbol = find(fixture, epoch, base + 0x20, 50);
	assert_symbol(&symbol, "foo::bar(int)", base + 0x20, "/tmp/perf-100.map");
	assert_string_equal(symbol.mangled, "_ZN3foo3barEi");
	symbol = find(fixture, epoch, base + 0x30, 50);
	assert_symbol(&symbol, NULL, 0, "//anon");
	symbol = find(fixture, epoch, base + 0x4f, 50);
	assert_symbol(&symbol, "with 0x", base + 0x40, "/tmp/perf-100.map");
}

static void announced_ranges_win_and_have_their_time(void **state)
{
	struct fixture *fixture = *state;
	const struct sb_epoch *epoch;
	struct sb_symbol symbol;
	struct sb_symbol_range range = {.pid = process,
	                                .begin = base + 0x10,
	                                .end = base + 0x20,
	                                .from = 10,
	                                .to = UINT64_MAX,
	                                .name = "first",
	                                .dso = "jit"};

	free(temp_dir_write(&fixture->dir, "tmp/perf-100.map", "7f0000000000 100 old", 20));
	map(fixture, base, 4096, 0, "//anon");
	epoch = epoch_of(fixture);
	open_symbols(fixture, 1);
	assert_int_equal(sb_symbols_add_range(fixture->symbols, &range, NULL), 0);
	range.name = "second";
	range.dso = NULL;
	range.from = 20;
	range.begin = base + 0x18;
	assert_int_equal(sb_symbols_add_range(fixture->symbols, &range, NULL), 0);
	symbol = find(fixture, epoch, base + 0x18, 9);
	assert_symbol(&symbol, "old", base, "/tmp/perf-100.map");
	assert_int_equal(symbol.to, 10);
	symbol = find(fixture, epoch, base + 0x18, 10);
	assert_symbol(&symbol, "first", base + 0x10, "jit");
	assert_int_equal(symbol.from, 10);
	assert_int_equal(symbol.to, 20);
	symbol = find(fixture, epoch, base + 0x18, 20);
	assert_symbol(&symbol, "second", base + 0x18, "//anon");
	symbol = find(fixture, epoch, base + 0x17, 20);
	assert_symbol(&symbol, "first", base + 0x10, "jit");
	symbol = find(fixture, epoch, base + 0x28, 20);
	assert_symbol(&symbol, "old", base, "/tmp/perf-100.map");
}

/* ---- The kernel --------------------------------------------------------------------------------- */

static const char kallsyms[] = "0000000000000000 A fixed_percpu_data\n"
                               "ffffffff81000000 T _stext\n"
                               "ffffffff81000000 T startup_64\n"
                               "ffffffff81000100 t do_one\n"
                               "ffffffff81000180 W do_weak\n"
                               "ffffffff81000200 D some_data\n"
                               "ffffffff81000300 T last\n"
                               "ffffffffc0000000 t in_module\t[zram]\n"
                               "ffffffffc0000040 r in_module_data\t[zram]\n"
                               "ffffffffc0001000 t other\t[loop]\n";

static void write_kallsyms(struct fixture *fixture)
{
	char *path = temp_dir_write(&fixture->dir, "kallsyms", kallsyms, sizeof(kallsyms) - 1);
	struct sb_error err;

	open_symbols(fixture, 1);
	if (sb_symbols_add_kallsyms(fixture->symbols, path, &err))
		fail_msg("%s", err.text);
	free(path);
}

static void kallsyms_names_the_kernel_and_its_modules(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t text = 0xffffffff81000000, module = 0xffffffffc0000000;
	struct sb_symbol symbol;

	write_kallsyms(fixture);
	symbol = find(fixture, NULL, text + 0xff, 0);
	assert_symbol(&symbol, "_stext", text, "[kernel.kallsyms]");
	symbol = find(fixture, NULL, text + 0x17f, 0);
	assert_symbol(&symbol, "do_one", text + 0x100, "[kernel.kallsyms]");
	symbol = find(fixture, NULL, text + 0x1ff, 0);
	assert_symbol(&symbol, "do_weak", text + 0x180, "[kernel.kallsyms]");
	symbol = find(fixture, NULL, text + 0x200, 0);
	assert_symbol(&symbol, NULL, 0, NULL);
	symbol = find(fixture, NULL, text + 0x3ff, 0);
	assert_symbol(&symbol, "last", text + 0x300, "[kernel.kallsyms]");
	/* Nobody says where it ends; it is not all that follows. */
	symbol = find(fixture, NULL, text + 0x10000, 0);
	assert_symbol(&symbol, NULL, 0, NULL);
	symbol = find(fixture, NULL, module + 0x3f, 0);
	assert_symbol(&symbol, "in_module", module, "[zram]");
	symbol = find(fixture, NULL, module + 0x40, 0);
	assert_symbol(&symbol, NULL, 0, NULL);
	symbol = find(fixture, NULL, module + 0x1005, 0);
	assert_symbol(&symbol, "other", module + 0x1000, "[loop]");
	symbol = find(fixture, NULL, UINT64_MAX - 1, 0);
	assert_symbol(&symbol, NULL, 0, NULL);
}

static void what_the_kernel_announces_comes_and_goes(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t text = 0xffffffff81000000;
	struct sb_symbol_range range = {.pid = -1,
	                                .begin = text + 0x110,
	                                .end = text + 0x120,
	                                .from = 10,
	                                .to = UINT64_MAX,
	                                .name = "bpf_prog_1",
	                                .dso = "[bpf]"};
	struct sb_symbol symbol;

	write_kallsyms(fixture);
	assert_int_equal(sb_symbols_add_range(fixture->symbols, &range, NULL), 0);
	range.name = range.dso = NULL;
	range.from = 20;
	assert_int_equal(sb_symbols_add_range(fixture->symbols, &range, NULL), 0);
	symbol = find(fixture, NULL, text + 0x118, 9);
	assert_symbol(&symbol, "do_one", text + 0x100, "[kernel.kallsyms]");
	symbol = find(fixture, NULL, text + 0x118, 10);
	assert_symbol(&symbol, "bpf_prog_1", text + 0x110, "[bpf]");
	symbol = find(fixture, NULL, text + 0x118, 20);
	assert_symbol(&symbol, "do_one", text + 0x100, "[kernel.kallsyms]");
}

/* A KSYMBOL record with the trailer of raw pairs: pid and tid, time, CPU, identifier. */
static size_t put_ksymbol(uint8_t *to, uint64_t addr, uint32_t len, uint16_t type, uint16_t flags,
                          const char *name, uint64_t time)
{
	struct {
		struct perf_event_header header;
		uint64_t addr;
		uint32_t len;
		uint16_t type, flags;
		char name[16];
		uint64_t pid_tid, time, cpu, identifier;
	} record = {.header = {.type = PERF_RECORD_KSYMBOL, .size = sizeof(record)},
	            .addr = addr,
	            .len = len,
	            .type = type,
	            .flags = flags,
	            .time = time};

	snprintf(record.name, sizeof(record.name), "%s", name);
	memcpy(to, &record, sizeof(record));
	return sizeof(record);
}

static void write_ksymbols(struct fixture *fixture, uint64_t at)
{
	uint8_t records[512];
	size_t size = put_ksymbol(records, at + 0x10, 0x10, 1, 0, "bpf_prog_early", 0);

	size += put_ksymbol(records + size, at + 0x10, 0x10, 1, 1, "bpf_prog_early", 20);
	size += put_ksymbol(records + size, at + 0x18, 0x20, 2, 0, "kprobe_page", 30);
	free(temp_dir_write(&fixture->dir, "cpu0.pevent", records, size));
	free(temp_dir_write(&fixture->dir, "cpu0.pt", "", 0));
}

static void a_recording_brings_kallsyms_and_ksymbols(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t text = 0xffffffff81000000, program = 0xffffffffc0100000;
	struct sb_perfdata *perfdata;
	struct sb_symbol symbol;
	struct sb_error err = {0};

	mkdir_in(&fixture->dir, "kcore_dir");
	free(temp_dir_write(&fixture->dir, "kcore_dir/kallsyms", kallsyms, sizeof(kallsyms) - 1));
	write_ksymbols(fixture, program);
	open_symbols(fixture, 1);
	assert_int_equal(sb_perfdata_open(&perfdata, fixture->dir.path, &err), 0);
	sb_system_free(fixture->system);
	assert_int_equal(sb_system_build(&fixture->system, perfdata, &err), 0);
	if (sb_symbols_add_recording(fixture->symbols, perfdata, fixture->system, &err))
		fail_msg("%s", err.text);
	sb_perfdata_close(perfdata);
	symbol = find(fixture, NULL, text + 0x100, 5);
	assert_symbol(&symbol, "do_one", text + 0x100, "[kernel.kallsyms]");
	symbol = find(fixture, NULL, program + 0x1f, 19);
	assert_symbol(&symbol, "bpf_prog_early", program + 0x10, "[bpf]");
	symbol = find(fixture, NULL, program + 0x1f, 20);
	assert_symbol(&symbol, NULL, 0, NULL);
	assert_int_equal(symbol.to, 30);
	symbol = find(fixture, NULL, program + 0x1f, 30);
	assert_symbol(&symbol, "kprobe_page", program + 0x18, "[out-of-line]");
	symbol = find(fixture, NULL, program + 0x10, 30);
	assert_symbol(&symbol, NULL, 0, NULL);
}

static void assert_refused(struct fixture *fixture, const char *text, int code, const char *why)
{
	char *path = temp_dir_write(&fixture->dir, "kallsyms", text, strlen(text));
	struct sb_error err = {0};

	assert_int_equal(sb_symbols_add_kallsyms(fixture->symbols, path, &err), code);
	if (!strstr(err.text, why))
		fail_msg("expected '%s' in '%s'", why, err.text);
	free(path);
}

static void kallsyms_that_tells_nothing_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct sb_error err = {0};

	open_symbols(fixture, 1);
	assert_refused(fixture, "0000000000000000 T _text\n0000000000000000 t x\n", -sbe_unsupported,
	               "all addresses are zero");
	assert_refused(fixture, "", -sbe_format, "expected lines");
	assert_refused(fixture, "hello\n[\n\t\n", -sbe_format, "expected lines");
	assert_refused(fixture, "0000000000001000 T user\n", -sbe_format, "expected functions");
	assert_refused(fixture, "ffffffff81000000 D data\n", -sbe_format, "expected functions");
	assert_int_equal(sb_symbols_add_kallsyms(fixture->symbols, "/nonexistent", &err), -sbe_not_found);
	assert_int_equal(sb_symbols_add_kallsyms(fixture->symbols, "/dev/zero", &err), -sbe_io);
	assert_int_equal(sb_symbols_add_vmlinux(fixture->symbols, "/etc/passwd", 0, &err), -sbe_format);
}

/* ---- Threads ------------------------------------------------------------------------------------ */

static void *ask(void *context)
{
	const struct fixture *fixture = context;

	for (uint64_t i = 0; i < 2000; ++i) {
		struct sb_symbol symbol;
		const struct sb_symbols_place place = {.pid = (int32_t)(i % 7),
		                                       .ip = 0xffffffff81000000 + i % 0x400};

		if (sb_symbols_find(fixture->symbols, &place, &symbol, NULL) < 0)
			return context;
	}
	return NULL;
}

static void threads_may_share(void **state)
{
	struct fixture *fixture = *state;
	pthread_t thread[4];

	write_kallsyms(fixture);
	for (int i = 0; i < 4; ++i)
		assert_int_equal(pthread_create(&thread[i], NULL, ask, fixture), 0);
	for (int i = 0; i < 4; ++i) {
		void *result;

		pthread_join(thread[i], &result);
		assert_null(result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(a_mapped_file_has_its_symbols_wherever_it_is, set_up,
	                                        tear_down),
	        cmocka_unit_test_setup_teardown(a_file_that_is_none_has_no_symbols, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(code_in_no_file_is_named_by_the_perf_map, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(announced_ranges_win_and_have_their_time, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(kallsyms_names_the_kernel_and_its_modules, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(what_the_kernel_announces_comes_and_goes, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(a_recording_brings_kallsyms_and_ksymbols, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(kallsyms_that_tells_nothing_is_refused, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(threads_may_share, set_up, tear_down),
	};

	a_function_of_this_program(1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
