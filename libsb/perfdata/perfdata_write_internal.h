/* perfdata_write_internal.h - the writer's state; shared by the files that write perf.data, of which one
 * (live_write.c) writes what the kernel recorded, the others what the software tracer did. */
#ifndef LIBSB_PERFDATA_WRITE_INTERNAL_H
#define LIBSB_PERFDATA_WRITE_INTERNAL_H

#include <stdio.h>

#include <sb/perfdata_write.h>

#include "perfdata/perfdata_internal.h"

enum { WRITE_RECORD_MAX = 65528, WRITE_CPUS_MAX = 1000, WRITE_CPUS_MAX_CGROUPS = 600 };

/* A record's place in the file and its size, for the AUXTRACE feature. */
struct write_index {
	uint64_t offset, size;
};

enum { WRITE_ATTR_SIZE = 128 }; /* of Linux 6.1: readers of any age take it */

/* Under which identifier an event's records of a CPU, or of a thread there, come. */
struct write_id {
	uint64_t id;
	uint32_t cpu;
	int32_t tid; /* -1: whoever runs on the CPU */
};

/* An event of the recording: what perf_event_open(2) was given, and its identifiers. */
struct write_event {
	char *name; /* owned */
	uint8_t attr[WRITE_ATTR_SIZE];
	struct write_id *id; /* owned; the first ncpus ones are those of the CPUs, for the software tracer */
	size_t nids, capacity;
};

struct write_pmu {
	char *name; /* owned */
	uint32_t type;
};

/* Events that records are made up for: intel_pt; dummy, which carries the sideband; and cgroup-switches,
 * whose samples tell cgroups. The software tracer has them in this order, the last one if wanted. */
enum write_event_kind { write_event_pt, write_event_dummy, write_event_cgroup, write_events };

/* One record is composed at a time, in .record; .position is where the next one goes. */
struct sb_perfdata_writer {
	struct sb_perfdata_write_config config; /* its strings are the writer's own */
	char *kept;                             /* the name of what is kept when it cannot be finished */
	uint64_t data_end;                      /* where the records end, once it is being finished; 0 */
	uint8_t header[SB_HEADER_SIZE]; /* of a recording that is not finished; zeros until it has begun */
	char *path, *temporary;         /* where it goes, and its name until then; NULL: it has none */
	int is_nameless;                /* it shall have no name until then, where that is possible */
	int is_in_place;                /* it has its own name from the beginning */
	FILE *out;
	uint64_t position;
	uint64_t attrs_begin, data_begin;
	int failure;             /* errno of the first write that failed: nothing is written after it */
	uint64_t *stream_offset; /* of each CPU: AUX bytes given so far */
	char cpuid[64];          /* "GenuineIntel,6,85,4" */
	struct write_event *event;
	size_t nevents, events_capacity;
	size_t nids, ids_written; /* of all events; how many of them are in the file */
	struct write_pmu *pmu;
	size_t npmus, pmus_capacity;
	int is_snapshot, cap_event_trace; /* of AUXTRACE_INFO */
	int role[write_events];           /* which event of .event it is; -1: there is none */
	const uint8_t *build_ids;         /* of the feature BUILD_ID; of whoever sets it */
	size_t build_ids_size;
	const uint8_t *bpf_parts; /* of the feature BPF_PROG_INFO; of whoever sets it */
	size_t bpf_size;
	uint32_t bpf_count;
	struct write_index *aux;
	size_t naux;
	size_t record_size;
	uint8_t record[WRITE_RECORD_MAX + 8];
	char buffer[1 << 16]; /* of .out */
};

/* The identifier that the event has on that CPU; 0: none. */
uint64_t sb_writer_id(const struct sb_perfdata_writer *writer, enum write_event_kind event, uint32_t cpu);

/* Declares an event, or a PMU, with a copy of @name; and an identifier of an event. */
int sb_writer_add_event(struct sb_perfdata_writer *writer, const char *name, const void *attr,
                        struct sb_error *err);
int sb_writer_add_id(struct sb_perfdata_writer *writer, struct write_event *event, const struct write_id *id,
                     struct sb_error *err);
int sb_writer_add_pmu(struct sb_perfdata_writer *writer, const char *name, uint32_t type,
                      struct sb_error *err);
void sb_writer_free_events(struct sb_perfdata_writer *writer);
/* Those of the software tracer. */
int sb_writer_add_software(struct sb_perfdata_writer *writer, struct sb_error *err);

/* A writer without events, whose file is not there yet. */
int sb_writer_create(struct sb_perfdata_writer **writer, const char *path,
                     const struct sb_perfdata_write_config *config, struct sb_error *err);
/* Its file, with all in front of the records. */
int sb_writer_begin(struct sb_perfdata_writer *writer, struct sb_error *err);

/* A piece of a CPU's trace, in two parts. */
struct write_trace {
	uint32_t cpu, stream; /* the stream's number; a CPU has several when it was away */
	uint64_t offset;      /* in the stream */
	uint64_t reference;
	const uint8_t *piece[2];
	uint64_t size[2];
};
int sb_writer_put_auxtrace(struct sb_perfdata_writer *writer, const struct write_trace *trace,
                           struct sb_error *err);

/* Appends to the file. */
int sb_writer_append(struct sb_perfdata_writer *writer, const void *bytes, size_t size, struct sb_error *err);
/* sb_perfdata_writer_finish() in two steps: what cannot be completed can be kept, or aborted. */
int sb_writer_complete(struct sb_perfdata_writer *writer, struct sb_error *err);
int sb_writer_close(struct sb_perfdata_writer *writer, struct sb_error *err);
/* What was written by now stays, as PATH.interrupted where that is possible, and reads as an interrupted
 * recording: returns its name, to be freed; NULL when it could not be kept. Frees the writer, which has
 * begun. */
char *sb_writer_keep(struct sb_perfdata_writer *writer);
/* What is buffered goes to the file: nothing of it is lost should we be killed. */
void sb_writer_flush(struct sb_perfdata_writer *writer);

/* The records that perf writes first; and one that says which events there are. */
int sb_writer_put_preamble(struct sb_perfdata_writer *writer, struct sb_error *err);
int sb_writer_put_id_index(struct sb_perfdata_writer *writer, struct sb_error *err);

#endif
