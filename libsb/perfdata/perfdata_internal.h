/* perfdata_internal.h - what an open recording is made of; shared by the files of this room.
 *
 * Whether it is a perf.data or a directory of raw pairs, a recording is a list of record files (one,
 * or one per .pevent), each with one stretch of records, and AUX chunks that point into mappings.
 * Everything here is written while the recording is opened and only read afterwards.
 */
#ifndef LIBSB_PERFDATA_INTERNAL_H
#define LIBSB_PERFDATA_INTERNAL_H

#include <sb/perfdata.h>

#include "perfdata/build_ids.h"
#include "record/record_parse.h"
#include "record/tracing_data.h"

struct mapped_file {
	char *path;
	const uint8_t *bytes; /* NULL when size is 0 */
	uint64_t size;
};

/* Records lie at [begin, end) of the mapping; the file promises them up to promised_end. */
struct record_file {
	struct mapped_file map;
	uint64_t begin, end, promised_end;
	int32_t cpu; /* raw cpuN.pevent: N; else -1 */
};

/* Of perf_event_attr, what the reader needs. */
struct event_attr {
	uint32_t type;
	uint64_t config;
	struct record_trailer trailer;
	int exclude_user, exclude_kernel, use_clockid;
};

struct id_attr {
	uint64_t id;
	uint32_t attr;
};

struct sb_perfdata {
	char *path; /* as the caller gave it */
	struct sb_perfdata_info info;
	struct build_id_table build_ids;
	struct record_file *file;
	uint32_t nfiles;
	struct mapped_file *trace; /* raw .pt files */
	size_t ntraces;
	struct event_attr *attr; /* at least one */
	uint32_t nattrs;
	struct id_attr *id; /* sorted by id */
	size_t nids;
	int uniform; /* all attributes lay their trailer out alike: no need to look at identifiers */
	int one_sample_format;           /* the same for SAMPLEs */
	int sample_id_at;                /* where a SAMPLE's body has its identifier; -1: not known */
	struct record_trailer no_format; /* of SAMPLEs of which nobody knows whose they are */
	struct tracing_data tracepoints;
	const struct sb_tracepoint *sched_switch; /* of the tracepoints */
	struct sb_aux_chunk *chunk;
	size_t nchunks;
	struct sb_aux_stream *stream;
	size_t nstreams;
	struct sb_error damage;
};

/* A file's feature section, see features.c; perf's numbers. */
enum sb_feature {
	SB_FEATURE_TRACING_DATA = 1,
	SB_FEATURE_BUILD_ID = 2,
	SB_FEATURE_HOSTNAME = 3,
	SB_FEATURE_OSRELEASE = 4,
	SB_FEATURE_VERSION = 5,
	SB_FEATURE_ARCH = 6,
	SB_FEATURE_NRCPUS = 7,
	SB_FEATURE_CPUDESC = 8,
	SB_FEATURE_CPUID = 9,
	SB_FEATURE_CMDLINE = 11,
	SB_FEATURE_EVENT_DESC = 12,
	SB_FEATURE_PMU_MAPPINGS = 16,
	SB_FEATURE_AUXTRACE = 18,
	SB_FEATURE_DIR_FORMAT = 24,
	SB_FEATURE_COMPRESSED = 27,
	SB_FEATURE_BITS = 256
};

/* The file's header: perf's struct perf_file_header. */
enum {
	SB_HEADER_SIZE = 104,
	SB_HEADER_PIPE_SIZE = 16,
	SB_HEADER_FEATURES = 72, /* where the feature bits are */
	SB_ATTR_MIN_SIZE = 64,   /* the first published perf_event_attr */
	SB_ATTR_MAX_SIZE = 4096,
	SB_SECTION_SIZE = 16 /* u64 offset, u64 size */
};

/* attr.config of intel_pt as Linux lays it out, for writing and for raw pairs that have no AUXTRACE_INFO. */
enum {
	SB_PT_CONFIG_CYC = 1 << 1,
	SB_PT_CONFIG_MTC = 1 << 9,
	SB_PT_CONFIG_TSC = 1 << 10,
	SB_PT_CONFIG_NORETCOMP = 1 << 11,
	SB_PT_CONFIG_MTC_FREQ = 15 << 14,
	SB_PT_CONFIG_MTC_FREQ_SHIFT = 14
};

