/* features.c - the features of a perf.data file: what it says about the machine.
 *
 * One bit of the header per feature; behind the records, one (offset, size) pair for each bit that
 * is set, in order. Features are extras: a file that was cut before them still opens, damaged.
 * Format: perf.data-file-format.txt.
 */
#include "perfdata/perfdata_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "record/bytes.h"

void sb_perfdata_set_cpuid(struct sb_perfdata_info *info, const char *cpuid)
{
	unsigned int family, model, stepping;

	info->vendor_intel = 0;
	if (sscanf(cpuid, "GenuineIntel,%5u,%3u,%3u", &family, &model, &stepping) != 3)
		return;
	if (family > UINT16_MAX || model > UINT8_MAX || stepping > UINT8_MAX)
		return;
	info->vendor_intel = 1;
	info->family = (uint16_t)family;
	info->model = (uint8_t)model;
	info->stepping = (uint8_t)stepping;
}

/* Readers answer with NULL or with what is wrong. */
static const char *read_cpuid(struct sb_perfdata_info *info, const uint8_t *bytes, uint64_t size)
{
	uint32_t length = size < 4 ? 0 : load_u32(bytes);

	if (!length || length > size - 4 || !memchr(bytes + 4, '\0', length))
		return "the CPU's identification is no string";
	sb_perfdata_set_cpuid(info, (const char *)bytes + 4);
	return NULL;
}

static const char *read_nrcpus(struct sb_perfdata_info *info, const uint8_t *bytes, uint64_t size)
{
	uint32_t available = size < 8 ? 0 : load_u32(bytes);

	if (size < 8 || available > SB_CPU_MAX + 1)
		return "the number of CPUs is missing or too high";
	info->ncpus = available;
	return NULL;
}

static const struct feature_reader {
	enum sb_feature feature;
	const char *(*read)(struct sb_perfdata_info *info, const uint8_t *bytes, uint64_t size);
} readers[] = {
        {SB_FEATURE_NRCPUS, read_nrcpus},
        {SB_FEATURE_CPUID, read_cpuid},
};

static const struct feature_reader *reader_of(unsigned int bit)
{
	size_t i;

	for (i = 0; i < sizeof(readers) / sizeof(readers[0]); i++) {
		if (readers[i].feature == bit)
			return &readers[i];
	}
	return NULL;
}

static int has_feature(const struct mapped_file *map, unsigned int bit)
{
	return (map->bytes[SB_HEADER_FEATURES + bit / 8] >> (bit % 8)) & 1;
}

static int features_damage(struct sb_perfdata *perfdata, int code, uint64_t offset, unsigned int bit,
                           const char *wrong)
{
	struct sb_error err;

	sb_error_set(&err, code, perfdata->file->map.path, offset, "feature %u behind the records: %s", bit,
	             wrong);
	sb_perfdata_note_damage(perfdata, &err);
	return 0;
}

/* Several files with records: DIR_FORMAT holds a version above 0. */
static int check_directory(const struct mapped_file *map, const uint8_t *bytes, uint64_t size,
                           struct sb_error *err)
{
	if (size >= 8 && load_u64(bytes) > 0)
		return sb_error_set(err, -sbe_unsupported, map->path, UINT64_MAX,
		                    "its records are spread over several files (perf record --threads), "
		                    "which is not read yet");
	return 0;
}

/* The feature's section, whose (offset, size) pair is at @pair. */
static int read_feature(struct sb_perfdata *perfdata, unsigned int bit, uint64_t pair, struct sb_error *err)
{
	const struct mapped_file *map = &perfdata->file->map;
	const struct feature_reader *reader = reader_of(bit);
	uint64_t offset, size;
	const char *wrong;

	if (map->size - pair < SB_SECTION_SIZE)
		return features_damage(perfdata, -sbe_truncated, map->size, bit, "the file ends here");
	offset = load_u64(map->bytes + pair);
	size = load_u64(map->bytes + pair + 8);
	if (offset > map->size || size > map->size - offset)
		return features_damage(perfdata, -sbe_truncated, map->size, bit,
		                       "the file ends before it does");
	if (bit == SB_FEATURE_DIR_FORMAT)
		return check_directory(map, map->bytes + offset, size, err);
	if (bit == SB_FEATURE_TRACING_DATA)
		wrong = sb_perfdata_set_tracepoints(perfdata, map->bytes + offset, size);
	else if (bit == SB_FEATURE_BUILD_ID)
		wrong = build_ids_read(&perfdata->build_ids, map->bytes + offset, size);
	else
		wrong = reader ? reader->read(&perfdata->info, map->bytes + offset, size) : NULL;
	return wrong ? features_damage(perfdata, -sbe_format, offset, bit, wrong) : 0;
}

int sb_perfdata_read_features(struct sb_perfdata *perfdata, struct sb_error *err)
{
	const struct record_file *file = &perfdata->file[0];
	uint64_t pair = file->promised_end;
	unsigned int bit;
	int status = 0;

	if (has_feature(&file->map, SB_FEATURE_COMPRESSED))
		return sb_error_set(err, -sbe_unsupported, file->map.path, UINT64_MAX,
		                    "its records are compressed (perf record -z), which is not read yet");
	/* Without a data size, nobody came to write features; behind a cut there are none. */
	if (perfdata->info.interrupted || file->promised_end > file->map.size)
		return 0;
	for (bit = 0; bit < SB_FEATURE_BITS && status == 0; bit++) {
		if (!has_feature(&file->map, bit))
			continue;
		status = read_feature(perfdata, bit, pair, err);
		pair = pair < file->map.size - SB_SECTION_SIZE ? pair + SB_SECTION_SIZE : file->map.size;
	}
	return status;
}
