/* raw_pairs.c - a directory of raw trace and raw sideband: cpuN.pt with cpuN.pevent.
 *
 * Each .pevent holds the records of one CPU as they stood in the ring; each .pt the CPU's AUX data
 * as one chunk. What the pairs cannot say comes from recording.info; see <sb/perfdata.h>.
 */
#include "perfdata/perfdata_internal.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INFO_MAX = 1 << 16, RAW_CPUS_MAX = SB_CPU_MAX + 1 };

static const char *const before_tracing[] = {"sideband.pevent", "synth.pevent"};

/* What recording.info says; keys that are not there keep their default. */
struct recording_info {
	uint64_t time_shift, time_mult, time_zero;
	uint64_t tsc_ctc_num, tsc_ctc_den, max_nonturbo_ratio;
	uint64_t pt_config, mtc_freq, user_only, ncpus, sample_type, pid;
	char cpu[32];
};

static const struct info_key {
	const char *name;
	size_t offset;
	uint64_t max;
} info_keys[] = {
        {"time_shift", offsetof(struct recording_info, time_shift), 63},
        {"time_mult", offsetof(struct recording_info, time_mult), UINT32_MAX},
        {"time_zero", offsetof(struct recording_info, time_zero), UINT64_MAX},
        {"tsc_ctc_num", offsetof(struct recording_info, tsc_ctc_num), UINT32_MAX},
        {"tsc_ctc_den", offsetof(struct recording_info, tsc_ctc_den), UINT32_MAX},
        {"max_nonturbo_ratio", offsetof(struct recording_info, max_nonturbo_ratio), UINT8_MAX},
        {"pt_config", offsetof(struct recording_info, pt_config), UINT64_MAX},
        {"mtc_freq", offsetof(struct recording_info, mtc_freq), 15},
        {"user_only", offsetof(struct recording_info, user_only), 1},
        {"ncpus", offsetof(struct recording_info, ncpus), RAW_CPUS_MAX},
        {"sample_type", offsetof(struct recording_info, sample_type), UINT64_MAX},
        {"pid", offsetof(struct recording_info, pid), INT32_MAX},
};

static const uint64_t linux_layout[sb_pt_privs] = {
        [sb_pt_tsc_bit] = SB_PT_CONFIG_TSC, [sb_pt_noretcomp_bit] = SB_PT_CONFIG_NORETCOMP,
        [sb_pt_mtc_bit] = SB_PT_CONFIG_MTC, [sb_pt_mtc_freq_bits] = SB_PT_CONFIG_MTC_FREQ,
        [sb_pt_cyc_bit] = SB_PT_CONFIG_CYC,
};

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

/* Decimal or 0x..., nothing behind it, no sign. */
static int parse_number(const char *text, uint64_t max, uint64_t *number)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return 0;
	errno = 0;
	*number = strtoull(text, &end, 0);
	return !*end && !errno && *number <= max;
}

/* Whether @key=@value is one of ours. */
static int set_key(struct recording_info *info, const char *key, const char *value)
{
	size_t i;

	if (!strcmp(key, "cpu"))
		return (size_t)snprintf(info->cpu, sizeof(info->cpu), "%s", value) < sizeof(info->cpu);
	for (i = 0; i < sizeof(info_keys) / sizeof(info_keys[0]); i++) {
		uint64_t number;

		if (strcmp(key, info_keys[i].name))
			continue;
		if (!parse_number(value, info_keys[i].max, &number))
			return 0;
		memcpy((char *)info + info_keys[i].offset, &number, sizeof(number));
		return 1;
	}
	return 0;
}

static int parse_line(struct recording_info *info, char *line)
{
	char *equals;

	line[strcspn(line, "#")] = '\0';
	line = trim(line);
	if (!*line)
		return 1;
	equals = strchr(line, '=');
	if (!equals)
		return 0;
	*equals = '\0';
	return set_key(info, trim(line), trim(equals + 1));
}

