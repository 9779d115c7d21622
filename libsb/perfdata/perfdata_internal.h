/* perfdata_internal.h - what an open recording is made of; shared by the files of this room.
 *
 * Whether it is a perf.data or a directory of raw pairs, a recording is a list of record files (one,
 * or one per .pevent), each with one stretch of records, and AUX chunks that point into mappings.
 * Everything here is written while the recording is opened and only read afterwards, but for what is counted
 * of a map that was passed.
 */
#ifndef LIBSB_PERFDATA_INTERNAL_H
#define LIBSB_PERFDATA_INTERNAL_H

#include <sb/perfdata.h>
#include <stdatomic.h>

#include "perfdata/bpf_images.h"
#include "perfdata/build_ids.h"
#include "perfdata/fetched.h"
#include "record/record_parse.h"
#include "record/tracing_data.h"

struct mapped_file {
	char *path;
	const uint8_t *bytes; /* NULL when size is 0 */
	uint64_t size;
	uint64_t written;            /* last, ns since 1970 */
	atomic_uint_fast64_t passed; /* bytes that need not stay in memory, and do so far */
};

/* Records that were written packed (perf record -z), unpacked into a temporary file, see compressed.c. */
struct unpacked {
	struct mapped_file map;
	struct unpacked_origin
	        *origin; /* sorted by both: which place of the file a place of the map comes from */
	size_t norigins;
	struct sb_error damage; /* what ended the unpacking, unless it was the end; its code is 0 then */
};

struct unpacked_origin {
	uint64_t at, file_offset;
};

/* A file with one stretch of records. AUX data lie between them in the file. */
struct record_file {
	struct mapped_file map;
	uint64_t data_begin, data_end; /* in the map: records and AUX data */
	uint64_t promised_end;         /* where the header says that they end */
	int32_t cpu;                   /* raw cpuN.pevent: N; else -1 */
	/* What is walked: [begin, end) of @records, which is the map or what was unpacked. */
	const uint8_t *records;
	uint64_t begin, end;
	struct unpacked *unpacked; /* owned; NULL: the records are in the map, as they are */
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
	struct bpf_image_table bpf_images;
	struct record_file *file;
	uint32_t nfiles;
	struct sb_fetched *fetched;             /* owned; NULL: the trace is in the files */
	const struct sb_checkpoint *checkpoint; /* borrowed; has the records; NULL: the files have */
	const uint8_t *zeros;                   /* of the checkpoint: for each AUXTRACE record */
	uint64_t nzeros;
	struct mapped_file *trace; /* raw .pt files */
	size_t ntraces;
	struct event_attr *attr; /* at least one */
	uint32_t nattrs;
	struct id_attr *id; /* sorted by id */
	size_t nids;
	int uniform;          /* all attributes lay their trailer out alike: no need to look at identifiers */
	uint32_t id_from_end; /* when they do not: how far before a record's end its identifier is */
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
	int per_thread;      /* trace is per thread, not per CPU */
	int has_samples;     /* trace in SAMPLEs */
	uint64_t dir_format; /* DIR_FORMAT: above 0, records are in data.0, data.1, ... besides */
	uint32_t mmap_len;   /* COMPRESSED: what was packed at once; 0: not known */
	char *kcore_dir;     /* NULL: there is none */
	char osrelease[66];  /* "" when it is not known */
};

/* When the last of its files was written last, ns since 1970; UINT64_MAX: not known. */
uint64_t perfdata_written(const struct sb_perfdata *perfdata);

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
	SB_FEATURE_BPF_PROG_INFO = 25,
	SB_FEATURE_COMPRESSED = 27,
	SB_FEATURE_BITS = 256
};

