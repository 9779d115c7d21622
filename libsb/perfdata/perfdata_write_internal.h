/* perfdata_write_internal.h - the writer's state; shared by perfdata_write.c and write_records.c. */
#ifndef LIBSB_PERFDATA_WRITE_INTERNAL_H
#define LIBSB_PERFDATA_WRITE_INTERNAL_H

#include <stdio.h>

#include <sb/perfdata_write.h>

enum { WRITE_RECORD_MAX = 65528, WRITE_CPUS_MAX = 1000, WRITE_CPUS_MAX_CGROUPS = 600 };

/* A record's place in the file and its size, for the AUXTRACE feature. */
struct write_index {
	uint64_t offset, size;
};

/* One record is composed at a time, in .record; .position is where the next one goes. */
struct sb_perfdata_writer {
	struct sb_perfdata_write_config config; /* its strings are the writer's own */
	char *path, *temporary;
	FILE *out;
	uint64_t position;
	uint64_t data_begin;
	int failure;             /* errno of the first write that failed: nothing is written after it */
	uint64_t *stream_offset; /* of each CPU: AUX bytes given so far */
	struct write_index *aux;
	size_t naux;
	size_t record_size;
	uint8_t record[WRITE_RECORD_MAX + 8];
	char buffer[1 << 16]; /* of .out */
};

/* intel_pt; dummy, which carries the sideband; and, if wanted, cgroup-switches, whose samples tell cgroups.
 */
enum write_event { write_event_pt, write_event_dummy, write_event_cgroup, write_events };

/* How many there are, and the id of each on each CPU. */
uint32_t sb_writer_nevents(const struct sb_perfdata_writer *writer);
uint64_t sb_writer_id(const struct sb_perfdata_writer *writer, enum write_event event, uint32_t cpu);

/* Appends to the file. */
int sb_writer_append(struct sb_perfdata_writer *writer, const void *bytes, size_t size, struct sb_error *err);

/* The records that perf writes first. */
int sb_writer_put_preamble(struct sb_perfdata_writer *writer, struct sb_error *err);

#endif
