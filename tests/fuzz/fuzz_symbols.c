/* fuzz_symbols.c - files that symbols come from: ELF (the input begins like one), else by the first letter
 * /proc/kallsyms (k), a perf map (m), or a mangled name (_). Whatever is in them, each address has one
 * answer, which is the same wherever its bounds say so. */
#include <string.h>

#include <sb/symbols.h>

#include "binary/elf_symbols.h"
#include "binary/perf_map.h"
#include "binary/symbol_kernel.h"
#include "support/check.h"
#include "support/memory_file.h"
#include "support/target.h"

enum { probes_most = 400, file_size_most = 1 << 28 };

static struct memory_file file;

/* ---- ELF -------------------------------------------------------------------------------------- */

/* The answer holds at the ends of its bounds, too. */
static void check_table(const struct symbol_table *table, uint64_t address)
{
	uint64_t low, high, again_low, again_high;
	struct table_symbol *symbol = symbol_table_find(table, address, &low, &high);

	FUZZ_CHECK(low <= address && address < high, "%zx in %zx-%zx", (size_t)address, (size_t)low,
	           (size_t)high);
	FUZZ_CHECK(!symbol || symbol->begin <= address, "begins behind it");
	FUZZ_CHECK(!symbol || address < symbol->end, "ends before it");
	FUZZ_CHECK(!symbol || strlen(symbol->name.raw) < file_size_most, "a name without an end");
	FUZZ_CHECK(symbol_table_find(table, low, &again_low, &again_high) == symbol,
	           "another one at its begin");
	FUZZ_CHECK(again_low == low && again_high == high, "other bounds at its begin");
	FUZZ_CHECK(symbol_table_find(table, high - 1, &again_low, &again_high) == symbol,
	           "another one at its end");
}

static void probe(const struct elf_symbols *symbols, uint64_t address)
{
	uint64_t low, high;
	struct table_symbol *symbol = elf_symbols_find(symbols, address, &low, &high);

	if (address == UINT64_MAX)
		return;
	FUZZ_CHECK(low <= address && address < high, "out of bounds");
	FUZZ_CHECK(!symbol || symbol->begin <= address, "begins behind it");
	check_table(&symbols->table, address);
	check_table(&symbols->plt, address);
}

static void probe_table(const struct elf_symbols *symbols, const struct symbol_table *table)
{
	for (size_t i = 0; i < table->nsegments && i < probes_most; ++i) {
		probe(symbols, table->segment[i].begin - 1);
		probe(symbols, table->segment[i].begin);
	}
}

/* The file is its own debug file. */
static int find_itself(void *context, struct elf_image *debug)
{
	(void)context;
	return elf_image_map(debug, file.fd) == 0 ? 0 : -sbe_not_found;
}

static void probe_offset(const struct elf_symbols *symbols, uint64_t offset)
{
	uint64_t address, low, high;

	if (elf_codes_address(&symbols->codes, offset, &address, &low, &high))
		FUZZ_CHECK(low <= offset && offset < high, "out of bounds");
}

static void run_elf(const uint8_t *data, size_t size)
{
	const struct elf_symbols_options options = {.find_debug = find_itself,
	                                            .module_base = 0xffffffffc0000000};
	struct elf_symbols symbols;
	int status;

	memory_file_set(&file, data, size);
	status = elf_symbols_load(&symbols, file.fd, &options);
	FUZZ_CHECK(status == 0 || status == -sbe_format, "status %d", status);
	if (status == 0) {
		probe_table(&symbols, &symbols.table);
		probe_table(&symbols, &symbols.plt);
		for (uint64_t offset = 0; offset < size + 2; offset += 7)
			probe_offset(&symbols, offset);
	}
	elf_symbols_fini(&symbols);
}

/* ---- Texts ------------------------------------------------------------------------------------ */

static void run_kallsyms(const uint8_t *data, size_t size)
{
	struct symbol_kernel kernel = {0};
	struct sb_error err = {0};
	int status;

	memory_file_set(&file, data, size);
	status = symbol_kernel_add_kallsyms(&kernel, file.name, &err);
	FUZZ_CHECK(status == 0 || err.text[0], "no reason");
	for (size_t i = 0; status == 0 && i < kernel.kallsyms.table.nsegments && i < probes_most; ++i) {
		const uint64_t address = kernel.kallsyms.table.segment[i].begin;
		struct symbol_bounds bounds = {.high = UINT64_MAX, .to = UINT64_MAX};
		const char *dso;
		struct table_symbol *symbol;

		FUZZ_CHECK(symbol_kernel_find(&kernel, address, &symbol, &dso, &bounds) == 0, "no memory");
		FUZZ_CHECK(!symbol == !dso, "a symbol of nothing");
		FUZZ_CHECK(!dso || strlen(dso) < size + 32, "a module without an end");
		if (address < UINT64_MAX)
			check_table(&kernel.kallsyms.table, address);
	}
	symbol_kernel_fini(&kernel);
}

static void run_perf_map(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct symbol_ranges ranges = {0};

	FUZZ_CHECK(text, "no memory");
	memcpy(text, data, size);
	text[size] = '\0';
	FUZZ_CHECK(perf_map_parse(text, "map", &ranges) == 0, "no memory");
	for (size_t i = 0; i < ranges.nentries && i < probes_most; ++i) {
		struct symbol_bounds bounds = {.high = UINT64_MAX, .to = UINT64_MAX};
		const uint64_t address = ranges.entry[i].begin;
		struct range_entry *found;

		FUZZ_CHECK(symbol_ranges_find(&ranges, address, i % 3, &found, &bounds) == 0, "no memory");
		FUZZ_CHECK(found && found->begin <= address && address < found->end, "another one");
		FUZZ_CHECK(bounds.low <= address && address < bounds.high, "out of bounds");
	}
	symbol_ranges_fini(&ranges);
	free(text);
}

static void run_name(const uint8_t *data, size_t size)
{
	char *name = malloc(size + 1), readable[2048];
	size_t length;

	FUZZ_CHECK(name, "no memory");
	memcpy(name, data, size);
	name[size] = '\0';
	length = sb_demangle(name, readable, sizeof(readable));
	FUZZ_CHECK(length < sizeof(readable), "longer than there is room");
	FUZZ_CHECK(!length || strlen(readable) <= length, "no end");
	free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!file.name[0])
		memory_file_open(&file);
	if (!size)
		return 0;
	switch (data[0]) {
	case 0x7f:
		run_elf(data, size);
		break;
	case 'k':
		run_kallsyms(data + 1, size - 1);
		break;
	case 'm':
		run_perf_map(data + 1, size - 1);
		break;
	case '_':
		run_name(data, size);
		break;
	default:
		break;
	}
	return 0;
}