static int parse_info(struct recording_info *info, const struct mapped_file *map, char *text,
                      struct sb_error *err)
{
	char *next = text, *line;

	while ((line = strsep(&next, "\n"))) {
		char copy[80];

		snprintf(copy, sizeof(copy), "%s", line);
		if (!parse_line(info, line))
			return sb_error_set(
			        err, -sbe_format, map->path, (uint64_t)(line - text),
			        "\"%s\" is no KEY=VALUE that is known, or its value is out of range", copy);
	}
	return 0;
}

static int read_info(struct recording_info *info, const char *directory, struct sb_error *err)
{
	struct mapped_file map;
	int status = sb_mapped_file_open_in(&map, directory, "recording.info", err);
	char *text;

	if (status < 0)
		return status == -sbe_not_found ? 0 : status;
	if (map.size > INFO_MAX) {
		status = sb_error_set(err, -sbe_format, map.path, UINT64_MAX, "longer than %d bytes",
		                      INFO_MAX);
	} else if (map.size) {
		text = strndup((const char *)map.bytes, map.size);
		status = text ? parse_info(info, &map, text, err)
		              : sb_error_set(err, -sbe_nomem, map.path, UINT64_MAX, "out of memory");
		free(text);
	}
	sb_mapped_file_close(&map);
	return status;
}

static int apply_info(struct sb_perfdata *perfdata, const struct recording_info *from, struct sb_error *err)
{
	struct sb_perfdata_info *info = &perfdata->info;
	uint64_t config = from->pt_config;
	char cpuid[64], *p;

	if (from->mtc_freq != UINT64_MAX) {
		config &= ~(uint64_t)SB_PT_CONFIG_MTC_FREQ;
		config |= SB_PT_CONFIG_MTC | from->mtc_freq << SB_PT_CONFIG_MTC_FREQ_SHIFT;
	}
	sb_perfdata_set_config(info, config, linux_layout);
	info->has_pt = 1;
	info->clock =
	        (struct sb_clock){(uint16_t)from->time_shift, (uint32_t)from->time_mult, from->time_zero};
	info->tsc_ctc_num = (uint32_t)from->tsc_ctc_num;
	info->tsc_ctc_den = (uint32_t)from->tsc_ctc_den;
	info->max_nonturbo_ratio = (uint8_t)from->max_nonturbo_ratio;
	info->user_only = from->user_only != 0;
	info->ncpus = (uint32_t)from->ncpus;
	if (!from->cpu[0])
		return 0;
	snprintf(cpuid, sizeof(cpuid), "GenuineIntel,%s", from->cpu);
	for (p = cpuid; *p; p++) {
		if (*p == '/')
			*p = ',';
	}
	sb_perfdata_set_cpuid(info, cpuid);
	if (!info->vendor_intel)
		return sb_error_set(err, -sbe_format, perfdata->path, UINT64_MAX,
		                    "recording.info: cpu=%s is no family/model/stepping", from->cpu);
	return 0;
}

/* All files are read as one event would write them. */
static int set_format(struct sb_perfdata *perfdata, uint64_t sample_type, struct sb_error *err)
{
	perfdata->attr = calloc(1, sizeof(*perfdata->attr));
	if (!perfdata->attr)
		return sb_error_set(err, -sbe_nomem, perfdata->path, UINT64_MAX, "out of memory");
	perfdata->nattrs = 1;
	perfdata->attr->type = UINT32_MAX;
	perfdata->attr->trailer = record_trailer(
	        &(struct sb_sample_format){.sample_type = sample_type, .sample_id_all = 1, .type_only = 1});
	perfdata->uniform = perfdata->one_sample_format = 1;
	return 0;
}

static int add_trace(struct sb_perfdata *perfdata, const char *directory, const char *name, int32_t cpu,
                     struct sb_error *err)
{
	struct mapped_file *grown = sb_array_room(perfdata->trace, perfdata->ntraces, sizeof(*grown));
	struct sb_aux_chunk chunk = {.cpu = cpu, .tid = -1, .idx = (uint32_t)cpu};
	int status;

