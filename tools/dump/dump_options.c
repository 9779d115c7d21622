/* dump_options.c - see dump_options.h. */
#include "dump/dump_options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sb/record.h>

#include "nearest.h"

/* Numbers separated by @separator: from @least to @most of them, each up to its limit. Zero, or -1 with the
 * reason. */
static int take_numbers(const char *value, char separator, const uint64_t *limit, unsigned int least,
                        unsigned int most, uint64_t *number, struct option_error *error)
{
	unsigned int count = 0;

	for (const char *at = value; at; count++) {
		const char *end = strchr(at, separator);
		char text[32];

		if (count == most)
			break;
		snprintf(text, sizeof(text), "%.*s", (int)(end && end - at < 31 ? end - at : 31), at);
		if (option_number(text, 0, limit[count], &number[count], error))
			return -1;
		at = end ? end + 1 : NULL;
		if (!at && count + 1 >= least)
			return 0;
	}
	return option_fail(error, "expected %u numbers with '%c' in between, found '%s'", least, separator,
	                   value);
}

static int take_json(void *target, const char *value, struct option_error *error)
{
	(void)value, (void)error;
	((struct dump_options *)target)->json = true;
	return 0;
}

static int take_sideband(void *target, const char *value, struct option_error *error)
{
	(void)value, (void)error;
	((struct dump_options *)target)->sideband = true;
	return 0;
}

uint32_t dump_type(uint32_t type)
{
	return type < dump_types && strcmp(sb_record_name(type), sb_record_name(0)) ? type : 0;
}

static int take_type_name(struct dump_options *options, const char *name, struct option_error *error)
{
	struct nearest nearest;
	bool found = false;

	nearest_begin(&nearest, name);
	for (uint32_t type = 0; type < dump_types; type++) {
		nearest_offer(&nearest, sb_record_name(type));
		if (strcasecmp(name, sb_record_name(type)) != 0)
			continue;
		options->type[dump_type(type)] = true;
		found = true;
	}
	options->has_types = true;
	if (found)
		return 0;
	if (nearest.best)
		return option_fail(error, "no records are called '%s'; did you mean '%s'?", name,
		                   nearest.best);
	return option_fail(error, "no records are called '%s'", name);
}

static int take_type(void *target, const char *value, struct option_error *error)
{
	int status = 0;

	while (status == 0 && value) {
		const char *end = strchr(value, ',');
		char name[32];

		snprintf(name, sizeof(name), "%.*s", (int)(end && end - value < 31 ? end - value : 31),
		         value);
		for (char *at = name; *at; at++)
			*at = (char)toupper((unsigned char)*at);
		status = take_type_name(target, name, error);
		value = end ? end + 1 : NULL;
	}
	return status;
}

static int take_raw(void *target, const char *value, struct option_error *error)
{
	(void)value, (void)error;
	((struct dump_options *)target)->raw = true;
	return 0;
}

static int take_quiet(void *target, const char *value, struct option_error *error)
{
	(void)value, (void)error;
	((struct dump_options *)target)->quiet = true;
	return 0;
}

static int take_no_time(void *target, const char *value, struct option_error *error)
{
	(void)value, (void)error;
	((struct dump_options *)target)->no_time = true;
	return 0;
}

static int take_no_pad(void *target, const char *value, struct option_error *error)
{
	(void)value, (void)error;
	((struct dump_options *)target)->no_pad = true;
	return 0;
}

static int take_no_sync(void *target, const char *value, struct option_error *error)
{
	(void)value, (void)error;
	((struct dump_options *)target)->no_sync = true;
	return 0;
}

static int take_from(void *target, const char *value, struct option_error *error)
{
	return option_number(value, 0, UINT64_MAX, &((struct dump_options *)target)->from, error);
}

static int take_to(void *target, const char *value, struct option_error *error)
{
	return option_number(value, 0, UINT64_MAX, &((struct dump_options *)target)->to, error);
}

static int take_cpu(void *target, const char *value, struct option_error *error)
{
	return job_list_add(&((struct dump_options *)target)->cpu, value, error);
}

static int take_output(void *target, const char *value, struct option_error *error)
{
	(void)error;
	((struct dump_options *)target)->output = value;
	return 0;
}

static int take_cpu_model(void *target, const char *value, struct option_error *error)
{
	static const uint64_t limit[] = {UINT16_MAX, UINT8_MAX, UINT8_MAX};
	struct dump_options *options = target;
	uint64_t number[3] = {0};

	if (take_numbers(value, '/', limit, 2, 3, number, error))
		return -1;
	options->has_model = true;
	options->config.cpu = (struct pt_cpu){.vendor = pcv_intel,
	                                      .family = (uint16_t)number[0],
	                                      .model = (uint8_t)number[1],
	                                      .stepping = (uint8_t)number[2]};
	if (pt_cpu_errata(&options->config.errata, &options->config.cpu) < 0)
		return option_fail(error, "no processor with Intel PT is known as '%s'", value);
	return 0;
}

static int take_mtc_freq(void *target, const char *value, struct option_error *error)
{
	struct dump_options *options = target;
	uint64_t number;

	if (option_number(value, 0, 15, &number, error))
		return -1;
	options->config.mtc_freq = (uint8_t)number;
	options->has_mtc_freq = true;
	return 0;
}

