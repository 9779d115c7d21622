/* record_checks.h - what tests of records share: a usual sample format, and what must hold for each type,
 * whatever it is. Include it behind cmocka.h.
 */
#ifndef TESTS_SB_RECORD_CHECKS_H
#define TESTS_SB_RECORD_CHECKS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/perf_event.h>
#include <sb/record.h>

#include "support/bytes.h"

enum { TRAILER = 32 };

static const struct sb_sample_format usual = {.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                                             PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                                                             PERF_SAMPLE_IDENTIFIER,
                                              .sample_id_all = 1};

struct composed {
	const char *name;
	void (*compose)(struct bytes *);
	size_t fixed; /* of body and trailer: with less, the record contradicts itself */
};

static inline struct sb_record parse(const struct bytes *b)
{
	struct sb_record record;
	struct sb_error err = {0};

	if (sb_record_parse(&record, b->data, b->size, &usual, "file", 0x100, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(record.size, b->size);
	assert_int_equal(record.offset, 0x100);
	assert_ptr_equal(record.bytes, b->data);
	return record;
}

static inline int parse_code(const struct bytes *b, struct sb_error *err)
{
	struct sb_record record;

	return sb_record_parse(&record, b->data, b->size, &usual, "file", 0x100, err);
}

static inline void finish(struct bytes *b, size_t at)
{
	put_trailer(b, 11, 12, 1300, 14, 15);
	end_record(b, at);
}

static inline void check_trailer(const struct sb_record *record)
{
	assert_int_equal(record->sample.has,
	                 PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_ID);
	assert_int_equal(record->sample.pid, 11);
	assert_int_equal(record->sample.tid, 12);
	assert_int_equal(record->sample.time, 1300);
	assert_int_equal(record->sample.cpu, 14);
	assert_int_equal(record->sample.id, 15);
}

/* A copy of its own on the heap, so that a read past its end is seen by a sanitizer. */
static inline int parse_exactly(const uint8_t *bytes, size_t avail, struct sb_record *record,
                                struct sb_error *err)
{
	static FILE *null; /* one for all: to open it takes longer than to parse a record */
	uint8_t *copy = malloc(avail ? avail : 1);
	int code;

	if (!null)
		null = fopen("/dev/null", "w");
	assert_non_null(copy);
	assert_non_null(null);
	memcpy(copy, bytes, avail);
	code = sb_record_parse(record, copy, avail, &usual, "file", 0x100, err);
	if (code == 0)
		sb_record_print(null, record);
	free(copy);
	return code;
}

/* Whatever is missing at the end, it is seen, and nothing behind it is read. */
static inline void check_cuts(const struct composed *types, int ntypes)
{
	struct sb_record r;

	for (int type = 0; type < ntypes; type++) {
		struct bytes b = {0};

		types[type].compose(&b);
		assert_string_equal(sb_record_name(b.data[0]), types[type].name);
		for (size_t avail = 0; avail < b.size; avail++) {
			struct sb_error err = {0};

			assert_int_equal(parse_exactly(b.data, avail, &r, &err), -sbe_truncated);
			assert_int_equal(err.code, -sbe_truncated);
			assert_int_equal(err.offset, 0x100);
			assert_string_equal(err.file, "file");
		}
		assert_int_equal(parse_exactly(b.data, b.size, &r, NULL), 0);
	}
}

static inline void check_sizes(const struct composed *types, int ntypes)
{
	struct sb_record r;

	for (int type = 0; type < ntypes; type++) {
		struct bytes b = {0};
		size_t full;

		types[type].compose(&b);
		full = b.size;
		for (size_t claim = 0; claim < full; claim++) {
			int code;

			patch(&b, 6, claim, 2);
			code = parse_exactly(b.data, full, &r, NULL);
			if (claim < 8 + types[type].fixed)
				assert_int_equal(code, -sbe_format);
			else
				assert_true(code == 0 || code == -sbe_format);
		}
		patch(&b, 6, full + 1, 2);
		assert_int_equal(parse_exactly(b.data, full, &r, NULL), -sbe_truncated);
	}
}

static inline void check_random_bytes(const struct composed *types, int ntypes)
{
	uint64_t seed = 4711;
	struct sb_record r;

	for (int i = 0; i < 100000; i++) {
		struct bytes b = {0};

		types[i % ntypes].compose(&b);
		for (int flips = 0; flips < 3; flips++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			b.data[(seed >> 33) % b.size] = (uint8_t)(seed >> 25);
		}
		parse_exactly(b.data, b.size, &r, NULL);
	}
}

static inline char *printed(const struct bytes *b)
{
	struct sb_record r = parse(b);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	sb_record_print(out, &r);
	fclose(out);
	return text;
}

#endif
