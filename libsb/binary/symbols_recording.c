/* symbols_recording.c - the symbols that a recording brings along; see sb_symbols_add_recording(). */
#include <sb/kernel.h>
#include <sb/symbols.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/perf_event.h>

#include "binary/resolver.h"
#include "binary/symbols_internal.h"

/* The type of a KSYMBOL as the place it is in. */
static const char *dso_of(uint16_t type)
{
	switch (type) {
	case PERF_RECORD_KSYMBOL_TYPE_BPF:
		return "[bpf]";
	case PERF_RECORD_KSYMBOL_TYPE_OOL:
		return "[out-of-line]";
	default:
		return "[ksymbol]";
	}
}

/* Programs of which no KSYMBOL tells, by the names that the kernel gives: KSYMBOLs, which come later, win. */
static int add_bpf_images(struct sb_symbols *symbols, const struct sb_perfdata *perfdata,
                          struct sb_error *err)
{
	size_t count;
	const struct sb_bpf_image *image = sb_perfdata_bpf_images(perfdata, &count);
	int status = 0;

	for (size_t i = 0; i < count && status == 0; ++i) {
		char name[64] = "bpf_prog_";
		const struct sb_symbol_range range = {.pid = -1,
		                                      .begin = image[i].begin,
		                                      .end = image[i].begin + image[i].size,
		                                      .to = UINT64_MAX,
		                                      .name = name,
		                                      .dso = "[bpf]"};

		for (int k = 0; k < 8; ++k)
			snprintf(name + 9 + 2 * k, 3, "%02x", image[i].tag[k]);
		snprintf(name + 25, sizeof(name) - 25, "%s%s", image[i].name[0] ? "_" : "", image[i].name);
		if (image[i].function)
			snprintf(name + strlen(name), 12, ".%u", image[i].function);
		status = sb_symbols_add_range(symbols, &range, err);
	}
	return status;
}

static int add_ksymbols(struct sb_symbols *symbols, const struct sb_system *system, struct sb_error *err)
{
	size_t count;
	const struct sb_kernel_symbol *symbol = sb_system_kernel_symbols(system, &count);
	int status = 0;

	for (size_t i = 0; i < count && status == 0; ++i) {
		const struct sb_symbol_range range = {.pid = -1,
		                                      .begin = symbol[i].begin,
		                                      .end = symbol[i].end,
		                                      .from = symbol[i].from,
		                                      .to = symbol[i].to,
		                                      .name = symbol[i].name,
		                                      .dso = dso_of(symbol[i].type)};

		status = sb_symbols_add_range(symbols, &range, err);
	}
	return status;
}

static int add_recorded_kallsyms(struct sb_symbols *symbols, const struct sb_perfdata *perfdata,
                                 struct sb_error *err)
{
	char *path = kernel_file_recorded(symbols_resolver(symbols), perfdata, "kallsyms");
	const int status = path ? sb_symbols_add_kallsyms(symbols, path, err) : 0;

	free(path);
	return status;
}

int sb_symbols_add_recording(struct sb_symbols *symbols, const struct sb_perfdata *perfdata,
                             const struct sb_system *system, struct sb_error *err)
{
	int status;

	if (!symbols || !perfdata || !system)
		return sb_error_set(err, -sbe_invalid, NULL, UINT64_MAX,
		                    "sb_symbols_add_recording: no recording");
	symbols_set_system(symbols, system);
	status = add_recorded_kallsyms(symbols, perfdata, err);
	if (status == 0)
		status = symbols_add_modules(symbols, perfdata, err);
	if (status == 0)
		status = add_bpf_images(symbols, perfdata, err);
	return status < 0 ? status : add_ksymbols(symbols, system, err);
}