static int take_nom_freq(void *target, const char *value, struct option_error *error)
{
	struct dump_options *options = target;
	uint64_t number;

	if (option_number(value, 0, UINT8_MAX, &number, error))
		return -1;
	options->config.nom_freq = (uint8_t)number;
	options->has_nom_freq = true;
	return 0;
}

static int take_cpuid(void *target, const char *value, struct option_error *error)
{
	static const uint64_t limit[] = {UINT32_MAX, UINT32_MAX};
	struct dump_options *options = target;
	uint64_t number[2];

	if (take_numbers(value, ',', limit, 2, 2, number, error))
		return -1;
	options->config.cpuid_0x15_eax = (uint32_t)number[0];
	options->config.cpuid_0x15_ebx = (uint32_t)number[1];
	options->has_cpuid = true;
	return 0;
}

static int take_path(void *target, const char *value, struct option_error *error)
{
	struct dump_options *options = target;

	if (options->path)
		return option_fail(error, "one trace is enough: '%s', '%s'", options->path, value);
	options->path = value;
	return 0;
}

static const struct option_row rows[] = {
        {"sideband", 0, NULL, "of a recording, the sideband records instead of the packets", take_sideband},
        {"type", 0, "NAME[,NAME]", "with --sideband, only records of these types: MMAP2,COMM", take_type},
        {"json", 0, NULL, "JSON lines instead of columns", take_json},
        {"output", 'o', "FILE", "write there instead of to standard output", take_output},
        {"quiet", 'q', NULL, "only what is damaged or left out, no packets; with --sideband, only counts",
         take_quiet},
        {"raw", 0, NULL, "with the bytes of each packet or record", take_raw},
        {"no-pad", 0, NULL, "without pad packets", take_no_pad},
        {"no-time", 0, NULL, "without the time", take_no_time},
        {"from", 0, "OFFSET", "only packets or records from here on: 4096 or 0x1000", take_from},
        {"to", 0, "OFFSET", "only packets or records that begin before this place", take_to},
        {"no-sync", 0, NULL, "begin at the first byte, or at --from, even if no PSB is there", take_no_sync},
        {"cpu", 0, "LIST", "of a recording, only these CPUs: 0,2-5", take_cpu},
        {"cpu-model", 0, "F/M[/S]", "family, model and stepping of the recorded CPU: whose errata apply",
         take_cpu_model},
        {"mtc-freq", 0, "N", "MTC period, as in IA32_RTIT_CTL.MTCFreq", take_mtc_freq},
        {"nom-freq", 0, "N", "nominal frequency, in units of the bus clock", take_nom_freq},
        {"cpuid-0x15", 0, "EAX,EBX", "CPUID leaf 15h of the recorded CPU", take_cpuid},
};

static const struct option_table table = {
        .command = "sbtrace dump",
        .usage = "[OPTIONS] TRACE",
        .about =
                "The packets of a trace, one by one: offset, name, payload, last IP, time. TRACE is a file of raw\n"
                "Intel PT, or a recording (perf.data, or a directory of cpuN.pt and cpuN.pevent files; \"-\":\n"
                "a perf.data from standard input).\n"
                "With --sideband, the records of a recording: what the kernel and perf said meanwhile.\n",
        .row = rows,
        .nrows = sizeof(rows) / sizeof(rows[0]),
        .operand = take_path,
};

/* What does not fit together, or NULL. */
static const char *find_fault(const struct dump_options *options)
{
	const bool about_packets = options->no_pad || options->no_time || options->no_sync ||
	                           options->has_model || options->has_mtc_freq || options->has_nom_freq ||
	                           options->has_cpuid;

	if (!options->path)
		return "which trace?";
	if (options->from >= options->to)
		return "--from is not before --to";
	if (options->sideband && about_packets)
		return "--sideband shows records, but an option is about packets";
	if (!options->sideband && options->has_types)
		return "--type is about records; add --sideband";
	return NULL;
}

enum options_result dump_options_parse(struct dump_options *options, int argc, char **argv)
{
	enum options_result result;
	const char *wrong;

	memset(options, 0, sizeof(*options));
	options->to = UINT64_MAX;
	result = options_parse(&table, argc, argv, options, NULL);
	if (result != options_done)
		return result;
	wrong = find_fault(options);
	if (!wrong)
		return options_done;
	fprintf(stderr, "%s: %s\nTry '%s --help'.\n", table.command, wrong, table.command);
	return options_wrong;
}

void dump_options_free(struct dump_options *options)
{
	free(options->cpu.value);
}

void dump_options_configure(const struct dump_options *options, struct pt_config *config)
{
	const struct pt_config *given = &options->config;

	if (options->has_model) {
		config->cpu = given->cpu;
		config->errata = given->errata;
	}
	if (options->has_mtc_freq)
		config->mtc_freq = given->mtc_freq;
	if (options->has_nom_freq)
		config->nom_freq = given->nom_freq;
	if (options->has_cpuid) {
		config->cpuid_0x15_eax = given->cpuid_0x15_eax;
		config->cpuid_0x15_ebx = given->cpuid_0x15_ebx;
	}
}
