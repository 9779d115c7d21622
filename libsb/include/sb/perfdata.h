/* sb/perfdata.h - a recording: perf.data, or raw cpuN.pt + cpuN.pevent pairs.
 *
 * The file is mapped, not read; records are walked in file order; AUX data are found through an
 * index that is built once, when the recording is opened. An open recording is immutable: any
 * number of threads may read it, each with a cursor of its own.
 */
#ifndef SB_PERFDATA_H
#define SB_PERFDATA_H

#include <stddef.h>
#include <stdint.h>

#include <sb/clock.h>
#include <sb/error.h>
#include <sb/record.h>
#include <sb/tracepoint.h>

struct sb_perfdata;

/* What the recording says about the machine and about Intel PT. */
struct sb_perfdata_info {
	/* From the CPUID feature ("GenuineIntel,6,85,4"); vendor_intel is zero when there is none. */
	int vendor_intel;
	uint16_t family;
	uint8_t model, stepping;
	uint32_t
	        ncpus; /* NRCPUS feature, or one more than the highest CPU with AUX data, whichever is more */
	struct sb_clock clock;
	int foreign_clock; /* perf record -k: times are of another clock, which no TSC converts to; clock is
	                      zero */
	int has_pt;        /* an AUXTRACE_INFO of type Intel PT was there */
	uint32_t pt_pmu_type;
	uint64_t pt_config;  /* attr.config of the intel_pt event */
	uint8_t pt_mtc_freq; /* MTC period exponent when MTC is on (it may be 0 then, too), else 0 */
	int pt_tsc, pt_mtc, pt_cyc, pt_noretcomp;
	uint32_t tsc_ctc_num, tsc_ctc_den; /* CPUID 15h: ebx, eax */
	uint8_t max_nonturbo_ratio;        /* nominal frequency in units of the bus clock */
	int user_only;                     /* the intel_pt event excludes the kernel */
	int have_sched_switch;             /* 0 none, 1 tracepoint, 2 SWITCH, 3 SWITCH_CPU_WIDE */
	int snapshot;                      /* chunks may overlap the one before them */
	int interrupted;                   /* perf record did not come to its end: there are no features */
};

/* One piece of a CPU's (or thread's) AUX data, in the order of recording: of an AUXTRACE record, or a SAMPLE
 * that holds some (perf record --aux-sample). */
struct sb_aux_chunk {
	const uint8_t *bytes; /* in the mapping; NULL: to be fetched, see <sb/store.h> */
	uint64_t size;        /* as the record says, but never past the file's end */
	uint64_t file_offset; /* in the file that holds it */
	uint32_t file;        /* which one, of a recording in several: 0 is "data" */
	uint64_t aux_offset;  /* in the buffer's stream */
	uint64_t reference;
	int32_t cpu, tid; /* -1: not bound to one */
	uint32_t idx;
	uint64_t missing; /* bytes that the record promises but the file does not hold */
	uint8_t zeros;    /* without bytes: how many it ends with are zero, of the last 7 */
};

/* All chunks of one buffer. Their sizes include what perf pads them with to multiples of 8. */
struct sb_aux_stream {
	int32_t cpu, tid;
	uint32_t idx;
	const struct sb_aux_chunk *chunk;
	size_t nchunks;
	uint64_t size;              /* sum of the chunks' */
	struct sb_fetched *fetched; /* gets what chunks have no bytes of; NULL: they have all */
};

/* Opens a recording: whatever perf record writes, and raw pairs.
 *
 *   a file           as it is, or packed as a whole with gzip, zstd or xz; with packed records (perf record
 *                    -z); as it went through a pipe (-o -)
 *   "-", a pipe      the same from standard input, or from a pipe, which is read to its end
 *   a directory      with "data" (--kcore), data.0, data.1, ... (--threads); "data" itself does as well
 *   a directory      of raw pairs: cpuN.pt, cpuN.pevent, and what was known before: sideband.pevent,
 *                    synth.pevent
 *
 * What cannot be mapped as it is goes to a temporary file without a name, in the directory TMPDIR names, else
 * in /var/tmp: memory does not follow its size. Offsets in errors are then those in what was
 * unpacked, and for packed records those of the record that they were packed in, plus the distance from
 * where that begins when unpacked.
 *
 * A damaged or cut file opens as long as its header and attributes are there: the walk then ends
 * with an error at the place of the damage, after the recording's other files.
 *
 * -sbe_unsupported: the other byte order, events whose records cannot be told apart, a part of a
 * recording in several files.
 *
 * Raw pairs do not say how they were recorded. A text file recording.info beside them may, with one
 * KEY=VALUE per line (# begins a comment; numbers decimal, or hexadecimal with 0x):
 *
 *   cpu=6/85/4              family, model, stepping: whose errata apply
 *   time_shift=31  time_mult=1022611261  time_zero=7000000000
 *                           the clock; a TIME_CONV record in the sideband takes precedence
 *   tsc_ctc_num=168  tsc_ctc_den=2
 *                           CPUID leaf 15h, ebx and eax
 *   max_nonturbo_ratio=21
 *   pt_config=0x300e601     attr.config of the intel_pt event, in Linux' layout
 *   mtc_freq=3              MTC is on, with this period
 *   user_only=1
 *   ncpus=2                 CPUs of the machine
 *   sample_type=0x10086     what the sample trailer holds; this (TID, TIME, CPU, IDENTIFIER) when absent
 *   pid=4711                whose the file "maps" is
 *
 * Whoever opened events alone has no records of what was mapped before. Copies of /proc/PID/maps beside the
 * pairs, called PID.maps (or "maps", with pid=N in recording.info), become records of before
 * tracing: a COMM, after the first program that is mapped, and an MMAP2 for each mapping of code.
 *
 * Without recording.info: a clock that converts nothing, TSC packets on, MTC and CYC off, an unknown CPU.
 */