/* The values of an Intel PT AUXTRACE_INFO, in order. */
enum sb_pt_priv {
	sb_pt_pmu_type,
	sb_pt_time_shift,
	sb_pt_time_mult,
	sb_pt_time_zero,
	sb_pt_cap_user_time_zero,
	sb_pt_tsc_bit,
	sb_pt_noretcomp_bit,
	sb_pt_have_sched_switch,
	sb_pt_snapshot_mode,
	sb_pt_per_cpu_mmaps,
	sb_pt_mtc_bit,
	sb_pt_mtc_freq_bits,
	sb_pt_tsc_ctc_n,
	sb_pt_tsc_ctc_d,
	sb_pt_cyc_bit,
	sb_pt_max_nonturbo_ratio,
	sb_pt_filter_length,
	sb_pt_cap_event_trace, /* behind the filter, which is empty when we write */
	sb_pt_privs
};

/* Maps a regular file read-only. A file of no bytes gives bytes NULL, size 0. */
int sb_mapped_file_open(struct mapped_file *map, const char *path, struct sb_error *err);
void sb_mapped_file_close(struct mapped_file *map);

/* [begin, end) was read, and may be read again, but not soon: the pages need not stay in memory. */
void sb_mapped_file_release(const struct mapped_file *map, uint64_t begin, uint64_t end);

/* "DIRECTORY/NAME", or NULL when out of memory. */
char *sb_path_join(const char *directory, const char *name);

/* Grows an array by doubling: returns it with room for element number @count of @size bytes, or NULL
 * (then the old array stays). For arrays that only ever grow one by one from NULL. */
void *sb_array_room(void *array, size_t count, size_t size);

/* Header, attributes and ids of @perfdata->file[0]; sets its record stretch and damage. */
int sb_perfdata_read_header(struct sb_perfdata *perfdata, struct sb_error *err);
/* Features of @perfdata->file[0], which are behind its records. */
int sb_perfdata_read_features(struct sb_perfdata *perfdata, struct sb_error *err);
/* Finds the pairs below the directory, and reads recording.info. */
int sb_perfdata_read_raw(struct sb_perfdata *perfdata, const char *directory, struct sb_error *err);
/* Walks all records once: chunks, streams, the clock and what is known about Intel PT. */
int sb_perfdata_index(struct sb_perfdata *perfdata, struct sb_error *err);

/* Goes on to the next record that says more than that it is there; what is passed is right. */
void sb_perfdata_pass_records(struct sb_perfdata_cursor *cursor, const struct record_sizes *sizes);

/* Appends a chunk to the index. */
int sb_perfdata_add_chunk(struct sb_perfdata *perfdata, const struct sb_aux_chunk *chunk,
                          struct sb_error *err);
/* What config and AUXTRACE_INFO's masks say; @mask has sb_pt_privs elements. */
void sb_perfdata_set_config(struct sb_perfdata_info *info, uint64_t config, const uint64_t *mask);
void sb_perfdata_set_cpuid(struct sb_perfdata_info *info, const char *cpuid);
/* Formats of tracepoints, from the feature or a pipe's record; those of before are replaced. What is wrong,
 * or NULL. */
const char *sb_perfdata_set_tracepoints(struct sb_perfdata *perfdata, const uint8_t *bytes, uint64_t size);
/* Sets what a SAMPLE of sched:sched_switch says; leaves others alone. */
void sb_perfdata_read_sched_switch(const struct sb_perfdata *perfdata, struct sb_record *record);
/* The attribute that an event's id belongs to, or NULL. */
const struct id_attr *sb_perfdata_find_id(const struct sb_perfdata *perfdata, uint64_t id);
/* Keeps the first damage. */
void sb_perfdata_note_damage(struct sb_perfdata *perfdata, const struct sb_error *err);

#endif