/* The file's header: perf's struct perf_file_header. */
#define SB_HEADER_MAGIC "PERFILE2"
enum {
	SB_HEADER_SIZE = 104,
	SB_HEADER_PIPE_SIZE = 16,
	SB_HEADER_FEATURES = 72, /* where the feature bits are */
	SB_ATTR_MIN_SIZE = 64,   /* the first published perf_event_attr */
	SB_ATTR_MAX_SIZE = 4096,
	SB_SECTION_SIZE = 16, /* u64 offset, u64 size */
	/* A COMPRESSED2 record of this size says 0: perf once let its 16 bits wrap around. */
	SB_COMPRESSED2_WRAPPED_SIZE = 1 << 16
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
int sb_mapped_file_open_in(struct mapped_file *map, const char *directory, const char *name,
                           struct sb_error *err);
/* The same for an open file, which may be closed afterwards; @name is what errors call it. */
int sb_mapped_file_from(struct mapped_file *map, int fd, const char *name, struct sb_error *err);
/* What a caller names: also "-" (standard input), a pipe (whose writer is waited for), and what gzip, zstd or
 * xz packed. Offsets are those of what was unpacked. */
int sb_mapped_file_open_any(struct mapped_file *map, const char *path, struct sb_error *err);
void sb_mapped_file_close(struct mapped_file *map);

/* [begin, end) was read, and may be read again, but not soon: the pages need not stay in memory. */
void sb_mapped_file_release(const struct mapped_file *map, uint64_t begin, uint64_t end);

/* "DIRECTORY/NAME", or NULL when out of memory. */
char *sb_path_join(const char *directory, const char *name);

/* Grows an array by doubling: returns it with room for element number @count of @size bytes, or NULL
 * (then the old array stays). For arrays that only ever grow one by one from NULL. */
void *sb_array_room(void *array, size_t count, size_t size);

/* The first eight bytes of a file: whether it is one that is read. */
int sb_perfdata_check_magic(const uint8_t *magic, const char *path, struct sb_error *err);
/* All of @perfdata->file[0] but its records: attributes, ids, features; sets its record stretch and damage.
 */
int sb_perfdata_read_header(struct sb_perfdata *perfdata, struct sb_error *err);
/* The same for a file that went through a pipe: all of it is in records. */
int sb_perfdata_read_pipe(struct sb_perfdata *perfdata, struct sb_error *err);
/* Features of @perfdata->file[0], which are behind its records. */
int sb_perfdata_read_features(struct sb_perfdata *perfdata, struct sb_error *err);
/* One feature: @size bytes of the file, at @offset. What is wrong with it is damage. */
int sb_perfdata_read_feature(struct sb_perfdata *perfdata, unsigned int bit, uint64_t offset, uint64_t size,
                             struct sb_error *err);

/* What perf_event_attr says about its own size; 0 was the first version's. */
uint64_t sb_attr_size(const uint8_t *attr);
/* Appends the attribute at @bytes, of which there is @room, at least SB_ATTR_MIN_SIZE; and @count ids of the
 * one that was appended last. */
int sb_perfdata_add_attr(struct sb_perfdata *perfdata, const uint8_t *bytes, uint64_t room,
                         struct sb_error *err);
int sb_perfdata_add_ids(struct sb_perfdata *perfdata, const uint8_t *ids, size_t count, struct sb_error *err);
/* There are no more: how their records are told apart. */
int sb_perfdata_settle_attrs(struct sb_perfdata *perfdata, struct sb_error *err);

/* Records, and AUX data, of @file are at [begin, end) of its map; both may be behind its end. */
void sb_record_file_set(struct record_file *file, uint64_t begin, uint64_t end);
/* How far it is from the record at @bytes to the next one, with the payload behind it, saturating. Zero when
 * its header is not there as a whole or is no header. */
uint64_t sb_record_stride(const uint8_t *bytes, uint64_t avail);
/* What belongs to a recording beside its "data": data.0, data.1, ..., kcore_dir. */
int sb_perfdata_read_directory(struct sb_perfdata *perfdata, const char *directory, struct sb_error *err);
/* Of these, only kcore_dir. */
int sb_perfdata_find_kcore(struct sb_perfdata *perfdata, const char *directory, struct sb_error *err);
/* Appends @map, which it takes, to the record files: all of it is records. */
int sb_perfdata_take_record_file(struct sb_perfdata *perfdata, const struct mapped_file *map,
                                 struct sb_error *err);
/* Appends the file NAME in the directory to the record files. Zero also when there is none. */
int sb_perfdata_add_record_file(struct sb_perfdata *perfdata, const char *directory, const char *name,
                                int32_t cpu, struct sb_error *err);
/* Finds the pairs below the directory, and reads recording.info. */
int sb_perfdata_read_raw(struct sb_perfdata *perfdata, const char *directory, struct sb_error *err);
/* Appends records made of maps (@pid's, when it is positive) and PID.maps in the directory. */
int sb_perfdata_read_maps(struct sb_perfdata *perfdata, const char *directory, int32_t pid,
                          struct sb_error *err);
/* Walks all records once: chunks, streams, the clock and what is known about Intel PT. */
int sb_perfdata_index(struct sb_perfdata *perfdata, struct sb_error *err);

/* The type of the record that comes next. Zero when there is none, or none that can be. */
uint32_t sb_perfdata_peek(struct sb_perfdata_cursor *cursor);
/* Goes on to the next record that says more than that it is there; what is passed is right. */
void sb_perfdata_pass_records(struct sb_perfdata_cursor *cursor, const struct record_sizes *sizes);

/* Unpacks the records of @file, if any are packed; it then walks those. Damage is the walk's to tell. */
int sb_perfdata_unpack(struct sb_perfdata *perfdata, struct record_file *file, struct sb_error *err);
void sb_unpacked_free(struct unpacked *unpacked);

/* Up to seven zeros that end at @end. */
uint8_t sb_count_zeros(const uint8_t *end);
/* Appends a chunk to the index. */
int sb_perfdata_add_chunk(struct sb_perfdata *perfdata, const struct sb_aux_chunk *chunk,
                          struct sb_error *err);
/* Gives chunks of one buffer, which may repeat what those before them held and do not say so, an aux_offset
 * each: where they agree, they overlap; where not, they do not follow each other. */
void sb_aux_place(struct sb_aux_chunk *chunk, size_t nchunks);
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
