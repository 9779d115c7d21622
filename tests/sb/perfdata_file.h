/* A perf.data put together byte by byte, as perf.data-file-format.txt lays it out. */
#ifndef TEST_SB_PERFDATA_FILE_H
#define TEST_SB_PERFDATA_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/perf_event.h>

#include <sb/record.h>

#include "support/bytes.h"

enum {
	PT = 8, /* PMU type of intel_pt */
	USUAL = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
	        PERF_SAMPLE_IDENTIFIER,
	DATA_SECTION = 40,
	FEATURES = 72
};

/* perf_event_attr's flags, by bit. */
#define EXCLUDE_KERNEL ((uint64_t)1 << 5)
#define SAMPLE_ID_ALL  ((uint64_t)1 << 18)
#define USE_CLOCKID    ((uint64_t)1 << 25)

struct attr {
	uint32_t type;
	uint64_t config, sample_type, flags;
	uint64_t ids[2];
	unsigned int nids;
};

static const struct attr usual_attrs[] = {
        {PT, 0x300e601, USUAL, SAMPLE_ID_ALL | EXCLUDE_KERNEL, {101, 102}, 2},
        {1, 9, USUAL, SAMPLE_ID_ALL | EXCLUDE_KERNEL, {201, 202}, 2},
};

/* Header, attributes of @attr_size bytes, their ids. The records come next. */
static inline void begin_file(struct bytes *b, const struct attr *attrs, unsigned int n, uint32_t attr_size)
{
	size_t ids = 104 + n * (attr_size + 16);

	memcpy(b->data, "PERFILE2", 8);
	b->size = 8;
	put64(b, 104);
	put64(b, attr_size + 16);
	put64(b, 104);
	put64(b, n * (attr_size + 16));
	b->size = 104;
	for (unsigned int i = 0; i < n; i++) {
		size_t at = b->size;

		put32(b, attrs[i].type);
		put32(b, attr_size);
		put64(b, attrs[i].config);
		put64(b, 1);
		put64(b, attrs[i].sample_type);
		put64(b, 0);
		put64(b, attrs[i].flags);
		b->size = at + attr_size;
		put64(b, ids);
		put64(b, 8 * attrs[i].nids);
		ids += 8 * attrs[i].nids;
	}
	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int k = 0; k < attrs[i].nids; k++)
			put64(b, attrs[i].ids[k]);
	}
	patch(b, DATA_SECTION, b->size, 8);
}

static inline void end_records(struct bytes *b)
{
	uint64_t begin;

	memcpy(&begin, b->data + DATA_SECTION, 8);
	patch(b, DATA_SECTION + 8, b->size - begin, 8);
}

static inline void put_comm(struct bytes *b, uint32_t tid, uint64_t time, uint32_t cpu, uint64_t id)
{
	size_t at = begin_record(b, PERF_RECORD_COMM, 0);

	put32(b, tid);
	put32(b, tid);
	put_text(b, "name", 8);
	put_trailer(b, tid, tid, time, cpu, id);
	end_record(b, at);
}

static inline void put_auxtrace_info(struct bytes *b, unsigned int npriv)
{
	static const uint64_t priv[] = {PT, 31,    1022611261, 7000000000, 1, 0x400, 0x800, 3, 0,
	                                1,  0x200, 0x3c000,    168,        2, 2,     21,    0, 0};
	size_t at = begin_record(b, SB_RECORD_AUXTRACE_INFO, 0);

	put32(b, 1);
	put32(b, 0);
	for (unsigned int i = 0; i < npriv; i++)
		put64(b, priv[i]);
	end_record(b, at);
}

/* AUXTRACE with a payload of @size bytes, each of value @fill. */
static inline void put_auxtrace(struct bytes *b, int32_t cpu, int32_t tid, uint64_t offset, uint64_t size,
                         uint8_t fill)
{
	size_t at = begin_record(b, SB_RECORD_AUXTRACE, 0);

	put64(b, size);
	put64(b, offset);
	put64(b, 1000 + offset);
	put32(b, (uint32_t)cpu);
	put32(b, (uint32_t)tid);
	put32(b, (uint32_t)cpu);
	put32(b, 0);
	end_record(b, at);
	memset(b->data + b->size, fill, size);
	b->size += size;
}

/* Features behind the records, in ascending order. */
struct feature {
	unsigned int bit;
	struct bytes content;
};

static inline void put_features(struct bytes *b, const struct feature *features, unsigned int n)
{
	size_t pairs = b->size;

	b->size += 16 * n;
	for (unsigned int i = 0; i < n; i++) {
		b->data[FEATURES + features[i].bit / 8] |= (uint8_t)(1 << features[i].bit % 8);
		patch(b, pairs + 16 * i, b->size, 8);
		patch(b, pairs + 16 * i + 8, features[i].content.size, 8);
		memcpy(b->data + b->size, features[i].content.data, features[i].content.size);
		b->size += features[i].content.size;
	}
}

static inline void put_usual_features(struct bytes *b)
{
	struct feature features[2] = {{.bit = 7}, {.bit = 9}};

	put32(&features[0].content, 4);
	put32(&features[0].content, 3);
	put32(&features[1].content, 64);
	put_text(&features[1].content, "GenuineIntel,6,85,4", 64);
	put_features(b, features, 2);
}

#endif