	if (!grown)
		return sb_error_set(err, -sbe_nomem, directory, UINT64_MAX, "out of memory");
	perfdata->trace = grown;
	status = sb_mapped_file_open_in(&grown[perfdata->ntraces], directory, name, err);
	if (status < 0)
		return status;
	chunk.bytes = grown[perfdata->ntraces].bytes;
	chunk.size = grown[perfdata->ntraces].size;
	perfdata->ntraces++;
	return chunk.size ? sb_perfdata_add_chunk(perfdata, &chunk, err) : 0;
}

/* N of "cpuN.pt", or -1. */
static int32_t trace_cpu(const char *name)
{
	char canonical[32];
	unsigned int cpu;

	if (sscanf(name, "cpu%5u", &cpu) != 1 || cpu > SB_CPU_MAX)
		return -1;
	snprintf(canonical, sizeof(canonical), "cpu%u.pt", cpu);
	return strcmp(name, canonical) ? -1 : (int32_t)cpu;
}

/* Marks each CPU that has a .pt; returns how many. */
static int find_traces(const char *directory, uint8_t *present, struct sb_error *err)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;
	int count = 0, has_file = 0;

	if (!dir)
		return sb_error_set(err, -sbe_io, directory, UINT64_MAX, "%s", strerror(errno));
	while ((entry = readdir(dir))) {
		int32_t cpu = trace_cpu(entry->d_name);

		has_file |= strcmp(entry->d_name, "perf.data") == 0;
		if (cpu < 0)
			continue;
		present[cpu] = 1;
		count++;
	}
	closedir(dir);
	if (!count)
		return sb_error_set(err, -sbe_not_found, directory, UINT64_MAX,
		                    "a directory with neither a \"data\" file (perf record) nor raw pairs "
		                    "(cpu0.pt, cpu0.pevent)%s",
		                    has_file ? "; name its file perf.data instead" : "");
	return count;
}

static int add_files(struct sb_perfdata *perfdata, const char *directory, const uint8_t *present,
                     struct sb_error *err)
{
	size_t i;
	int status = 0;
	int32_t cpu;

	for (i = 0; i < sizeof(before_tracing) / sizeof(before_tracing[0]) && status == 0; i++)
		status = sb_perfdata_add_record_file(perfdata, directory, before_tracing[i], -1, err);
	for (cpu = 0; cpu < RAW_CPUS_MAX && status == 0; cpu++) {
		char name[32];

		if (!present[cpu])
			continue;
		snprintf(name, sizeof(name), "cpu%" PRId32 ".pevent", cpu);
		status = sb_perfdata_add_record_file(perfdata, directory, name, cpu, err);
		snprintf(name, sizeof(name), "cpu%" PRId32 ".pt", cpu);
		if (status == 0)
			status = add_trace(perfdata, directory, name, cpu, err);
	}
	return status;
}

int sb_perfdata_read_raw(struct sb_perfdata *perfdata, const char *directory, struct sb_error *err)
{
	struct recording_info info = {
	        .pt_config = SB_PT_CONFIG_TSC,
	        .mtc_freq = UINT64_MAX,
	        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
	};
	uint8_t *present = calloc(RAW_CPUS_MAX, 1);
	int status;

	if (!present)
		return sb_error_set(err, -sbe_nomem, directory, UINT64_MAX, "out of memory");
	status = find_traces(directory, present, err);
	if (status > 0)
		status = read_info(&info, directory, err);
	if (status == 0)
		status = set_format(perfdata, info.sample_type, err);
	if (status == 0)
		status = apply_info(perfdata, &info, err);
	if (status == 0)
		status = sb_perfdata_read_maps(perfdata, directory, (int32_t)info.pid, err);
	if (status == 0)
		status = add_files(perfdata, directory, present, err);
	free(present);
	return status;
}
