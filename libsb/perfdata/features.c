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
static const char *read_cpuid(struct sb_perfdata *perfdata, const uint8_t *bytes, uint64_t size)
{
	uint32_t length = size < 4 ? 0 : load_u32(bytes);

	if (!length || length > size - 4 || !memchr(bytes + 4, '\0', length))
		return "the CPU's identification is no string";
	sb_perfdata_set_cpuid(&perfdata->info, (const char *)bytes + 4);
	return NULL;
}

static const char *read_osrelease(struct sb_perfdata *perfdata, const uint8_t *bytes, uint64_t size)
{
	uint32_t length = size < 4 ? 0 : load_u32(bytes);

	if (!length || length > size - 4 || !memchr(bytes + 4, '\0', length))
		return "the kernel's release is no string";
	snprintf(perfdata->osrelease, sizeof(perfdata->osrelease), "%s", (const char *)bytes + 4);
	return NULL;
}

static const char *read_nrcpus(struct sb_perfdata *perfdata, const uint8_t *bytes, uint64_t size)
{
	uint32_t available = size < 8 ? 0 : load_u32(bytes);

	if (size < 8 || available > SB_CPU_MAX + 1)
		return "the number of CPUs is missing or too high";
	perfdata->info.ncpus = available;
	return NULL;
}

/* u32 version, type, level, ratio, mmap_len. */
static const char *read_compressed(struct sb_perfdata *perfdata, const uint8_t *bytes, uint64_t size)
{
	enum { ZSTD = 1 };

	if (size < 20 || load_u32(bytes + 4) != ZSTD)
		return "records are packed in a way that is not known";
	perfdata->mmap_len = load_u32(bytes + 16);
	return NULL;
}

static const struct feature_reader {
	enum sb_feature feature;
	const char *(*read)(struct sb_perfdata *perfdata, const uint8_t *bytes, uint64_t size);
} readers[] = {
        {SB_FEATURE_OSRELEASE, read_osrelease},
        {SB_FEATURE_NRCPUS, read_nrcpus},
        {SB_FEATURE_CPUID, read_cpuid},
        {SB_FEATURE_COMPRESSED, read_compressed},
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

/* Where the records are is nothing to be in doubt about. */
static int check_directory(struct sb_perfdata *perfdata, const uint8_t *bytes, uint64_t size,
                           struct sb_error *err)
{
	enum { NEWEST = 1 };

	perfdata->dir_format = size >= 8 ? load_u64(bytes) : 0;
	if (perfdata->dir_format > NEWEST)
		return sb_error_set(err, -sbe_unsupported, perfdata->file->map.path, UINT64_MAX,
		                    "its directory is laid out in version %" PRIu64
		                    " (DIR_FORMAT), and versions up to %d are read",
		                    perfdata->dir_format, NEWEST);
	return 0;
}

int sb_perfdata_read_feature(struct sb_perfdata *perfdata, unsigned int bit, uint64_t offset, uint64_t size,
                             struct sb_error *err)
{
	const uint8_t *bytes = perfdata->file->map.bytes + offset;
	const struct feature_reader *reader = reader_of(bit);
	const char *wrong;

	if (bit == SB_FEATURE_DIR_FORMAT)
		return check_directory(perfdata, bytes, size, err);
	if (bit == SB_FEATURE_TRACING_DATA)
		wrong = sb_perfdata_set_tracepoints(perfdata, bytes, size);
	else if (bit == SB_FEATURE_BUILD_ID)
		wrong = build_ids_read(&perfdata->build_ids, bytes, size);
	else if (bit == SB_FEATURE_BPF_PROG_INFO)
		wrong = bpf_images_read(&perfdata->bpf_images, bytes, size);
	else
		wrong = reader ? reader->read(perfdata, bytes, size) : NULL;
	return wrong ? features_damage(perfdata, -sbe_format, offset, bit, wrong) : 0;
}

/* The feature's section, whose (offset, size) pair is at @pair. */
static int read_section(struct sb_perfdata *perfdata, unsigned int bit, uint64_t pair, struct sb_error *err)
{
	const struct mapped_file *map = &perfdata->file->map;
	uint64_t offset, size;

	if (map->size - pair < SB_SECTION_SIZE)
		return features_damage(perfdata, -sbe_truncated, map->size, bit, "the file ends here");
	offset = load_u64(map->bytes + pair);
	size = load_u64(map->bytes + pair + 8);
	if (offset > map->size || size > map->size - offset)
		return features_damage(perfdata, -sbe_truncated, map->size, bit,
		                       "the file ends before it does");
	return sb_perfdata_read_feature(perfdata, bit, offset, size, err);
}

int sb_perfdata_read_features(struct sb_perfdata *perfdata, struct sb_error *err)
{
	const struct record_file *file = &perfdata->file[0];
	uint64_t pair = file->promised_end;
	unsigned int bit;
	int status = 0;

	/* Without a data size, nobody came to write features; behind a cut there are none. */
	if (perfdata->info.interrupted || file->promised_end > file->map.size)
		return 0;
	for (bit = 0; bit < SB_FEATURE_BITS && status == 0; bit++) {
		if (!has_feature(&file->map, bit))
			continue;
		status = read_section(perfdata, bit, pair, err);
		pair = pair < file->map.size - SB_SECTION_SIZE ? pair + SB_SECTION_SIZE : file->map.size;
	}
	return status;
}