sb_export int sb_perfdata_open(struct sb_perfdata **perfdata, const char *path, struct sb_error *err);
sb_export void sb_perfdata_close(struct sb_perfdata *perfdata);

sb_export const char *sb_perfdata_path(const struct sb_perfdata *perfdata);
/* The directory with the kernel's code (kcore), symbols (kallsyms) and modules as they were when it was
 * recorded (perf record --kcore); NULL: there is none. */
sb_export const char *sb_perfdata_kcore_dir(const struct sb_perfdata *perfdata);
sb_export const struct sb_perfdata_info *sb_perfdata_info(const struct sb_perfdata *perfdata);

/* From now on it is as if only TSC packets told the time: for recordings whose MTC and CYC packets, or what
 * is said about them, are wrong. The info then tells of no others. To be called before anybody else reads. */
sb_export void sb_perfdata_trust_tsc_alone(struct sb_perfdata *perfdata);

/* The release of the kernel that was recorded ("6.1.0-18-amd64"), or NULL: it is not known. */
sb_export const char *sb_perfdata_osrelease(const struct sb_perfdata *perfdata);

/* The build-id that perf wrote down for the host's file @filename when the recording ended (BUILD_ID): its
 * size, 0 when there is none, or several files had this name. */
sb_export int sb_perfdata_build_id(const struct sb_perfdata *perfdata, const char *filename, uint8_t id[20]);

/* A function of a BPF program, as the kernel had compiled it when perf asked for it (BPF_PROG_INFO): its
 * code. */
struct sb_bpf_image {
	uint32_t program;  /* the program's id: that of its BPF_EVENT */
	uint32_t function; /* which one of the program's, from 0 */
	uint64_t begin, size;
	const uint8_t *bytes; /* in the mapping */
	uint8_t tag[8];
	char name[16]; /* the program's, as far as it has one */
};
sb_export const struct sb_bpf_image *sb_perfdata_bpf_images(const struct sb_perfdata *perfdata,
                                                            size_t *count);

/* Sorted by cpu, then tid. */
sb_export const struct sb_aux_stream *sb_perfdata_streams(const struct sb_perfdata *perfdata, size_t *count);

/* The damage that indexing met, or NULL: what comes after it in the file is unknown. When the records
 * are whole but the features behind them are not, it is that. */
sb_export const struct sb_error *sb_perfdata_damage(const struct sb_perfdata *perfdata);

/* Bytes of the recording, of a chunk for one, that are not needed any more for now: their memory is given
 * back. They may still be read. What does not lie in the recording's files is left alone. */
sb_export void sb_perfdata_release(const struct sb_perfdata *perfdata, const uint8_t *begin,
                                   const uint8_t *end);

struct sb_perfdata_cursor {
	const struct sb_perfdata *perfdata;
	uint64_t offset;
	uint64_t released; /* the file's pages from here to the offset may be in memory */
	uint32_t file;     /* of a recording in several: which one */
	int done;
	/* Of packed records, where they come from. */
	size_t origin;
	/* The first damage, which is told when all files were walked. */
	int is_damaged, is_last;
	uint32_t damaged_file;
	uint64_t damaged_offset;
};
sb_export void sb_perfdata_begin(const struct sb_perfdata *perfdata, struct sb_perfdata_cursor *cursor);

/* The next record in file order: 1, or 0 at the end, or a negative code (and again the same when
 * asked again). Records of raw .pevent files come with sample.cpu set from the trailer or the file's
 * name; sideband.pevent and synth.pevent come first, then the CPUs in order. */
sb_export int sb_perfdata_next(struct sb_perfdata_cursor *cursor, struct sb_record *record,
                               struct sb_error *err);

/* The tracepoint that a SAMPLE of this recording is of, or NULL: it is of another kind of event, or the
 * recording has no format of it. */
sb_export const struct sb_tracepoint *sb_perfdata_tracepoint(const struct sb_perfdata *perfdata,
                                                             const struct sb_record *sample);

/* The file that the record came from which sb_perfdata_next() gave last: its offset counts there. */
sb_export const char *sb_perfdata_cursor_file(const struct sb_perfdata_cursor *cursor);

#endif
